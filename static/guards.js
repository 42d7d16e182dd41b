// Guards in place: what asks before something is done is a page of its own, and with
// this script a dialog over the page that leads there. The server answers the same
// address with the form alone, and tells where a form that was sent leads to.
//
//   a[data-ask], button[data-ask]   leads to a page that asks, or may ask
//   .asking                         what such a page asks, or says of what was refused:
//       its heading is #h-ask, [autofocus] in it leaves it, and so does [data-close]
//
// Nothing of the page behind changes but what the socket brings: what was chosen stays
// chosen, and the focus goes back to what opened the dialog, or to what has taken its
// place meanwhile.
"use strict";
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  if (!window.HTMLDialogElement) return;
  let dialog = null, from = null, asked = null; // asked: the request under way

  // ── What opened it ────────────────────────────────────────────────────────
  const rowOf = (el) => el.closest("[data-key]");
  const mark = (el) => {
    const name = el.matches("a") ? "href" : "formaction", row = rowOf(el);
    return { el, name, value: el.getAttribute(name), key: row?.dataset.key, rows: row?.parentElement, at: row && [...row.parentElement.children].indexOf(row) };
  };
  const shown = (el) => el?.isConnected && el.checkVisibility();
  const giveBack = ({ el, name, value, key, rows, at }) => {
    const alike = all(`[data-ask][${name}="${CSS.escape(value)}"]`).filter((other) => rowOf(other)?.dataset.key === key);
    const near = rows?.isConnected && rows.children[Math.min(at, rows.children.length - 1)];
    for (const to of [el, ...alike, el.closest("details")?.firstElementChild, near && $("a, button, input", near), $("main")]) {
      if (shown(to)) { to.focus({ preventScroll: true }); if (document.activeElement === to) return; }
    }
  };

  // ── The dialog ────────────────────────────────────────────────────────────
  const close = () => dialog?.close();
  const closed = (el) => {
    if (el !== dialog) return; // the page went first
    const was = from;
    asked?.abort();
    dialog.remove();
    dialog = from = asked = null;
    if (was) giveBack(was);
  };
  const show = (what) => {
    if (!dialog) {
      dialog = document.createElement("dialog");
      dialog.className = "guard";
      dialog.setAttribute("aria-labelledby", "h-ask");
      dialog.addEventListener("close", ({ target }) => closed(target));
      // Cancel waits for the end of a press: the focus would be on what opened this by
      // the time the same press is a character there, which would open it again.
      let pressed = false;
      const leaves = (e) => e.key === "Enter" && e.target.matches("a[data-close]");
      dialog.addEventListener("keydown", (e) => { if (leaves(e)) { e.preventDefault(); pressed ||= !e.repeat; } });
      dialog.addEventListener("keyup", (e) => { if (leaves(e) && pressed) close(); });
      // First in the page, so that its labels find its fields and not those behind.
      document.body.prepend(dialog);
    }
    dialog.replaceChildren(what);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    const wrong = $("[aria-invalid=true]", dialog);
    (wrong ?? $("[autofocus]", dialog))?.focus({ preventScroll: !wrong }); // its heading is read first
  };
  // unheard says that nobody knows what became of a form.
  const unheard = () => {
    const words = JSON.parse(document.body.dataset.words || "{}");
    const made = (tag, text, set = {}) => Object.assign(document.createElement(tag), { textContent: text, ...set });
    const box = made("section", "", { className: "dialog asking failed" }), foot = made("footer", ""), leave = made("button", words.close, { type: "button", className: "btn push", autofocus: true });
    box.setAttribute("role", "alert");
    leave.dataset.close = "";
    foot.append(leave);
    box.append(made("h1", words.unheard, { id: "h-ask" }), made("p", words.unheardNote), foot);
    return box;
  };

  const busy = (el, is) => { if (is) el.setAttribute("aria-busy", "true"); else el.removeAttribute("aria-busy"); };
  // ask fetches what is asked, or what became of it. Without an answer that can be
  // shown, lost does something else.
  const ask = async (url, init, by, lost) => {
    if (asked) return;
    const mine = asked = new AbortController();
    const wait = dialog ?? by, was = dialog ? from : mark(by);
    busy(wait, true);
    let answer, what, to;
    try {
      answer = await fetch(url, { cache: "no-store", signal: mine.signal, ...init, headers: { "Mayfly-Dialog": "1" } });
      if (!(to = answer.headers.get("Mayfly-Go"))) what = $(".asking", new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch { /* nobody answers, or somebody has closed the dialog */ }
    if (mine.signal.aborted) { busy(by, false); return; }
    if (to) { location.assign(to); return; } // what it leads to takes it away
    asked = null;
    busy(wait, false);
    from = was;
    if (what) show(document.adoptNode(what));
    else lost();
  };

  addEventListener("click", (e) => {
    const by = e.target.closest("a[data-ask][href]");
    if (!by || e.defaultPrevented || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    ask(by.href, {}, by, () => location.assign(by.href));
  });
  addEventListener("submit", (e) => {
    const { target: form, submitter: by } = e, inside = dialog?.contains(form);
    if (e.defaultPrevented || !inside && !by?.matches("[data-ask]")) return;
    e.preventDefault();
    const to = by?.getAttribute("formaction") ?? form.getAttribute("action");
    ask(to, { method: "POST", body: new URLSearchParams(new FormData(form, by)) }, by ?? form, () => show(unheard()));
  });
  // A page that is kept to come back to is kept without it: its numbers would be old.
  const leave = () => {
    from = null;
    const is = dialog;
    is?.close();
    if (is) closed(is);
    asked?.abort();
    asked = null;
  };
  addEventListener("pagehide", leave);
  addEventListener("popstate", close);
})();
