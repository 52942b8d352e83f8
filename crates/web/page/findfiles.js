// Files of all shares by name, kind, date, person and tag: what the account of the session may list.

import { get, post } from "./api.js";
import { bytes, count, h, heading, replace, ticked, when } from "./dom.js";
import { thumbnail } from "./manager.js";
import { table } from "./table.js";

const MOST = 200;
const WAIT_MS = 250;
const KINDS = ["", "folder", "document", "pdf", "spreadsheet", "presentation", "text", "image", "video", "audio", "email", "archive", "code", "application", "diskimage"];
const DATES = [["", "any time"], ["today", "today"], ["7d", "the last 7 days"], ["this-month", "this month"], ["this-year", "this year"], ["last-year", "last year"]];

// The address of a file in the manager: its folder, with the file's details.
export function fileLink({ share, path }) {
  const at = path.lastIndexOf("/");
  const query = new URLSearchParams({ share, path: at < 0 ? "" : path.slice(0, at), about: path.slice(at + 1) });
  return `#/files?${query}`;
}

export const nameOf = ({ path }) => path.slice(path.lastIndexOf("/") + 1);

// Words and filters as one query of the server's language.
export function queryOf(words, { kind, modified, owner }) {
  const value = (text) => `"${text.replaceAll('"', "")}"`;
  return [words.trim() && `(${words.trim()})`, kind && `kind:${kind}`, modified && `modified:${modified}`, owner && `owner:${value(owner)}`].filter(Boolean).join(" ");
}

const COLUMNS = [
  { title: "Name", cell: (row) => [thumbnail(row), h("a", { href: fileLink(row) }, nameOf(row))] },
  { title: "Share", kind: "whole", cell: (row) => row.share },
  { title: "Folder", kind: "cut", cell: (row) => (row.path.includes("/") ? row.path.slice(0, row.path.lastIndexOf("/")) : "/") },
  { title: "Kind", kind: "whole", cell: (row) => row.kind },
  { title: "Size", numeric: true, cell: (row) => (row.size === undefined ? "" : bytes(row.size)) },
  { title: "Changed", kind: "whole", cell: (row) => when(row.modified) },
];

// What is not at its place any more: the newest snapshot that has it, and the way back.
function pastColumns(context, again) {
  const restore = async ({ share, path, snapshot }) => {
    if (!await context.confirm(`Restore ${path} from ${snapshot.name}?`, "It is put back to its place.", "Restore")) return;
    await context.doing(async () => {
      const report = await post("/v1/snapshots/restore", { share, snapshot: snapshot.name, path, to: path, dry_run: false });
      const refused = report.entries.filter((entry) => entry.why).map((entry) => `${entry.path}: ${entry.why}`);
      return { lines: [`${report.restored} restored, ${report.unchanged} unchanged, ${report.refused} refused`, ...refused.slice(0, 5)] };
    });
    await again();
  };
  const name = { title: "Name", cell: nameOf };
  return [name, ...COLUMNS.slice(1),
    { title: "Last in", kind: "whole", cell: (row) => row.snapshot.name },
    { title: "Taken", kind: "whole", cell: (row) => when(row.snapshot.taken) },
    { title: "", kind: "buttons", cell: (row) => h("button", { type: "button", class: "small", "aria-label": `Restore ${row.path}`, onclick: () => restore(row) }, "Restore") },
  ];
}

// What people should know of an answer: that there is more, or that something may be missing.
function notes(answer) {
  const list = (shares) => shares.join(", ");
  return [
    answer.more ? h("p", { class: "muted" }, `There are more than ${count(answer.files.length)}: give more words.`) : null,
    answer.incomplete.length ? h("p", { class: "muted" }, `The index of ${list(answer.incomplete)} is not complete yet, so something may be missing.`) : null,
    answer.without_index.length ? h("p", { class: "muted" }, `Without an index, and not searched: ${list(answer.without_index)}. `, h("a", { href: "#/settings?search=search" }, "The setting \"search\""), " makes one.") : null,
  ];
}

export default {
  title: "Find files",
  async show(main, context) {
    const [shares, accounts] = await Promise.all([get("/v1/shares", context.signal), get("/v1/accounts", context.signal)]);
    const given = new URLSearchParams(location.hash.split("?")[1] ?? "");
    const words = h("input", { type: "search", id: "find-words", "aria-label": "Words", placeholder: "invoice 2024, *.psd, tag:Red", value: given.get("query") ?? "" });
    const choice = (id, label, options) => h("select", { id, "aria-label": label }, options.map(([value, text]) => h("option", { value }, text)));
    const share = choice("find-share", "Share", [["", "all shares"], ...shares.map((one) => [one.name, one.name])]);
    const kind = choice("find-kind", "Kind", KINDS.map((one) => [one, one || "any kind"]));
    const modified = choice("find-modified", "Changed", DATES);
    const owner = choice("find-owner", "Owner", [["", "anybody's"], ...accounts.map((one) => [one.name, one.name])]);
    const past = h("input", { type: "checkbox", id: "find-past", checked: given.has("past") });
    const outcome = h("div", { id: "find-outcome", "aria-live": "polite" });
    let asked = 0;
    let wait;

    async function load() {
      asked += 1;
      const mine = asked;
      const query = queryOf(words.value, { kind: kind.value, modified: modified.value, owner: owner.value });
      if (query === "") return replace(outcome, h("p", { class: "muted" }, "Type what you look for."));
      try {
        const answer = await get(`/v1/find?${new URLSearchParams({ query, share: share.value, snapshots: past.checked, limit: MOST })}`, context.signal);
        const columns = past.checked ? pastColumns(context, load) : COLUMNS;
        const nothing = past.checked ? "No snapshot has such a file that is not there now." : "Nothing is found.";
        if (mine === asked) replace(outcome, table("Files", columns, answer.files, nothing), notes(answer));
      } catch (error) {
        if (mine === asked && error.name !== "AbortError") replace(outcome, h("p", { class: "error", style: { whiteSpace: "pre-wrap" } }, error.message));
      }
      return undefined;
    }
    words.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(load, WAIT_MS); });
    [share, kind, modified, owner, past].forEach((field) => field.addEventListener("change", load));
    replace(main,
      heading("Find files"),
      h("p", { class: "muted" }, "Files and folders that your account may list, by the indexes of the shares."),
      h("section", { class: "card" }, h("div", { class: "row toolbar" }, words, share, kind, modified, owner, ticked(past, "gone: in snapshots")), outcome));
    words.focus();
    await load();
  },
};
