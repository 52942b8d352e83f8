// The accounts, as which Unix users they act, and their groups.

import { get } from "./api.js";
import { h, heading, replace } from "./dom.js";
import { table } from "./table.js";

const LOGINS = { argon2: "slow hash", "nt-hash": "SMB", srp: "AFP", legacy: "old Macs", chap: "iSCSI" };

const ACCOUNTS = [
  { title: "Account", cell: (row) => h("b", {}, row.name) },
  { title: "Acts as", cell: (row) => row.acts_as },
  { title: "Groups", kind: "words", cell: (row) => row.groups.join(", ") },
  { title: "May", cell: (row) => (row.disabled ? h("span", { class: "badge bad" }, "not log in") : row.admin ? h("span", { class: "badge good" }, "administer") : "log in") },
  { title: "Password kept for", cell: (row) => row.secrets.map((secret) => LOGINS[secret] ?? secret).join(", ") || h("span", { class: "muted" }, "no password") },
];

const MOST_NAMES = 20;

function names(all, none) {
  if (all.length === 0) return h("span", { class: "muted" }, none);
  const rest = all.length - MOST_NAMES;
  return all.slice(0, MOST_NAMES).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

const GROUPS = [
  { title: "Group", cell: (row) => h("b", {}, row.name) },
  { title: "Number", numeric: true, cell: (row) => (row.gid === null ? h("span", { class: "badge bad" }, "not on this host") : String(row.gid)) },
  { title: "Accounts in it", cell: (row) => names(row.accounts, "none") },
  { title: "Shares that admit it", cell: (row) => names(row.shares, "by name none") },
];

export default {
  title: "Accounts",
  async show(main, context) {
    const list = h("section", { class: "card" });
    const groups = h("section", { class: "card" });
    main.append(heading("Accounts"), list, groups,
      h("p", { class: "muted" }, "On the server, ", h("code", {}, "fourfold user add NAME"), " makes an account, ", h("code", {}, "fourfold user passwd NAME"), " changes its password, and ", h("code", {}, "fourfold user modify NAME --admin on"), " permits it this page. Groups are those of the host."));
    async function load() {
      const [accounts, all] = await Promise.all([get("/v1/accounts", context.signal), get("/v1/groups", context.signal)]);
      replace(list, table("Accounts", ACCOUNTS, accounts, "There is no account."));
      replace(groups, h("h2", {}, "Groups"), table("Groups", GROUPS, all, "No account is in a group, and no share names one."));
    }
    context.on("settings", load);
    await load();
  },
};
