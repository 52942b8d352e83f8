//! `[appletalk]`: its settings as plain data, and the checks of them.

use std::path::Path;
use std::str::FromStr;

use appletalk::links::{LinkName, UnknownLink};
use appletalk::{MacName, NetworkRange};

use super::diagnostic::{Findings, Place};
use super::section::Section;

/// The most links.
const MAX_LINKS: usize = 8;
/// The longest name of a server, Apple Filing Protocol Reference, "FPGetSrvrInfo".
const MAX_NAME: usize = 31;
/// The most zones of one network.
const MAX_ZONES: usize = 32;
/// What a zone looks like.
const ZONE_FORM: &str = "up to 32 characters of MacRoman without `:`, `@`, `*`, `=`";
/// The network interfaces of this machine, one folder for each.
const INTERFACES: &str = "/sys/class/net";

/// `[appletalk]` with links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppleTalkSettings {
    /// Where the server speaks AppleTalk.
    pub links: Vec<LinkName>,
    /// The zone of the server; `None`: the one that a router names.
    pub zone: Option<MacName>,
    /// The name that the Chooser shows; `None`: the server's.
    pub name: Option<String>,
    /// The server routes between its links.
    pub router: bool,
    /// What networks without a router get.
    pub seeds: Vec<AppleTalkSeed>,
}

/// The numbers and zones of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppleTalkSeed {
    /// Its link.
    pub link: LinkName,
    /// Its numbers.
    pub networks: NetworkRange,
    /// Its zones, the default one first.
    pub zones: Vec<MacName>,
}

impl FromStr for AppleTalkSeed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || {
            "write LINK, NUMBER or FIRST-LAST, and zones, such as \"ethertalk:eth1 3-5 Museum, Workshop\""
                .to_owned()
        };
        let mut parts = text.trim().splitn(3, char::is_whitespace);
        let mut part = || parts.next().map(str::trim).filter(|part| !part.is_empty()).ok_or_else(form);
        let (link, networks, zones) = (part()?, part()?, part()?);
        let link: LinkName = link.parse().map_err(|unknown: UnknownLink| unknown.to_string())?;
        let is_localtalk = !matches!(link, LinkName::EtherTalk { .. });
        let (first, last) = networks.split_once('-').unwrap_or((networks, networks));
        let number = |text: &str| text.parse::<u16>().map_err(|_| form());
        let (first, last) = (number(first)?, number(last)?);
        let networks = NetworkRange::assignable(first, last)
            .ok_or("numbers of networks go from 1 to 65279, the smaller one first")?;
        if is_localtalk && first != last {
            return Err("a network of LocalTalk has one number".into());
        }
        let zone = |text: &str| zone(text.trim()).ok_or_else(|| format!("{text:?} is no zone: {ZONE_FORM}"));
        let zones = zones.split(',').map(zone).collect::<Result<Vec<MacName>, String>>()?;
        if is_localtalk && zones.len() > 1 {
            return Err("a network of LocalTalk has one zone".into());
        }
        if zones.len() > MAX_ZONES {
            return Err(format!("a network has at most {MAX_ZONES} zones"));
        }
        if zones.iter().enumerate().any(|(at, zone)| zones[..at].contains(zone)) {
            return Err("a zone is there twice".into());
        }
        Ok(Self { link, networks, zones })
    }
}

/// A zone. `None`: no network can have a zone of this name.
fn zone(text: &str) -> Option<MacName> {
    name(text, MacName::MAX_BYTES)
}

/// A text as a name of AppleTalk; `None`: it is too long, MacRoman lacks a character, or it has a sign with a meaning in names.
fn name(text: &str, most: usize) -> Option<MacName> {
    let is_plain = |c: char| !c.is_control() && !":@*=\u{2248}".contains(c);
    let name = MacName::from_text(text).filter(|_| text.chars().all(is_plain))?;
    (1..=most).contains(&name.as_bytes().len()).then_some(name)
}

/// The settings of a section; `None`: there is no AppleTalk. What is wrong is left out, and refused by [`check`].
pub(super) fn read(section: &Section) -> Option<AppleTalkSettings> {
    let links = links(section);
    (!links.is_empty()).then(|| AppleTalkSettings {
        links,
        zone: section.text("zone").and_then(|text| zone(&text)),
        name: section.text("name"),
        router: section.bool("router"),
        seeds: section.texts("seed").iter().filter_map(|text| text.parse().ok()).collect(),
    })
}

fn links(section: &Section) -> Vec<LinkName> {
    section.texts("links").iter().filter_map(|text| text.parse().ok()).collect()
}

/// Links are there once, names are names, and what is seeded fits.
pub(super) fn check(section: &Section, settings: Option<&AppleTalkSettings>, findings: &mut Findings) {
    check_links(section, findings);
    check_names(section, findings);
    check_seeds(section, findings);
    let Some(settings) = settings else {
        for key in ["zone", "name", "router", "seed"].into_iter().filter(|key| section.is_set(key)) {
            let is_default =
                !section.bool(key) && section.text(key).is_none() && section.texts(key).is_empty();
            if !is_default {
                let what = format!("`{key}` has no effect without `links`");
                findings.note(section.place_of(key), what, "write `links = [\"ltoudp\"]`, for example");
            }
        }
        return;
    };
    for link in &settings.links {
        note_missing(section.place_of("links"), link, findings);
    }
}

fn check_links(section: &Section, findings: &mut Findings) {
    let mut seen: Vec<LinkName> = Vec::new();
    for (text, place) in section.texts_with_places("links") {
        match text.parse::<LinkName>() {
            Err(unknown) => findings.error(&place, unknown.to_string(), ""), // it says what to write
            Ok(link) if seen.contains(&link) => {
                findings.error(&place, format!("the link `{text}` is there twice"), "remove one of them");
            }
            Ok(link) => seen.push(link),
        }
    }
    if seen.len() > MAX_LINKS {
        let what = format!("there are {} links of AppleTalk", seen.len());
        findings.error(section.place_of("links"), what, format!("write at most {MAX_LINKS}"));
    }
}

fn check_names(section: &Section, findings: &mut Findings) {
    if let Some(wrong) = section.text("zone").filter(|text| zone(text).is_none()) {
        let what = format!("{wrong:?} is no zone of AppleTalk");
        findings.error(section.place_of("zone"), what, format!("write {ZONE_FORM}"));
    }
    if let Some(wrong) = section.text("name").filter(|text| name(text, MAX_NAME).is_none()) {
        let what = format!("{wrong:?} is no name of a server of AppleTalk");
        let instead = format!("write up to {MAX_NAME} characters of MacRoman without `:`, `@`, `*`, `=`");
        findings.error(section.place_of("name"), what, instead);
    }
}

fn check_seeds(section: &Section, findings: &mut Findings) {
    let links = links(section);
    let mut seeds: Vec<AppleTalkSeed> = Vec::new();
    for (text, place) in section.texts_with_places("seed") {
        let seed: AppleTalkSeed = match text.parse() {
            Ok(seed) => seed,
            Err(instead) => {
                findings.error(&place, format!("`seed`: {text:?} is not understood"), instead);
                continue;
            }
        };
        if !links.contains(&seed.link) {
            let known: Vec<String> = links.iter().map(|link| format!("`{link}`")).collect();
            let instead = format!("write one of them: {}", known.join(", "));
            findings.error(&place, format!("`seed`: `{}` is not in `links`", seed.link), instead);
        }
        let overlap = |other: &&AppleTalkSeed| seed.networks.overlaps(other.networks);
        if seeds.iter().any(|other| other.link == seed.link) {
            findings.error(
                &place,
                format!("`seed` has `{}` twice", seed.link),
                "write all its zones in one text",
            );
        } else if let Some(other) = seeds.iter().find(overlap) {
            let what = format!("`seed`: `{}` and `{}` have a number in common", seed.link, other.link);
            findings.error(&place, what, "give each network numbers of its own");
        }
        seeds.push(seed);
    }
    if !seeds.is_empty() && !section.bool("router") {
        findings.error(
            section.place_of("seed"),
            "`seed` is set, and `router` is not",
            "write `router = true`, too",
        );
    }
    let zones = || seeds.iter().flat_map(|seed| &seed.zones);
    let wanted = section.text("zone").and_then(|text| zone(&text));
    let are_all_seeded = !seeds.is_empty() && seeds.len() == links.len();
    if let Some(wanted) = wanted.filter(|wanted| are_all_seeded && !zones().any(|zone| zone == wanted)) {
        let known: Vec<String> = zones().map(MacName::to_string).collect();
        let what = format!("`zone` is {wanted:?}, which no network of `seed` has");
        findings.error(section.place_of("zone"), what, format!("write one of: {}", known.join(", ")));
    }
}

/// A link that is missing now may come: the server tries it again and again.
fn note_missing(place: &Place, link: &LinkName, findings: &mut Findings) {
    let interfaces = || {
        let known = std::fs::read_dir(INTERFACES).into_iter().flatten().flatten();
        let mut known: Vec<String> =
            known.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        known.sort();
        format!("write one of this machine: {}", known.join(", "))
    };
    let (is_there, what, instead) = match link {
        LinkName::LToUdp { interface: None } => return,
        LinkName::LToUdp { interface: Some(name) } | LinkName::EtherTalk { interface: name } => {
            let is_there = Path::new(INTERFACES).join(name).exists();
            (is_there, format!("no network interface {name}"), interfaces())
        }
        LinkName::TashTalk { device } => {
            let what = format!("no serial port {}", device.display());
            (device.exists(), what, "connect it, or write another path".into())
        }
    };
    if !is_there {
        findings.note(place, format!("there is {what} now; the server waits for it"), instead);
    }
}
