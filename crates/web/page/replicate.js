// Copies of shares at other places: on another share, or on another server.

import { get } from "./api.js";
import { h, heading, replace } from "./dom.js";
import { begin, watched } from "./jobs.js";

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
  }, h("h2", {}, "Copy a share"),
  h("div", { class: "fields" }, h("label", { for: "replicate-source" }, "From"), source, h("label", { for: "replicate-to" }, "To"), target),
  h("datalist", { id: "replicate-shares" }, shares.map((share) => h("option", { value: share.name }))),
  h("p", { class: "muted small" }, "The destination becomes a read-only copy, and the next run sends the changes only. The file system needs snapshots."),
  h("div", { class: "row end" }, h("button", { type: "submit" }, "Copy…")));
}

export default {
  title: "Copies elsewhere",
  async show(main, context) {
    const now = h("div", {});
    const watch = (id) => replace(now, watched(context, id));
    const [shares, { settings }] = await Promise.all([get("/v1/shares", context.signal), get("/v1/settings", context.signal)]);
    const planned = settings.filter((setting) => setting.key === "replicate-from" && setting.source === "local");
    main.append(heading("Copies elsewhere"),
      h("p", { class: "muted" }, "A copy of a share on another disk, or on another Fourfold server, keeps the files when a disk or a server is lost."),
      h("div", {}, planned.length ? h("section", { class: "card" }, h("h2", {}, "Copied by a schedule"), h("ul", { class: "plain" }, planned.map((one) => h("li", {}, h("b", {}, one.share), ` from ${one.value}`)))) : null),
      shares.length ? replicateForm(context, shares, watch) : h("p", { class: "muted card" }, "No folder is shared yet, so there is nothing to copy. ", h("a", { href: "#/shares?new" }, "Share a folder"), "."),
      now);
    const running = (await get("/v1/jobs", context.signal)).find((job) => job.kind === "replicate" && job.state === "running");
    if (running) watch(running.id);
  },
};
