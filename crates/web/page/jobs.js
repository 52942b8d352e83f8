// Long jobs: how far they are, what they say, and their end.

import { get, post } from "./api.js";
import { bytes, count, duration, h, heading, replace, when } from "./dom.js";
import { table } from "./table.js";

const STATES = { running: ["", "runs"], done: ["good", "done"], failed: ["bad", "failed"], cancelled: ["low", "cancelled"] };

const amount = (job, number) => (job.unit === "bytes" ? bytes(number) : `${count(number)} ${job.unit}`);

export function stateOf(job) {
  const [level, text] = STATES[job.state] ?? ["", job.state];
  return h("span", { class: `badge ${level}` }, job.cancelling ? "is ending" : text);
}

// How far a job is, in words.
export function far(job) {
  if (job.total > 0) return `${Math.min(100, Math.floor((job.done / job.total) * 100))} %: ${amount(job, job.done)} of ${amount(job, job.total)}`;
  return job.done > 0 ? amount(job, job.done) : "–";
}

const line = (job) => [duration(job.seconds), job.seconds_left === null ? null : `about ${duration(job.seconds_left)} left`, job.doing].filter(Boolean).join(", ");

function progress(job) {
  const text = `${job.what}: ${far(job)}`;
  const part = job.total > 0 ? Math.min(1, job.done / job.total) : 0;
  return h("div", { class: "bar", role: "progressbar", "aria-label": text, "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": job.total > 0 ? Math.floor(part * 100) : null },
    h("span", { style: { width: `${part * 100}%` } }));
}

function cancelButton(context, job) {
  return h("button", {
    type: "button",
    class: "small",
    disabled: job.cancelling,
    "aria-label": `Cancel: ${job.what}`,
    onclick: async () => {
      if (await context.confirm("Cancel this job?", `${job.what}. What it has done stays.`, "Cancel the job")) await context.doing(() => post(`/v1/jobs/${job.id}/cancel`));
    },
  }, "Cancel");
}

// Shows a job until it ends, then calls `then` with its details. Returns the element.
export function watched(context, id, then) {
  const state = h("div", {});
  const log = h("ol", { class: "log", "aria-label": "Lines of the job" });
  const element = h("section", { class: "card", "data-job": id, "aria-live": "polite" }, state, log);
  let last = 0;
  let ended = false;
  async function look() {
    if (ended) return;
    const detail = await get(`/v1/jobs/${id}?after=${last}`, context.signal);
    const { job } = detail;
    if (ended) return;
    if (detail.last > last) {
      log.append(...detail.lines.map((text) => h("li", {}, h("span", {}, text))));
      last = detail.last;
    }
    element.dataset.state = job.state;
    replace(state,
      h("div", { class: "row" }, h("h2", { class: "grow clip" }, job.what), stateOf(job), job.state === "running" ? cancelButton(context, job) : null),
      job.state === "running" ? progress(job) : null,
      h("p", { class: "muted" }, [far(job), line(job)].filter((text) => text && text !== "–").join(", ")));
    if (job.state !== "running") {
      ended = true;
      if (then) await then(detail);
    }
  }
  context.on("jobs", (job) => (job === null || job.id === id ? look() : null));
  context.every(2000, look);
  return element;
}

// Starts a job. `undefined`: it was refused, which the person was told.
export async function begin(context, request) {
  try {
    return await post("/v1/jobs", request);
  } catch (error) {
    context.failed(error);
    return undefined;
  }
}

function replicateForm(context, shares, watch) {
  const names = shares.map((share) => h("option", { value: share.name }, share.name));
  const source = h("select", { id: "replicate-source" }, names);
  const target = h("input", { id: "replicate-to", required: true, placeholder: "share, or ssh://host/share", list: "replicate-shares" });
  return h("form", {
    class: "card",
    onsubmit: async (event) => {
      event.preventDefault();
      const text = `All changes in ${target.value} that ${source.value} does not have are lost there.`;
      if (!await context.confirm(`Replicate ${source.value} to ${target.value}?`, text, "Replicate")) return;
      const job = await begin(context, { kind: "replicate", source: source.value, destination: target.value });
      if (job) watch(job.id);
    },
  }, h("h2", {}, "Replicate a share"),
  h("div", { class: "fields" }, h("label", { for: "replicate-source" }, "From"), source, h("label", { for: "replicate-to" }, "To"), target),
  h("datalist", { id: "replicate-shares" }, shares.map((share) => h("option", { value: share.name }))),
  h("p", { class: "muted small" }, "The destination becomes a read-only copy, and the next run sends the changes only. The file system needs snapshots."),
  h("div", { class: "row end" }, h("button", { type: "submit" }, "Replicate…")));
}

function cloneForm(context, luns, watch) {
  const label = (lun) => `${lun.share}/${lun.name}`;
  const from = h("select", { id: "clone-from" }, luns.map((lun, index) => h("option", { value: String(index) }, label(lun))));
  const name = h("input", { id: "clone-name", required: true });
  return h("form", {
    class: "card",
    onsubmit: async (event) => {
      event.preventDefault();
      const lun = luns[Number(from.value)];
      const job = await begin(context, { kind: "clone-lun", share: lun.share, name: lun.name, new: name.value });
      if (job) watch(job.id);
    },
  }, h("h2", {}, "Clone a LUN"),
  h("div", { class: "fields" }, h("label", { for: "clone-from" }, "LUN"), from, h("label", { for: "clone-name" }, "Name of the clone"), name),
  h("div", { class: "row end" }, h("button", { type: "submit" }, "Clone")));
}

export default {
  title: "Jobs",
  async show(main, context) {
    const list = h("div", {});
    const one = h("div", {});
    const forms = h("div", { class: "cards" });
    const watch = (id) => replace(one, watched(context, id));
    main.append(heading("Jobs"), h("section", { class: "card" }, list), one, forms,
      h("p", { class: "muted small" }, "Jobs go on when this page is closed, and end with the server. At most four run at the same time. The last 50 are remembered."));
    const columns = [
      { title: "Job", cell: (job) => job.what },
      { title: "State", cell: stateOf },
      { title: "Done", cell: far },
      { title: "Left", numeric: true, cell: (job) => (job.seconds_left === null ? "–" : duration(job.seconds_left)) },
      { title: "Started", kind: "whole", cell: (job) => when(job.started) },
      { title: "By", cell: (job) => job.by },
      {
        title: "",
        cell: (job) => h("div", { class: "row end" },
          h("button", { type: "button", class: "small", "aria-label": `Show job ${job.id}`, onclick: () => watch(job.id) }, "Show"),
          job.state === "running" ? cancelButton(context, job) : null),
      },
    ];
    async function load() {
      const jobs = await get("/v1/jobs", context.signal);
      if (list.contains(document.activeElement) && document.activeElement.tagName === "BUTTON") return;
      replace(list, h("h2", {}, "Jobs since the server started"), table("Jobs", columns, jobs, "No job has run yet. Benchmarks, looks at names and at other servers' files, conversions, scrubs, restores, copies of LUNs and replications are jobs."));
    }
    const [shares, luns] = await Promise.all([get("/v1/shares", context.signal), get("/v1/luns", context.signal)]);
    replace(forms, shares.length ? replicateForm(context, shares, watch) : null, luns.length ? cloneForm(context, luns, watch) : null);
    context.on("jobs", load);
    await context.every(5000, load);
  },
};
