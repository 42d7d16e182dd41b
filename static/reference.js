// The API reference: filters as the user types, opens the operation in the address, and
// sends trial requests, which change nothing. Answers are shown as text, shortened if
// they are long. The page is complete without this script.
//
//   [data-reference="URL OF THE API"] [data-words='{"asking":"…"}']
//   [data-op] with data-words   an operation · [data-group] the operations of a heading
//   input[data-sift], [data-sifted="{n} of 45"], [data-none] is visible if nothing matches
//   form[data-ask="/peek/{path}"], its fields by name, [data-in-path] those in braces,
//       [data-halt], [data-status-line], pre > code
"use strict";
(() => {
  const root = document.querySelector("[data-reference]");
  if (!root) return;
  const most = 64 * 1024, patience = 30_000;
  const words = JSON.parse(root.dataset.words);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // ── Replace the API's address if this browser uses another one than the server.
  const said = root.dataset.reference;
  const base = location.origin + new URL(said).pathname;
  if (base !== said) {
    for (const el of all(".snippet")) {
      const code = el.querySelector("code"), copy = el.querySelector("[data-text]");
      if (!code.textContent.includes(said)) continue;
      code.textContent = code.textContent.replaceAll(said, base);
      copy.dataset.text = copy.dataset.text.replaceAll(said, base);
    }
  }

  // ── Open what the address points at.
  const reveal = () => {
    const at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = at?.closest("details.op");
    if (!fold) return;
    fold.open = true;
    fold.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", reveal);
  reveal();

  // ── The filter.
  const sift = document.querySelector("[data-sift]"), sifted = document.querySelector("[data-sifted]");
  const kept = new Map(all("details[data-op]").map((el) => [el.dataset.op, el.dataset.words]));
  const filter = () => {
    const asked = sift.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = new Set([...kept].filter(([, text]) => asked.every((w) => text.includes(w))).map(([id]) => id));
    for (const el of all("[data-op]")) el.hidden = !shown.has(el.dataset.op);
    for (const el of all("[data-group]")) el.hidden = !el.querySelector("[data-op]:not([hidden])");
    document.querySelector("[data-none]").hidden = shown.size > 0;
    window.mayfly.say(sifted.textContent = sifted.dataset.sifted.replace("{n}", shown.size));
    history.replaceState(null, "", location.pathname + (sift.value ? `?${new URLSearchParams({ [sift.name]: sift.value })}` : "") + location.hash);
  };
  sift.addEventListener("input", filter);
  sift.form.addEventListener("submit", (e) => e.preventDefault());

  // ── Trial requests. JSON is indented as text, so that numbers keep their digits.
  const pretty = (text) => {
    let out = "", deep = 0, quoted = false;
    const line = () => "\n" + "  ".repeat(deep);
    for (let i = 0; i < text.length; i++) {
      const c = text[i];
      if (quoted) {
        out += c;
        if (c === "\\") out += text[++i] ?? "";
        else if (c === '"') quoted = false;
      } else if (c === '"') { quoted = true; out += c; }
      else if ((c === "{" && text[i + 1] === "}") || (c === "[" && text[i + 1] === "]")) out += c + text[++i];
      else if (c === "{" || c === "[") { deep++; out += c + line(); }
      else if (c === "}" || c === "]") { deep = Math.max(0, deep - 1); out += line() + c; }
      else if (c === ",") out += c + line();
      else if (c === ":") out += ": ";
      else if (!/\s/.test(c)) out += c;
    }
    return out;
  };
  const read = async (body) => { // returns the part to show, and whether there is more
    const reader = body.getReader(), decoder = new TextDecoder();
    let text = "", bytes = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { text: text + decoder.decode(), more: false };
      const left = most - bytes;
      bytes += value.length;
      text += decoder.decode(value.subarray(0, left), { stream: true });
      if (bytes > most) {
        reader.cancel().catch(() => { /* it has already ended */ });
        return { text, more: true };
      }
    }
  };
  const address = (form) => {
    let at = form.dataset.ask;
    const query = new URLSearchParams();
    for (const el of all("[name]", form)) {
      if ("inPath" in el.dataset) at = at.replace(`{${el.name}}`, el.value.split("/").map(encodeURIComponent).join("/"));
      else if (el.value !== "" || el.required) query.append(el.name, el.value);
    }
    return base + at + (query.size > 0 ? `?${query}` : "");
  };
  const attempt = async (form) => {
    const status = form.querySelector("[data-status-line]"), halt = form.querySelector("[data-halt]");
    const pre = form.querySelector("pre");
    form.stop?.abort();
    const stop = form.stop = new AbortController();
    let late = false;
    const clock = setTimeout(() => { late = true; stop.abort(); }, patience);
    halt.hidden = false;
    halt.onclick = () => stop.abort();
    const say = (text) => window.mayfly.say(status.textContent = text);
    say(words.asking);
    try {
      const began = performance.now();
      const answer = await fetch(address(form), { signal: stop.signal, headers: { Accept: "application/json" } });
      const { text, more } = await read(answer.body);
      const type = answer.headers.get("Content-Type") ?? "";
      say([`${answer.status} ${answer.statusText}`, type, `${Math.round(performance.now() - began)} ms`, more ? words.cut.replace("{n}", `${most / 1024} KB`) : ""].filter(Boolean).join(" · "));
      pre.lastElementChild.textContent = /[/+]json/.test(type) ? pretty(text) : text;
      pre.hidden = false;
      pre.scrollTop = 0;
    } catch (err) {
      if (form.stop !== stop) return; // a newer request replaced this one
      say(stop.signal.aborted && !late ? words.stopped : words.failed.replace("{n}", late ? `${patience / 1000} s` : err.message));
    } finally {
      clearTimeout(clock);
      if (form.stop === stop) halt.hidden = true;
    }
  };
  for (const form of all("form[data-ask]")) {
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      attempt(form);
    });
  }
})();
