// Tables, and long lists of which the server sends one part at a time.

import { get } from "./api.js";
import { count, h, replace } from "./dom.js";

const PAGE = 100;

// columns: [{title, cell: (row) => text or element, numeric, kind}]; kinds: "whole" is not broken into lines, "words" not
// within words, "cut" ends with dots where there is no room, "buttons" stand side by side. `kindOf`: "dense" for long lists.
export function table(caption, columns, rows, empty, kindOf = null) {
  if (rows.length === 0) return h("p", { class: "muted empty" }, empty);
  const kind = (column) => (column.numeric ? "num" : column.kind ?? null);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { class: kindOf },
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col", class: kind(column) }, column.title || h("span", { class: "hidden" }, "Actions"))))),
      h("tbody", {}, rows.map((row) => h("tr", {}, columns.map((column) => h("td", { class: kind(column), "data-title": column.title || null }, h("div", {}, column.cell(row)))))))));
}

// A list from `path` with a search field and buttons to the other parts. Returns the element and a function that loads it
// again.
export function paged(context, { path, caption, columns, empty }) {
  let offset = 0;
  let search = "";
  let asked = 0;
  const body = h("div");
  const where = h("span", { class: "muted", "aria-live": "polite" });
  const button = (text, step) => h("button", { type: "button", onclick: () => { offset = Math.max(0, offset + step * PAGE); load(); } }, text);
  const [before, after] = [button("Previous", -1), button("Next", 1)];
  let wait;
  const field = h("input", {
    type: "search",
    "aria-label": `Search ${caption}`,
    placeholder: "Search",
    oninput: (event) => {
      clearTimeout(wait);
      wait = setTimeout(() => { search = event.target.value; offset = 0; load().catch(() => {}); }, 250);
    },
  });
  async function load() {
    asked += 1;
    const mine = asked;
    const query = new URLSearchParams({ offset, limit: PAGE, search });
    const { total, rows } = await get(`${path}${path.includes("?") ? "&" : "?"}${query}`, context.signal);
    if (mine !== asked) return;
    if (rows.length === 0 && offset > 0) {
      offset = Math.max(0, Math.floor((total - 1) / PAGE) * PAGE);
      return load();
    }
    where.textContent = total === 0 ? "" : `${count(offset + 1)}–${count(offset + rows.length)} of ${count(total)}`;
    before.disabled = offset === 0;
    after.disabled = offset + rows.length >= total;
    // A button that has the focus stays: the list is not drawn again under a person's hands.
    if (!body.contains(document.activeElement) || document.activeElement.tagName !== "BUTTON") {
      replace(body, table(caption, columns, rows, search ? "Nothing is found." : empty));
    }
  }
  const element = h("div", {}, h("div", { class: "row toolbar" }, field, h("span", { class: "grow" }), where, before, after), body);
  return { element, load };
}
