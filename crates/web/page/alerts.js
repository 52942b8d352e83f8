// The alerts: what is wrong now, who has seen it, and what is muted.

import { get, post } from "./api.js";
import { h, heading, replace, when } from "./dom.js";

const HOUR = 3600;
// For how long an alert can be muted: words, and seconds; null: until it is over or becomes worse.
const SPANS = [["I have seen it", null], ["8 hours", 8 * HOUR], ["1 day", 24 * HOUR], ["7 days", 7 * 24 * HOUR], ["30 days", 30 * 24 * HOUR]];
const NAMES = {
  __proto__: null, space: "Space", disk: "A disk does not answer", "disk-health": "A disk is unwell", filesystem: "A file system has errors", logins: "Failed logins", backup: "Backup overdue", certificate: "Certificate",
  snapshot: "Snapshots", replication: "Copies", clock: "Clock", link: "Link to another server", index: "State folder", api: "API",
};
const LEVELS = { critical: ["bad", "problem"], warning: ["low", "warning"] };

export const nameOf = (alert) => `${NAMES[alert.name] ?? alert.name}${alert.about ? `: ${alert.about}` : ""}`;

// Who has seen it, and until when it is quiet.
export function quietWords({ by, until }) {
  return until === null ? `seen by ${by}: quiet until it is over, or becomes worse` : `muted by ${by} until ${when(until)}`;
}

function card(context, alert, again) {
  const { quiet } = alert;
  const [level, text] = LEVELS[alert.severity] ?? ["", alert.severity];
  const send = (path, body) => async () => {
    await context.doing(() => post(path, { name: alert.name, about: alert.about, ...body }));
    document.activeElement?.blur();
    await again();
  };
  const buttons = quiet
    ? h("button", { type: "button", class: "small", "aria-label": `Tell again: ${nameOf(alert)}`, onclick: send("/v1/alerts/unmute", {}) }, "Tell again")
    : [h("span", { class: "muted small" }, "Quiet:"), SPANS.map(([words, seconds]) => h("button", { type: "button", class: "small", "aria-label": `${words}: ${nameOf(alert)}`, onclick: send("/v1/alerts/mute", { seconds }) }, words))];
  return h("article", { class: `card alert${quiet ? " quiet-alert" : ""}`, "data-alert": `${alert.name} ${alert.about}` },
    h("div", { class: "row" }, h("h2", { class: "grow" }, nameOf(alert)), alert.raised ? h("span", { class: `badge ${level}` }, text) : h("span", { class: "badge" }, "not raised now")),
    alert.text ? h("p", {}, alert.text) : null,
    alert.since ? h("p", { class: "muted small" }, `Since ${new Date(alert.since).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })}.`) : null,
    quiet ? h("p", { class: "muted small" }, `${quietWords(quiet)}.`) : null,
    h("div", { class: "row end" }, buttons));
}

export default {
  title: "Alerts",
  async show(main, context) {
    const list = h("div", { class: "stack" });
    const test = h("button", { type: "button", class: "small", onclick: () => context.doing(() => post("/v1/alerts/test")) }, "Send a test message");
    main.append(heading("Alerts", test, h("a", { class: "button small", href: "#/settings?search=alert-" }, "Mail and webhooks")), list,
      h("p", { class: "muted small" }, "A quiet alert sends no mail and no webhook, and does not count on the Overview. It ends by itself when its cause is gone."));
    const load = async () => {
      const alerts = await get("/v1/alerts", context.signal);
      if (list.contains(document.activeElement) && document.activeElement.tagName === "BUTTON") return;
      replace(list, alerts.length ? alerts.map((alert) => card(context, alert, load))
        : h("p", { class: "card empty muted" }, "No alert is raised. When a disk gets full, a backup is overdue or a certificate ends, it is told here, and by mail if ", h("code", {}, "alert-mail"), " is set."));
    };
    context.on("alert", load);
    await context.every(10000, load);
  },
};
