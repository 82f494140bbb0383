// Passkeys: adding one, and signing in with one. Where a browser has none, pages stay as they are without it.
"use strict";

(() => {
  if (!window.PublicKeyCredential || !navigator.credentials) return;

  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (it) => it.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  // What the service says as text, the browser wants as bytes.
  function readable(options) {
    const named = (list) => (list ?? []).map((it) => ({ ...it, id: bytes(it.id) }));
    const known = { ...options, challenge: bytes(options.challenge) };
    if (options.user) known.user = { ...options.user, id: bytes(options.user.id) };
    if (options.excludeCredentials) known.excludeCredentials = named(options.excludeCredentials);
    if (options.allowCredentials) known.allowCredentials = named(options.allowCredentials);
    return known;
  }

  // And the other way round.
  function writable({ id, rawId, type, response }) {
    const parts = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
    const said = parts.filter((name) => response[name]).map((name) => [name, text(response[name])]);
    return JSON.stringify({ id, rawId: text(rawId), type, response: Object.fromEntries(said) });
  }

  async function made(form) {
    const body = new URLSearchParams({ csrf: form.elements.csrf?.value ?? "" });
    const answer = await fetch(form.dataset.challenge, { method: "POST", body });
    if (!answer.ok) throw new Error(`the challenge was refused: ${answer.status}`);
    const publicKey = readable(await answer.json());
    const adds = form.dataset.passkey === "add";
    return adds ? navigator.credentials.create({ publicKey }) : navigator.credentials.get({ publicKey });
  }

  function say(form, words) {
    const shown = form.querySelector("[data-said]");
    shown.textContent = words;
    shown.hidden = !words;
  }

  async function press(form) {
    const button = form.querySelector("button");
    button.disabled = true;
    say(form, "");
    try {
      form.elements.credential.value = writable(await made(form));
      form.submit();
    } catch (error) {
      const words = { NotAllowedError: form.dataset.cancelled, InvalidStateError: form.dataset.there };
      say(form, words[error.name] ?? form.dataset.failed);
      button.disabled = false;
    }
  }

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      press(form);
    });
  }
  // Who comes back to the page by the browser's own button may press again.
  addEventListener("pageshow", () => {
    for (const button of document.querySelectorAll("form[data-passkey] button")) button.disabled = false;
  });
  for (const it of document.querySelectorAll("[data-with-passkeys]")) it.hidden = false;
  for (const it of document.querySelectorAll("[data-without-passkeys]")) it.hidden = true;
})();
