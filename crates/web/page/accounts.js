// The accounts, and as which Unix users they act.

import { get } from "./api.js";
import { h, heading, replace } from "./dom.js";
import { table } from "./table.js";

const LOGINS = { argon2: "slow hash", "nt-hash": "SMB", srp: "AFP", legacy: "old Macs", chap: "iSCSI" };

const COLUMNS = [
  { title: "Account", cell: (row) => h("b", {}, row.name) },
  { title: "Acts as", cell: (row) => row.acts_as },
  { title: "May", cell: (row) => (row.disabled ? h("span", { class: "badge bad" }, "not log in") : row.admin ? h("span", { class: "badge good" }, "administer") : "log in") },
  { title: "Password kept for", cell: (row) => row.secrets.map((secret) => LOGINS[secret] ?? secret).join(", ") || h("span", { class: "muted" }, "no password") },
];

export default {
  title: "Accounts",
  async show(main, context) {
    const list = h("div", { class: "card" });
    main.append(heading("Accounts"), list, h("p", { class: "muted" }, "On the server, ", h("code", {}, "fourfold user add NAME"), " makes an account, ", h("code", {}, "fourfold user passwd NAME"), " changes its password, and ", h("code", {}, "fourfold user modify NAME --admin on"), " permits it this page."));
    async function load() {
      replace(list, table("Accounts", COLUMNS, await get("/v1/accounts", context.signal), "There is no account."));
    }
    context.on("settings", load);
    await load();
  },
};
