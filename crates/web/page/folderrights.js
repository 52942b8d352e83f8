// Who may do what with one folder or file of a share: what was set there, in place of the share's roles.

import { get, post } from "./api.js";
import { count, h, replace } from "./dom.js";
import { watched } from "./jobs.js";
import { everybody, picker } from "./people.js";
import { words } from "./roles.js";
import { table } from "./table.js";

// The roles that a folder can give, and what they do there and below.
const ROLES = {
  none: "nothing: does not see what is in it",
  reader: "reads it",
  editor: "changes everything in it",
  owner: "changes everything in it, and says who may do what",
};

export const rightsLink = (share, path) => `#/rights?${new URLSearchParams({ share, path })}`;

const FOLDERS = 1000;

// The way from the share to the folder, and the folders in it.
export function way(context, share, path) {
  const names = path.split("/").filter(Boolean);
  const steps = [[share, ""], ...names.map((name, index) => [name, names.slice(0, index + 1).join("/")])];
  const list = h("ul", { class: "plain folders" });
  const more = h("details", { ontoggle: async () => {
    if (!more.open) return;
    try {
      const { rows, total } = await get(`/v1/files?${new URLSearchParams({ share, path, limit: FOLDERS })}`, context.signal);
      const folders = rows.filter((row) => row.kind === "folder");
      replace(list, folders.length ? folders.map((row) => h("li", {}, h("a", { href: rightsLink(share, path ? `${path}/${row.name}` : row.name) }, row.name))) : h("li", { class: "muted" }, "It has no folders."),
        total > rows.length ? h("li", { class: "muted" }, `The first ${count(rows.length)} of ${count(total)} entries are looked at.`) : null);
    } catch (error) {
      context.failed(error);
    }
  } }, h("summary", {}, "Folders in it"), list);
  return h("section", { class: "card" },
    h("div", { class: "row crumbs", role: "navigation", "aria-label": "Folder" }, steps.map(([name, to], index) => [
      index ? h("span", { class: "muted", "aria-hidden": "true" }, "›") : null,
      h("a", { href: rightsLink(share, to), class: "clip", "aria-current": index === steps.length - 1 ? "location" : null }, name)])),
    more);
}

function said(entry) {
  if (entry.role !== null) return ROLES[entry.role] ?? entry.role;
  return [entry.gives.length ? `may ${entry.gives.join(", ")}` : null, entry.takes.length ? `may not ${entry.takes.join(", ")}` : null].filter(Boolean).join("; ") || "nothing";
}

// What is set on a folder or file. Each change is a job of the server, as it counts for all below. `draw(status)` shows what there is.
export function folderEditor(context, share, path, known, again) {
  const [now, list, counts] = [h("div", {}), h("div", {}), h("p", { class: "muted small" })];
  const run = async (request, body) => {
    try {
      const job = await post(request, body);
      replace(now, watched(context, job.id, ended));
    } catch (error) {
      context.failed(error);
    }
  };
  async function ended({ result, job }) {
    if (result?.found !== undefined) now.append(h("p", { class: "muted" }, `${count(result.looked)} looked at, ${count(result.found)} differ, ${count(result.changed)} changed.`));
    if (result?.findings?.length) now.append(table("Findings", FINDINGS, result.findings, ""));
    for (const note of result?.notes ?? []) now.append(h("p", { class: "muted small" }, note));
    if (result?.record && job.state !== "running") now.append(h("div", { class: "row end" }, h("button", { type: "button", onclick: () => run("/v1/rights/undo", { share, record: result.record }) }, "Take that back")));
    await again();
  }
  const columns = [
    { title: "Who", cell: (row) => h("b", {}, words(row.who)) },
    { title: "Here", cell: said },
    { title: "Set", cell: (row) => h("span", { class: "muted" }, row.inherited ? "on a folder above" : "on this one") },
    { title: "", cell: (row) => (row.inherited || row.role === null ? null : h("div", { class: "row end" }, h("button", { type: "button", class: "small", "aria-label": `Remove what is set for ${words(row.who)}`, onclick: () => run("/v1/rights", { share, path, who: row.who, role: null }) }, "Remove"))) },
  ];
  const who = picker({ id: "folder-who", label: "Who", offered: everybody(known), placeholder: "Name, @group, everyone" });
  const role = h("select", { id: "folder-role" }, Object.entries(ROLES).map(([key, text]) => h("option", { value: key }, `${key}: ${text}`)));
  role.value = "reader";
  const form = h("form", { class: "card", id: "folder-rights", onsubmit: async (event) => {
    event.preventDefault();
    const names = who.value();
    if (names.length !== 1) { who.require("Choose one."); return; }
    who.take();
    await run("/v1/rights", { share, path, who: names[0], role: role.value });
  } },
  h("h2", {}, "Other rights than in the share"), counts, list,
  h("fieldset", {}, h("legend", {}, "Set for somebody"),
    h("label", { for: "folder-who" }, "Who"), who.element,
    h("label", { for: "folder-role" }, "May"), h("div", { class: "row" }, h("span", { class: "grow" }, role), h("button", { type: "submit", class: "primary" }, "Set it"))),
  h("div", { class: "row end" },
    h("button", { type: "button", onclick: () => run("/v1/rights/check", { share, path }) }, "Look for what differs"),
    h("button", { type: "button", onclick: () => reset() }, "Reset…")));
  const reset = async () => {
    const text = "What was set on it, and on files and folders below, goes: the roles of the share count everywhere. The page offers to take that back.";
    if (await context.confirm("Make all here as in the share?", text, "Reset")) await run("/v1/rights/reset", { share, path, recursive: true, all: true });
  };
  return {
    element: h("div", { class: "stack" }, form, now),
    draw: (status) => {
      counts.textContent = status.is_cut_off ? "The roles of the share do not count here: its list is protected." : "What is set for somebody counts here and below, in place of the role in the share.";
      replace(list, table("What is set", columns, status.entries, "Nothing is set: all is as in the share."));
    },
  };
}

const FINDINGS = [
  { title: "Where", cell: (row) => h("code", {}, row.path || "/") },
  { title: "What differs", cell: (row) => row.what },
  { title: "Remedy", cell: (row) => row.remedy },
];
