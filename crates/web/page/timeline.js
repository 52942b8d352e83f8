// Snapshots over time: a line for each share, a dot for each snapshot. The arrow keys go from dot to dot.

import { h, when } from "./dom.js";

const MOST_DOTS = 400;
const DAY = 86400;
export const SPANS = [["day", "24 hours", DAY], ["week", "7 days", 7 * DAY], ["month", "30 days", 30 * DAY], ["all", "all", 0]];

const PERIODS = ["hourly", "daily", "nightly", "weekly", "monthly"];

// What took it: a period of the schedule, or a person.
const taker = (name) => PERIODS.find((period) => name.startsWith(`${period}.`)) ?? "manual";

function label(seconds, span) {
  const date = new Date(seconds * 1000);
  if (span <= 2 * DAY) return date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  return date.toLocaleDateString(undefined, span > 300 * DAY ? { month: "short", year: "numeric" } : { day: "numeric", month: "short" });
}

function dot(snapshot, left, chosen, choose) {
  const held = snapshot.held.length ? ", held" : "";
  return h("button", {
    type: "button",
    class: `shot ${taker(snapshot.name)}${snapshot.held.length ? " held" : ""}`,
    style: { left: `${left}%` },
    tabindex: "-1",
    title: `${snapshot.name}, ${when(snapshot.created)}${held}`,
    "aria-label": `${snapshot.name}, ${when(snapshot.created)}${held}`,
    "aria-pressed": String(chosen),
    "data-snapshot": `${snapshot.share}@${snapshot.name}`,
    onclick: () => choose(snapshot),
  });
}

function move(event) {
  const dots = [...event.currentTarget.querySelectorAll(".shot")];
  const at = dots.indexOf(document.activeElement);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: dots.length - 1 }[event.key];
  if (at < 0 || to === undefined || !dots[to]) return;
  event.preventDefault();
  dots[to].focus();
}

// `span`: seconds, 0 for all. `chosen`: {share, name} or null. `due`: when the next snapshot of a share is taken.
export function timeline({ shares, snapshots, span, chosen, choose, due }) {
  const now = Date.now() / 1000;
  const oldest = Math.min(now - 3600, ...snapshots.map((one) => one.created));
  const from = span > 0 ? now - span : oldest;
  const to = now + (now - from) * 0.03;
  const place = (at) => Math.max(0, Math.min(100, ((at - from) / (to - from)) * 100));
  const row = (share) => {
    const all = snapshots.filter((one) => one.share === share);
    const inside = all.filter((one) => one.created >= from);
    const shown = inside.slice(-MOST_DOTS);
    const older = all.length - shown.length;
    const is = (one) => chosen !== null && chosen.share === one.share && chosen.name === one.name;
    const dots = shown.map((one) => dot(one, place(one.created), is(one), choose));
    (dots.find((one) => one.getAttribute("aria-pressed") === "true") ?? dots.at(-1))?.setAttribute("tabindex", "0");
    const words = `${share}: ${shown.length} snapshots${older ? `, ${older} older ones` : ""}`;
    return h("div", { class: "lane" },
      h("div", { class: "row" }, h("b", { class: "clip" }, share), h("span", { class: "muted small" }, `${all.length} ${all.length === 1 ? "snapshot" : "snapshots"}${older ? `, ${older} not shown` : ""}`),
        due[share] ? h("span", { class: "muted small grow right" }, `next ${when(due[share])}`) : null),
      h("div", { class: "track", role: "group", "aria-label": words, onkeydown: move }, dots));
  };
  const marks = [0, 0.25, 0.5, 0.75].map((part) => h("span", { style: { left: `${part * 100}%` } }, label(from + (to - from) * part, to - from)));
  return h("div", { class: "timeline" }, shares.map(row), h("div", { class: "axis", "aria-hidden": "true" }, marks, h("span", { class: "now" }, "now")));
}
