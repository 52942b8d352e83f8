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

export default {
  title: "Long jobs",
  async show(main, context) {
    const list = h("div", {});
    const one = h("div", {});
    const watch = (id) => replace(one, watched(context, id));
    main.append(heading("Long jobs"), h("section", { class: "card" }, list), one,
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
      replace(list, h("h2", {}, "Jobs since the server started"), table("Jobs", columns, jobs, "No job has run yet. What takes long becomes a job: measurements, looks at names, moves from other servers, repairs, restores, copies of disks and of shares."));
    }
    context.on("jobs", load);
    await context.every(5000, load);
  },
};
