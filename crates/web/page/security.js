// Who is signed in to the console, the second factor, the tokens of programs, and the certificate.

import { get, post } from "./api.js";
import { duration, h, heading, replace, when } from "./dom.js";
import { secondFactor } from "./secondfactor.js";
import { table } from "./table.js";

const MAY = { metrics: "read the metrics", read: "read everything that the API tells", write: "change what needs no person" };

// The text of a chosen file; empty if none is.
const text = async (field) => (field.files[0] ? field.files[0].text() : "");

function certificateForm(context, shown, again) {
  const file = (id, label) => { const input = h("input", { id, type: "file", accept: ".pem,.crt,.cer,.key", required: true }); return [input, [h("label", { for: id }, label), input]]; };
  const [chain, chainRows] = file("certificate-chain", "Certificate, with those of its issuers (PEM)");
  const [key, keyRows] = file("certificate-key", "Its private key (PEM)");
  const make = async () => {
    const words = "Browsers will warn once more, because the server signs it itself. Programs that know the old one must get the new one.";
    if (!await context.confirm("Make a new certificate here?", words, "Make it")) return;
    await context.doing(() => post("/v1/certificate/make"));
    await again();
  };
  const end = shown.ends === null ? "its end is not known" : `valid until ${when(shown.ends)}`;
  const about = [h("p", {}, h("b", {}, shown.names.join(", ") || "no names"), `, ${end}.`),
    h("p", { class: "muted small" }, shown.is_own ? "The server has made it itself, or it was uploaded here." : `The settings name its file: ${shown.file}. Replace that file on the server, then have the settings read again.`)];
  if (!shown.is_own) return about;
  const order = async () => {
    await context.doing(() => post("/v1/certificate/order"));
    await again();
  };
  const { issuer } = shown;
  const result = (last, error) => (last === null ? "It has not been asked yet." : error === null ? `Given ${when(last)}.` : `Refused ${when(last)}: ${error}`);
  const ofIssuer = issuer
    ? h("div", { class: "row", id: "issuer" }, h("p", { class: "grow" }, `An issuer gives and renews the certificate for ${issuer.names.join(", ")}. `, h("span", { class: issuer.error ? "error" : "muted" }, result(issuer.last, issuer.error))),
      h("button", { type: "button", onclick: order }, "Ask the issuer now"))
    : h("p", { class: "muted small" }, "An issuer that browsers know, such as Let\u2019s Encrypt, gives one if ", h("a", { href: "#/settings?search=acme-" }, "acme-names"), " is set.");
  about.push(ofIssuer);
  return [about, h("form", { id: "certificate", onsubmit: async (event) => {
    event.preventDefault();
    const body = { chain: await text(chain), key: await text(key) };
    if (await context.doing(() => post("/v1/certificate", body))) await again();
  } }, h("div", { class: "fields" }, chainRows, keyRows),
  h("p", { class: "muted small" }, "It counts at once for new connections. The key stays in the state folder, and is never shown."),
  h("div", { class: "row end" }, h("button", { type: "button", onclick: make }, "Make one here…"), h("button", { type: "submit", class: "primary" }, "Upload")))];
}

export default {
  title: "Sign-ins and certificate",
  async show(main, context) {
    const [sessions, tokens, certificate, factor] = [h("div", {}), h("div", {}), h("div", {}), h("div", {})];
    const card = (title, words, place, id) => h("section", { class: "card", id }, h("h2", {}, title), h("p", { class: "muted small" }, words), place);
    main.append(heading("Sign-ins and certificate"),
      card("Signed in to this console", "A session ends after 12 hours, and after one hour without a request.", sessions, "sessions"),
      card("Second factor", "A code of an authenticator app, beside the password, at each login to this console. It protects you if your password is in the wrong hands.", factor, "factor"),
      card("Tokens of programs", "Programs use the API with a token. fourfold token create NAME on the server makes one.", tokens, "tokens"),
      card("Certificate of the console and the API", "By it browsers know that they speak with this server.", certificate, "certificates"));
    const end = (body, title, words) => async () => {
      if (!await context.confirm(title, words, "End it")) return;
      await context.doing(() => post("/v1/logins/end", body));
      document.activeElement?.blur();
      await load();
    };
    const button = (label, onclick) => h("div", { class: "row end" }, h("button", { type: "button", class: "small", "aria-label": label, onclick }, "End…"));
    const ofSessions = [
      { title: "Account", cell: (row) => [h("b", {}, row.account), " ", row.is_this ? h("span", { class: "badge good" }, "this one") : null].filter(Boolean) },
      { title: "From", kind: "whole", cell: (row) => row.from },
      { title: "Signed in by", cell: (row) => row.method },
      { title: "Since", numeric: true, cell: (row) => duration(row.since_s) },
      { title: "Last request", numeric: true, cell: (row) => (row.idle_s < 10 ? "now" : `${duration(row.idle_s)} ago`) },
      { title: "", cell: (row) => (row.is_this ? null : button(`End the session of ${row.account} from ${row.from}`, end({ session: row.number }, `End the session of ${row.account}?`, `The browser at ${row.from} must log in again.`))) },
    ];
    const ofTokens = [
      { title: "Token", cell: (row) => h("b", {}, row.name) },
      { title: "May", cell: (row) => row.scopes.map((scope) => MAY[scope] ?? scope).join(", ") },
      { title: "Made", kind: "whole", cell: (row) => when(row.created) },
      { title: "", cell: (row) => button(`End the token ${row.name}`, end({ token: row.name }, `End the token ${row.name}?`, "The program that has it is refused from its next request on.")) },
    ];
    async function load() {
      const known = await get("/v1/logins", context.signal);
      if (main.contains(document.activeElement) && document.activeElement.tagName === "BUTTON" && document.activeElement.closest("table")) return;
      replace(sessions, table("Sessions", ofSessions, known.sessions, "No session."));
      replace(tokens, table("Tokens", ofTokens, known.tokens, "No program has a token."));
    }
    async function loadCertificate() {
      const shown = await get("/v1/certificate", context.signal);
      replace(certificate, shown.is_on ? certificateForm(context, shown, loadCertificate) : h("p", { class: "muted" }, "The console is served without TLS (admin-tls is off), so it has no certificate."));
    }
    await Promise.all([loadCertificate(), secondFactor(factor, context)]);
    await context.every(10000, load);
  },
};
