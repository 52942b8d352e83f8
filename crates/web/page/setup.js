// The first run of a new server, in steps: its name, the own password, a folder, people, what the folder is for, where to connect.

import { get, keptPassword, post } from "./api.js";
import { access } from "./access.js";
import { h, heading, replace } from "./dom.js";
import { folderPart, purposePart } from "./newshare.js";
import { passwordFields } from "./password.js";
import { people } from "./people.js";
import { mounts } from "./shares.js";

const LEFT = "setup-left";

// Whether this browser has left the first run of its own will.
export const isLeft = () => sessionStorage.getItem(LEFT) !== null;

// Does what a step asks. The next step says that it is done, so only a refusal is told.
async function quietly(context, work) {
  try {
    await work();
    return true;
  } catch (error) {
    context.failed(error);
    return false;
  }
}

const field = (id, label, properties = {}) => {
  const input = h("input", { id, spellcheck: "false", autocomplete: "off", ...properties });
  return { input, rows: [h("label", { for: id }, label), input] };
};

// Each step: a title, `draw(place)` that fills the step, and `done()`, which says whether the next one may come.
function steps(context, state) {
  return [
    { title: "Name", draw: (place) => {
      const name = field("setup-name", "Name of the server", { required: true, maxlength: "58", value: state.name });
      replace(place, h("p", { class: "muted" }, "Macs list the server by this name. A short one is good: Studio, Archive, Home."), h("div", { class: "fields" }, name.rows));
      return async () => {
        const wanted = name.input.value.trim();
        if (wanted === state.name) return true;
        const done = await quietly(context, () => post("/v1/settings", { share: null, key: "bonjour-name", value: wanted }, state.kept));
        if (done) state.name = wanted;
        return done;
      };
    } },
    { title: "Your password", draw: (place) => {
      const now = field("setup-now", "The password that you logged in with", { type: "password", autocomplete: "current-password", required: true });
      const fresh = passwordFields("setup-password", state.rule, () => state.known.me);
      replace(place, h("p", { class: "muted" }, `You administer this server as ${state.known.me}. Was the password typed for you, or is it an easy one? Then choose another now.`),
        h("div", { class: "fields" }, now.rows, fresh.rows));
      return async () => {
        const done = await quietly(context, () => post("/v1/accounts/password", { name: state.known.me, password: fresh.value(), own_password: now.input.value }));
        if (done) state.kept.keep(fresh.value());
        return done;
      };
    }, skip: "Keep the one I have" },
    { title: "Folder", draw: (place) => {
      state.folder ??= folderPart(context, state.kept);
      replace(place, h("p", { class: "muted" }, "The first folder that clients will see. Browse to one that is there, or name a new one."), state.folder.element);
      return async () => true;
    } },
    { title: "People", draw: (place) => drawPeople(context, state, place) },
    { title: "What for", next: "Share it", draw: (place) => {
      const purpose = purposePart(state.known, state.added);
      replace(place, h("p", { class: "muted" }, `What is ${state.folder.value().name} for? The purpose says who may do what. All of it can be changed later.`), purpose.element);
      return async () => {
        if (!purpose.complete()) return false;
        const request = purpose.request(state.folder.value());
        const done = await quietly(context, () => post("/v1/shares", request, state.kept));
        if (done) state.shared = request.name;
        return done;
      };
    } },
    { title: "Connect", last: true, draw: async (place) => {
      state.kept.keep(null);
      sessionStorage.setItem(LEFT, "done");
      const share = (await get("/v1/shares", context.signal)).find((one) => one.name === state.shared);
      replace(place, h("p", {}, h("b", {}, `${state.shared} is shared.`), " Connect from your computers like this:"),
        share ? mounts(share) : null,
        h("h3", {}, "Who may enter"), await access(state.shared, context.signal),
        h("div", { class: "row end" }, h("a", { class: "button", href: "#/shares?new" }, "Share another folder"), h("a", { class: "button", href: "#/overview", id: "setup-end" }, "To the overview")));
      return null;
    } },
  ];
}

// People with a name and a password: as many as are wanted, one after another.
function drawPeople(context, state, place) {
  const list = h("ul", { class: "plain", "aria-label": "People of this server" });
  const name = field("setup-person", "Name", { maxlength: "64", autocapitalize: "none" });
  const password = passwordFields("setup-secret", state.rule, () => name.input.value);
  name.input.addEventListener("input", password.judge);
  const fields = [name.input, ...password.inputs];
  const need = (yes) => fields.forEach((one) => { one.required = yes; });
  const draw = () => replace(list, state.known.accounts.map((one) => h("li", {}, h("b", {}, one), one === state.known.me ? h("span", { class: "muted" }, ", you") : null)));
  need(false);
  const isEmpty = () => fields.every((one) => one.value === "");
  async function add() {
    need(true);
    const good = fields.every((one) => one.reportValidity());
    need(false);
    if (!good) return false;
    const done = await quietly(context, () => post("/v1/accounts", { name: name.input.value, password: password.value() }, state.kept));
    if (!done) return false;
    state.added.push(name.input.value);
    state.known = await people(context.signal);
    for (const one of fields) one.value = "";
    password.judge();
    draw();
    name.input.focus();
    return true;
  }
  replace(place, h("p", { class: "muted" }, "Who uses this server? Each person gets a name and a password. You can add more at any time, on the page People and groups."), list,
    h("fieldset", {}, h("legend", {}, "Add a person"), h("div", { class: "fields" }, name.rows, password.rows),
      h("div", { class: "row end" }, h("button", { type: "button", id: "setup-add", onclick: add }, "Add"))));
  draw();
  return async () => isEmpty() || add();
}

export default {
  title: "Set this server up",
  async show(main, context) {
    const [known, rule, overview] = await Promise.all([people(context.signal), get("/v1/password-rule", context.signal), get("/v1/overview", context.signal)]);
    const state = { known, rule, name: overview.name, kept: keptPassword(context.signal), folder: null, added: [], shared: null };
    const all = steps(context, state);
    const way = h("ol", { class: "steps", "aria-label": "Steps" });
    const place = h("div", { class: "step" });
    const buttons = h("div", { class: "row end" });
    const form = h("form", { class: "card", id: "setup", onsubmit: (event) => { event.preventDefault(); next(false); } }, place, buttons);
    let at = 0;
    let done = null;
    let busy = false;

    async function next(skips) {
      if (busy) return;
      busy = true;
      try {
        if (skips || await done()) await go(at + 1);
      } finally {
        busy = false;
      }
    }
    async function go(to) {
      at = to;
      const step = all[at];
      replace(way, all.map((one, index) => h("li", { class: index < at ? "past-step" : null, "aria-current": index === at ? "step" : null }, one.title)));
      form.dataset.step = step.title;
      done = await step.draw(place);
      const button = (text, properties) => h("button", { type: "button", ...properties }, text);
      replace(buttons, step.last ? null : [
        at > 0 ? button("Back", { onclick: () => go(at - 1) }) : button("Not now", { class: "quiet", id: "setup-leave", onclick: () => { sessionStorage.setItem(LEFT, "left"); location.hash = "#/overview"; } }),
        h("span", { class: "grow" }),
        step.skip ? button(step.skip, { id: "setup-skip", onclick: () => next(true) }) : null,
        h("button", { type: "submit", class: "primary", id: "setup-next" }, step.next ?? "Next")]);
      if (at > 0) place.querySelector("input:not([type=radio])")?.focus();
    }
    main.append(heading("Set this server up"), way, form);
    await go(0);
  },
};
