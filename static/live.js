// Mayfly in the browser: clocks that run, and pages that change while somebody
// looks at them. A page is complete without this script. It is one file because
// addresses carry a hash of the content, which modules that import each other
// could not know.
//
// It reads this markup, and changes it by text, class and attribute only, so
// that the strictest content security policy is content:
//
//   <body data-live="URL of the page" data-n data-now data-build data-base
//       data-words='{"live":"Live",…}'>   the words below in another language
//   data-slot="NAME"                 content that the server replaces; [data-news]: a
//       change of it brings up .newer in its section, for what the page shows as it was
//   data-list="NAME" [data-insert="hold"] [data-flash="off"], children data-key="KEY"
//   <time datetime data-of="SECONDS" [data-low data-crit data-as]>   countdown
//   <time datetime data-ago>, <time datetime data-at="|ms|date">
//   data-clock                       gets the tone of the countdown in it
//   .ring, .glass in a data-clock; [data-until][data-len] on a lock's circle
//   <button data-pill><b>…</b></button>   state of the page, and pause; its children
//       with data-when="live paused …" show in those states only
//   input[name=time] rel|local|utc · input[name=keys] · data-act="theme"
//   data-act="copy" data-text="…", data-copy="…" or data-copy-from="#id"
//   data-dialog="id", data-close · places: data-newbar="LIST", data-reload, data-status
//   <a data-drawer href>             opens beside the page where there is room: the
//       answer to ?drawer=1 is an .drawer[data-live] with slots of its own and a
//       heading; data-act="close" in it
//   data-pin="URL" [data-who] [data-goes]   around a countdown: half a minute before
//       its end a copy of template[data-toast] in [data-toasts] offers to pin it;
//       data-act="dismiss" in it
//   <input type="checkbox" data-all>   checks every row of its table
//   <form data-try="URL">    is sent there a moment after a change; of the answer every
//       data-tried="NAME" takes the place of ours, [data-verdict] is said aloud, and
//       <details data-fold="NAME"> stay as somebody left them
"use strict";
(() => {
  const root = document.documentElement;
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const say = (el, text) => { if (el && el.textContent !== text) el.textContent = text; };
  const write = (el, name, value) => { if (el.getAttribute(name) !== `${value}`) el.setAttribute(name, value); };
  const ticks = () => performance.now();

  const kept = { // survives a visit where the browser allows it
    get(name) { try { return localStorage.getItem(`mayfly.${name}`); } catch { return null; } },
    set(name, value) { try { localStorage.setItem(`mayfly.${name}`, value); } catch { /* private window */ } },
  };
  const count = window.mayfly = { frames: 0, put: 0, gone: 0, reconnects: 0, polls: 0, state: "" };

  const words = {
    live: "Live", paused: "Paused", pausedNew: "Paused ({n} new)", connecting: "Connecting…",
    reconnecting: "Reconnecting {n} s", polling: "Polling {n} s", stale: "Stale since {n}",
    lost: "The connection was lost", expiring: "expiring…", expired: "EXPIRED", ago: "{n} ago",
    newRows: "{n} new while you are here", came: "{n} new", went: "{n} gone", copied: "Copied",
    reload: "Mayfly was updated: reload the page", leaves: "{name} deletes itself in {n}",
  };
  const word = (key, n) => words[key].replace("{n}", n);

  root.dataset.js = "";
  if (kept.get("theme")) root.dataset.theme = kept.get("theme");

  // ── The server's clock ────────────────────────────────────────────────────
  // A sample is the server's time less ours when its message came. The way here
  // can only make it too small, so the largest of the latest is the best.
  let samples = [], rate = 1, paused = false, frozen = 0;
  let mode = kept.get("time") ?? "rel";
  const sample = (iso, at = ticks()) => {
    const t = Date.parse(iso);
    if (!Number.isNaN(t)) samples = [...samples, { offset: t - at * rate }].slice(-8);
  };
  const now = () => frozen || ticks() * rate + Math.max(...samples.map((s) => s.offset));

  const two = (n) => String(n | 0).padStart(2, "0");
  const span = (s) =>
    s < 60 ? `${s}s` :
    s < 3600 ? `${s / 60 | 0}m ${two(s % 60)}s` :
    s < 86400 ? `${s / 3600 | 0}h ${two(s % 3600 / 60)}m` : `${s / 86400 | 0}d ${s % 86400 / 3600 | 0}h`;
  const units = ["day", "hour", "minute", "second"].map((unit) =>
    new Intl.NumberFormat(root.lang || "en", { style: "unit", unit, unitDisplay: "long" }));
  const longSpan = (s) => { // the two largest units that say something, in words
    const parts = [s / 86400, s % 86400 / 3600, s % 3600 / 60, s % 60].map(Math.floor);
    const first = parts.findIndex((n) => n > 0) & 3;
    return parts.slice(first, first + 2).map((n, i) => n || !i ? units[first + i].format(n) : "").join(" ").trim();
  };
  const moment = (ms, kind = "") => {
    const zone = mode === "local" ? new Date(ms).getTimezoneOffset() * 6e4 : 0;
    const iso = new Date(ms - zone).toISOString(), z = mode === "utc" ? "Z" : "";
    return (kind === "date" ? `${iso.slice(0, 10)} ` : "") + iso.slice(11, kind === "ms" ? 23 : 19) + z;
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
  const sand = (svg, share) => { // true to area: height goes with the root of the share
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
    const { of, as, low = of * .2, crit = of * .05 } = el.dataset, at = Date.parse(el.dateTime);
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
  // read sets every clock below from to this moment.
  const read = (from) => {
    for (const el of all("time[data-of]", from)) countdown(el);
    for (const el of all("time[data-ago]", from)) {
      const at = Date.parse(el.dateTime);
      say(el, mode === "rel" ? word("ago", span(Math.max(0, Math.floor((now() - at) / 1000)))) : deadline(at));
    }
    for (const el of all("time[data-at]", from)) say(el, moment(Date.parse(el.dateTime), el.dataset.at));
    for (const el of all("[data-until]", from)) {
      arc(el, Math.min(1, Math.max(0, (Date.parse(el.dataset.until) - now()) / 1000 / el.dataset.len)));
    }
  };

  // brief gives el a class for as long as its animation runs. The sheet decides
  // whether there is one; a class that is there already is not restarted.
  const brief = (el, name) => {
    el.classList.add(name);
    setTimeout(() => el.classList.remove(name), 600);
  };

  // ── Merging ───────────────────────────────────────────────────────────────
  // What the server sent last for a slot or a row, without what the clocks
  // above write. Comparing with this, not with the page, tells a change in the
  // broker from the passing of time.
  const sent = new WeakMap();
  const bare = (node) => {
    const copy = node.cloneNode(true);
    for (const el of all("time[data-of], time[data-ago]", copy)) {
      const box = el.closest("[data-clock]") ?? el, flap = all(".flap", el);
      el.removeAttribute("aria-label");
      (flap.length ? flap : [el]).forEach((f) => { f.textContent = ""; });
      if (!("of" in el.dataset)) continue;
      if (!el.dataset.as) box.removeAttribute("data-tone");
      all(".ring :is(.track, .arc), .glass:not([data-state]) .sand", box).forEach((p) => p.removeAttribute("d"));
      all(".arc", box).forEach(undash);
    }
    all("[data-until]", copy).forEach(undash);
    return copy;
  };
  const undash = (el) => { el.removeAttribute("stroke-dasharray"); el.removeAttribute("stroke-dashoffset"); };
  const parse = (html) => {
    const t = document.createElement("template");
    t.innerHTML = html; // rendered and escaped by the server
    return t.content;
  };

  // morph brings live to what next is, where next differs from last, and says
  // whether anything differed. Nodes stay wherever their kind stays.
  const morph = (live, last, next) => {
    if (last.isEqualNode(next)) return false;
    if (live.nodeName !== next.nodeName) live.replaceWith(next.cloneNode(true));
    else if (live.nodeType !== Node.ELEMENT_NODE) live.data = next.data;
    else { attributes(live, last, next); children(live, last, next); }
    return true;
  };
  const attributes = (live, last, next) => {
    for (const { name, value } of next.attributes) if (last.getAttribute(name) !== value) live.setAttribute(name, value);
    for (const { name } of last.attributes) if (!next.hasAttribute(name)) live.removeAttribute(name);
  };
  const children = (live, last, next, changed = () => {}) => {
    const mine = [...live.childNodes], were = [...last.childNodes], are = [...next.childNodes];
    if (mine.length !== were.length) live.replaceChildren(...are.map((n) => n.cloneNode(true)));
    else {
      are.forEach((n, i) => {
        if (!mine[i]) live.append(n.cloneNode(true));
        else if (!morph(mine[i], were[i], n)) return;
        changed(live.childNodes[i]);
      });
      mine.slice(are.length).forEach((n) => n.remove());
    }
  };

  // keepingFocus changes what is in el. Where that takes the focused element away,
  // the focus stays in its place: on what is there now, or in it.
  const keepingFocus = (el, change) => {
    const had = el.contains(document.activeElement) && document.activeElement, fold = had && foldOf(had);
    change();
    if (!had || had.isConnected) return;
    const now = all("[data-fold]", el).find((f) => fold && f.dataset.fold === fold.dataset.fold)?.firstElementChild ?? el;
    if (now === el) el.tabIndex = -1;
    now.focus({ preventScroll: true });
  };
  const foldOf = (el) => el.closest("details[data-fold]");
  const alike = ({ childNodes: a }, { childNodes: b }) => a.length === b.length && [...a].every((n, i) => n.isEqualNode(b[i]));
  const mergeSlot = (el, fresh) => {
    const last = sent.get(el) ?? bare(el), next = bare(fresh);
    sent.set(el, next);
    if ("news" in el.dataset && !alike(last, next)) $(".newer", el.closest("section"))?.removeAttribute("hidden");
    keepingFocus(el, () => children(el, last, next));
    read(el);
  };
  const flash = (el) => { if (!el.closest("[data-flash=off]")) brief(el, "flash"); };
  const mergeRow = (row, fresh) => {
    const last = sent.get(row) ?? bare(row), next = bare(fresh);
    sent.set(row, next);
    if (last.isEqualNode(next)) return;
    count.put++;
    attributes(row, last, next);
    children(row, last, next, (cell) => { if (cell.nodeType === Node.ELEMENT_NODE) flash(cell); });
    read(row);
  };

  // A pane shows one topic of the server's: the page, and a drawer beside it.
  const panes = [];
  const paneOf = (topic) => panes.find(({ el }) => el.dataset.live === topic);
  const slotsOf = ({ el }) => all("[data-slot]", el).filter((slot) => slot.closest(".drawer, body") === el);

  // A list: order is what the server shows; held are rows of it that wait for
  // the reader; leaving are rows no longer of it, with the tick they may go at.
  const lists = new Map();
  const keyed = (el) => [...el.children].filter((row) => "key" in row.dataset);
  const listOf = (name) => { // a drawer has none
    const el = $(`[data-list="${CSS.escape(name)}"]`);
    if (el && lists.get(name)?.el !== el) {
      lists.set(name, { name, el, order: keyed(el).map((row) => row.dataset.key), held: new Map(), leaving: new Map() });
    }
    return el && lists.get(name);
  };
  const touched = (el) => {
    const marked = getSelection();
    return el.matches(":hover, :focus-within") || !marked.isCollapsed && marked.getRangeAt(0).intersectsNode(el);
  };
  const busy = ({ el }) => touched(el) || el.dataset.insert === "hold" &&
    (el.getBoundingClientRect().top < 0 || !!$("input:checked, [open], [aria-expanded=true], [aria-current]", el));

  const mergeList = (name, { order, put = {}, gone = {} }) => {
    const list = listOf(name);
    if (!list) return;
    const rows = new Map(keyed(list.el).map((row) => [row.dataset.key, row])), wanted = new Set(order);
    for (const [key, row] of rows) {
      if (!wanted.has(key)) leave(list, row, gone[key] ?? "left");
      else if (list.leaving.has(row)) stay(list, row);
    }
    for (const [key, fresh] of Object.entries(put)) {
      const row = typeof fresh === "string" ? parse(fresh).firstElementChild : fresh;
      if (rows.has(key)) mergeRow(rows.get(key), row);
      else list.held.set(key, row);
    }
    for (const key of list.held.keys()) if (!wanted.has(key)) list.held.delete(key);
    list.order = order;
    settle(list);
  };
  // settle puts rows in their places, unless that would move something that the
  // reader is busy with. Rows on their way out keep theirs.
  const settle = (list, now = false) => {
    const { el, order, held, leaving, name } = list, wait = !now && busy(list);
    newbar(list, wait && el.dataset.insert === "hold" ? held.size : 0);
    if (wait) return;
    const rows = new Map(keyed(el).map((row) => [row.dataset.key, row]));
    let at = el.firstElementChild;
    for (const key of order) {
      while (at && (leaving.has(at) || !("key" in at.dataset))) at = at.nextElementSibling;
      const row = rows.get(key) ?? arrive(held.get(key));
      if (!row) continue; // comes with the next piece of the snapshot
      if (row === at) at = at.nextElementSibling;
      else el.insertBefore(row, at);
      if (!held.delete(key)) continue;
      flash(row);
      read(row);
    }
    sweep(list);
  };
  const arrive = (row) => {
    if (!row) return null;
    sent.set(row, bare(row));
    count.put++;
    news.came++;
    return row;
  };
  const leave = (list, row, reason) => {
    if (list.leaving.has(row)) return;
    const quiet = reason === "left"; // it is well, only no longer in this window
    list.leaving.set(row, ticks() + (quiet ? 0 : 2500));
    if (quiet) return;
    count.gone++;
    news.went++;
    row.classList.add("leaving");
    row.dataset.gone = reason;
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
    setTimeout(sweep, 2550, list);
  };
  const stay = (list, row) => {
    list.leaving.delete(row);
    row.classList.remove("leaving");
    row.removeAttribute("data-gone");
    row.replaceChildren(...sent.get(row).cloneNode(true).childNodes);
    read(row);
  };
  // sweep takes away what has left, never under the pointer, the focus or a
  // selection; a reader who rests there for long keeps two hundred at most.
  const sweep = (list) => {
    if (paused) return;
    const wait = touched(list.el);
    for (const [row, due] of list.leaving) {
      if (due > ticks() || $("input:checked", row) || wait && list.leaving.size <= 200) continue;
      list.leaving.delete(row);
      row.remove();
    }
  };
  const newbar = (list, n) => {
    let bar = $(`[data-newbar="${CSS.escape(list.name)}"]`);
    if (!bar && n) {
      bar = document.createElement("button");
      bar.type = "button";
      bar.className = "newbar";
      bar.dataset.newbar = list.name;
      (list.el.closest("table") ?? list.el).after(bar);
    }
    if (!bar) return;
    bar.hidden = !n;
    say($("span", bar) ?? bar, word("newRows", n));
  };

  // ── What the page says about itself ───────────────────────────────────────
  const link = { ws: null, live: false, tries: 0, failures: [], next: 0, timer: 0, heard: 0, met: false };
  let staleSince = 0, lastGood = 0, polling = 0, pollTimer = 0, retry = 5000;
  const missed = new Set(), mostMissed = 99999; // keys of rows that came during the pause
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

  const news = { came: 0, went: 0, note: "", at: -5000 };
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
  const announce = () => { // politely, every five seconds at most
    if (ticks() - news.at < 5000 || !news.came && !news.went && !news.note) return;
    const text = [news.note, news.came && word("came", news.came), news.went && word("went", news.went)];
    region("status").textContent = text.filter(Boolean).join(", ");
    Object.assign(news, { came: 0, went: 0, note: "", at: ticks() });
  };

  // ── The socket ────────────────────────────────────────────────────────────
  const topic = () => document.body.dataset.live;
  const send = (command) => { if (link.ws?.readyState === WebSocket.OPEN) link.ws.send(JSON.stringify(command)); };
  const subscribe = () => {
    for (const { live, n } of panes.map(({ el }) => el.dataset)) if (live) send({ op: "sub", topic: live, n: Number(n) || 0 });
  };

  const connect = () => {
    clearTimeout(link.timer);
    if (link.ws || !topic()) return;
    const ws = link.ws = new WebSocket(new URL(`${document.body.dataset.base ?? ""}/live`, location.href).href.replace(/^http/, "ws"));
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
    if (link.failures.length >= 3 && !polling) { polling = 1; poll(); }
    show();
  };
  const drop = () => { const ws = link.ws; lost(); ws?.close(); };
  const hurry = () => { if (!link.ws) connect(); };

  const hear = (m) => {
    switch (m.t) {
      case "hello":
        link.met = true;
        samples = [];
        rate = m.rate || 1;
        sample(m.now);
        updated(m.build);
        if (document.hidden) send({ op: "pause" });
        subscribe();
        break;
      case "ping":
        sample(m.now);
        if (link.live) lastGood = now();
        break;
      case "reset":
        subscribe();
        break;
      case "parts":
        if (paneOf(m.topic)) frame(m, paneOf(m.topic));
        break;
      case "error":
        if (m.topic && m.topic !== topic()) break;
        Object.assign(link, { live: false });
        staleSince ||= lastGood || now();
        news.note = m.text;
        setTimeout(subscribe, retry);
        retry = Math.min(60000, retry * 2);
    }
    show();
  };
  const frame = (m, pane) => {
    count.frames++;
    if (m.full && pane === panes[0]) {
      Object.assign(link, { live: true, tries: 0 });
      retry = 5000;
      stopPolling();
    }
    if (pane === panes[0]) staleSince = 0;
    merge(m, pane);
    if (paused) return; // the page stays as it was at its number
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
      if (fresh !== undefined) mergeSlot(el, typeof fresh === "string" ? parse(fresh) : fresh);
    }
    for (const [name, part] of Object.entries(parts)) mergeList(name, part);
  };
  const updated = (build) => {
    if (!build || !document.body.dataset.build || build === document.body.dataset.build) return;
    $("[data-reload]")?.removeAttribute("hidden");
    news.note = word("reload");
  };

  // ── Without a socket: the page itself, every five seconds ─────────────────
  const fetched = async (url) => {
    const answer = await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(4500) });
    if (answer.headers.has("Mayfly-Standby")) location.reload(); // another server has it all now, and its page says which
    if (!answer.ok) throw new Error(answer.statusText);
    const { body } = new DOMParser().parseFromString(await answer.text(), "text/html");
    return body.dataset.live ? body : $(".drawer", body);
  };
  const poll = async () => {
    clearTimeout(pollTimer);
    pollTimer = setTimeout(poll, 5000);
    if (paused || document.hidden) return;
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
        sample(fresh.dataset.now);
        updated(fresh.dataset.build);
        staleSince = 0;
        lastGood = now();
      }
    } catch {
      if (polling) staleSince ||= lastGood || now();
    }
    show();
  };
  const stopPolling = () => { clearTimeout(pollTimer); polling = 0; link.failures = []; };
  const partsOf = (pane) => ({
    slots: Object.fromEntries(slotsOf(pane).map((el) => [el.dataset.slot, el])),
    lists: Object.fromEntries(all("[data-list]", pane.el).map((el) => {
      const rows = keyed(el).map((row) => [row.dataset.key, row]);
      return [el.dataset.list, { order: rows.map(([key]) => key), put: Object.fromEntries(rows) }];
    })),
  });

  // ── The drawer ────────────────────────────────────────────────────────────
  // Something beside the list it was opened from, which keeps its place. The
  // address is its page's, so it can be passed on, and Back closes it.
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
    try { el = await fetched(url); } catch { /* its page will say what is wrong */ }
    if (asking !== url) return; // something else was asked for meanwhile
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
    if (!paused) send({ op: "sub", topic: el.dataset.live, n: Number(el.dataset.n) || 0 });
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
    else location.reload(); // the page that was opened here before is another one
  };
  // beyond says whether a click leads to a part of the page whose address the
  // drawer has lent the window: the browser would only look for the part here.
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
  // drawn says whether a click is one that opens a drawer.
  const drawn = (e) => {
    const from = e.target.closest("a[data-drawer], .drawer :is(.seg, .newer) a");
    if (!from || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || !roomy.matches || !topic()) return false;
    e.preventDefault();
    open(from.href, from);
    return true;
  };

  // ── What is about to delete itself ────────────────────────────────────────
  // A toast is there while its clock has less than half a minute, unless the
  // reader has sent it away. The clock put back is another clock.
  const away = new Map(); // address to deadline
  const toast = () => {
    const place = $("[data-toasts]"), due = new Map();
    if (!place) return;
    for (const el of all("[data-pin]:not(.leaving)")) {
      const { pin } = el.dataset, clock = $("time[data-of]", el), left = clock ? Date.parse(clock.dateTime) - now() : 0;
      if (left > 0 && left <= 30000 && away.get(pin) !== clock.dateTime) due.set(`${pin} ${clock.dateTime}`, { el, pin, clock });
    }
    for (const el of [...place.children]) if (!due.delete(el.dataset.of) && !touched(el)) el.remove();
    for (const [of, { el, pin, clock }] of due) {
      const note = $("template[data-toast]").content.firstElementChild.cloneNode(true), time = clock.cloneNode(true);
      const [before, after] = words.leaves.replace("{name}", el.dataset.who).split("{n}");
      Object.assign(note.dataset, { of, gone: pin, at: clock.dateTime });
      $("b", note).append(before, time, after);
      say($("small", note), el.dataset.goes ?? "");
      $("[form]", note).setAttribute("formaction", pin);
      place.append(note);
      read(note);
      news.note = before + longSpan(30) + after;
    }
  };
  const dismiss = (note) => { away.set(note.dataset.gone, note.dataset.at); note.remove(); };

  // ── Trying while somebody types ───────────────────────────────────────────
  // The form is not kept by that, only what its answer says of it is shown.
  let trying = 0, tried = null;
  const folds = new Map(); // that somebody opened or closed, by name
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
    } catch { /* the button still tries it, and its page says what is wrong */ }
  };
  const typed = ({ target: el }) => {
    const form = el.form;
    if (!form?.dataset.try) return;
    clearTimeout(trying);
    trying = setTimeout(attempt, 400, form);
  };

  // ── Choosing ──────────────────────────────────────────────────────────────
  const boxes = (head) => all("tbody tr:not(.leaving) input[type=checkbox]", head.closest("table"));
  const choose = () => {
    for (const head of all("input[data-all]")) {
      const rows = boxes(head), n = rows.filter((box) => box.checked).length;
      Object.assign(head, { checked: n > 0 && n === rows.length, indeterminate: n > 0 && n < rows.length, disabled: !rows.length });
    }
  };

  // ── Searching ─────────────────────────────────────────────────────────────
  // A page of a search is what was found in a short time. The script goes on from
  // there until there is much to look at or somebody stops it.
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
      while (more && list.children.length < 500) {
        const answer = await fetch(on.href, { signal: given.signal });
        const found = $("[data-search]", new DOMParser().parseFromString(await answer.text(), "text/html"));
        if (!found) break;
        list.append(...$("tbody", found).children);
        read(list);
        $("[data-said]", panel).textContent = $("[data-said]", found).textContent;
        if ((more = $("a[rel=next]", found))) on.href = more.href;
      }
    } catch { /* it was stopped, or nobody answers: the link goes on */ }
    if (document.activeElement === stop) (more ? on : $("#f-q")).focus();
    on.hidden = !(stop.hidden = true) || !more;
    if (more && document.activeElement === document.body && given.signal.aborted) on.focus();
  };
  const find = (e) => {
    const box = $("[data-find]");
    e.preventDefault();
    if (box) box.select();
    else location.assign(home() + "/search");
  };

  // ── Hands ─────────────────────────────────────────────────────────────────
  // A pause stops every figure. The server goes on telling what comes, so that
  // the pill can count it; the end of the pause asks for a fresh snapshot.
  const pause = () => {
    frozen = paused ? 0 : now();
    paused = !paused;
    missed.clear();
    if (!paused) { subscribe(); hurry(); if (polling) poll(); beat(); }
    show();
  };
  const theme = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    kept.set("theme", root.dataset.theme = dark ? "light" : "dark");
    // The cookie lets the server render the next page in it from the start.
    document.cookie = `mayfly_theme=${root.dataset.theme}; path=${document.body.dataset.base || "/"}; max-age=31536000; samesite=lax`;
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
    news.note = word("copied");
    announce();
  };
  // What was unfolded over the page folds when somebody turns to something else.
  const fold = (e) => {
    const over = $(".more[open]");
    if (!over || e.type === "click" && over.contains(e.target)) return false;
    over.open = false;
    if (e.type === "keydown") $("summary", over).focus();
    return true;
  };
  const click = (e) => {
    fold(e);
    if (drawn(e) || beyond(e)) return;
    if (e.target.closest("[data-fold] > summary")) folds.set(foldOf(e.target).dataset.fold, !foldOf(e.target).open);
    const el = e.target.closest("[data-pill], [data-act], [data-newbar], [data-copy], [data-copy-from], [data-dialog], [data-close]");
    if (!el) return;
    const { dataset: d } = el;
    if ("pill" in d) pause();
    else if (d.act === "theme") theme();
    else if (d.act === "close") close();
    else if (d.act === "dismiss") dismiss(el.closest(".toast"));
    else if (d.newbar) settle(listOf(d.newbar), true);
    else if (d.act === "copy" || "copy" in d || d.copyFrom) copy(el);
    else if (d.dialog && document.getElementById(d.dialog)?.showModal) { e.preventDefault(); document.getElementById(d.dialog).showModal(); }
    else if ("close" in d && el.closest("dialog")) { e.preventDefault(); el.closest("dialog").close(); }
  };
  let chord = 0;
  const home = () => location.pathname.match(/^.*?\/n\/[^/]+/)?.[0];
  const key = (e) => {
    if (e.key === "Escape" && fold(e)) { e.preventDefault(); return; }
    if (e.key === "Escape" && panes[1] && !$("dialog[open]")) { e.preventDefault(); close(); return; }
    if (kept.get("keys") === "off" || e.ctrlKey || e.metaKey || e.altKey || $("dialog[open]") ||
      e.target.closest?.("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]")) return;
    const to = { o: "", e: "/expirations", q: "/queues", t: "/topics", d: "/deferred", l: "/lab" }[e.key];
    if (ticks() - chord < 1500 && home() && to !== undefined) location.assign(home() + to);
    else ({ t: theme, p: () => topic() && pause(), "/": () => home() && find(e), "?": () => $("dialog[data-keys]")?.showModal() })[e.key]?.();
    chord = e.key === "g" ? ticks() : -1e9;
  };
  const change = ({ target: el }) => {
    if (el.name === "time") { kept.set("time", el.value); setMode(el.value); }
    if (el.name === "keys") kept.set("keys", el.checked ? "on" : "off");
    if ("all" in el.dataset) for (const box of boxes(el)) box.checked = el.checked;
    choose();
  };

  // beat is the second hand of everything above.
  const beat = () => {
    if (link.ws && ticks() - link.heard > (link.ws.readyState === WebSocket.OPEN ? 45000 : 10000)) drop();
    show();
    if (paused) return;
    for (const list of lists.values()) settle(list);
    choose();
    toast();
    announce();
    if (!document.hidden) read(document);
  };
  const visible = () => {
    if (document.hidden) return send({ op: "pause" });
    if (link.ws && ticks() - link.heard > 45000) drop();
    if (link.ws) send({ op: "resume" });
    else connect();
    beat();
  };
  const start = () => {
    panes.push({ el: document.body, url: location.href });
    sample(document.body.dataset.now ?? new Date().toISOString(),
      document.body.dataset.now ? performance.getEntriesByType("navigation")[0]?.responseStart : ticks());
    for (const el of all("[data-slot], [data-list] > [data-key]")) sent.set(el, bare(el));
    for (const el of all("[data-list]")) listOf(el.dataset.list);
    for (const el of all("input[name=keys]")) el.checked = kept.get("keys") !== "off";
    Object.assign(words, JSON.parse(document.body.dataset.words || "{}"));
    words.connecting = $("[data-pill] b")?.textContent ?? words.connecting;
    lastGood = now();
    setMode(mode);
    $(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    connect();
    addEventListener("click", click);
    addEventListener("keydown", key);
    addEventListener("change", change);
    addEventListener("input", typed);
    addEventListener("popstate", popped);
    addEventListener("online", hurry);
    addEventListener("pageshow", (e) => { if (e.persisted) hurry(); });
    addEventListener("storage", (e) => { if (e.key === "mayfly.theme" && e.newValue) root.dataset.theme = e.newValue; });
    document.addEventListener("visibilitychange", visible);
    setInterval(beat, 1000);
    seek();
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start); else start();
})();
