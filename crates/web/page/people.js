// People and groups, chosen by their names.

import { get } from "./api.js";
import { h, replace } from "./dom.js";
import { words } from "./roles.js";

// All who can be chosen, and who is at the page.
export async function people(signal) {
  const [accounts, groups, { user }] = await Promise.all([get("/v1/accounts", signal), get("/v1/groups", signal), get("/v1/login", signal)]);
  return { me: user, accounts: accounts.map((one) => one.name), groups: groups.map((one) => one.name) };
}

// Who can have a role: accounts, groups as @NAME, and the two words for many.
export const everybody = (known) => [...known.accounts, ...known.groups.map((name) => `@${name}`), "everyone", "guests"];

const MOST = 1000;

// A field with the list of those who are chosen, of `offered` or others that are typed. `then` is called when the list changes.
export function picker({ id, label, offered, placeholder, chosen = [], show = words, then = () => {} }) {
  let list = [...chosen];
  const chips = h("ul", { class: "chips", "aria-label": `Chosen: ${label}` });
  const field = h("input", {
    id, list: `${id}-list`, autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength: "256", placeholder,
    onkeydown: (event) => {
      if (event.key === "Enter" && field.value.trim()) { event.preventDefault(); add(); }
      if (event.key === "Backspace" && field.value === "" && list.length) drop(list[list.length - 1]);
    },
    oninput: (event) => {
      field.setCustomValidity("");
      // A choice from the list is no typing.
      if (event.inputType === "insertReplacementText" || field.value.endsWith(",")) add();
    },
  });
  const button = h("button", { type: "button", class: "small", "aria-label": `Add: ${label}`, onclick: () => { add(); field.focus(); } }, "Add");

  // A name as it is offered, in any case of letters; a group without its sign.
  function entry(text) {
    const same = (one) => one.toLowerCase() === text.toLowerCase();
    return offered.find(same) ?? offered.find((one) => one.startsWith("@") && same(one.slice(1))) ?? text;
  }
  function add() {
    for (const text of field.value.split(",").map((one) => one.trim()).filter(Boolean)) {
      const one = entry(text);
      if (!list.includes(one)) list.push(one);
    }
    field.value = "";
    draw();
    then();
  }
  function drop(one) {
    list = list.filter((other) => other !== one);
    draw();
    then();
    field.focus();
  }
  function draw() {
    field.setCustomValidity("");
    replace(chips, list.map((one) => h("li", { class: offered.includes(one) ? null : "unknown", title: offered.includes(one) ? null : "It is not in the list: the server says whether it knows the name." },
      show(one), h("button", { type: "button", "aria-label": `Remove ${show(one)}: ${label}`, onclick: () => drop(one) }, "×"))));
  }
  draw();
  const element = h("div", { class: "picker" }, chips, h("div", { class: "row" }, h("span", { class: "grow" }, field), button),
    h("datalist", { id: `${id}-list` }, offered.slice(0, MOST).map((one) => h("option", { value: one }, show(one)))));
  // What was typed and not yet added counts, too.
  const value = () => { if (field.value.trim()) add(); return [...list]; };
  return {
    element,
    value,
    chosen: () => [...list],
    // The list, which is empty afterwards.
    take: () => {
      const taken = value();
      list = [];
      draw();
      return taken;
    },
    require: (text) => { field.setCustomValidity(text); field.reportValidity(); },
  };
}
