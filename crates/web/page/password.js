// Fields for a password that is new, and how good it is.

import { h } from "./dom.js";

// Two fields for a password that is new. `name()` is the account, whose name does not count in it.
export function passwordFields(id, rule, name) {
  const one = h("input", { id, type: "password", autocomplete: "new-password", required: true, maxlength: "1024", "aria-describedby": `${id}-rule` });
  const again = h("input", { id: `${id}-again`, type: "password", autocomplete: "new-password", required: true });
  const meter = h("meter", { min: "0", max: String(rule.characters + 4), low: String(rule.characters), high: String(rule.characters + 2), optimum: String(rule.characters + 4), "aria-label": "Characters that count" });
  const counted = h("span", { class: "muted small", "aria-live": "polite" });
  const judge = () => {
    const own = name().toLowerCase();
    const text = own ? one.value.toLowerCase().replaceAll(own, "") : one.value.toLowerCase();
    const [long, different] = [[...text].length, new Set(text).size];
    const varied = different >= rule.different;
    meter.value = varied ? long : Math.min(long, rule.characters - 1);
    counted.textContent = one.value === "" ? "" : `${long} characters count, ${different} different`;
    one.setCustomValidity(one.value === "" || (varied && long >= rule.characters) ? "" : `A password has ${rule.text}.`);
    again.setCustomValidity(one.value === again.value ? "" : "The two passwords differ.");
  };
  one.addEventListener("input", judge);
  again.addEventListener("input", judge);
  return {
    value: () => one.value,
    inputs: [one, again],
    judge,
    rows: [h("label", { for: id }, "Password"), one, h("div", { class: "row meter" }, meter, counted),
      h("span", { class: "muted small", id: `${id}-rule` }, `It has ${rule.text}.`), h("label", { for: `${id}-again` }, "The same again"), again],
  };
}
