// Disk images that are open for the person: the backups of Macs, and any other image in a share. Their files, to download.

import { Refused, get, post } from "./api.js";
import { bytes, h, heading, replace, title, when } from "./dom.js";
import { downloadLink } from "./manager.js";
import { paged } from "./table.js";

const KINDS = { file: "File", folder: "Folder", link: "Link", other: "Other" };
const HOURS = [1, 8, 24, 168];

const asked = () => new URLSearchParams(location.hash.split("?")[1] ?? "");
const inside = (path, name) => (path ? `${path}/${name}` : name);
const link = (share, path) => `#/images?${new URLSearchParams({ share, path })}`;

// Where the page opens an image: of a Mac, or at this path of a share.
export const imageLink = (place, text, label) => h("a", { class: "button small", href: `#/images?${new URLSearchParams({ open: place })}`, "aria-label": label }, text);

// Opens an image. The field for the passphrase comes when the image needs one, and is empty again after each attempt.
function opener(context, place) {
  const image = h("input", { id: "image-place", required: true, value: place, spellcheck: "false", autocomplete: "off", placeholder: "Ada's Mac, or Files/old/Disk.dmg" });
  const point = h("select", { id: "image-point" }, h("option", { value: "" }, "as it is now"));
  const hours = h("select", { id: "image-hours" }, HOURS.map((one) => h("option", { value: one }, one === 1 ? "1 hour" : `${one} hours`)));
  hours.value = 8;
  const passphrase = h("input", { id: "image-passphrase", type: "password", autocomplete: "off" });
  const locked = h("div", { class: "fields", hidden: true }, h("label", { for: "image-passphrase" }, "Passphrase of the image"), passphrase);
  const why = h("p", { class: "muted small", role: "status" });
  // The snapshots of the share that the place names, or of all shares for backups.
  const points = async () => {
    const { snapshots } = await get("/v1/snapshots", context.signal).catch(() => ({ snapshots: [] }));
    const shares = new Set(snapshots.map((one) => one.share));
    const share = [...shares].find((one) => image.value.startsWith(`${one}/`));
    const shown = snapshots.filter((one) => share === undefined || one.share === share).sort((one, other) => other.created - one.created);
    replace(point, h("option", { value: "" }, "as it is now"), [...new Map(shown.map((one) => [one.name, one])).values()].map((one) => h("option", { value: one.name }, `${one.name} (${when(one.created)})`)));
  };
  image.addEventListener("change", points);
  points();
  const open = async () => {
    const request = { place: point.value ? `${image.value}@${point.value}` : image.value, minutes: hours.value * 60, passphrase: passphrase.value || null };
    passphrase.value = "";
    try {
      const opened = await post("/v1/images", request);
      location.hash = link(opened.name, "");
    } catch (refused) {
      if (!(refused instanceof Refused) || refused.needs !== "passphrase") return context.failed(refused);
      why.textContent = locked.hidden ? "The image is encrypted. The passphrase is not stored." : "The passphrase does not open the image.";
      locked.hidden = false;
      passphrase.required = true;
      passphrase.focus();
    }
  };
  return h("form", { class: "card", id: "open-image", onsubmit: (event) => { event.preventDefault(); open(); } },
    h("h2", {}, "Open backups or a disk image"),
    h("p", { class: "muted small" }, "You need the right to read it. Only you see the files, here and as a hidden share."),
    h("div", { class: "fields" },
      h("label", { for: "image-place" }, "Mac, or SHARE/PATH of an image"), image,
      h("label", { for: "image-point" }, "Snapshot"), point,
      h("label", { for: "image-hours" }, "Open for"), hours),
    locked, why,
    h("div", { class: "row end" }, h("button", { type: "submit", class: "primary" }, "Open")));
}

function card(context, image, again) {
  const close = async () => {
    await context.doing(() => post("/v1/images/close", { name: image.name }));
    await again();
  };
  return h("article", { class: "card", "data-image": image.name },
    h("div", { class: "row" }, h("h2", { class: "grow clip" }, image.path.split("/").pop()), h("a", { class: "button small primary", href: link(image.name, "") }, "Files"),
      h("button", { type: "button", class: "small", "aria-label": `Close ${image.path}`, onclick: close }, "Close")),
    h("p", { class: "muted clip" }, `${image.share}/${image.path}${image.snapshot ? `, snapshot ${image.snapshot}` : ""}`),
    h("dl", {}, [["Format", image.format], ["Hidden share", image.name], ["Over", image.protocols.map(title).join(", ")], ["Until", when(image.until)]]
      .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

const COLUMNS = (share, path) => [
  { title: "Name", cell: (row) => (row.kind === "folder" ? h("a", { href: link(share, inside(path, row.name)) }, row.name) : row.name) },
  { title: "Kind", cell: (row) => KINDS[row.kind] },
  { title: "Size", numeric: true, cell: (row) => (row.kind === "file" ? bytes(row.size) : "–") },
  { title: "Changed", kind: "whole", cell: (row) => when(row.modified) },
  { title: "", kind: "buttons", cell: (row) => h("div", { class: "row end" }, row.kind === "file" ? downloadLink(share, inside(path, row.name)) : null) },
];

function crumbs(share, path) {
  const names = path.split("/").filter(Boolean);
  const steps = names.map((name, index) => [name, names.slice(0, index + 1).join("/")]);
  return h("div", { class: "row crumbs", role: "navigation", "aria-label": "Folder" }, [[share, ""], ...steps].map(([name, to], index, all) => [
    index ? h("span", { class: "muted", "aria-hidden": "true" }, "›") : null,
    h("a", { href: link(share, to), class: "clip", "aria-current": index === all.length - 1 ? "location" : null }, name),
  ]));
}

export default {
  title: "Disk images",
  async show(main, context) {
    const share = asked().get("share");
    if (share !== null) {
      const path = asked().get("path") ?? "";
      const shown = paged(context, { path: `/v1/images/files?${new URLSearchParams({ share, path })}`, caption: "Entries", columns: COLUMNS(share, path), empty: "The folder is empty." });
      main.append(heading("Disk images", h("a", { class: "button", href: "#/images" }, "All open images")), h("section", { class: "card files" }, crumbs(share, path), shown.element));
      await shown.load();
      return;
    }
    const list = h("div", { class: "cards" });
    main.append(heading("Disk images"), opener(context, asked().get("open") ?? ""), list);
    const load = async () => {
      const images = await get("/v1/images", context.signal);
      replace(list, images.length ? images.map((image) => card(context, image, load)) : h("p", { class: "muted card" }, "Nothing is open."));
    };
    await context.every(10000, load);
  },
};
