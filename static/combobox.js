// A combobox with a list (ARIA 1.2): somebody types, what fits is listed, arrows go
// through it, Enter takes one, and the focus stays in the field. Others make use of
// it by mayfly.combobox; where it gets its options from is theirs.
//
//   mayfly.combobox({
//     input, list,         an <input> and the <ul> that its options go into
//     many, say(text),     what says aloud how many there are, in these words
//     ask(signal)          a promise of options: objects with an element el
//     take(option, event)  is called with the one that is chosen
//     first                true: the first option is chosen unless another is; Tab takes
//                          none then, and the list stays when the focus goes elsewhere
//     shown(open)          the list came or went
//   }) has ask(), close() and options()
//
// Answers that come too late are not shown. A question waits for a moment in which
// nothing is typed, and ends the one before it.
"use strict";
(() => {
  const pause = 120; // ms without typing
  let count = 0;

  window.mayfly.combobox = ({ input, list, many, say, ask, take, first = false, shown = () => {} }) => {
    let options = [], active = -1, open = false, timer = 0, asking = null;

    list.id ||= `listbox-${++count}`;
    list.setAttribute("role", "listbox");
    list.hidden = true;
    input.type = "text"; // a searchbox is no combobox
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
      } catch { if (!mine.signal.aborted) close(); } // whoever asks can write it all the same
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
    list.addEventListener("pointerdown", (e) => e.preventDefault()); // the field keeps the focus
    list.addEventListener("mousemove", (e) => { const o = of(e); if (o && options[active] !== o) mark(options.indexOf(o)); });
    list.addEventListener("click", (e) => { const o = of(e); if (o) { e.preventDefault(); choose(o, e); } });
    return { ask: query, close, options: () => options };
  };
})();
