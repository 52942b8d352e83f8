// The search: pages, shares, people, settings.

import { get } from "./api.js";
import { h, replace } from "./dom.js";
import { PAGES, PLACES, WORDS, placeOf } from "./places.js";

const MOST = 12;
// What was asked for counts for so long.
const FRESH_MS = 15000;

const link = (page, query) => `#/${page}?${new URLSearchParams(query)}`;

function pages() {
  const words = Object.entries(WORDS);
  return Object.keys(PAGES).map((name) => ({
    kind: "Page", title: PAGES[name].title, more: placeOf(name)?.title ?? "", href: `#/${name}`,
    text: [name, PAGES[name].title, placeOf(name)?.title ?? "", ...words.filter(([, page]) => page === name).map(([word]) => word.replaceAll("-", " "))].join(" "),
  }));
}

async function everything() {
  const [shares, accounts, groups, { settings }] = await Promise.all([get("/v1/shares"), get("/v1/accounts"), get("/v1/groups"), get("/v1/settings")]);
  const own = settings.filter((setting) => setting.share === null);
  return [
    ...pages(),
    ...shares.map((share) => ({ kind: "Share", title: share.name, more: share.path, href: link("shares", { share: share.name }), text: `${share.name} ${share.path}` })),
    ...accounts.map((one) => ({ kind: "Person", title: one.name, more: one.acts_as, href: link("accounts", { search: one.name }), text: one.name })),
    ...groups.map((one) => ({ kind: "Group", title: one.name, more: "", href: link("accounts", { search: one.name }), text: one.name })),
    ...own.map((one) => ({ kind: "Setting", title: one.key, more: one.brief, href: link("settings", { search: one.key }), text: `${one.key} ${one.key.replaceAll("-", " ")} ${one.brief}` })),
  ];
}

// The better a hit, the smaller: a title that begins with the words, one that has them, other text.
function rank(item, wanted) {
  const title = item.title.toLowerCase();
  if (title.startsWith(wanted)) return 0;
  return title.includes(wanted) ? 1 : 2;
}

export function find(all, text) {
  const wanted = text.trim().toLowerCase();
  const words = wanted.split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const has = (item) => words.every((word) => item.text.toLowerCase().includes(word));
  return all.filter(has).map((item, index) => [rank(item, wanted), index, item]).sort((one, other) => one[0] - other[0] || one[1] - other[1]).slice(0, MOST).map(([, , item]) => item);
}

// Makes the field search. The keys up and down go through what is found; Return goes to the first.
export function search(field, list) {
  let all = pages();
  let at = 0;
  const links = () => [...list.querySelectorAll("a")];
  const close = () => { list.hidden = true; };
  const leave = () => { field.value = ""; close(); };

  async function load() {
    if (Date.now() - at < FRESH_MS) return;
    at = Date.now();
    try {
      all = await everything();
      draw();
    } catch { /* pages are found without the server */ }
  }
  function draw() {
    if (field.value.trim() === "") return close();
    const found = find(all, field.value);
    replace(list, found.length
      ? found.map((item) => h("li", {}, h("a", { href: item.href, onclick: leave }, h("span", { class: "badge" }, item.kind), h("b", { class: "clip" }, item.title), h("span", { class: "muted small clip grow" }, item.more))))
      : h("li", { class: "muted" }, "Nothing is found."));
    list.hidden = false;
    return undefined;
  }
  field.addEventListener("focus", load);
  field.addEventListener("input", draw);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
    if (event.key === "Enter") { event.preventDefault(); links()[0]?.click(); }
    if (event.key === "ArrowDown") { event.preventDefault(); links()[0]?.focus(); }
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") { leave(); field.focus(); }
    if (step === undefined) return;
    event.preventDefault();
    const next = links()[links().indexOf(document.activeElement) + step];
    (next ?? field).focus();
  });
  document.addEventListener("click", (event) => { if (!field.parentElement.contains(event.target)) close(); });
  document.addEventListener("keydown", (event) => {
    const typing = document.activeElement?.matches("input, select, textarea, [contenteditable]");
    if (event.key === "/" && !typing && field.checkVisibility()) { event.preventDefault(); field.focus(); }
  });
  return { forget: () => { at = 0; all = pages(); leave(); } };
}
