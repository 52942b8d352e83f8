// The folders of the server, to choose one that is shared.

import { post } from "./api.js";
import { h, replace } from "./dom.js";

// A list that opens below the button. `choose(path)` gets the folder. `kept` is the own password of this form.
export function folderBrowser(context, kept, choose) {
  const place = h("div", { class: "browser", id: "browser", hidden: true });
  const button = h("button", { type: "button", "aria-expanded": "false", "aria-controls": "browser", onclick: () => (place.hidden ? go(null) : close()) }, "Browse…");

  function close() {
    place.hidden = true;
    replace(place);
    button.setAttribute("aria-expanded", "false");
  }
  async function go(path) {
    let found;
    try {
      found = await post("/v1/folders", path === null ? {} : { path }, kept);
    } catch (error) {
      context.failed(error);
      return;
    }
    place.hidden = false;
    button.setAttribute("aria-expanded", "true");
    draw(found);
    place.querySelector("button")?.focus();
  }
  const step = (text, path) => h("button", { type: "button", class: "quiet small", onclick: () => go(path) }, text);

  function entry(folder) {
    return h("li", { class: "row" },
      h("button", { type: "button", class: "quiet grow clip folder", onclick: () => go(folder.path), "aria-label": `Open ${folder.name}` }, folder.name),
      folder.shares.map((share) => h("span", { class: "badge" }, `shared as ${share}`)));
  }
  function draw({ path, above, folders, more }) {
    const name = h("input", { "aria-label": "Name of a new folder", placeholder: "New folder", maxlength: "255", spellcheck: "false", autocapitalize: "none",
      onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); make(); } } });
    const make = () => {
      const wrong = name.value.includes("/") || [".", ".."].includes(name.value.trim());
      name.setCustomValidity(wrong ? "A name has no slash." : name.value.trim() ? "" : "Give the folder a name.");
      if (!name.reportValidity()) return;
      choose(`${path === "/" ? "" : path}/${name.value.trim()}`);
      close();
    };
    replace(place,
      h("div", { class: "row" }, step("All places", null), above ? step("Up", above) : null,
        path ? h("code", { class: "grow clip" }, path) : h("span", { class: "grow muted" }, "Folders that may be shared from here"),
        path ? h("button", { type: "button", class: "small", onclick: () => { choose(path); close(); } }, "Choose this folder") : null),
      folders.length ? h("ul", { class: "plain folders" }, folders.map(entry)) : h("p", { class: "muted empty" }, path ? "It has no folders." : "None of share-roots is there."),
      more ? h("p", { class: "muted small" }, "There are more: type the path.") : null,
      path ? h("div", { class: "row" }, h("span", { class: "grow" }, name), h("button", { type: "button", class: "small", onclick: make }, "Make it here")) : null);
  }
  place.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); close(); button.focus(); } });
  return { button, place };
}
