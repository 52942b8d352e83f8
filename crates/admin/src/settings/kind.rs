//! The kinds of values, and the check of a written value.

use std::net::IpAddr;

use formats::names::Characters;
use ipnet::IpNet;

use super::hosts;
use super::mac_policy;
use super::port::Port;
use super::samba_sid;
use super::secret::{Secret, without_secret};
use super::setting::Setting;
use super::team::Who;
use super::{poll, suggest, units};

/// Longest name of an iSCSI target or initiator in bytes, RFC 7143 4.2.7.1.
pub const LONGEST_TARGET_NAME: usize = 223;
/// The longest prefix of targets' names: share and LUN follow it.
const LONGEST_PREFIX: usize = 100;
/// The highest number of a LUN in its target that every initiator supports, SAM-5 4.7.7.2.
pub const MOST_NUMBER: u16 = 255;

/// The most parts of a share's name.
const MOST_PARTS: usize = 16;

/// The kind of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// The name of a share.
    ShareName,
    /// The name of an account.
    AccountName,
    /// The name of a LUN or target.
    LunName,
    /// The prefix of the names of iSCSI targets.
    TargetPrefix,
    /// A list of names of initiators, with `*`.
    Initiators,
    /// A list of Macs, each with what counts for its backups.
    Macs,
    /// A list of SIDs of Samba, each with a user or group.
    SambaSids,
    /// Pairs of characters: on the disk, and for clients.
    Characters,
    /// Bytes of a block of a LUN.
    BlockSize,
    /// `"auto"`, `"off"`, or a time in microseconds.
    Poll,
    /// A file.
    File,
    /// A folder.
    Path,
    /// A port number, 0, or `"off"`.
    Port,
    /// A size with a unit.
    Size,
    /// A time with a unit.
    Duration,
    /// A URL with one of these schemes. It may have a password, which is not shown.
    Url(&'static [&'static str]),
    /// A URL with one of these schemes, whose path may be a secret: only its host is shown.
    Hook(&'static [&'static str]),
    /// A whole number within bounds.
    Number(u64, u64),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Some of these words.
    SomeOf(&'static [&'static str]),
    /// The bits of a Unix mode, as octal digits.
    Mode,
    /// One line of text, or an empty one.
    Text,
    /// Periods, each with the number of snapshots to keep.
    Schedule,
    /// A list of texts.
    Texts,
    /// A list of those who have a role: accounts, groups, `everyone`, `guests`.
    People,
    /// Sixteen bytes as hexadecimal digits, with or without hyphens.
    Identity,
    /// The password of an AFP volume.
    VolumePassword,
    /// A list of IP addresses.
    Addresses,
    /// An address, a network or `"*"`, or a list of them.
    Clients,
    /// The same, or `"all"`.
    ClientsOrAll,
    /// One network, or a list of them.
    Networks,
}

/// The clients of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientMatch {
    /// `"*"`: everyone.
    Any,
    /// A network; one address is a network of one.
    Net(IpNet),
    /// The name of a host, or a pattern for names.
    Name(String),
}

impl ClientMatch {
    /// Whether the client at `address` matches. An IPv4 address mapped into IPv6 counts as the IPv4
    /// address. `None`: the name service has to tell.
    #[must_use]
    pub fn matches(&self, address: IpAddr) -> Option<bool> {
        match self {
            Self::Any => Some(true),
            Self::Net(net) => Some(net.contains(&address.to_canonical())),
            Self::Name(_) => None,
        }
    }
}

/// A checked value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Number(u64),
    Text(String),
    Secret(Secret),
    Texts(Vec<String>),
    Port(Port),
    Addresses(Vec<IpAddr>),
    Clients(Vec<ClientMatch>),
}

/// A value as written, in the file or on the command line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Raw {
    Bool(bool),
    Integer(i64),
    Text(String),
    List(Vec<Raw>),
    /// A type that no setting has: a float, a date, a table.
    Other(&'static str),
}

/// Why a value was not accepted: the written value in place of the expected one, the index in a
/// list, and a better value than the setting's example if one is known.
#[derive(Debug, PartialEq)]
pub(super) struct Wrong {
    pub(super) found: String,
    pub(super) element: Option<usize>,
    pub(super) better: Option<String>,
    /// The reason, if the expected kind does not explain it.
    pub(super) why: Option<&'static str>,
}

impl Raw {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Bool(b) => format!("{b}"),
            Self::Integer(i) => format!("{i}"),
            Self::Text(t) => format!("{t:?}"),
            Self::List(_) => "a list".into(),
            Self::Other(name) => (*name).into(),
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl Kind {
    /// The description of the kind, for a text after "must be".
    #[must_use]
    pub fn expects(self) -> String {
        match self {
            Self::Bool => "true or false".into(),
            Self::Schedule => {
                "periods with the number of snapshots to keep, of hourly, daily, nightly, weekly and monthly".into()
            }
            Self::ShareName => {
                "a name of 1 to 80 characters with none of \\ : * ? \" < > | + = ; , [ ] and no spaces at its ends, or up to 16 such \
                 names with / between them"
                    .into()
            }
            Self::AccountName => {
                "a name of 1 to 64 characters with none of / \\ : or spaces at its ends".into()
            }
            Self::LunName => {
                "a name of 1 to 64 letters and digits of ASCII, \"-\", \"_\" and \".\", beginning with a letter or digit"
                    .into()
            }
            Self::TargetPrefix => format!(
                "\"iqn.\", a year and month, and a domain from its end, of at most {LONGEST_PREFIX} characters a-z 0-9 - . :"
            ),
            Self::Initiators => "a list of names of initiators, in which * matches any characters".into(),
            Self::Macs => mac_policy::EXPECTS.into(),
            Self::Characters => "pairs such as \"0x22:0xa8,0x3a:0xf7\", each character once, those for clients above 0x7f".into(),
            Self::BlockSize => "512 or 4096".into(),
            Self::Poll => poll::EXPECTS.into(),
            Self::File => "the path of a file, in quotes".into(),
            Self::Path => "the path of a folder, in quotes".into(),
            Self::Port => "a port from 1 to 65535, 0 for any free one, or \"off\"".into(),
            Self::Duration => "a time such as \"500 ms\", \"2 s\" or \"1 min\", or \"off\"".into(),
            Self::Url(schemes) | Self::Hook(schemes) => {
                let schemes: Vec<String> = schemes.iter().map(|scheme| format!("{scheme}://")).collect();
                format!("a URL that begins with {}", schemes.join(" or "))
            }
            Self::Size => "a size such as \"256 MiB\"".into(),
            Self::Number(low, high) => format!("a whole number from {low} to {high}"),
            Self::OneOf(words) => format!("one of {}", quoted(words)),
            Self::SomeOf(words) => format!("a list of {}", quoted(words)),
            Self::SambaSids => "a list such as [\"S-1-5-21-1-2-3-1000=user:ada\", \"S-1-5-21-1-2-3-513=group:users\", \
                                \"S-1-5-21-1-2-3=algorithmic\"]".into(),
            Self::Mode => "three or four octal digits in quotes, such as \"0664\"".into(),
            Self::Text => "one line of text of at most 256 characters".into(),
            Self::Texts => "a list of texts".into(),
            Self::People => {
                "a list of accounts, groups such as \"@studio\", \"everyone\" with an account, and \"guests\" without".into()
            }
            Self::VolumePassword => "1 to 8 characters of ASCII".into(),
            Self::Identity => "32 hexadecimal digits, with or without hyphens".into(),
            Self::Addresses => "a list of IP addresses".into(),
            Self::Clients => {
                "an IP address, a network such as \"192.168.1.0/24\", the name of a host, a pattern such as \"*.example.org\", or \
                 \"*\" for everyone"
                    .into()
            }
            Self::ClientsOrAll => {
                "an IP address, a network such as \"192.168.1.0/24\", the name of a host, a list of these, or \"all\"".into()
            }
            Self::Networks => "an IP address, or a network such as \"192.168.1.0/24\"".into(),
        }
    }
}

/// `"a", "b" or "c"`.
fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|w| format!("{w:?}")).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.join(""),
    }
}

/// Checks a written value. A list may have several wrong elements.
pub(super) fn accept(setting: &Setting, raw: &Raw) -> Result<Value, Vec<Wrong>> {
    match setting.kind {
        Kind::SomeOf(words) => list(raw, |r| one_of(words, r)).map(Value::Texts),
        Kind::Texts => list(raw, |r| r.text().map(str::to_owned).ok_or(None)).map(Value::Texts),
        Kind::People => list(raw, person).map(Value::Texts),
        Kind::Initiators => list(raw, initiator).map(Value::Texts),
        Kind::SambaSids => list(raw, samba_sid::accepted).map(Value::Texts),
        Kind::Macs => list(raw, mac_policy::accepted).map(Value::Texts),
        Kind::Addresses => list(raw, address).map(Value::Addresses),
        Kind::Clients => hosts::list(raw, hosts::client),
        Kind::ClientsOrAll => hosts::list(raw, hosts::client_or_all),
        Kind::Networks => hosts::list(raw, hosts::network),
        kind if kind.is_secret() => {
            scalar(kind, raw).map_err(|better| vec![without_secret(kind, raw, better)])
        }
        kind => scalar(kind, raw).map_err(|better| {
            let why = raw.text().filter(|_| kind == Kind::ShareName).and_then(reserved);
            vec![Wrong { why, ..wrong(raw, None, better) }]
        }),
    }
}

pub(super) fn wrong(raw: &Raw, element: Option<usize>, better: Option<String>) -> Wrong {
    Wrong { found: raw.describe(), element, better, why: None }
}

/// The bits of a mode in octal digits.
pub(super) fn mode(text: &str) -> Option<u32> {
    let is_octal = matches!(text.len(), 3 | 4) && text.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
    u32::from_str_radix(text, 8).ok().filter(|_| is_octal)
}

/// Applies `one` to every element; an empty list is accepted.
pub(super) fn list<T>(
    raw: &Raw,
    one: impl Fn(&Raw) -> Result<T, Option<String>>,
) -> Result<Vec<T>, Vec<Wrong>> {
    let Raw::List(elements) = raw else {
        let better = one(raw).is_ok().then(|| format!("[{}]", raw.describe()));
        return Err(vec![wrong(raw, None, better)]);
    };
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (index, element) in elements.iter().enumerate() {
        match one(element) {
            Ok(value) => good.push(value),
            Err(better) => bad.push(wrong(element, Some(index), better)),
        }
    }
    if bad.is_empty() { Ok(good) } else { Err(bad) }
}

/// One who may have a role.
fn person(raw: &Raw) -> Result<String, Option<String>> {
    let text = raw.text().ok_or(None)?;
    Who::parse(text).map(|_| text.to_owned())
}

fn scalar(kind: Kind, raw: &Raw) -> Result<Value, Option<String>> {
    match (kind, raw) {
        (Kind::Bool, Raw::Bool(b)) => Ok(Value::Bool(*b)),
        (Kind::Bool, Raw::Text(t)) => Err(truth(t)),
        (Kind::Bool, Raw::Integer(i)) => Err((*i == 0 || *i == 1).then(|| (*i == 1).to_string())),
        (Kind::Port, Raw::Integer(i)) => {
            u16::try_from(*i).map(|n| Value::Port(Port::Number(n))).map_err(|_| None)
        }
        (Kind::Port, Raw::Text(t)) if t == "off" => Ok(Value::Port(Port::Off)),
        (Kind::Port, Raw::Text(t)) => Err(t.parse::<u16>().ok().map(|n| n.to_string())),
        (Kind::Port, Raw::Bool(false)) => Err(Some("\"off\"".into())),
        (Kind::Number(low, high), Raw::Integer(i)) => {
            let number = u64::try_from(*i).ok().filter(|n| (low..=high).contains(n));
            number.map(Value::Number).ok_or(None)
        }
        (Kind::Number(..), Raw::Text(t)) => Err(t.parse::<u64>().ok().map(|n| n.to_string())),
        (Kind::Size, Raw::Text(t)) => units::parse_size(t).map(Value::Number).ok_or(None),
        (Kind::Size, Raw::Integer(i)) => u64::try_from(*i).map(Value::Number).map_err(|_| None),
        (Kind::Duration, Raw::Text(t)) => units::parse_duration(t)
            .map(Value::Number)
            .ok_or_else(|| t.trim().parse::<u64>().ok().map(|seconds| format!("\"{seconds} s\""))),
        (Kind::Duration, Raw::Integer(i)) => Err((*i > 0).then(|| format!("\"{i} s\""))),
        (Kind::Duration, Raw::Bool(false)) => Err(Some("\"off\"".into())),
        (Kind::Url(schemes), Raw::Text(t)) if is_url(schemes, t) => Ok(Value::Secret(Secret::url(t))),
        (Kind::Hook(schemes), Raw::Text(t)) if is_url(schemes, t) => Ok(Value::Secret(Secret::hook(t))),
        (Kind::Url(schemes) | Kind::Hook(schemes), Raw::Text(t)) => {
            let scheme = schemes.first().copied().unwrap_or_default();
            let better = format!("{scheme}://{t}");
            Err((!t.contains("://") && is_url(schemes, &better)).then(|| format!("{better:?}")))
        }
        (Kind::Mode, Raw::Text(t)) if mode(t).is_some() => Ok(Value::Text(t.clone())),
        // TOML has decimal numbers here: the digits were meant.
        (Kind::Mode, Raw::Integer(i)) => Err(mode(&i.to_string()).map(|_| format!("\"0{i}\""))),
        (Kind::OneOf(words), raw) => one_of(words, raw).map(Value::Text),
        (Kind::Poll, raw) => poll::accept(raw),
        (Kind::BlockSize, Raw::Integer(size @ (512 | 4096))) => Ok(Value::Number(size.unsigned_abs())),
        (Kind::BlockSize, Raw::Text(t)) => {
            Err(units::parse_size(t).filter(|n| matches!(n, 512 | 4096)).map(|n| n.to_string()))
        }
        (Kind::Characters, Raw::Text(t)) if Characters::parse(t).is_some() => Ok(Value::Text(t.clone())),
        (Kind::LunName, Raw::Text(t)) if is_lun_name(t) => Ok(Value::Text(t.clone())),
        (Kind::LunName, Raw::Text(t)) => Err(plainer_name(t)),
        (Kind::TargetPrefix, Raw::Text(t)) if is_target_prefix(t) => Ok(Value::Text(t.clone())),
        (Kind::TargetPrefix, Raw::Text(t)) => {
            Err(Some(t.to_ascii_lowercase()).filter(|t| is_target_prefix(t)).map(|t| format!("{t:?}")))
        }
        (Kind::Path | Kind::File, Raw::Text(t)) if !t.is_empty() && !t.contains('\0') => {
            Ok(Value::Text(t.clone()))
        }
        (Kind::Schedule, Raw::Text(t)) if t.parse::<snapshots::Schedule>().is_ok() => {
            Ok(Value::Text(t.clone()))
        }
        (Kind::Text, Raw::Text(t)) if is_line(t) => Ok(Value::Text(t.clone())),
        (Kind::VolumePassword, Raw::Text(t)) if volume_password(t).is_some() => {
            Ok(Value::Secret(Secret::whole(t)))
        }
        (Kind::Identity, Raw::Text(t)) if identity(t).is_some() => Ok(Value::Text(t.clone())),
        (Kind::ShareName, Raw::Text(t)) if is_share_name(t) => Ok(Value::Text(t.clone())),
        (Kind::AccountName, Raw::Text(t)) if auth::is_account_name(t) => Ok(Value::Text(t.clone())),
        _ => Err(None),
    }
}

pub(super) fn truth(text: &str) -> Option<String> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some("true".into()),
        "false" | "no" | "off" | "0" => Some("false".into()),
        _ => None,
    }
}

fn one_of(words: &[&str], raw: &Raw) -> Result<String, Option<String>> {
    let text = raw.text().ok_or(None)?;
    if words.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(suggest::nearest(text, words.iter().copied()).map(|word| format!("{word:?}")))
}

fn address(raw: &Raw) -> Result<IpAddr, Option<String>> {
    let text = raw.text().ok_or(None)?;
    text.parse().map_err(|_| match text {
        "localhost" => Some("\"127.0.0.1\"".into()),
        "*" => Some("\"0.0.0.0\", \"::\"".into()),
        _ => {
            let host = text.parse::<std::net::SocketAddr>().ok()?.ip();
            Some(format!("\"{host}\""))
        }
    })
}

/// `scheme://host…` without spaces.
fn is_url(schemes: &[&str], text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    // A folder of this machine has no host.
    let has_place = if scheme == "file" { rest.len() > 1 && rest.starts_with('/') } else { !host.is_empty() };
    schemes.contains(&scheme)
        && text.len() <= 1024
        && has_place
        && !host.starts_with(':')
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// The name of an initiator; RFC 7143 4.2.7.1 has lower case.
fn initiator(raw: &Raw) -> Result<String, Option<String>> {
    let text = raw.text().ok_or(None)?;
    let fits = (1..=LONGEST_TARGET_NAME).contains(&text.len());
    if fits && text.chars().all(|c| !c.is_whitespace() && !c.is_control()) {
        return Ok(text.to_lowercase());
    }
    let trimmed = text.trim();
    let better = !trimmed.is_empty() && initiator(&Raw::Text(trimmed.into())).is_ok() && trimmed != text;
    Err(better.then(|| format!("{trimmed:?}")))
}

/// A character of a file's name and, in lower case and without `_`, of a target's name.
#[must_use]
pub fn is_lun_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=64).contains(&name.len())
        && name.chars().all(plain)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn plainer_name(name: &str) -> Option<String> {
    let fits = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let plain: String = name.trim().chars().map(fits).take(64).collect();
    is_lun_name(&plain).then(|| format!("{plain:?}"))
}

/// `iqn.2026-11.com.example`, RFC 7143 4.2.7.5, short enough to add a share and a LUN.
fn is_target_prefix(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.:".contains(c);
    let Some((date, domain)) = name.strip_prefix("iqn.").and_then(|rest| rest.split_once('.')) else {
        return false;
    };
    let dated = match date.split_once('-') {
        Some((year, month)) => {
            year.len() == 4
                && year.parse::<u16>().is_ok()
                && month.len() == 2
                && month.parse::<u8>().is_ok_and(|month| (1..=12).contains(&month))
        }
        None => false,
    };
    dated
        && name.len() <= LONGEST_PREFIX
        && domain.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(allowed)
}

/// Whether a text fits in a comment that clients show.
fn is_line(text: &str) -> bool {
    text.chars().count() <= 256 && !text.chars().any(char::is_control)
}

/// The bytes of a [`Kind::VolumePassword`], padded with NUL for the protocol.
pub(super) fn volume_password(text: &str) -> Option<[u8; 8]> {
    let mut bytes = [0; 8];
    let plain = !text.is_empty() && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    bytes.get_mut(..text.len()).filter(|_| plain)?.copy_from_slice(text.as_bytes());
    Some(bytes)
}

/// The bytes of a [`Kind::Identity`].
pub(super) fn identity(text: &str) -> Option<[u8; 16]> {
    wire::hex::decode(&text.replace('-', ""))
}

/// Parts with slashes between them. Each is one component of a path in every protocol. With `_` for `/` it has no special
/// meaning for SMB clients.
fn is_share_name(name: &str) -> bool {
    let plain = |c: char| !c.is_control() && !"\\:*?\"<>|+=;,[]".contains(c);
    (1..=80).contains(&name.chars().count())
        && name.chars().all(plain)
        && name.split('/').count() <= MOST_PARTS
        && name.split('/').all(|part| !part.is_empty() && part.trim() == part)
        && reserved(name).is_none()
}

/// Why a name with allowed characters is not allowed for a share.
pub(super) fn reserved(name: &str) -> Option<&'static str> {
    if name.split('/').any(|part| matches!(part, "." | "..")) {
        return Some("it means a folder");
    }
    match name.to_ascii_uppercase().as_str() {
        "IPC$" | "ADMIN$" | "PRINT$" => Some("SMB reserves this name for a share of its own"),
        _ => None,
    }
}
