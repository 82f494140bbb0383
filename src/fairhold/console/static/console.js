// What scripts add to the console beside pages.js: nothing that cannot be done without them.
"use strict";

(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // A menu that is open closes when one goes elsewhere, or by Escape.
  const menus = () => all("details.me[open], details.menu[open]");

  document.addEventListener("click", (event) => {
    for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
    if (event.target.closest("[data-print]")) print();
    if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of menus()) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submit]")) event.target.form.submit();
    fit();
  });

  // What means nothing with what was chosen is not shown: data-when="field=value", or just "field" for any.
  function fit() {
    for (const group of all("[data-when]")) {
      const [name, value] = group.dataset.when.split("=");
      const chosen = document.getElementById(name)?.value ?? "";
      group.hidden = value === undefined ? !chosen : chosen !== value;
    }
  }

  function prepare() {
    for (const it of all("[data-with-script]")) it.hidden = false;
    fit();
  }

  // Moving in line: by mouse, or by the arrow keys on a handle. Either way the reason is asked for.
  const rows = () => all("[data-line] > [data-booking]");
  let lifted = null;
  let target = null;

  function mark(row, below) {
    for (const it of rows()) it.classList.remove("over", "under");
    target = row ? { row, below } : null;
    row?.classList.add(below ? "under" : "over");
  }

  function lift(row) {
    lifted?.classList.remove("lifted");
    lifted = row;
    row?.classList.add("lifted");
    if (!row) mark(null);
  }

  // Where it would stand: the row it comes behind, if any, and its position then.
  function destination() {
    if (!lifted || !target) return null;
    const others = rows().filter((it) => it !== lifted);
    let index = others.indexOf(target.row);
    if (index < 0) return null;
    if (target.below) index += 1;
    if (index === rows().indexOf(lifted)) return null;
    return { behind: others[index - 1], position: index + 1 };
  }

  function ask() {
    const found = destination();
    const dialog = document.getElementById("move-dialog");
    const row = lifted;
    lift(null);
    if (!found || !dialog || !row) return;
    const form = dialog.querySelector("form");
    form.action = form.dataset.action.replace("BOOKING", row.dataset.booking);
    form.elements.to.value = found.behind ? `after:${found.behind.dataset.booking}` : "front";
    const title = dialog.querySelector("[data-pattern]");
    title.textContent = title.dataset.pattern.replace("NAME", row.dataset.name).replace("POSITION", found.position);
    form.elements.why.value = "";
    dialog.addEventListener("close", () => document.getElementById(`handle-${row.dataset.booking}`)?.focus(), { once: true });
    dialog.showModal();
    form.elements.why.focus();
  }

  document.addEventListener("dragstart", (event) => {
    const row = event.target.closest?.("[data-line] > [data-booking]");
    if (!row || event.target.closest("details, a")) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", row.dataset.name);
    lift(row);
  });
  document.addEventListener("dragover", (event) => {
    const row = event.target.closest?.("[data-line] > [data-booking]");
    if (!lifted || !row) return;
    event.preventDefault();
    const { top, height } = row.getBoundingClientRect();
    mark(row, event.clientY > top + height / 2);
  });
  document.addEventListener("drop", (event) => {
    if (!lifted) return;
    event.preventDefault();
    ask();
  });
  document.addEventListener("dragend", () => lift(null));

  document.addEventListener("keydown", (event) => {
    const handle = event.target.closest?.("[data-handle]");
    if (!handle) return;
    const own = handle.closest("[data-booking]");
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      if (lifted !== own) lift(own);
      const others = rows().filter((it) => it !== own);
      const at = destination()?.position ?? rows().indexOf(own) + 1;
      const next = Math.min(others.length + 1, Math.max(1, at + (event.key === "ArrowUp" ? -1 : 1)));
      if (next <= others.length) mark(others[next - 1], false);
      else mark(others[others.length - 1], true);
      say(`#${next}`);
    } else if (event.key === "Enter" || event.key === " ") {
      if (lifted !== own) return;
      event.preventDefault();
      ask();
    } else if (event.key === "Escape" && lifted) lift(null);
  });

  function say(text) {
    document.getElementById("news").textContent = text;
  }

  prepare();
  document.addEventListener("shown", prepare);
  document.getElementById("errors")?.focus();
})();
