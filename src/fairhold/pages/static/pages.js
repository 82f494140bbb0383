// Makes a page live: counts down, and fetches the page anew when there is something new to see.
// Everything works without it; it only saves a reload.
"use strict";

(() => {
  const lang = document.documentElement.lang;
  const SOON_S = [300, 60];
  const PAUSE_MS = 1000;
  const POLL_MS = 30000;
  let timers = [];
  let fetchedAt = -PAUSE_MS;
  let busy = false;
  let again = false;
  let shown = 0;
  let later = 0;

  const main = () => document.querySelector("main");

  // Time left, as the server says it: 2 days 3 hours, 1 hour 5 minutes, 14:59.
  function words(seconds) {
    if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    const parts = [["day", Math.floor(seconds / 86400)], ["hour", Math.floor(seconds / 3600) % 24], ["minute", Math.floor(seconds / 60) % 60]];
    const first = parts.findIndex(([, count]) => count);
    return parts.slice(first, first + 2).filter(([, count]) => count)
      .map(([unit, count]) => new Intl.NumberFormat(lang, { style: "unit", unit, unitDisplay: "long" }).format(count)).join(" ");
  }

  function wind() {
    timers = [...document.querySelectorAll("[data-left]")].map((shown) => ({
      shown, ends: Date.now() + Number(shown.dataset.left) * 1000, last: Number(shown.dataset.left), over: false,
    }));
    tick();
  }

  function tick() {
    for (const timer of timers) {
      const left = Math.max(0, Math.ceil((timer.ends - Date.now()) / 1000));
      const text = words(left);
      if (timer.shown.textContent !== text) timer.shown.textContent = text;
      timer.shown.classList.toggle("long", left >= 3600);
      const label = timer.shown.getAttribute("aria-label");
      if (label && SOON_S.some((soon) => timer.last > soon && left <= soon)) announce(`${label}: ${text}`);
      timer.last = left;
      if (!left && !timer.over) {
        timer.over = true;
        refresh();
      }
    }
  }

  function announce(text) {
    document.getElementById("news").textContent = text.replace(/\s+/g, " ").trim();
  }

  async function refresh() {
    const { here, state } = main().dataset;
    if (!here) return;
    // News that come while we fetch may be newer than what we get.
    again = busy;
    if (busy) return;
    const wait = fetchedAt + PAUSE_MS - Date.now();
    if (wait > 0) {
      clearTimeout(later);
      later = setTimeout(refresh, wait);
      return;
    }
    busy = true;
    fetchedAt = Date.now();
    const before = shown;
    try {
      const whose = main().dataset.signedIn ? "same-origin" : "omit";
      const answer = await fetch(`${here}${here.includes("?") ? "&" : "?"}live=${state}`, { headers: { accept: "text/html" }, cache: "no-store", credentials: whose });
      // Somebody who was signed in is so no longer.
      if (answer.redirected) location.reload();
      else if (answer.ok) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        // What was shown meanwhile is newer than what was asked for before.
        if (shown === before) show(fresh);
        else again = true;
      }
    } catch {
      // No network: the next news, or the next look, comes to it.
    }
    busy = false;
    if (again) refresh();
  }

  // The same state: only what is marked as a part of the page changes, so that nobody's typing is lost.
  function show(fresh) {
    const old = main();
    const next = fresh.querySelector("main");
    if (!next) return;
    shown += 1;
    const typed = [...old.querySelectorAll("input:not([type=hidden]), select, textarea")]
      .filter((field) => field.name).map((field) => [field.id, field.name, field.value, field.checked]);
    const said = spoken(old);
    const unfolded = [...old.querySelectorAll("details[open][id]")].map((it) => it.id);
    const focused = document.activeElement?.id;
    if (next.dataset.state === old.dataset.state) old.dataset.seen = next.dataset.seen;
    else old.replaceWith(document.importNode(next, true));
    for (const part of fresh.querySelectorAll("[data-part]")) {
      const there = document.querySelector(`[data-part="${part.dataset.part}"]`);
      if (there && there.outerHTML !== part.outerHTML) there.replaceWith(document.importNode(part, true));
    }
    for (const it of typed) restore(...it);
    document.dispatchEvent(new Event("shown"));
    for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
    if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus({ preventScroll: true });
    document.title = fresh.title;
    if (spoken(main()) !== said) announce(spoken(main()));
    wind();
  }

  const spoken = (page) => [...page.querySelectorAll("[data-said]")].map((it) => it.textContent.trim()).join(". ");

  // Several forms may have fields of one name, so it goes by the id where there is one.
  function restore(id, name, value, checked) {
    for (const field of main().querySelectorAll(id ? `#${CSS.escape(id)}` : `[name="${CSS.escape(name)}"]`)) {
      if (field.type === "checkbox") field.checked = checked;
      else if (field.type === "radio") field.checked = field.checked || (checked && field.value === value);
      else if (field.tagName !== "SELECT" || [...field.options].some((option) => option.value === value)) field.value = value;
    }
  }

  function watch() {
    const { stream } = main().dataset;
    if (!stream) return;
    const source = new EventSource(stream);
    source.addEventListener("seen", (event) => {
      if (event.data !== main().dataset.seen) refresh();
    });
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) setInterval(refresh, POLL_MS);
    });
  }

  // Another script of ours has fetched the page already.
  document.addEventListener("fairhold:fresh", (event) => show(event.detail));

  wind();
  setInterval(tick, 250);
  watch();
  addEventListener("pageshow", (event) => { if (event.persisted) refresh(); });
  addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  document.getElementById("errors")?.focus();
})();
