// The health of the machine's disks and file systems.

import { get } from "./api.js";
import { bytes, duration, h, heading, replace, when } from "./dom.js";
import { table } from "./table.js";

const LEVELS = { good: "good", worn: "low", failing: "bad", unknown: "" };
const badge = (health) => h("span", { class: `badge ${LEVELS[health]}` }, health);
const problems = (row) => (row.problems.length ? row.problems.join("; ") : "nothing");
const DISKS = [
  { title: "Disk", cell: (row) => [h("b", {}, row.device), " ", badge(row.health)] },
  { title: "Model and serial number", kind: "whole", cell: (row) => [row.model, row.serial].filter(Boolean).join(", ") || "unknown" },
  { title: "Size", numeric: true, cell: (row) => bytes(row.size) },
  { title: "Temperature", numeric: true, cell: (row) => (row.temperature === null ? "–" : `${row.temperature} °C`) },
  { title: "On", numeric: true, cell: (row) => (row.hours === null ? "–" : duration(row.hours * 3600)) },
  { title: "Used up", numeric: true, cell: (row) => (row.used_percent === null ? "–" : `${row.used_percent} %`) },
  { title: "What is wrong", kind: "whole", cell: problems },
];
const FILESYSTEMS = [
  { title: "File system", cell: (row) => [h("b", {}, row.name), " ", badge(row.health)] },
  { title: "Kind", cell: (row) => row.kind },
  { title: "What is wrong", kind: "whole", cell: problems },
];

export default {
  title: "Health of the disks",
  async show(main, context) {
    const place = h("div", { class: "stack" });
    main.append(heading("Health of the disks"), place);
    const load = async () => {
      const seen = await get("/v1/disks", context.signal);
      replace(place,
        h("p", { class: "muted small" }, seen.looked ? `Seen ${when(seen.looked)}. A disk that sleeps is not woken for it.` : "Nobody has looked yet: on the server, sudo fourfold disks --keep looks now."),
        seen.why ? h("p", { class: "card" }, seen.why) : null,
        h("section", { class: "card" }, h("h2", {}, "Disks"), table("Disks", DISKS, seen.disks, "No disk says anything of itself.")),
        h("section", { class: "card" }, h("h2", {}, "File systems and arrays"), table("File systems", FILESYSTEMS, seen.filesystems, "No file system here counts its errors.")));
    };
    context.on("alert", load);
    await context.every(60000, load);
  },
};
