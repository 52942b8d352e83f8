// What other servers have left in a share, and its conversion to one layout, which can be taken back.

import { get } from "./api.js";
import { bytes, count, h, heading, replace, ticked, when } from "./dom.js";
import { begin, watched } from "./jobs.js";
import { table } from "./table.js";

const LAYOUTS = { netatalk: "Netatalk: resource forks in ._ files", samba: "Samba: streams in attributes", "samba-streams": "Samba: all metadata in streams" };
const FINDINGS = { damaged: "Damaged", conflicts: "There twice, and different", orphans: "Without their file", unreadable: "Not readable" };
const LEFT = { open: "Open: these stay as they are", conflicts: "Copies differ: these stay as they are", failed: "Not changed" };

const LAYOUT_COLUMNS = [
  { title: "Layout", cell: (row) => row.text },
  { title: "Files and folders", numeric: true, cell: (row) => count(row.count) },
  { title: "Clients", cell: (row) => (row.unserved ? h("span", { class: "error" }, row.unserved) : "see it") },
];
const NAMED_COLUMNS = [
  { title: "Where", cell: (row) => h("code", {}, row.path || "/") },
  { title: "What", cell: (row) => row.what },
];

// Files with what is to be said of them, and how many more there are.
function named(title, all, rows) {
  if (all === 0) return null;
  return h("details", { open: rows.length <= 10 }, h("summary", {}, `${title}: ${count(all)}`), table(title, NAMED_COLUMNS, rows, ""),
    all > rows.length ? h("p", { class: "muted" }, `The first ${count(rows.length)} are shown.`) : null);
}

function survey(result) {
  const inside = (path) => (path.startsWith(`${result.folder}/`) ? path.slice(result.folder.length + 1) : path === result.folder ? "" : path);
  const rows = (list) => list.map((one) => ({ path: inside(one.path), what: one.what }));
  return h("section", { class: "card", "data-survey": result.files },
    h("h2", {}, `${count(result.files)} files in ${count(result.folders)} folders`),
    table("Layouts", LAYOUT_COLUMNS, result.in_words, "No other server has left anything in it."),
    result.in_words.length ? h("p", { class: "muted" }, `New metadata fits most of the files with mac-layout = ${result.mac_layout}. Nothing must be converted: each file is served in the layout that it has.`) : null,
    Object.entries(FINDINGS).map(([kind, title]) => named(title, result[kind].count, rows(result[kind].named))),
    result.unknown_count ? h("p", {}, `${count(result.unknown_count)} users and groups of Samba that its ACLs name are unknown here: ${result.unknown.join(", ")}. They get nothing.`) : null);
}

function conversion(result, takeBack) {
  const would = result.journal === null && result.converted > 0 ? "would get" : "have";
  return h("section", { class: "card", "data-converted": result.converted },
    h("h2", {}, `${count(result.converted)} of ${count(result.looked)} files and folders ${would} the layout ${result.to}`),
    Object.entries(LEFT).map(([kind, title]) => named(title, result.counts[kind], result[kind])),
    result.journal ? h("div", { class: "row end" }, h("button", { type: "button", onclick: () => takeBack(result.journal) }, "Take back…")) : null);
}

export default {
  title: "Move in",
  async show(main, context) {
    const shares = await get("/v1/shares", context.signal);
    const share = h("select", { id: "adopt-share" }, shares.map((one) => h("option", { value: one.name }, one.name)));
    const layout = h("select", { id: "adopt-layout" }, Object.entries(LAYOUTS).map(([value, text]) => h("option", { value }, text)));
    const shown = h("input", { type: "checkbox", id: "adopt-shown" });
    const now = h("div", {});
    const outcome = h("div", { "aria-live": "polite" });
    const kept = h("section", { class: "card" });

    async function told({ result, job }) {
      await load();
      if (!result) return;
      if (job.kind === "adopt") replace(outcome, survey(result));
      if (job.kind === "convert") replace(outcome, conversion(result, takeBack));
      if (job.kind === "convert-undo") replace(outcome, h("p", { class: "card", "data-back": result.back }, `${count(result.back)} files have their former layout.${result.left ? ` ${count(result.left)} were changed since, and stay as they are.` : ""}`));
    }
    async function run(request) {
      const job = await begin(context, request);
      if (!job) return;
      replace(outcome);
      replace(now, watched(context, job.id, told));
    }
    const convert = (dry_run) => run({ kind: "convert", share: share.value, to: layout.value, shown_counts: shown.checked, dry_run });
    async function really() {
      const text = `All metadata of ${share.value} gets the layout ${layout.value}. Clients go on working, and files that they have open stay as they are. A journal in the state folder takes it back, byte for byte, and needs as much space as what moves.`;
      if (await context.confirm(`Convert ${share.value}?`, text, "Convert")) await convert(false);
    }
    async function takeBack(journal) {
      if (await context.confirm("Take the conversion back?", "Each file that was not changed since gets what it had, byte for byte.", "Take back")) await run({ kind: "convert-undo", journal });
    }
    const columns = [
      { title: "Conversion", cell: (row) => row.journal },
      { title: "Share", cell: (row) => row.share ?? h("span", { class: "muted" }, `none has ${row.folder}`) },
      { title: "Layout", cell: (row) => row.to },
      { title: "", cell: (row) => (row.ended ? h("span", { class: "badge good" }, "whole") : h("span", { class: "badge low" }, "ended early")) },
      { title: "Written last", kind: "whole", cell: (row) => when(row.at) },
      { title: "Journal", numeric: true, cell: (row) => bytes(row.size) },
      { title: "", cell: (row) => (row.share === null ? null : h("div", { class: "row end" },
        row.ended ? null : h("button", { type: "button", class: "small", "aria-label": `Go on with ${row.journal}`, onclick: () => run({ kind: "convert", share: row.share, to: row.to }) }, "Go on"),
        h("button", { type: "button", class: "small", "aria-label": `Take back ${row.journal}`, onclick: () => takeBack(row.journal) }, "Take back…"))) },
    ];
    async function load() {
      const all = await get("/v1/conversions", context.signal);
      replace(kept, h("h2", {}, "Conversions that can be taken back"), table("Conversions", columns, all, "No conversion is kept."));
    }
    const button = (text, kind, onclick) => h("button", { type: "button", class: kind, onclick }, text);
    main.append(heading("Move in"),
      shares.length ? h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); run({ kind: "adopt", share: share.value }); } },
        h("p", { class: "muted" }, "Looks at what Netatalk, Samba, Synology and others have left in a share: where they keep resource forks, Finder info, streams and rights, and what of it is damaged. The look changes nothing. Settings of another server are read on the server by fourfold adopt."),
        h("div", { class: "row" }, h("label", { for: "adopt-share" }, "Share"), share, h("span", { class: "grow" }), h("button", { type: "submit", class: "primary" }, "Look"))) : h("p", { class: "muted card" }, "Share the folder that the other server has served, then look at it here: the files stay where they are. ", h("a", { href: "#/shares?new" }, "Share a folder"), ". The settings of Samba or Netatalk are read on the server by ", h("code", {}, "fourfold adopt"), "."),
      shares.length ? h("form", { class: "card", id: "convert", onsubmit: (event) => { event.preventDefault(); convert(true); } },
        h("h2", {}, "One layout for all"),
        h("p", { class: "muted" }, "If another server is to serve the share again, it wants one layout."),
        h("div", { class: "row" }, h("label", { for: "adopt-layout" }, "Layout"), layout, ticked(shown, "of copies that differ, keep the one that clients see")),
        h("div", { class: "row end" }, h("button", { type: "submit" }, "Preview"), button("Convert…", "danger", really))) : null,
      now, outcome, kept);
    await load();
    const latest = (await get("/v1/jobs", context.signal)).find((job) => job.kind === "adopt" || job.kind.startsWith("convert"));
    if (latest) replace(now, watched(context, latest.id, told));
  },
};
