//! Settings files of the kinds that people publish: each line is translated or named, no
//! right gets wider, and `check` accepts the result.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use ipnet::IpNet;
use serde_json::Value;

use super::adopt;

/// A document of `smb_conf.txt`, `afp_conf.txt` or `exports.txt`.
struct Document {
    name: String,
    shares: Vec<String>,
    limits: Vec<String>,
    text: String,
    /// What somebody gets at most.
    probes: Vec<String>,
}

fn documents(all: &str) -> Vec<Document> {
    let of = |part: &str| {
        let (title, text) = part.split_once('\n').unwrap();
        let mut fields =
            title.split('|').map(|field| field.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let mut next = || fields.next().unwrap();
        let (name, shares, limits) = (next().join(" "), next(), next());
        let probes = text.lines().filter_map(|line| line.strip_prefix("> ")).map(str::to_owned).collect();
        let text = text.lines().filter(|line| !line.starts_with("> ")).map(|line| format!("{line}\n"));
        Document { name, shares, limits, text: text.collect(), probes }
    };
    all.split("\n=== ").skip(1).map(of).collect()
}

#[test]
fn smb_conf_files_are_translated_or_closed_with_every_line_named() {
    let has_setting = |line: &str| line.contains('=');
    documents(include_str!("smb_conf.txt"))
        .iter()
        .for_each(|one| one.hold("--smb-conf", "smb.conf", has_setting));
}

#[test]
fn afp_conf_files_are_translated_or_closed_with_every_line_named() {
    let has_setting = |line: &str| line.contains('=') && !line.starts_with(['#', ';']);
    documents(include_str!("afp_conf.txt"))
        .iter()
        .for_each(|one| one.hold("--afp-conf", "afp.conf", has_setting));
}

#[test]
fn exports_are_translated_or_closed_with_every_line_named() {
    let begins = |line: &str| line.starts_with(['/', '"']);
    documents(include_str!("exports.txt"))
        .iter()
        .for_each(|one| one.hold("--exports", "exports.txt", begins));
}

impl Document {
    fn hold(&self, option: &str, file: &str, has_setting: impl Fn(&str) -> bool) {
        let Self { name, shares, limits, text, .. } = self;
        let top = tempfile::tempdir().unwrap();
        let place = |name: &str| top.path().join(name).to_string_lossy().into_owned();
        fs::write(place(file), text).unwrap();
        let said = adopt(&[option, &place(file), "--json"]);
        let report: Value =
            serde_json::from_slice(&said.stdout).unwrap_or_else(|_| panic!("{name}: {said:?}"));
        let is_closed = !limits.is_empty() || !report["closed"].as_array().unwrap().is_empty();
        assert_eq!(said.status.code(), Some(i32::from(is_closed)), "{name}: {report:#}");

        let of_shares =
            report["shares"].as_array().unwrap().iter().flat_map(|share| share["source"].as_array().unwrap());
        let all: Vec<&Value> = report["source"].as_array().unwrap().iter().chain(of_shares).collect();
        let mut lost: Vec<&str> = all.iter().filter_map(|one| one["limit"].as_str()).collect();
        lost.sort_unstable();
        lost.dedup();
        assert_eq!(&lost, limits, "{name}: {report:#}");
        for (number, line) in text.lines().enumerate().filter(|(_, line)| has_setting(line)) {
            let is_named = |one: &&Value| one["line"].as_u64() == Some(number as u64 + 1);
            assert!(all.iter().any(is_named), "{name}: {line}");
        }

        let settings = report["settings"].as_str().unwrap();
        let parsed: Value = toml_edit::de::from_str(settings).unwrap();
        let names = sections(&parsed, "share").map(|share| text_of(share, "name").replace(' ', "_"));
        assert!(names.eq(shares.iter().cloned()), "{name}: {settings}");
        for probe in &self.probes {
            let (asked, expected) = split_probe(probe);
            assert_eq!(rights(&parsed, &asked), expected, "{name}: {probe}\n{settings}");
        }
        fs::write(place("fourfold.toml"), with_folders(settings, &place)).unwrap();
        accepted(top.path(), name, settings);
    }
}

fn accepted(folder: &Path, name: &str, settings: &str) {
    let check = Command::new(env!("CARGO_BIN_EXE_fourfold"))
        .args(["check", "--config", "fourfold.toml", "--state", "state"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(check.status.success(), "{name}: {settings}\n{}", String::from_utf8_lossy(&check.stderr));
}

/// The settings with folders of this machine: `check` refuses settings whose folders are all missing.
fn with_folders(settings: &str, place: &impl Fn(&str) -> String) -> String {
    let line = |(number, line): (usize, &str)| {
        let Some(path) = line.strip_prefix("path = \"") else { return line.to_owned() + "\n" };
        let folder = place(&format!("folder{number}"));
        fs::create_dir_all(&folder).unwrap();
        format!("path = \"{folder}{}\"\n", if path.contains("%U") { "/%U" } else { "" })
    };
    settings.lines().enumerate().map(line).collect()
}

/// Who asks for a share: an account with its groups, an address with its name.
struct AccessQuery<'a> {
    share: String,
    account: &'a str,
    groups: Vec<&'a str>,
    address: IpAddr,
    host: &'a str,
}

/// A probe, and what it gives. Blanks in the name of a share are written as `_`.
fn split_probe(probe: &str) -> (AccessQuery<'_>, &str) {
    let mut fields = probe.splitn(4, ' ');
    let mut next = || fields.next().unwrap();
    let (share, person, client, expected) = (next(), next(), next(), next());
    let (address, host) = client.split_once('=').unwrap_or((client, ""));
    let mut groups = person.split('+');
    let account = groups.next().unwrap();
    let (share, address) = (share.replace('_', " "), address.parse().unwrap());
    (AccessQuery { share, account, groups: groups.collect(), address, host }, expected)
}

fn sections<'a>(table: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    table[name].as_array().into_iter().flatten()
}

fn text_of<'a>(table: &'a Value, name: &str) -> &'a str {
    table[name].as_str().unwrap_or_default()
}

/// A text, or a list of texts.
fn texts<'a>(table: &'a Value, name: &str) -> Vec<&'a str> {
    let all = table[name].as_array();
    all.map_or_else(
        || table[name].as_str().into_iter().collect(),
        |all| all.iter().filter_map(Value::as_str).collect(),
    )
}

fn says(table: &Value, name: &str) -> bool {
    table[name].as_bool().unwrap_or_default()
}

/// What docs/settings.md gives somebody by these settings.
fn rights(settings: &Value, asked: &AccessQuery<'_>) -> String {
    let none = || "none".to_owned();
    let is_it = |share: &&Value| text_of(share, "name").replace('_', " ") == asked.share;
    let Some(share) = sections(settings, "share").find(is_it) else { return none() };
    let (users, groups) = (texts(share, "users"), texts(share, "groups"));
    let is_member = users.contains(&asked.account) || groups.iter().any(|group| asked.groups.contains(group));
    let is_let_in = match asked.account {
        "-" => true,
        "guest" => says(share, "guests"),
        _ => is_member || users.is_empty() && groups.is_empty(),
    };
    let mut rules = sections(share, "client").peekable();
    let has_rules = rules.peek().is_some();
    let rule = rules.find(|rule| texts(rule, "match").iter().any(|one| is_client(one, asked)));
    if !is_let_in || has_rules && rule.is_none() {
        return none();
    }
    let rule = rule.unwrap_or(&Value::Null);
    let access = match text_of(rule, "access") {
        "none" => return none(),
        "ro" => "ro",
        _ if says(share, "read-only") => "ro",
        _ => "rw",
    };
    let number = |name: &str| rule[name].as_i64().unwrap_or(65_534);
    let anonymous = match (number("anon-uid"), number("anon-gid")) {
        (65_534, 65_534) => String::new(),
        (uid, gid) => format!("{uid}:{gid}"),
    };
    let secure = if says(rule, "secure") { "secure" } else { "" };
    let tls = Some(text_of(rule, "tls")).filter(|tls| !tls.is_empty()).map(|tls| format!("tls={tls}"));
    let (tls, sec) = (tls.unwrap_or_default(), texts(rule, "sec").join(" "));
    let all = [access, text_of(rule, "squash"), &anonymous, secure, &tls, &sec];
    all.iter().copied().filter(|one| !one.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Whether a rule means the client. Patterns in the documents have one star, in front.
fn is_client(text: &str, asked: &AccessQuery<'_>) -> bool {
    match (text, text.parse::<IpNet>(), text.parse::<IpAddr>()) {
        ("*", ..) => true,
        (_, Ok(net), _) => net.contains(&asked.address),
        (_, _, Ok(address)) => address == asked.address,
        _ => match text.strip_prefix('*') {
            Some(end) => asked.host.ends_with(end),
            None => text.eq_ignore_ascii_case(asked.host),
        },
    }
}
