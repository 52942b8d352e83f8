// Lines over time, as SVG.

import { h, replace, svg, title } from "./dom.js";

const WIDTH = 500;
const HEIGHT = 190;
const LEFT = 64;
const BOTTOM = 22;
const TOP = 8;

// A number that is not less, and easy to read.
function nice(number, base) {
  if (number <= 0) return base === 1024 ? 1024 : 10;
  const power = base ** Math.floor(Math.log(number) / Math.log(base));
  const steps = base === 1024 ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] : [1, 2, 5, 10];
  return power * steps.find((step) => power * step >= number);
}

// series: [{name, values}], all of the same length. format: (value) => text; base: 1024 for bytes, else 10.
export function chart(caption, format, base) {
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": caption });
  const legend = h("div", { class: "legend" });
  const reading = h("span", { class: "muted reading" });
  const element = h("figure", { class: "card" }, h("figcaption", {}, h("h2", {}, caption), reading), picture, legend);
  let shown = null;

  // `length`: the steps of the whole picture; what is older than the newest values of a series was not counted.
  function draw(series, step, length) {
    shown = { series, step, length };
    const top = nice(Math.max(0, ...series.flatMap((one) => one.values)), base);
    const x = (index) => LEFT + ((WIDTH - LEFT - 4) * index) / (length - 1);
    const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
    const parts = [];
    for (let line = 0; line <= 4; line += 1) {
      const value = (top * line) / 4;
      parts.push(svg("line", { x1: LEFT, x2: WIDTH - 4, y1: y(value), y2: y(value), class: "grid" }));
      if (line % 2 === 0) parts.push(svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, format(value)));
    }
    const total = length * step;
    const marks = total > 7200 ? 4 : 5;
    for (let mark = 0; mark <= marks; mark += 1) {
      const part = mark / marks;
      const ago = Math.round(total * (1 - part));
      const text = ago === 0 ? "now" : ago >= 7200 ? `−${Math.round(ago / 3600)} h` : ago >= 120 ? `−${Math.round(ago / 60)} min` : `−${ago} s`;
      const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
      parts.push(svg("text", { x: LEFT + (WIDTH - LEFT - 4) * part, y: HEIGHT - 5, "text-anchor": anchor }, text));
    }
    for (const { name, values } of series) {
      const skip = length - values.length;
      const points = values.map((value, index) => `${x(index + skip).toFixed(1)},${y(value).toFixed(1)}`);
      if (points.length) {
        const area = `${x(skip).toFixed(1)},${y(0)} ${points.join(" ")} ${x(length - 1).toFixed(1)},${y(0)}`;
        parts.push(svg("polygon", { points: area, class: `area p-${name}` }));
        parts.push(svg("polyline", { points: points.join(" "), class: `line p-${name}` }));
      }
    }
    if (series.length === 0) parts.push(svg("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT / 2 - 8, "text-anchor": "middle" }, "no operations yet"));
    replace(picture, parts);
    const last = (values) => values[values.length - 1] ?? 0;
    const told = series.map(({ name, values }) => `${title(name)} ${format(last(values))}`);
    const most = series.map(({ name, values }) => `${title(name)} at most ${format(Math.max(0, ...values))}`);
    picture.setAttribute("aria-label", `${caption}. Now: ${told.join(", ") || "nothing"}. ${most.join(", ")}.`);
    replace(legend, series.map(({ name, values }) => h("span", {}, h("i", { class: `dot p-${name}` }), `${title(name)} `, h("b", {}, format(last(values))))));
  }

  picture.addEventListener("pointermove", (event) => {
    if (!shown || shown.series.length === 0) return;
    const box = picture.getBoundingClientRect();
    const part = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - 4);
    const { length } = shown;
    const index = Math.max(0, Math.min(length - 1, Math.round(part * (length - 1))));
    const at = new Date(Date.now() - (length - 1 - index) * shown.step * 1000).toLocaleTimeString();
    reading.textContent = `${at}: ${shown.series.map(({ name, values }) => `${title(name)} ${format(values[index - (length - values.length)] ?? 0)}`).join(" · ")}`;
  });
  picture.addEventListener("pointerleave", () => { reading.textContent = ""; });
  return { element, draw };
}
