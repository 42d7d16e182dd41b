// The command palette: Ctrl K, ⌘K or its button opens a list over any page, with pages,
// entities, messages and actions. The server finds the matches, using the page that the
// button leads to without this script. Recent choices come first, and are stored only in
// the browser.
//
//   <dialog id="palette" data-url data-home data-recent data-none> with an input,
//       .choices, .nothing and [data-many]
//   <a data-palette>          opens it
//   <dialog data-keys>        mayfly.keys() fills it with [data-keys-list] of that page
//   [data-going] of the page: section[data-group] > ul > li[data-icon], with an
//       <a href> or a <button data-go="ACT">, and a <small>
"use strict";
(() => {
  const dialog = document.getElementById("palette");
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  if (!dialog?.showModal || !window.mayfly?.combobox) return;
  const input = $("input", dialog), list = $(".choices", dialog), nothing = $(".nothing", dialog);
  const { url, home } = dialog.dataset;
  const mac = /^(Mac|iP)/.test(navigator.platform);
  const macs = (from) => { for (const el of all("kbd", from)) el.textContent = el.textContent.replace(/^Ctrl /, "⌘"); };
  if (mac) macs(document);
  const on = (setting) => { try { return localStorage.getItem(`mayfly.${setting}`) !== "off"; } catch { return true; } };

  // ── Recent choices ────────────────────────────────────────────────────────
  const most = 8, name = "mayfly.recent";
  const ours = (href) => href === home || href.startsWith(`${home}/`) || href.startsWith(`${home}?`);
  const recent = () => {
    try {
      return JSON.parse(localStorage.getItem(name) ?? "[]").slice(0, most).filter(({ label, href, act }) => typeof label === "string" && (act ? Object.hasOwn(acts, act) : ours(href)));
    } catch { return []; }
  };
  const same = (a, b) => a.href === b.href && a.act === b.act;
  const remember = ({ label, note, icon, href, act }) => {
    const it = { label, note, icon, href, act };
    try { localStorage.setItem(name, JSON.stringify([it, ...recent().filter((r) => !same(r, it))].slice(0, most))); } catch { /* private window */ }
  };

  // ── Actions on the open page ──────────────────────────────────────────────
  const time = (value) => () => $(`input[name=time][value=${value}]`)?.click();
  const acts = {
    theme: () => $(".bar [data-act=theme]")?.click(),
    pause: () => $("[data-pill]")?.click(),
    keys: () => window.mayfly.keys(),
    present: () => window.mayfly.present?.(),
    rel: time("rel"), local: time("local"), utc: time("utc"),
  };
  const able = ({ act }) => !act || Object.hasOwn(acts, act) && (act !== "pause" || !!$("[data-pill]"));

  // ── The list ──────────────────────────────────────────────────────────────
  const made = (tag, className, text) => {
    const el = document.createElement(tag);
    if (className) el.className = className;
    if (text !== undefined) el.textContent = text;
    return el;
  };
  const sprite = $("use[href*='#i-']")?.getAttribute("href").split("#")[0];
  const glyph = (icon) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), use = document.createElementNS(svg.namespaceURI, "use");
    svg.setAttribute("class", "i s");
    svg.setAttribute("aria-hidden", "true");
    use.setAttribute("href", `${sprite}#i-${icon}`);
    svg.append(use);
    return svg;
  };
  const option = (it) => {
    const el = made("li", "choice-line");
    el.append(glyph(it.icon), made("span", "", it.label));
    if (it.note) el.append(made("small", "", it.note));
    return { ...it, el };
  };
  const read = (li) => {
    const by = $("a[href], [data-go]", li);
    return {
      label: by.textContent, note: $("small", li)?.textContent ?? "", icon: li.dataset.icon,
      href: by.getAttribute("href") ?? "", act: by.dataset.go ?? "", file: by.hasAttribute("download"),
    };
  };
  const group = (title, items) => {
    const options = items.filter(able).map(option);
    if (options.length) {
      const head = made("li", "choice-head", title);
      head.setAttribute("role", "presentation");
      options[0].before = [head];
    }
    return options;
  };
  const ask = async (signal) => {
    const q = input.value.trim();
    const answer = await fetch(`${url}?${new URLSearchParams({ q, at: location.pathname + location.search, drawer: 1 })}`, { signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const last = recent(), rank = (it) => { const i = last.findIndex((r) => same(r, it)); return i < 0 ? most : i; };
    const groups = all("[data-group]", page).map((section) => {
      const items = all("li", section).map(read);
      if (q) items.sort((a, b) => rank(a) - rank(b));
      return group(section.dataset.group, items);
    });
    const before = q ? [] : group(dialog.dataset.recent, last);
    const found = [...before, ...groups.flat()];
    nothing.hidden = found.length > 0;
    nothing.textContent = answer.ok ? dialog.dataset.none : `${answer.status} ${answer.statusText}`;
    return found;
  };
  const take = (it, e) => {
    remember(it);
    const aside = it.href && (e.ctrlKey || e.metaKey);
    dialog.close();
    if (it.act) acts[it.act]();
    else if (aside) window.open(it.href, "_blank", "noopener");
    else if (it.file) { const a = made("a"); a.href = it.href; a.download = ""; document.body.append(a); a.click(); a.remove(); }
    else location.assign(it.href);
  };
  const status = $("[data-many]", dialog); // the page's own status is inert behind a dialog
  const box = window.mayfly.combobox({ input, list, many: status.dataset.many, say: (text) => { status.textContent = text; }, ask, take, first: true });

  // The list of keys is loaded from the palette's page on first use.
  window.mayfly.keys = async () => {
    const help = $("dialog[data-keys]");
    if ($("dialog[open]")) return;
    if (!help.firstElementChild) {
      try {
        const page = new DOMParser().parseFromString(await (await fetch(url)).text(), "text/html");
        help.append(document.adoptNode($("[data-keys-list]", page)));
      } catch { return; } // no answer
      if (mac) macs(help);
      $("input[name=keys]", help).checked = on("keys");
    }
    help.showModal();
  };

  // ── Opening and closing ───────────────────────────────────────────────────
  const open = () => {
    if (dialog.open) { dialog.close(); return; }
    if ($("dialog[open]")) return;
    input.value = "";
    box.close();
    dialog.showModal();
    input.focus();
    box.ask();
  };
  // The close event fires later: the dialog may be open again by then.
  dialog.addEventListener("close", () => { if (!dialog.open) box.close(); });
  for (const d of all("dialog.palette")) {
    d.addEventListener("click", (e) => { if (e.target === d) d.close(); }); // a click on the backdrop
  }
  // Escape closes the list first; here the list is always open.
  input.addEventListener("keydown", (e) => { if (e.key === "Escape") { e.preventDefault(); e.stopPropagation(); dialog.close(); } }, { capture: true });
  input.addEventListener("keydown", (e) => { if (e.key === "Enter") e.preventDefault(); });
  addEventListener("keydown", (e) => {
    if (e.key.toLowerCase() !== "k" || e.altKey || e.shiftKey || !(mac ? e.metaKey : e.ctrlKey || e.metaKey)) return;
    e.preventDefault();
    open();
  });
  addEventListener("click", (e) => {
    const go = e.target.closest("[data-go]");
    if (go && !dialog.contains(go)) { acts[go.dataset.go]?.(); return; }
    if (!e.target.closest("a[data-palette]") || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    open();
  });
})();
