// How the server is: health in words, throughput and latency, clients, space.

import { get } from "./api.js";
import { chart } from "./chart.js";
import { badge, bar, bytes, count, duration, h, heading, latency, rate, replace, when } from "./dom.js";
import { isLeft } from "./setup.js";

const PROTOCOLS = ["smb", "afp", "nfs", "iscsi"];

function health(notes) {
  const loud = notes.filter((note) => !note.quiet);
  const worst = loud[0]?.level;
  const words = { problem: "Something is wrong", warning: "Something needs attention", hint: "A hint" }[worst] ?? "All is well";
  const list = loud.map((note) => h("li", { class: note.level }, h("strong", {}, note.text), h("span", { class: "muted" }, ` ${note.hint}`)));
  const quiet = notes.length - loud.length;
  const more = notes.some((note) => note.alert) ? h("p", { class: "small" }, h("a", { href: "#/alerts" }, quiet ? `Alerts, ${quiet} of them quiet` : "Alerts")) : null;
  return h("section", { class: `health card ${worst ?? "good"}`, "aria-label": "Health" },
    h("span", { class: "sign", "aria-hidden": "true" }, worst ? "!" : "✓"),
    h("div", {}, h("h2", {}, words), list.length ? h("ul", {}, list) : h("p", { class: "muted" }, "All shares are served, and no disk is nearly full."), more));
}

function tile(name, value, more) {
  return h("div", { class: "tile card" }, h("span", { class: "muted" }, name), h("b", {}, value), h("span", { class: "muted more" }, more));
}

function tiles({ holdings, uptime_s, version, memory }) {
  const protocols = Object.entries(holdings.connections).filter(([, number]) => number > 0);
  const clients = protocols.reduce((sum, [, number]) => sum + number, 0);
  return [
    tile("Connections now", count(clients), protocols.length ? protocols.map(([name, number]) => [badge(name), ` ${count(number)} `]) : "no client is connected"),
    tile("Open files", count(holdings.opens), `${count(holdings.locks)} locked ranges, ${count(holdings.leases)} leases`),
    tile("Running for", duration(uptime_s), `version ${version}`),
    tile("Memory", bytes(memory), "of the server, with its caches"),
  ];
}

// When a disk is full, by what the last 30 days were like.
function forecast(share) {
  if (share.growth_per_day === null) return "A forecast needs a day of samples.";
  const day = `${bytes(Math.abs(share.growth_per_day))} a day`;
  if (share.growth_per_day <= 0) return share.growth_per_day === 0 ? "It does not grow." : `It shrinks by ${day}.`;
  const full = share.full_in_s === null ? "full in more than ten years" : `full in about ${duration(share.full_in_s)}, ${new Date(Date.now() + share.full_in_s * 1000).toLocaleDateString(undefined, { dateStyle: "medium" })}`;
  return `It grows by ${day}: ${full}.`;
}

function lastBackups(backups) {
  const shown = [...backups].sort((one, other) => (one.completed ?? 0) - (other.completed ?? 0)).slice(0, 5);
  const good = (backup) => ["good", "backing-up"].includes(backup.state);
  return h("section", { class: "card" }, h("div", { class: "row" }, h("h2", { class: "grow" }, "Last backups"), h("a", { href: "#/backups" }, "All")),
    h("ul", { class: "plain" }, shown.map((backup) => h("li", { class: "row" }, h("span", { class: "grow clip" }, backup.mac),
      h("span", { class: "muted" }, backup.completed === null ? "none" : when(backup.completed)), good(backup) ? null : h("span", { class: "badge low" }, backup.state)))));
}

function space(shares) {
  const disks = new Map();
  for (const share of shares) {
    const key = share.quota ? `quota ${share.share}` : `disk ${share.disk}`;
    if (!disks.has(key)) disks.set(key, { names: [], size: share.quota ? Math.min(share.quota, share.size) : share.size, available: share.available, forecast: forecast(share) });
    disks.get(key).names.push(share.share);
  }
  return [...disks.values()].map(({ names, size, available, forecast }) => {
    if (!size) return h("div", { class: "space" }, h("div", { class: "row" }, h("b", {}, names.join(", ")), h("span", { class: "muted" }, "the space is not known")));
    const used = (size - available) / size;
    const text = `${bytes(available)} of ${bytes(size)} free`;
    return h("div", { class: "space" }, h("div", { class: "row" }, h("b", { class: "grow clip" }, names.join(", ")), h("span", { class: "muted" }, text)), bar(used, `${names.join(", ")}: ${text}`), h("p", { class: "muted small" }, forecast));
  });
}

// A new server: nothing is shared, and nothing was.
function firstRun() {
  return h("section", { class: "card first" },
    h("h2", {}, "This server shares nothing yet"),
    h("p", { class: "muted" }, "In five minutes it has a name, people, and a folder that all clients can open."),
    h("div", { class: "row" }, h("a", { class: "button", href: "#/setup" }, "Set this server up"), h("a", { class: "button", href: "#/shares?new" }, "Only share a folder"), h("a", { class: "button", href: "#/adopt" }, "Move in from another server")));
}

export default {
  title: "Overview",
  async show(main, context) {
    const top = h("div", { class: "stack" });
    const welcome = h("div", {});
    let isNew = null; // whether the first run was looked at
    const numbers = h("div", { class: "tiles" });
    const saved = h("div", {});
    const disks = h("div", {});
    const through = chart("Throughput", rate, 1024);
    const late = chart("Latency: 99 of 100 operations are faster", latency, 10);
    let span = "minutes";
    let kept = { last: 0, protocols: {} };
    const choice = (value, text) => h("button", {
      type: "button",
      "aria-pressed": String(value === span),
      onclick: (event) => {
        span = value;
        kept = { last: 0, protocols: {} };
        for (const button of event.target.parentElement.children) button.setAttribute("aria-pressed", String(button === event.target));
        look().catch(() => {});
      },
    }, text);
    const name = h("span", { class: "muted" });
    main.append(
      heading("Overview", name),
      top, welcome, numbers,
      h("div", { class: "row" }, h("span", { class: "grow" }), h("div", { class: "choice", role: "group", "aria-label": "Time" }, choice("minutes", "10 minutes"), choice("day", "24 hours"))),
      h("div", { class: "charts" }, through.element, late.element),
      h("section", { class: "card" }, h("h2", {}, "Space"), disks), saved);

    async function overview() {
      const now = await get("/v1/overview", context.signal);
      name.textContent = now.name;
      replace(top, health(now.notes));
      replace(welcome, now.shares.length > 0 ? null : firstRun());
      if (now.shares.length === 0 && isNew === null) {
        const { settings, file } = await get("/v1/settings", context.signal);
        isNew = file !== null && settings.every((setting) => setting.share === null);
        if (isNew && !isLeft() && !context.signal.aborted) location.hash = "#/setup";
      }
      replace(numbers, tiles(now));
      replace(disks, now.shares.length ? space(now.shares) : h("p", { class: "muted" }, "There is no share."));
    }
    async function look() {
      const wanted = span;
      const new_ = await get(`/v1/throughput?span=${wanted}&after=${kept.last}`, context.signal);
      if (wanted !== span) return;
      const most = new_.step_s === 1 ? 600 : 1440;
      const steps = Math.max(0, new_.last - kept.last);
      const protocols = {};
      for (const [protocol, columns] of Object.entries(new_.protocols)) {
        const before = kept.protocols[protocol] ?? {};
        protocols[protocol] = Object.fromEntries(Object.entries(columns).map(([key, values]) => {
          const old = steps >= most || kept.last === 0 ? [] : before[key] ?? [];
          return [key, old.concat(values).slice(-most)];
        }));
      }
      kept = { last: new_.last, protocols };
      const names = PROTOCOLS.filter((protocol) => protocols[protocol]);
      const series = (of) => names.map((protocol) => ({ name: protocol, values: of(protocols[protocol]) }));
      through.draw(series((columns) => columns.bytes_in.map((value, index) => (value + columns.bytes_out[index]) / new_.step_s)), new_.step_s, most);
      late.draw(series((columns) => columns.p99_us), new_.step_s, most);
    }
    context.on("holdings", overview);
    context.on("settings", overview);
    context.on("alert", overview);
    const backups = async () => {
      const all = await get("/v1/backups", context.signal);
      replace(saved, all.length ? lastBackups(all) : null);
    };
    await Promise.all([context.every(10000, overview), context.every(2000, look), context.every(60000, backups)]);
  },
};
