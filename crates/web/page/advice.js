// Advice: what would make the server faster, in words with their numbers.

import { get } from "./api.js";
import { h, replace } from "./dom.js";

const TITLES = { __proto__: null, memory: "Memory", "read-write": "Reads and writes", users: "Users", video: "Video", next: "What to change next", "rules of 1993": "Rules of 1993" };

// A line that begins with blanks belongs to a list below the line before it.
function sentences(lines) {
  const blocks = [];
  for (const line of lines) {
    if (!line.startsWith("  ")) blocks.push(h("p", {}, line));
    else if (blocks.at(-1)?.tagName === "UL") blocks.at(-1).append(h("li", {}, line.trim()));
    else blocks.push(h("ul", {}, h("li", {}, line.trim())));
  }
  return blocks;
}

// The card, and `update`, which is told the benchmarks that are kept.
export function advice(context) {
  let chosen = null; // by the person; else the newest one counts
  const benchmark = h("select", { id: "advice-benchmark", onchange: () => { chosen = benchmark.value; } });
  const floor = h("input", { id: "advice-floor", value: "1MB", required: true, spellcheck: "false", size: "8" });
  const list = h("div", { class: "advice" });
  async function ask() {
    const wanted = new URLSearchParams({ floor: floor.value });
    if (benchmark.value) wanted.set("benchmark", benchmark.value);
    const all = await get(`/v1/advice?${wanted}`, context.signal);
    const topics = [...all.filter((one) => one.topic === "next"), ...all.filter((one) => one.topic !== "next")];
    replace(list, topics.map(({ topic, text }) => h("section", { "data-topic": topic }, h("h3", {}, TITLES[topic] ?? topic), sentences(text))));
  }
  const element = h("form", {
    class: "card", id: "advice",
    onsubmit: (event) => {
      event.preventDefault();
      ask().catch(context.failed);
    },
  }, h("h2", {}, "What would make it faster"),
  h("p", { class: "muted" }, "Made of what the server has counted since it began, of the memory of its host, and of a benchmark with a load curve."),
  h("div", { class: "fields" },
    h("label", { for: "advice-benchmark" }, "Benchmark"), benchmark,
    h("label", { for: "advice-floor" }, "Each user needs, per second"), floor),
  h("div", { class: "row end" }, h("button", { type: "submit" }, "Advise")), list);
  return {
    element,
    update: (kept) => {
      replace(benchmark, h("option", { value: "" }, "none"), kept.map((one) => h("option", { value: one.name }, one.name)));
      const isThere = chosen === "" || kept.some((one) => one.name === chosen);
      benchmark.value = isThere ? chosen : kept[0]?.name ?? "";
      ask().catch(context.failed);
    },
  };
}
