// Where the time of each client went in the last minute, what slows it down, and which protocol is the best for it.

import { get } from "./api.js";
import { badge, h, heading, latency, replace } from "./dom.js";
import { table } from "./table.js";

const seconds = (ms) => `${Math.round(ms / 1000)} s`;
const trouble = (one) => h("p", {}, h("span", { class: "badge low" }, one.name), ` ${one.text}`);

const TIMES = [
  { title: "Client", kind: "whole", cell: (row) => [badge(row.protocol), ` ${row.user ?? "–"} `, row.peer] },
  { title: "Active", numeric: true, cell: (row) => seconds(row.active_ms) },
  { title: "Network", numeric: true, cell: (row) => seconds(row.network_ms) },
  { title: "Server", numeric: true, cell: (row) => seconds(row.server_ms) },
  { title: "Client itself", numeric: true, cell: (row) => seconds(row.client_ms) },
  { title: "Round trip", numeric: true, cell: (row) => (row.round_trip_micros ? latency(row.round_trip_micros) : "–") },
  { title: "Sent again", numeric: true, cell: (row) => `${row.lost_percent.toFixed(1)} %` },
  { title: "Slowed down by", kind: "words", cell: (row) => (row.troubles.length ? row.troubles.map(trouble) : "–") },
];

const MACHINE = [
  { title: "Of this machine", kind: "whole", cell: (row) => row.about },
  { title: "Slowed down by", kind: "words", cell: trouble },
];

const BEST = [
  { title: "Client", kind: "whole", cell: (row) => [row.user ? `${row.user} at ` : "", row.client] },
  { title: "Uses", cell: (row) => row.uses.map((one) => [badge(one), " "]) },
  { title: "Best", cell: (row) => badge(row.best) },
  { title: "Why", kind: "words", cell: (row) => row.reason },
  { title: "Mount", kind: "words", cell: (row) => (row.commands ?? []).map(([share, command]) => h("p", {}, `${share}: `, h("code", {}, command))) },
];

export default {
  title: "Slow clients",
  async show(main, context) {
    const body = h("div", { class: "stack" });
    main.append(heading("Slow clients"), body);
    await context.every(5000, async () => {
      const { clients, machine, protocols, blind } = (await get("/v1/status", context.signal)).doctor;
      const about = blind ? `The kernel tells nothing of connections: ${blind}.` : "Where the time of each client went in the last minute, and what slows it down.";
      replace(body, h("section", { class: "card" }, h("p", { class: "muted small" }, about), table("Times of clients", TIMES, clients, "No client did anything in the last minute.")),
        machine.length ? h("section", { class: "card" }, table("This machine", MACHINE, machine, "")) : null,
        protocols.length ? h("section", { class: "card" }, h("h2", {}, "The best protocol for each client"), table("Best protocols", BEST, protocols, "")) : null);
    });
  },
};
