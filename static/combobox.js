// A combobox with a listbox (ARIA 1.2): the list shows the options that match what the
// user types. Arrow keys move through the options, Enter chooses one, and the focus stays
// in the field. Other scripts call mayfly.combobox and supply the options.
//
//   mayfly.combobox({
//     input, list,         an <input> and the <ul> for its options
//     many, say(text),     the text that announces the number of options, and how to announce it
//     ask(signal)          returns a promise of options: objects with an element el
//     take(option, event)  is called with the chosen option
//     first                true: the first option is active unless another is; Tab then
//                          chooses none, and the list stays open when the field loses focus
//     shown(open)          is called when the list opens or closes
//   }) returns ask(), close() and options()
//
// A request waits for a pause in typing and aborts the previous one. Late answers are
// dropped.
"use strict";
(() => {
  const pause = 120; // ms without typing
  let count = 0;

  window.mayfly.combobox = ({ input, list, many, say, ask, take, first = false, shown = () => {} }) => {
    let options = [], active = -1, open = false, timer = 0, asking = null;

    list.id ||= `listbox-${++count}`;
    list.setAttribute("role", "listbox");
    list.hidden = true;
    input.type = "text"; // a searchbox cannot be a combobox
    input.enterKeyHint = "search";
    for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-haspopup": "listbox", "aria-controls": list.id, "aria-expanded": "false" })) {
      input.setAttribute(name, value);
    }

    const mark = (n) => {
      options[active]?.el.setAttribute("aria-selected", "false");
      active = n;
      const el = options[active]?.el;
      if (!el) { input.removeAttribute("aria-activedescendant"); return; }
      el.setAttribute("aria-selected", "true");
      input.setAttribute("aria-activedescendant", el.id);
      el.scrollIntoView({ block: "nearest" });
    };
    const show = (found) => {
      options = found;
      active = -1;
      options.forEach(({ el }, i) => {
        el.id = `${list.id}-${i}`;
        el.setAttribute("role", "option");
        el.setAttribute("aria-selected", "false");
      });
      say(many.replace("{n}", options.length));
      set(options.length > 0);
      mark(first && options.length ? 0 : -1);
    };
    const set = (now) => {
      if (open !== now) shown(open = now);
      list.hidden = !open;
      input.setAttribute("aria-expanded", `${open}`);
    };
    const close = () => {
      clearTimeout(timer);
      asking?.abort();
      options = [];
      mark(-1);
      set(false);
      list.replaceChildren();
      say("");
    };
    const query = async () => {
      clearTimeout(timer);
      asking?.abort();
      const mine = asking = new AbortController();
      try {
        const found = await ask(mine.signal);
        if (mine.signal.aborted) return;
        list.replaceChildren(...found.flatMap(({ el, before = [] }) => [...before, el]));
        show(found);
      } catch { if (!mine.signal.aborted) close(); } // the user can type without options
    };
    const choose = (option, event) => {
      close();
      take(option, event);
    };

    input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(query, pause); });
    input.addEventListener("blur", () => { if (!first) close(); });
    input.addEventListener("keydown", (e) => {
      if (e.isComposing) return;
      const { key } = e, last = options.length - 1;
      if (key === "ArrowDown" && !open) { e.preventDefault(); query(); return; }
      if (key === "Enter") clearTimeout(timer);
      if (!open) return;
      const to = {
        ArrowDown: active < last ? active + 1 : first ? 0 : -1,
        ArrowUp: active < 0 || first && active === 0 ? last : active - 1,
        PageDown: Math.min(last, active + 8), PageUp: Math.max(0, active - 8),
      }[key];
      if (to !== undefined && !e.altKey) { e.preventDefault(); mark(to); return; }
      if (key === "Escape") { e.preventDefault(); e.stopPropagation(); close(); return; }
      if ((key === "Enter" || key === "Tab" && !e.shiftKey && !first) && options[active]) { e.preventDefault(); choose(options[active], e); return; }
      if (key === "Enter") close();
    });
    const of = (e) => options.find(({ el }) => el === e.target.closest("[role=option]"));
    list.addEventListener("pointerdown", (e) => e.preventDefault()); // keep the focus in the field
    list.addEventListener("mousemove", (e) => { const o = of(e); if (o && options[active] !== o) mark(options.indexOf(o)); });
    list.addEventListener("click", (e) => { const o = of(e); if (o) { e.preventDefault(); choose(o, e); } });
    return { ask: query, close, options: () => options };
  };
})();
