// The second factor of the own account, and those of others.

import { get, post } from "./api.js";
import { copyButton, h, heading, replace, svg, when } from "./dom.js";

// A QR code with the margin of four modules that cameras need.
function drawn({ side, path }) {
  const whole = side + 8;
  return svg("svg", { viewBox: `-4 -4 ${whole} ${whole}`, width: 220, height: 220, role: "img", "aria-label": "QR code of the secret", class: "qr" },
    svg("rect", { x: -4, y: -4, width: whole, height: whole, fill: "#fff" }), svg("path", { d: path, fill: "#000", "shape-rendering": "crispEdges" }));
}

function codeForm(id, label, button, send) {
  const field = h("input", { id, autocomplete: "one-time-code", autocapitalize: "none", spellcheck: "false", required: true, maxlength: "40" });
  return h("form", { id: `${id}-form`, onsubmit: (event) => { event.preventDefault(); send(field.value); } },
    h("div", { class: "fields" }, h("label", { for: id }, label), field),
    h("div", { class: "row end" }, h("button", { type: "submit", class: "primary" }, button)));
}

// Shows the secret, and asks for its first code. `after` is called when the person has the recovery codes.
function begun(place, context, shown, after) {
  const confirm = async (code) => {
    try {
      const { recovery_codes: codes } = await post("/v1/second-factor/confirm", { code });
      replace(place, h("p", {}, h("b", {}, "It is on. "), "Keep these recovery codes where nobody else sees them, and not on the phone. Each one counts once in place of a code. They are not shown again."),
        h("pre", { class: "codes", id: "recovery-codes", tabindex: "0" }, codes.join("\n")),
        h("div", { class: "row end" }, copyButton(codes.join("\n"), "the recovery codes"), h("button", { type: "button", class: "primary", onclick: after }, "I have kept them")));
    } catch (error) {
      context.failed(error);
    }
  };
  replace(place, h("p", {}, "1. Read this code with an authenticator app (Aegis, FreeOTP, Google Authenticator, 1Password, the passwords of iPhone and Mac …), or type the secret there."),
    h("div", { class: "row" }, drawn(shown.code), h("div", { class: "stack" }, h("code", { id: "factor-secret" }, shown.secret.match(/.{1,4}/g).join(" ")), h("div", {}, copyButton(shown.secret, "the secret")))),
    h("p", {}, "2. Type the six digits that the app shows."),
    codeForm("factor-code", "Code of the app", "Turn on", confirm));
}

const setUp = (place, context, after) => h("button", { type: "button", class: "primary", onclick: async () => {
  try {
    begun(place, context, await post("/v1/second-factor"), after);
  } catch (error) {
    context.failed(error);
  }
} }, "Set up…");

// The only page of an account that has to set one up first. `after(user)` goes on with all others.
export const setUpFirst = (user, after) => ({
  title: "Set up a second factor",
  async show(main, context) {
    const place = h("div", { id: "factor" });
    main.append(heading("Set up a second factor"), h("section", { class: "card" },
      h("p", {}, `This server lets administrators in only with a second factor: a code of an authenticator app, beside the password. ${user} has none yet. All pages are there when it is set up.`), place));
    replace(place, h("div", { class: "row end" }, setUp(place, context, () => after(user))));
  },
});

export async function secondFactor(place, context) {
  const known = await get("/v1/second-factor", context.signal);
  const again = () => secondFactor(place, context);
  const others = known.accounts.filter((name) => name !== known.account);
  const remove = async (body) => { if (await context.doing(() => post("/v1/second-factor/remove", body))) await again(); };
  const lost = (name) => h("button", { type: "button", class: "small", onclick: async () => {
    if (await context.confirm(`Turn off the second factor of ${name}?`, `${name} then ${known.required ? "has to set up another one at the next login" : "logs in with the password alone, and can set another one"}. Do that when the phone is lost.`, "Turn off")) await remove({ account: name });
  } }, `Turn off for ${name}…`);
  replace(place, known.since === null
    ? h("div", { class: "row" }, h("p", { class: "grow" }, `${known.account} logs in with the password alone.`), setUp(place, context, again))
    : [h("p", {}, h("span", { class: "badge good" }, "on"), ` since ${when(known.since)}, with ${known.recovery_codes} recovery codes left.`),
      known.required ? h("p", { class: "muted small" }, "Each administrator needs one (admin-second-factor). If you turn yours off, you have to set up another one at once.") : null,
      codeForm("factor-end", "A code, to turn it off", "Turn off", (code) => remove({ code }))],
  others.length ? h("div", { class: "row" }, h("span", { class: "muted small grow" }, `Also on for ${others.join(", ")}.`), others.map(lost)) : null);
}
