// The backups of Macs: whether each Mac is safe, in one line; how large, how fast, what was verified; the way back.

import { get, post } from "./api.js";
import { bar, bytes, duration, h, heading, rate, replace, when } from "./dom.js";
import { imageLink } from "./images.js";
import { begin } from "./jobs.js";

const STATES = {
  good: ["good", "safe"],
  "backing-up": ["good", "backing up"],
  interrupted: ["low", "waiting for the Mac"],
  stopped: ["low", "last attempt stopped"],
  overdue: ["low", "overdue"],
  incomplete: ["low", "no backup yet"],
  damaged: ["bad", "damaged"],
  retired: ["", "retired"],
  "not-served": ["low", "not served"],
};
const ENDS = {
  completed: "completed",
  cancelled: "stopped on the Mac",
  slept: "the Mac slept",
  lost: "connection lost",
  "disk-full": "disk full",
  limit: "limit reached",
  permission: "files of another user",
  "server-stopped": "server stopped",
};

const stateOf = (backup) => {
  const [level, text] = STATES[backup.state] ?? ["", backup.state];
  return h("span", { class: `badge ${level}` }, text);
};

function verified(found) {
  if (found === null) return null;
  if (found.ended === null) return `going on: ${bytes(found.done)} of ${bytes(found.total)}`;
  const damage = found.problems.filter((problem) => problem.damage).length;
  return damage > 0 ? `damaged, ${when(found.ended)}` : `whole, ${when(found.ended)}`;
}

function facts(backup, speed) {
  const growth = backup.growth_per_day;
  return [
    ["Newest backup", backup.completed === null ? "none" : when(backup.completed)],
    ["Next expected", backup.expected === null ? null : when(backup.expected)],
    ["Backups", backup.oldest === null ? null : `${backup.backups}, since ${when(backup.oldest)}`],
    ["Size", backup.size === null ? "not known" : bytes(backup.size)],
    ["Growth", growth === null ? null : `${growth < 0 ? "-" : ""}${bytes(Math.abs(growth))} a day`],
    ["No room in", backup.full_in_s === null ? null : `about ${duration(backup.full_in_s)}`],
    ["Left for it", bytes(backup.free)],
    ["Limit of the Mac", backup.own_limit === null ? null : bytes(backup.own_limit)],
    ["Limit of the share", backup.limit === null ? null : bytes(backup.limit)],
    ["Verified", verified(backup.verification)],
    ["Checked by the Mac", backup.mac_check === null ? null : `${backup.mac_check}${backup.mac_checked === null ? "" : `, ${when(backup.mac_checked)}`}`],
    ["Restore points", backup.points.length ? String(backup.points.length) : null],
    ["Encrypted", backup.encrypted === null ? null : backup.encrypted ? "yes: the server cannot look into it" : "no"],
    ["Mac", backup.model],
    ["Belongs to", backup.owner],
    ["Backed up by", backup.users.join(", ")],
    ["Speed", speed],
    ["Also of this Mac", backup.twin],
    ["Kept", backup.kept.join(", ")],
  ].filter(([, value]) => value);
}

function actions(context, backup, again) {
  const which = { share: backup.share, bundle: backup.bundle };
  const job = async (kind, more = {}) => { if (await begin(context, { kind, ...which, ...more }) !== undefined) location.hash = "#/jobs"; };
  const policy = (more) => context.doing(() => post("/v1/backups/policy", { share: backup.share, mac: backup.mac, ...more })).then(again);
  const button = (text, onclick, css = "small") => h("button", { type: "button", class: css, "aria-label": `${text.replace("…", "")}: ${backup.mac}`, onclick }, text);
  const rollBack = async () => {
    const text = "The newest restore point that verifies takes the place of what is there now, which is kept by another name. Everything that the Mac has backed up since then is only in what is kept.";
    if (await context.confirm(`Put the backups of ${backup.mac} back?`, text, "Roll back")) await job("roll-back-backup");
  };
  const discard = async () => {
    if (await context.confirm(`Remove ${backup.kept.join(", ")}?`, "It cannot be taken back.", "Remove")) await job("discard-backup");
  };
  if (backup.state === "not-served") {
    return [button("Use the share for Time Machine", async () => {
      if (await context.confirm(`Let Macs back up to ${backup.share}?`, "Macs find the share in Time Machine then, and the bundle in it. People with the role contributor see only what is their own.", "Turn it on")) {
        await context.doing(() => post("/v1/settings", { share: backup.share, key: "time-machine", value: "on" }));
        await again();
      }
    })];
  }
  return [
    imageLink(`${backup.share}/${backup.bundle}`, "Get files back", `Get files back: ${backup.mac}`),
    button("Verify", () => job("verify-backup")),
    backup.points.length ? button("Roll back…", rollBack, backup.state === "damaged" ? "small primary" : "small") : null,
    backup.kept.length ? button("Remove what is kept…", discard) : null,
    button(backup.state === "retired" ? "Keep again" : "Retire", () => policy({ retired: backup.state !== "retired" })),
  ];
}

function limitForm(context, backup, again) {
  const id = `limit-${backup.share}-${backup.mac}`;
  const limit = h("input", { id, placeholder: "none", value: backup.own_limit === null ? "" : bytes(backup.own_limit), size: "10" });
  return h("form", {
    class: "row",
    onsubmit: async (event) => {
      event.preventDefault();
      await context.doing(() => post("/v1/backups/policy", { share: backup.share, mac: backup.mac, limit: limit.value.trim() || "none" }));
      await again();
    },
  }, h("label", { for: id }, "Size that this Mac sees"), limit, h("button", { type: "submit", class: "small" }, "Set the limit"));
}

function card(context, backup, speed, again) {
  const size = backup.own_limit ?? backup.limit;
  const problems = backup.verification?.problems ?? [];
  return h("article", { class: "card", "data-mac": backup.mac, "data-state": backup.state },
    h("div", { class: "row" }, h("h2", { class: "grow clip" }, backup.mac), stateOf(backup)),
    h("p", {}, backup.line),
    backup.advice === null ? null : h("p", { class: "small" }, backup.advice),
    h("p", { class: "muted clip" }, `in ${backup.share}`),
    size && backup.size !== null ? bar(backup.size / size, `${bytes(backup.size)} of ${bytes(size)}`) : null,
    problems.length ? h("ul", {}, problems.slice(0, 10).map((problem) => h("li", {}, problem.text))) : null,
    h("dl", {}, facts(backup, speed).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    backup.sessions.length ? h("details", {}, h("summary", {}, "Last sessions"),
      h("ul", {}, backup.sessions.map((one) => h("li", {}, `${when(one.began)}: ${ENDS[one.end] ?? "goes on"}${one.ended === null ? "" : `, ${duration(one.ended - one.began)}`}`)))) : null,
    backup.state === "not-served" ? null : limitForm(context, backup, again),
    h("div", { class: "row end" }, actions(context, backup, again)));
}

export default {
  title: "Time Machine",
  async show(main, context) {
    const lines = h("ul", { class: "plain" });
    const list = h("div", { class: "cards" });
    main.append(heading("Time Machine"), h("section", { class: "card", "aria-label": "Is my Mac safe?", hidden: true }, h("h2", {}, "Is my Mac safe?"), lines), list);
    let last = new Map(); // what was received before, by bundle: [bytes, milliseconds]
    const speed = (backup, now) => {
      const before = last.get(`${backup.share}/${backup.mac}`);
      if (backup.state !== "backing-up" || !before || backup.received < before[0]) return null;
      return rate(((backup.received - before[0]) * 1000) / Math.max(1, now - before[1]));
    };
    // A form that a person fills in is not drawn again meanwhile.
    const isBusy = () => list.contains(document.activeElement) && document.activeElement.tagName === "INPUT";
    async function load() {
      const backups = await get("/v1/backups", context.signal);
      const now = Date.now();
      lines.parentElement.hidden = backups.length === 0;
      replace(lines, backups.map((backup) => h("li", { class: "row" }, stateOf(backup), h("b", {}, backup.mac), h("span", { class: "grow" }, backup.line))));
      if (!isBusy()) {
        const open = new Set([...list.querySelectorAll("details[open]")].map((one) => one.closest("article").dataset.mac));
        replace(list, backups.length
          ? backups.map((backup) => card(context, backup, speed(backup, now), load))
          : h("div", { class: "card empty" }, h("p", {}, h("b", {}, "No Mac has backed up yet.")),
            h("p", { class: "muted" }, "Share a folder for the purpose Time Machine. Then choose it on the Mac, in System Settings, General, Time Machine."),
            h("div", { class: "row" }, h("a", { class: "button", href: "#/shares?new" }, "Share a folder"))));
        for (const details of list.querySelectorAll("details")) details.open = open.has(details.closest("article").dataset.mac);
      }
      last = new Map(backups.map((backup) => [`${backup.share}/${backup.mac}`, [backup.received, now]]));
    }
    await context.every(10000, load);
  },
};
