// The snapshots of the shares: taken, removed, and files restored from them.

import { get, post } from "./api.js";
import { bytes, h, heading, replace, when } from "./dom.js";
import { table } from "./table.js";

function restoreForm(context, snapshot, close) {
  const path = h("input", { id: "restore-path", required: true, placeholder: "folder/file" });
  const to = h("input", { id: "restore-to", placeholder: "the same path" });
  const outcome = h("div", { "aria-live": "polite" });
  const ask = (dry_run) => post("/v1/snapshots/restore", { share: snapshot.share, snapshot: snapshot.name, path: path.value, to: to.value || null, dry_run });
  const words = (report) => `${report.restored} restored, ${report.unchanged} unchanged, ${report.refused} refused`;
  const run = async (dry) => {
    await context.doing(async () => {
      const report = await ask(dry);
      const entries = report.entries.slice(0, 50).map((entry) => h("li", {}, `${entry.did}: ${entry.path}`, entry.why ? h("span", { class: "muted" }, ` ${entry.why}`) : null));
      replace(outcome, h("p", {}, `${dry ? "It would do this" : "Done"}: ${words(report)}.`), h("ul", {}, entries));
      return { lines: [`${dry ? "Preview" : "Restore"}: ${words(report)}`] };
    });
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
      h("button", { type: "submit", class: "primary" }, "Restore")));
}

export default {
  title: "Snapshots",
  async show(main, context) {
    let only = "";
    const list = h("div", {});
    const form = h("div", {});
    const choose = h("select", { id: "snapshot-share", onchange: () => { only = choose.value; load().catch((error) => context.toast(error.message, "bad")); } });
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
    main.append(heading("Snapshots"), take, form, h("section", { class: "card" }, list));

    const close = () => replace(form);
    const columns = [
      { title: "Name", cell: (row) => row.name },
      { title: "Taken", cell: (row) => when(row.created) },
      { title: "Frees", numeric: true, cell: (row) => bytes(row.used) },
      { title: "Held by", cell: (row) => row.held.join(", ") || "–" },
      {
        title: "",
        cell: (row) => h("div", { class: "row end" },
          h("button", {
            type: "button",
            class: "small",
            "aria-label": `Restore from ${row.name}`,
            onclick: () => { replace(form, restoreForm(context, row, close)); document.getElementById("restore-path").focus(); },
          }, "Restore…"),
          h("button", {
            type: "button",
            class: "small",
            "aria-label": `Remove ${row.name}`,
            onclick: async () => {
              if (!await context.confirm(`Remove ${row.share}@${row.name}?`, "What only this snapshot has is lost.", "Remove")) return;
              await context.doing(() => post("/v1/snapshots/remove", { share: row.share, name: row.name }));
              await load();
            },
          }, "Remove")),
      },
    ];

    async function load() {
      const all = await get("/v1/snapshots", context.signal);
      const shares = Object.keys(all.shares);
      if (!shares.includes(only)) only = shares.find((share) => all.shares[share] === null) ?? shares[0] ?? "";
      replace(choose, shares.map((share) => h("option", { value: share }, share)));
      choose.value = only;
      const refused = all.shares[only];
      take.querySelector("button").disabled = !only || refused !== null;
      why.textContent = refused ?? "";
      const rows = all.snapshots.filter((snapshot) => snapshot.share === only).reverse();
      replace(list, h("h2", {}, `${rows.length} snapshots of ${only || "no share"}`), table("Snapshots", columns, rows, "There is none yet."));
    }
    context.on("snapshots", load);
    context.on("settings", load);
    await load();
  },
};
