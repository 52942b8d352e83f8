// Measurements of this server: run, watched, compared, and their reports.

import { get } from "./api.js";
import { bytes, h, heading, replace, ticked, when } from "./dom.js";
import { advice } from "./advice.js";
import { begin, watched } from "./jobs.js";
import { table } from "./table.js";

const WORKLOADS = ["seq-read", "seq-write", "small-read-1K", "small-write-1K", "enumerate", "create-stat-delete", "copy-tree", "read-write-25-1", "block-mix", "random-read-4K", "video", "backup-bands"];

function form(context, shares, watch) {
  const share = h("select", { id: "bench-share" }, shares.map((one) => h("option", { value: one.name }, one.name)));
  const box = (value, text, checked) => ticked(h("input", { type: "checkbox", id: `bench-${value}`, value, checked }), text);
  const protocols = h("fieldset", { class: "row" }, h("legend", {}, "Protocols"), box("smb", "SMB", false), box("afp", "AFP", false), box("nfs", "NFS", true));
  const user = h("input", { id: "bench-user", autocomplete: "username", autocapitalize: "none", spellcheck: "false" });
  const password = h("input", { id: "bench-password", type: "password", autocomplete: "off" });
  const workloads = h("input", { id: "bench-workloads", list: "bench-names", placeholder: "those that answer most questions", spellcheck: "false" });
  const number = (id, value, least, most, step = 1) => h("input", { id: `bench-${id}`, type: "number", value: String(value), min: least, max: most, step, required: true });
  const [repeats, clients, seconds, scale] = [number("repeats", 3, 1, 10), number("clients", 1, 1, 8), number("seconds", 10, 1, 60), number("scale", 0.2, 0.01, 1, 0.01)];
  const curve = box("curve", "Also with fewer clients: a load curve", false);
  return h("form", {
    class: "card",
    onsubmit: async (event) => {
      event.preventDefault();
      const chosen = [...protocols.querySelectorAll("input:checked")].map((one) => one.value);
      const job = await begin(context, {
        kind: "bench",
        share: share.value,
        protocols: chosen,
        user: user.value,
        password: password.value,
        workloads: workloads.value.split(/[\s,]+/).filter(Boolean),
        repeats: repeats.valueAsNumber,
        clients: clients.valueAsNumber,
        curve: curve.querySelector("input").checked,
        seconds: seconds.valueAsNumber,
        scale: scale.valueAsNumber,
      });
      password.value = "";
      if (job) watch(job.id);
    },
  }, h("h2", {}, "Measure a share"), h("div", { class: "fields" },
    h("label", { for: "bench-share" }, "Share"), share,
    h("span", {}), protocols,
    h("label", { for: "bench-user" }, "Account (SMB, AFP)"), user,
    h("label", { for: "bench-password" }, "Password"), password,
    h("label", { for: "bench-workloads" }, "Workloads"), workloads,
    h("div", { class: "numbers" }, [["Repeats", repeats], ["Clients", clients], ["Seconds each", seconds], ["Size factor", scale]].map(([text, field]) => h("div", {}, h("label", { for: field.id }, text), field))),
    curve),
  h("datalist", { id: "bench-names" }, WORKLOADS.map((name) => h("option", { value: name }))),
  h("p", { class: "muted small" }, "The clients run on the server itself, in a process of their own. They work in a new folder of the share and remove it. Other clients are slower meanwhile. The password is not kept."),
  h("div", { class: "row end" }, h("button", { type: "submit", class: "primary" }, "Measure")));
}

function comparison(context, kept) {
  const choose = (id, index) => {
    const select = h("select", { id }, kept.map((one) => h("option", { value: one.name }, one.name)));
    select.value = kept[index].name;
    return select;
  };
  const [before, after] = [choose("compare-before", 1), choose("compare-after", 0)];
  const text = h("pre", { class: "scroll", tabindex: "0", "aria-label": "Comparison", hidden: true });
  return h("form", {
    class: "card",
    onsubmit: async (event) => {
      event.preventDefault();
      try {
        const { lines } = await get(`/v1/comparison?${new URLSearchParams({ before: before.value, after: after.value })}`, context.signal);
        text.textContent = lines.join("\n");
        text.hidden = false;
      } catch (error) {
        context.failed(error);
      }
    },
  }, h("h2", {}, "Compare two"), h("div", { class: "fields" }, h("label", { for: "compare-before" }, "Before"), before, h("label", { for: "compare-after" }, "After"), after),
  h("div", { class: "row end" }, h("button", { type: "submit" }, "Compare")), text);
}

export default {
  title: "Measure",
  async show(main, context) {
    const now = h("div", {});
    const list = h("div", { class: "stack" });
    const shares = await get("/v1/shares", context.signal);
    const columns = [
      { title: "Benchmark", cell: (one) => one.name },
      { title: "Measured", cell: (one) => one.targets.join(", ") },
      { title: "Ended", cell: (one) => when(one.at) },
      { title: "Data", numeric: true, cell: (one) => bytes(one.size) },
      { title: "", cell: (one) => h("a", { href: `/v1/benchmarks/${encodeURIComponent(one.name)}`, target: "_blank", rel: "noopener", class: "button small", "aria-label": `Report of ${one.name}` }, "Report") },
    ];
    async function load() {
      const kept = await get("/v1/benchmarks", context.signal);
      replace(list, h("section", { class: "card" }, h("h2", {}, "Benchmarks that are kept"), table("Benchmarks", columns, kept, "No benchmark is kept yet.")),
        kept.length > 1 ? comparison(context, kept) : null);
      asked.update(kept);
    }
    const asked = advice(context);
    const watch = (id) => replace(now, watched(context, id, load));
    main.append(heading("Measure"), shares.length ? form(context, shares.filter((share) => !share.read_only), watch) : h("p", { class: "muted card" }, "No folder is shared yet, so there is nothing to measure. ", h("a", { href: "#/shares?new" }, "Share a folder"), "."), now, list, asked.element);
    await load();
    const running = (await get("/v1/jobs", context.signal)).find((job) => job.kind === "bench" && job.state === "running");
    if (running) watch(running.id);
  },
};
