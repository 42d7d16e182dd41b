// The charts of the pages of metrics, drawn by uPlot, which is fetched when there is
// something to draw. The table beside them says the same without this script.
//
//   data-plots="URL of the numbers" data-script="uPlot" data-style="its stylesheet"
//   data-plot="MEMBER:COLOUR:NAME,…" [data-rate]   a chart; the colour is a token
"use strict";
(() => {
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
  // Tokens are light-dark() pairs, which a canvas does not know.
  const colour = (name) => {
    const probe = document.createElement("i");
    probe.style.color = `var(--${name})`;
    root.append(probe);
    const c = getComputedStyle(probe).color;
    probe.remove();
    return c;
  };
  const columns = (chart, got) => [got.at, ...chart.series.map((s) => got[s.member].map((n) => (n === null || !chart.rate ? n : n / got.step)))];
  const size = (el) => ({ width: Math.max(160, el.clientWidth - 16), height: 224 });

  const draw = (chart, got) => {
    const line = { stroke: colour("ink-3"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 }, font: `11px ${token("--sans") || "sans-serif"}` };
    chart.plot?.destroy();
    chart.plot = new window.uPlot({
      ...size(chart.el), cursor: { drag: { x: false, y: false } }, legend: { live: true },
      scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1)] } },
      axes: [line, { ...line, size: 56 }],
      series: [{}, ...chart.series.map((s) => ({ label: s.name, stroke: colour(s.colour), width: 1.5, points: { show: false } }))],
    }, columns(chart, got), chart.el);
    const legend = chart.el.querySelector(".u-legend"); // uPlot's own stylesheet is in no layer, and would win
    legend.style.fontSize = "12px";
    legend.style.color = colour("ink-2");
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
    setInterval(() => { if (!document.hidden) look().catch(() => { /* the next one may be better */ }); }, every);
    new ResizeObserver(() => { for (const c of charts) c.plot?.setSize(size(c.el)); }).observe(root);
    new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  })().catch((err) => console.error(err));
})();
