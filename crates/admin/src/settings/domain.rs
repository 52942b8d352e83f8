//! The settings of a domain whose users may log in.

use std::fs::File;
use std::path::{Path, PathBuf};

use auth::{DomainOptions, IdRange, IdRule};
use wire::Sid;

use super::diagnostic::Findings;
use super::section::Section;

/// The ids of users and groups, unless the settings say others.
const RANGE: IdRange = IdRange { low: 1_000_000, high: 1_999_999 };

/// The domain; `None` if the settings name none. What is wrong is left out, and refused by [`check`].
pub(super) fn read(server: &Section) -> Option<DomainOptions> {
    let name =
        server.text("domain").map(|name| name.trim().to_lowercase()).filter(|name| !name.is_empty())?;
    let rule = match server.text("domain-ids").as_deref() {
        Some("auto") => IdRule::Auto,
        Some("rfc2307") => IdRule::Rfc2307,
        Some("rfc2307-or-rid") => IdRule::Rfc2307OrRid,
        _ => IdRule::Rid,
    };
    let range = server.text("domain-range").and_then(|text| text.parse().ok()).unwrap_or(RANGE);
    let trusted = server.texts("domain-trusted").iter().filter_map(|text| trusted(text).ok()).collect();
    Some(DomainOptions { name, rule, range, trusted })
}

/// The keys of a server that has joined the domain (`fourfold domain join`).
pub(super) fn keytab(server: &Section, state: &Path) -> Option<PathBuf> {
    let keytab = state.join("domain.keytab");
    read(server).is_some_and(|_| keytab.exists()).then_some(keytab)
}

/// The keytab is a file that the server can read.
pub(super) fn check_keytab(server: &Section, keytab: Option<&Path>, findings: &mut Findings) {
    let Some(keytab) = keytab else { return };
    if let Err(error) = File::open(keytab) {
        let what = format!("`kerberos-keytab`: {} cannot be read: {error}", keytab.display());
        let instead = "write the path of a keytab that the server's user may read, or remove the line";
        findings.error(server.place_of("kerberos-keytab"), what, instead);
    }
}

/// `S-1-5-21-1-2-3=3000000-3999999`.
fn trusted(text: &str) -> Result<(Sid, IdRange), String> {
    let form = || "write SID=FIRST-LAST, such as S-1-5-21-1-2-3=3000000-3999999".to_owned();
    let (sid, range) = text.split_once('=').ok_or_else(form)?;
    let sid: Sid = sid.trim().parse().map_err(|_| form())?;
    Ok((sid, range.trim().parse().map_err(|_| form())?))
}

/// Names and ranges are understood, and ranges are apart.
pub(super) fn check(server: &Section, options: Option<&DomainOptions>, findings: &mut Findings) {
    for key in ["domain-ids", "domain-range", "domain-trusted", "domain-ntlm"] {
        if options.is_none() && server.is_set(key) {
            findings.note(
                server.place_of(key),
                format!("`{key}` has no effect without `domain`"),
                "write `domain`",
            );
        }
    }
    let Some(options) = options else { return };
    if !options.name.contains('.') || options.name.contains(['/', '\\', ':', '@', ' ']) {
        let what = format!("`domain` is {:?}, which is no DNS name", options.name);
        findings.error(
            server.place_of("domain"),
            what,
            "write the DNS name of the domain, such as \"lab.example.com\"",
        );
    }
    if let Some(Err(instead)) = server.text("domain-range").map(|text| text.parse::<IdRange>()) {
        findings.error(
            server.place_of("domain-range"),
            "`domain-range` is no range of ids".to_owned(),
            instead,
        );
    }
    for text in server.texts("domain-trusted") {
        if let Err(instead) = trusted(&text) {
            let what = format!("`domain-trusted`: {text:?} is not understood");
            findings.error(server.place_of("domain-trusted"), what, instead);
        }
    }
    let all: Vec<IdRange> = options.trusted.iter().map(|(_, range)| *range).chain([options.range]).collect();
    let overlap = |(at, one): (usize, &IdRange)| {
        all.iter().skip(at + 1).any(|other| one.low <= other.high && other.low <= one.high)
    };
    if all.iter().enumerate().any(overlap) {
        let what = "ranges of ids overlap: two users would be one".to_owned();
        findings.error(server.place_of("domain-trusted"), what, "write ranges that are apart");
    }
}
