// The snapshots of the shares: when they were taken, what is in them; taken, held, removed, and files restored.

import { get, post } from "./api.js";
import { bytes, h, heading, replace, when } from "./dom.js";
import { table } from "./table.js";
import { SPANS, timeline } from "./timeline.js";

const PERIODS = ["hourly", "daily", "nightly", "weekly", "monthly"];

function restoreForm(context, snapshot, close) {
  const path = h("input", { id: "restore-path", required: true, placeholder: "folder/file" });
  const to = h("input", { id: "restore-to", placeholder: "the same path" });
  const outcome = h("div", { "aria-live": "polite" });
  const ask = (dry_run) => post("/v1/snapshots/restore", { share: snapshot.share, snapshot: snapshot.name, path: path.value, to: to.value || null, dry_run });
  const words = (report) => `${report.restored} restored, ${report.unchanged} unchanged, ${report.refused} refused`;
  const run = async (dry) => {
    if (!dry) {
      try {
        const would = await ask(true);
        const text = `It would do this: ${words(would)}. Files that are there and differ are overwritten by those of the snapshot; files that it does not have stay.`;
        if (!await context.confirm(`Restore ${path.value} from ${snapshot.name}?`, text, "Restore")) return;
      } catch (error) {
        context.failed(error);
        return;
      }
    }
    await context.doing(async () => {
      const report = await ask(dry);
      const entries = report.entries.slice(0, 50).map((entry) => h("li", {}, `${entry.did}: ${entry.path}`, entry.why ? h("span", { class: "muted" }, ` ${entry.why}`) : null));
      replace(outcome, h("p", {}, `${dry ? "It would do this" : "Done"}: ${words(report)}.`), h("ul", {}, entries));
      return { lines: [`${dry ? "Preview" : "Restore"}: ${words(report)}`] };
    });
  };
  // A whole tree can take long: it is a job, which goes on when the page is closed.
  const start = async () => {
    if (!await context.confirm(`Restore ${path.value} from ${snapshot.name}?`, "Files that are there and differ are overwritten by those of the snapshot; files that it does not have stay.", "Restore")) return;
    const request = { kind: "restore", share: snapshot.share, snapshot: snapshot.name, path: path.value, to: to.value || null };
    if (await context.doing(async () => { await post("/v1/jobs", request); return { lines: ["The restore has begun"] }; })) location.hash = "#/jobs";
  };
  return h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); run(false); } },
    h("h2", {}, `Restore from ${snapshot.share}@${snapshot.name}`),
    h("div", { class: "fields" },
      h("label", { for: "restore-path" }, "File or folder in the share"), path,
      h("label", { for: "restore-to" }, "Restore it to"), to),
    h("p", { class: "muted small" }, "Files that the snapshot does not have stay. An existing file is replaced by the one of the snapshot."),
    outcome,
    h("div", { class: "row end" }, h("button", { type: "button", onclick: close }, "Close"),
      h("button", { type: "button", onclick: () => { if (path.reportValidity()) run(true); } }, "Preview"),
      h("button", { type: "button", id: "restore-job", onclick: () => { if (path.reportValidity()) start(); } }, "Restore as a job"),
      h("button", { type: "submit", class: "primary" }, "Restore")));
}

// A form with one field. `send(text)` answers whether it is done.
function ask(title, label, value, button, send, close) {
  const field = h("input", { id: "snapshot-word", required: true, value, spellcheck: "false" });
  return h("form", { class: "card", onkeydown: (event) => { if (event.key === "Escape") close(); }, onsubmit: async (event) => { event.preventDefault(); if (await send(field.value)) close(); } },
    h("h2", {}, title), h("div", { class: "fields" }, h("label", { for: "snapshot-word" }, label), field),
    h("div", { class: "row end" }, h("button", { type: "button", onclick: close }, "Cancel"), h("button", { type: "submit", class: "primary" }, button)));
}

function scheduleForm(context, share, rows, again) {
  const kept = Object.fromEntries(rows.map((row) => [row.period, row.keep]));
  const fields = PERIODS.map((period) => [period, h("input", { type: "number", min: "0", max: "1000", id: `keep-${period}`, value: String(kept[period] ?? 0) })]);
  return h("form", {
    class: "keeps",
    onsubmit: async (event) => {
      event.preventDefault();
      const words = fields.filter(([, field]) => Number(field.value) > 0).map(([period, field]) => `${period}:${Number(field.value)}`);
      if (await context.doing(() => post("/v1/settings", { share, key: "snapshot-schedule", value: words.length ? words.join(" ") : null }))) await again();
    },
  }, h("p", { class: "muted small" }, "How many snapshots of each kind are kept; 0: none are taken."),
  h("div", { class: "row" }, fields.map(([period, field]) => h("div", { class: "keep" }, h("label", { for: `keep-${period}` }, period), field))),
  h("div", { class: "row end" }, h("button", { type: "submit" }, "Change the schedule")));
}

export default {
  title: "Snapshots",
  async show(main, context) {
    let only = new URLSearchParams(location.hash.split("?")[1] ?? "").get("share") ?? "";
    let chosen = null;
    let span = 0;
    let all = { snapshots: [], shares: {}, schedules: {} };
    const drawn = h("div", {});
    const list = h("div", {});
    const form = h("div", {});
    const schedule = h("details", { class: "card", id: "schedule" });
    const choose = h("select", { id: "snapshot-share", onchange: () => { only = choose.value; replace(form); draw(); } });
    const name = h("input", { id: "snapshot-name", placeholder: "named by its time" });
    const why = h("p", { class: "muted" });
    const take = h("form", {
      class: "card row",
      onsubmit: async (event) => {
        event.preventDefault();
        if (await context.doing(() => post("/v1/snapshots", { share: only, name: name.value || null }))) name.value = "";
        await load();
      },
    }, h("label", { for: "snapshot-share" }, "Share"), choose, h("label", { for: "snapshot-name" }, "Name"), h("span", { class: "grow" }, name), h("button", { type: "submit", class: "primary" }, "Take a snapshot"), why);
    const spans = h("div", { class: "choice", role: "group", "aria-label": "Time" }, SPANS.map(([, text, seconds]) => h("button", { type: "button", "aria-pressed": String(seconds === span), onclick: (event) => {
      span = seconds;
      for (const button of spans.children) button.setAttribute("aria-pressed", String(button === event.target));
      draw();
    } }, text)));
    main.append(heading("Snapshots", spans), h("section", { class: "card", "aria-label": "Timeline" }, drawn), take, form, schedule, h("section", { class: "card" }, list));

    const close = () => replace(form);
    const show = (element, focus) => { replace(form, element); form.querySelector(focus).focus(); };
    async function change(path, body) {
      const done = await context.doing(() => post(path, body));
      await load();
      return done;
    }
    async function remove(row) {
      if (!await context.confirm(`Remove ${row.share}@${row.name}?`, "What only this snapshot has is lost.", "Remove")) return;
      if (await change("/v1/snapshots/remove", { share: row.share, name: row.name })) close();
    }
    const actions = (row) => [
      ["Restore…", `Restore from ${row.name}`, () => show(restoreForm(context, row, close), "#restore-path")],
      ["Rename…", `Rename ${row.name}`, () => show(ask(`Rename ${row.share}@${row.name}`, "New name", row.name, "Rename", (word) => change("/v1/snapshots/rename", { share: row.share, name: row.name, new: word }), close), "input")],
      ["Hold…", `Hold ${row.name}`, () => show(ask(`Hold ${row.share}@${row.name}`, "Tag: who needs it", "", "Hold", (word) => change("/v1/snapshots/hold", { share: row.share, name: row.name, tag: word }), close), "input")],
      ...row.held.map((tag) => [`Release ${tag}`, `Release ${tag} of ${row.name}`, () => change("/v1/snapshots/release", { share: row.share, name: row.name, tag })]),
      ["Remove", `Remove ${row.name}`, () => remove(row)],
    ];
    const browse = (row) => (row.inside === null ? null : h("a", { class: "button small", href: `#/files?${new URLSearchParams({ share: row.share, path: row.inside, snapshot: row.name })}`, "aria-label": `Browse ${row.name}` }, "Browse"));
    const columns = [
      { title: "Name", kind: "words", cell: (row) => row.name },
      { title: "Taken", kind: "whole", cell: (row) => when(row.created) },
      { title: "Frees", numeric: true, cell: (row) => bytes(row.used) },
      { title: "Held by", cell: (row) => row.held.join(", ") || "–" },
      {
        title: "",
        cell: (row) => h("div", { class: "row end" }, browse(row), actions(row).map(([text, name, onclick]) => h("button", { type: "button", class: "small", "aria-label": name, onclick }, text))),
      },
    ];

    function select(snapshot) {
      chosen = snapshot;
      only = snapshot.share;
      draw();
      drawn.querySelector(`.shot[aria-pressed=true]`)?.focus();
      list.querySelector("tr.chosen")?.scrollIntoView({ block: "nearest" });
    }

    // Draws again. A button that has the focus keeps it.
    function draw() {
      const focused = drawn.contains(document.activeElement) || list.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
      drawAll();
      if (focused !== null) [...drawn.querySelectorAll("button"), ...list.querySelectorAll("button, a")].find((one) => one.getAttribute("aria-label") === focused)?.focus();
    }

    function drawAll() {
      const shares = Object.keys(all.shares);
      if (!shares.includes(only)) only = shares.find((share) => all.shares[share] === null) ?? shares[0] ?? "";
      const able = shares.filter((share) => all.shares[share] === null);
      const due = Object.fromEntries(Object.entries(all.schedules).map(([share, rows]) => [share, Math.min(...rows.map((row) => row.next ?? Infinity))]));
      replace(drawn, able.length ? timeline({ shares: able, snapshots: all.snapshots, span, chosen, choose: select, due }) : h("p", { class: "muted" }, "No share lies on a file system that can have snapshots: btrfs, ZFS or XFS."));
      replace(choose, shares.map((share) => h("option", { value: share }, share)));
      choose.value = only;
      const refused = all.shares[only];
      take.querySelector("button").disabled = !only || refused !== null;
      why.textContent = refused ?? "";
      const rows = all.snapshots.filter((snapshot) => snapshot.share === only).reverse();
      replace(list, h("h2", {}, `${rows.length} ${rows.length === 1 ? "snapshot" : "snapshots"} of ${only || "no share"}`), table("Snapshots", columns, rows, "No snapshot is kept yet."));
      if (chosen) list.querySelectorAll("tbody tr")[rows.findIndex((row) => row.share === chosen.share && row.name === chosen.name)]?.classList.add("chosen");
      if (!schedule.contains(document.activeElement)) drawSchedule(refused);
    }

    function drawSchedule(refused) {
      const rows = all.schedules[only] ?? [];
      schedule.hidden = !only || refused !== null;
      const text = rows.length ? rows.map((row) => `${row.period}: ${row.keep} kept`).join(", ") : "none";
      replace(schedule, h("summary", {}, h("b", {}, `Schedule of ${only}`), h("span", { class: "muted" }, ` ${text}`)), scheduleForm(context, only, rows, load));
    }

    async function load() {
      all = await get("/v1/snapshots", context.signal);
      draw();
    }
    context.on("snapshots", load);
    context.on("settings", load);
    await load();
  },
};
