// What this tab is for, told before there is a page, so that none is drawn twice:
//
//   ?present=1   it shows pages to others, in large type and with little around them
//   ?kiosk=1     it stands on a wall, and nobody is at it
//   ?follow=ID   it is where a presenter is
//
// A tab stays what it is from page to page and when a page is loaded again; what it is
// stands on <html> as data-mode, and data-tied says that it has a socket on every page,
// for those who follow. Without this script a page is simply a page.
"use strict";
(() => {
  const root = document.documentElement, url = new URL(location.href), asked = url.searchParams;
  const kept = {
    get(name) { try { return JSON.parse(sessionStorage.getItem(`mayfly.${name}`)); } catch { return null; } },
    set(name, value) { try { sessionStorage.setItem(`mayfly.${name}`, JSON.stringify(value)); } catch { /* private window */ } },
    drop(name) { try { sessionStorage.removeItem(`mayfly.${name}`); } catch { /* private window */ } },
  };
  const tab = {
    kept,
    // be has the tab be something else from now on; "" is an ordinary one.
    be(mode) {
      if (mode === "audience" || mode === "kiosk") kept.drop("talk");
      if (mode !== "audience") kept.drop("follow");
      if (mode) kept.set("mode", mode);
      else kept.drop("mode");
      tell(mode);
    },
  };
  const tell = (mode) => {
    if (mode) root.dataset.mode = mode;
    else delete root.dataset.mode;
    root.toggleAttribute("data-tied", !!(kept.get("talk") || kept.get("follow")));
  };
  if (asked.get("follow")) {
    tab.be("audience");
    kept.set("follow", { id: asked.get("follow") });
    tell("audience");
  } else if (asked.get("present") === "1") tab.be("present");
  else if (asked.get("kiosk") === "1") tab.be("kiosk");
  else if (["present", "kiosk"].some((mode) => asked.has(mode))) tab.be("");
  else tell(["present", "kiosk", "audience"].find((mode) => mode === kept.get("mode")) ?? "");
  // The address is that of the page again, but on a wall, where it is what is started
  // with; a browser that keeps nothing keeps the address.
  if (kept.get("mode") && ["follow", "present"].some((name) => asked.has(name))) {
    asked.delete("follow");
    asked.delete("present");
    history.replaceState(history.state, "", url);
  }
  window.mayflyTab = tab;
})();
