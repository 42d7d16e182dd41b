// Suggestions for query boxes. A query box is an <input data-suggest="messages|entities"
// data-label data-many> in a .filter; without this script it is an ordinary field. The
// suggestions come from the namespace's API.
"use strict";
(() => {
  const base = document.body.dataset.base ?? "", namespace = location.pathname.slice(base.length).split("/")[2];
  // The server counts characters, and fields count UTF-16 units.
  const characters = (text) => [...text].length;
  const units = (text, n) => [...text].slice(0, n).join("").length;
  const made = (tag, className, text) => {
    const el = document.createElement(tag);
    if (className) el.className = className;
    if (text !== undefined) el.textContent = text;
    return el;
  };

  const attend = (input) => {
    const list = made("ul", "suggestions");
    list.setAttribute("aria-label", input.dataset.label);
    input.closest(".filter").append(list);

    const ask = async (signal) => {
      const at = characters(input.value.slice(0, input.selectionStart));
      const query = new URLSearchParams({ of: input.dataset.suggest, q: input.value, at });
      const answer = await fetch(`${base}/api/v1/n/${namespace}/suggest?${query}`, { signal });
      if (!answer.ok) return [];
      const { from, to, suggestions } = await answer.json();
      // Do not suggest what the field already contains.
      const there = input.value.slice(units(input.value, from), units(input.value, to));
      return suggestions.filter(({ text }) => text !== there).map(({ text, kind, note }) => {
        const el = made("li", "suggestion");
        el.append(made("span", "mono", text));
        if (note) el.append(made("small", "", note));
        el.dataset.kind = kind;
        return { el, text, kind, from, to };
      });
    };
    const take = ({ text, kind, from, to }) => {
      const { value } = input, start = units(value, from), end = units(value, to);
      const going = kind === "key", last = end === value.length;
      input.setRangeText(text + (!going && last ? " " : ""), start, end, "end");
      input.focus();
      if (going) box.ask();
    };
    const box = window.mayfly.combobox({ input, list, many: input.dataset.many, say: window.mayfly.say, ask, take });
  };
  for (const input of document.querySelectorAll("input[data-suggest]")) attend(input);
})();
