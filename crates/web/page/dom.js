// Elements and texts. All data goes into the page as text, never as markup.

// Makes an element: h("p", {class: "muted", onclick: f}, "text", child). Null children are left out.
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  set(element, properties);
  element.append(...flat(children));
  return element;
}

// Makes an element of an SVG drawing.
export function svg(tag, properties = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, properties);
  element.append(...flat(children));
  return element;
}

function flat(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

function set(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

export function replace(element, ...children) {
  element.replaceChildren(...flat(children));
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(number) {
  if (number === null || number === undefined) return "–";
  let unit = 0;
  let value = number;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${Number(value.toFixed(digits)).toLocaleString()} ${UNITS[unit]}`;
}

export const rate = (number) => `${bytes(number)}/s`;
export const count = (number) => (number ?? 0).toLocaleString();
export const percent = (part) => (part === null || part === undefined ? "–" : `${(part * 100).toFixed(1)} %`);

// Microseconds.
export function latency(us) {
  if (us >= 1e6) return `${Number((us / 1e6).toPrecision(3))} s`;
  if (us >= 1000) return `${Number((us / 1000).toPrecision(3))} ms`;
  return `${Math.round(us)} µs`;
}

export function duration(seconds) {
  const parts = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const at = parts.findIndex(([, size]) => seconds >= size);
  if (at < 0) return "0 s";
  const [unit, size] = parts[at];
  const text = `${Math.floor(seconds / size)} ${unit}`;
  const next = parts[at + 1];
  const rest = next ? Math.floor((seconds % size) / next[1]) : 0;
  return rest > 0 && at < 2 ? `${text} ${rest} ${next[0]}` : text;
}

export const when = (unix) => new Date(unix * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

export const title = (protocol) => ({ smb: "SMB", afp: "AFP", nfs: "NFS", iscsi: "iSCSI" })[protocol] ?? protocol;

export const badge = (protocol) => h("span", { class: `badge p-${["smb", "afp", "nfs", "iscsi"].includes(protocol) ? protocol : "other"}` }, title(protocol));

// A heading of a page with things beside it.
export function heading(text, ...beside) {
  return h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, text), h("div", { class: "row" }, beside));
}

// A box to tick with its label, which stay on one line.
export const ticked = (field, text) => h("span", { class: "row check" }, field, h("label", { for: field.id }, text));

// A bar that shows how full something is.
export function bar(part, text) {
  const shown = Math.max(0, Math.min(1, part));
  const level = shown > 0.99 ? "bad" : shown > 0.95 ? "low" : "";
  return h("div", { class: `bar ${level}`, role: "img", "aria-label": text }, h("span", { style: { width: `${shown * 100}%` } }));
}

// A button that copies a text.
export function copyButton(text, what) {
  const button = h("button", {
    type: "button",
    class: "small",
    "aria-label": `Copy ${what}`,
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select it by hand";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    },
  }, "Copy");
  return button;
}
