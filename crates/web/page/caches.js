// The caches: what they hold, how well they work, what other sizes would do.

import { get, post } from "./api.js";
import { bar, bytes, count, duration, h, heading, percent, replace, svg } from "./dom.js";

const SIZES = [["half", "½"], ["same", "now"], ["double", "×2"], ["four_times", "×4"]];

// The settings that keep limits over a restart.
const SETTINGS = { __proto__: null, directory: "cache-size", files: "cache-files", buffers: "cache-buffers" };

// The hit ratios that other sizes would have.
function curve(predicted) {
  const width = 240;
  const height = 96;
  const at = (index, part) => [24 + index * 64, 12 + (1 - part) * 56];
  const points = SIZES.map(([key], index) => at(index, predicted[key]));
  const words = SIZES.map(([key, text]) => `${text}: ${percent(predicted[key])}`).join(", ");
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "curve", role: "img", "aria-label": `Predicted hit ratio by size. ${words}` },
    svg("line", { x1: 12, x2: width - 12, y1: 68, y2: 68, class: "grid" }),
    svg("polyline", { points: points.map((point) => point.join(",")).join(" "), class: "line" }),
    SIZES.map(([key, text], index) => [
      svg("circle", { cx: points[index][0], cy: points[index][1], r: index === 1 ? 4 : 3, class: "point" }),
      svg("text", { x: points[index][0], y: 84, "text-anchor": "middle" }, text),
      svg("text", { x: points[index][0], y: Math.max(9, points[index][1] - 7), "text-anchor": "middle" }, `${Math.round(predicted[key] * 100)}`),
    ]));
}

function sizeOf(cache, limit) {
  return cache.unit === "bytes" ? bytes(limit) : `${count(limit)} entries`;
}

// A slider over powers of two with four steps each. `now()` has the newest state of the cache.
function slider(context, name, cache, load) {
  const least = cache.unit === "bytes" ? 1 << 20 : 16;
  const steps = (limit) => Math.round(4 * Math.log2(limit / least));
  const most = Math.max(steps(cache.wanted) + 12, cache.unit === "bytes" ? 40 : 44);
  const limitOf = (step) => Math.round(least * 2 ** (step / 4));
  const before = [];
  const shown = h("output", { for: `limit-${name}` });
  const undo = h("button", { type: "button", class: "small", disabled: true, onclick: () => apply(before.pop(), true) }, "Undo");
  const input = h("input", {
    type: "range", id: `limit-${name}`, min: 0, max: most, value: steps(cache.wanted),
    oninput: () => { shown.textContent = sizeOf(cache, limitOf(Number(input.value))); },
    onchange: () => apply(limitOf(Number(input.value)), false),
  });
  let wanted = cache.wanted;
  async function apply(limit, isUndo) {
    const old = wanted;
    const done = await context.doing(() => post("/v1/caches", { limits: { [name]: String(limit) } }));
    if (done) {
      if (!isUndo) before.push(old);
      wanted = limit;
    } else if (isUndo) before.push(limit);
    undo.disabled = before.length === 0;
    input.value = steps(wanted);
    shown.textContent = sizeOf(cache, wanted);
    await load();
  }
  shown.textContent = sizeOf(cache, cache.wanted);
  const key = SETTINGS[name];
  const value = () => (cache.unit === "bytes" ? `${Math.round(wanted / 1024)} KiB` : String(wanted));
  const keep = key ? h("button", { type: "button", class: "small", "aria-label": `Keep the limit of ${name} over a restart`, onclick: () => context.doing(() => post("/v1/settings", { key, value: value() })) }, "Keep it") : null;
  const element = h("div", {}, h("label", { for: `limit-${name}` }, "Limit"), h("div", { class: "row" }, h("span", { class: "grow" }, input), shown, undo),
    h("div", { class: "row" }, h("p", { class: "muted small grow" }, "It takes effect at once, until the server restarts."), keep));
  return {
    element,
    update: (now) => {
      if (now.wanted !== wanted && document.activeElement !== input) {
        wanted = now.wanted;
        input.value = steps(wanted);
        shown.textContent = sizeOf(now, wanted);
      }
    },
  };
}

// The caches that a file server of 1993 had a person set, and what they are here.
function classic(now) {
  const directory = now.caches.find((cache) => cache.name === "directory");
  const index = now.caches.find((cache) => cache.name === "index");
  const { host } = now;
  const inMemory = host.sampled_cached !== null && host.sampled_bytes > 0 ? ` Of the open files' data, ${percent(host.sampled_cached / host.sampled_bytes)} are in it.` : "";
  const row = (name, text) => [h("dt", {}, name), h("dd", {}, text)];
  return h("dl", {},
    row("File buffers", `The host's page cache: ${bytes(host.page_cache)} now. It grows into all memory that programs leave.${inMemory}`),
    row("Directory cache", directory ? `The cache directory: ${count(directory.entries)} entries, ${percent(directory.hit_ratio)} of the look-ups are hits.` : "–"),
    row("Icon cache", `Icons are files in the page cache, and rows of the index${index ? `, of which ${bytes(index.bytes)} are in memory` : ""}.`));
}

export default {
  title: "Memory and caches",
  async show(main, context) {
    const summary = h("div", { class: "tiles" });
    const list = h("div", { class: "cards" });
    const before = h("div", {});
    const cards = new Map();
    main.append(heading("Memory and caches"), summary, list,
      h("section", { class: "card", id: "classic" }, h("h2", {}, "The three caches of 1993"), h("p", { class: "muted" }, "What AppleShare asked its administrator to divide memory between, and what became of it."), before));
    const tile = (name, value, more) => h("div", { class: "tile card" }, h("span", { class: "muted" }, name), h("b", {}, value), h("span", { class: "muted more" }, more));

    function card(cache) {
      const state = h("div", {});
      const limit = cache.fixed ? null : slider(context, cache.name, cache, load);
      const element = h("article", { class: "card", "data-cache": cache.name },
        h("h2", {}, cache.name), h("p", { class: "muted" }, cache.holds), state,
        limit?.element ?? h("p", { class: "muted small" }, "Its limit is fixed."));
      list.append(element);
      return { state, limit };
    }

    async function load() {
      const now = await get("/v1/caches", context.signal);
      const host = now.host;
      replace(summary,
        tile("All caches", bytes(now.bytes), `of ${bytes(now.budget)}`),
        tile("Data in transit", bytes(now.transfers), `of ${bytes(now.transfers_limit)}`),
        tile("Memory of the host", bytes(host.available), `available of ${bytes(host.usable)}`),
        tile("Reductions", count(now.gave_way), now.part < 1 ? `limits are at ${percent(now.part)} now` : "times, because memory was short"));
      replace(before, classic(now));
      const byUse = [...now.caches].sort((one, other) => one.fixed - other.fixed || other.wanted * (other.unit === "bytes") - one.wanted * (one.unit === "bytes"));
      for (const cache of byUse) {
        if (!cards.has(cache.name)) cards.set(cache.name, card(cache));
        const { state, limit } = cards.get(cache.name);
        const used = cache.unit === "bytes" ? cache.bytes : cache.entries;
        limit?.update(cache);
        replace(state,
          h("div", { class: "row" }, h("span", { class: "grow" }, `${cache.unit === "bytes" ? bytes(used) : count(used)} of ${sizeOf(cache, cache.limit)}`), h("span", { class: "muted" }, cache.unit === "bytes" ? `${count(cache.entries)} entries` : bytes(cache.bytes))),
          bar(Math.min(0.95, cache.limit ? used / cache.limit : 0), `${sizeOf(cache, used)} of ${sizeOf(cache, cache.limit)}`),
          h("dl", {},
            h("dt", {}, "Hit ratio"), h("dd", {}, h("b", {}, percent(cache.hit_ratio))),
            h("dt", {}, "Hits, misses"), h("dd", {}, `${count(cache.hits)}, ${count(cache.misses)}`),
            h("dt", {}, "Dropped"), h("dd", {}, count(cache.evictions)),
            cache.saved_ms ? [h("dt", {}, "Time saved"), h("dd", {}, duration(cache.saved_ms / 1000))] : null),
          cache.predicted ? [h("h3", {}, "Hit ratio in % with other limits"), curve(cache.predicted)] : null);
      }
    }
    await context.every(2000, load);
  },
};
