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

// Shares a folder of the server. `then(name)` is called when that is done.
export function shareForm(context, then) {
  const kept = keptPassword(context.signal);
  let known = null;
  let typed = false;
  let purpose = "team";
  let pickers = [];
  const named = () => { if (!typed) name.value = path.value.split("/").filter(Boolean).pop() ?? ""; };
  const path = h("input", { id: "new-path", required: true, placeholder: "/srv/studio", spellcheck: "false", autocapitalize: "none", autocomplete: "off", oninput: named });
  const name = h("input", { id: "new-name", required: true, spellcheck: "false", autocomplete: "off", oninput: () => { typed = name.value !== ""; } });
  const browser = folderBrowser(context, kept, (chosen) => { path.value = chosen; named(); path.focus(); });
  const who = h("div", { class: "fields" });
  const size = h("input", { id: "new-size", placeholder: "all of the disk", spellcheck: "false" });
  const told = h("ul", { class: "plain small", "aria-live": "polite" });

  const choice = (key) => h("label", { class: "option" },
    h("input", { type: "radio", name: "purpose", value: key, checked: key === purpose, onchange: () => { purpose = key; ask(); } }),
    h("span", {}, h("b", {}, PURPOSES[key].title), h("span", { class: "muted small" }, PURPOSES[key].text)));

  function values() {
    const lists = {};
    for (const [key, one] of pickers) lists[key] = one.value();
    return lists;
  }
  function ask() {
    const { people: lists, size: sized } = PURPOSES[purpose];
    const chosen = (list) => list.map((one) => (one === "me" ? known.me : one));
    pickers = lists.map(([key, question, first]) => [key, picker({ id: `new-${key}`, label: question, offered: everybody(known), placeholder: WHO, chosen: chosen(first), then: tell })]);
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
    const lists = values();
    const roles = homes ? whoOfHomes(lists.who) : Object.fromEntries(SETTINGS.filter((key) => lists[key]?.length).map((key) => [key, lists[key].join(",")]));
    return { ...roles, ...settings, ...(sized && size.value.trim() ? { "time-machine-size": size.value.trim() } : {}) };
  }
  // The first list of a purpose is the one without which it makes no sense.
  function complete() {
    const [, first] = pickers[0];
    const has = first.value().length > 0;
    if (!has) first.require("Choose at least one.");
    return has;
  }
  const form = h("form", {
    id: "new-share",
    onsubmit: async (event) => {
      event.preventDefault();
      await ready;
      if (known === null || !complete()) return;
      const folder = path.value.trim().replace(/(.)\/+$/, "$1");
      const request = { name: name.value.trim(), path: PURPOSES[purpose].homes ? `${folder}/%U` : folder, make_folder: true, properties: properties() };
      if (await context.doing(() => post("/v1/shares", request, kept))) {
        kept.keep(null);
        then(request.name);
      }
    },
  },
  h("div", { class: "fields" },
    h("label", { for: "new-path" }, "Folder on the server"),
    h("div", { class: "row" }, h("span", { class: "grow" }, path), browser.button), browser.place,
    h("span", { class: "muted small" }, "It is made if it is missing."),
    h("label", { for: "new-name" }, "Name that clients see"), name),
  h("fieldset", { class: "options" }, h("legend", {}, "For what"), Object.keys(PURPOSES).map(choice)),
  who, told,
  h("div", { class: "row end" }, h("button", { type: "submit", class: "primary" }, "Share it")));
  const ready = people(context.signal).then((all) => { known = all; ask(); }).catch(context.failed);
  return form;
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
