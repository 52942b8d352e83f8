//! `[appletalk]`: its settings as plain data, and the checks of them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use formats::names::{decode_mac_roman, encode_mac_roman};

use super::afp::{AfpSettings, Login};
use super::diagnostic::{Findings, Place};
use super::section::Section;

/// The most links.
const MAX_LINKS: usize = 8;
/// Bytes of the longest name of a zone, *Inside AppleTalk*, "Zone Information Protocol".
const MAX_ZONE: usize = 32;
/// The longest name of a server, Apple Filing Protocol Reference, "FPGetSrvrInfo".
const MAX_NAME: usize = 31;
/// The most zones of one network.
const MAX_ZONES: usize = 32;
/// The last number of a network: those above are for nodes that have just started.
const LAST_NETWORK: u16 = 0xfeff;
/// The network interfaces of this machine, one folder for each.
const INTERFACES: &str = "/sys/class/net";

/// `[appletalk]` with links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppleTalkSettings {
    /// Where the server speaks AppleTalk.
    pub links: Vec<AppleTalkLink>,
    /// The zone of the server; `None`: the one that a router names.
    pub zone: Option<String>,
    /// The name that the Chooser shows; `None`: the server's.
    pub name: Option<String>,
    /// The server routes between its links.
    pub router: bool,
    /// What networks without a router get.
    pub seeds: Vec<AppleTalkSeed>,
}

/// Where the server speaks AppleTalk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AppleTalkLink {
    /// LocalTalk in multicast UDP, on this network interface; `None`: the one that the host's routes choose.
    LToUdp(Option<String>),
    /// EtherTalk phase 2 on this network interface.
    EtherTalk(String),
    /// LocalTalk by a TashTalk at this serial port.
    TashTalk(PathBuf),
}

/// The numbers and zones of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppleTalkSeed {
    /// Its link.
    pub link: AppleTalkLink,
    /// The first and the last number.
    pub networks: (u16, u16),
    /// Its zones, the default one first.
    pub zones: Vec<String>,
}

impl AppleTalkLink {
    /// Whether it is LocalTalk, whose networks have one number.
    #[must_use]
    pub fn is_localtalk(&self) -> bool {
        !matches!(self, Self::EtherTalk(_))
    }
}

impl FromStr for AppleTalkLink {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const KINDS: &str = "write `ltoudp`, `ethertalk:INTERFACE` or `tashtalk:DEVICE`";
        let (kind, place) = match text.split_once(':') {
            Some((kind, place)) => (kind, Some(place)),
            None => (text, None),
        };
        match (kind, place) {
            ("ltoudp", None) => Ok(Self::LToUdp(None)),
            ("ltoudp", Some(interface)) if is_interface(interface) => {
                Ok(Self::LToUdp(Some(interface.into())))
            }
            ("ltoudp", _) => Err("write `ltoudp`, or `ltoudp:` and the name of a network interface"),
            ("ethertalk", Some(interface)) if is_interface(interface) => {
                Ok(Self::EtherTalk(interface.into()))
            }
            ("ethertalk", _) => {
                Err("write `ethertalk:` and the name of a network interface, such as `ethertalk:eth1`")
            }
            ("tashtalk", Some(device))
                if device.starts_with('/') && !device.contains(char::is_whitespace) =>
            {
                Ok(Self::TashTalk(device.into()))
            }
            ("tashtalk", _) => {
                Err("write `tashtalk:` and the path of a serial port, such as `tashtalk:/dev/ttyUSB0`")
            }
            _ => Err(KINDS),
        }
    }
}

impl fmt::Display for AppleTalkLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LToUdp(None) => f.write_str("ltoudp"),
            Self::LToUdp(Some(interface)) => write!(f, "ltoudp:{interface}"),
            Self::EtherTalk(interface) => write!(f, "ethertalk:{interface}"),
            Self::TashTalk(device) => write!(f, "tashtalk:{}", device.display()),
        }
    }
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
        let link: AppleTalkLink = link.parse()?;
        let (first, last) = networks.split_once('-').unwrap_or((networks, networks));
        let number = |text: &str| text.parse::<u16>().map_err(|_| form());
        let (first, last) = (number(first)?, number(last)?);
        if first == 0 || first > last || last > LAST_NETWORK {
            return Err(format!("numbers of networks go from 1 to {LAST_NETWORK}, the smaller one first"));
        }
        if link.is_localtalk() && first != last {
            return Err("a network of LocalTalk has one number".into());
        }
        let zones: Vec<String> = zones.split(',').map(|zone| zone.trim().to_owned()).collect();
        if let Some(wrong) = zones.iter().find(|zone| !is_zone(zone)) {
            return Err(format!("{wrong:?} is no zone: {}", zone_form()));
        }
        if link.is_localtalk() && zones.len() > 1 {
            return Err("a network of LocalTalk has one zone".into());
        }
        if zones.len() > MAX_ZONES {
            return Err(format!("a network has at most {MAX_ZONES} zones"));
        }
        Ok(Self { link, networks: (first, last), zones })
    }
}

/// The name of a network interface of Linux.
fn is_interface(name: &str) -> bool {
    const MAX_INTERFACE: usize = 15;
    (1..=MAX_INTERFACE).contains(&name.len())
        && !name.contains(|c: char| c == '/' || c == ':' || c.is_whitespace())
}

fn zone_form() -> String {
    format!("up to {MAX_ZONE} characters of MacRoman without `:`, `@`, `*`, `=`")
}

fn is_zone(text: &str) -> bool {
    is_name(text, MAX_ZONE)
}

/// Whether names of AppleTalk can have this text: other signs have a meaning in names, or are not in MacRoman.
fn is_name(text: &str, most: usize) -> bool {
    let bytes = encode_mac_roman(text);
    (1..=most).contains(&bytes.len())
        && decode_mac_roman(&bytes) == text
        && !text.contains([':', '@', '*', '=', '\u{2248}'])
        && !text.contains(char::is_control)
}

/// The settings of a section; `None`: there is no AppleTalk. What is wrong is left out, and refused by [`check`].
pub(super) fn read(section: &Section) -> Option<AppleTalkSettings> {
    let links: Vec<AppleTalkLink> =
        section.texts("links").iter().filter_map(|text| text.parse().ok()).collect();
    (!links.is_empty()).then(|| AppleTalkSettings {
        links,
        zone: section.text("zone"),
        name: section.text("name"),
        router: section.bool("router"),
        seeds: section.texts("seed").iter().filter_map(|text| text.parse().ok()).collect(),
    })
}

/// Links are there once, names are names, and what is seeded fits.
pub(super) fn check(
    section: &Section,
    settings: Option<&AppleTalkSettings>,
    afp: &AfpSettings,
    findings: &mut Findings,
) {
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
    if !afp.logins.iter().any(|login| !matches!(login, Login::Dhx2 | Login::Srp)) {
        let what = "most Macs over AppleTalk know neither `dhx2` nor `srp`, so only guests log in there";
        let instead =
            "add `randnum` or `cleartext` to `afp-logins` if you trust the network (docs/appletalk.md)";
        findings.note(section.place_of("links"), what, instead);
    }
    for link in &settings.links {
        note_missing(section.place_of("links"), link, findings);
    }
}

fn check_links(section: &Section, findings: &mut Findings) {
    let mut seen: Vec<AppleTalkLink> = Vec::new();
    for (text, place) in section.texts_with_places("links") {
        match text.parse::<AppleTalkLink>() {
            Err(instead) => findings.error(&place, format!("`{text}` is no link of AppleTalk"), instead),
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
    if let Some(zone) = section.text("zone").filter(|zone| !is_zone(zone)) {
        findings.error(
            section.place_of("zone"),
            format!("{zone:?} is no zone of AppleTalk"),
            format!("write {}", zone_form()),
        );
    }
    if let Some(name) = section.text("name").filter(|name| !is_name(name, MAX_NAME)) {
        let what = format!("{name:?} is no name of a server of AppleTalk");
        let instead = format!("write up to {MAX_NAME} characters of MacRoman without `:`, `@`, `*`, `=`");
        findings.error(section.place_of("name"), what, instead);
    }
}

fn check_seeds(section: &Section, findings: &mut Findings) {
    let links: Vec<AppleTalkLink> =
        section.texts("links").iter().filter_map(|text| text.parse().ok()).collect();
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
        let overlap = |other: &&AppleTalkSeed| {
            seed.networks.0 <= other.networks.1 && other.networks.0 <= seed.networks.1
        };
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
    let is_seeded = |zone: &str| zones().any(|other| other.to_lowercase() == zone.to_lowercase());
    if let Some(zone) = section.text("zone").filter(|zone| seeds.len() == links.len() && !is_seeded(zone)) {
        let known: Vec<&str> = zones().map(String::as_str).collect();
        if !known.is_empty() {
            let what = format!("`zone` is {zone:?}, which no network of `seed` has");
            findings.error(section.place_of("zone"), what, format!("write one of: {}", known.join(", ")));
        }
    }
}

/// A link that is missing now may come: the server tries it again and again.
fn note_missing(place: &Place, link: &AppleTalkLink, findings: &mut Findings) {
    let (is_there, what) = match link {
        AppleTalkLink::LToUdp(None) => return,
        AppleTalkLink::LToUdp(Some(name)) | AppleTalkLink::EtherTalk(name) => {
            (Path::new(INTERFACES).join(name).exists(), format!("no network interface {name}"))
        }
        AppleTalkLink::TashTalk(device) => (device.exists(), format!("no serial port {}", device.display())),
    };
    if !is_there {
        let known = std::fs::read_dir(INTERFACES).into_iter().flatten().flatten();
        let mut known: Vec<String> =
            known.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        known.sort();
        let instead = match link {
            AppleTalkLink::LToUdp(_) | AppleTalkLink::EtherTalk(_) => {
                format!("write one of this machine: {}", known.join(", "))
            }
            _ => "connect it, or write another path".into(),
        };
        findings.note(place, format!("there is {what} now; the server waits for it"), instead);
    }
}
