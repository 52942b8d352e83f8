// Webhooks: changes in folders, sent to other programs. Made, tried, removed; what was sent and what was lost.

import { get, post } from "./api.js";
import { count, h, heading, replace, ticked, when } from "./dom.js";

const SECRET_BYTES = 24;

function madeSecret() {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function newForm(context, shares, then) {
  const folder = h("input", { id: "hook-folder", required: true, list: "hook-shares", placeholder: "studio/scenes", spellcheck: "false" });
  const url = h("input", { id: "hook-url", type: "url", required: true, placeholder: "its URL, http or https", spellcheck: "false" });
  const secret = h("input", { id: "hook-secret", required: true, minlength: "16", maxlength: "200", autocomplete: "off", spellcheck: "false" });
  const below = h("input", { type: "checkbox", id: "hook-below" });
  return h("form", {
    class: "card",
    onsubmit: async (event) => {
      event.preventDefault();
      const wanted = { folder: folder.value, url: url.value, secret: secret.value, below: below.checked };
      const made = await context.doing(async () => {
        const hook = await post("/v1/webhooks", wanted);
        return { lines: [`Changes in ${hook.folder} are sent to ${hook.url}`] };
      });
      if (made) {
        for (const field of [folder, url, secret]) field.value = "";
        await then();
      }
    },
  }, h("h2", {}, "Send changes in a folder to a program"),
  h("div", { class: "fields" },
    h("label", { for: "hook-folder" }, "Share, or a folder of it"), folder,
    ticked(below, "also all folders below"),
    h("label", { for: "hook-url" }, "Address of the program"), url,
    h("label", { for: "hook-secret" }, "Secret that signs the messages"),
    h("div", { class: "row" }, h("span", { class: "grow" }, secret), h("button", { type: "button", class: "small", onclick: () => { secret.value = madeSecret(); secret.select(); } }, "Make one"))),
  h("datalist", { id: "hook-shares" }, shares.map((share) => h("option", { value: share.name }))),
  h("p", { class: "muted small" }, "The secret has 16 to 200 characters. It is not shown again: give it to the program now."),
  h("div", { class: "row end" }, h("button", { type: "submit", class: "primary" }, "Send changes")));
}

function state(hook) {
  if (hook.error) return h("span", { class: "badge bad" }, "fails");
  if (hook.lost > 0 || hook.missed > 0) return h("span", { class: "badge low" }, "has lost changes");
  return h("span", { class: "badge good" }, hook.last_sent === null ? "waits for changes" : "sends");
}

function card(context, hook, again) {
  const button = (text, kind, onclick) => h("button", { type: "button", class: `small ${kind}`, "aria-label": `${text} the webhook of ${hook.folder}`, onclick }, text);
  const rows = [
    ["Messages", `${count(hook.sent)} sent, ${count(hook.failed)} failed`],
    ["Last one accepted", hook.last_sent === null ? "none since the server started" : when(hook.last_sent)],
    ["Changes lost", hook.lost > 0 ? `${count(hook.lost)}, with the messages that failed` : "none"],
    ["Overflows", hook.missed > 0 ? `${count(hook.missed)}: more changes than the server keeps` : "none"],
  ];
  return h("article", { class: "card", "data-hook": hook.id },
    h("div", { class: "row" }, h("h2", { class: "grow clip" }, hook.folder), hook.below ? h("span", { class: "badge" }, "and below") : null, state(hook)),
    h("p", { class: "muted clip" }, hook.url),
    hook.error ? h("p", { class: "error" }, hook.error) : null,
    h("dl", {}, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    h("div", { class: "row end" },
      button("Test", "", async () => { await context.doing(() => post("/v1/webhooks/test", { id: hook.id })); document.activeElement.blur(); await again(); }),
      button("Remove", "", async () => {
        if (!await context.confirm("Remove this webhook?", `${hook.url} hears no more of ${hook.folder}. Its secret is forgotten.`, "Remove")) return;
        await context.doing(() => post("/v1/webhooks/remove", { id: hook.id }));
        document.activeElement.blur();
        await again();
      })));
}

export default {
  title: "Tell other programs",
  async show(main, context) {
    const list = h("div", { class: "cards" });
    const place = h("div", {});
    main.append(heading("Tell other programs"), list, place,
      h("p", { class: "muted small" }, "A message that is not accepted is sent again after 1, 4, 15 and 40 seconds. docs/api.md says what is in it, and how a program checks the signature."));
    const load = async () => {
      const hooks = await get("/v1/webhooks", context.signal);
      if (list.contains(document.activeElement) && document.activeElement.tagName === "BUTTON") return;
      replace(list, hooks.length ? hooks.map((hook) => card(context, hook, load)) : h("p", { class: "muted card" }, "No program is told of changes yet."));
    };
    const shares = await get("/v1/shares", context.signal);
    replace(place, shares.length ? newForm(context, shares, load) : h("p", { class: "muted card" }, "No folder is shared yet, so there are no changes to send. ", h("a", { href: "#/shares?new" }, "Share a folder"), "."));
    await context.every(5000, load);
  },
};
