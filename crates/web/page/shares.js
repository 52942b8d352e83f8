// The shares: how clients mount them, and their properties.

import { get, post } from "./api.js";
import { access } from "./access.js";
import { badge, copyButton, h, heading, replace, title } from "./dom.js";
import { sharedCard, shareForm } from "./newshare.js";
import { listsOf, lines } from "./roles.js";
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
function mounts(share) {
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
  return { local: setting.place ?? "settings file", run: setting.place, default: "default" }[setting.source];
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
      if (await context.doing(() => post("/v1/shares/rename", { name: share.name, new: name.value }))) close();
    } }, h("span", { class: "grow" }, name), h("button", { type: "button", onclick: close }, "Cancel"), h("button", { type: "submit", class: "primary" }, "Rename")));
    name.focus();
  };
  const end = async () => {
    const below = all.filter((other) => other.name.startsWith(`${share.name}/`)).map((other) => other.name);
    const text = `Clients lose it${below.length ? `, and ${below.join(", ")} below it` : ""}. All files stay in ${share.path}. The page Settings can take this back.`;
    if (await context.confirm(`Stop sharing ${share.name}?`, text, "Stop sharing")) await context.doing(() => post("/v1/shares/remove", { name: share.name, recursive: below.length > 0 }));
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

export default {
  title: "Shares",
  async show(main, context) {
    const list = h("div", { class: "cards" });
    const form = h("div", {});
    const query = new URLSearchParams(location.hash.split("?")[1] ?? "");
    const made = query.get("made");
    const open = () => {
      const close = h("button", { type: "button", class: "small", onclick: () => { replace(form); add.focus(); } }, "Cancel");
      replace(form, h("section", { class: "card" }, h("div", { class: "row" }, h("h2", { class: "grow" }, "Share a folder"), close),
        shareForm(context, (name) => { location.hash = `#/shares?${new URLSearchParams({ made: name })}`; })));
      form.querySelector("input").focus();
    };
    const add = h("button", { type: "button", onclick: open }, "Share a folder…");
    main.append(heading("Shares", add), form, list);
    async function load() {
      const [shares, settings] = await Promise.all([get("/v1/shares", context.signal), get("/v1/settings", context.signal)]);
      const of = (share) => settings.settings.filter((setting) => setting.share === share.name);
      replace(list, shares.length
        ? shares.map((share) => card(context, share, of(share), shares))
        : h("p", { class: "muted" }, "No folder is shared."));
    }
    context.on("settings", load);
    await load();
    if (query.has("new")) open();
    if (made !== null) replace(form, await sharedCard(context, made, { mounts, access }));
  },
};
