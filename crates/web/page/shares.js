// The shares: how clients mount them, and their properties.

import { get, post } from "./api.js";
import { access } from "./access.js";
import { badge, bytes, copyButton, h, heading, replace, title } from "./dom.js";
import { sharedCard, shareForm } from "./newshare.js";
import { SETTINGS, lines, listsOf, words } from "./roles.js";
import { table } from "./table.js";

// The address as a code for the camera of a phone. It is asked for when it is wanted.
function qrCode(mount) {
  const address = mount.line.match(/\b(smb|afp|nfs):\/\/[^\s'"]+/)?.[0];
  if (!address || address.length > 300) return null;
  const place = h("div", {});
  const details = h("details", { ontoggle: () => replace(place, details.open ? h("img", { class: "qr", src: `/v1/code?${new URLSearchParams({ text: address })}`, alt: `QR code of ${address}` }) : null) },
    h("summary", { class: "small" }, "QR code"), place);
  return details;
}

function mountLine(mount) {
  return h("li", {},
    h("div", { class: "row" }, h("span", { class: "grow" }, mount.client), copyButton(mount.line, `the line for ${mount.client} over ${title(mount.protocol)}`)),
    h("code", { class: "line", tabindex: "0" }, mount.line),
    qrCode(mount),
    mount.why ? h("p", { class: "muted small" }, mount.why) : null);
}

// By protocol; the first one is open.
export function mounts(share) {
  const protocols = [...new Set(share.mounts.map((mount) => mount.protocol))];
  return protocols.map((protocol, index) => {
    const lines = share.mounts.filter((mount) => mount.protocol === protocol);
    return h("details", { class: "protocol", open: index === 0 },
      h("summary", {}, badge(protocol), " ", h("span", { class: "muted" }, [...new Set(lines.map((mount) => mount.client))].join(", "))),
      h("ul", { class: "mounts" }, lines.map(mountLine)));
  });
}

function source(setting) {
  if (setting.source === "inherited") return `inherited from ${setting.inherited_from}`;
  return { local: setting.place ?? "settings file", run: setting.place, preset: "preset", default: "default" }[setting.source];
}

const COLUMNS = [
  { title: "Property", cell: (setting) => h("span", { title: setting.brief }, setting.key) },
  { title: "Value", cell: (setting) => h("code", {}, setting.value || "–") },
  { title: "Source", cell: (setting) => h("span", { class: "muted" }, source(setting)) },
];

// Another name, and the end of the sharing.
function changes(context, share, all) {
  const place = h("div", {});
  const close = () => replace(place);
  const rename = () => {
    const name = h("input", { "aria-label": `New name of ${share.name}`, required: true, value: share.name, spellcheck: "false" });
    replace(place, h("form", { class: "row editor", onkeydown: (event) => { if (event.key === "Escape") close(); }, onsubmit: async (event) => {
      event.preventDefault();
      if (await context.doing(() => post("/v1/shares/rename", { name: share.name, new: name.value }))) location.hash = linkOf(name.value);
    } }, h("span", { class: "grow" }, name), h("button", { type: "button", onclick: close }, "Cancel"), h("button", { type: "submit", class: "primary" }, "Rename")));
    name.focus();
  };
  const end = async () => {
    const below = all.filter((other) => other.name.startsWith(`${share.name}/`)).map((other) => other.name);
    const text = `Clients lose it${below.length ? `, and ${below.join(", ")} below it` : ""}. All files stay in ${share.path}. The page Settings can take this back.`;
    if (await context.confirm(`Stop sharing ${share.name}?`, text, "Stop sharing")) {
      if (await context.doing(() => post("/v1/shares/remove", { name: share.name, recursive: below.length > 0 }))) location.hash = "#/shares";
    }
  };
  const button = (text, onclick) => h("button", { type: "button", class: "small", "aria-label": `${text.replace("…", "")}: ${share.name}`, onclick }, text);
  return [h("div", { class: "row end" }, button("Rename…", rename), button("Stop sharing…", end)), place];
}

function card(context, share, properties, all) {
  const set = properties.filter((setting) => setting.source !== "default");
  const every = h("div", {});
  const more = h("details", { ontoggle: () => replace(every, more.open ? table(`All properties of ${share.name}`, COLUMNS, properties, "") : null) },
    h("summary", {}, `All ${properties.length} properties`), every);
  const people = h("div", {});
  const who = h("details", { class: "who-may", ontoggle: async () => {
    if (!who.open) return replace(people);
    try {
      replace(people, await access(share.name));
    } catch (error) {
      replace(people, h("p", { class: "error", role: "alert" }, error.message));
    }
  } }, h("summary", {}, "Who may enter"), people);
  return h("article", { class: "card share", "data-share": share.name },
    h("div", { class: "row" }, h("h2", { class: "grow clip" }, share.name), share.read_only ? h("span", { class: "badge" }, "read-only") : null,
      h("a", { href: `#/rights?share=${encodeURIComponent(share.name)}`, class: "button small", "aria-label": `Change who may do what in ${share.name}` }, "Rights"),
      h("a", { href: `#/settings?share=${encodeURIComponent(share.name)}`, class: "button small", "aria-label": `Change the settings of ${share.name}` }, "Settings")),
    h("p", { class: "muted clip" }, share.path),
    h("ul", { class: "plain small" }, lines(listsOf(properties).lists).map((line) => h("li", {}, line))),
    h("h3", {}, "How clients mount it"),
    share.mounts.length ? mounts(share) : h("p", { class: "muted" }, "No protocol shows it."),
    who,
    h("h3", {}, "Properties that are set"),
    table(`Properties of ${share.name}`, COLUMNS, set.filter((setting) => setting.key !== "name"), "All have their defaults."),
    more,
    changes(context, share, all));
}

// Who may do what, in a few words for a row.
function inShort(properties) {
  const { lists } = listsOf(properties);
  const all = lines(lists);
  if (all.length === 0) {
    const of = (key) => properties.find((setting) => setting.key === key)?.value;
    const named = [of("users"), of("groups")].filter(Boolean).join(", ");
    return named || (of("guests") === "true" ? "everyone, and guests" : "everyone with an account");
  }
  return [...new Set(SETTINGS.flatMap((key) => lists[key] ?? []))].map(words).join(", ");
}

const linkOf = (share) => `#/shares?${new URLSearchParams({ share })}`;
const inFiles = (share) => `#/files?${new URLSearchParams({ share })}`;

// A row for each share: twenty fit on a screen.
function list(shares, of, spaces) {
  const free = (share) => {
    const space = spaces.get(share.name);
    return space?.available === undefined || space.available === null ? "–" : bytes(space.available);
  };
  const links = (share) => h("span", { class: "links" },
    [[inFiles(share.name), "Files", "Files of"], [`#/rights?${new URLSearchParams({ share: share.name })}`, "Who", "Who may do what in"], [linkOf(share.name), "Connect", "How to connect to"]]
      .map(([href, text, label]) => h("a", { href, "aria-label": `${label} ${share.name}` }, text)));
  return table("Shares", [
    { title: "Share", kind: "whole", cell: (share) => [h("a", { href: linkOf(share.name), class: "strong", "data-share": share.name }, share.name), share.read_only ? [" ", h("span", { class: "badge" }, "read-only")] : null] },
    { title: "Folder", kind: "cut", cell: (share) => h("span", { class: "muted", title: share.path }, share.path) },
    { title: "Who", kind: "cut", cell: (share) => { const text = inShort(of(share)); return h("span", { title: text }, text); } },
    { title: "Over", kind: "whole", cell: (share) => [...new Set(share.mounts.map((mount) => mount.protocol))].map((one) => [badge(one), " "]) },
    { title: "Free", numeric: true, cell: free },
    { title: "", cell: links },
  ], shares, "Nothing is found.", "dense");
}

// One share: how clients mount it, who may enter, its properties, its end.
async function one(main, context, name) {
  const place = h("div", {});
  main.append(heading(name, h("a", { class: "button small", href: "#/shares" }, "All shares"), h("a", { class: "button small", href: inFiles(name) }, "Files")), place);
  async function load() {
    const [shares, settings] = await Promise.all([get("/v1/shares", context.signal), get("/v1/settings", context.signal)]);
    if (place.querySelector("form.editor, details.who-may[open]")) return; // not under a person's hands
    const share = shares.find((other) => other.name === name);
    replace(place, share ? card(context, share, settings.settings.filter((setting) => setting.share === name), shares)
      : h("p", { class: "muted card" }, `There is no share ${name}: it has another name now, or is not served. `, h("a", { href: "#/shares" }, "All shares")));
  }
  context.on("settings", load);
  await load();
}

export default {
  title: "Shares",
  async show(main, context) {
    const query = new URLSearchParams(location.hash.split("?")[1] ?? "");
    if (query.has("share")) return one(main, context, query.get("share"));
    const made = query.get("made");
    const place = h("div", {});
    const form = h("div", {});
    const field = h("input", { type: "search", "aria-label": "Search shares", placeholder: "Search", oninput: () => draw() });
    const open = () => {
      const close = h("button", { type: "button", class: "small", onclick: () => { replace(form); add.focus(); } }, "Cancel");
      replace(form, h("section", { class: "card" }, h("div", { class: "row" }, h("h2", { class: "grow" }, "Share a folder"), close),
        shareForm(context, (name) => { location.hash = `#/shares?${new URLSearchParams({ made: name })}`; })));
      form.querySelector("input").focus();
    };
    const add = h("button", { type: "button", class: "primary", onclick: open }, "Share a folder…");
    main.append(heading("Shares", add), form, place);
    let all = { shares: [], settings: [], spaces: new Map() };
    const rows = h("div", {});
    function draw() {
      const wanted = field.value.toLowerCase();
      const of = (share) => all.settings.filter((setting) => setting.share === share.name);
      const found = all.shares.filter((share) => `${share.name} ${share.path}`.toLowerCase().includes(wanted));
      replace(rows, list(found, of, all.spaces));
    }
    async function load() {
      const [shares, settings, overview] = await Promise.all([get("/v1/shares", context.signal), get("/v1/settings", context.signal), get("/v1/overview", context.signal)]);
      all = { shares, settings: settings.settings, spaces: new Map(overview.shares.map((space) => [space.share, space])) };
      if (shares.length === 0) {
        replace(place, h("div", { class: "card empty" }, h("p", {}, h("b", {}, "No folder is shared yet.")), h("p", { class: "muted" }, "A share is a folder of this server that Macs, Windows and Linux can open. Choose a folder, say who may use it, and it is there at once."),
          h("div", { class: "row" }, h("a", { class: "button", href: "#/setup" }, "Set this server up"), h("button", { type: "button", onclick: open }, "Share a folder…"))));
        return;
      }
      if (!place.contains(rows)) replace(place, h("section", { class: "card" }, h("div", { class: "row toolbar" }, field, h("span", { class: "muted" }, shares.length === 1 ? "1 share" : `${shares.length} shares`)), rows));
      draw();
    }
    context.on("settings", load);
    await load();
    if (query.has("new")) open();
    if (made !== null) replace(form, await sharedCard(context, made, { mounts, access }));
    return undefined;
  },
};
