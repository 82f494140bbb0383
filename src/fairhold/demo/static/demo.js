// Moves the demo's clock without leaving the page, lets its hands run, and shows people moving to their seats.
"use strict";

(() => {
  const main = () => document.querySelector("main.demo");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const MOVE = { duration: 650, easing: "cubic-bezier(0.3, 0.7, 0.2, 1)" };
  let places = new Map();
  let started = null;
  if (!main()) return;

  // The clock runs on from what the page said.
  function run() {
    const shown = main().querySelector("[data-now]");
    if (!started || started.shown !== shown) started = { shown, now: Number(shown.dataset.now), at: performance.now() };
    const now = new Date(started.now + performance.now() - started.at);
    const zone = { timeZone: shown.dataset.zone };
    const time = new Intl.DateTimeFormat("en-GB", { ...zone, timeStyle: "medium" }).format(now);
    const day = new Intl.DateTimeFormat("en-GB", { ...zone, dateStyle: "full" }).format(now);
    if (shown.textContent !== time) shown.textContent = time;
    const date = main().querySelector("[data-day]");
    if (date.textContent !== day) date.textContent = day;
  }

  // Where everybody was, so that whoever is somewhere else afterwards is seen going there.
  const where = () => new Map([...main().querySelectorAll("[data-who]")].map((it) => {
    const box = it.getBoundingClientRect();
    return [it.dataset.who, { it, left: box.left + scrollX, top: box.top + scrollY, state: it.className }];
  }));

  function animate() {
    const now = where();
    if (!calm.matches) {
      for (const [who, { it, left, top, state }] of now) {
        const was = places.get(who);
        if (!was) it.animate([{ opacity: 0, transform: "scale(0.8)" }, { opacity: 1, transform: "none" }], MOVE);
        else if (Math.hypot(was.left - left, was.top - top) > 2 || was.state !== state) {
          it.animate([{ transform: `translate(${was.left - left}px, ${was.top - top}px)` }, { transform: "none" }], MOVE);
        }
      }
    }
    places = now;
  }

  async function send(form, button) {
    const body = new URLSearchParams([[button.name, button.value]]);
    const answer = await fetch(form.action, { method: "POST", body });
    if (!answer.ok) return location.reload();
    main().dataset.here = new URL(answer.url).pathname + new URL(answer.url).search;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.dispatchEvent(new CustomEvent("fairhold:fresh", { detail: fresh }));
    main().querySelector(`[data-quiet] [value="${button.value}"]`)?.focus({ preventScroll: true });
    return null;
  }

  addEventListener("submit", (event) => {
    if (!event.target.matches("[data-quiet]") || !event.submitter) return;
    event.preventDefault();
    places = where();
    send(event.target, event.submitter).catch(() => location.reload());
  });

  new MutationObserver((changes) => {
    if (changes.some((it) => [...it.addedNodes].some((node) => node.nodeType === 1 && node.matches("[data-part]")))) {
      animate();
      run();
    }
  }).observe(document.body, { childList: true, subtree: true });
  addEventListener("resize", () => { places = where(); });
  places = where();
  run();
  setInterval(run, 250);
})();
