// The disks that iSCSI serves.

import { get } from "./api.js";
import { bar, bytes, copyButton, h, heading, replace } from "./dom.js";

function card(lun) {
  const used = lun.used === null || lun.used === undefined ? null : lun.used / lun.size;
  const sessions = lun.sessions.map((session) => h("li", {}, h("b", { class: "clip" }, session.initiator), h("span", { class: "muted" }, ` ${session.user ?? ""} ${session.peers.join(", ")}`)));
  return h("article", { class: "card" },
    h("div", { class: "row" }, h("h2", { class: "grow clip" }, `${lun.share}/${lun.name}`),
      lun.read_only ? h("span", { class: "badge" }, "read-only") : null,
      h("span", { class: `badge ${lun.served ? "good" : "bad"}` }, lun.served ? "served" : "not served")),
    lun.problem ? h("p", { class: "error" }, lun.problem) : null,
    lun.snapshot_of ? h("p", { class: "muted" }, `A snapshot of ${lun.snapshot_of}`) : null,
    h("div", { class: "row" }, h("span", { class: "grow" }, `${bytes(lun.size)}, blocks of ${lun.block_size} bytes`), h("span", { class: "muted" }, used === null ? "" : `${bytes(lun.used)} on the disk`)),
    used === null ? null : bar(Math.min(used, 0.95), `${bytes(lun.used)} of ${bytes(lun.size)} are on the disk`),
    h("dl", {}, h("dt", {}, "Target"), h("dd", {}, h("code", {}, lun.target)), h("dt", {}, "Number"), h("dd", {}, String(lun.number)), h("dt", {}, "Identifier"), h("dd", {}, h("code", {}, lun.naa)), h("dt", {}, "File"), h("dd", {}, lun.file)),
    h("h3", {}, "Logged in"),
    sessions.length ? h("ul", {}, sessions) : h("p", { class: "muted" }, "No initiator is logged in."),
    h("h3", {}, "How initiators reach it"),
    h("ul", { class: "mounts" }, lun.connect.map((mount) => h("li", {},
      h("div", { class: "row" }, h("span", { class: "grow" }, mount.client), copyButton(mount.line, `the line for ${mount.client}`)),
      h("code", { class: "line", tabindex: "0" }, mount.line)))));
}

export default {
  title: "LUNs",
  async show(main, context) {
    const list = h("div", { class: "cards" });
    main.append(heading("LUNs"), list);
    await context.every(10000, async () => {
      const luns = await get("/v1/luns", context.signal).catch((error) => {
        if (error.status === 409) return [];
        throw error;
      });
      if (list.contains(document.activeElement) && document.activeElement.tagName === "BUTTON") return;
      replace(list, luns.length ? luns.map(card) : h("p", { class: "muted card" }, "There is no LUN. ", h("code", {}, "fourfold lun create SHARE/NAME SIZE"), " on the server makes one."));
    });
  },
};
