// The settings with their sources. A change is validated by the server, written to its file, applied, and can be taken back.

import { get, post } from "./api.js";
import { h, heading, replace, ticked, when } from "./dom.js";
import { serverState } from "./restart.js";
import { inWords, typed } from "./settingunits.js";

const SOURCES = { local: "changed", run: "set at the start", preset: "by the preset" };

// By their subjects, in the order that the server gives them. The rest comes last.
function bySubject(settings, subjects) {
  const of = (subject) => [subject, settings.filter((setting) => setting.subject === subject)];
  return [...subjects.map(of), ["Others", settings.filter((setting) => !subjects.includes(setting.subject))]].filter(([, found]) => found.length > 0);
}

// What is not as usual is marked.
function source(setting) {
  const text = setting.source === "inherited" ? `as in ${setting.inherited_from}` : SOURCES[setting.source];
  return text ? h("span", { class: `badge source-${setting.source}`, title: setting.place }, text) : null;
}

export default {
  title: "Settings",
  async show(main, context) {
    const query = new URLSearchParams(location.hash.split("?")[1] ?? "");
    let scope = query.get("share") ?? "";
    let search = query.get("search")?.toLowerCase() ?? "";
    let onlySet = false;
    let all = { settings: [], subjects: [], changes: [], file: null };
    const file = h("span", { class: "muted clip" });
    const list = h("div", { class: "stack settings" });
    const changes = h("section", { class: "card" });
    const choose = h("select", { id: "scope", onchange: () => { scope = choose.value; draw(); } });
    const field = h("input", { type: "search", "aria-label": "Search settings", placeholder: "Search", value: search, oninput: () => { search = field.value.toLowerCase(); draw(); } });
    const filter = h("input", { type: "checkbox", id: "only-set", onchange: () => { onlySet = filter.checked; draw(); } });
    main.append(heading("Settings", file),
      h("div", { class: "row toolbar" }, h("label", { for: "scope" }, "Settings of"), choose, field, ticked(filter, "only what is changed"), h("span", { class: "grow" })),
      list, changes, serverState(context));

    function editor(setting, close) {
      const id = `edit-${setting.key}`;
      const field = setting.words.length
        ? h("select", { id }, setting.words.map((word) => h("option", { value: word }, inWords(setting, word))))
        : h("input", { id, spellcheck: "false", autocapitalize: "none" });
      field.value = typed(setting);
      const error = h("p", { class: "error", role: "alert" });
      const send = async (value) => {
        error.textContent = "";
        try {
          const { lines } = await post("/v1/settings", { share: setting.share, key: setting.key, value });
          context.toast(lines.length ? lines.join("\n") : `${setting.key} is changed`);
          close();
          await load();
        } catch (refused) {
          error.textContent = refused.message;
        }
      };
      return h("form", { class: "editor", onsubmit: (event) => { event.preventDefault(); send(field.value); }, onkeydown: (event) => { if (event.key === "Escape") close(); } },
        h("label", { for: id }, `Expects ${setting.expects}${setting.words.length ? "" : "; a list has commas between its elements"}.`), field, error,
        setting.live ? null : h("p", { class: "muted small" }, "It counts from the next start of the server."),
        setting.authority === "administrator" ? h("p", { class: "muted small" }, "It needs your own password.") : null,
        setting.authority === "limit" ? h("p", { class: "muted small" }, `Other values than ${setting.limit} need your own password.`) : null,
        h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, "Save"),
          setting.source === "local" ? h("button", { type: "button", onclick: () => send(null) }, `As usual: ${setting.share ? "inherited, or " : ""}${inWords(setting, null)}`) : null,
          h("button", { type: "button", class: "quiet", onclick: close }, "Cancel")));
    }

    function row(setting) {
      const place = h("div", {});
      const edit = h("button", { type: "button", class: "small", "aria-label": `Change ${setting.key}`, "aria-expanded": "false" }, "Change");
      const close = () => { replace(place); edit.setAttribute("aria-expanded", "false"); edit.focus(); };
      edit.addEventListener("click", () => {
        if (place.firstChild) { close(); return; }
        replace(place, editor(setting, close));
        edit.setAttribute("aria-expanded", "true");
        place.querySelector("input, select").focus();
      });
      const isOwn = ["local", "run"].includes(setting.source);
      return h("div", { class: `setting${isOwn ? " changed" : ""}`, "data-key": setting.key },
        h("div", { class: "row" },
          h("div", { class: "grow" }, h("span", {}, setting.brief), " ", source(setting), " ", setting.live ? null : h("span", { class: "badge" }, "from the next start"), h("p", { class: "muted small" }, h("code", {}, setting.key))),
          h("b", { class: `value${setting.value === null ? " muted" : ""}` }, inWords(setting)),
          setting.authority === "host" ? h("span", { class: "badge", title: "It is changed on the server only." }, "server only") : null,
          setting.source === "run" || setting.key === "name" || setting.authority === "host" || !all.file ? null : edit),
        place);
    }

    function draw() {
      const scopes = ["", ...new Set(all.settings.filter((setting) => setting.share).map((setting) => setting.share))];
      if (!scopes.includes(scope)) scope = "";
      replace(choose, scopes.map((name) => h("option", { value: name }, name === "" ? "the server" : `the share ${name}`)));
      choose.value = scope;
      file.textContent = all.file ?? "The server was started without a settings file, so nothing can be changed here.";
      const found = all.settings.filter((setting) => (setting.share ?? "") === scope
        && (!onlySet || ["local", "run"].includes(setting.source))
        && (search === "" || `${setting.key} ${setting.value} ${setting.brief}`.toLowerCase().includes(search)));
      replace(list, found.length
        ? bySubject(found, all.subjects).map(([subject, settings]) => h("section", { class: "card" }, h("h2", {}, subject), settings.map(row)))
        : h("p", { class: "muted card" }, onlySet && search === "" ? "Nothing is changed: all settings are as usual." : "Nothing is found."));
      replace(changes, h("h2", {}, "Changes that can be taken back"),
        all.changes.length
          ? [h("ol", { class: "changes" }, all.changes.map((change) => h("li", {}, h("code", {}, change.what), h("span", { class: "muted" }, ` ${change.by}, ${when(change.at)}`)))),
            h("button", { type: "button", id: "undo", onclick: async () => { await context.doing(() => post("/v1/settings/undo")); await load(); } }, "Take the newest back")]
          : h("p", { class: "muted" }, "None since the server started."));
    }

    async function load() {
      const now = await get("/v1/settings", context.signal);
      if (list.querySelector(".editor")) return; // not under a person's hands
      all = now;
      draw();
    }
    context.on("settings", load);
    await load();
    if (query.has("search")) list.querySelector(`[data-key="${CSS.escape(search)}"] button`)?.click();
  },
};
