// The server itself: its settings and accounts read again, and a restart.

import { get, post } from "./api.js";
import { h, replace } from "./dom.js";

export function serverState(context) {
  const place = h("div", {});
  const reload = () => context.doing(() => post("/v1/reload"));
  const restart = async () => {
    const text = "All clients lose their connections for some seconds, and connect again by themselves. What they have not written yet may be lost.";
    if (!await context.confirm("Restart the server?", text, "Restart")) return;
    await context.doing(() => post("/v1/restart"));
  };
  get("/v1/server", context.signal).then((server) => {
    replace(place, h("p", { class: "muted" }, "What is changed on this page counts at once. After a change of the settings file by hand, or of a certificate, have the server read them again."),
      server.waiting.length ? h("div", {}, h("p", {}, "These settings count from the next start:"), h("ul", {}, server.waiting.map((key) => h("li", {}, h("code", {}, key))))) : null,
      h("div", { class: "row end" }, h("button", { type: "button", id: "reload", onclick: reload }, "Read settings again"),
        h("button", { type: "button", id: "restart", disabled: !server.can_restart, onclick: restart }, "Restart…")),
      server.can_restart ? null : h("p", { class: "muted small" }, "Nothing would start this server again, so it is not restarted from here: systemd has not started it."));
  }).catch(context.failed);
  return h("section", { class: "card", id: "server" }, h("h2", {}, "The server itself"), place);
}
