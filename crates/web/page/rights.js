// Who may do what in a share: presets, the list, and what it means for one person.

import { get, post } from "./api.js";
import { h, heading, replace, title } from "./dom.js";
import { folderEditor, rightsLink, way } from "./folderrights.js";
import { everybody, people, picker } from "./people.js";
import { PRESETS, ROLES, SETTINGS, lines, listsOf, words } from "./roles.js";

const rowsOf = (lists) => SETTINGS.flatMap((key) => lists[key].map((who) => ({ who, key })));

// The lists of these rows.
function listsFrom(rows) {
  return Object.fromEntries(SETTINGS.map((key) => [key, rows.filter((row) => row.key === key).map((row) => row.who)]));
}

// The settings of the lists, if one differs. All are written: a share without any has those of the share above it.
function changed(lists, before) {
  const same = SETTINGS.every((key) => lists[key].join(",") === before.lists[key].join(","));
  return same ? {} : Object.fromEntries(SETTINGS.map((key) => [key, lists[key].length ? lists[key].join(",") : null]));
}

// The rows of a preset. Those who had a role get the one for people who are named; then the person at the page gets only others.
function presetRows(people, before, me) {
  const named = [...new Set(before.map((row) => row.who))].filter((who) => !["everyone", "guests"].includes(who));
  const target = people[0][2].includes("everyone") ? 1 : 0;
  const elsewhere = people.some(([, , first], index) => index !== target && first.includes("me"));
  return people.flatMap(([key, , first], index) => {
    const others = index === target ? named.filter((who) => !elsewhere || who !== me) : [];
    const usual = others.length ? [] : first.map((who) => (who === "me" ? me : who));
    return [...others, ...usual].map((who) => ({ who, key }));
  });
}

// What a team folder cannot have beside its roles.
const OLD = ["users", "groups", "guests"];

function editor(context, share, settings, known, again) {
  const before = listsOf(settings);
  const isTeam = rowsOf(before.lists).length > 0;
  const old = settings.filter((setting) => OLD.includes(setting.key) && setting.source === "local").map((setting) => setting.key);
  let rows = rowsOf(before.lists);
  const list = h("div", {});
  const told = h("ul", { class: "plain small", "aria-live": "polite" });
  const save = h("button", { type: "submit", class: "primary", disabled: true }, "Save");
  const add = picker({ id: "rights-who", label: "Who", offered: everybody(known), placeholder: "Name, @group, everyone" });
  const roles = (properties, value, text) => {
    const field = h("select", properties, SETTINGS.map((key) => h("option", { value: key }, text(ROLES[key]))));
    field.value = value;
    return field;
  };
  const newRole = roles({ id: "rights-role" }, "editors", (role) => `${role.name}: ${role.does}`);

  function draw() {
    replace(list, rows.length
      ? h("ul", { class: "plain roles" }, rows.map((row, index) => h("li", { class: "row", "data-who": row.who },
        h("b", { class: "grow clip" }, words(row.who)),
        roles({ "aria-label": `Role of ${words(row.who)}`, onchange: (event) => { rows[index] = { ...row, key: event.target.value }; tell(); } }, row.key, (role) => role.name),
        h("button", { type: "button", class: "small", "aria-label": `Take the role from ${words(row.who)}`, onclick: () => { rows.splice(index, 1); draw(); add.element.querySelector("input").focus(); } }, "Remove"))))
      : h("p", { class: "muted empty" }, isTeam ? "It has no roles." : "It is no team folder: the settings users, groups and guests say who enters, and the rights of each file what they do."));
    tell();
  }
  function tell() {
    replace(told, lines(listsFrom(rows)).map((line) => h("li", {}, line)));
    save.disabled = Object.keys(changed(listsFrom(rows), before)).length === 0;
  }
  const preset = (key) => h("button", { type: "button", title: PRESETS[key].text, "data-preset": key, onclick: () => {
    rows = presetRows(PRESETS[key].people, rows, known.me);
    draw();
  } }, PRESETS[key].title);
  const form = h("form", { class: "card", id: "roles", onsubmit: async (event) => {
    event.preventDefault();
    const properties = changed(listsFrom(rows), before);
    if (rows.length) for (const key of old) properties[key] = null;
    const text = "It is no team folder then: everyone with an account may enter, and the rights of each file on the disk say what they may do.";
    if (rows.length === 0 && !await context.confirm(`Take all roles from ${share}?`, text, "Take them")) return;
    if (await context.doing(() => post("/v1/shares/change", { name: share, properties }))) await again();
  } },
  h("h2", {}, "Who may do what"),
  h("div", { class: "row" }, h("span", { class: "muted" }, "Begin with"), h("div", { class: "choice", role: "group", "aria-label": "Presets" }, Object.keys(PRESETS).map(preset))),
  list,
  h("fieldset", {}, h("legend", {}, "Give a role"),
    h("label", { for: "rights-who" }, "Who"), add.element,
    h("label", { for: "rights-role" }, "Role"), h("div", { class: "row" }, h("span", { class: "grow" }, newRole), h("button", { type: "button", id: "rights-add", onclick: () => {
      const names = add.take();
      if (names.length === 0) { add.require("Choose at least one."); return; }
      for (const who of names) if (!rows.some((row) => row.who === who && row.key === newRole.value)) rows.push({ who, key: newRole.value });
      draw();
    } }, "Give the role"))),
  told,
  old.length ? h("p", { class: "muted small" }, `With roles, ${old.join(", ")} of this share ${old.length > 1 ? "are" : "is"} removed: the roles say who enters.`) : null,
  before.inherited.length ? h("p", { class: "muted small" }, "It has the roles of the share above it, until it has its own.") : null,
  h("div", { class: "row end" }, save));
  draw();
  return form;
}

// What one person may do with a file or folder, and by what; for the share itself also over which protocol.
function question(context, share, path, known) {
  const answer = h("div", { "aria-live": "polite" });
  const who = h("select", { id: "rights-person", onchange: () => ask() }, h("option", { value: "" }, "Choose a person"), known.accounts.map((name) => h("option", { value: name }, name)), h("option", { value: "guests" }, "guests, without an account"));
  async function ask() {
    const person = who.value;
    if (!person) return replace(answer);
    try {
      const [rights, entrants] = await Promise.all([
        get(`/v1/rights/of?${new URLSearchParams({ person, share, path })}`, context.signal),
        path === "" ? get(`/v1/access?${new URLSearchParams({ share })}`, context.signal) : []]);
      if (who.value !== person) return undefined;
      return replace(answer, explained(rights), doors(entrants.find((one) => (person === "guests" ? one.kind === "guests" : one.account === person))));
    } catch (error) {
      return replace(answer, h("p", { class: "error", role: "alert" }, error.message));
    }
  }
  const element = h("section", { class: "card", id: "question" }, h("h2", {}, "May somebody open this?"),
    h("label", { for: "rights-person" }, "Person"), h("div", { class: "row" }, h("span", { class: "grow" }, who)), answer);
  return { element, ask };
}

function explained({ person, summary, operations, why }) {
  return [h("p", { class: "verdict" }, h("b", {}, person), `: ${summary}`),
    h("ul", { class: "plain operations" }, operations.map((one) => h("li", { class: one.may ? "may" : "muted", "data-operation": one.operation }, h("span", { "aria-hidden": "true" }, one.may ? "✓" : "✗"), ` ${one.may ? "may" : "may not"} ${one.what}`))),
    h("ul", { class: "plain small muted" }, why.map((line) => h("li", {}, line)))];
}

// Over which protocols the person enters, and by which rules.
function doors(row) {
  if (!row) return null;
  const enters = row.protocols.filter((entry) => entry.may);
  const reasons = [...new Set((enters.length ? enters : row.protocols).map((entry) => entry.why))];
  return h("p", { class: "small muted" }, enters.length ? `Enters over ${enters.map((entry) => title(entry.protocol)).join(", ")}: ` : "Does not enter: ", reasons.join("; "), ".");
}

export default {
  title: "Who may do what",
  async show(main, context) {
    const query = new URLSearchParams(location.hash.split("?")[1] ?? "");
    const [shares, known] = await Promise.all([get("/v1/shares", context.signal), people(context.signal)]);
    const [share, path] = [query.get("share") ?? shares[0]?.name, query.get("path") ?? ""];
    if (!share) {
      main.append(heading("Who may do what"), h("p", { class: "muted card" }, "No folder is shared yet. ", h("a", { href: "#/shares?new" }, "Share a folder"), ", then say who may do what in it."));
      return;
    }
    const names = [...new Set([share, ...shares.map((one) => one.name)])];
    const choose = h("select", { "aria-label": "Share", onchange: () => { location.hash = rightsLink(choose.value, ""); } }, names.map((name) => h("option", { value: name }, name)));
    choose.value = share;
    const [place, beside] = [h("div", {}), question(context, share, path, known)];
    const ofShare = async () => {
      const { settings } = await get("/v1/settings", context.signal);
      const own = settings.filter((setting) => setting.share === share);
      replace(place, listsOf(own).known ? editor(context, share, own, known, load) : h("p", { class: "muted" }, "There is no such share."));
    };
    let shown = null; // stays while a job of it is watched
    const ofFolder = async () => {
      const status = await get(`/v1/rights?${new URLSearchParams({ share, path })}`, context.signal);
      if (!status.is_team_folder) return replace(place, h("p", { class: "card muted" }, "The share has no roles: give somebody one, and folders can have others."));
      if (shown === null) {
        shown = folderEditor(context, share, path, known, load);
        replace(place, shown.element);
      }
      return shown.draw(status);
    };
    const load = async () => {
      await (path === "" ? ofShare() : ofFolder());
      await beside.ask();
    };
    main.append(heading("Who may do what", choose), way(context, share, path), h("div", { class: "beside" }, place, beside.element));
    await load();
  },
};
