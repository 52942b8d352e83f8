// Damage in a share, and in what the server keeps beside it: looked for, and mended.

import { get } from "./api.js";
import { count, h, heading, replace } from "./dom.js";
import { begin, watched } from "./jobs.js";
import { table } from "./table.js";

const OUTCOMES = { mendable: ["low", "can be mended"], mended: ["good", "mended"], left: ["bad", "left"] };
const STATE = ""; // the state folder, instead of a share

function outcome(row) {
  const [level, text] = OUTCOMES[row.outcome] ?? ["", row.outcome];
  return h("span", { class: `badge ${level}` }, text);
}

const COLUMNS = [
  { title: "Where", cell: (row) => h("code", {}, row.path || "/") },
  { title: "What is wrong", cell: (row) => [row.what, h("p", { class: "muted small" }, row.meaning)] },
  { title: "Remedy", cell: (row) => [row.remedy, row.why ? h("p", { class: "muted small" }, row.why) : null, row.moved_to ? h("p", { class: "muted small" }, "It is in ", h("code", {}, row.moved_to)) : null].filter(Boolean) },
  { title: "", cell: outcome },
];

function words(result) {
  const looked = `${count(result.looked)} files, folders and rows were looked at`;
  if (result.found === 0) return `All is well: ${looked}.`;
  const mended = result.mended > 0 ? ` ${count(result.mended)} mended.` : result.mendable > 0 ? ` ${count(result.mendable)} can be mended.` : "";
  return `${count(result.found)} ${result.found === 1 ? "finding" : "findings"}: ${looked}.${mended}`;
}

export default {
  title: "Check and repair",
  async show(main, context) {
    const shares = await get("/v1/shares", context.signal);
    const share = h("select", { id: "scrub-share" }, shares.map((one) => h("option", { value: one.name }, one.name)), h("option", { value: STATE }, "the state folder of the server"));
    const path = h("input", { id: "scrub-path", placeholder: "all of it", spellcheck: "false" });
    const now = h("div", {});
    const findings = h("div", { "aria-live": "polite" });
    let asked = null; // what the newest findings are about

    function told({ result, job }) {
      if (!result || job.kind !== "scrub") return;
      const mends = asked !== null && result.mended === 0 && result.mendable > 0;
      replace(findings, h("section", { class: "card", "data-found": result.found },
        h("h2", {}, words(result)),
        result.unreadable ? h("p", { class: "error" }, `${count(result.unreadable)} could not be looked at.`) : null,
        result.findings.length ? table("Findings", COLUMNS, result.findings, "") : null,
        result.found > result.findings.length ? h("p", { class: "muted" }, `The first ${count(result.findings.length)} are shown.`) : null,
        mends ? h("div", { class: "row end" }, h("button", { type: "button", class: "danger", onclick: mend }, "Mend them…")) : null));
    }
    async function run(repair) {
      const wanted = asked;
      const job = await begin(context, { kind: "scrub", share: wanted.share, path: wanted.path, repair });
      if (!job) return;
      replace(findings);
      replace(now, watched(context, job.id, told));
    }
    async function mend() {
      const text = "Only what can be mended without losing data is changed. What is taken away is kept beside the share.";
      if (await context.confirm(`Mend ${asked.share ?? "the state folder"}?`, text, "Mend")) await run(true);
    }
    main.append(heading("Check and repair"),
      h("form", {
        class: "card",
        onsubmit: (event) => {
          event.preventDefault();
          asked = { share: share.value === STATE ? null : share.value, path: share.value === STATE ? "" : path.value };
          run(false);
        },
      },
      h("p", { class: "muted" }, "Looks at what Macs and Windows keep beside files, and at the server's own tables, for what does not fit together. It changes nothing, and clients go on working."),
      h("div", { class: "row" }, h("label", { for: "scrub-share" }, "Look at"), share, h("label", { for: "scrub-path" }, "Folder"), h("span", { class: "grow" }, path), h("button", { type: "submit", class: "primary" }, "Look"))),
      now, findings);
    const jobs = await get("/v1/jobs", context.signal);
    const latest = jobs.find((job) => job.kind === "scrub");
    if (latest) replace(now, watched(context, latest.id, told));
  },
};
