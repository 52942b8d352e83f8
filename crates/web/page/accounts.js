// The accounts, as which Unix users they act, and their groups: made, changed, removed.

import { get, post } from "./api.js";
import { h, heading, replace, ticked } from "./dom.js";
import { passwordFields } from "./password.js";
import { picker } from "./people.js";
import { table } from "./table.js";

const LOGINS = { argon2: "slow hash", "nt-hash": "SMB", srp: "AFP", legacy: "old Macs", chap: "iSCSI" };
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
  { title: "Shares that name it", cell: (row) => names(row.shares, "none") },
];

const number = (field) => (field.value.trim() === "" ? null : Number(field.value));

// What is kept in addition to the usual hashes.
function keptFields(secrets) {
  const box = (id, text, kind) => [h("input", { type: "checkbox", id, checked: secrets.includes(kind) }), text];
  const [legacy, legacyText] = box("keep-legacy", "Keep its first eight characters as they are, for Macs before Mac OS 8.6", "legacy");
  const [chap, chapText] = box("keep-chap", "Keep it as it is, for iSCSI logins: 12 to 16 characters", "chap");
  return { value: () => ({ legacy_password: legacy.checked, chap_secret: chap.checked }), rows: [ticked(legacy, legacyText), ticked(chap, chapText)] };
}

// As whom an account acts.
function actsFields(account, groups) {
  const uid = h("input", { id: "account-uid", type: "number", min: "0", max: "4294967294", value: account.set_uid ?? "", placeholder: "the user of the same name" });
  const gid = h("input", { id: "account-gid", type: "number", min: "0", max: "4294967294", value: account.set_gid ?? "", placeholder: "that of the Unix user" });
  const offered = groups.filter((group) => group.gid !== null).map((group) => group.name);
  const chosen = [...account.own_groups, ...account.further_groups];
  const more = picker({ id: "account-groups", label: "Groups", offered, placeholder: "Name of a group", chosen, show: (name) => name });
  return {
    value: () => ({ uid: number(uid), gid: number(gid), groups: more.value() }),
    groups: [h("label", { for: "account-groups" }, "Groups"), more.element],
    rows: [h("label", { for: "account-uid" }, "Unix user (number)"), uid, h("label", { for: "account-gid" }, "First group (number)"), gid,
      h("span", { class: "muted small" }, "Without numbers, it acts as the Unix user of its name. The server must run as root for groups of the host.")],
  };
}

// What few people need. It opens when something in it is wrong.
function more(...rows) {
  const details = h("details", { class: "more" }, h("summary", {}, "More"), h("div", { class: "fields" }, rows));
  details.addEventListener("invalid", () => { details.open = true; }, true);
  return details;
}

function form(title, rows, button, send, close, id = "account-form") {
  return h("form", {
    class: "card",
    id,
    onkeydown: (event) => { if (event.key === "Escape") close(); },
    onsubmit: async (event) => {
      event.preventDefault();
      const sent = event.currentTarget;
      if (await send() && sent.isConnected) close(); // another form may be open by now
    },
  }, h("h2", {}, title), h("div", { class: "fields" }, rows),
  h("div", { class: "row end" }, h("button", { type: "button", onclick: close }, "Cancel"), h("button", { type: "submit", class: "primary" }, button)));
}

const NEW = { set_uid: null, set_gid: null, further_groups: [], own_groups: [], secrets: [] };

export default {
  title: "People and groups",
  async show(main, context) {
    const place = h("div", {});
    const list = h("section", { class: "card" });
    const groups = h("section", { class: "card" });
    let known = []; // groups
    let everyone = []; // the names of the accounts
    const field = h("input", { type: "search", "aria-label": "Search people and groups", placeholder: "Search", value: new URLSearchParams(location.hash.split("?")[1] ?? "").get("search") ?? "", oninput: () => load().then(() => field.focus()) });
    const rule = await get("/v1/password-rule", context.signal);
    const close = () => replace(place);
    const show = (element, focus) => {
      replace(place, element);
      place.querySelector(focus).focus();
    };
    const change = async (path, body, of = "accounts") => {
      const done = await context.doing(() => post(`/v1/${of}${path}`, body));
      await load();
      return done;
    };

    function addForm() {
      const name = h("input", { id: "account-name", required: true, maxlength: "64", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
      const [password, kept, acts] = [passwordFields("account-password", rule, () => name.value), keptFields([]), actsFields(NEW, known)];
      name.addEventListener("input", password.judge);
      const admin = h("input", { type: "checkbox", id: "account-admin" });
      return form("New person", [h("label", { for: "account-name" }, "Name"), name, password.rows, acts.groups,
        ticked(admin, "May administer this server"), more(acts.rows, kept.rows)], "Make it",
      () => change("", { name: name.value, password: password.value(), ...acts.value(), ...kept.value(), admin: admin.checked }), close);
    }
    function passwordForm(account) {
      const [password, kept] = [passwordFields("account-password", rule, () => account.name), keptFields(account.secrets)];
      return form(`Another password for ${account.name}`, [password.rows, kept.rows], "Change it",
        () => change("/password", { name: account.name, password: password.value(), ...kept.value() }), close);
    }
    function changeForm(account) {
      const acts = actsFields(account, known);
      const admin = h("input", { type: "checkbox", id: "account-admin", checked: account.admin });
      const disabled = h("input", { type: "checkbox", id: "account-disabled", checked: account.disabled });
      // Only what is different is sent: what is set elsewhere need not be changed here.
      const sent = () => {
        const all = { ...acts.value(), admin: admin.checked, disabled: disabled.checked };
        const before = { uid: account.set_uid, gid: account.set_gid, groups: [...account.own_groups, ...account.further_groups], admin: account.admin, disabled: account.disabled };
        return Object.fromEntries(Object.entries(all).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key])));
      };
      return form(`Change ${account.name}`, [acts.groups, ticked(admin, "May administer this server"), ticked(disabled, "May not log in"), more(acts.rows)], "Change",
        async () => (Object.keys(sent()).length === 0 ? true : change("/change", { name: account.name, ...sent() })), close);
    }
    // A group of the server's own; without one, it is new.
    function groupForm(group) {
      const name = h("input", { id: "group-name", required: true, maxlength: "64", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
      const members = picker({ id: "group-accounts", label: "Accounts in it", offered: everyone, placeholder: "Name", chosen: group?.accounts ?? [], show: (one) => one });
      const [path, of] = group ? ["/change", () => group.name] : ["", () => name.value.trim()];
      return form(group ? `Change ${group.name}` : "New group", [group ? null : [h("label", { for: "group-name" }, "Name"), name], h("label", { for: "group-accounts" }, "Accounts in it"), members.element],
        group ? "Change" : "Make it", () => change(path, { name: of(), accounts: members.value() }, "groups"), close, "group-form");
    }
    async function removeGroup(group) {
      const used = group.shares.length ? ` It has a role in ${group.shares.join(", ")}, or may enter there: its accounts lose that.` : "";
      if (await context.confirm(`Remove the group ${group.name}?`, `Its accounts stay.${used}`, "Remove")) await change("/remove", { name: group.name }, "groups");
    }
    // The server keeps nothing of a password that would do for another name.
    function renameForm(account) {
      const name = h("input", { id: "account-name", required: true, maxlength: "64", value: account.name, autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
      const password = passwordFields("account-password", rule, () => name.value);
      name.addEventListener("input", password.judge);
      return form(`Rename ${account.name}`, [h("label", { for: "account-name" }, "New name"), name, password.rows,
        h("span", { class: "muted small" }, "It gets a password with the new name, as the old one does not fit it. Files, groups and roles in shares stay.")], "Rename",
      () => change("/rename", { name: account.name, new: name.value, password: password.value() }), close);
    }
    async function remove(account) {
      if (await context.confirm(`Remove ${account.name}?`, "It cannot log in any more, and its sessions end. Its files stay.", "Remove")) {
        await change("/remove", { name: account.name });
      }
    }
    const button = (text, account, onclick) => h("button", { type: "button", class: "small", "aria-label": `${text.replace("…", "")}: ${account.name}`, onclick }, text);
    const columns = [
      { title: "Account", kind: "words", cell: (row) => h("b", {}, row.name) },
      { title: "Acts as", cell: (row) => row.acts_as },
      { title: "Groups", kind: "words", cell: (row) => row.groups.join(", ") },
      { title: "May", cell: (row) => (row.disabled ? h("span", { class: "badge bad" }, "not log in") : row.admin ? h("span", { class: "badge good" }, "administer") : "log in") },
      { title: "Password kept for", cell: (row) => row.secrets.map((secret) => LOGINS[secret] ?? secret).join(", ") || h("span", { class: "muted" }, "no password") },
      { title: "", cell: (row) => (row.kept === "file" ? h("div", { class: "row end" },
        button("Password…", row, () => show(passwordForm(row), "#account-password")),
        button("Change…", row, () => show(changeForm(row), "#account-groups")),
        button("Rename…", row, () => show(renameForm(row), "#account-name")),
        button("Remove…", row, () => remove(row))) : h("span", { class: "muted small" }, "set where the server is started")) },
    ];
    const groupColumns = [...GROUPS, { title: "", cell: (row) => (row.own ? h("div", { class: "row end" },
      button("Change…", row, () => show(groupForm(row), "#group-accounts")), button("Remove…", row, () => removeGroup(row))) : null) }];
    async function load() {
      const [accounts, all] = await Promise.all([get("/v1/accounts", context.signal), get("/v1/groups", context.signal)]);
      known = all;
      everyone = accounts.map((one) => one.name);
      const wanted = field.value.toLowerCase();
      const has = (row) => [row.name, ...(row.groups ?? []), ...(row.accounts ?? [])].some((text) => text.toLowerCase().includes(wanted));
      replace(list, accounts.length > MOST_NAMES || wanted ? h("div", { class: "row toolbar" }, field) : null,
        table("Accounts", columns, accounts.filter(has), wanted ? "Nothing is found." : "There is no account yet. Each person who uses this server needs one."));
      replace(groups, h("div", { class: "row" }, h("h2", { class: "grow" }, "Groups"), h("button", { type: "button", class: "small", id: "new-group", onclick: () => show(groupForm(null), "#group-name") }, "New group")),
        table("Groups", groupColumns, all.filter(has), wanted ? "Nothing is found." : "There is no group. A group gives several people the same role in a share."),
        h("p", { class: "muted small" }, "Groups of the host and of a domain are changed there. What a group may do in a share is on the page Who may do what."));
    }
    main.append(heading("People and groups", h("button", { type: "button", class: "primary", onclick: () => show(addForm(), "#account-name") }, "New person")), place, list, groups);
    context.on("settings", load);
    await load();
    if (new URLSearchParams(location.hash.split("?")[1] ?? "").has("new")) show(addForm(), "#account-name");
  },
};
