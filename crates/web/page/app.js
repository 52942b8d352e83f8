// The frame of the console: login, navigation, events, the banner.

import { askOwnPasswordBy, get, listen, post, reachable, state } from "./api.js";
import { h, replace } from "./dom.js";
import { search } from "./find.js";
import { PAGES, PLACES, pageOf, placeOf } from "./places.js";
import { setUpFirst } from "./secondfactor.js";

const $ = (id) => document.getElementById(id);

let session = null; // aborted when it ends
let page = null; // aborted when another page is shown
let told = []; // what the page listens to: [name, function]
let mustSetUp = false; // the account has to set up a second factor before anything else

for (const place of PLACES) {
  $("nav").append(h("a", { href: `#/${place.pages[0]}`, "data-place": place.key }, place.title));
}
const finding = search($("find"), $("found"));

// On a phone the places are a menu.
function openMenu(open) {
  $("menu").setAttribute("aria-expanded", String(open));
  $("side").classList.toggle("open", open);
}
$("menu").addEventListener("click", () => openMenu($("menu").getAttribute("aria-expanded") !== "true"));

function toast(text, kind = "good") {
  const entry = h("div", { class: `toast ${kind}` }, text);
  $("toasts").append(entry);
  setTimeout(() => entry.remove(), kind === "good" ? 5000 : 12000);
}

function confirm(title, text, yes) {
  $("confirm-title").textContent = title;
  $("confirm-text").textContent = text;
  $("confirm-yes").textContent = yes;
  const dialog = $("confirm");
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

// Return in the field is not the first button, which is Cancel.
$("own-password").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  $("own-yes").click();
});

askOwnPasswordBy((why) => {
  const [dialog, field] = [$("own"), $("own-password")];
  $("own-text").textContent = why;
  field.value = "";
  dialog.returnValue = "no";
  dialog.showModal();
  field.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const password = field.value;
      field.value = "";
      resolve(dialog.returnValue === "yes" && password !== "" ? password : null);
    }, { once: true });
  });
});

// What pages use.
function contextOf(signal) {
  const failed = (error) => {
    if (error.name !== "AbortError" && error.status !== 401 && error.status !== 0) toast(error.message, "bad");
  };
  return {
    signal,
    toast,
    confirm,
    failed,
    on: (name, then) => told.push([name, then]),
    // Runs at once and again and again, never twice at a time, and not while the page is hidden.
    every: (ms, work) => {
      const again = async () => {
        if (signal.aborted) return;
        try {
          if (!document.hidden) await work();
        } catch (error) {
          failed(error);
        }
        if (!signal.aborted) setTimeout(again, ms);
      };
      return again();
    },
    // Runs something that a person asked for. The lines of the answer are shown.
    doing: async (work) => {
      try {
        const answer = await work();
        const lines = answer?.lines ?? [];
        toast(lines.length ? lines.join("\n") : "Done");
        return true;
      } catch (error) {
        failed(error);
        return false;
      }
    },
  };
}

// Marks the place of a page, and shows the other pages of that place.
function mark(name) {
  const place = placeOf(name);
  for (const link of $("nav").children) {
    const isHere = link.dataset.place === place?.key;
    link.classList.toggle("here", isHere);
    if (isHere && place.pages.length === 1) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  $("menu-place").textContent = place?.title ?? PAGES[name].title;
  const pages = place && place.pages.length > 1 ? place.pages : [];
  $("sub").hidden = pages.length === 0;
  $("sub").setAttribute("aria-label", `Pages of ${place?.title ?? "the console"}`);
  replace($("sub"), pages.map((one) => h("a", { href: `#/${one}`, "aria-current": one === name ? "page" : null }, PAGES[one].title)));
}

async function show() {
  page?.abort();
  page = new AbortController();
  told = [];
  const name = mustSetUp ? "second-factor" : pageOf(location.hash);
  const shown = mustSetUp ? setUpFirst($("who").textContent, begin) : PAGES[name];
  document.title = `${shown.title} – Fourfold`;
  if (!mustSetUp) mark(name);
  openMenu(false);
  const main = $("main");
  main.dataset.page = name;
  replace(main);
  const { signal } = page;
  try {
    await shown.show(main, contextOf(signal));
  } catch (error) {
    if (signal.aborted || error.status === 401) return;
    main.append(h("p", { class: "error", role: "alert" }, error.message));
  }
  if (!signal.aborted) main.dataset.ready = name;
}

// `needs`: what the server says that the session needs before anything else.
function begin(user, needs) {
  session?.abort();
  session = new AbortController();
  mustSetUp = needs === "second_factor";
  for (const part of [$("nav"), $("menu"), $("find-box")]) part.hidden = mustSetUp;
  $("sub").hidden = true;
  finding.forget();
  $("who").textContent = user;
  $("login").hidden = true;
  $("shell").hidden = false;
  if (!mustSetUp) listen((name, data) => {
    if (name === "jobs") tellEnd(data);
    for (const [wanted, then] of told) {
      if (wanted === name || name === "missed") Promise.resolve(then(name === "missed" ? null : data)).catch(() => {});
    }
  }, session.signal);
  show().then(() => $("main").querySelector("h1")?.focus());
}

// The end of a job is told on each page.
function tellEnd(job) {
  if (job.state === "done") toast(`Done: ${job.what}`);
  else if (job.state !== "running") toast(`${job.state === "failed" ? "Failed" : "Cancelled"}: ${job.what}`, "bad");
}

function askForLogin(hint) {
  session?.abort();
  page?.abort();
  session = null;
  replace($("main"));
  delete $("main").dataset.ready;
  $("shell").hidden = true;
  $("login").hidden = false;
  if (hint) $("login-error").textContent = hint;
  $("login-password").value = "";
  askForCode(false);
  $($("login-user").value ? "login-password" : "login-user").focus();
  document.title = "Log in – Fourfold";
}

// The field for a code is there only for accounts with a second factor.
function askForCode(wanted) {
  $("login-factor").hidden = !wanted;
  $("login-code").value = "";
  if (wanted) $("login-code").focus();
}
$("login-user").addEventListener("input", () => { if (!$("login-factor").hidden) askForCode(false); });

$("login-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = $("login-form").querySelector("button");
  button.disabled = true;
  $("login-error").textContent = "";
  try {
    const code = $("login-code").value;
    const { user, needs } = await post("/v1/login", { user: $("login-user").value, password: $("login-password").value, ...(code ? { code } : {}) });
    askForCode(false);
    $("login-password").value = "";
    begin(user, needs);
  } catch (error) {
    $("login-error").textContent = error.message;
    if (error.needs === "code") askForCode(true);
    else $("login-password").select();
  } finally {
    button.disabled = false;
  }
});

$("login-ticket").addEventListener("click", async () => {
  $("login-error").textContent = "";
  try {
    const { user, needs } = await post("/v1/login/negotiate");
    begin(user, needs);
  } catch (error) {
    $("login-error").textContent = error.message;
  }
});

$("logout").addEventListener("click", async () => {
  await post("/v1/logout").catch(() => {});
  askForLogin("");
});

window.addEventListener("hashchange", async () => {
  if (!session) return;
  await show();
  $("main").querySelector("h1")?.focus();
});

state.addEventListener("ended", () => { if (session) askForLogin("The session has ended. Log in again."); });
state.addEventListener("factor", () => { if (session && !mustSetUp) begin($("who").textContent, "second_factor"); });
state.addEventListener("unreachable", () => {
  const banner = $("banner");
  banner.textContent = "The server does not answer. The page shows the last state, and tries again.";
  banner.hidden = false;
  const again = setInterval(async () => {
    try {
      await get("/v1/login");
      clearInterval(again);
    } catch { /* still not */ }
  }, 2000);
});
state.addEventListener("reachable", () => {
  $("banner").hidden = true;
  if (session) show();
});

// What a page had asked for when it was left is no error.
window.addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name === "AbortError") event.preventDefault();
});

async function start() {
  try {
    const { user, kerberos, needs } = await get("/v1/login");
    $("login-ticket").hidden = !kerberos;
    if (user) begin(user, needs);
    else askForLogin("");
  } catch {
    reachable(false);
    setTimeout(start, 3000);
  }
}
start();
