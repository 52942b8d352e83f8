// The slowest operations of clients, and what they waited for. The server notes them while somebody asks.

import { get } from "./api.js";
import { badge, h, heading, latency, replace } from "./dom.js";
import { table } from "./table.js";

// Where the time of a slow operation goes: a field of the API, the words, and what to do.
const PARTS = [
  ["leases_micros", "other clients give back what they cache", "low"],
  ["permits_micros", "other requests to the same file", "low"],
  ["queue_micros", "a free thread", "low"],
  ["disk_micros", "the disk", "bad"],
  ["other_micros", "the server itself", ""],
];

function parts(row) {
  const spent = PARTS.filter(([key]) => row[key] > 0).sort(([one], [other]) => row[other] - row[one]);
  const text = spent.map(([key, words]) => `${words}: ${latency(row[key])}`).join(", ");
  const [first] = spent;
  return h("div", { title: text },
    h("div", { class: "parts", role: "img", "aria-label": text }, PARTS.map(([key]) => h("span", { class: key.split("_")[0], style: { flexGrow: String(row[key]) } }))),
    h("span", { class: "muted small" }, first ? `${first[1]}, ${latency(row[first[0]])}` : ""));
}

const SLOWEST = [
  { title: "Took", numeric: true, cell: (row) => h("b", {}, latency(row.micros)) },
  { title: "Mostly by", cell: parts },
  { title: "Command", cell: (row) => [badge(row.protocol), ` ${row.command}`] },
  { title: "File", cell: (row) => [row.share, row.path].filter(Boolean).join("/") || "–" },
  { title: "User", cell: (row) => row.user || "–" },
  { title: "Client", kind: "whole", cell: (row) => row.client },
  { title: "Result", cell: (row) => row.result },
];

export default {
  title: "Slowest operations",
  async show(main, context) {
    const body = h("div");
    const legend = h("div", { class: "legend" }, PARTS.map(([key, words]) => h("span", {}, h("i", { class: `dot part-${key.split("_")[0]}` }), words)));
    main.append(heading("Slowest operations"), h("section", { class: "card" },
      h("p", { class: "muted small" }, "The slowest of the last ten minutes, and what they waited for. The server notes them while this page is shown, or, with the setting ", h("a", { href: "#/settings?search=record-slowest" }, "record-slowest"), ", all day long."), legend, body));
    await context.every(5000, async () => {
      const rows = await get("/v1/slowest", context.signal);
      replace(body, table("Slowest operations", SLOWEST, rows, "None yet. Leave this page open while the server feels slow: what was slow, and why, appears here."));
    });
  },
};
