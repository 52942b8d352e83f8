// The newest lines of the server's log: when, who, what; by kind, by person, by words.

import { get } from "./api.js";
import { h, heading, replace, ticked } from "./dom.js";

const MOST = 1000;
const LEVELS = { error: 0, warn: 1, info: 2 };
const LEVEL_WORDS = { error: "error", warn: "warning", info: "" };
// The kinds of lines, by the part of the server that wrote them. The first that fits counts.
const KINDS = [
  ["login", "Logins", (line) => line.target === "login"],
  ["alert", "Alerts", (line) => line.target === "alert"],
  ["change", "Changes by people", (line) => line.fields.some(([name]) => name === "by")],
  ["metadata", "Metadata of Macs", (line) => line.target === "metadata"],
  ["slow", "Slow operations", (line) => line.target === "slow"],
];
const kindOf = (line) => KINDS.find(([, , is]) => is(line))?.[0] ?? "server";

// The fields that say who, and those that are shown by themselves already.
const WHO = ["by", "user", "account", "client", "peer", "address"];

function who(line) {
  const of = (names) => line.fields.find(([name]) => names.includes(name))?.[1];
  const person = of(["by", "user"]) ?? of(["account"]);
  const from = of(["client", "peer", "address"]);
  return [person, from].filter(Boolean).join(" at ");
}

// Fields in words: protocol SMB, method password.
function rest(line) {
  const shown = line.fields.filter(([name, value]) => value !== "" && !WHO.includes(name));
  return shown.map(([name, value]) => h("span", { class: "field" }, h("span", { class: "muted" }, `${name.replaceAll("_", " ")} `), value));
}

// A login is told by one word: accepted, failed, refused.
const message = (line) => (line.target === "login" ? `Login ${line.message}` : line.message);

function time(seconds) {
  const date = new Date(seconds * 1000);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? date.toLocaleTimeString() : date.toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
}

export default {
  title: "Log",
  async show(main, context) {
    let kept = [];
    let last = 0;
    const option = ([value, text]) => h("option", { value }, text);
    const level = h("select", { id: "log-level", "aria-label": "Severity", onchange: draw }, [["info", "all lines"], ["warn", "warnings and errors"], ["error", "errors"]].map(option));
    const kind = h("select", { id: "log-kind", "aria-label": "Kind", onchange: draw }, [["", "about everything"], ...KINDS, ["server", "The server itself"]].map(option));
    const person = h("select", { id: "log-who", "aria-label": "Person", onchange: draw }, option(["", "by anybody"]));
    const field = h("input", { type: "search", "aria-label": "Search the log", placeholder: "Search", oninput: draw });
    const follow = h("input", { type: "checkbox", id: "log-follow", checked: true });
    const shown = h("span", { class: "muted", "aria-live": "polite" });
    const list = h("ol", { class: "log card", "aria-label": "Lines of the log, the newest first", reversed: true });
    main.append(heading("Log", shown),
      h("div", { class: "row toolbar" }, level, kind, person, field, ticked(follow, "follow")), list,
      h("p", { class: "muted small" }, `The newest ${MOST} lines since the server started. The journal of the server, or its standard error, has all.`));

    const personOf = (line) => line.fields.find(([name]) => ["by", "user"].includes(name))?.[1] ?? "";
    function people() {
      const all = [...new Set(kept.map(personOf).filter(Boolean))].sort();
      const before = person.value;
      if (all.length + 1 === person.options.length) return;
      replace(person, [["", "by anybody"], ...all.map((name) => [name, `by ${name}`])].map(option));
      person.value = all.includes(before) ? before : "";
    }
    const row = (line) => h("li", { class: line.level },
      h("time", { datetime: new Date(line.at * 1000).toISOString() }, time(line.at)),
      h("b", { class: "who-cell" }, who(line) || "–"),
      h("span", {}, LEVEL_WORDS[line.level] ? [h("b", { class: "level" }, LEVEL_WORDS[line.level]), " "] : null, message(line), " ", rest(line)));
    function draw() {
      const wanted = field.value.toLowerCase();
      const found = kept.filter((line) => LEVELS[line.level] <= LEVELS[level.value]
        && (kind.value === "" || kindOf(line) === kind.value)
        && (person.value === "" || personOf(line) === person.value)
        && (wanted === "" || `${line.target} ${line.text}`.toLowerCase().includes(wanted)));
      shown.textContent = `${found.length} of ${kept.length} lines`;
      replace(list, found.length ? found.reverse().map(row) : h("li", {}, kept.length ? "There is no such line." : "The server has written nothing yet."));
    }
    await context.every(3000, async () => {
      if (last > 0 && !follow.checked) return;
      const now = await get(`/v1/log?after=${last}`, context.signal);
      if (last === 0 || now.lines.length > 0) {
        kept = (now.last < last ? [] : kept).concat(now.lines).slice(-MOST);
        last = now.last;
        people();
        draw();
      }
    });
  },
};
