//! The settings of a share in the form for NFS.

use std::sync::Arc;

use admin::{Access, ClientRule, ClientSec, ClientTls, HostAudience, ServerSettings, ShareSettings, Squash};
use auth::HostSet;
use nfs::server::{ExportOptions, Flavor, Rule, TlsRule};
use vfs::names::Hiding;

use crate::host::host_names;

/// How clients of NFS can prove whose their calls are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Logins {
    /// By tickets for the server's `nfs/HOST`.
    pub(crate) kerberos: bool,
    /// By TLS with a certificate.
    pub(crate) certificates: bool,
}

/// The client rules, in their order; a rule with several networks becomes several.
pub(crate) fn options(share: &ShareSettings, server: &ServerSettings, logins: Logins) -> ExportOptions {
    let read_only = share.read_only;
    let several = |rule: &ClientRule| -> Vec<Rule> {
        let hosts = host_names::hosts(&rule.matches).into_iter();
        hosts.map(|clients| one(rule, clients, read_only)).collect()
    };
    let audience = server.audience(share);
    let rules = match &audience {
        HostAudience::Rules => share.clients.iter().flat_map(several).collect(),
        HostAudience::Hosts(_) | HostAudience::Guests | HostAudience::AllAsBefore => {
            let mut named: Vec<Rule> = audience.rule().iter().flat_map(several).collect();
            if audience == HostAudience::Guests {
                // Who logs in has a role of the own account.
                named.iter_mut().for_each(|rule| rule.squash = nfs::server::Squash::Unproven);
            }
            with_logins(named, logins, read_only)
        }
    };
    let hiding = Arc::new(Hiding::new(&share.hide, &share.show, share.case_sensitive));
    ExportOptions {
        rules,
        device_nodes: share.device_nodes,
        hiding,
        shortens_names: !share.whole_names,
        links: None,
    }
}

/// The same for the files of one person: root of a client acts as the anonymous user. With `needs_proof` the person has to log in,
/// on every host.
pub(crate) fn of_one_person(
    share: &ShareSettings,
    server: &ServerSettings,
    logins: Logins,
    needs_proof: bool,
) -> ExportOptions {
    let mut options = options(share, server, logins);
    for rule in &mut options.rules {
        if rule.squash == nfs::server::Squash::None {
            rule.squash = nfs::server::Squash::Root;
        }
        (rule.writable, rule.login) = (false, rule.login || needs_proof);
    }
    options
}

/// These rules, and one for other hosts, whose clients have to log in.
fn with_logins(mut rules: Vec<Rule>, logins: Logins, read_only: bool) -> Vec<Rule> {
    if rules.iter().all(|rule| rule.clients != HostSet::Any) {
        let usable = |flavor: &Flavor| match flavor {
            Flavor::Sys => logins.certificates,
            Flavor::Krb5 | Flavor::Krb5i | Flavor::Krb5p => logins.kerberos,
        };
        let (system, kerberos): (Vec<Flavor>, Vec<Flavor>) =
            Flavor::ALL.into_iter().filter(usable).partition(|flavor| *flavor == Flavor::Sys);
        let sec = [kerberos, system].concat();
        let (allowed, writable) = (!sec.is_empty(), !read_only);
        rules.push(Rule { allowed, writable, sec, login: true, ..Rule::everybody() });
    }
    rules
}

fn one(rule: &ClientRule, clients: HostSet, read_only: bool) -> Rule {
    Rule {
        clients,
        allowed: rule.access != Access::None,
        writable: rule.access == Access::ReadWrite && !read_only,
        squash: match rule.squash {
            Squash::Root => nfs::server::Squash::Root,
            Squash::All => nfs::server::Squash::All,
            Squash::None => nfs::server::Squash::None,
        },
        anonymous: (rule.anon_uid, rule.anon_gid),
        reserved_port: rule.secure,
        tls: match rule.tls {
            ClientTls::Optional => TlsRule::Optional,
            ClientTls::Required => TlsRule::Required,
            ClientTls::Mutual => TlsRule::Mutual,
        },
        sec: rule.sec.iter().map(flavor).collect(),
        login: false,
    }
}

fn flavor(sec: &ClientSec) -> Flavor {
    match sec {
        ClientSec::Sys => Flavor::Sys,
        ClientSec::Krb5 => Flavor::Krb5,
        ClientSec::Krb5i => Flavor::Krb5i,
        ClientSec::Krb5p => Flavor::Krb5p,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_LOGINS: Logins = Logins { kerberos: false, certificates: false };

    fn of(share: &str) -> ExportOptions {
        of_server("", share, NO_LOGINS)
    }

    fn of_server(server: &str, share: &str, logins: Logins) -> ExportOptions {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let text = format!(
            "[server]\nstate = \"state\"\n{server}\n[[share]]\nname = \"A\"\npath = \"a\"\n{share}\n"
        );
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        let settings = admin::Settings::load(&admin::Arguments::new(false, folder.path().into())).unwrap();
        options(&settings.shares[0], &settings.server, logins)
    }

    #[test]
    fn a_share_for_guests_is_open_to_everyone_with_root_squashed() {
        let options = of("guests = true");
        let [rule] = options.rules.as_slice() else { panic!("{:?}", options.rules) };
        assert!(rule.clients == HostSet::Any && rule.allowed && rule.writable && !rule.reserved_port);
        assert!(!rule.login);
        assert_eq!((rule.squash, rule.anonymous), (nfs::server::Squash::Root, (65534, 65534)));
        assert!(!options.device_nodes);
    }

    #[test]
    fn guests_of_a_team_folder_come_from_all_hosts_and_others_log_in() {
        let options = of("readers = [\"guests\"]\neditors = [\"ada\"]");
        let [rule] = options.rules.as_slice() else { panic!("{:?}", options.rules) };
        assert!(rule.clients == HostSet::Any && rule.allowed && !rule.login);
        assert_eq!(rule.squash, nfs::server::Squash::Unproven);
        assert!(rule.sec.contains(&Flavor::Krb5p) && rule.sec.contains(&Flavor::Sys));
    }

    #[test]
    fn hosts_without_a_name_or_login_get_nothing() {
        let options = of("");
        let [rule] = options.rules.as_slice() else { panic!("{:?}", options.rules) };
        assert!(rule.clients == HostSet::Any && !rule.allowed && rule.login);
    }

    #[test]
    fn hosts_that_are_named_need_no_login_and_others_do() {
        let logins = Logins { kerberos: true, certificates: true };
        let options = of_server("nfs-clients = [\"192.168.1.0/24\"]", "", logins);
        let [named, other] = options.rules.as_slice() else { panic!("{:?}", options.rules) };
        assert_eq!((named.clients.to_string(), named.login), ("192.168.1.0/24".into(), false));
        assert!(other.clients == HostSet::Any && other.allowed && other.login);
        use Flavor::{Krb5, Krb5i, Krb5p, Sys};
        assert_eq!(other.sec, [Krb5, Krb5i, Krb5p, Sys]);
        let kerberos = of_server("", "read-only = true", Logins { certificates: false, ..logins });
        assert_eq!(
            (&kerberos.rules[0].sec[..], kerberos.rules[0].writable),
            (&[Krb5, Krb5i, Krb5p][..], false)
        );
        let all = of_server("nfs-clients = \"all\"", "", logins).rules;
        assert!(all.len() == 1 && !all[0].login);
    }

    #[test]
    fn rules_keep_their_order_and_each_network_its_own() {
        let options = of(
            "device-nodes = \"allow\"\nclient = [{ match = [\"10.0.0.1\", \"fd00::/8\"], access = \"none\" }, \
             { match = \"*\", access = \"ro\", squash = \"all\", anon-uid = 7, anon-gid = 8, secure = true, tls = \"required\", sec = [\"krb5\", \"sys\"] }]",
        );
        let clients: Vec<String> = options.rules.iter().map(|rule| rule.clients.to_string()).collect();
        assert_eq!(clients, ["10.0.0.1/32", "fd00::/8", "*"]);
        assert_eq!(options.rules.iter().map(|rule| rule.allowed).collect::<Vec<_>>(), [false, false, true]);
        let last = &options.rules[2];
        assert!(!last.writable && last.reserved_port && options.device_nodes);
        assert_eq!(
            (&last.sec[..], &options.rules[0].sec[..]),
            (&[Flavor::Krb5, Flavor::Sys][..], &Flavor::ALL[..])
        );
        assert_eq!((last.tls, options.rules[0].tls), (TlsRule::Required, TlsRule::Optional));
        assert_eq!((last.squash, last.anonymous), (nfs::server::Squash::All, (7, 8)));
    }

    #[test]
    fn names_that_the_settings_hide_and_folders_of_other_servers_are_hidden() {
        let hiding = of("hide = [\"*.tmp\"]\nshow = [\"keep.tmp\"]").hiding;
        assert!(hiding.hides(b"A.TMP") && !hiding.hides(b"keep.tmp") && hiding.hides(b".AppleDouble"));
        let sensitive = of("hide = [\"*.tmp\"]\ncase-sensitive = true").hiding;
        assert!(sensitive.hides(b"a.tmp") && !sensitive.hides(b"A.TMP"));
    }

    #[test]
    fn files_of_one_person_are_not_for_root_of_clients() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let text = "[[share]]\nname = \"A\"\npath = \"a\"\nclient = [{ match = \"*\", access = \"rw\", squash = \"none\" }]\n";
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        let settings = admin::Settings::load(&admin::Arguments::new(false, folder.path().into())).unwrap();
        let of = |needs_proof| {
            of_one_person(&settings.shares[0], &settings.server, NO_LOGINS, needs_proof).rules.remove(0)
        };
        assert_eq!((of(false).squash, of(false).writable), (nfs::server::Squash::Root, false));
        assert_eq!(
            (of(false).login, of(true).login),
            (false, true),
            "an encrypted image is for people who log in"
        );
    }

    #[test]
    fn a_read_only_share_is_so_for_every_client() {
        let options = of("read-only = true\nclient = [{ match = \"*\", access = \"rw\" }]");
        assert!(options.rules[0].allowed && !options.rules[0].writable);
    }
}
