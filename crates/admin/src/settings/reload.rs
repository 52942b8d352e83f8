//! The settings that a running server cannot change.

use super::api::ApiSettings;
use super::model::Settings;
use super::protocol::Protocol;
use super::server::ServerSettings;

impl Settings {
    /// The settings that differ in `newer` but apply only from the next start, for the log of a
    /// reload.
    ///
    /// They are settings of `[server]`; `[appletalk]`, `[[share]]` and `[[user]]` are applied at once.
    #[must_use]
    pub fn needs_restart(&self, newer: &Self) -> Vec<String> {
        self.server.differing(&newer.server)
    }

    /// The newer settings for a running server: settings that apply only from the next start keep
    /// their old values.
    #[must_use]
    pub fn reloaded(&self, newer: Self) -> Self {
        let old = &self.server;
        let server = ServerSettings {
            listen: old.listen.clone(),
            state: old.state.clone(),
            ports: old.ports,
            api: ApiSettings {
                requires_second_factor: newer.server.api.requires_second_factor,
                ..old.api.clone()
            },
            samba_acls: old.samba_acls,
            samba_sids: old.samba_sids.clone(),
            log_format: old.log_format,
            log_level: old.log_level.clone(),
            cache_memory: old.cache_memory,
            transfer_memory: old.transfer_memory,
            threads: old.threads,
            ceph_conf: old.ceph_conf.clone(),
            pam_service: old.pam_service.clone(),
            host_min_uid: old.host_min_uid,
            confinement: old.confinement,
            domain: old.domain.clone(),
            cluster: old.cluster.clone(),
            grace_period: old.grace_period,
            ..newer.server
        };
        Self { server, ..newer }
    }
}

impl ServerSettings {
    fn differing(&self, newer: &Self) -> Vec<String> {
        let domain = differing(self.domain.as_ref(), newer.domain.as_ref());
        let cluster = differing(self.cluster.as_ref(), newer.cluster.as_ref());
        let tls = |of: &Self| of.cluster.as_ref().and_then(|cluster| cluster.etcd.tls.clone());
        let (old_tls, newer_tls) = (tls(self), tls(newer));
        let etcd_tls = differing(old_tls.as_ref(), newer_tls.as_ref());
        let ports = Protocol::ALL.into_iter().map(|protocol| {
            let differs = self.ports.of(protocol) != newer.ports.of(protocol);
            (format!("server.{}-port", protocol.word()), differs)
        });
        let first =
            [("server.listen", self.listen != newer.listen), ("server.state", self.state != newer.state)];
        let others = [
            ("server.admin-port", self.api.port != newer.api.port),
            ("server.admin-listen", self.api.listen != newer.api.listen),
            ("server.admin-tls", self.api.tls != newer.api.tls),
            ("server.admin-certificate", self.api.certificate != newer.api.certificate),
            ("server.admin-key", self.api.certificate != newer.api.certificate),
            ("server.samba-acls", self.samba_acls != newer.samba_acls),
            ("server.samba-sids", self.samba_sids != newer.samba_sids),
            ("server.host-accounts", self.pam_service.is_some() != newer.pam_service.is_some()),
            ("server.pam-service", self.pam_service != newer.pam_service),
            ("server.host-min-uid", self.host_min_uid != newer.host_min_uid),
            ("server.confinement", self.confinement != newer.confinement),
            ("server.domain", domain(|one, other| one.name != other.name)),
            ("server.domain-ids", domain(|one, other| one.rule != other.rule)),
            ("server.domain-range", domain(|one, other| one.range != other.range)),
            ("server.domain-trusted", domain(|one, other| one.trusted != other.trusted)),
            ("server.log-format", self.log_format != newer.log_format),
            ("server.log-level", self.log_level != newer.log_level),
            ("server.cache-memory", self.cache_memory != newer.cache_memory),
            ("server.transfer-memory", self.transfer_memory != newer.transfer_memory),
            ("server.threads", self.threads != newer.threads),
            ("server.ceph-conf", self.ceph_conf != newer.ceph_conf),
            ("server.grace-period", self.grace_period != newer.grace_period),
            (
                "server.cluster",
                cluster(|one, other| {
                    one.etcd.members != other.etcd.members
                        || one.etcd.tls.is_some() != other.etcd.tls.is_some()
                }),
            ),
            ("server.cluster-name", cluster(|one, other| one.name != other.name)),
            ("server.cluster-server", cluster(|one, other| one.server != other.server)),
            ("server.cluster-listen", cluster(|one, other| one.listen != other.listen)),
            ("server.cluster-certificate", cluster(|one, other| one.certificate != other.certificate)),
            ("server.cluster-key", cluster(|one, other| one.key != other.key)),
            ("server.cluster-ca", cluster(|one, other| one.ca != other.ca)),
            ("server.cluster-etcd-ca", etcd_tls(|one, other| one.ca != other.ca)),
            ("server.cluster-etcd-certificate", etcd_tls(|one, other| one.certificate != other.certificate)),
            ("server.cluster-etcd-key", etcd_tls(|one, other| one.key != other.key)),
            (
                "server.cluster-etcd-credentials",
                cluster(|one, other| one.etcd.credentials != other.etcd.credentials),
            ),
            ("server.cluster-addresses", cluster(|one, other| one.addresses != other.addresses)),
            (
                "server.cluster-address-command",
                cluster(|one, other| one.address_command != other.address_command),
            ),
            ("server.cluster-rpc-port", cluster(|one, other| one.rpc_port != other.rpc_port)),
            ("server.cluster-witness-port", cluster(|one, other| one.witness_port != other.witness_port)),
        ];
        let named = |(path, differs): (&str, bool)| (path.to_owned(), differs);
        let all = first.into_iter().map(named).chain(ports).chain(others.into_iter().map(named));
        all.filter(|(_, differs)| *differs).map(|(path, _)| path).collect()
    }
}

/// Says whether a part of a group of settings differs. All parts do if one side has none of the group.
fn differing<T: PartialEq>(old: Option<&T>, newer: Option<&T>) -> impl Fn(fn(&T, &T) -> bool) -> bool {
    move |part| match (old, newer) {
        (Some(old), Some(newer)) => part(old, newer),
        (old, newer) => old.is_some() != newer.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::{Arguments, Live, SETTINGS, Settings};

    fn load(server: &str) -> Settings {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        ["c", "k", "ca"].iter().for_each(|file| std::fs::write(folder.path().join(file), "").unwrap());
        let text = format!("[server]\n{server}\n[[share]]\nname = \"A\"\npath = \"a\"\n");
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        Settings::load(&Arguments::new(false, folder.path().into())).unwrap()
    }

    #[test]
    fn every_setting_the_table_calls_restart_is_told_when_it_differs() {
        let all = "listen = [\"127.0.0.1\"]\nstate = \"s\"\nnfs-port = 0\nsmb-port = 0\nafp-port = 0\niscsi-port = 0\n\
                   portmap-port = 0\nadmin-port = 0\nadmin-listen = [\"::1\"]\nadmin-tls = false\nadmin-certificate = \"c\"\nadmin-key = \"k\"\nsamba-acls = true\nsamba-sids = [\"S-1-5-21-1=algorithmic\"]\nlog-format = \"json\"\nlog-level = \"debug\"\ncache-memory = 1\n\
                   transfer-memory = 1\nthreads = 7\nceph-conf = \"/ceph.conf\"\ngrace-period = 1\n\
                   host-accounts = \"pam\"\npam-service = \"other\"\nhost-min-uid = 500\nconfinement = \"off\"\ndomain = \"lab.test\"\ncluster = \"etcds://127.0.0.1:2379\"\ncluster-server = \"one\"\n\
                   cluster-listen = \"127.0.0.1:7420\"\ncluster-certificate = \"c\"\ncluster-key = \"k\"\ncluster-ca = \"ca\"\ncluster-etcd-ca = \"ca\"\ncluster-etcd-certificate = \"c\"\ncluster-etcd-key = \"k\"\ncluster-etcd-credentials = \"c\"\ncluster-name = \"studio\"\ncluster-addresses = [\"192.0.2.7/24@eth0\"]\ncluster-address-command = \"c\"\ncluster-rpc-port = 0\ncluster-witness-port = 7421\ndomain-ids = \"auto\"\ndomain-range = \"100000-199999\"\ndomain-trusted = [\"S-1-5-21-1-2-3=200000-299999\"]\n[appletalk]\nlinks = [\"ltoudp\"]";
        let (old, newer) = (load(""), load(all));
        let told = old.needs_restart(&newer);
        let restart: Vec<String> =
            SETTINGS.iter().filter(|s| s.live == Live::Restart).map(crate::settings::Setting::path).collect();
        assert_eq!(told, restart);
        let running = old.reloaded(newer.clone());
        assert!(old.needs_restart(&running).is_empty(), "all of them keep their values");
        assert_eq!(
            (running.shares, running.appletalk),
            (newer.shares, newer.appletalk),
            "the others are applied"
        );
    }

    #[test]
    fn a_rule_about_second_factors_counts_at_once() {
        let with = |rule: &str| load(&format!("state = \"/nonexistent/state\"\n{rule}"));
        let (old, newer) = (with(""), with("admin-second-factor = \"required\""));
        assert!(old.needs_restart(&newer).is_empty());
        assert!(!old.server.api.requires_second_factor);
        let running = old.reloaded(newer);
        assert!(running.server.api.requires_second_factor);
        assert!(!running.reloaded(with("")).server.api.requires_second_factor);
    }

    #[test]
    fn the_same_settings_need_no_restart() {
        let same = load("state = \"/nonexistent/state\"");
        assert!(same.needs_restart(&load("state = \"/nonexistent/state\"")).is_empty());
    }
}
