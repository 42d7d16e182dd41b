// Charts of the metrics pages, drawn by uPlot, which is loaded only when there is data to
// draw. The table beside them shows the same numbers without this script.
//
//   data-plots="URL of the numbers" data-script="uPlot" data-style="its stylesheet"
//   data-plot="MEMBER:COLOUR:NAME,…" [data-rate]   a chart; the colour is a token
//   data-now, data-ago="{n} ago"   words of relative times
//
// Times follow the page's setting, input[name=time]: relative, local or UTC. Clocks have
// 24 hours and weekdays are in the page's language, as elsewhere in the dashboard.
"use strict";
(() => {
  // length formats a duration as the server does, without empty units.
  const length = window.mayfly.length = (s) =>
    [["d", s / 86400, 1], ["h", s % 86400 / 3600, 1], ["m", s % 3600 / 60, 2], ["s", s % 60, 2]].filter(([, n]) => n >= 1)
      .map(([name, n, digits], i) => window.mayfly.word(`span.${name}`, String(n | 0).padStart(i && digits, "0"))).join(" ");
  const root = document.querySelector("[data-plots]");
  if (!root) return;
  const every = 10000;
  const charts = [...root.querySelectorAll("[data-plot]")].map((el) => ({
    el, rate: "rate" in el.dataset,
    series: el.dataset.plot.split(",").map((s) => { const [member, colour, ...name] = s.split(":"); return { member, colour, name: name.join(":") }; }),
  }));
  const fetched = (tag, set) => new Promise((ok, bad) => {
    const el = document.createElement(tag);
    el.onload = ok;
    el.onerror = () => bad(new Error("a chart's script cannot be fetched"));
    set(el);
    document.head.append(el);
  });
  const token = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  // Tokens are light-dark() pairs, which a canvas does not understand.
  const colour = (name) => {
    const probe = document.createElement("i");
    probe.style.color = `var(--${name})`;
    root.append(probe);
    const c = getComputedStyle(probe).color;
    probe.remove();
    return c;
  };
  const mode = () => document.querySelector("input[name=time]:checked")?.value ?? "rel";
  const span = (s) => length(s < 3600 ? s : s - s % 60);
  const lang = document.documentElement.lang || "en";
  const clock = (options) => new Intl.DateTimeFormat(lang, { hourCycle: "h23", timeZone: mode() === "utc" ? "UTC" : undefined, ...options });
  // label formats a tick of the axis, and stamp the time under the cursor. Times are
  // seconds since 1970, and end is the end of the chart.
  const label = (end, at) => {
    if (mode() === "rel") return at >= end ? root.dataset.now : `−${span(Math.round(end - at))}`;
    return clock({ hour: "2-digit", minute: "2-digit" }).format(at * 1000);
  };
  const stamp = (end, at, step) => {
    if (at === null || at === undefined) return "";
    if (mode() === "rel") return at >= end ? root.dataset.now : root.dataset.ago.replace("{n}", span(Math.round(end - at)));
    const far = Math.abs(Date.now() / 1000 - at) > 64000 ? { weekday: "short" } : {}; // no weekday for recent times
    return clock({ hour: "2-digit", minute: "2-digit", ...(step < 60 ? { second: "2-digit" } : {}), ...far }).format(at * 1000) + (mode() === "utc" ? " UTC" : "");
  };
  // ticks returns round ages, or round times of the displayed clock: as many as fit.
  const ticks = (from, end, room) => {
    const wide = end - from, every = [60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600].find((s) => wide / s <= Math.max(2, Math.min(7, room / 64))) ?? 43200;
    const off = mode() === "local" ? new Date(end * 1000).getTimezoneOffset() * 60 : 0;
    const first = mode() === "rel" ? end : Math.floor((end - off) / every) * every + off;
    const out = [];
    for (let at = first; at >= from; at -= every) out.unshift(at);
    return out;
  };

  const columns = (chart, got) => [got.at, ...chart.series.map((s) => got[s.member].map((n) => (n === null || !chart.rate ? n : n / got.step)))];
  const size = (el) => ({ width: Math.max(160, el.clientWidth - 16), height: 224 });

  const draw = (chart, got) => {
    const line = { stroke: colour("ink-3"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 }, font: `11px ${token("--sans") || "sans-serif"}` };
    chart.plot?.destroy();
    chart.plot = new window.uPlot({
      ...size(chart.el), cursor: { drag: { x: false, y: false } }, legend: { live: true },
      scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1)] } },
      axes: [{ ...line, space: 40, splits: (u, _, from, end) => ticks(from, end, u.width - 56), values: (u, all) => all.map((at) => label(u.scales.x.max, at)) }, { ...line, size: 56 }],
      series: [{ label: root.dataset.time, value: (u, at) => stamp(u.scales.x.max, at, got.step) }, ...chart.series.map((s) => ({ label: s.name, stroke: colour(s.colour), width: 1.5, points: { show: false } }))],
    }, columns(chart, got), chart.el);
    const legend = chart.el.querySelector(".u-legend"); // uPlot's own stylesheet has no layer and would win
    legend.style.fontSize = "12px";
    legend.style.color = "var(--ink-2)";
    legend.style.pointerEvents = "none"; // a click would hide a line, and no key can
  };

  let last = null;
  const look = async () => {
    const answer = await fetch(root.dataset.plots, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    last = await answer.json();
    for (const c of charts) {
      if (c.plot) c.plot.setData(columns(c, last));
      else draw(c, last);
    }
    root.dataset.drawn = String(last.at.length);
  };
  const again = () => { if (last) for (const c of charts) draw(c, last); };

  (async () => {
    await Promise.all([
      fetched("link", (el) => { el.rel = "stylesheet"; el.href = root.dataset.style; }),
      fetched("script", (el) => { el.src = root.dataset.script; }),
    ]);
    await look();
    setInterval(() => { if (!document.hidden) look().catch(() => { /* try again with the next */ }); }, every);
    new ResizeObserver(() => { for (const c of charts) c.plot?.setSize(size(c.el)); }).observe(root);
    for (const el of document.querySelectorAll("input[name=time]")) el.addEventListener("change", again);
    new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  })().catch((err) => console.error(err));
})();
