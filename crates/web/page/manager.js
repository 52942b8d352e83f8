// What a person does with files: sends and receives them, makes folders, renames, moves and removes.

import { get, post } from "./api.js";
import { bytes, count, duration, h, replace } from "./dom.js";

const FOLDERS = 1000;
const PICTURES = ["png", "jpg", "jpeg", "gif", "webp", "avif"];
const LARGEST_PICTURE = 20 * 1024 * 1024;
const LARGEST_THUMBNAIL = 4 * 1024 * 1024;

const BIN = ".bin";
const isInBin = (path) => path === BIN || path.startsWith(`${BIN}/`);
const inside = (path, name) => (path ? `${path}/${name}` : name);
const above = (path) => path.split("/").slice(0, -1).join("/");
const last = (path) => path.split("/").pop();

const isPicture = (path) => PICTURES.includes(last(path).split(".").pop().toLowerCase());

export const dataOf = (share, path, shown = false) => `/v1/files/data?${new URLSearchParams({ share, path, ...(shown ? { shown } : {}) })}`;

export const downloadLink = (share, path, text = "Download", label = `Download ${last(path)}`) =>
  h("a", { class: "button small", href: dataOf(share, path), download: last(path), "aria-label": label }, text);

// The picture itself, if the file is one.
export function preview(file) {
  if (file.kind !== "file" || file.size > LARGEST_PICTURE || !isPicture(file.path)) return null;
  const picture = h("img", { class: "preview", src: dataOf(file.share, file.path, true), alt: `The picture ${last(file.path)}`, onerror: () => picture.remove() });
  return picture;
}

// A small picture of a file that was found, if it is one.
export function thumbnail({ share, path, size, kind }) {
  if (kind !== "image" || size > LARGEST_THUMBNAIL || !isPicture(path)) return null;
  const picture = h("img", { class: "thumbnail", src: dataOf(share, path, true), alt: "", loading: "lazy", width: 40, height: 40, onerror: () => picture.remove() });
  return picture;
}

// One file to the server, with how far it is. Resolves to the answer.
function send(share, path, file, replaces, progress, signal) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/v1/files/data?${new URLSearchParams({ share, path, replace: replaces })}`);
    request.setRequestHeader("X-Fourfold-Console", "1");
    request.upload.addEventListener("progress", (event) => progress(event.loaded, event.total));
    const answer = () => {
      try {
        return JSON.parse(request.responseText);
      } catch {
        return {};
      }
    };
    request.addEventListener("load", () => resolve({ ok: request.status === 200, ...answer() }));
    request.addEventListener("error", () => resolve({ ok: false, errors: ["The server does not answer, or has ended the connection."] }));
    request.addEventListener("abort", () => resolve({ ok: false, errors: ["It was cancelled."] }));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

// The buttons of a folder, a place for what they ask, and the list of files on their way. `again` draws the folder anew.
export function manager(context, share, path, again) {
  const place = h("div", {});
  const uploads = h("ul", { class: "plain uploads", "aria-label": "Uploads", "aria-live": "polite" });
  const close = () => replace(place);

  // A form with one field. `work(text)` answers whether it is done.
  function ask(title, label, value, button, work) {
    const field = h("input", { id: "file-word", required: true, value, maxlength: "255", spellcheck: "false", autocomplete: "off" });
    replace(place, h("form", { class: "row editor", onkeydown: (event) => { if (event.key === "Escape") close(); }, onsubmit: async (event) => {
      event.preventDefault();
      if (field.value.includes("/")) { field.setCustomValidity("A name has no slash."); field.reportValidity(); field.setCustomValidity(""); return; }
      if (await work(field.value)) { close(); await again(); }
    } }, h("label", { for: "file-word" }, label), h("span", { class: "grow" }, field), h("button", { type: "button", onclick: close }, "Cancel"), h("button", { type: "submit", class: "primary" }, button)));
    field.focus();
    const end = value.lastIndexOf(".");
    field.setSelectionRange(0, end > 0 ? end : value.length);
  }

  // Whether the folder has a file of this name: what would be refused need not be sent first.
  async function has(name) {
    const { rows } = await get(`/v1/files?${new URLSearchParams({ share, path, search: name })}`, context.signal).catch(() => ({ rows: [] }));
    return rows.some((row) => row.name === name && row.kind === "file");
  }

  async function sendOne(file) {
    const [bar, state] = [h("progress", { max: "1", value: "0", "aria-label": `Upload of ${file.name}` }), h("span", { class: "muted small" }, bytes(file.size))];
    const stop = new AbortController();
    const cancel = h("button", { type: "button", class: "small", "aria-label": `Cancel the upload of ${file.name}`, onclick: () => stop.abort() }, "Cancel");
    const row = h("li", { class: "row" }, h("span", { class: "grow clip" }, file.name), bar, state, cancel);
    uploads.append(row);
    const signal = AbortSignal.any([stop.signal, context.signal]);
    const progress = (done, all) => { bar.value = all ? done / all : 0; state.textContent = `${bytes(done)} of ${bytes(all)}`; };
    const mayReplace = () => context.confirm(`Replace ${file.name}?`, "There is a file of that name. Its contents become those of the new one; what Macs have kept with it stays.", "Replace");
    const isThere = await has(file.name);
    if (isThere && !await mayReplace()) { row.remove(); return false; }
    let answer = await send(share, inside(path, file.name), file, isThere, progress, signal);
    // Somebody else may have made it meanwhile.
    if (!answer.ok && answer.needs === "replace" && await mayReplace()) answer = await send(share, inside(path, file.name), file, true, progress, signal);
    row.remove();
    if (!answer.ok) context.toast(`${file.name}: ${(answer.errors ?? ["it was not received"]).join("\n")}`, "bad");
    return answer.ok;
  }
  // One after the other: they share one way.
  async function upload(files) {
    let done = 0;
    for (const file of files) {
      if (context.signal.aborted) return;
      if (await sendOne(file)) done += 1;
    }
    if (done > 0) context.toast(done === 1 ? `${files[0].name} is uploaded` : `${count(done)} files are uploaded`);
    await again();
  }
  const chooser = h("input", { type: "file", id: "upload", multiple: true, class: "hidden", tabindex: "-1", "aria-label": "Files to upload", onchange: () => { const files = [...chooser.files]; chooser.value = ""; upload(files); } });

  const makeFolder = () => ask("New folder", "Name of the new folder", "", "Make it", (name) => context.doing(() => post("/v1/files/folder", { share, path: inside(path, name) })));
  const rename = (row) => ask("Rename", "New name", row.name, "Rename", (name) => context.doing(() => post("/v1/files/move", { share, path: inside(path, row.name), to: inside(path, name) })));
  const remove = async (row) => {
    const isFolder = row.kind === "folder";
    const { bin } = await get(`/v1/files?${new URLSearchParams({ share, path: "", limit: 1 })}`, context.signal);
    const all = isFolder ? "All that is in it is removed, too. " : "";
    const toBin = bin !== null && !isInBin(path);
    const text = toBin ? `${all}It stays in the bin of the share (${BIN}) for ${duration(bin)}.`
      : `${all}It is gone at once${bin === null ? ", as the share has no bin (its setting bin makes one)" : ""}. Snapshots of the share keep what they have.`;
    if (!await context.confirm(`Remove ${row.name}?`, text, toBin ? "Into the bin" : "Remove")) return;
    await context.doing(() => post("/v1/files/remove", { share, path: inside(path, row.name), recursive: isFolder }));
    document.activeElement?.blur();
    await again();
  };
  // Where something in the bin was: below the account and the time of its removal.
  const former = (row) => inside(path, row.name).split("/").slice(3).join("/");
  const putBack = async (row) => {
    await context.doing(() => post("/v1/files/move", { share, path: inside(path, row.name), to: former(row) }));
    document.activeElement?.blur();
    await again();
  };
  const move = (row) => chooseFolder(context, share, path, place, `Move ${row.name} to`, async (to) => {
    if (await context.doing(() => post("/v1/files/move", { share, path: inside(path, row.name), to: inside(to, row.name) }))) { close(); await again(); }
  });
  const button = (text, row, work) => h("button", { type: "button", class: "small", "aria-label": `${text.replace("…", "")} ${row.name}`, onclick: () => work(row) }, text);
  return {
    place: h("div", {}, place, uploads, chooser),
    buttons: [h("button", { type: "button", class: "small primary", onclick: () => chooser.click() }, "Upload…"), h("button", { type: "button", class: "small", id: "new-folder", onclick: makeFolder }, "New folder…")],
    actions: (row) => [isInBin(path) && former(row) ? button("Put back", row, putBack) : null, button("Rename…", row, rename), button("Move…", row, move), button("Remove…", row, remove)],
    // Files can be dropped on this element.
    takesFiles: (element) => {
      element.addEventListener("dragover", (event) => { if (event.dataTransfer.types.includes("Files")) { event.preventDefault(); element.classList.add("dropping"); } });
      element.addEventListener("dragleave", () => element.classList.remove("dropping"));
      element.addEventListener("drop", (event) => {
        event.preventDefault();
        element.classList.remove("dropping");
        const files = [...event.dataTransfer.files];
        if (files.length) upload(files);
      });
    },
  };
}

// The folders of the share, to choose one of them.
async function chooseFolder(context, share, path, place, title, choose) {
  let listed;
  try {
    listed = await get(`/v1/files?${new URLSearchParams({ share, path, limit: FOLDERS })}`, context.signal);
  } catch (error) {
    context.failed(error);
    return;
  }
  const go = (to) => chooseFolder(context, share, to, place, title, choose);
  const folders = listed.rows.filter((row) => row.kind === "folder");
  const entry = (row) => h("li", {}, h("button", { type: "button", class: "quiet folder grow clip", "aria-label": `Open ${row.name}`, onclick: () => go(inside(path, row.name)) }, row.name));
  replace(place, h("div", { class: "browser", id: "move-to", onkeydown: (event) => { if (event.key === "Escape") replace(place); } },
    h("div", { class: "row" }, h("b", {}, title), h("code", { class: "grow clip" }, `${share}/${path}`), path ? h("button", { type: "button", class: "small", onclick: () => go(above(path)) }, "Up") : null),
    folders.length ? h("ul", { class: "plain folders" }, folders.map(entry)) : h("p", { class: "muted empty" }, "It has no folders."),
    h("div", { class: "row end" }, h("button", { type: "button", class: "small", onclick: () => replace(place) }, "Cancel"), h("button", { type: "button", class: "small primary", onclick: () => choose(path) }, "Move it here"))));
  place.querySelector("button")?.focus();
}
