// The files of the shares, and what every protocol sees of one.

import { get, post } from "./api.js";
import { badge, bytes, copyButton, count, h, heading, replace, when } from "./dom.js";
import { downloadLink, manager, preview } from "./manager.js";
import { paged, table } from "./table.js";

const KINDS = { file: "File", folder: "Folder", link: "Link", other: "Other" };
const ACCESS = { r: "read", w: "write", rw: "read, write" };
const LABELS = ["none", "grey", "green", "purple", "blue", "yellow", "red", "orange"];
const SYSTEMS = { nfs: "Linux, over NFS", smb: "Windows, and Macs over SMB", afp: "Macs, over AFP", "afp-short": "Macs before Mac OS X" };

// The name of the snapshot that is browsed; null: the share as it is now.
const browsed = () => new URLSearchParams(location.hash.split("?")[1] ?? "").get("snapshot");

// `about`: the name of an entry, or "" for the folder itself; null: no details.
function link(share, path, about = null, snapshot = browsed()) {
  const query = new URLSearchParams({ share, path });
  if (snapshot !== null) query.set("snapshot", snapshot);
  if (about !== null) query.set("about", about);
  return `#/files?${query}`;
}

const inside = (path, name) => (path ? `${path}/${name}` : name);

// The way from the share's folder to this one.
function crumbs(share, path) {
  const names = path.split("/").filter(Boolean);
  const steps = names.map((name, index) => [name, names.slice(0, index + 1).join("/")]);
  return h("div", { class: "row crumbs", role: "navigation", "aria-label": "Folder" }, [[share, ""], ...steps].map(([name, to], index, all) => [
    index ? h("span", { class: "muted", "aria-hidden": "true" }, "›") : null,
    h("a", { href: link(share, to), class: "clip", "aria-current": index === all.length - 1 ? "location" : null }, name),
  ]));
}

const facts = (pairs) => h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== "").map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

const list = (words) => words.join(", ");

function general(file) {
  return facts([
    ["Kind", KINDS[file.kind]],
    ["Data", bytes(file.size)],
    ["Resource fork", file.fork ? bytes(file.fork) : null],
    ["On the disk", bytes(file.allocated)],
    ["Created", when(file.dates.created)],
    ["Changed", when(file.dates.modified)],
    ["Backed up by a Mac", file.dates.backed_up === null ? null : when(file.dates.backed_up)],
    ["Owner, group, mode", `${file.owner}, ${file.group}, ${file.mode}`],
    ["Inode, links", `${file.inode}, ${count(file.links)}`],
    ["Windows attributes", list(file.dos) || "none"],
    ["AFP attributes", list(file.mac) || "none"],
  ]);
}

function finder({ finder: info }) {
  const code = [info.file_type, info.creator].some(Boolean) ? `${info.file_type || "–"} / ${info.creator || "–"}` : null;
  const known = [code, info.flags.length, info.label, info.tags.length, info.comment].some(Boolean);
  if (!known) return h("p", { class: "muted" }, "The Finder has kept nothing.");
  return facts([
    ["Type and creator", code],
    ["Flags", list(info.flags)],
    ["Label", info.label ? LABELS[info.label] : null],
    ["Tags", list(info.tags.map((tag) => tag.split("\n")[0]))],
    ["Comment", info.comment],
  ]);
}

const NAMES = [
  { title: "Seen by", cell: (row) => SYSTEMS[row.protocol] },
  { title: "Name", cell: (row) => (row.name === null ? h("span", { class: "muted" }, "shortened, with a number") : h("code", {}, row.name)) },
  { title: "", cell: (row) => (row.differs ? h("span", { class: "badge" }, "differs") : null) },
];
const STREAMS = [
  { title: "Name", cell: (row) => h("code", {}, row.name) },
  { title: "Size", numeric: true, cell: (row) => bytes(row.size) },
];
const ENTRIES = [
  { title: "", cell: (row) => (row.allows ? "allow" : "deny") },
  { title: "Who", cell: (row) => row.who },
  { title: "Rights", cell: (row) => list(row.rights) || "nothing" },
  { title: "", cell: (row) => (row.inherited ? h("span", { class: "muted" }, "inherited") : null) },
];
const OPENS = [
  { title: "Opened by", cell: (row) => row.owner },
  { title: "To", cell: (row) => ACCESS[row.access] ?? row.access },
  { title: "Others are denied", cell: (row) => row.deny || "–" },
];
const LOCKS = [
  { title: "Locked by", cell: (row) => row.owner },
  { title: "From", numeric: true, cell: (row) => count(row.start) },
  { title: "Bytes", numeric: true, cell: (row) => (row.length === 0 ? "to the end" : count(row.length)) },
  { title: "Kind", cell: (row) => (row.exclusive ? "exclusive" : "shared") },
];
const LEASES = [
  { title: "Cached by", cell: (row) => row.owner },
  { title: "What", cell: (row) => list([...row.caching].map((letter) => ({ r: "contents", w: "changes", h: "the open" })[letter])) },
  { title: "", cell: (row) => (row.recalled ? "being recalled" : null) },
];

function snapshots(context, file, again, places) {
  const restore = async (row, to) => {
    const beside = to !== file.path;
    const now = row.same ? "The file is as it was then." : `What it is now (${bytes(file.size)}, changed ${when(file.dates.modified)}) is overwritten.`;
    const text = beside ? `It is restored as ${to}. Nothing is overwritten.` : file.kind === "folder" ? "Files in it that have changed since are overwritten. Files that the snapshot does not have stay." : now;
    if (!await context.confirm(`Restore ${file.path || file.share} from ${row.name}?`, text, "Restore")) return;
    await context.doing(async () => {
      const report = await post("/v1/snapshots/restore", { share: file.share, snapshot: row.name, path: file.path, to, dry_run: false });
      const refused = report.entries.filter((entry) => entry.why).map((entry) => `${entry.path}: ${entry.why}`);
      return { lines: [`${report.restored} restored, ${report.unchanged} unchanged, ${report.refused} refused`, ...refused.slice(0, 5)] };
    });
    await again();
  };
  const button = (row, text, to) => h("button", { type: "button", class: "small", "aria-label": `${text} from ${row.name}`, onclick: () => restore(row, to) }, text);
  return [
    { title: "Snapshot", cell: (row) => row.name },
    { title: "Taken", cell: (row) => when(row.taken) },
    { title: "Data", numeric: true, cell: (row) => bytes(row.size) },
    { title: "Changed", cell: (row) => (row.same ? h("span", { class: "muted" }, "as now") : when(row.modified)) },
    { title: "", cell: (row) => h("div", { class: "row end" },
      file.kind === "file" && places[row.name] ? downloadLink(file.share, inside(places[row.name], file.path), "Download", `Download it as in ${row.name}`) : null,
      button(row, "Restore", file.path), file.path ? button(row, "Restore beside", `${file.path} (${row.name})`) : null) },
  ];
}

function details(context, file, again, { close, places }) {
  const part = (title, columns, rows) => (rows.length ? [h("h3", {}, title), table(title, columns, rows, "")] : null);
  const held = file.opens.length + file.locks.length + file.leases.length;
  const name = file.path.split("/").pop() || file.share;
  return h("section", { class: "card", "aria-label": `About ${name}`, id: "about" },
    h("div", { class: "row" }, h("h2", { class: "grow clip", tabindex: "-1" }, name), file.kind === "file" ? downloadLink(file.share, file.path) : null, h("a", { class: "button small", href: close }, "Close")),
    preview(file),
    h("div", { class: "row" }, h("code", { class: "line grow", tabindex: "0" }, file.host_path), copyButton(file.host_path, "the path")),
    general(file),
    part("Names", NAMES, file.names),
    h("h3", {}, "In the Finder"), finder(file),
    part("Named streams", STREAMS, file.streams),
    part("Extended attributes", STREAMS, file.attributes),
    h("h3", {}, "Who may do what"),
    h("p", { class: "muted small" }, file.acl.stored ? "A client has set these rights. They count over every protocol." : "These rights express the mode."),
    table("Who may do what", ENTRIES, file.acl.entries, "The list is empty: only the owner may change that."),
    h("h3", {}, "Who uses it"),
    held ? null : h("p", { class: "muted" }, "It is not open, locked or cached."),
    part("Open", OPENS, file.opens), part("Locks", LOCKS, file.locks), part("Leases", LEASES, file.leases),
    h("h3", {}, "Versions in snapshots"),
    table("Versions in snapshots", snapshots(context, file, again, places), file.snapshots, "No snapshot has it. A schedule on the page Snapshots keeps versions of all files."));
}

const COLUMNS = (share, path, work) => [
  {
    title: "Name",
    cell: (row) => h("a", { href: row.kind === "folder" ? link(share, inside(path, row.name)) : link(share, path, row.name) }, row.name),
  },
  { title: "Kind", cell: (row) => KINDS[row.kind] },
  { title: "Size", numeric: true, cell: (row) => (row.kind === "file" ? bytes(row.size) : "–") },
  { title: "Changed", kind: "whole", cell: (row) => when(row.modified) },
  { title: "", cell: (row) => h("div", { class: "row end" },
    row.kind === "file" ? downloadLink(share, inside(path, row.name)) : null,
    work ? work.actions(row) : null,
    h("a", { class: "button small", href: link(share, path, row.name), "aria-label": `About ${row.name}` }, "About")) },
];

// The path in the share of what is at this path in a snapshot.
const outside = (path) => path.split("/").slice(2).join("/");

// Above a folder or file of a snapshot: what it is, and how it comes back.
function inSnapshot(context, share, path, about) {
  const snapshot = browsed();
  if (snapshot === null) return null;
  const of = outside(about ? inside(path, about) : path);
  const restore = async () => {
    if (!await context.confirm(`Restore ${of || share} from ${snapshot}?`, "What it is now is replaced. Files in a folder that the snapshot does not have stay. The page Long jobs shows how far it is.", "Restore")) return;
    const request = { kind: "restore", share, snapshot, path: of, to: null };
    if (await context.doing(async () => { await post("/v1/jobs", request); return { lines: ["The restore has begun"] }; })) location.hash = "#/jobs";
  };
  return h("div", { class: "card row past" }, h("span", { class: "grow" }, "As it was in the snapshot ", h("b", {}, snapshot), ". Nothing here can change."),
    h("button", { type: "button", onclick: restore }, about ? `Restore ${about}…` : "Restore this folder…"),
    h("a", { class: "button", href: link(share, outside(path), null, null) }, "The share as it is now"));
}

export default {
  title: "Files",
  async show(main, context) {
    const query = new URLSearchParams(location.hash.split("?")[1] ?? "");
    const shares = await get("/v1/shares", context.signal);
    const share = query.get("share") ?? shares[0]?.name;
    const path = query.get("path") ?? "";
    if (!share) {
      main.append(heading("Files"), h("p", { class: "muted card" }, "No folder is shared yet. ", h("a", { href: "#/shares?new" }, "Share a folder"), "."));
      return;
    }
    const names = shares.some((one) => one.name === share) ? shares.map((one) => one.name) : [share, ...shares.map((one) => one.name)];
    const choose = h("select", { "aria-label": "Share", onchange: () => { location.hash = link(choose.value, "", null, null); } }, names.map((name) => h("option", { value: name }, name)));
    choose.value = share;
    const about = h("div", { "aria-live": "polite" });
    let load = async () => {};
    const of = query.get("about");
    const isReadOnly = shares.find((one) => one.name === share)?.read_only ?? true;
    // Snapshots do not change, and read-only shares do not.
    const work = browsed() === null && !isReadOnly ? manager(context, share, path, () => shown.load()) : null;
    const shown = paged(context, { path: `/v1/files?${new URLSearchParams({ share, path })}`, caption: "Entries", columns: COLUMNS(share, path, work), empty: work ? "The folder is empty. Drop files here, or choose Upload." : "The folder is empty." });
    const card = h("section", { class: "card files" }, h("div", { class: "row" }, h("div", { class: "grow" }, crumbs(share, path)), work?.buttons, h("a", { class: "button small", href: link(share, path, "") }, "About this folder")), work?.place, shown.element);
    work?.takesFiles(card);
    main.append(heading("Files", choose), h("div", {}, inSnapshot(context, share, path, of)), about, card);
    if (of !== null) {
      // Where each snapshot lies in the share, to download what it has.
      const { snapshots: all } = await get(`/v1/snapshots?${new URLSearchParams({ share })}`, context.signal).catch(() => ({ snapshots: [] }));
      const places = Object.fromEntries(all.filter((one) => one.inside !== null).map((one) => [one.name, one.inside]));
      load = async () => {
        const wanted = new URLSearchParams({ share, path: of ? inside(path, of) : path });
        replace(about, details(context, await get(`/v1/file?${wanted}`, context.signal), load, { close: link(share, path), places }));
      };
      await load();
      context.on("holdings", load);
      context.on("snapshots", load);
    }
    await shown.load();
  },
};
