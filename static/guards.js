// Confirmation dialogs. A confirmation is a page of its own; this script shows it in a
// dialog over the page that links to it. The same URL then returns only the form, and the
// answer to a submitted form names the page to go to.
//
//   a[data-ask], button[data-ask]   leads to a confirmation, or may do so
//   .asking                         the content of a confirmation or of its error page:
//       its heading is #h-ask; [autofocus] and [data-close] in it close the dialog
//
// The page behind changes only by live updates: checked rows stay checked. The focus
// returns to the element that opened the dialog or to its replacement.
"use strict";
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  if (!window.HTMLDialogElement) return;
  let dialog = null, from = null, asked = null; // asked: the pending request

  // ── The opener ────────────────────────────────────────────────────────────
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
    if (el !== dialog) return; // leave has closed it already
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
      // Cancel acts on keyup. Acting on keydown would return the focus to the opener, and
      // the rest of the same key press would open the dialog again.
      let pressed = false;
      const leaves = (e) => e.key === "Enter" && e.target.matches("a[data-close]");
      dialog.addEventListener("keydown", (e) => { if (leaves(e)) { e.preventDefault(); pressed ||= !e.repeat; } });
      dialog.addEventListener("keyup", (e) => { if (leaves(e) && pressed) close(); });
      // First in the document, so that labels find the dialog's fields and not those
      // behind it.
      document.body.prepend(dialog);
    }
    dialog.replaceChildren(what);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    const wrong = $("[aria-invalid=true]", dialog);
    (wrong ?? $("[autofocus]", dialog))?.focus({ preventScroll: !wrong }); // read the heading first
  };
  // unheard returns the content of a dialog for a form whose result is unknown.
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
  // ask fetches a confirmation or submits it. It calls lost if no answer can be shown.
  const ask = async (url, init, by, lost) => {
    if (asked) return;
    const mine = asked = new AbortController();
    const wait = dialog ?? by, was = dialog ? from : mark(by);
    busy(wait, true);
    let answer, what, to;
    try {
      answer = await fetch(url, { cache: "no-store", signal: mine.signal, ...init, headers: { "Mayfly-Dialog": "1" } });
      if (!(to = answer.headers.get("Mayfly-Go"))) what = $(".asking", new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch { /* no answer, or the dialog was closed */ }
    if (mine.signal.aborted) { busy(by, false); return; }
    if (to) { location.assign(to); return; } // navigation removes the dialog
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
  // Close the dialog before the page enters the back/forward cache: its numbers would be
  // stale later.
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
