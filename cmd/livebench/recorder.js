// Notes what a page of Mayfly has painted when, and what kept it busy. A frame has
// been painted when the browser begins the picture after the one that followed it.
"use strict";
(() => {
  const wall = () => performance.timeOrigin + performance.now();
  let paints = [], long = [], frames = 0;
  window.livebench = {
    wall,
    take() { const all = { paints, long }; paints = []; long = []; return all; },
  };
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) long.push([performance.timeOrigin + e.startTime, e.duration]);
  }).observe({ type: "longtask", buffered: true });
  const look = () => {
    const now = window.mayfly?.frames ?? 0, n = Number(document.body.dataset.n);
    if (now === frames || !n) return;
    frames = now;
    requestAnimationFrame(() => requestAnimationFrame(() => paints.push([n, wall(), now])));
  };
  addEventListener("DOMContentLoaded", () => {
    new MutationObserver(look).observe(document.documentElement, { subtree: true, childList: true, characterData: true, attributes: true });
  });
})();
