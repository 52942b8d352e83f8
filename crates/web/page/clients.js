// Who is connected, and what they have open.

import { get, post } from "./api.js";
import { badge, bytes, count, duration, h, heading, replace } from "./dom.js";
import { paged, table } from "./table.js";

const ACCESS = { r: "read", w: "write", rw: "read, write" };
const DENIED = (text) => [...text].map((letter) => ({ r: "reading", w: "writing", d: "removing" })[letter]).join(", ") || "–";

// The address of a client as people write it.
const address = (row) => row.appletalk ?? row.peer;

const APPLETALK = [
  ["Links", (known) => known.links, "No link is open.", [
    { title: "Link", kind: "whole", cell: (row) => row.link },
    { title: "Networks", cell: (row) => row.networks ?? "–" },
    { title: "Node", cell: (row) => row.node ?? "–" },
    { title: "Received", numeric: true, cell: (row) => count(row.received) },
    { title: "Sent", numeric: true, cell: (row) => count(row.sent) },
    { title: "Lost", numeric: true, cell: (row) => count(row.lost) },
    { title: "Damaged", numeric: true, cell: (row) => count(row.malformed) },
    { title: "", kind: "words", cell: (row) => row.problem ?? (row.node ? "works" : "looks for a free node") },
  ]],
  ["Networks", (known) => known.routes, "No router was heard, and no network has a number.", [
    { title: "Networks", cell: (row) => row.networks },
    { title: "Distance", numeric: true, cell: (row) => count(row.distance) },
    { title: "By", cell: (row) => row.by },
    { title: "Zones", kind: "words", cell: (row) => row.zones.join(", ") || "–" },
  ]],
  ["Heard", (known) => known.heard, "No other node was heard.", [
    { title: "Node", cell: (row) => row.node },
    { title: "Link", kind: "whole", cell: (row) => row.link },
    { title: "Ago", numeric: true, cell: (row) => duration(row.since_s) },
    { title: "", cell: (row) => (row.router ? "router" : null) },
  ]],
];

// Links, networks and nodes of AppleTalk.
function appletalk(context) {
  const body = h("div");
  const load = async () => {
    const known = (await get("/v1/status", context.signal)).appletalk;
    const name = known.name ? `The Chooser shows ${known.name}.` : "The server has no name there yet.";
    replace(body, h("p", { class: "muted small" }, known.router ? `${name} The server routes between its links.` : name),
      APPLETALK.map(([title, rows, empty, columns]) => [h("h2", {}, title), table(title, columns, rows(known), empty)]).flat());
  };
  return { element: body, load };
}

// A field for a message to one session, in place of the list's buttons.
function messageTo(context, row, place) {
  const field = h("input", { "aria-label": `Message to ${row.user ?? address(row)}`, maxlength: "500", required: true });
  const close = () => replace(place);
  replace(place, h("form", {
    class: "card row message",
    onkeydown: (event) => { if (event.key === "Escape") close(); },
    onsubmit: async (event) => {
      event.preventDefault();
      if (await context.doing(() => post("/v1/messages", { text: field.value, connection: row.peer }))) close();
    },
  }, h("b", {}, `To ${row.user ?? "the client"} at ${address(row)}`), h("span", { class: "grow" }, field), h("button", { type: "submit", class: "primary" }, "Send"), h("button", { type: "button", onclick: close }, "Cancel")));
  field.focus();
}

// Closes a file for all clients that have it open; their sessions go on.
function closeButton(context, row, load) {
  const name = row.file ?? `inode ${row.inode}`;
  return h("button", { type: "button", class: "small", "aria-label": `Close ${name}`, onclick: async () => {
    const text = `All clients of SMB and AFP that have it open lose it, and with it what they have not written yet. They stay connected.`;
    if (!await context.confirm(`Close ${name}?`, text, "Close it")) return;
    await context.doing(() => post("/v1/opens/close", { share: row.share, inode: row.inode }));
    document.activeElement?.blur();
    load();
  } }, "Close…");
}

const LISTS = {
  sessions: {
    title: "Sessions",
    path: "/v1/sessions",
    empty: "No client is connected.",
    columns: (context, load, place) => [
      { title: "Protocol", cell: (row) => badge(row.protocol) },
      { title: "User", cell: (row) => row.user ?? h("span", { class: "muted" }, row.protocol === "nfs" ? "–" : "not logged in") },
      { title: "Client", kind: "whole", cell: (row) => (row.tls ? `${address(row)} (TLS)` : address(row)) },
      { title: "Since", numeric: true, cell: (row) => duration(row.since_s) },
      { title: "Requests", numeric: true, cell: (row) => count(row.requests) },
      { title: "Received", numeric: true, cell: (row) => bytes(row.bytes_in) },
      { title: "Sent", numeric: true, cell: (row) => bytes(row.bytes_out) },
      {
        title: "",
        cell: (row) => h("div", { class: "row end" },
          row.protocol !== "afp" || !row.user ? null : h("button", {
            type: "button",
            class: "small",
            "aria-label": `Send a message to ${row.user ?? "the client"} at ${address(row)}`,
            onclick: () => messageTo(context, row, place),
          }, "Message…"),
          // A connection without a login has no session that could be ended.
          row.protocol === "nfs" || !row.user ? null : h("button", {
            type: "button",
            class: "small",
            "aria-label": `Disconnect ${row.user ?? "the client"} at ${address(row)}`,
            onclick: async () => {
              const text = `${row.user ?? "The client"} at ${address(row)} loses the connection. Changes that the client has not written yet may be lost.`;
              if (await context.confirm("Disconnect this client?", text, "Disconnect")) {
                await context.doing(() => post("/v1/disconnect", { connection: row.peer }));
                document.activeElement.blur();
                load();
              }
            },
          }, "Disconnect")),
      },
    ],
  },
  opens: {
    title: "Open files",
    path: "/v1/opens",
    empty: "No file is open.",
    columns: (context, load) => [
      { title: "Share", cell: (row) => row.share },
      { title: "File", cell: (row) => row.file ?? `inode ${row.inode}` },
      { title: "Opened by", cell: (row) => row.owner },
      { title: "To", cell: (row) => ACCESS[row.access] ?? row.access },
      { title: "Others are denied", cell: (row) => DENIED(row.deny) },
      { title: "", cell: (row) => h("div", { class: "row end" }, closeButton(context, row, load)) },
    ],
  },
  locks: {
    title: "Locks",
    path: "/v1/locks",
    empty: "No range is locked.",
    columns: () => [
      { title: "Share", cell: (row) => row.share },
      { title: "File", cell: (row) => row.file ?? `inode ${row.inode}` },
      { title: "Locked by", cell: (row) => row.owner },
      { title: "From", numeric: true, cell: (row) => count(row.start) },
      { title: "Bytes", numeric: true, cell: (row) => (row.length === 0 ? "to the end" : count(row.length)) },
      { title: "Kind", cell: (row) => (row.exclusive ? "exclusive" : "shared") },
    ],
  },
  leases: {
    title: "Leases",
    path: "/v1/leases",
    empty: "No client caches a file under a lease.",
    columns: () => [
      { title: "Share", cell: (row) => row.share },
      { title: "File", cell: (row) => row.file ?? `inode ${row.inode}` },
      { title: "Cached by", cell: (row) => row.owner },
      { title: "What", cell: (row) => [...row.caching].map((letter) => ({ r: "contents", w: "changes", h: "the open" })[letter]).join(", ") },
      { title: "", cell: (row) => (row.recalled ? h("span", { class: "badge low" }, "is being recalled") : null) },
    ],
  },
  appletalk: { title: "AppleTalk", show: appletalk, isKnown: (status) => Boolean(status.appletalk) },
};

function message(context) {
  const field = h("input", { id: "message", maxlength: "500", required: true, placeholder: "The server restarts at noon." });
  return h("form", {
    class: "card row message",
    onsubmit: async (event) => {
      event.preventDefault();
      if (await context.doing(() => post("/v1/messages", { text: field.value }))) field.value = "";
    },
  }, h("label", { for: "message" }, "Message to users"), h("span", { class: "grow" }, field), h("button", { type: "submit" }, "Send"),
  h("span", { class: "muted small" }, "AFP clients show it on their screens. Other protocols have no messages."));
}

export default {
  title: "Connected now",
  async show(main, context) {
    const place = h("div", { class: "card" });
    const single = h("div", {});
    let load = async () => {};
    const choose = async (name) => {
      const list = LISTS[name];
      const later = () => load().catch(() => {});
      const shown = list.show ? list.show(context) : paged(context, { path: list.path, caption: list.title, columns: list.columns(context, later, single), empty: list.empty });
      load = shown.load;
      place.replaceChildren(shown.element);
      for (const button of choice.children) button.setAttribute("aria-pressed", String(button.dataset.list === name));
      await load();
    };
    const status = await get("/v1/status", context.signal);
    const lists = Object.entries(LISTS).filter(([, { isKnown }]) => !isKnown || isKnown(status));
    const choice = h("div", { class: "choice", role: "group", "aria-label": "List" }, lists.map(([name, { title }]) =>
      h("button", { type: "button", "data-list": name, onclick: () => choose(name).catch((error) => context.toast(error.message, "bad")) }, title)));
    main.append(heading("Connected now", choice), message(context), single, place);
    await choose("sessions");
    context.on("holdings", () => load());
    await context.every(5000, () => load());
  },
};
