// Mayfly in the browser: running clocks and live pages. Every page also works without
// this script. It is one file because URLs contain a hash of the content, which modules
// that import each other could not know.
//
// It reads the markup below. It changes only text, classes and attributes, so it runs
// under the strictest content security policy.
//
//   <body data-live="URL of the page" data-n data-now [data-rate data-until] data-build data-base
//       data-words='{"live":"Live",…}'>   texts in the language of the page
//   data-slot="NAME"                 content that the server replaces; with [data-news], a
//       change shows .newer in its section, because the page keeps what it shows
//   data-list="NAME" [data-insert="hold"] [data-flash="off"], children data-key="KEY"
//   <time datetime data-of="SECONDS" data-low data-crit | data-as>   countdown
//   <time datetime data-ago>, <time datetime data-at="|ms|date">
//   data-clock                       gets the tone of the countdown in it
//   .ring, .glass in a data-clock; [data-until][data-len] on the circle of a lock
//   <button data-pill><b>…</b></button>   connection state, and pause; its children with
//       data-when="live paused …" are visible only in those states
//   input[name=time] rel|local|utc · input[name=keys] · data-act="theme"
//   data-act="copy" data-text="…", data-copy="…" or data-copy-from="#id"
//   data-hold="LIST" aria-pressed   keeps the rows of one of the page's lists in place
//   data-dialog="id", data-close · places: data-newbar="LIST", data-reload, data-status
//   [data-over="ID"] in a slot       reports the end of something; announced when it appears
//   <a data-drawer href>             opens beside the page if there is room: the
//       answer to ?drawer=1 is a .drawer[data-live] with its own slots and a
//       heading; data-act="close" in it
//   data-pin="URL" [data-who] [data-goes]   around a countdown: for its last 30 seconds
//       a copy of template[data-toast] in [data-toasts] offers to pin the entity;
//       data-act="dismiss" in it
//   [data-told="NUMBER"]            a toast from /alerts/toasts; [data-notices] around
//       input[name=notices]: the browser's own notifications
//   <input type="checkbox" data-all>   checks every row of its table
//   <form data-arranged>     [data-arrange="ACTION"] in it submits it with do=ACTION; every
//       data-tried="NAME" of the answer replaces ours
//   <input type="checkbox" data-every>   selects all matches, and thus every row
//   .notice[data-stays="SECONDS"]   reports an action and may offer to undo it, for that
//       long; its progress shows the time left
//   <time data-clocked="scene|wall">   scene time, and the time of this browser
//   #stage-form, the [data-stage-act] buttons that submit it, [data-marks='["URL"]'] to highlight
//   <form data-try="URL">    is submitted there shortly after a change; every
//       data-tried="NAME" of the answer replaces ours, [data-verdict] is announced, and
//       <details data-fold="NAME"> keep their open state
// Presenting, following and kiosk mode are in present.js. Before the page is parsed,
// mode.js sets the tab's mode on <html>: data-mode, and data-tied if every page of the
// tab needs a socket.
"use strict";
(() => {
  const root = document.documentElement;
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const say = (el, text) => { if (el && el.textContent !== text) el.textContent = text; };
  const write = (el, name, value) => { if (el.getAttribute(name) !== `${value}`) el.setAttribute(name, value); };
  const ticks = () => performance.now();

  const kept = { // survives navigation if the browser allows storage
    get(name) { try { return localStorage.getItem(`mayfly.${name}`); } catch { return null; } },
    set(name, value) { try { localStorage.setItem(`mayfly.${name}`, value); } catch { /* private window */ } },
  };
  const count = window.mayfly = { frames: 0, put: 0, gone: 0, reconnects: 0, polls: 0, state: "" };

  const words = {}; // in the page's language; set by the page
  const word = (key, n) => (words[key] ?? key).replace("{n}", () => n);

  root.dataset.js = "";

  // ── The server's clock ────────────────────────────────────────────────────
  // A sample is the server's time minus ours when a message arrived. Latency can only
  // make it smaller, so the largest of the recent samples is the best estimate.
  let samples = [], rate = 1, until = Infinity, paused = false, frozen = 0;
  let mode = kept.get("time") ?? "rel";
  const sample = (iso, at = ticks()) => {
    const t = Date.parse(iso);
    if (!Number.isNaN(t)) samples = [...samples, { offset: t - at * rate }].slice(-8);
  };
  const clock = (m) => { // reads a frame's clock, which a scene may have moved
    const stop = Date.parse(m.until) || Infinity, at = Number(m.rate ?? 1);
    if (at !== rate || stop !== until) samples = [];
    rate = at;
    until = stop;
    sample(m.now);
  };
  const now = () => frozen || Math.min(until, ticks() * rate + Math.max(...samples.map((s) => s.offset)));

  const two = (n) => String(n | 0).padStart(2, "0");
  const unit = (name, n) => word(`span.${name}`, n);
  const span = (s) =>
    s < 60 ? unit("s", s) :
    s < 3600 ? unit("m", s / 60 | 0) + " " + unit("s", two(s % 60)) :
    s < 86400 ? unit("h", s / 3600 | 0) + " " + unit("m", two(s % 3600 / 60)) : unit("d", s / 86400 | 0) + " " + unit("h", s % 86400 / 3600 | 0);
  const units = ["day", "hour", "minute", "second"].map((unit) =>
    new Intl.NumberFormat(root.lang || "en", { style: "unit", unit, unitDisplay: "long" }));
  const longSpan = (s) => { // the two largest non-zero units, in words
    const parts = [s / 86400, s % 86400 / 3600, s % 3600 / 60, s % 60].map(Math.floor);
    const first = parts.findIndex((n) => n > 0) & 3;
    return parts.slice(first, first + 2).map((n, i) => n || !i ? units[first + i].format(n) : "").join(" ").trim();
  };
  // day formats the date of an instant in the page's language, using its "date" example:
  // 2 January 2006.
  const day = (iso) => (words.date ?? "2006-01-02").replace(/2006|0?[12]/g, (is) =>
    is === "2006" ? iso.slice(0, 4) : String(+(is.endsWith("1") ? iso.slice(5, 7) : iso.slice(8, 10))).padStart(is.length, "0"));
  const moment = (ms, kind = "") => {
    const zone = mode === "local" ? new Date(ms).getTimezoneOffset() * 6e4 : 0;
    const iso = new Date(ms - zone).toISOString(), z = mode === "utc" ? "Z" : "";
    return (kind === "date" ? `${day(iso)} ` : "") + iso.slice(11, kind === "ms" ? 23 : 19) + z;
  };
  const deadline = (ms) => moment(ms, Math.abs(ms - now()) > 64e6 ? "date" : "");

  // ── Countdowns ────────────────────────────────────────────────────────────
  const arc = (el, share) => {
    const left = Math.round(share * 100);
    write(el, "stroke-dasharray", `${left} 100`);
    write(el, "stroke-dashoffset", left - 100);
  };
  const ring = (svg, share, tone) => {
    const r = "hold" in svg.dataset ? 5.5 : 7, s = r + 1.5;
    const d = tone === "critical" ? `M10 ${10 - s}L${10 + s} 10L10 ${10 + s}L${10 - s} 10Z`
      : `M10 ${10 - r}a${r} ${r} 0 0 1 0 ${2 * r}a${r} ${r} 0 0 1 0 ${-2 * r}`;
    all(".track, .arc", svg).forEach((p) => write(p, "d", d));
    all(".arc", svg).forEach((p) => arc(p, share));
  };
  const sand = (svg, share) => { // area is true to scale: height grows with the root of the share
    const k = Math.sqrt(share), x = (n) => (12 + n * 5.2 * k).toFixed(2), y = (n) => (16 + n * 10 * k).toFixed(2);
    all(".sand", svg).forEach((p) =>
      write(p, "d", `M${x(-1)} ${y(-1)}H${x(1)}L12 16ZM${x(-1)} ${y(1)}H${x(1)}L17.2 26.5H6.8Z`));
  };
  const flaps = (el, text) => all(".flap:not(.word)", el).forEach((flap, i) => {
    if (flap.textContent === text[i]) return;
    flap.textContent = text[i];
    brief(flap, "turn");
  });
  const countdown = (el) => {
    const { of, as, low, crit } = el.dataset, at = Date.parse(el.dateTime);
    const left = Math.max(0, Math.ceil((at - now()) / 1000)), share = of > 0 ? Math.min(1, left / of) : 0;
    const tone = as || (left > low ? "plenty" : left > crit ? "low" : "critical");
    const box = el.closest("[data-clock]") ?? el;
    write(box, "data-tone", tone);
    all(".ring", box).forEach((svg) => ring(svg, share, tone));
    all(".glass:not([data-state])", box).forEach((svg) => sand(svg, share));
    write(el, "aria-label", left ? longSpan(left) : word("expiring"));
    if (el.matches(".flaps")) flaps(el, mode === "rel" ? `${two(left / 60)}:${two(left % 60)}` : moment(at));
    else say(el, !left ? word("expiring") : mode === "rel" ? span(left) : deadline(at));
  };
  // read updates every clock in from to the current time.
  const read = (from) => {
    for (const el of all("time[data-of]", from)) countdown(el);
    for (const el of all("time[data-ago]", from)) {
      const at = Date.parse(el.dateTime);
      say(el, mode === "rel" ? word("ago", span(Math.max(0, Math.floor((now() - at) / 1000)))) : deadline(at));
    }
    for (const el of all("time[data-at]", from)) say(el, moment(Date.parse(el.dateTime), el.dataset.at));
    for (const el of all("time[data-clocked]", from)) say(el, moment(el.dataset.clocked === "wall" ? Date.now() : now()));
    for (const el of all("[data-until]", from)) {
      arc(el, Math.min(1, Math.max(0, (Date.parse(el.dataset.until) - now()) / 1000 / el.dataset.len)));
    }
  };

  // brief adds a class to el for the length of its animation. The stylesheet decides
  // whether there is one. A class that is already present does not restart it.
  const brief = (el, name) => {
    el.classList.add(name);
    setTimeout(() => el.classList.remove(name), 600);
  };

  // ── Merging ───────────────────────────────────────────────────────────────
  // What the server last sent for a slot or a row, without the parts that clocks change.
  // Comparing with this instead of the page tells a change in the broker from the passing
  // of time. A row's HTML is parsed only when it is compared: most rows leave before
  // that.
  const sent = new WeakMap();
  const lastOf = (el) => {
    const was = sent.get(el);
    return typeof was === "string" ? strip(parse(was).firstElementChild) : was ?? bare(el);
  };
  const strip = (node) => {
    for (const el of all("time[data-of], time[data-ago]", node)) {
      const box = el.closest("[data-clock]") ?? el, flap = all(".flap", el);
      el.removeAttribute("aria-label");
      (flap.length ? flap : [el]).forEach((f) => { f.textContent = ""; });
      if (!("of" in el.dataset)) continue;
      if (!el.dataset.as) box.removeAttribute("data-tone");
      all(".ring :is(.track, .arc), .glass:not([data-state]) .sand", box).forEach((p) => p.removeAttribute("d"));
      all(".arc", box).forEach(undash);
    }
    all("[data-until]", node).forEach(undash);
    return node;
  };
  const bare = (node) => strip(node.cloneNode(true));
  const undash = (el) => { el.removeAttribute("stroke-dasharray"); el.removeAttribute("stroke-dashoffset"); };
  const parse = (html) => {
    const t = document.createElement("template");
    t.innerHTML = html; // rendered and escaped by the server
    return t.content;
  };

  // morph applies the differences between last and next to live, and returns the changed
  // node, or null if there are none. It keeps nodes whose type is the same.
  const morph = (live, last, next) => {
    if (last.isEqualNode(next)) return null;
    if (live.nodeName !== next.nodeName) live.replaceWith(live = next.cloneNode(true));
    else if (live.nodeType !== Node.ELEMENT_NODE) live.data = next.data;
    else { attributes(live, last, next); children(live, last, next); }
    return live;
  };
  const attributes = (live, last, next) => {
    for (const { name, value } of next.attributes) if (last.getAttribute(name) !== value) live.setAttribute(name, value);
    for (const { name } of [...last.attributes]) if (!next.hasAttribute(name)) live.removeAttribute(name);
  };
  // children is morph for the child nodes of live. Each node becomes the next one of its
  // type, but controls that are in next, too, are kept, because the user may have just
  // pressed one of them. If a script has added or removed child nodes, the present ones
  // replace those of last.
  const controls = ":is(a, button, input, summary, :has(a, button, input, summary)):not(td, th)";
  const children = (live, last, next, changed) => {
    const mine = [...live.childNodes], ours = mine.length === last.childNodes.length, were = ours ? [...last.childNodes] : mine;
    let at = 0;
    // The places of kept controls in were; -1 for other nodes.
    const kept = [...next.childNodes].map((n) => {
      const to = n.matches?.(controls) ? were.findIndex((w, i) => i >= at && w.isEqualNode(n)) : -1;
      at = Math.max(at, to + 1);
      return to;
    });
    const free = (i) => mine[i] && !kept.includes(i);
    at = 0;
    next.childNodes.forEach((n, i) => {
      let to = kept[i], node;
      if (to < 0) for (to = at; free(to) && were[to].nodeName !== n.nodeName;) to++;
      if (to === kept[i] || free(to)) {
        while (at < to) mine[at++].remove();
        node = morph(mine[at], were[at++], n);
      } else live.insertBefore(node = n.cloneNode(true), mine[at] ?? null);
      if (node && ours) changed?.(node);
    });
    while (mine[at]) mine[at++].remove();
  };

  // keepingFocus calls change, which replaces content of el. If that removes the focused
  // element, the focus moves to the element that replaced it, to el, or to the link of a
  // row.
  const keepingFocus = (el, change) => {
    const had = el.contains(document.activeElement) && document.activeElement, fold = had && foldOf(had);
    change();
    if (!had || had.isConnected) return;
    const now = all("[data-fold]", el).find((f) => fold && f.dataset.fold === fold.dataset.fold)?.firstElementChild ?? (el.matches("[data-key]") && $("a", el) || el);
    if (now === el) el.tabIndex = -1;
    now.focus({ preventScroll: true });
  };
  const foldOf = (el) => el.closest("details[data-fold]");
  const alike = ({ childNodes: a }, { childNodes: b }) => a.length === b.length && [...a].every((n, i) => n.isEqualNode(b[i]));
  const mergeSlot = (el, fresh) => {
    const last = lastOf(el), next = typeof fresh === "string" ? strip(parse(fresh)) : bare(fresh), same = alike(last, next);
    sent.set(el, next);
    const over = $("[data-over]", next);
    if (over && over.dataset.over !== $("[data-over]", el)?.dataset.over) news.note = over.textContent.trim();
    if ("news" in el.dataset && !same) $(".newer", el.closest("section"))?.removeAttribute("hidden");
    keepingFocus(el, () => children(el, last, next));
    read(el);
    if (!same) count.changed?.(el);
  };
  // flash highlights a change. When a list or slot changes more than three times a second
  // for a while, nothing flashes until the rate drops, because everything would flash at
  // once.
  const stirred = new WeakMap();
  const flash = (el) => {
    if (el.closest("[data-flash=off]")) return;
    const box = el.closest("[data-list], [data-slot]") ?? el, { n = 0, at = 0, still = false } = stirred.get(box) ?? {};
    const now = ticks(), left = Math.max(0, n - (now - at) / 1000 * 3);
    const many = left >= 12 || still && left > 0;
    stirred.set(box, { n: Math.min(left + 1, 15), at: now, still: many });
    if (!many) brief(el, "flash");
    count.changed?.(el);
  };
  const mergeRow = (row, fresh) => {
    const last = lastOf(row), next = typeof fresh === "string" ? strip(parse(fresh).firstElementChild) : bare(fresh);
    sent.set(row, next);
    if (last.isEqualNode(next)) return;
    count.put++;
    attributes(row, last, next);
    keepingFocus(row, () => children(row, last, next, (cell) => { if (cell.nodeType === Node.ELEMENT_NODE) flash(cell); }));
    read(row);
  };

  // A pane shows one topic of the server: the page, or the drawer beside it.
  const panes = [];
  const paneOf = (topic) => panes.find(({ el }) => el.dataset.live === topic);
  const slotsOf = ({ el }) => all("[data-slot]", el).filter((slot) => slot.closest(".drawer, body") === el);

  // A list: order holds the keys the server shows; held has new rows that wait while the
  // reader uses the list or has paused it; leaving maps removed rows to the tick at which
  // they may go.
  const lists = new Map();
  const keyed = (el) => [...el.children].filter((row) => "key" in row.dataset);
  const listOf = (name) => { // a drawer has none
    const el = $(`[data-list="${CSS.escape(name)}"]`);
    if (el && lists.get(name)?.el !== el) {
      lists.set(name, { name, el, order: keyed(el).map((row) => row.dataset.key), held: new Map(), leaving: new Map() });
    }
    return el && lists.get(name);
  };
  // Reading the selection forces a layout of the whole page, so it is read only when it
  // changes.
  let marked = null;
  const mark = () => { const now = getSelection(); marked = now.isCollapsed ? null : now.getRangeAt(0); };
  const touched = (el) => el.matches(":hover, :focus-within") || !!marked?.intersectsNode(el);
  // Positions are read before the first change of a frame. Reading them between changes
  // would force a layout each time.
  let above = null; // elements that began above the viewport; null: not in an update
  const isAbove = (el) => above ? above.has(el) : el.getBoundingClientRect().top < 0;
  const barOf = ({ name }) => $(`[data-newbar="${CSS.escape(name)}"]`);
  const busy = (list) => list.still || touched(list.el) || list.el.dataset.insert === "hold" &&
    (isAbove(list.el) || !!barOf(list)?.matches(":focus:not([hidden])") || !!$("input:checked, [open], [aria-expanded=true], [aria-current]", list.el));

  const mergeList = (name, { order, put = {}, gone = {} }) => {
    const list = listOf(name);
    if (!list) return;
    const rows = new Map(keyed(list.el).map((row) => [row.dataset.key, row])), wanted = new Set(order);
    for (const [key, row] of rows) {
      if (!wanted.has(key)) leave(list, row, gone[key] ?? "left");
      else if (list.leaving.has(row)) stay(list, row);
    }
    for (const [key, fresh] of Object.entries(put)) {
      if (rows.has(key)) mergeRow(rows.get(key), fresh);
      else list.held.set(key, fresh);
    }
    for (const key of list.held.keys()) if (!wanted.has(key)) list.held.delete(key);
    list.order = order;
    settle(list);
  };
  // settle inserts and orders rows, unless that would move something the reader is using.
  // Leaving rows stay where they are.
  const settle = (list, now = false) => {
    const { el, order, held, leaving, name } = list, wait = !now && busy(list);
    newbar(list, wait && (list.still || el.dataset.insert === "hold") ? held.size : 0);
    if (wait) return;
    const rows = new Map(keyed(el).map((row) => [row.dataset.key, row]));
    let at = el.firstElementChild;
    for (const key of order) {
      while (at && (leaving.has(at) || !("key" in at.dataset))) at = at.nextElementSibling;
      const row = rows.get(key) ?? arrive(held.get(key));
      if (!row) continue; // comes with the next part of the snapshot
      if (row === at) at = at.nextElementSibling;
      else el.insertBefore(row, at);
      if (!held.delete(key)) continue;
      flash(row);
      read(row);
    }
    sweep(list);
    sweepSoon(list);
  };
  const arrive = (fresh) => {
    if (!fresh) return null;
    const html = typeof fresh === "string", row = html ? parse(fresh).firstElementChild : fresh;
    sent.set(row, html ? fresh : bare(row));
    count.put++;
    news.came++;
    return row;
  };
  const leave = (list, row, reason) => {
    if (list.leaving.has(row)) return;
    const quiet = reason === "left"; // not removed, just outside this window now
    list.leaving.set(row, ticks() + (quiet ? 0 : 2500));
    if (quiet) return;
    count.gone++;
    news.went[reason] = (news.went[reason] ?? 0) + 1;
    row.classList.add("leaving");
    row.dataset.gone = reason;
    count.changed?.(row);
    for (const b of all("button", row)) b.disabled = b !== document.activeElement;
    for (const el of all(".flaps", row)) {
      if (reason !== "expired" && reason !== "dead-lettered" || Date.parse(el.dateTime) > now() + 1000) continue;
      const flap = document.createElement("span");
      flap.className = "flap word";
      flap.textContent = word("expired");
      brief(flap, "turn");
      el.replaceChildren(flap);
      el.removeAttribute("data-of");
    }
    sweepSoon(list);
  };
  const stay = (list, row) => {
    list.leaving.delete(row);
    row.classList.remove("leaving");
    row.removeAttribute("data-gone");
    const chosen = boxOf(row)?.checked;
    keepingFocus(row, () => row.replaceChildren(...lastOf(row).cloneNode(true).childNodes));
    if (chosen) boxOf(row).checked = true;
    read(row);
  };
  // sweep removes leaving rows, except under the pointer, the focus or a selection. While
  // the reader stays in the list, it keeps at most two hundred of them and any with the
  // focus. When many rows leave at once, it keeps at most twelve.
  const sweep = (list) => {
    if (paused) return;
    const wait = list.still || touched(list.el);
    for (const [row, due] of list.leaving) {
      if (due > ticks() && list.leaving.size <= 12 || $("input:checked", row) || row.contains(document.activeElement) || wait && list.leaving.size <= 200) continue;
      list.leaving.delete(row);
      row.remove();
    }
  };
  // sweepSoon schedules a sweep for the first due row. During a stream of changes, each
  // update sweeps anyway, and the browser lays out the page once for both.
  const sweepSoon = (list) => {
    clearTimeout(list.sweeping);
    const dues = [...list.leaving.values()].filter((due) => due > ticks());
    if (!dues.length) return;
    list.sweeping = setTimeout(() => {
      sweep(list);
      sweepSoon(list);
    }, Math.max(250, Math.min(...dues) - ticks() + 50));
  };
  // newbar shows how many rows wait. It hides the button when none do, and moves keyboard
  // focus from the button to the row above.
  const newbar = (list, n) => {
    let bar = barOf(list);
    if (!bar && n) {
      bar = document.createElement("button");
      bar.type = "button";
      bar.className = "newbar";
      bar.dataset.newbar = list.name;
      (list.el.closest("table") ?? list.el).after(bar);
    }
    if (!bar) return;
    if (!n && bar.matches(":focus-visible")) ($("a", keyed(list.el).at(-1) ?? list.el) ?? $("main"))?.focus({ preventScroll: true });
    bar.hidden = !n;
    say($("span", bar) ?? bar, word("newRows", n));
  };

  // ── The page's own state ──────────────────────────────────────────────────
  const link = { ws: null, live: false, tries: 0, failures: [], next: 0, timer: 0, heard: 0, met: false };
  let staleSince = 0, lastGood = 0, polling = 0, pollTimer = 0, retry = 5000;
  const missed = new Set(), mostMissed = 99999; // keys of rows that arrived during a pause
  const state = () =>
    paused ? ["paused", "low", missed.size ? word("pausedNew", missed.size) : word("paused")] :
    link.live ? ["live", "plenty", word("live")] :
    staleSince ? ["stale", "critical", word("stale", moment(staleSince))] :
    polling ? ["polling", "lock", word("polling", 5)] :
    ["reconnecting", "low", link.ws ? word("connecting")
      : word("reconnecting", Math.max(1, Math.ceil((link.next - ticks()) / 1000)))];
  const show = () => {
    if (!topic()) return;
    const pill = $("[data-pill]"), [name, tone, text] = state(), changed = count.state !== name;
    count.state = name;
    if (!pill) return;
    pill.hidden = false;
    write(pill, "data-state", name);
    write(pill, "data-tone", tone);
    write(pill, "aria-pressed", paused);
    say($("b", pill) ?? pill, text);
    all("[data-when]", pill).forEach((el) => el.toggleAttribute("hidden", !el.dataset.when.split(" ").includes(name)));
    if (changed && (name === "stale" || name === "polling")) region("alert").textContent = `${word("lost")}. ${text}`;
    if (changed && name === "live") region("alert").textContent = "";
  };

  const news = { came: 0, went: {}, note: "", said: "", at: -5000 }; // said is English, in the server's words
  const region = (role) => {
    let el = $(role === "status" ? "[data-status]" : "[data-alert]");
    if (el) return el;
    el = document.createElement("p");
    el.className = "sr";
    el.setAttribute("role", role);
    el.dataset[role] = "";
    document.body.append(el);
    return el;
  };
  const announce = () => { // politely, at most every five seconds
    if (ticks() - news.at < 5000) return;
    let others = 0;
    const text = [news.note, news.came && word("came", news.came)];
    for (const [why, n] of Object.entries(news.went)) {
      if (words[`went.${why}`]) text.push(word(`went.${why}`, n));
      else others += n;
    }
    const told = [...text, others && word("went", others)].filter(Boolean).join(", ");
    if (told || news.said) answer(told, news.said);
  };
  // answer announces the result of a user's action at once.
  const answer = (text, said = "") => {
    const el = region("status");
    el.textContent = text;
    if (said) el.append(text && " ", Object.assign(document.createElement("span"), { lang: "en", textContent: said }));
    if (text || said) Object.assign(news, { came: 0, went: {}, note: "", said: "", at: ticks() });
  };
  count.say = answer;

  // ── The socket ────────────────────────────────────────────────────────────
  const base = () => document.body.dataset.base ?? "";
  const home = () => { // of the namespace: each has its own socket
    const [at] = location.pathname.startsWith(base()) && location.pathname.slice(base().length).match(/^\/n\/[^/]+/) || [];
    return at && base() + at;
  };
  const topic = () => document.body.dataset.live;
  // hidden reports whether the page is out of sight. Pages in presenter and kiosk mode
  // always count as visible: others watch them.
  const hidden = () => document.hidden && !["present", "kiosk"].includes(root.dataset.mode);
  const send = (command) => { if (link.ws?.readyState === WebSocket.OPEN) link.ws.send(JSON.stringify(command)); };
  const subscribe = () => {
    for (const { live, n } of panes.map(({ el }) => el.dataset)) if (live) send({ op: "sub", topic: live, n: Number(n) || 0 });
  };

  let ceased = false, adrift = false;
  const connect = () => {
    clearTimeout(link.timer);
    if (ceased || link.ws || !topic() && !("tied" in root.dataset)) return;
    const ws = link.ws = new WebSocket(new URL(`${(adrift ? null : home()) ?? base()}/live?lang=${root.lang}`, location.href).href.replace(/^http/, "ws"));
    if (link.met) count.reconnects++;
    link.heard = ticks();
    ws.onmessage = (e) => { if (ws === link.ws) { link.heard = ticks(); hear(JSON.parse(e.data)); } };
    ws.onclose = () => { if (ws === link.ws) lost(); };
    show();
  };
  const lost = () => {
    const at = ticks(), wait = Math.min(30000, 500 * 2 ** link.tries++) * (.75 + Math.random() / 2);
    Object.assign(link, { ws: null, live: false, next: at + wait });
    link.failures = [...link.failures, at].filter((t) => at - t < 15000);
    clearTimeout(link.timer);
    link.timer = setTimeout(connect, wait);
    count.lost?.();
    if (link.failures.length >= 3 && !polling && topic()) { polling = 1; poll(); }
    show();
  };
  const drop = () => { const ws = link.ws; lost(); ws?.close(); };
  // cease stops all updates and leaves the page unchanged. drift does so too, but
  // connects to the socket outside the namespaces, which reports presentations.
  const cease = () => {
    ceased = true;
    frozen ||= now();
    shut();
    delete document.body.dataset.live;
    clearTimeout(link.timer);
    stopPolling();
    $("[data-pill]")?.setAttribute("hidden", "");
    region("alert").textContent = "";
  };
  const drift = () => {
    cease();
    [ceased, adrift] = [false, true];
    hurry();
  };
  const hurry = () => { if (!link.ws) connect(); };

  // Updates are applied together at the next animation frame, so that a browser that is
  // slower than the stream falls no further behind. An update in several parts waits
  // briefly for its last part. A timeout applies updates in a browser that does not
  // render.
  const pending = new Map(); // by topic
  let showing = 0, late = 0;
  const collect = (m) => {
    const before = pending.get(m.topic) ?? {}, lists = { ...before.lists };
    for (const [name, part] of Object.entries(m.lists ?? {})) {
      const was = lists[name] ?? {};
      lists[name] = { order: part.order, put: { ...was.put, ...part.put }, gone: { ...was.gone, ...part.gone } };
    }
    pending.set(m.topic, { ...m, full: m.full || before.full, slots: { ...before.slots, ...m.slots }, lists });
    if (document.hidden) { present(); return; } // hidden tabs delay timers, and others may see the page
    if (m.more) { late ||= setTimeout(present, 100); return; }
    clearTimeout(late);
    late = setTimeout(present, 1000);
    showing ||= requestAnimationFrame(present);
  };
  const present = () => {
    cancelAnimationFrame(showing);
    clearTimeout(late);
    showing = late = 0;
    if (pending.size) above = new Set(all("[data-insert=hold]").filter(isAbove));
    for (const [topic, m] of pending) {
      pending.delete(topic);
      if (paneOf(topic)) frame(m, paneOf(topic));
    }
    above = null;
    show();
  };

  const hear = (m) => {
    if (m.t === "parts") { count.frames++; collect(m); return; }
    present();
    switch (m.t) {
      case "hello":
        link.met = true;
        samples = [];
        clock(m);
        updated(m.build);
        alerted(m.alert);
        if (hidden()) send({ op: "pause" });
        subscribe();
        break;
      case "ping":
      case "clock":
        clock(m);
        if (m.t === "clock" && !paused) beat();
        if (link.live) lastGood = now();
        break;
      case "alert":
        alerted(m.alert);
        break;
      case "reset":
        subscribe();
        break;
      case "error":
        if (m.topic && m.topic !== topic()) break;
        Object.assign(link, { live: false });
        staleSince ||= lastGood || now();
        news.said = m.text;
        setTimeout(subscribe, retry);
        retry = Math.min(60000, retry * 2);
    }
    count.heard?.(m);
    show();
  };
  const frame = (m, pane) => {
    if (m.full && pane === panes[0]) {
      Object.assign(link, { live: true, tries: 0 });
      retry = 5000;
      stopPolling();
    }
    if (pane === panes[0]) staleSince = 0;
    merge(m, pane);
    spot();
    if (paused) return; // the page stays at its number
    pane.el.dataset.n = m.n;
    lastGood = now();
  };
  const merge = ({ slots = {}, lists: parts = {} }, pane) => {
    if (paused) {
      for (const [name, { order }] of Object.entries(parts)) {
        const have = new Set(listOf(name)?.order);
        for (const key of order) {
          if (missed.size >= mostMissed) return;
          if (!have.has(key)) missed.add(`${name} ${key}`);
        }
      }
      return;
    }
    for (const el of slotsOf(pane)) {
      const fresh = slots[el.dataset.slot];
      if (fresh !== undefined) mergeSlot(el, fresh);
    }
    for (const [name, part] of Object.entries(parts)) mergeList(name, part);
  };
  const updated = (build) => {
    if (!build || !document.body.dataset.build || build === document.body.dataset.build) return;
    $("[data-reload]")?.removeAttribute("hidden");
    news.note = word("reload");
  };

  // ── Without a socket: fetch the page every five seconds ───────────────────
  const fetched = async (url) => {
    const answer = await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(4500) });
    if (answer.headers.has("Mayfly-Standby")) location.reload(); // another server is active now; its page says which
    if (!answer.ok) throw new Error(answer.statusText);
    const { body } = new DOMParser().parseFromString(await answer.text(), "text/html");
    return body.dataset.live ? body : $(".drawer", body);
  };
  const poll = async () => {
    clearTimeout(pollTimer);
    pollTimer = setTimeout(poll, 5000);
    if (paused || hidden()) return;
    try {
      for (const pane of [...panes]) {
        const fresh = await fetched(pane.url);
        if (fresh?.dataset.live !== pane.el.dataset.live) throw new Error("another page");
        if (!polling || paused) return;
        pane.el.dataset.n = fresh.dataset.n;
        merge(partsOf({ el: fresh }), pane);
        if (pane !== panes[0]) continue;
        count.polls++;
        samples = [];
        clock(fresh.dataset);
        updated(fresh.dataset.build);
        staleSince = 0;
        lastGood = now();
      }
    } catch {
      if (polling) staleSince ||= lastGood || now();
    }
    show();
  };
  // again checks at intervals whether a standby page has been replaced by another page,
  // and leaves it readable until then.
  const again = (seconds) => setTimeout(async () => {
    const says = (main) => { for (const time of all("time", main)) time.remove(); return main.textContent; };
    try {
      const answer = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(4500) });
      if (answer.status >= 500 && !answer.headers.has("Mayfly-Standby")) throw new Error(answer.statusText); // a proxy's error
      const there = $("main", new DOMParser().parseFromString(await answer.text(), "text/html"));
      if (!answer.headers.has("Mayfly-Standby") || says(there) !== says($("main").cloneNode(true))) { location.replace(bareURL(location.href)); return; }
    } catch { /* no answer now; perhaps later */ }
    again(seconds);
  }, seconds * 1000);
  const stopPolling = () => { clearTimeout(pollTimer); polling = 0; link.failures = []; };
  const partsOf = (pane) => ({
    slots: Object.fromEntries(slotsOf(pane).map((el) => [el.dataset.slot, el])),
    lists: Object.fromEntries(all("[data-list]", pane.el).map((el) => {
      const rows = keyed(el).map((row) => [row.dataset.key, row]);
      return [el.dataset.list, { order: rows.map(([key]) => key), put: Object.fromEntries(rows) }];
    })),
  });

  // ── The drawer ────────────────────────────────────────────────────────────
  // A page shown beside the list it was opened from, which keeps its place. The address
  // bar shows the drawer's own page, so the address can be shared, and Back closes the
  // drawer.
  const roomy = matchMedia("(width >= 56.25rem)");
  const bareURL = (url) => url.replace(/#.*/, "");
  const beside = (href) => {
    const url = new URL(href, location.href);
    url.searchParams.set("drawer", 1);
    url.hash = "";
    return url.href;
  };
  let opener = null, asking = "", title = "";
  const open = async (href, from) => {
    const url = asking = beside(href);
    let el;
    try { el = await fetched(url); } catch { /* the page will show the error */ }
    if (asking !== url) return; // another drawer was requested meanwhile
    asking = "";
    if (!el) { location.assign(href); return; }
    if (from) history[panes[1] ? "replaceState" : "pushState"]({ drawer: 1 }, "", href);
    title ||= document.title;
    if (panes[1]) takeOut();
    if (from && !from.closest(".drawer")) opener = from;
    opener?.closest("[data-key]")?.setAttribute("aria-current", "true");
    document.body.append(el = document.adoptNode(el));
    panes[1] = { el, url };
    for (const slot of slotsOf(panes[1])) sent.set(slot, bare(slot));
    read(el);
    const heading = $("h2", el);
    document.title = `${heading.textContent} · ${title}`;
    heading.focus({ preventScroll: true });
    if (!paused && el.dataset.live) send({ op: "sub", topic: el.dataset.live, n: Number(el.dataset.n) || 0 });
  };
  const takeOut = () => {
    const [{ el }] = panes.splice(1, 1);
    if (el.dataset.live) send({ op: "unsub", topic: el.dataset.live });
    el.remove();
    for (const row of all("[data-key][aria-current]")) row.removeAttribute("aria-current");
  };
  const shut = () => {
    asking = "";
    if (!panes[1]) return;
    takeOut();
    document.title = title;
    (opener?.isConnected ? opener : $("main"))?.focus({ preventScroll: true });
    opener = null;
  };
  const close = () => history.state?.drawer ? history.back() : shut();
  const popped = () => {
    const at = bareURL(location.href);
    if (panes[1] && beside(at) === panes[1].url || at === bareURL(panes[0].url) && !panes[1]) return; // a fragment
    if (at === bareURL(panes[0].url)) shut();
    else if (history.state?.drawer) open(location.href);
    else location.reload(); // the page under the drawer has changed
  };
  // beyond handles a click that leads to a fragment of the drawer's own page, and reports
  // whether it was one. The browser would look for that fragment in the page below.
  const beyond = (e) => {
    const from = e.target.closest("a[href*='#']"), at = bareURL(location.href);
    if (!panes[1] || !from || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return false;
    if (bareURL(from.href) !== at || at === bareURL(panes[0].url)) return false;
    e.preventDefault();
    const { href } = from;
    history.replaceState(null, "", panes[0].url);
    shut();
    location.assign(href);
    return true;
  };
  // Functions that present.js uses.
  Object.assign(count, {
    send, word, hurry, cease, drift,
    places: () => [panes[0]?.url ?? location.href, panes[1] ? location.href : ""].map(bareURL),
    lay: (href) => (href && roomy.matches && topic() ? open(href, null) : href ? location.assign(href) : shut()),
  });
  // drawn opens the drawer if a click asks for it, and reports whether it did.
  const drawn = (e) => {
    const from = e.target.closest("a[data-drawer], .drawer :is(.seg, .newer) a");
    if (!from || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || !roomy.matches || !topic()) return false;
    e.preventDefault();
    open(from.href, from);
    return true;
  };

  // withdraw removes a toast and moves its focus to the page.
  const withdraw = (note) => {
    const had = note.contains(document.activeElement);
    note.remove();
    if (had) $("main").focus({ preventScroll: true });
  };

  // ── Temporary entities about to expire ────────────────────────────────────
  // A toast is shown while a clock has less than half a minute left, unless the reader
  // dismisses it. It goes when the clock ends, because an expired entity cannot be
  // pinned. A reset clock counts as a new one.
  const away = new Map(); // URL to deadline
  const toast = () => {
    const place = $("[data-toasts]"), due = new Map();
    if (!place) return;
    for (const el of all("[data-pin]:not(.leaving)")) {
      const { pin } = el.dataset, clock = $("time[data-of]", el), left = clock ? Date.parse(clock.dateTime) - now() : 0;
      if (left > 0 && left <= 30000 && away.get(pin) !== clock.dateTime) due.set(`${pin} ${clock.dateTime}`, { el, pin, clock });
    }
    for (const el of [...place.children]) if (!el.dataset.told && !due.delete(el.dataset.of)) withdraw(el);
    for (const [of, { el, pin, clock }] of due) {
      const note = $("template[data-toast]").content.firstElementChild.cloneNode(true), time = clock.cloneNode(true);
      const [before, after] = (words.leaves ?? "").replace("{name}", () => el.dataset.who).split("{n}");
      Object.assign(note.dataset, { of, gone: pin, at: clock.dateTime });
      $("b", note).append(before, time, after);
      say($("small", note), el.dataset.goes ?? "");
      $("[form]", note).setAttribute("formaction", pin);
      place.append(note);
      read(note);
      news.note = before + longSpan(30) + after;
    }
  };
  // ── Alerts ────────────────────────────────────────────────────────────────
  // The server sends the number of the latest alert; the script fetches the toasts.
  // Dismissed ones stay away, on other pages too. Only one of a browser's pages shows a
  // system notification.
  let alertsUpTo = 0;
  const alerted = async (n) => {
    const place = $("[data-toasts]");
    if (!n || n <= alertsUpTo || !place || !home()) return;
    alertsUpTo = n;
    let notes;
    try {
      const answer = await fetch(`${home()}/alerts/toasts?after=${Number(kept.get(`alerts${home()}`)) || 0}`, { cache: "no-store", signal: AbortSignal.timeout(4500) });
      notes = all("[data-told]", new DOMParser().parseFromString(await answer.text(), "text/html").body);
    } catch { return; /* the next message brings it */ }
    const counted = $(`[data-told="more"]`, place), had = counted?.contains(document.activeElement);
    counted?.remove();
    const fresh = notes.filter((note) => !$(`[data-told="${note.dataset.told}"]`, place));
    for (const note of all("[data-told]", place)) if (place.children.length + fresh.length > 5 && !touched(note)) note.remove();
    for (const note of fresh.reverse()) {
      for (const back of all("input[name=back]", note)) back.value = $("#act input[name=back]")?.value ?? back.value;
      place.append(document.adoptNode(note));
      setTimeout(() => { if (note.isConnected && !touched(note)) note.remove(); }, 60000);
      if (note.dataset.told !== "more") news.note = $("b", note).textContent;
    }
    const more = $(`[data-told="more"]`, place);
    if (more) place.append(more); // below all the toasts it counts
    if (had) (more && $("a", more) || $("main")).focus({ preventScroll: true });
    announce();
    const first = fresh.findLast((note) => note.dataset.told !== "more");
    if (first) notify(n, $("b", first).textContent, $("small", first).textContent.trim());
  };
  const notify = (n, title, body) => {
    if (kept.get("notices") !== "on" || !window.Notification || Notification.permission !== "granted") return;
    const once = () => {
      if ((Number(kept.get(`notified${home()}`)) || 0) >= n) return;
      kept.set(`notified${home()}`, n);
      new Notification(title, { body, tag: `mayfly ${n}` }).onclick = () => window.focus();
      count.notified = (count.notified ?? 0) + 1;
    };
    if (navigator.locks) navigator.locks.request(`mayfly.notify${home()}`, once);
    else once();
  };
  const notices = async (box) => { // permission is requested only here, on a click
    const may = box.checked && await Notification.requestPermission() === "granted";
    box.checked = may;
    kept.set("notices", may ? "on" : "off");
  };
  const readNotices = () => {
    for (const el of all("[data-notices]")) {
      el.hidden = !window.Notification;
      $("input", el).checked = kept.get("notices") === "on" && window.Notification?.permission === "granted";
    }
  };

  const dismiss = (note) => {
    if (note.dataset.told) {
      kept.set(`alerts${home()}`, Math.max(Number(kept.get(`alerts${home()}`)) || 0, Number(note.dataset.told) || 0));
    } else away.set(note.dataset.gone, note.dataset.at);
    withdraw(note);
  };

  // ── Preview while the user types ──────────────────────────────────────────
  // This does not save the form; it only shows the server's answer.
  let trying = 0, tried = null;
  const folds = new Map(); // opened or closed by the user, by name
  const attempt = async (form) => {
    tried?.abort();
    tried = new AbortController();
    try {
      const answer = await fetch(form.dataset.try, { method: "POST", body: new URLSearchParams(new FormData(form)), signal: tried.signal });
      const { body } = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = new Map(all("[data-tried]", body).map((el) => [el.dataset.tried, el]));
      for (const el of all("[data-tried]")) {
        const next = fresh.get(el.dataset.tried);
        if (!next) continue;
        for (const fold of all("[data-fold]", next)) fold.open = folds.get(fold.dataset.fold) ?? fold.open;
        keepingFocus(el, () => el.replaceChildren(...next.childNodes));
        read(el);
      }
      for (const el of all("input[id], textarea[id]", form)) {
        const wrong = body.querySelector(`#${CSS.escape(el.id)}`)?.getAttribute("aria-invalid");
        if (wrong) write(el, "aria-invalid", wrong);
        else el.removeAttribute("aria-invalid");
      }
      news.note = $("[data-verdict]")?.textContent ?? "";
    } catch { /* the submit button still works, and its page shows the error */ }
  };
  // A form of columns is submitted when a column moves or is added, one request at a
  // time.
  let arranging = Promise.resolve();
  const arrange = (from) => { const { form, dataset: { arrange: deed } } = from; arranging = arranging.then(() => arranged(form, deed, from)); };
  const arranged = async (form, deed, from) => {
    const body = new URLSearchParams(new FormData(form));
    body.append("do", deed);
    try {
      const answer = await fetch(form.action, { method: "POST", body });
      if (!answer.ok) throw new Error(answer.statusText);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const el of all("[data-tried]", form)) {
        const next = $(`[data-tried="${el.dataset.tried}"]`, page);
        if (!next) continue;
        for (const fold of all("[data-fold]", next)) fold.open = folds.get(fold.dataset.fold) ?? fold.open;
        el.replaceChildren(...next.childNodes);
      }
      const again = $(`button[data-arrange="${CSS.escape(deed)}"]`, form);
      (again?.disabled ? $("button:enabled", again.parentElement) : again)?.focus();
    } catch { form.requestSubmit(from.type === "submit" ? from : null); }
  };
  const typed = ({ target: el }) => {
    const form = el.form;
    if (!form?.dataset.try) return;
    clearTimeout(trying);
    trying = setTimeout(attempt, 400, form);
  };

  // ── Selecting rows ────────────────────────────────────────────────────────
  const boxes = (head) => all("[data-key]:not(.leaving) input.check", head.closest("table, form"));
  const boxOf = (row) => $("input.check", row);
  const rowsNow = () => all("[data-list=rows] > [data-key]:not(.leaving), [data-list=bays] > [data-key]:not(.leaving), [data-search] [data-key], [data-still] > [data-key]");
  let last = ""; // key of the last selected row, where a range begins
  // range sets all rows from the last selected one to this one to the state of this one.
  const range = (row) => {
    const rows = rowsNow(), from = rows.findIndex((r) => r.dataset.key === last), to = rows.indexOf(row), { checked } = boxOf(row);
    if (from < 0 || to < 0) return;
    for (const r of rows.slice(Math.min(from, to), Math.max(from, to) + 1)) boxOf(r).checked = checked;
  };
  const pick = (row, ranged) => {
    const box = row && boxOf(row);
    if (!box) return;
    box.checked = ranged || !box.checked;
    if (ranged) range(row);
    last = row.dataset.key;
    picked(box);
  };
  // picked updates the page after the user changes a checkbox.
  const picked = (box) => {
    const every = box.form && $("[data-every]", box.form);
    if (every && !box.checked) every.checked = false;
    choose();
  };
  const step = (by) => { // to the next or previous row, also from a leaving one
    const rows = rowsNow(), from = document.activeElement?.closest("[data-key]");
    const beyond = (row) => from.compareDocumentPosition(row) & (by > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING);
    const to = !rows.includes(from) && !from?.matches(".leaving") ? rows.at(by > 0 ? 0 : -1) : by > 0 ? rows.find(beyond) : rows.findLast(beyond);
    $("a[data-drawer], a", to ?? document.createElement("i"))?.focus();
  };
  const choose = () => {
    for (const head of all("input[data-all]")) {
      const rows = boxes(head), n = rows.filter((box) => box.checked).length;
      Object.assign(head, { checked: n > 0 && n === rows.length, indeterminate: n > 0 && n < rows.length, disabled: !rows.length });
    }
  };

  // uncover moves toasts and notices away from the focused element.
  const uncover = () => {
    const el = document.activeElement, over = all(".toasts, .notice[data-stays]").filter((note) => note.childElementCount && !note.contains(el));
    if (!over.length || !el?.matches(":focus-visible") || el === document.body) return;
    const { left, right, top, bottom } = el.getBoundingClientRect();
    for (const aside of [root.dataset.aside ?? "", "", "start", "top"]) {
      root.dataset.aside = aside;
      if (!over.some((note) => { const r = note.getBoundingClientRect(); return r.left < right && left < r.right && r.top < bottom && top < r.bottom; })) return;
    }
    el.scrollIntoView({ block: "center" });
  };

  // ── Notices of finished actions ───────────────────────────────────────────
  // A notice stays for some seconds. The time stops while the reader points at the notice
  // or the page is hidden.
  const pass = () => {
    for (const el of all(".notice[data-stays]")) {
      if (touched(el) || hidden()) continue;
      const left = el.dataset.stays -= 1;
      $("progress", el).value = left;
      if (left < 0) el.remove();
    }
  };

  // ── Searching ─────────────────────────────────────────────────────────────
  // A search page has the results that were found in a short time. The script continues
  // the search until there are enough results or the user stops it, and waits while the
  // page is hidden. The outcome is announced once, after the notice of an action.
  const seek = async () => {
    const panel = $("[data-search]");
    if (!panel) return;
    const list = $("tbody", panel), stop = $("[data-stop]", panel), on = $("a[rel=next]", panel);
    const given = new AbortController();
    if (!on) return;
    stop.addEventListener("click", () => given.abort());
    on.hidden = !(stop.hidden = false);
    let more = true;
    try {
      while (more && list.children.length < 200) {
        await seen();
        const page = await fetch(on.href, { signal: given.signal });
        const found = $("[data-search]", new DOMParser().parseFromString(await page.text(), "text/html"));
        if (!found) break;
        const rows = [...$("tbody", found).children];
        if ($("[data-every]:checked")) for (const row of rows) boxOf(row).checked = true;
        list.append(...rows);
        read(list);
        $("[data-said]", panel).textContent = $("[data-said]", found).textContent;
        if ((more = $("a[rel=next]", found))) on.href = more.href;
      }
    } catch { /* stopped, or no answer: the link continues */ }
    on.hidden = !more;
    if (document.activeElement === stop || given.signal.aborted && document.activeElement === document.body) (more ? on : $("#f-q")).focus();
    stop.hidden = true;
    answer([news.note, $("[data-said]", panel).textContent].filter(Boolean).join(", "));
  };
  const seen = async () => { while (hidden()) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true })); };
  const find = (e) => {
    const box = $("[data-find]");
    e.preventDefault();
    if (box) box.select();
    else location.assign(home() + "/search");
  };

  // ── A scene ───────────────────────────────────────────────────────────────
  // spot highlights the links to the entities and messages of a scene's step, with the
  // rows or cards around them. On the page of such an entity or message it highlights the
  // heading instead. It scrolls to the highlight once per step.
  let brought = "", said = "";
  const inSight = (el) => {
    const { top, bottom } = el.getBoundingClientRect();
    return top >= $(".bar").offsetHeight && bottom <= innerHeight - $(".ground").offsetHeight;
  };
  const spot = () => {
    const stage = $("[data-marks]"), lit = new Set(), path = (url) => new URL(url, location.href).pathname;
    if (!stage) return;
    for (const marked of JSON.parse(stage.dataset.marks).map(path)) {
      if (marked === path(panes[0].url)) all(".main h1").forEach((h) => lit.add(h));
      else for (const a of all(".main a[href]")) if (path(a.href) === marked) lit.add(a.closest("tr, li, article, .tile, [data-key]") ?? a);
    }
    for (const el of all(".spotlit")) if (!lit.has(el)) el.classList.remove("spotlit");
    for (const el of lit) if (!el.classList.contains("spotlit")) el.classList.add("spotlit");
    const step = $(".stage-caption", stage)?.textContent, text = $(".stage-text", stage);
    if (step !== said) text.scrollTop = 0;
    said = step;
    if (text.scrollHeight > text.clientHeight) write(text, "tabindex", 0); // lets keys scroll it
    else text.removeAttribute("tabindex");
    if (!lit.size || step === brought) return;
    brought = step;
    if (![...lit].some(inSight)) [...lit][0].scrollIntoView({ block: "nearest" });
  };
  // play submits a button of the scene's bar. The clock runs visibly to its new time, and
  // the tab stays on this page if the step can be watched here.
  const play = async (e) => {
    const by = e.submitter;
    if (e.target.id !== "stage-form" || !by?.formAction) return;
    e.preventDefault();
    if (root.dataset.playing) return;
    root.dataset.playing = "";
    const body = new URLSearchParams(new FormData(e.target, by));
    body.set("tempo", "glide");
    try {
      const answer = await fetch(by.formAction, { method: "POST", body });
      const text = await answer.text(), act = by.dataset.stageAct;
      const here = answer.ok && answer.url.replace(/#.*/, "") === location.href.replace(/#.*/, "");
      const told = here && ["next", "clock", "leap"].includes(act) ? new DOMParser().parseFromString(text, "text/html") : null, fresh = told?.body;
      if (!fresh || fresh.dataset.live !== topic() || told.documentElement.lang !== root.lang) location.assign(answer.url);
      else {
        clock(fresh.dataset);
        merge(partsOf({ el: fresh }), panes[0]);
        $("[data-notice]").replaceChildren(...$("[data-notice]", fresh).childNodes);
        news.note = $("[data-notice] .notice:not([role=alert]) strong")?.textContent ?? news.note;
        beat();
      }
    } catch { location.reload(); }
    delete root.dataset.playing;
  };
  const act = (name) => $(`[data-stage-act="${name}"]:enabled`)?.click();

  // ── User actions ──────────────────────────────────────────────────────────
  // A pause stops every number. The server keeps sending updates, so that the pill can
  // count them; the end of a pause requests a fresh snapshot.
  const pause = () => {
    frozen = paused ? 0 : now();
    paused = !paused;
    missed.clear();
    if (!paused) { subscribe(); hurry(); if (polling) poll(); beat(); }
    show();
  };
  const theme = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    look("theme", dark ? "light" : "dark");
  };
  // Appearance settings are cookies, so that the server renders the next page with them.
  // Other settings are in local storage, which notifies other tabs. An empty value
  // follows the system.
  const looks = ["theme", "contrast", "density"];
  const look = (name, value) => {
    document.cookie = `mayfly_${name}=${value}; path=${base() || "/"}; max-age=${value ? 31536000 : 0}; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
    kept.set(name, value);
    looked(name, value);
  };
  const looked = (name, value) => {
    if (value) root.dataset[name] = value;
    else delete root.dataset[name];
    for (const el of all(`input[name=${name}]`)) el.checked = el.value === value;
  };
  const setMode = (value) => {
    mode = value;
    for (const el of all("input[name=time]")) el.checked = el.value === mode;
    read(document);
  };
  const copy = async (el) => {
    const { text: given, copy: own, copyFrom } = el.dataset;
    const text = given ?? own ?? $(copyFrom).textContent.trim();
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else { // an address that is neither loopback nor https
      const area = document.createElement("textarea");
      area.className = "sr";
      area.value = text;
      el.after(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      el.focus();
    }
    brief(el, "copied");
    answer(word("copied"));
  };
  // Open menus close when the user turns to something else.
  const fold = (e) => {
    if (e.target.closest?.("dialog")) return false; // it stays behind
    const over = all(":is(.more, .views, .spaces, .acting)[open]").filter((el) => e.type === "keydown" || !el.contains(e.target));
    for (const el of over) el.open = false;
    if (e.type === "keydown" && over.length) $("summary", over[0]).focus();
    return over.length > 0;
  };
  const click = (e) => {
    fold(e);
    if (e.shiftKey && e.target.matches("[data-key] input.check")) range(e.target.closest("[data-key]"));
    if (drawn(e) || beyond(e)) return;
    const mover = e.target.closest("button[data-arrange]");
    if (mover) { e.preventDefault(); arrange(mover); return; }
    if (e.target.closest("[data-fold] > summary")) folds.set(foldOf(e.target).dataset.fold, !foldOf(e.target).open);
    const el = e.target.closest("[data-pill], [data-act], [data-newbar], [data-hold], [data-copy], [data-copy-from], [data-dialog], [data-close]");
    if (!el) return;
    const { dataset: d } = el;
    if ("pill" in d) pause();
    else if (d.act === "theme") theme();
    else if (d.act === "close") close();
    else if (d.act === "dismiss") dismiss(el.closest(".toast, .notice"));
    else if (d.newbar) letIn(el, listOf(d.newbar));
    else if (d.hold) hold(el, listOf(d.hold));
    else if (d.act === "copy" || "copy" in d || d.copyFrom) copy(el);
    else if (d.dialog && document.getElementById(d.dialog)?.showModal) { e.preventDefault(); document.getElementById(d.dialog).showModal(); }
    else if ("close" in d && el.closest("dialog")) { e.preventDefault(); el.closest("dialog").close(); }
  };
  // letIn inserts the waiting rows. The button hides, and keyboard focus moves from it to
  // the first of them.
  const letIn = (bar, list) => {
    const byKey = bar.matches(":focus-visible"), came = new Set(list.held.keys());
    settle(list, true);
    const first = keyed(list.el).find((row) => came.has(row.dataset.key));
    if (byKey && first) $("a", first)?.focus();
  };
  // hold keeps the rows of a list in place, as pointing at it does, until its button is
  // pressed again.
  const hold = (by, list) => {
    write(by, "aria-pressed", list.still = !list.still);
    if (!paused) settle(list);
  };
  // refresh loads what live updates leave out: it reloads the page if sorting or filters
  // hold updates back; otherwise it requests a snapshot and keeps the selection.
  const refresh = () => {
    const newer = $(".newer:not([hidden]) a");
    if (newer) newer.click();
    else if (!topic() || paused) location.reload();
    else { hurry(); subscribe(); if (polling) poll(); answer(word("refreshed")); }
  };
  // unfold moves to the actions of the focused row, or else to those of the selected
  // rows.
  const unfold = (e) => {
    const menu = $(".menu :is(summary, a), details.acting summary", e.target.closest?.("[data-key]") ?? document.createElement("i")) ?? $(".bulk details summary, main details.more summary");
    if (!menu) return;
    e.preventDefault();
    if (menu.matches("summary") && !menu.parentElement.open) menu.click();
    (menu.matches("summary") && $("a, button", menu.nextElementSibling) || menu).focus();
  };
  let chord = -1e9; // when g was pressed; a new page starts without
  const key = (e) => {
    if (e.key === "Escape" && !$("dialog[open]") && fold(e)) { e.preventDefault(); return; }
    if (e.key === "Escape" && panes[1] && !$(":is(dialog[open], :popover-open)")) { e.preventDefault(); close(); return; }
    if (kept.get("keys") === "off" || e.ctrlKey || e.metaKey || e.altKey || $("dialog[open]") ||
      e.target.closest?.("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]")) return;
    const to = { o: "", e: "/expirations", q: "/queues", t: "/topics", d: "/deferred", a: "/activity", l: "/lab" }[e.key], chorded = ticks() - chord < 1500;
    if (chorded && e.key === "s") $('.rail a[href$="/scenes"]')?.click();
    else if (chorded && to !== undefined) { const at = home() ?? $(".rail .home")?.getAttribute("href"); if (at) location.assign(at + to); }
    else ({
      t: theme, p: () => topic() && pause(), "/": () => home() && find(e), "?": () => window.mayfly.keys?.(),
      j: () => step(1), k: () => step(-1), x: () => pick(e.target.closest?.("[data-key]")), X: () => pick(e.target.closest?.("[data-key]"), true),
      u: () => $(".notice[data-stays] [formaction]")?.click(), P: () => count.present?.(), r: refresh, s: () => $('main a.btn[href$="/send"]')?.click(), ".": () => unfold(e),
      n: () => act("next"), b: () => act("back"), ArrowRight: () => act("next"), ArrowLeft: () => act("back"),
    })[e.key]?.();
    chord = e.key === "g" ? ticks() : -1e9;
  };
  const change = ({ target: el }) => {
    if (el.name === "time") { kept.set("time", el.value); setMode(el.value); }
    if (el.name === "notices") notices(el);
    if (el.name === "keys") kept.set("keys", el.checked ? "on" : "off");
    if (looks.includes(el.name) && el.type === "radio") look(el.name, el.value);
    if (el.type === "checkbox" && el.dataset.arrange) arrange(el);
    if ("all" in el.dataset) for (const box of boxes(el)) box.checked = el.checked;
    if ("every" in el.dataset && el.checked) for (const row of rowsNow()) boxOf(row).checked = true;
    if (el.closest("[data-key]") && el.matches(".check")) { last = el.closest("[data-key]").dataset.key; picked(el); }
    else if ("all" in el.dataset && el.form) picked(el);
    else choose();
  };

  // beat runs every second and drives everything above.
  const beat = () => {
    if (link.ws && ticks() - link.heard > (link.ws.readyState === WebSocket.OPEN ? 45000 : 10000)) drop();
    show();
    if (paused) return;
    for (const list of lists.values()) settle(list);
    choose();
    spot();
    toast();
    pass();
    uncover();
    announce();
    if (!hidden()) read(document);
  };
  // stand measures the height of the parts fixed at the foot of the page.
  const stand = () => {
    const ground = $(".ground");
    if (ground) new ResizeObserver(() => root.style.setProperty("--ground", `${ground.offsetHeight}px`)).observe(ground);
  };
  const visible = () => {
    if (hidden()) return send({ op: "pause" });
    if (link.ws && ticks() - link.heard > 45000) drop();
    if (link.ws) send({ op: "resume" });
    else connect();
    beat();
  };
  const start = () => {
    panes.push({ el: document.body, url: location.href });
    rate = Number(document.body.dataset.rate ?? 1);
    until = Date.parse(document.body.dataset.until) || Infinity;
    sample(document.body.dataset.now ?? new Date().toISOString(),
      document.body.dataset.now ? performance.getEntriesByType("navigation")[0]?.responseStart : ticks());
    for (const el of all("[data-slot], [data-list] > [data-key]")) sent.set(el, bare(el));
    for (const el of all("[data-list]")) listOf(el.dataset.list);
    for (const el of all("input[name=keys]")) el.checked = kept.get("keys") !== "off";
    Object.assign(words, JSON.parse(document.body.dataset.words || "{}"));
    readNotices();
    news.note = $("[data-notice] .notice:not([role=alert]) strong")?.textContent ?? "";
    words.connecting = $("[data-pill] b")?.textContent ?? "";
    lastGood = now();
    setMode(mode);
    $(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    stand();
    connect();
    addEventListener("click", click);
    addEventListener("keydown", key);
    addEventListener("focusin", fold);
    addEventListener("focusin", () => setTimeout(uncover)); // after it scrolls into view
    addEventListener("change", change);
    addEventListener("submit", play);
    addEventListener("input", typed);
    addEventListener("popstate", popped);
    addEventListener("online", hurry);
    addEventListener("pageshow", (e) => { if (e.persisted) hurry(); });
    addEventListener("storage", (e) => { const name = e.key?.replace("mayfly.", ""); if (looks.includes(name)) looked(name, e.newValue ?? ""); });
    document.addEventListener("visibilitychange", visible);
    document.addEventListener("selectionchange", mark);
    setInterval(beat, 1000);
    setInterval(() => { if (rate > 1 && !paused && !hidden()) { toast(); read(document); } }, 200);
    seek();
    if (document.body.dataset.again) again(Number(document.body.dataset.again));
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start); else start();
})();
