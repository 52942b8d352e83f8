//! The settings of afp.conf(5): which of them can keep somebody from something, and what becomes of each.

/// What becomes of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// [`super::volume`] translates it.
    Translated,
    /// It does not change who may do what.
    NoEffect(&'static str),
    /// It lets people do more. They get less here.
    Narrower(&'static str),
    /// It limits access, and is not kept: the limit, and why.
    Lost(&'static str, &'static str),
}

use Rule::{Lost, Narrower, NoEffect, Translated};

const DATABASE: &str = "it is about Netatalk's own files";
const NAMES: &str = "it is about the spelling of names";
const LOGS: &str = "it is about logs, ports of Netatalk's own, or speed";
const MACS: &str = "Macs are told otherwise what they need";

/// Settings, in the order of the alphabet.
pub(super) const TABLE: &[(&str, Rule)] = &[
    ("acls", NoEffect("access control lists always count")),
    ("admin auth user", Narrower("no account may log in with another one's password")),
    ("admin group", Narrower("no group acts as root")),
    ("advertise ssh", NoEffect(MACS)),
    (
        "afp interfaces",
        Lost("afp-interfaces", "write the addresses of the interfaces as `listen` in [server]"),
    ),
    ("afp listen", Translated),
    ("afp port", NoEffect("see `afp-port` in [server]")),
    ("afp read locks", NoEffect("locks are those of the share's other clients")),
    ("afpstats", NoEffect(LOGS)),
    ("appledouble", NoEffect("the layout is found on the disk")),
    ("basedir regex", Translated),
    ("case sensitive", NoEffect(NAMES)),
    ("casefold", NoEffect(NAMES)),
    ("chmod request", Translated),
    ("close vol", NoEffect("a share that is taken away is closed for its clients")),
    ("cnid dev", NoEffect(DATABASE)),
    ("cnid listen", NoEffect(DATABASE)),
    ("cnid mysql db", NoEffect(DATABASE)),
    ("cnid mysql host", NoEffect(DATABASE)),
    ("cnid mysql pw", NoEffect(DATABASE)),
    ("cnid mysql user", NoEffect(DATABASE)),
    ("cnid scheme", Translated),
    ("cnid server", NoEffect(DATABASE)),
    ("comment", NoEffect("a text")),
    ("convert appledouble", NoEffect("the layout is found on the disk")),
    ("dbus daemon", NoEffect(LOGS)),
    ("ddp address", NoEffect("there is no AppleTalk")),
    ("ddp zone", NoEffect("there is no AppleTalk")),
    ("appletalk", NoEffect("there is no AppleTalk")),
    ("delete veto files", NoEffect("it is about removals of folders")),
    ("dircachesize", NoEffect(LOGS)),
    ("directory perm", Translated),
    ("dsireadbuf", NoEffect(LOGS)),
    ("ea", Translated),
    ("extmap file", NoEffect(MACS)),
    ("fce coalesce", NoEffect(LOGS)),
    ("fce events", NoEffect(LOGS)),
    ("fce holdfmod", NoEffect(LOGS)),
    ("fce ignore directories", NoEffect(LOGS)),
    ("fce ignore names", NoEffect(LOGS)),
    ("fce listener", NoEffect(LOGS)),
    ("fce notify script", NoEffect(LOGS)),
    ("fce sendwait", NoEffect(LOGS)),
    ("fce version", NoEffect(LOGS)),
    ("file perm", Translated),
    ("follow symlinks", Narrower("links are shown as links")),
    ("force xattr with sticky bit", Narrower("attributes need the rights of the file")),
    ("fqdn", NoEffect(MACS)),
    ("guest account", NoEffect("guests are nobody")),
    ("home name", NoEffect("see the name of the share")),
    ("hostname", NoEffect(MACS)),
    ("hosts allow", Translated),
    ("hosts deny", Translated),
    ("ignored attributes", Narrower("locks of Macs count")),
    ("illegal seq", NoEffect(NAMES)),
    ("include", Translated),
    ("invalid users", Translated),
    ("invisible dots", NoEffect("an attribute of names, which can be opened all the same")),
    ("k5 keytab", NoEffect("see `kerberos-keytab` in [server]")),
    ("k5 realm", NoEffect("see `kerberos-keytab` in [server]")),
    ("k5 service", NoEffect("see `kerberos-keytab` in [server]")),
    ("ldap auth dn", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap auth method", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap auth pw", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap group attr", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap group filter", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap groupbase", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap groupscope", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap name attr", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap server", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap uri", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap user filter", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap userbase", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap userscope", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap uuid attr", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap uuid encoding", NoEffect("accounts are those of the host, or of a domain")),
    ("ldap uuid string", NoEffect("accounts are those of the host, or of a domain")),
    ("legacy icon", NoEffect(MACS)),
    ("legacy volume size", NoEffect(MACS)),
    ("log file", NoEffect(LOGS)),
    ("log level", NoEffect(LOGS)),
    ("log microseconds", NoEffect(LOGS)),
    ("login message", NoEffect("a text")),
    ("mac charset", NoEffect(NAMES)),
    ("map acls", NoEffect("access control lists always count")),
    ("max connections", NoEffect("how many clients there are is no right of one")),
    ("maxcon", NoEffect("how many clients there are is no right of one")),
    ("mimic model", NoEffect(MACS)),
    ("network ids", NoEffect(MACS)),
    ("nt domain", NoEffect("accounts are those of the host, or of a domain")),
    ("nt separator", NoEffect("accounts are those of the host, or of a domain")),
    ("ntdomain", NoEffect("accounts are those of the host, or of a domain")),
    ("ntseparator", NoEffect("accounts are those of the host, or of a domain")),
    ("passwd file", NoEffect("accounts are made by `fourfold user add`")),
    ("passwd minlen", NoEffect("passwords are not changed over AFP, unless `afp-change-password` says so")),
    ("password", Translated),
    ("path", Translated),
    ("postexec", NoEffect("the command is not run")),
    ("preexec", NoEffect("the command is not run")),
    ("preexec close", Translated),
    ("read only", Translated),
    ("recvfile", NoEffect(LOGS)),
    ("rolist", Translated),
    ("root postexec", NoEffect("the command is not run")),
    ("root preexec", NoEffect("the command is not run")),
    ("root preexec close", Translated),
    ("rwlist", Translated),
    ("save password", NoEffect("a wish that Macs may follow")),
    ("search db", NoEffect(DATABASE)),
    ("server quantum", NoEffect(LOGS)),
    ("server name", NoEffect("see `afp-name` in [server]")),
    ("server tickle", NoEffect(LOGS)),
    ("set password", Narrower("see `afp-change-password` in [server]")),
    ("signature", NoEffect("see `afp-signature` in [server]")),
    ("sleep time", NoEffect(LOGS)),
    ("solaris share reservations", NoEffect("locks are those of the share's other clients")),
    ("sparql results limit", NoEffect("searches are not those of Spotlight")),
    ("splice size", NoEffect(LOGS)),
    ("spotlight", NoEffect("searches find what the person may see")),
    ("spotlight attributes", NoEffect("searches find what the person may see")),
    ("spotlight expr", NoEffect("searches find what the person may see")),
    ("start dbus", NoEffect(LOGS)),
    ("start tracker", NoEffect(LOGS)),
    ("stat vol", NoEffect(MACS)),
    ("tcprcvbuf", NoEffect(LOGS)),
    ("tcpsndbuf", NoEffect(LOGS)),
    ("tickleval", NoEffect(LOGS)),
    ("time machine", Translated),
    ("timeout", NoEffect(LOGS)),
    ("uam list", Translated),
    ("uam path", NoEffect(LOGS)),
    ("umask", Translated),
    ("unix charset", NoEffect(NAMES)),
    ("unix priv", NoEffect("rights are those of Unix")),
    ("use sendfile", NoEffect(LOGS)),
    ("valid shellcheck", Narrower("see `pam-service` in [server]")),
    ("valid users", Translated),
    (
        "veto files",
        Lost("veto-files", "`hide` keeps names out of listings, and they can be opened all the same"),
    ),
    ("veto message", NoEffect("a text")),
    ("vol charset", NoEffect(NAMES)),
    ("vol dbnest", NoEffect(DATABASE)),
    ("vol dbpath", NoEffect(DATABASE)),
    ("vol preset", Translated),
    ("vol size limit", Translated),
    ("volnamelen", NoEffect(NAMES)),
    ("volume name", Translated),
    ("volume uuid", Translated),
    ("zeroconf", NoEffect("see `bonjour` in [server]")),
    ("zeroconf name", NoEffect("see `afp-name` in [server]")),
];

/// What becomes of a setting of this name. One that afp.conf(5) does not have may be a mistyped limit.
pub(super) fn rule(name: &str) -> Rule {
    let known = TABLE.iter().find(|(known, _)| *known == name).map(|(_, rule)| *rule);
    known.unwrap_or(Lost("unknown-setting", "afp.conf(5) has no such setting: was a limit meant?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_has_one_row() {
        let mut names: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(matches!(rule("vaild users"), Lost("unknown-setting", _)));
    }
}
