// What scripts add to the console beside pages.js: nothing that cannot be done without them.
"use strict";

(() => {
  // A menu that is open closes when one goes elsewhere, or by Escape.
  const menus = () => document.querySelectorAll("details.me[open], details.menu[open]");

  document.addEventListener("click", (event) => {
    for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of menus()) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
})();
