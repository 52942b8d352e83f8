//! A place on another server, and its URL.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The most targets of a link. More are ignored.
pub const MOST_TARGETS: usize = 32;
/// The longest target, in bytes of its URL with all that is percent-encoded, and in UTF-16 units of its path.
const LONGEST: usize = 1024;
/// What a part of a path in a URL shows as it is, RFC 3986 3.3, except for the comma, which separates targets.
const SHOWN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// A protocol by which clients are led on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "named in full")]
pub enum Protocol {
    Smb,
    Nfs,
    Afp,
}

/// What clients of a protocol get where a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead {
    /// A referral of DFS, which clients keep for some time.
    Referral,
    /// The attribute `fs_locations`.
    Locations,
    /// A file that the Finder opens, since the protocol has nothing else.
    Document,
}

/// What is known of a protocol.
struct Row {
    scheme: &'static str,
    /// The registry of service names of IANA has it.
    port: u16,
    lead: Lead,
    linux_type: Option<&'static str>,
    location_type: [u8; 4],
    has_unc: bool,
}

const SMB: Row = Row {
    scheme: "smb",
    port: 445,
    lead: Lead::Referral,
    linux_type: Some("cifs"),
    location_type: *b"ilge",
    has_unc: true,
};

const NFS: Row = Row {
    scheme: "nfs",
    port: 2049,
    lead: Lead::Locations,
    linux_type: Some("nfs"),
    location_type: *b"ilge",
    has_unc: false,
};

const AFP: Row = Row {
    scheme: "afp",
    port: 548,
    lead: Lead::Document,
    linux_type: None,
    location_type: *b"ilaf",
    has_unc: false,
};

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Smb, Self::Nfs, Self::Afp];

    /// In the order in which a document of the Finder prefers them.
    pub const FOR_FINDER: [Self; 3] = [Self::Afp, Self::Smb, Self::Nfs];

    /// Of links with targets of both, the ones that Linux mounts.
    pub const FOR_LINUX: [Self; 2] = [Self::Nfs, Self::Smb];

    const fn row(self) -> Row {
        match self {
            Self::Smb => SMB,
            Self::Nfs => NFS,
            Self::Afp => AFP,
        }
    }

    /// The scheme of its URLs.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        self.row().scheme
    }

    /// How its clients are led on.
    #[must_use]
    pub fn lead(self) -> Lead {
        self.row().lead
    }

    /// The type of the file system by which Linux mounts it.
    #[must_use]
    pub fn linux_type(self) -> Option<&'static str> {
        self.row().linux_type
    }

    /// The type of an internet location that has its URL: the Finder recognizes it by that.
    pub(crate) fn location_type(self) -> [u8; 4] {
        self.row().location_type
    }

    /// Whether its targets have names of the form `\\HOST\SHARE` ([MS-DTYP] 2.2.57).
    #[must_use]
    pub fn has_unc(self) -> bool {
        self.row().has_unc
    }

    /// The port that the service names registry of IANA has for it.
    #[must_use]
    pub fn port(self) -> u16 {
        self.row().port
    }
}

/// A folder of a share, an export or a volume of a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The protocol.
    pub protocol: Protocol,
    /// The server's name or address, without brackets.
    pub host: String,
    /// Its port, if it is not the usual one.
    pub port: Option<u16>,
    /// The names on the way to the folder: the share or volume first, or those of an export.
    pub parts: Vec<String>,
}

/// Why a text is no target, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The problem.
    pub what: &'static str,
    /// The correction.
    pub instead: String,
}

/// What clients make of a port that is not the usual one of the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortLimit {
    /// The problem.
    pub what: String,
    /// The correction.
    pub instead: &'static str,
    /// No client gets to the port.
    pub excludes_all: bool,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.instead)
    }
}

impl Target {
    /// Reads a URL: `smb://HOST/SHARE/FOLDER`, `nfs://HOST/EXPORT`, `afp://HOST/VOLUME`.
    ///
    /// # Errors
    /// It is no such URL.
    pub fn of_url(url: &str) -> Result<Self, Wrong> {
        let wrong = |what, instead: &str| Wrong { what, instead: instead.to_owned() };
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| wrong("it is no URL", &format!("write `smb://{}`", as_path(url))))?;
        let protocol = Protocol::ALL.into_iter().find(|one| scheme.eq_ignore_ascii_case(one.scheme()));
        let protocol = protocol.ok_or_else(|| {
            wrong("clients can be led to smb://, nfs:// and afp:// only", "write one of them")
        })?;
        if rest.contains(['?', '#']) {
            return Err(wrong("it has a `?` or `#`", "write `%3F` or `%23` if a name has it"));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            let instead = "remove the user and put them into the file that `credentials` names";
            return Err(wrong("it has a user", instead));
        }
        let (host, port) = host_and_port(authority)
            .ok_or_else(|| wrong("the server is wrong", "write `HOST` or `HOST:PORT`"))?;
        let parts = path.split('/').filter(|part| !part.is_empty());
        let parts: Option<Vec<String>> = parts.map(name).collect();
        let parts = parts.ok_or_else(|| {
            wrong(
                "a name in it is `.` or `..`, is not UTF-8, or has a slash or control characters",
                "write a plain path",
            )
        })?;
        if parts.is_empty() && protocol != Protocol::Nfs {
            return Err(wrong("it has no share", &format!("write `{scheme}://{authority}/SHARE`")));
        }
        let port = port.filter(|port| *port != protocol.port());
        let target = Self { protocol, host, port, parts };
        match target.to_string().len() > LONGEST {
            true => Err(wrong("it is longer than 1024 bytes", "write a shorter path")),
            false => Ok(target),
        }
    }

    /// Reads `server\share\folder`, with or without backslashes in front, as Samba's links have it.
    pub(crate) fn of_unc(text: &str) -> Option<Self> {
        let mut parts = text.split(['\\', '/']).filter(|part| !part.is_empty()).map(str::to_owned);
        let host = parts.next()?;
        let parts: Vec<String> = parts.collect();
        let target = Self { protocol: Protocol::Smb, host, port: None, parts };
        let is_plain = !text.chars().any(char::is_control);
        (is_plain && !target.parts.is_empty() && target.unc().encode_utf16().count() <= LONGEST)
            .then_some(target)
    }

    /// `\server\share\folder`, as referrals of SMB have it.
    #[must_use]
    pub fn unc(&self) -> String {
        format!("\\{}\\{}", self.host, self.parts.join("\\"))
    }

    /// The port to connect to.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(self.protocol.port())
    }

    /// Why clients that are led to the target may not get to its port; `None`: they do.
    #[must_use]
    pub fn port_limit(&self) -> Option<PortLimit> {
        let port = self.port?;
        match self.protocol.lead() {
            Lead::Referral => Some(PortLimit {
                what: format!("a referral of SMB has no port, and {self} has {port}"),
                instead: "serve it at port 445, and leave the port out",
                excludes_all: true,
            }),
            Lead::Locations => Some(PortLimit {
                what: format!("Linux follows referrals of NFS to port 2049 only, and {self} has {port}"),
                instead: "serve it at port 2049, or have clients mount it by `fourfold namespace map`",
                excludes_all: false,
            }),
            Lead::Document => None,
        }
    }

    /// The path on the server, with slashes: of an export of NFS.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/{}", self.parts.join("/"))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{}://{open}{}{close}", self.protocol.scheme(), self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        f.write_str("/")?;
        self.parts.iter().enumerate().try_for_each(|(at, part)| {
            write!(f, "{}{}", if at == 0 { "" } else { "/" }, utf8_percent_encode(part, SHOWN))
        })
    }
}

/// `HOST`, `HOST:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`.
fn host_and_port(authority: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']')?;
            address.parse::<std::net::Ipv6Addr>().ok()?;
            (address, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let is_of_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
    let port = port
        .map(|port| port.parse().ok().filter(|port| *port > 0))
        .map_or(Some(None), |port| port.map(Some))?;
    (!host.is_empty() && host.bytes().all(is_of_host)).then(|| (host.to_owned(), port))
}

/// A name in the path of a URL.
fn name(part: &str) -> Option<String> {
    let name = percent_decode_str(part).decode_utf8().ok()?.into_owned();
    let is_plain = !matches!(name.as_str(), "." | "..") && !name.chars().any(|c| c == '/' || c.is_control());
    is_plain.then_some(name)
}

/// A path with backslashes in the form of a URL, for a correction.
fn as_path(text: &str) -> String {
    let parts = text.split(['\\', '/']).filter(|part| !part.is_empty());
    let path: Vec<&str> = parts.collect();
    if path.len() < 2 { "HOST/SHARE".to_owned() } else { path.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 3986 3: scheme, authority with port, path of percent-encoded parts.
    #[test]
    fn a_url_has_a_server_and_the_names_on_the_way() {
        let target = Target::of_url("smb://filer2:1445/My%20Share/a%2Cb/").unwrap();
        assert_eq!((target.protocol, target.host.as_str(), target.port()), (Protocol::Smb, "filer2", 1445));
        assert_eq!(target.parts, ["My Share", "a,b"]);
        assert_eq!(target.to_string(), "smb://filer2:1445/My%20Share/a%2Cb");
        assert_eq!(target.unc(), r"\filer2\My Share\a,b");
        let export = Target::of_url("NFS://[fd00::1]:2049/export/films").unwrap();
        assert_eq!(
            (export.host.as_str(), export.port, export.path().as_str()),
            ("fd00::1", None, "/export/films")
        );
        assert_eq!(export.to_string(), "nfs://[fd00::1]/export/films");
        assert_eq!(Target::of_url("nfs://filer2").unwrap().path(), "/");
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_write() {
        for (url, instead) in [
            (r"\\filer2\archive", "write `smb://filer2/archive`"),
            ("archive", "write `smb://HOST/SHARE`"),
            ("ftp://filer2/archive", "write one of them"),
            ("smb://filer2", "write `smb://filer2/SHARE`"),
            (
                "smb://ada:secret@filer2/archive",
                "remove the user and put them into the file that `credentials` names",
            ),
            ("smb://filer2:0/a", "write `HOST` or `HOST:PORT`"),
            ("smb://filer2:99999/a", "write `HOST` or `HOST:PORT`"),
            ("smb:///a", "write `HOST` or `HOST:PORT`"),
            ("smb://[fd00::1/a", "write `HOST` or `HOST:PORT`"),
            ("afp://filer2/a/../b", "write a plain path"),
            ("afp://filer2/a%00", "write a plain path"),
            ("nfs://filer2/%ff", "write a plain path"),
            ("smb://filer2/a?b", "write `%3F` or `%23` if a name has it"),
        ] {
            assert_eq!(Target::of_url(url).unwrap_err().instead, instead, "{url}");
        }
        assert!(Target::of_url(&format!("smb://h/{}", "a".repeat(1024))).is_err());
    }

    #[test]
    fn a_target_in_the_words_of_windows() {
        assert_eq!(Target::of_unc(r"\\filer2\archive\old").unwrap().unc(), r"\filer2\archive\old");
        assert_eq!(Target::of_unc("filer2/archive").unwrap().unc(), r"\filer2\archive");
        for none in ["", "filer2", r"\\", "filer2\\a\n"] {
            assert_eq!(Target::of_unc(none), None, "{none:?}");
        }
    }
}
