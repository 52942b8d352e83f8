//! The settings of a share in the form for NFS.

use std::sync::Arc;

use admin::{Access, ClientRule, ClientSec, ClientTls, ShareSettings, Squash};
use auth::HostSet;
use nfs::server::{ExportOptions, Flavor, Rule, TlsRule};
use vfs::names::Hiding;

use crate::host::host_names;

/// The client rules, in their order; a rule with several networks becomes several.
pub(crate) fn options(share: &ShareSettings) -> ExportOptions {
    let rules = share.clients.iter().flat_map(|rule| {
        let read_only = share.read_only;
        host_names::hosts(&rule.matches).into_iter().map(move |clients| one(rule, clients, read_only))
    });
    let hiding = Arc::new(Hiding::new(&share.hide, &share.show, share.case_sensitive));
    ExportOptions {
        rules: rules.collect(),
        device_nodes: share.device_nodes,
        hiding,
        shortens_names: !share.whole_names,
        links: None,
    }
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

    fn share(rules: &str) -> ShareSettings {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let text = format!("[[share]]\nname = \"A\"\npath = \"a\"\n{rules}\n");
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        let settings = admin::Settings::load(&admin::Arguments::new(false, folder.path().into())).unwrap();
        settings.shares.into_iter().next().unwrap()
    }

    #[test]
    fn a_share_without_rules_is_open_to_everyone_with_root_squashed() {
        let options = options(&share(""));
        let [rule] = options.rules.as_slice() else { panic!("{:?}", options.rules) };
        assert!(rule.clients == HostSet::Any && rule.allowed && rule.writable && !rule.reserved_port);
        assert_eq!((rule.squash, rule.anonymous), (nfs::server::Squash::Root, (65534, 65534)));
        assert!(!options.device_nodes);
    }

    #[test]
    fn rules_keep_their_order_and_each_network_its_own() {
        let options = options(&share(
            "device-nodes = \"allow\"\nclient = [{ match = [\"10.0.0.1\", \"fd00::/8\"], access = \"none\" }, \
             { match = \"*\", access = \"ro\", squash = \"all\", anon-uid = 7, anon-gid = 8, secure = true, tls = \"required\", sec = [\"krb5\", \"sys\"] }]",
        ));
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
        let hiding = options(&share("hide = [\"*.tmp\"]\nshow = [\"keep.tmp\"]")).hiding;
        assert!(hiding.hides(b"A.TMP") && !hiding.hides(b"keep.tmp") && hiding.hides(b".AppleDouble"));
        let sensitive = options(&share("hide = [\"*.tmp\"]\ncase-sensitive = true")).hiding;
        assert!(sensitive.hides(b"a.tmp") && !sensitive.hides(b"A.TMP"));
    }

    #[test]
    fn a_read_only_share_is_so_for_every_client() {
        let options = options(&share("read-only = true\nclient = [{ match = \"*\", access = \"rw\" }]"));
        assert!(options.rules[0].allowed && !options.rules[0].writable);
    }
}
