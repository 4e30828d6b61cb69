// Adds to a page what links cannot do: it follows a live run, filters while you type, and handles
// keys. It never creates markup from text: fragments come escaped from the server, are parsed
// without running scripts, and are merged into the page node by node.
"use strict";
(() => {
  const PATIENCE_MS = 150; // between a key and the request
  const SLOWEST_MS = 8000;

  const holder = () => document.querySelector("[data-parts]");
  const connection = document.getElementById("connection");

  // --- merging a newer state into the page, so that focus, scroll and open parts stay

  function workIn(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeType === Node.ELEMENT_NODE && old.hasAttribute("data-keep")) return; // the user may be typing in it
    if (old.nodeName !== fresh.nodeName || (old.id || "") !== (fresh.id || "")) {
      old.replaceWith(fresh);
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    const wasAtEnd = old.scrollTop + old.clientHeight >= old.scrollHeight - 8;
    workInAttributes(old, fresh);
    workInChildren(old, fresh);
    if (old.hasAttribute("data-tail") && wasAtEnd) old.scrollTop = old.scrollHeight;
  }

  function workInAttributes(old, fresh) {
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value && name !== "open") old.setAttribute(name, value);
    }
  }

  function workInChildren(old, fresh) {
    const wanted = new Set([...fresh.children].map((child) => child.id).filter(Boolean));
    const known = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
    let place = old.firstChild;
    const dropPlace = () => {
      const next = place.nextSibling;
      place.remove();
      place = next;
    };
    for (const child of [...fresh.childNodes]) {
      const match = child.id ? known.get(child.id) : undefined;
      if (match) {
        while (place && place !== match && !wanted.has(place.id)) dropPlace();
        if (place === match) place = place.nextSibling;
        else old.insertBefore(match, place);
        workIn(match, child);
      } else if (!child.id && place && !place.id && place.nodeName === child.nodeName) {
        const here = place;
        place = place.nextSibling;
        workIn(here, child);
      } else {
        old.insertBefore(child, place);
      }
    }
    while (place) dropPlace();
  }

  // --- requesting the newer state

  let asking = null;

  async function refresh(address) {
    if (asking) asking.abort();
    const mine = new AbortController();
    asking = mine;
    try {
      const answer = await fetch(address, { signal: mine.signal, credentials: "same-origin" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const text = await answer.text();
      if (asking !== mine) return false;
      const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("[data-parts]");
      const old = holder();
      if (!fresh || !old) throw new Error("no parts");
      const focused = document.activeElement;
      workIn(old, fresh);
      if (focused && focused.id && document.activeElement !== focused) {
        const again = document.getElementById(focused.id);
        if (again) again.focus({ preventScroll: true });
      }
      return true;
    } finally {
      if (asking === mine) asking = null;
    }
  }

  function follow() {
    let wait = 0;
    let timer = 0;
    const usual = () => Number(holder().dataset.every) || 1000;
    const isLive = () => holder() && holder().dataset.live === "yes";
    async function turn() {
      timer = 0;
      if (!isLive()) return;
      if (document.hidden) return; // continues when the page is visible again
      try {
        if (!asking) await refresh(holder().dataset.parts);
        wait = usual();
        connection.hidden = true;
      } catch (error) {
        if (error.name !== "AbortError") {
          wait = Math.min(2 * (wait || usual()), SLOWEST_MS);
          connection.textContent = "The server does not answer; trying again.";
          connection.hidden = false;
        }
      }
      schedule();
    }
    function schedule() {
      if (!timer && isLive()) timer = setTimeout(turn, wait || usual());
    }
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && !timer) turn();
    });
    schedule();
    return schedule;
  }

  // --- filtering while you type

  function filterAsYouType(form, goOn) {
    let timer = 0;
    function apply() {
      timer = 0;
      const asked = new URLSearchParams();
      for (const [name, value] of new FormData(form)) if (value) asked.append(name, value);
      const query = asked.toString() ? `?${asked}` : "";
      const base = new URL(form.action).pathname;
      refresh(`${base}/parts${query}`)
        .then((done) => {
          if (done) history.replaceState(null, "", `${base}${query}`);
          goOn();
        })
        .catch((error) => {
          if (error.name !== "AbortError") form.submit(); // the server then says what is wrong
        });
    }
    form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(apply, PATIENCE_MS);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      clearTimeout(timer);
      apply();
    });
  }

  // --- keys

  function rows() {
    return [...document.querySelectorAll("a.row")].filter((row) => row.offsetParent !== null);
  }

  function move(step) {
    const all = rows();
    if (!all.length) return;
    const own = document.activeElement && document.activeElement.closest("tr, li");
    const now = own ? all.findIndex((row) => own.contains(row)) : -1;
    const next = now < 0 ? (step > 0 ? 0 : all.length - 1) : now + step;
    all[Math.max(0, Math.min(all.length - 1, next))].focus();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const at = event.target;
    const isTyping = at instanceof Element && at.closest("input, select, textarea");
    if (isTyping) {
      if (event.key === "Escape") at.blur();
      return;
    }
    const dialog = document.getElementById("keys");
    if (dialog.open) return;
    const filter = document.querySelector(".filter input");
    const up = document.getElementById("up");
    const actions = {
      "/": () => filter && filter.focus(),
      j: () => move(1),
      k: () => move(-1),
      u: () => up && up.click(),
      "?": () => dialog.showModal(),
    };
    const action = actions[event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  }

  document.addEventListener("keydown", onKey);
  const button = document.getElementById("keys-button");
  button.hidden = false;
  button.addEventListener("click", () => document.getElementById("keys").showModal());
  for (const tail of document.querySelectorAll("[data-tail]")) tail.scrollTop = tail.scrollHeight;
  const goOn = holder() ? follow() : () => {};
  const form = document.getElementById("filter");
  if (form && holder()) filterAsYouType(form, goOn);
})();
