// A new share: which folder, for what, and who may do what in it.

import { get, keptPassword, post } from "./api.js";
import { h, replace } from "./dom.js";
import { folderBrowser } from "./folders.js";
import { everybody, people, picker } from "./people.js";
import { PURPOSES, SETTINGS, lines } from "./roles.js";

// The settings of homes have no roles: accounts and groups may enter, or everyone.
function whoOfHomes(entries) {
  if (entries.includes("everyone")) return {};
  const [groups, users] = [entries.filter((one) => one.startsWith("@")).map((one) => one.slice(1)), entries.filter((one) => !one.startsWith("@"))];
  return { ...(users.length ? { users: users.join(",") } : {}), ...(groups.length ? { groups: groups.join(",") } : {}) };
}

const WHO = "Name, @group, everyone";

// Which folder, and its name. `kept` remembers the own password, which the look at the server's folders needs.
export function folderPart(context, kept) {
  let typed = false;
  const named = () => { if (!typed) name.value = path.value.split("/").filter(Boolean).pop() ?? ""; };
  const path = h("input", { id: "new-path", required: true, placeholder: "/srv/studio", spellcheck: "false", autocapitalize: "none", autocomplete: "off", oninput: named });
  const name = h("input", { id: "new-name", required: true, spellcheck: "false", autocomplete: "off", oninput: () => { typed = name.value !== ""; } });
  const browser = folderBrowser(context, kept, (chosen) => { path.value = chosen; named(); path.focus(); });
  const element = h("div", { class: "fields" },
    h("label", { for: "new-path" }, "Folder on the server"),
    h("div", { class: "row" }, h("span", { class: "grow" }, path), browser.button), browser.place,
    h("span", { class: "muted small" }, "It is made if it is missing."),
    h("label", { for: "new-name" }, "Name that clients see"), name);
  return { element, value: () => ({ name: name.value.trim(), path: path.value.trim().replace(/(.)\/+$/, "$1") }) };
}

// For what, and who. `known`: the people and groups, and who is at the page; `others`: people who are chosen for a team from the start.
export function purposePart(known, others = []) {
  let purpose = "team";
  let pickers = [];
  const who = h("div", { class: "fields" });
  const size = h("input", { id: "new-size", placeholder: "all of the disk", spellcheck: "false" });
  const told = h("ul", { class: "plain small", "aria-live": "polite" });
  const choice = (key) => h("label", { class: "option" },
    h("input", { type: "radio", name: "purpose", value: key, checked: key === purpose, onchange: () => { purpose = key; ask(); } }),
    h("span", {}, h("b", {}, PURPOSES[key].title), h("span", { class: "muted small" }, PURPOSES[key].text)));

  function ask() {
    const { people: lists, size: sized } = PURPOSES[purpose];
    const chosen = (list, index) => [...list.map((one) => (one === "me" ? known.me : one)), ...(index === 0 && list.includes("me") && purpose !== "private" ? others : [])];
    pickers = lists.map(([key, question, first], index) => [key, picker({ id: `new-${key}`, label: question, offered: everybody(known), placeholder: WHO, chosen: chosen(first, index), then: tell })]);
    replace(who, lists.map(([key, question], index) => [h("label", { for: `new-${key}` }, question), pickers[index][1].element]),
      sized ? [h("label", { for: "new-size" }, "Size that Macs may use"), size] : null);
    tell();
  }
  function tell() {
    if (pickers.length === 0) return;
    replace(told, purpose === "homes" ? null : lines(Object.fromEntries(pickers.map(([key, one]) => [key, one.chosen()]))).map((line) => h("li", {}, line)));
  }
  function properties() {
    const { settings = {}, homes, size: sized } = PURPOSES[purpose];
    const lists = Object.fromEntries(pickers.map(([key, one]) => [key, one.value()]));
    const roles = homes ? whoOfHomes(lists.who) : Object.fromEntries(SETTINGS.filter((key) => lists[key]?.length).map((key) => [key, lists[key].join(",")]));
    return { ...roles, ...settings, ...(sized && size.value.trim() ? { "time-machine-size": size.value.trim() } : {}) };
  }
  ask();
  return {
    element: h("div", {}, h("fieldset", { class: "options" }, h("legend", {}, "For what"), Object.keys(PURPOSES).map(choice)), who, told),
    // The first list of a purpose is the one without which it makes no sense.
    complete: () => {
      const [, first] = pickers[0];
      const has = first.value().length > 0;
      if (!has) first.require("Choose at least one.");
      return has;
    },
    // The request that shares this folder.
    request: ({ name, path }) => ({ name, path: PURPOSES[purpose].homes ? `${path}/%U` : path, make_folder: true, properties: properties() }),
  };
}

// Shares a folder of the server. `then(name)` is called when that is done.
export function shareForm(context, then) {
  const kept = keptPassword(context.signal);
  const folder = folderPart(context, kept);
  const place = h("div", {});
  let purpose = null;
  const ready = people(context.signal).then((known) => {
    purpose = purposePart(known);
    replace(place, purpose.element);
  }).catch(context.failed);
  return h("form", {
    id: "new-share",
    onsubmit: async (event) => {
      event.preventDefault();
      await ready;
      if (purpose === null || !purpose.complete()) return;
      const request = purpose.request(folder.value());
      if (await context.doing(() => post("/v1/shares", request, kept))) {
        kept.keep(null);
        then(request.name);
      }
    },
  }, folder.element, place, h("div", { class: "row end" }, h("button", { type: "submit", class: "primary" }, "Share it")));
}

// What has just been shared: how clients mount it, and who may do what.
export async function sharedCard(context, name, parts) {
  const shares = await get("/v1/shares", context.signal);
  const share = shares.find((one) => one.name === name);
  if (!share) return null;
  return h("section", { class: "card made", "aria-label": `${name} is shared` },
    h("div", { class: "row" }, h("h2", { class: "grow clip" }, `${name} is shared`), h("a", { class: "button small", href: "#/shares" }, "Close")),
    h("p", { class: "muted clip" }, share.path),
    h("h3", {}, "How clients mount it"), parts.mounts(share),
    h("h3", {}, "Who may enter"), await parts.access(name, context.signal));
}
