// The mode of this tab, set before the page is parsed so that no page is drawn twice:
//
//   ?present=1   presenter mode: large type and few controls
//   ?kiosk=1     kiosk mode: an unattended screen on a wall
//   ?follow=ID   follows a presenter
//
// A tab keeps its mode across navigation and reloads. <html> carries it as data-mode, and
// data-tied if every page of the tab needs a socket, as followers do. Without this
// script, pages are ordinary.
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
    // be changes the tab's mode; "" is the ordinary one.
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
  // Remove the parameters from the address, except in kiosk mode, so that a reload of its
  // address starts it again. A browser without storage keeps them, too.
  if (kept.get("mode") && ["follow", "present"].some((name) => asked.has(name))) {
    asked.delete("follow");
    asked.delete("present");
    history.replaceState(history.state, "", url);
  }
  window.mayflyTab = tab;
})();
