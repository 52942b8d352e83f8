// The backups of Macs: when, how large, how fast, how they are.

import { get } from "./api.js";
import { bar, bytes, h, heading, rate, replace, when } from "./dom.js";

const STATES = {
  good: ["good", "good"],
  "backing-up": ["good", "backing up"],
  overdue: ["low", "overdue"],
  incomplete: ["low", "no backup yet"],
  damaged: ["bad", "damaged"],
};
const HINTS = {
  overdue: "The Mac has completed no backup for longer than alert-backup says. Look at Time Machine in its settings.",
  incomplete: "The Mac has completed no backup yet. The first one can take days.",
  damaged: "The Mac has checked these backups and found them damaged. It asks to begin anew. A snapshot of the share from before that may have good ones.",
};

function card(backup, speed) {
  const [level, text] = STATES[backup.state] ?? ["", backup.state];
  const used = backup.limit && backup.size !== null ? backup.size / backup.limit : null;
  const rows = [
    ["Newest backup", backup.completed === null ? "none" : when(backup.completed)],
    ["Bundle changed", when(backup.changed)],
    ["Size", backup.size === null ? "not known" : bytes(backup.size)],
    ["Limit of the share", backup.limit === null ? "none" : bytes(backup.limit)],
    ["Left for backups", bytes(backup.free)],
    ["Mac", backup.model],
    ["Backed up by", backup.users.join(", ")],
    ["Speed", speed],
  ];
  return h("article", { class: "card", "data-mac": backup.mac },
    h("div", { class: "row" }, h("h2", { class: "grow clip" }, backup.mac), h("span", { class: `badge ${level}` }, text)),
    h("p", { class: "muted clip" }, `in ${backup.share}`),
    HINTS[backup.state] ? h("p", { class: "small" }, HINTS[backup.state]) : null,
    used === null ? null : bar(used, `${bytes(backup.size)} of ${bytes(backup.limit)}, which all backups of the share may take`),
    h("dl", {}, rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

export default {
  title: "Time Machine",
  async show(main, context) {
    const list = h("div", { class: "cards" });
    main.append(heading("Time Machine"), list);
    let last = new Map(); // what was received before, by bundle: [bytes, milliseconds]
    const speed = (backup, now) => {
      const before = last.get(`${backup.share}/${backup.mac}`);
      if (backup.state !== "backing-up" || !before || backup.received < before[0]) return null;
      return rate(((backup.received - before[0]) * 1000) / Math.max(1, now - before[1]));
    };
    await context.every(10000, async () => {
      const backups = await get("/v1/backups", context.signal);
      const now = Date.now();
      replace(list, backups.length
        ? backups.map((backup) => card(backup, speed(backup, now)))
        : h("div", { class: "card empty" }, h("p", {}, h("b", {}, "No Mac has backed up yet.")),
          h("p", { class: "muted" }, "Share a folder for the purpose Time Machine. Then choose it on the Mac, in System Settings, General, Time Machine."),
          h("div", { class: "row" }, h("a", { class: "button", href: "#/shares?new" }, "Share a folder"))));
      last = new Map(backups.map((backup) => [`${backup.share}/${backup.mac}`, [backup.received, now]]));
    });
  },
};
