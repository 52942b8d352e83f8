//! The links of the namespace, and their checks.

use std::path::Path;
use std::time::Duration;

use namespace::{Link, MOST_TARGETS, Site, Table, Target, TargetOrder, text};

use super::diagnostic::{Findings, Place};
use super::kind::ClientMatch;
use super::section::Section;
use super::share::LocatedShare;
use super::suggest;

/// The most links.
const MOST_LINKS: usize = 1000;
/// The most different targets of all links: each of them is checked again and again.
const MOST_CHECKED: usize = 256;

/// The links and sites. The shares that have links are namespaces from then on. Relative paths count from the folder, or
/// from the settings file's.
pub(super) fn all(
    (links, sites): (&[Section], &[Section]),
    shares: &mut [LocatedShare],
    (folder, file): (&Path, Option<&Path>),
    findings: &mut Findings,
) -> Table {
    let mut table =
        Table { links: Vec::new(), sites: sites.iter().filter_map(|one| site(one, findings)).collect() };
    for section in links {
        let Some(link) = link(section, shares, (folder, file), findings) else { continue };
        check_others(&link, &table.links, section, findings);
        table.links.push(link);
    }
    check_sites(&table, sites, findings);
    let mut targets: Vec<&Target> = table.links.iter().flat_map(|link| &link.targets).collect();
    targets.sort();
    targets.dedup();
    if let Some(last) =
        links.last().filter(|_| table.links.len() > MOST_LINKS || targets.len() > MOST_CHECKED)
    {
        let what = format!("there are {} links with {} different targets", table.links.len(), targets.len());
        let instead = format!("have at most {MOST_LINKS} links and {MOST_CHECKED} targets");
        findings.error(&last.place, what, instead);
    }
    table
}

fn link(
    section: &Section,
    shares: &mut [LocatedShare],
    (folder, file): (&Path, Option<&Path>),
    findings: &mut Findings,
) -> Option<Link> {
    let path = path(section, shares, findings);
    let targets = targets(section, findings);
    let credentials = section.path("credentials", folder, file);
    if let Some(path) = &credentials
        && let Err(error) = std::fs::File::open(path)
    {
        let what = format!("`credentials`: {} cannot be read: {error}", path.display());
        let instead =
            "write the path of a file with `username=` and `password=` that the server's user may read";
        findings.error(section.place_of("credentials"), what, instead);
    }
    Some(Link {
        path: path?,
        targets: targets?,
        comment: section.text("comment").unwrap_or_default(),
        ttl: section
            .number("ttl")
            .filter(|ttl| *ttl > 0)
            .map_or(namespace::DEFAULT_TTL, Duration::from_millis),
        order: if section.text("order").as_deref() == Some("spread") {
            TargetOrder::Spread
        } else {
            TargetOrder::Listed
        },
        failback: section.bool("failback"),
        checked: section.bool("check"),
        credentials,
    })
}

/// The share with its name as it is written, and the names below it.
fn path(section: &Section, shares: &mut [LocatedShare], findings: &mut Findings) -> Option<String> {
    let written = section.text("path")?;
    let place = section.place_of("path");
    let parts: Vec<&str> = written.split('/').filter(|part| !part.is_empty()).collect();
    let path = parts.join("/");
    let is_below =
        |name: &str| path.strip_prefix(name).is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'));
    let share = shares.iter_mut().filter(|(_, share)| is_below(&share.name));
    let Some((_, share)) = share.max_by_key(|(_, share)| share.name.len()) else {
        let names = shares.iter().map(|(_, share)| share.name.as_str());
        let first = parts.first().copied().unwrap_or_default();
        let is_share = shares.iter().any(|(_, share)| share.name == path);
        let (what, instead) = match (is_share, suggest::nearest(first, names.clone())) {
            (true, _) => (
                format!("{written:?} is the share itself"),
                format!("write a place in it: `path = \"{path}/archive\"`"),
            ),
            (false, Some(near)) => (
                format!("{written:?} is in no share"),
                format!("write `path = \"{}\"`", [&[near][..], &parts[1..]].concat().join("/")),
            ),
            (false, None) => (
                format!("{written:?} is in no share"),
                format!("begin with the name of a share: {}", names.collect::<Vec<_>>().join(", ")),
            ),
        };
        findings.error(place, what, instead);
        return None;
    };
    let below = Path::new(&path[share.name.len() + 1..]);
    if super::lun::inside(below).is_err() || path.chars().any(char::is_control) {
        let what = format!("{written:?} does not lie inside the share, or is the server's own");
        findings.error(place, what, "write plain names with slashes between them");
        return None;
    }
    share.dfs = true;
    Some(path)
}

fn targets(section: &Section, findings: &mut Findings) -> Option<Vec<Target>> {
    let written = section.texts_with_places("targets");
    let place = section.place_of("targets");
    if section.is_set("targets") && written.is_empty() {
        findings.error(
            place,
            "a link without targets leads nowhere",
            "write `targets = [\"smb://filer2/archive\"]`",
        );
        return None;
    }
    if written.len() > MOST_TARGETS {
        let what = format!("there are {} targets", written.len());
        findings.error(place, what, format!("write at most {MOST_TARGETS}"));
        return None;
    }
    let mut targets: Vec<Target> = Vec::new();
    let mut is_good = true;
    for (url, place) in &written {
        match Target::of_url(url) {
            Ok(target) if targets.contains(&target) => {
                findings.error(place, format!("{target} is here a second time"), "keep one of the two");
                is_good = false;
            }
            Ok(target) => {
                is_good &= check_target(&target, place, findings);
                targets.push(target);
            }
            Err(wrong) => {
                findings.error(place, format!("{url:?} is no target: {}", wrong.what), wrong.instead);
                is_good = false;
            }
        }
    }
    if text::write(&targets).len() > text::LONGEST {
        findings.error(place, "the targets are too long for a symbolic link", "write fewer or shorter ones");
        return None;
    }
    (is_good && !targets.is_empty()).then_some(targets)
}

/// What a protocol cannot tell its clients.
fn check_target(target: &Target, place: &Place, findings: &mut Findings) -> bool {
    match target.port_limit() {
        Some(limit) if limit.excludes_all => {
            findings.error(place, limit.what, limit.instead);
            false
        }
        Some(limit) => {
            findings.note(place, limit.what, limit.instead);
            true
        }
        None if target.parts.iter().any(|part| part.contains('\\')) => {
            findings.error(place, format!("{target} has a backslash in a name"), "write a plain path");
            false
        }
        None => true,
    }
}

fn check_others(link: &Link, earlier: &[Link], section: &Section, findings: &mut Findings) {
    for other in earlier {
        let lies_in = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
        if other.path.eq_ignore_ascii_case(&link.path) {
            let what = format!("there is a link at {:?} already", other.path);
            findings.error(section.place_of("path"), what, "add the targets to that one");
        } else if lies_in(&link.path, &other.path) || lies_in(&other.path, &link.path) {
            let what = format!("one of the links {:?} and {:?} lies in the other", other.path, link.path);
            findings.error(section.place_of("path"), what, "write a path that passes no other link");
        }
        let rules = |one: &Link| (one.ttl, one.order, one.failback, one.checked, one.credentials.clone());
        if other.targets == link.targets && rules(other) != rules(link) {
            let what = format!("it has the targets of {:?}, and other rules", other.path);
            findings.error(
                &section.place,
                what,
                "give both the same `ttl`, `order`, `failback`, `check` and `credentials`",
            );
        }
    }
}

fn site(section: &Section, findings: &mut Findings) -> Option<Site> {
    let networks = section.matches("networks");
    if networks.contains(&ClientMatch::Any) {
        findings.error(
            section.place_of("networks"),
            "a site of all clients tells nothing",
            "write networks such as \"10.1.0.0/16\"",
        );
    }
    let network = |one: &ClientMatch| match one {
        ClientMatch::Net(network) => Some(*network),
        ClientMatch::Any | ClientMatch::Name(_) => None,
    };
    Some(Site {
        name: section.text("name")?,
        networks: networks.iter().filter_map(network).collect(),
        servers: section.texts("servers"),
    })
}

/// A server that no target has is likely mistyped.
fn check_sites(table: &Table, sections: &[Section], findings: &mut Findings) {
    for (section, site) in sections.iter().zip(&table.sites) {
        let earlier = table.sites.iter().take_while(|other| !std::ptr::eq(*other, site));
        if earlier.into_iter().any(|other| other.name.eq_ignore_ascii_case(&site.name)) {
            let what = format!("there are two sites {:?}", site.name);
            findings.error(section.place_of("name"), what, "put their networks and servers into one");
        }
        for (server, place) in section.texts_with_places("servers") {
            let hosts = table.links.iter().flat_map(|link| &link.targets).map(|target| target.host.as_str());
            if hosts.clone().all(|host| !host.eq_ignore_ascii_case(&server)) {
                let what = format!("no target of a link is on the server {server:?}");
                let instead = match suggest::nearest(&server, hosts) {
                    Some(near) => format!("write \"{near}\""),
                    None => "write the name as it stands in `targets`".to_owned(),
                };
                findings.note(&place, what, instead);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Arguments, Settings};

    fn load(text: &str) -> Result<Settings, Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "a/b"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("account"), "username=probe\n").unwrap();
        let shares =
            "[[share]]\nname = \"studio\"\npath = \"a\"\n[[share]]\nname = \"plain\"\npath = \"a/b\"\n";
        std::fs::write(folder.path().join("fourfold.toml"), format!("{text}{shares}")).unwrap();
        let loaded = Settings::load(&Arguments::new(false, folder.path().into()));
        loaded.map_err(|all| {
            let all = all.iter().filter(|one| one.severity == crate::settings::Severity::Error);
            all.map(ToString::to_string).collect()
        })
    }

    fn link(lines: &str) -> String {
        format!("[[link]]\n{lines}\n")
    }

    #[test]
    fn a_link_has_targets_and_rules_and_makes_its_share_a_namespace() {
        let settings = load(
            "[[link]]\npath = \"/studio/archive/\"\ntargets = [\"smb://filer2/archive\", \"nfs://filer2:12049/a\"]\nttl = \"1 min\"\n\
             order = \"spread\"\nfailback = false\ncredentials = \"account\"\n[[site]]\nname = \"berlin\"\n\
             networks = [\"10.1.0.0/16\"]\nservers = [\"filer2\", \"filre2\"]\n",
        )
        .unwrap();
        let [link] = settings.links.links.as_slice() else { panic!("{:?}", settings.links) };
        assert_eq!(
            (link.path.as_str(), link.ttl, link.order),
            ("studio/archive", Duration::from_secs(60), TargetOrder::Spread)
        );
        assert!(!link.failback && link.checked && link.credentials.as_ref().unwrap().ends_with("account"));
        assert_eq!(settings.links.sites[0].networks[0].to_string(), "10.1.0.0/16");
        let dfs: Vec<bool> = settings.shares.iter().map(|share| share.dfs).collect();
        assert_eq!(dfs, [true, false]);
        assert_eq!(settings.server.link_check_interval, Some(Duration::from_secs(2)));
        let notes: Vec<String> = settings.notes.iter().map(ToString::to_string).collect();
        assert!(notes.iter().any(|note| note.contains("port 2049 only")), "{notes:?}");
        assert!(notes.iter().any(|note| note.contains("\"filre2\"; write \"filer2\"")), "{notes:?}");
    }

    #[test]
    fn each_error_has_its_place_and_what_to_write() {
        let good = "targets = [\"smb://f/a\"]";
        for (written, line) in [
            (link(good), "1:1: error: [[link]] has no `path`; add `path = \"studio/archive\"`"),
            (
                link("path = \"studio/x\""),
                "1:1: error: [[link]] has no `targets`; add `targets = [\"smb://filer2/archive\"",
            ),
            (
                link(&format!("path = \"stuido/x\"\n{good}")),
                "2:1: error: \"stuido/x\" is in no share; write `path = \"studio/x\"`",
            ),
            (
                link(&format!("path = \"other/x\"\n{good}")),
                "2:1: error: \"other/x\" is in no share; begin with the name of a share: studio, plain",
            ),
            (
                link(&format!("path = \"studio\"\n{good}")),
                "2:1: error: \"studio\" is the share itself; write a place in it: `path = \"studio/archive\"`",
            ),
            (
                link(&format!("path = \"studio/../x\"\n{good}")),
                "2:1: error: \"studio/../x\" does not lie inside the share",
            ),
            (
                link("path = \"studio/x\"\ntargets = []"),
                "3:1: error: a link without targets leads nowhere; write `targets =",
            ),
            (
                link("path = \"studio/x\"\ntargets = [\"smb://f/a\", \"\\\\\\\\f\\\\a\"]"),
                "3:25: error: \"\\\\\\\\f\\\\a\" is no target: it is no URL; write `smb://f/a`",
            ),
            (
                link("path = \"studio/x\"\ntargets = [\"smb://f:1445/a\"]"),
                "3:12: error: a referral of SMB has no port, and smb://f:1445/a has 1445; serve it at port 445",
            ),
            (
                link("path = \"studio/x\"\ntargets = [\"smb://f/a\", \"smb://f:445/a/\"]"),
                "3:25: error: smb://f/a is here a second time; keep one",
            ),
            (
                link(&format!("path = \"studio/x\"\n{good}\ncredentials = \"gone\"")),
                "4:1: error: `credentials`: ",
            ),
            (
                link(&format!("path = \"studio/x\"\n{good}\norder = \"random\"")),
                "4:1: error: `order` must be one of \"listed\" or \"spread\"",
            ),
            (
                link(&format!("path = \"studio/x\"\n{good}"))
                    + &link(&format!("path = \"studio/X\"\n{good}")),
                "5:1: error: there is a link at \"studio/x\" already; add the targets to that one",
            ),
            (
                link(&format!("path = \"studio/x\"\n{good}"))
                    + &link(&format!("path = \"studio/x/y\"\n{good}")),
                "5:1: error: one of the links \"studio/x\" and \"studio/x/y\" lies in the other",
            ),
            (
                link(&format!("path = \"studio/x\"\n{good}"))
                    + &link(&format!("path = \"studio/y\"\nttl = \"1 s\"\n{good}")),
                "4:1: error: it has the targets of \"studio/x\", and other rules; give both the same `ttl`",
            ),
            (
                "link = 3\n".to_owned(),
                "1:1: error: `link` can be given several times, so it is a list of tables; write `[[link]]`",
            ),
            (
                "[[site]]\nname = \"a\"\nnetworks = [\"10.0.0.0/99\"]\nservers = []\n".to_owned(),
                "3:13: error: ",
            ),
            (
                "[[site]]\nname = \"a\"\nnetworks = [\"*\"]\nservers = []\n".to_owned(),
                "3:1: error: a site of all clients tells nothing",
            ),
        ] {
            let errors = load(&written).expect_err(&written);
            let expected = format!("fourfold.toml:{line}");
            assert!(
                errors.iter().any(|error| error.starts_with(&expected)),
                "{written}\n{expected}\n{errors:#?}"
            );
        }
    }

    /// Damaged tables: whatever stands in a line, it is refused or accepted with places, and never panics.
    #[test]
    fn damaged_tables_are_refused() {
        let whole = "[[link]]\npath = \"studio/archive\"\ntargets = [\"smb://filer2/archive\", \"nfs://[fd00::1]:1/a%20b\"]\nttl = \"5 min\"\n";
        for at in 0..whole.len() {
            let _ = load(&whole[..at]);
            let mut bent = whole.to_owned();
            bent.replace_range(at..=at, "\u{1}");
            let _ = load(&bent);
            bent.replace_range(at..=at, "%");
            let _ = load(&bent);
        }
    }
}
