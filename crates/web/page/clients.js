// Who is connected, and what they have open.

import { post } from "./api.js";
import { badge, bytes, count, duration, h, heading } from "./dom.js";
import { paged } from "./table.js";

const ACCESS = { r: "read", w: "write", rw: "read, write" };
const DENIED = (text) => [...text].map((letter) => ({ r: "reading", w: "writing", d: "removing" })[letter]).join(", ") || "–";

const LISTS = {
  sessions: {
    title: "Sessions",
    path: "/v1/sessions",
    empty: "No client is connected.",
    columns: (context, load) => [
      { title: "Protocol", cell: (row) => badge(row.protocol) },
      { title: "User", cell: (row) => row.user ?? "–" },
      { title: "Client", cell: (row) => row.peer },
      { title: "Since", numeric: true, cell: (row) => duration(row.since_s) },
      { title: "Requests", numeric: true, cell: (row) => count(row.requests) },
      { title: "Received", numeric: true, cell: (row) => bytes(row.bytes_in) },
      { title: "Sent", numeric: true, cell: (row) => bytes(row.bytes_out) },
      {
        title: "",
        cell: (row) => (row.protocol === "nfs" ? null : h("button", {
          type: "button",
          class: "small",
          "aria-label": `Disconnect ${row.user ?? "the client"} at ${row.peer}`,
          onclick: async () => {
            const text = `${row.user ?? "The client"} at ${row.peer} loses the connection. Changes that the client has not written yet may be lost.`;
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
    columns: () => [
      { title: "Share", cell: (row) => row.share },
      { title: "File", cell: (row) => row.file ?? `inode ${row.inode}` },
      { title: "Opened by", cell: (row) => row.owner },
      { title: "To", cell: (row) => ACCESS[row.access] ?? row.access },
      { title: "Others are denied", cell: (row) => DENIED(row.deny) },
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
  title: "Clients",
  async show(main, context) {
    const place = h("div", { class: "card" });
    let load = async () => {};
    const choose = async (name) => {
      const list = LISTS[name];
      const later = () => load().catch(() => {});
      const shown = paged(context, { path: list.path, caption: list.title, columns: list.columns(context, later), empty: list.empty });
      load = shown.load;
      place.replaceChildren(shown.element);
      for (const button of choice.children) button.setAttribute("aria-pressed", String(button.dataset.list === name));
      await load();
    };
    const choice = h("div", { class: "choice", role: "group", "aria-label": "List" }, Object.entries(LISTS).map(([name, { title }]) =>
      h("button", { type: "button", "data-list": name, onclick: () => choose(name).catch((error) => context.toast(error.message, "bad")) }, title)));
    main.append(heading("Clients", choice), message(context), place);
    await choose("sessions");
    context.on("holdings", () => load());
    await context.every(5000, () => load());
  },
};
