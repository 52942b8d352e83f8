// Who may enter a share, over which protocol, and what its folder lets them do.

import { get } from "./api.js";
import { badge, h } from "./dom.js";
import { table } from "./table.js";

const NAMES = { guests: "Guests", nfs: "Users of NFS clients" };

function ability(row) {
  if (!row.protocols.some((entry) => entry.may)) return h("span", { class: "muted" }, "not enter");
  if (row.write) return row.read ? "read and write" : "write, not read";
  return row.read ? "read" : h("span", { class: "error" }, "enter, and read nothing: the folder's mode forbids it");
}

function entries(row) {
  const open = row.protocols.filter((entry) => entry.may);
  return open.length ? open.map((entry) => [badge(entry.protocol), " "]) : h("span", { class: "muted" }, "none");
}

// The rules in words, each once.
function why(row) {
  const shown = row.protocols.some((entry) => entry.may) ? row.protocols.filter((entry) => entry.may) : row.protocols;
  return [...new Set(shown.map((entry) => entry.why))].join("; ");
}

const COLUMNS = [
  { title: "Who", cell: (row) => h("b", {}, row.account || NAMES[row.kind]) },
  { title: "May", cell: ability },
  { title: "Over", cell: entries },
  { title: "Because", cell: (row) => h("span", { class: "muted" }, why(row)) },
];

// A table for the share, asked for when it is wanted.
export async function access(share, signal) {
  const all = await get(`/v1/access?${new URLSearchParams({ share })}`, signal);
  const enters = (row) => row.protocols.some((entry) => entry.may);
  const rows = [...all.filter(enters), ...all.filter((row) => !enters(row))];
  return h("div", { class: "access" }, table(`Who may enter ${share}`, COLUMNS, rows, "There is no account, and guests are not admitted."),
    h("p", { class: "muted small" }, "Rights inside the share are those of each file: the page Files shows them."));
}
