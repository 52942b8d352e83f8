// Reserved streams: what is reserved, what is read of it, what the disk carries beside it.

import { get, post } from "./api.js";
import { bytes, count, h, heading, replace } from "./dom.js";

const speed = (value) => `${(value / 1e6).toFixed(1)} MB/s`;

function newForm(context, shares, formats, then) {
  const share = h("select", { id: "stream-share" }, shares.map((one) => h("option", { value: one.name }, one.name)));
  const format = h("select", { id: "stream-format" }, formats.map((one) => h("option", { value: one.id, selected: one.id === "prores422hq-1080p25" }, `${one.name}: ${speed(one.speed)}`)));
  const streams = h("input", { id: "stream-count", type: "number", min: 1, max: 1000, value: 1, required: true });
  const user = h("input", { id: "stream-user", spellcheck: "false", autocomplete: "off", placeholder: "anyone" });
  const capacity = h("input", { id: "stream-capacity", type: "number", min: 1, placeholder: "is measured" });
  const button = h("button", { type: "submit", class: "primary" }, "Reserve");
  return h("form", {
    class: "card",
    onsubmit: async (event) => {
      event.preventDefault();
      const wanted = { share: share.value, format: format.value, streams: Number(streams.value) };
      if (user.value.trim()) wanted.user = user.value.trim();
      if (capacity.value) wanted.capacity = Math.round(Number(capacity.value) * 1e6);
      button.disabled = true;
      await context.doing(() => post("/v1/streams", wanted));
      button.disabled = false;
      await then();
    },
  }, h("h2", {}, "Reserve streams"),
  h("div", { class: "fields" },
    h("label", { for: "stream-share" }, "Share"), share,
    h("label", { for: "stream-format" }, "Format"), format,
    h("label", { for: "stream-count" }, "Streams"), streams,
    h("label", { for: "stream-user" }, "Only of this account"), user,
    h("label", { for: "stream-capacity" }, "What the disk carries, in MB/s"), capacity),
  h("p", { class: "muted small" }, "The disk is measured for some seconds when something is reserved on it for the first time. A reservation is released when none of its streams was read for four hours."),
  h("div", { class: "row end" }, button));
}

function state(one) {
  if (one.problem) return h("span", { class: "badge bad" }, "has no effect");
  if (one.late > 0) return h("span", { class: "badge low" }, `${count(one.late)} reads late`);
  return h("span", { class: one.active > 0 ? "badge good" : "badge" }, one.active > 0 ? "plays" : "waits");
}

function card(context, one, again) {
  const rows = [
    ["Each stream", `${one.format ?? "any format"}, ${speed(one.speed)}`],
    ["Read now", `${count(one.active)} of ${count(one.streams)}`],
    ["Read since the start", `${count(one.reads)} times, ${bytes(one.bytes)}`],
    ["Longest read", `${count(one.longest_ms)} ms`],
    ["Beyond what is reserved", `${count(one.beyond)} reads`],
  ];
  const who = [one.user, one.client].filter(Boolean).join(" at ");
  return h("article", { class: "card", "data-stream": one.id },
    h("div", { class: "row" }, h("h2", { class: "grow clip" }, one.lun ?? one.share), who ? h("span", { class: "badge" }, who) : null, state(one)),
    one.problem ? h("p", { class: "error" }, one.problem) : null,
    h("dl", {}, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    h("div", { class: "row end" }, h("button", {
      type: "button", class: "small", "aria-label": `Release the streams of ${one.lun ?? one.share}`,
      onclick: async () => {
        if (!await context.confirm("Release these streams?", "What they had is for all others again. A player that goes on is served like any other client.", "Release")) return;
        await context.doing(() => post("/v1/streams/release", { id: one.id }));
        document.activeElement.blur();
        await again();
      },
    }, "Release")));
}

export default {
  title: "Reserved streams",
  async show(main, context) {
    const disks = h("div", {});
    const list = h("div", { class: "cards" });
    const place = h("div", {});
    main.append(heading("Reserved streams"),
      h("p", { class: "muted" }, "Streams that are reserved have the disk first while they are read: video plays on, whatever others copy."), disks, list, place);
    const load = async () => {
      const now = await get("/v1/streams", context.signal);
      if (list.contains(document.activeElement) && document.activeElement.tagName === "BUTTON") return;
      replace(disks, now.capacities.map((disk) => h("p", { class: "small" }, `The disk of ${disk.shares.join(", ")} carries ${speed(disk.speed)} (${disk.source}); ${speed(disk.left)} can still be reserved.`)),
        now.others === null ? null : h("p", { class: "small" }, `Others have ${speed(now.others)} at the moment.`));
      replace(list, now.reservations.length ? now.reservations.map((one) => card(context, one, load)) : h("p", { class: "muted card" }, "Nothing is reserved."));
    };
    const [shares, formats] = await Promise.all([get("/v1/shares", context.signal), get("/v1/streams/formats", context.signal)]);
    replace(place, shares.length ? newForm(context, shares, formats, load) : h("p", { class: "muted card" }, "No folder is shared yet. ", h("a", { href: "#/shares?new" }, "Share a folder"), "."));
    await context.every(2000, load);
  },
};
