// The newest lines of the server's log.

import { get } from "./api.js";
import { h, heading, replace } from "./dom.js";

const MOST = 1000;
const LEVELS = { error: 0, warn: 1, info: 2 };

export default {
  title: "Log",
  async show(main, context) {
    let kept = [];
    let last = 0;
    const level = h("select", { id: "log-level", onchange: draw },
      h("option", { value: "info" }, "all lines"), h("option", { value: "warn" }, "warnings and errors"), h("option", { value: "error" }, "errors"));
    const field = h("input", { type: "search", "aria-label": "Search the log", placeholder: "Search", oninput: draw });
    const follow = h("input", { type: "checkbox", id: "log-follow", checked: true });
    const shown = h("span", { class: "muted", "aria-live": "polite" });
    const list = h("ol", { class: "log card", "aria-label": "Lines of the log, the newest first", reversed: true });
    main.append(heading("Log", shown),
      h("div", { class: "row toolbar" }, h("label", { for: "log-level" }, "Show"), level, field, follow, h("label", { for: "log-follow" }, "follow")), list,
      h("p", { class: "muted small" }, `The newest ${MOST} lines since the server started. Standard error of the server, or its journal, has all.`));

    function draw() {
      const wanted = field.value.toLowerCase();
      const found = kept.filter((line) => LEVELS[line.level] <= LEVELS[level.value] && (wanted === "" || `${line.target} ${line.text}`.toLowerCase().includes(wanted)));
      shown.textContent = `${found.length} of ${kept.length} lines`;
      replace(list, found.length ? found.reverse().map((line) => h("li", { class: line.level },
        h("time", {}, new Date(line.at * 1000).toLocaleTimeString()), h("b", {}, line.level), h("span", {}, h("span", { class: "muted" }, `${line.target} `), line.text)))
        : h("li", {}, "There is no such line."));
    }
    await context.every(3000, async () => {
      if (last > 0 && !follow.checked) return;
      const now = await get(`/v1/log?after=${last}`, context.signal);
      if (last === 0 || now.lines.length > 0) {
        kept = (now.last < last ? [] : kept).concat(now.lines).slice(-MOST);
        last = now.last;
        draw();
      }
    });
  },
};
