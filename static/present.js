// Presenting the dashboard to others. mode.js sets a tab's mode; this script tells
// followers where the presenter is, follows a presenter, and runs kiosk mode.
//
//   data-act="present", "present-leave"   enter and leave presenter mode
//   [data-share] with data-talk, data-talk-name   a presentation has started, and this tab presents it
//   [data-share-over]                the presentation has ended
//   [data-followers]                 number of followers; an .audience around it is hidden at 0
//   .following: [data-say] names the presenter, data-act="unfollow", "follow", "follow-leave"
//   [data-leaves]                    a button that makes the browser forget a read-only link
//
// A presenter's tab sends its location over the socket. A follower's tab receives it and
// goes there: to the page and to the drawer beside it. It stops following when its user
// navigates, by link, key or Back, until the user resumes.
"use strict";
(() => {
  const root = document.documentElement, page = window.mayfly, tab = window.mayflyTab;
  if (!page?.send || !tab) return;
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const { kept } = tab, { word } = page, base = () => document.body.dataset.base ?? "";
  const mode = () => root.dataset.mode ?? "";
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const say = (el, text) => { if (el && el.textContent !== text) el.textContent = text; };
  const aloud = (text) => say($("[data-status]"), text);

  // ── Presenting ────────────────────────────────────────────────────────────
  const below = (url) => { const { pathname, search } = new URL(url, location.href); return pathname.slice(base().length) + search; };
  const here = () => below(location.href);
  const stands = () => page.places().map((url) => url && below(url)); // the page and its drawer
  let told = "";
  // lead sends this tab's location. It skips addresses that are too long for a frame.
  const lead = (again = false) => {
    const talk = kept.get("talk");
    if (!talk?.key || mode() !== "present") return;
    const [at, beside] = stands();
    const command = { op: "present", topic: talk.key, name: talk.name ?? "", page: at, beside };
    const text = JSON.stringify(command);
    if (text.length > 3900 || text === told && !again) return;
    told = text;
    page.send(command);
  };
  const followed = (n) => {
    for (const el of all("[data-followers]")) {
      say(el, `${n}`);
      el.closest(".audience")?.toggleAttribute("hidden", !n);
    }
  };
  const present = () => {
    if (mode() === "audience" || mode() === "kiosk") return;
    if (mode() === "present") { leave(); return; }
    tab.be("present");
    lead(true);
    aloud(word("presenting"));
  };
  const leave = () => {
    tab.be("");
    told = "";
    page.send({ op: "unfollow" }); // followers learn it, and stay where they are
    followed(0);
    dim();
  };
  // shared reads the share page: either a presentation has started, which this tab now presents
  // unless it already did, or it has ended.
  const shared = () => {
    const begun = $("[data-share][data-talk]"), over = $("[data-share-over]");
    if (begun) {
      const { talk: key, talkName: name } = begun.dataset;
      begun.removeAttribute("data-talk");
      if (kept.get("talk")?.key === key) return;
      kept.set("talk", { key, name });
      tab.be("present");
      page.hurry();
      lead(true);
    } else if (over && kept.get("talk")) {
      kept.drop("talk");
      tab.be(mode());
      followed(0);
    }
  };

  // ── The highlight ─────────────────────────────────────────────────────────
  // It marks the latest visible change, one at a time, and stays for a while. An arrow
  // points there as well, so that the highlight does not rely on colour.
  let light = null, lit = null, next = null, since = 0;
  const dwell = 1400, gone = 6000;
  const tall = (selector) => $(selector)?.offsetHeight ?? 0;
  const seen = (el) => { // between the sticky parts at the top and bottom
    const r = el.getBoundingClientRect();
    return el.isConnected && el.checkVisibility() && r.width > 0 && r.bottom > tall(".bar") && r.top < innerHeight - tall(".ground");
  };
  const figures = new WeakMap(); // last text of each tile: a chart that only moves on is no change
  const news = (el) => {
    const row = el.closest("[data-list]:not(.ticker) > [data-key]"), tile = el.closest(".tiles > *, .states > *");
    if (row || !tile) return row;
    const text = tile.textContent.trim(), was = figures.get(tile);
    figures.set(tile, text);
    return was === undefined || was === text || next?.matches("[data-key]") ? null : tile;
  };
  page.changed = (el) => {
    if (mode() !== "present" || still.matches) return;
    next = news(el) ?? next;
    if (next && performance.now() - since > dwell) shine();
  };
  const shine = () => {
    if (next && seen(next)) {
      lit = next;
      since = performance.now();
    }
    next = null;
    place();
  };
  const dim = () => { lit = next = null; place(); };
  const place = () => {
    if (lit && !(seen(lit) && performance.now() - since < gone)) lit = null;
    if (!lit) { light?.removeAttribute("data-on"); return; }
    if (!light) {
      light = document.createElement("div");
      light.className = "light";
      light.setAttribute("aria-hidden", "true");
      document.body.append(light);
    }
    const r = lit.getBoundingClientRect();
    Object.assign(light.style, { translate: `${r.left + scrollX}px ${r.top + scrollY}px`, inlineSize: `${r.width}px`, blockSize: `${r.height}px` });
    if (light.dataset.on === undefined) light.getBoundingClientRect(); // appear in place instead of flying in
    light.dataset.on = "";
  };
  setInterval(() => {
    if (mode() !== "present") return;
    if (next && performance.now() - since > dwell) shine();
    else if (lit || light?.dataset.on === "") place();
  }, 200);

  // ── Following ─────────────────────────────────────────────────────────────
  let state = null, mine = false; // mine: the script is navigating to the presenter
  const bar = () => $(".following");
  const follow = () => kept.get("follow");
  const keep = (change) => { if (follow()) kept.set("follow", { ...follow(), ...change }); };
  const show = () => {
    const f = follow(), el = bar(), at = document.activeElement, had = el?.contains(at);
    if (!el) return;
    el.hidden = !f;
    root.toggleAttribute("data-following", !!f);
    if (!f && had) $("main")?.focus({ preventScroll: true });
    if (!f) return;
    const who = state?.name, named = (key) => who ? word(key, who) : word(`${key}Somebody`);
    const text = state?.ended ? word("followEnded") : f.off ? word("followOff") : ended(f) ? word("followScene") : !state ? word("followConnecting") : !state.begun ? word("followOver") : state.elsewhere && state.here ? word("followElsewhere") : named(state.here ? "following" : "followGone");
    if ($("[data-say]", el).textContent !== text) say($("[data-say]", el), text); // the bar is a polite live region itself
    el.dataset.state = state?.ended ? "over" : f.off ? "off" : !state?.begun ? "over" : state.here ? "on" : "gone";
    $("[data-act=unfollow]", el).hidden = !!f.off || !state?.begun;
    $("[data-act=follow]", el).hidden = !f.off || !!state?.ended;
    if (had && at.hidden) $("button:not([hidden])", el).focus(); // one button replaces the other
  };
  // ended reports whether the last followed presentation was about a scene that has ended.
  const ended = (f) => f.scene && (!state?.begun || state.elsewhere || state.page === f.gone);
  // answers returns the HTTP status of a page, or 0 if the server does not answer.
  const answers = async (url) => {
    try { return (await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(4500) })).status; } catch { return 0; }
  };
  // go navigates this tab to the presenter's page, unless it is already navigating. If
  // that page was gone before, go first checks that it answers again. On a narrow screen,
  // the drawer's page replaces the page.
  const go = async () => {
    const f = follow();
    if (!f || f.off || mine || !state?.begun || !state.page) return;
    const beside = state.beside ?? "", instead = f.beside && f.beside === here();
    if (f.at !== state.page || instead && !beside) {
      if (f.gone === state.page && await answers(base() + state.page) !== 200) return;
      if (mine || !follow() || follow().off) return; // the user stopped following meanwhile
      keep({ at: state.page, beside: "", gone: "", scene: false, led: true });
      mine = true;
      location.assign(base() + state.page);
    } else if ((f.beside ?? "") !== beside) {
      keep({ beside });
      page.lay(beside && base() + beside);
    }
  };
  // stray stops following after the user navigates, even while the script is navigating.
  const stray = () => {
    mine = false;
    if (!follow() || follow().off) return;
    keep({ off: true });
    page.send({ op: "unfollow" });
    show();
  };
  // again resumes following. It navigates only if the presenter is elsewhere.
  const again = () => {
    const [at, beside] = stands();
    keep({ off: false, at, beside, gone: "", scene: false });
    page.hurry();
    page.send({ op: "follow", topic: follow().id });
    show();
  };
  const quit = () => {
    page.send({ op: "unfollow" });
    tab.be("");
    show();
  };
  page.heard = (m) => {
    if (m.t === "hello") {
      losses = 0;
      lead(true);
      if (follow() && !follow().off) page.send({ op: "follow", topic: follow().id });
    }
    if (m.t !== "talk") return;
    if (kept.get("talk")) {
      if (m.talk?.begun) { followed(m.talk.followers ?? 0); return; }
      kept.drop("talk"); // the presentation is over, or this browser may not present it
      tab.be(mode());
      followed(0);
      return;
    }
    if (m.talk?.id !== follow()?.id) return;
    state = m.talk;
    show();
    go();
  };

  // After a link is revoked, the server answers with 401. After a scene ends, its page
  // and its socket are gone: the follower waits on the home page or, if that is not
  // available, on this page without updates. A scene that restarts is gone only briefly,
  // so this happens only when the socket is lost twice in a row.
  let losses = 0;
  page.lost = async () => {
    const f = follow();
    if (!f) return;
    losses++;
    const status = await answers(location.href), still = () => follow() && !follow().off && !mine;
    if (status === 401 && follow()) {
      state = { id: f.id, ended: true };
      page.cease();
      show();
    } else if ((status === 403 || status === 404) && losses > 1 && still()) {
      keep({ at: "", gone: follow().at || here(), scene: "demo" in document.body.dataset });
      const home = await answers(base() + "/") === 200;
      if (!still()) return;
      if (home) {
        mine = true;
        location.assign(base() + "/");
        return;
      }
      page.drift();
      show();
    }
  };

  // ── Kiosk mode ────────────────────────────────────────────────────────────
  // With the parameter every, it cycles through the pages that answer. If none does, the
  // current page stays and shows since when it is out of date.
  const asked = new URLSearchParams(location.search);
  const span = (text) => {
    const [, n, unit] = /^(\d+(?:\.\d+)?)(s|m|h)?$/.exec(text ?? "") ?? [];
    return n ? Math.min(3600, Math.max(5, n * { s: 1, m: 60, h: 3600 }[unit ?? "s"])) * 1000 : 0;
  };
  const round = () => {
    const at = here().match(/^\/n\/[^/?]+/)?.[0], home = at && base() + at;
    if (!home) return [];
    const pages = asked.get("pages")?.split(",") ?? ["overview", "expirations", "queues", "topics", "temporary"];
    return pages.map((name) => name.trim()).filter((name) => /^[a-z-]+$/.test(name)).map((name) => home + (name === "overview" ? "" : `/${name}`));
  };
  const turn = async () => {
    const pages = round(), at = pages.indexOf(location.pathname);
    for (let i = 1; i <= pages.length; i++) {
      const to = new URL(pages[(at + i) % pages.length], location.href);
      to.search = asked;
      try {
        const answer = await fetch(to, { cache: "no-store", signal: AbortSignal.timeout(4500) });
        if (!answer.ok) continue;
        if (to.pathname !== location.pathname) location.assign(to);
        return;
      } catch { return; }
    }
  };
  const wall = () => {
    const every = span(asked.get("every"));
    if (every) setInterval(turn, every);
    const awake = () => { if (!document.hidden) navigator.wakeLock?.request("screen").catch(() => {}); };
    awake();
    document.addEventListener("visibilitychange", awake);
    // Reload for a new build or after an error page, once the server answers.
    setInterval(async () => {
      if (!($("[data-reload]:not([hidden])") || !document.body.dataset.live)) return;
      try { if ((await fetch(location.href, { cache: "no-store" })).ok) location.reload(); } catch { /* later */ }
    }, 10000);
  };

  // ── User actions ──────────────────────────────────────────────────────────
  page.present = present;
  addEventListener("click", (e) => {
    const act = e.target.closest("[data-act]")?.dataset.act;
    const deed = { present, "present-leave": leave, unfollow: stray, follow: again, "follow-leave": quit }[act];
    if (deed) { deed(); return; }
    const a = e.target.closest("a[href]");
    if (!a || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || a.target || below(a.getAttribute("href")) === here()) return;
    stray();
  });
  addEventListener("submit", (e) => {
    if (e.submitter?.matches("[data-leaves]")) tab.be(""); // following needs the link
    else if (!e.submitter?.closest(".tongues")) stray(); // another language is the same page
  });
  addEventListener("popstate", () => { if (!location.hash) stray(); }); // a fragment is the same page
  addEventListener("pageshow", (e) => { if (e.persisted) { stray(); show(); } }); // Back, to a cached page
  addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || e.defaultPrevented || $(":is(dialog[open], :popover-open)")) return;
    if (mode() === "present") leave();
    else if (mode() === "kiosk") { tab.be(""); location.assign(location.pathname); }
  });
  // strayed reports whether the user, not the script, brought this tab to its page.
  const strayed = (f) => {
    const came = performance.getEntriesByType("navigation")[0]?.type;
    return came === "back_forward" || came === "navigate" && !!f.at && !f.led && ![f.at, f.beside].includes(here());
  };
  const start = () => {
    const f = follow();
    if (f) keep({ beside: f.beside === here() ? f.beside : "", led: false, off: f.off || strayed(f) });
    show();
    setInterval(() => { shared(); lead(); }, 250);
    setInterval(() => { if (follow()?.gone) go(); }, 3000);
    if (follow() || kept.get("talk")) page.hurry();
    if (mode() === "kiosk") wall();
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start); else start();
})();
