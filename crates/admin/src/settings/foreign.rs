//! Settings of another server in the place of ours: they are recognized, and lead to `fourfold adopt`.

/// Lines that are looked at.
const MOST_LINES: usize = 2_000;

/// Names of settings that only this server has.
const NETATALK: [&str; 12] = [
    "mimic model",
    "afp port",
    "afp listen",
    "uam list",
    "vol dbpath",
    "vol preset",
    "vol size limit",
    "basedir regex",
    "time machine",
    "cnid scheme",
    "appledouble",
    "zeroconf name",
];
const SAMBA: [&str; 28] = [
    "workgroup",
    "security",
    "realm",
    "netbios name",
    "server string",
    "server role",
    "passdb backend",
    "map to guest",
    "valid users",
    "invalid users",
    "write list",
    "read list",
    "admin users",
    "vfs objects",
    "guest ok",
    "guest only",
    "public",
    "browseable",
    "browsable",
    "writable",
    "writeable",
    "read only",
    "create mask",
    "directory mask",
    "force user",
    "force group",
    "load printers",
    "veto files",
];

/// The server whose settings a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForeignServer {
    Samba,
    Netatalk,
    /// NFS of Linux.
    Exports,
}

impl ForeignServer {
    /// That of a text which is no TOML.
    pub(super) fn recognize(text: &str) -> Option<Self> {
        let lines =
            || text.lines().take(MOST_LINES).map(str::trim).filter(|line| !line.starts_with(['#', ';']));
        let key = |line: &'_ str| {
            let (key, _) = line.split_once('=')?;
            Some(key.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase())
        };
        let has = |known: &[&str]| lines().filter_map(key).any(|key| known.contains(&key.as_str()));
        let is_export =
            |line: &str| line.starts_with(['/', '"']) && line.contains('(') && line.ends_with(')');
        let is_section = |line: &str| line.starts_with('[') && line.ends_with(']');
        match lines().any(is_section) {
            true if has(&NETATALK) => Some(Self::Netatalk),
            true if has(&SAMBA) => Some(Self::Samba),
            true => None,
            false => lines().any(is_export).then_some(Self::Exports),
        }
    }

    /// What the text is.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Samba => "these are settings of Samba (smb.conf), not of Fourfold",
            Self::Netatalk => "these are settings of Netatalk (afp.conf), not of Fourfold",
            Self::Exports => "these are exports of Linux's NFS server, not settings of Fourfold",
        }
    }

    /// What translates it.
    pub(super) fn instead(self, file: &str) -> String {
        let flag = match self {
            Self::Samba => "--smb-conf",
            Self::Netatalk => "--afp-conf",
            Self::Exports => "--exports",
        };
        format!("`fourfold adopt {flag} {file} --settings` prints settings that serve the same")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_other_servers_are_recognized() {
        for (text, expected) in [
            (
                "# a comment\n[global]\n   workgroup = HOME\n[films]\npath = /srv/films\n",
                Some(ForeignServer::Samba),
            ),
            ("[films]\n\tpath = /srv/films\n\tGuest  OK = yes\n", Some(ForeignServer::Samba)),
            (
                "[Global]\nmimic model = RackMac\n[Backup]\npath = /b\ntime machine = yes\n",
                Some(ForeignServer::Netatalk),
            ),
            ("/srv/films 192.168.1.0/24(rw,sync)\n", Some(ForeignServer::Exports)),
            ("[server]\nnfs-port = \n[[share]]\nname = \"A\"\n", None),
            ("not = toml = at all", None),
            ("", None),
        ] {
            assert_eq!(ForeignServer::recognize(text), expected, "{text}");
        }
    }
}
