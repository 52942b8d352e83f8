// The disks that iSCSI serves: made, resized, copied, removed.

import { get, post } from "./api.js";
import { bar, bytes, copyButton, h, heading, replace } from "./dom.js";

// A form in the card of a LUN, with one field. `send(text)` answers whether it is done.
function small(label, value, hint, button, send, close, copies = false) {
  const copy = h("input", { type: "checkbox", id: "lun-copy" });
  const id = `lun-field-${label.replace(/\W/g, "-")}`;
  const field = h("input", { id, required: true, value, spellcheck: "false" });
  return h("form", { class: "editor", onkeydown: (event) => { if (event.key === "Escape") close(); }, onsubmit: async (event) => { event.preventDefault(); if (await send(field.value, copy.checked)) close(); } },
    h("label", { for: id }, label), field, hint ? h("p", { class: "muted small" }, hint) : null,
    copies ? h("div", { class: "row" }, copy, h("label", { for: "lun-copy", class: "grow" }, "copy all its data: for file systems that cannot share blocks; no initiator may be logged in meanwhile")) : null,
    h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, button), h("button", { type: "button", class: "quiet", onclick: close }, "Cancel")));
}

// Starts a job, and shows the page of jobs.
async function job(context, request) {
  const done = await context.doing(async () => { await post("/v1/jobs", request); return { lines: ["The job has begun"] }; });
  if (done) location.hash = "#/jobs";
  return done;
}

function buttons(context, lun, place, again) {
  const { share, name } = lun;
  const full = `${share}/${name}`;
  const close = () => replace(place);
  const show = (form) => { replace(place, form); place.querySelector("input").focus(); };
  const button = (text, onclick) => h("button", { type: "button", class: "small", "aria-label": `${text} ${full}`, onclick }, text);
  const resize = (shrink) => async (size) => {
    const done = await context.doing(() => post("/v1/luns/resize", { share, name, size, shrink }));
    if (done) await again();
    return done;
  };
  const remove = async () => {
    const text = lun.own_file ? "All its data are lost." : "Its file stays, as it was not made by the server.";
    const users = lun.sessions.length ? ` ${lun.sessions.length} initiators are logged in and lose the disk at once.` : "";
    if (!await context.confirm(`Remove the LUN ${full}?`, text + users, "Remove")) return;
    await context.doing(() => post("/v1/luns/remove", { share, name, keep_file: !lun.own_file, force: lun.sessions.length > 0 }));
    document.activeElement.blur();
    await again();
  };
  return h("div", { class: "row end" },
    lun.snapshot_of || lun.from_settings ? null : button("Resize", () => show(small("New size", bytes(lun.size).replace(/,/g, ""), "With a unit, such as 500G. A LUN only grows here: a smaller size is refused.", "Resize", resize(false), close))),
    lun.snapshot_of ? null : button("Snapshot", () => show(small("Name of the snapshot", "", "A read-only LUN with the contents of this moment.", "Take it", (word, copy) => job(context, { kind: "snapshot-lun", share, name, new: word, copy }), close, true))),
    button("Clone", () => show(small("Name of the clone", "", "Another LUN with the same contents.", "Clone", (word, copy) => job(context, { kind: "clone-lun", share, name, new: word, copy }), close, true))),
    lun.from_settings ? h("span", { class: "muted small" }, "made by the settings file") : button("Remove", remove));
}

function card(context, lun, again) {
  const used = lun.used === null || lun.used === undefined ? null : lun.used / lun.size;
  const sessions = lun.sessions.map((session) => h("li", {}, h("b", { class: "clip" }, session.initiator), h("span", { class: "muted" }, ` ${session.user ?? ""} ${session.peers.join(", ")}`)));
  const place = h("div", {});
  return h("article", { class: "card", "data-lun": `${lun.share}/${lun.name}` },
    h("div", { class: "row" }, h("h2", { class: "grow clip" }, `${lun.share}/${lun.name}`),
      lun.read_only ? h("span", { class: "badge" }, "read-only") : null,
      h("span", { class: `badge ${lun.served ? "good" : "bad"}` }, lun.served ? "served" : "not served")),
    lun.problem ? h("p", { class: "error" }, lun.problem) : null,
    lun.active_at ? h("p", { class: "muted" }, `The server ${lun.active_at} of the cluster serves it now.`) : null,
    lun.snapshot_of ? h("p", { class: "muted" }, `A snapshot of ${lun.snapshot_of}`) : null,
    h("div", { class: "row" }, h("span", { class: "grow" }, `${bytes(lun.size)}, blocks of ${lun.block_size} bytes`), h("span", { class: "muted" }, used === null ? "" : `${bytes(lun.used)} on the disk`)),
    used === null ? null : bar(Math.min(used, 0.95), `${bytes(lun.used)} of ${bytes(lun.size)} are on the disk`),
    h("dl", {}, h("dt", {}, "Target"), h("dd", {}, h("code", {}, lun.target)), h("dt", {}, "Number"), h("dd", {}, String(lun.number)), h("dt", {}, "Identifier"), h("dd", {}, h("code", {}, lun.naa)), h("dt", {}, "File"), h("dd", {}, lun.file)),
    h("h3", {}, "Logged in"),
    sessions.length ? h("ul", {}, sessions) : h("p", { class: "muted" }, "No initiator is logged in."),
    h("h3", {}, "How initiators reach it"),
    h("ul", { class: "mounts" }, lun.connect.map((mount) => h("li", {},
      h("div", { class: "row" }, h("span", { class: "grow" }, mount.client), copyButton(mount.line, `the line for ${mount.client}`)),
      h("code", { class: "line", tabindex: "0" }, mount.line)))),
    buttons(context, lun, place, again), place);
}

function newForm(context, shares, then) {
  const share = h("select", { id: "lun-share" }, shares.map((one) => h("option", { value: one.name }, one.name)));
  const name = h("input", { id: "lun-name", required: true, spellcheck: "false", placeholder: "scratch" });
  const size = h("input", { id: "lun-size", required: true, placeholder: "500G" });
  const block = h("select", { id: "lun-block" }, h("option", { value: "512" }, "512 bytes"), h("option", { value: "4096" }, "4096 bytes"));
  const only = h("input", { id: "lun-initiators", placeholder: "all; or iqn.1993-08.org.debian:*", spellcheck: "false" });
  return h("form", {
    class: "card",
    onsubmit: async (event) => {
      event.preventDefault();
      const initiators = only.value.split(/[\s,]+/).filter(Boolean);
      if (await context.doing(() => post("/v1/luns", { share: share.value, name: name.value, size: size.value, block_size: Number(block.value), initiators }))) await then();
    },
  }, h("h2", {}, "Make a LUN"),
  h("div", { class: "fields" }, h("label", { for: "lun-share" }, "Share that keeps its file"), share, h("label", { for: "lun-name" }, "Name"), name,
    h("label", { for: "lun-size" }, "Size, with its unit"), size, h("label", { for: "lun-block" }, "Blocks"), block, h("label", { for: "lun-initiators" }, "Initiators that see it"), only),
  h("p", { class: "muted small" }, "It takes space on the disk as initiators write."),
  h("div", { class: "row end" }, h("button", { type: "submit", class: "primary" }, "Make it")));
}

export default {
  title: "Disks (LUNs)",
  async show(main, context) {
    const list = h("div", { class: "cards" });
    const form = h("div", {});
    const shares = await get("/v1/shares", context.signal);
    const add = h("button", { type: "button", onclick: () => {
      replace(form, newForm(context, shares, async () => { replace(form); add.focus(); await load(); }));
      form.querySelector("select, input").focus();
    } }, "Make a LUN…");
    main.append(heading("Disks (LUNs)", shares.length ? add : null), form, list);
    const load = async () => {
      const luns = await get("/v1/luns", context.signal).catch((error) => {
        if (error.status === 409) return [];
        throw error;
      });
      if (list.querySelector(".editor") || (list.contains(document.activeElement) && document.activeElement.tagName === "BUTTON")) return;
      replace(list, luns.length ? luns.map((lun) => card(context, lun, load)) : h("p", { class: "muted card" }, "There is no LUN. A LUN is a disk for one machine, which sees it as its own."));
    };
    await context.every(10000, load);
  },
};
