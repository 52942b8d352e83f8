//! The options of a client of an export, exports(5).

use std::path::{Path, PathBuf};

/// What depends on how a user has logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flags {
    writable: bool,
    squashes_root: bool,
    squashes_all: bool,
    insecure: bool,
}

/// The users that act as the anonymous one, the fewest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ExportSquash {
    None,
    Root,
    All,
}

/// Whether a client must use TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TlsDemand {
    Optional,
    Required,
    Mutual,
}

/// What a client may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rights {
    pub(super) writable: bool,
    pub(super) squash: ExportSquash,
    pub(super) anonymous: (u32, u32),
    pub(super) reserved_port: bool,
    pub(super) tls: TlsDemand,
    pub(super) sec: Vec<&'static str>,
}

/// The options of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    base: Flags,
    /// The flavours that `sec` has named, each with its flags.
    flavors: Vec<(&'static str, Flags)>,
    /// The last `sec`: options behind it are its own.
    active: Vec<&'static str>,
    anonymous: (u32, u32),
    transports: Vec<String>,
    /// Clients enter file systems that are mounted inside.
    pub(super) crosses_mounts: bool,
    /// Only a mounted file system is exported: this folder, or the export itself.
    pub(super) mount_point: Option<PathBuf>,
    /// Options that are said in the report.
    pub(super) said: Vec<OptionEffect>,
}

/// Something that an option means here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OptionEffect {
    /// It does not change who may do what.
    NoEffect(String, &'static str),
    /// It is kept in another way.
    Kept(String, String),
    /// It limits access, and cannot be kept.
    Lost(String, &'static str, String),
}

/// Options that do not change who may do what, with the reason.
const NO_EFFECT: &[(&str, &str)] = &[
    ("acl", "access control lists are always kept"),
    ("async", "data are on the disk when a client is told so"),
    ("auth_nlm", "locks need the rights of the file"),
    ("fsid", "shares are known by their names"),
    ("hide", "see `cross-mounts`"),
    ("insecure_locks", "locks need the rights of the file"),
    ("no_acl", "access control lists are always kept"),
    ("no_auth_nlm", "locks need the rights of the file"),
    ("no_pnfs", "there is no pNFS"),
    ("no_subtree_check", "a handle leads to its own share only"),
    ("no_wdelay", "writes are not delayed"),
    ("pnfs", "there is no pNFS"),
    ("rootdir", "paths begin at the share"),
    ("secure_locks", "locks need the rights of the file"),
    ("security_label", "labels of SELinux are not shown to clients"),
    ("subtree_check", "a handle leads to its own share only"),
    ("sync", "data are on the disk when a client is told so"),
    ("uuid", "shares are known by their names"),
    ("wdelay", "writes are not delayed"),
];

/// `(uid_t)-2`, which exports(5) has as the anonymous user of old systems, and the one of today.
const NOBODY: u32 = 65_534;

impl Options {
    /// Read only, root squashed, ports below 1024: exports(5), "General Options".
    pub(super) fn new() -> Self {
        let base = Flags { writable: false, squashes_root: true, squashes_all: false, insecure: false };
        Self {
            base,
            flavors: Vec::new(),
            active: Vec::new(),
            anonymous: (NOBODY, NOBODY),
            transports: Vec::new(),
            crosses_mounts: false,
            mount_point: None,
            said: Vec::new(),
        }
    }

    /// Adds a list such as `rw,sync`.
    pub(super) fn add(&mut self, list: &str, export: &Path) {
        for option in split(list) {
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (&*option, None),
            };
            self.one(&option, (name, value), export);
        }
    }

    fn one(&mut self, option: &str, (name, value): (&str, Option<&str>), export: &Path) {
        match (name, value) {
            ("rw", None) => self.flag(|flags| flags.writable = true),
            ("ro", None) => self.flag(|flags| flags.writable = false),
            ("root_squash", None) => self.flag(|flags| flags.squashes_root = true),
            ("no_root_squash", None) => self.flag(|flags| flags.squashes_root = false),
            ("all_squash", None) => self.flag(|flags| flags.squashes_all = true),
            ("no_all_squash", None) => self.flag(|flags| flags.squashes_all = false),
            ("secure", None) => self.flag(|flags| flags.insecure = false),
            ("insecure", None) => self.flag(|flags| flags.insecure = true),
            ("anonuid", Some(id)) => match self.id(option, id) {
                Some(id) => self.anonymous.0 = id,
                None => self.lose(option, "anonuid", "it is no number of a user"),
            },
            ("anongid", Some(id)) => match self.id(option, id) {
                Some(id) => self.anonymous.1 = id,
                None => self.lose(option, "anongid", "it is no number of a group"),
            },
            ("sec", Some(flavors)) => self.sec(option, flavors),
            ("xprtsec", Some(transports)) => self.transports(option, transports),
            ("crossmnt" | "nohide", None) => self.crosses_mounts = true,
            ("mp" | "mountpoint", None) => self.mount_point = Some(export.into()),
            ("mp" | "mountpoint", Some(path)) => self.mount_point = Some(path.into()),
            ("refer" | "replicas", _) => {
                self.lose(
                    option,
                    "refer",
                    "clients are sent to another server, and this folder would be served instead",
                );
            }
            (name, _) => match NO_EFFECT.iter().find(|(known, _)| *known == name) {
                Some((_, why)) => self.said.push(OptionEffect::NoEffect(option.into(), why)),
                None => self.lose(option, "unknown-option", "exports(5) has no such option"),
            },
        }
    }

    fn lose(&mut self, option: &str, limit: &'static str, why: &str) {
        self.said.push(OptionEffect::Lost(option.into(), limit, why.into()));
    }

    /// Options behind a `sec` are for its flavours, and for those that follow.
    fn flag(&mut self, change: impl Fn(&mut Flags)) {
        change(&mut self.base);
        let active = |flavor: &&str| self.active.contains(flavor);
        self.flavors.iter_mut().filter(|(flavor, _)| active(flavor)).for_each(|(_, flags)| change(flags));
    }

    fn sec(&mut self, option: &str, flavors: &str) {
        self.active.clear();
        for flavor in flavors.split(':') {
            let known = match flavor {
                "sys" | "unix" => "sys",
                "none" | "null" => "none",
                "krb5" => "krb5",
                "krb5i" => "krb5i",
                "krb5p" => "krb5p",
                _ => {
                    self.lose(option, "sec", "there is no such flavour here");
                    continue;
                }
            };
            if self.flavors.iter().all(|(there, _)| *there != known) {
                self.flavors.push((known, self.base));
            }
            self.active.push(known);
        }
    }

    fn transports(&mut self, option: &str, transports: &str) {
        self.transports = transports.split(':').map(str::to_owned).collect();
        if !self.transports.iter().all(|one| matches!(&**one, "none" | "tls" | "mtls")) {
            self.lose(option, "xprtsec", "there is no such protection here");
        }
        if self.transports.iter().all(|one| one == "none") {
            let how = "clients may use TLS as well, which protects what they send".to_owned();
            self.said.push(OptionEffect::Kept(option.into(), how));
        }
    }

    /// The id that a number stands for; -1 is none, and stands for nobody.
    fn id(&mut self, option: &str, text: &str) -> Option<u32> {
        let number: i64 = text.trim().parse().ok()?;
        let id = u32::try_from(number).ok().or_else(|| i32::try_from(number).ok().map(|id| id as u32))?;
        if id == u32::MAX {
            let how = format!("-1 is no id: {NOBODY} is used");
            self.said.push(OptionEffect::Kept(option.into(), how));
            return Some(NOBODY);
        }
        Some(id)
    }

    /// What the client may do, whichever flavour it uses: where flavours differ, what the least of them may do.
    pub(super) fn rights(&self) -> (Rights, bool) {
        let flavors: Vec<&'static str> = match self.flavors.is_empty() {
            true => vec!["sys"],
            false => self.flavors.iter().map(|(flavor, _)| *flavor).collect(),
        };
        let all: Vec<Flags> = match self.flavors.is_empty() {
            true => vec![self.base],
            false => self.flavors.iter().map(|(_, flags)| *flags).collect(),
        };
        // A client without a login is nobody, and may as well say that it has one.
        let is_nobody = flavors == ["none"];
        let squash = match () {
            () if is_nobody || all.iter().any(|flags| flags.squashes_all) => ExportSquash::All,
            () if all.iter().any(|flags| flags.squashes_root) => ExportSquash::Root,
            () => ExportSquash::None,
        };
        let mut sec: Vec<&'static str> = flavors.into_iter().filter(|flavor| *flavor != "none").collect();
        if is_nobody {
            sec.push("sys");
        }
        let rights = Rights {
            writable: all.iter().all(|flags| flags.writable),
            squash,
            anonymous: self.anonymous,
            reserved_port: !all.iter().all(|flags| flags.insecure),
            tls: self.tls(),
            sec,
        };
        (rights, all.iter().all(|flags| *flags == all[0]))
    }

    fn tls(&self) -> TlsDemand {
        let has = |transport: &str| self.transports.iter().any(|one| one == transport);
        match () {
            () if self.transports.is_empty() || has("none") => TlsDemand::Optional,
            () if has("tls") => TlsDemand::Required,
            () => TlsDemand::Mutual,
        }
    }
}

impl Rights {
    /// Whether it allows nothing that the other does not.
    pub(super) fn is_no_wider(&self, other: &Self) -> bool {
        self.writable <= other.writable
            && self.squash >= other.squash
            && (self.anonymous == other.anonymous || other.squash == ExportSquash::None)
            && self.reserved_port >= other.reserved_port
            && self.tls >= other.tls
            && self.sec.iter().all(|flavor| other.sec.contains(flavor))
    }

    /// What both allow.
    pub(super) fn and(&self, other: &Self) -> Self {
        Self {
            writable: self.writable && other.writable,
            squash: self.squash.max(other.squash),
            anonymous: other.anonymous,
            reserved_port: self.reserved_port || other.reserved_port,
            tls: self.tls.max(other.tls),
            sec: self.sec.iter().copied().filter(|flavor| other.sec.contains(flavor)).collect(),
        }
    }
}

/// The options of a list; commas in quotes do not separate.
fn split(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|option| !option.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(list: &str) -> Rights {
        let mut options = Options::new();
        options.add(list, Path::new("/srv"));
        assert!(
            !options.said.iter().any(|said| matches!(said, OptionEffect::Lost(..))),
            "{list}: {options:?}"
        );
        options.rights().0
    }

    #[test]
    fn options_have_the_meaning_of_the_manual_in_any_order() {
        let default = rights("");
        assert_eq!(
            (default.writable, default.squash, default.reserved_port),
            (false, ExportSquash::Root, true)
        );
        assert_eq!(
            (default.anonymous, &default.sec[..], default.tls),
            ((65534, 65534), &["sys"][..], TlsDemand::Optional)
        );
        for (list, squash) in [
            ("all_squash,root_squash", ExportSquash::All),
            ("all_squash,no_root_squash", ExportSquash::All),
            ("no_root_squash,all_squash", ExportSquash::All),
            ("all_squash,no_all_squash", ExportSquash::Root),
            ("no_root_squash", ExportSquash::None),
            ("no_root_squash,root_squash", ExportSquash::Root),
            ("sec=none,rw,no_root_squash", ExportSquash::All),
        ] {
            assert_eq!(rights(list).squash, squash, "{list}");
        }
        assert!(rights("rw").writable && !rights("rw,ro").writable && rights("ro,rw").writable);
        assert_eq!(rights("anonuid=-2,anongid=99").anonymous, (u32::MAX - 1, 99));
        assert_eq!(rights("anonuid=-1").anonymous.0, 65534);
        for (list, tls) in [
            ("xprtsec=none:tls:mtls", TlsDemand::Optional),
            ("xprtsec=tls:mtls", TlsDemand::Required),
            ("xprtsec=tls", TlsDemand::Required),
            ("xprtsec=mtls", TlsDemand::Mutual),
        ] {
            assert_eq!(rights(list).tls, tls, "{list}");
        }
    }

    #[test]
    fn flags_behind_sec_are_those_of_its_flavours() {
        // exports(5): "sec=krb5,rw,sec=sys,ro" lets users with a login write, and others read. A rule has one access for all.
        let both = rights("sec=krb5,rw,sec=sys,ro");
        assert_eq!((&both.sec[..], both.writable), (&["krb5", "sys"][..], false));
        let both = rights("rw,no_root_squash,sec=krb5:krb5i,root_squash,sec=krb5p,insecure");
        assert_eq!((both.writable, both.squash, both.reserved_port), (true, ExportSquash::Root, true));
        assert_eq!(both.sec, ["krb5", "krb5i", "krb5p"]);
    }

    #[test]
    fn what_cannot_be_kept_is_lost() {
        for list in
            ["refer=/a@b", "replicas=/a@b", "sec=lkey", "anonuid=nobody", "xprtsec=ssh", "rwx", "ro=true"]
        {
            let mut options = Options::new();
            options.add(list, Path::new("/srv"));
            assert!(matches!(options.said[..], [OptionEffect::Lost(..)]), "{list}: {options:?}");
        }
    }
}
