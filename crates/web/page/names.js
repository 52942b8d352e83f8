// Names that hurt some client: found, fixed, and taken back.

import { get } from "./api.js";
import { count, h, heading, replace, ticked, when } from "./dom.js";
import { begin, watched } from "./jobs.js";
import { table } from "./table.js";

const COLUMNS = [
  { title: "Folder", cell: (row) => h("code", {}, row.folder || "/") },
  { title: "Name", cell: (row) => h("code", {}, row.name) },
  { title: "Trouble", cell: (row) => row.why.join("; ") },
  { title: "Fix", cell: (row) => (row.error ? h("span", { class: "error" }, row.error) : row.fixed ? h("code", {}, row.fixed) : h("span", { class: "muted" }, "by hand")) },
];

function words(result) {
  if (result.found === 0) return `All ${count(result.looked)} names are good for all clients.`;
  const fix = result.renamed > 0 ? `${count(result.renamed)} have new names.` : `${count(result.fixable)} can be fixed.`;
  return `${count(result.found)}${result.more ? " or more" : ""} of ${count(result.looked)} names hurt some client. ${fix}`;
}

// What became of Mac metadata: kept over a safe save, lost, not readable.
const EVENTS = [
  { title: "When", kind: "whole", cell: (line) => when(line.at) },
  { title: "", cell: (line) => h("span", { class: `badge ${{ error: "bad", warn: "low", info: "good" }[line.level]}` }, { error: "lost", warn: "look at it", info: "kept" }[line.level]) },
  { title: "What", cell: (line) => line.text },
];

function metadata(context) {
  const list = h("div", {});
  let last = 0;
  let kept = [];
  context.every(5000, async () => {
    const now = await get(`/v1/metadata-events?after=${last}`, context.signal);
    if (last > 0 && now.lines.length === 0) return;
    kept = (now.last < last ? [] : kept).concat(now.lines).slice(-500);
    last = now.last;
    const lost = kept.filter((line) => line.level !== "info").length;
    const words = `${count(kept.length - lost)} ${kept.length - lost === 1 ? "file has" : "files have"} kept their metadata over a save, ${count(lost)} ${lost === 1 ? "event needs" : "events need"} a look.`;
    replace(list, kept.length ? h("p", {}, words) : null, table("Events of metadata", EVENTS, kept.slice(-100).reverse(), "Nothing has happened since the server started."));
  });
  return h("section", { class: "card", id: "metadata" }, h("h2", {}, "Metadata of Macs"),
    h("p", { class: "muted" }, "Clients that know no forks save a file by putting a new one in its place. The server then keeps Finder info, tags, comment, resource fork and creation date of the old one. This tells where it did, and what was lost or could not be read."), list);
}

export default {
  title: "Names that will hurt",
  async show(main, context) {
    const shares = await get("/v1/shares", context.signal);
    const share = h("select", { id: "names-share" }, shares.map((one) => h("option", { value: one.name }, one.name)));
    const windows = h("input", { type: "checkbox", id: "names-windows" });
    const now = h("div", {});
    const outcome = h("div", { "aria-live": "polite" });

    function told({ result, job }) {
      if (!result || job.kind !== "names") return;
      const preview = result.renamed === 0 && result.fixable > 0;
      const button = (text, kind, onclick) => h("button", { type: "button", class: kind, onclick }, text);
      replace(outcome, h("section", { class: "card", "data-found": result.found },
        h("h2", {}, words(result)),
        result.unreadable ? h("p", { class: "error" }, `${count(result.unreadable)} folders could not be read; the job's lines say which.`) : null,
        result.names.length ? table("Names with troubles", COLUMNS, result.names, "") : null,
        result.found > result.names.length ? h("p", { class: "muted" }, `The first ${count(result.names.length)} are shown.`) : null,
        h("div", { class: "row end" },
          preview ? button("Rename them…", "danger", fix) : null,
          result.journal ? button("Take back", "", () => run({ kind: "names-undo", journal: result.journal })) : null)));
    }
    async function run(request) {
      const job = await begin(context, request);
      if (!job) return;
      replace(outcome);
      replace(now, watched(context, job.id, told));
    }
    const look = (fixed) => run({ kind: "names", share: share.value, fix: fixed, windows: windows.checked });
    async function fix() {
      const text = "Programs and documents that refer to the old names do not find the files. The page can take the changes back.";
      if (await context.confirm(`Rename files of ${share.value}?`, text, "Rename")) await look(true);
    }
    main.append(heading("Names that will hurt"),
      shares.length ? h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); look(false); } },
        h("p", { class: "muted" }, "Some names hurt clients: Windows cannot open them, two differ in case only, or a Mac and a Linux host wrote the letters in different forms."),
        h("div", { class: "row" }, h("label", { for: "names-share" }, "Share"), share, ticked(windows, "also fix what Windows forbids"),
          h("span", { class: "grow" }), h("button", { type: "submit", class: "primary" }, "Look"))) : h("p", { class: "muted card" }, "No folder is shared yet, so there are no names to look at. ", h("a", { href: "#/shares?new" }, "Share a folder"), "."),
      now, outcome, metadata(context));
    const jobs = await get("/v1/jobs", context.signal);
    const latest = jobs.find((job) => job.kind.startsWith("names"));
    if (latest) replace(now, watched(context, latest.id, told));
  },
};
