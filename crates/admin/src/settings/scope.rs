//! Which settings each server of a cluster has for itself, and which all servers have alike.

use super::setting::{Setting, Table};

/// The settings of `[server]` that each server has for itself: where it is reached, who it is, its own files, and what fits its
/// machine.
pub(super) const OF_ONE_SERVER: &[&str] = &[
    "listen",
    "state",
    "nfs-port",
    "smb-port",
    "afp-port",
    "iscsi-port",
    "portmap-port",
    "admin-port",
    "admin-listen",
    "admin-tls",
    "admin-certificate",
    "admin-key",
    "acme-names",
    "acme-directory",
    "acme-email",
    "acme-challenge",
    "acme-http-port",
    "acme-dns-hook",
    "acme-ca",
    "nfs-certificate",
    "nfs-key",
    "nfs-client-ca",
    "kerberos-keytab",
    "confinement",
    "share-roots",
    "bonjour-name",
    "log-format",
    "log-level",
    "audit-log",
    "audit-log-size",
    "audit-log-files",
    "cache-memory",
    "cache-size",
    "cache-files",
    "cache-buffers",
    "open-files",
    "transfer-memory",
    "threads",
    "poll",
    "ceph-conf",
    "cluster",
    "cluster-name",
    "cluster-server",
    "cluster-listen",
    "cluster-certificate",
    "cluster-key",
    "cluster-ca",
    "cluster-etcd-ca",
    "cluster-etcd-certificate",
    "cluster-etcd-key",
    "cluster-etcd-credentials",
    "cluster-addresses",
    "cluster-address-command",
    "cluster-rpc-port",
    "cluster-witness-port",
];

/// The settings of `[server]` that all servers of a cluster have alike. Those of the other tables are all alike, too.
#[cfg(test)]
const OF_ALL_SERVERS: &[&str] = &[
    "nfs-versions",
    "nfs-clients",
    "nfs4-domain",
    "samba-acls",
    "samba-sids",
    "kerberos-realms",
    "host-accounts",
    "pam-service",
    "host-min-uid",
    "domain",
    "domain-ids",
    "domain-range",
    "domain-trusted",
    "domain-ntlm",
    "smb-signing",
    "smb-encryption",
    "smb-min-dialect",
    "smb-directory-leases",
    "smb-posix",
    "admin-second-factor",
    "afp-logins",
    "afp-change-password",
    "afp-signature",
    "afp-greeting",
    "iscsi-name",
    "iscsi-account",
    "bonjour",
    "default-user",
    "slow-operation",
    "record-slowest",
    "doctor-interval",
    "alert-space",
    "alert-backup",
    "alert-webhook",
    "alert-mail",
    "alert-mail-from",
    "alert-mail-to",
    "link-check-interval",
    "grace-period",
];

impl Setting {
    /// Whether each server of a cluster has this for itself, as it has its links of AppleTalk. All other settings are alike at all servers.
    #[must_use]
    pub fn is_of_one_server(&self) -> bool {
        match self.table {
            Table::Server => OF_ONE_SERVER.contains(&self.key),
            other => other == Table::AppleTalk,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SETTINGS;

    #[test]
    fn each_setting_of_the_server_is_in_one_of_the_two_lists() {
        let of_server: Vec<&str> = SETTINGS
            .iter()
            .filter(|setting| setting.table == Table::Server)
            .map(|setting| setting.key)
            .collect();
        for key in &of_server {
            let places = [OF_ONE_SERVER, OF_ALL_SERVERS].map(|list| list.contains(key));
            assert_eq!(
                places.iter().filter(|is_there| **is_there).count(),
                1,
                "{key}: decide in which list it is"
            );
        }
        let known = OF_ONE_SERVER.iter().chain(OF_ALL_SERVERS);
        assert!(known.clone().all(|key| of_server.contains(key)), "a setting that there is no more");
        assert_eq!(known.count(), of_server.len(), "one is in a list twice");
    }
}
