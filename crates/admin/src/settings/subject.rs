//! What the settings are about, for people who look for one by its job.

/// Settings for one job.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// What somebody wants to do, in a few words.
    pub title: &'static str,
    /// The paths of the settings, such as `server.listen`.
    pub settings: &'static [&'static str],
}

/// The subjects, the most common ones first. A setting that is in none belongs to "others".
pub const SUBJECTS: &[Subject] = &[
    Subject {
        title: "Share a folder",
        settings: &[
            "share.name",
            "share.path",
            "share.comment",
            "share.preset",
            "share.read-only",
            "share.must-be-mounted",
            "share.bin",
        ],
    },
    Subject {
        title: "Say who may do what",
        settings: &[
            "share.owners",
            "share.editors",
            "share.contributors",
            "share.readers",
            "share.drop",
            "share.guests",
            "share.users",
            "share.groups",
            "share.afp-password",
        ],
    },
    Subject {
        title: "Say which machines may come",
        settings: &[
            "server.nfs-clients",
            "share.client.match",
            "share.client.access",
            "share.client.squash",
            "share.client.anon-uid",
            "share.client.anon-gid",
            "share.client.secure",
            "share.client.tls",
            "share.client.sec",
        ],
    },
    Subject {
        title: "Accounts and homes",
        settings: &[
            "user.name",
            "user.uid",
            "user.gid",
            "user.disabled",
            "user.admin",
            "server.default-user",
            "server.host-accounts",
            "server.pam-service",
            "server.host-min-uid",
            "share.make-homes",
        ],
    },
    Subject {
        title: "Addresses, ports and announcements",
        settings: &[
            "server.listen",
            "server.smb-port",
            "server.afp-port",
            "server.nfs-port",
            "server.iscsi-port",
            "server.portmap-port",
            "server.bonjour",
            "server.bonjour-name",
            "share.smb",
            "share.afp",
            "share.nfs",
            "share.iscsi",
        ],
    },
    Subject {
        title: "Encryption and logins",
        settings: &[
            "share.encryption",
            "server.smb-encryption",
            "server.smb-signing",
            "server.smb-min-dialect",
            "server.nfs-certificate",
            "server.nfs-key",
            "server.nfs-client-ca",
            "server.afp-logins",
            "server.afp-change-password",
            "server.iscsi-account",
            "server.confinement",
        ],
    },
    Subject {
        title: "Domain and Kerberos",
        settings: &[
            "server.domain",
            "server.domain-ids",
            "server.domain-range",
            "server.domain-trusted",
            "server.domain-ntlm",
            "server.kerberos-keytab",
            "server.kerberos-realms",
            "server.nfs4-domain",
            "server.samba-acls",
            "server.samba-sids",
        ],
    },
    Subject {
        title: "Time Machine",
        settings: &[
            "share.time-machine",
            "share.time-machine-size",
            "share.time-machine-snapshots",
            "share.time-machine-journal",
            "share.time-machine-macs",
            "share.time-machine-verify",
            "share.volume-id",
            "server.alert-backup",
        ],
    },
    Subject {
        title: "Snapshots, replicas and quotas",
        settings: &[
            "share.snapshot-schedule",
            "share.snapshot-folder",
            "share.snapshot-floor",
            "share.replicate-from",
            "share.replicate-schedule",
            "share.quota",
        ],
    },
    Subject {
        title: "Macs and old Macs",
        settings: &[
            "share.mac-sidecars",
            "share.mac-layout",
            "share.safe-save",
            "server.afp-signature",
            "server.afp-greeting",
            "appletalk.links",
            "appletalk.zone",
            "appletalk.name",
            "appletalk.router",
            "appletalk.seed",
        ],
    },
    Subject {
        title: "Names and what is listed",
        settings: &[
            "share.hide",
            "share.show",
            "share.case-sensitive",
            "share.name-encoding",
            "share.catia-mappings",
            "share.nfs-whole-names",
            "share.search",
        ],
    },
    Subject {
        title: "Modes and owners of new files",
        settings: &[
            "share.create-mask",
            "share.directory-mask",
            "share.force-create-mode",
            "share.force-directory-mode",
            "share.force-user",
            "share.force-group",
            "share.inherit-owner",
            "share.read-only-by-mode",
            "share.device-nodes",
        ],
    },
    Subject {
        title: "Several protocols and local programs on one file",
        settings: &["share.deny-modes", "share.local-recall", "share.cross-mounts"],
    },
    Subject {
        title: "Fine points of a protocol",
        settings: &[
            "server.nfs-versions",
            "server.grace-period",
            "server.smb-directory-leases",
            "server.smb-posix",
        ],
    },
    Subject {
        title: "LUNs for iSCSI",
        settings: &[
            "server.iscsi-name",
            "share.lun.name",
            "share.lun.size",
            "share.lun.block-size",
            "share.lun.read-only",
            "share.lun.file",
            "share.lun.target",
            "share.lun.number",
            "share.lun.address",
            "share.lun.initiators",
            "share.lun.readers",
        ],
    },
    Subject { title: "Moving in while people work", settings: &["share.from", "share.from-credentials"] },
    Subject {
        title: "Console and API",
        settings: &[
            "server.admin-port",
            "server.admin-listen",
            "server.admin-tls",
            "server.admin-certificate",
            "server.admin-key",
            "server.admin-second-factor",
            "server.acme-names",
            "server.acme-directory",
            "server.acme-email",
            "server.acme-challenge",
            "server.acme-http-port",
            "server.acme-dns-hook",
            "server.acme-ca",
            "server.share-roots",
        ],
    },
    Subject {
        title: "Logs and alerts",
        settings: &[
            "server.log-level",
            "server.log-format",
            "server.slow-operation",
            "server.record-slowest",
            "server.doctor-interval",
            "share.audit",
            "server.audit-log",
            "server.audit-log-size",
            "server.audit-log-files",
            "server.alert-space",
            "server.alert-webhook",
            "server.alert-mail",
            "server.alert-mail-from",
            "server.alert-mail-to",
        ],
    },
    Subject {
        title: "Memory and speed",
        settings: &[
            "server.cache-memory",
            "server.cache-size",
            "server.cache-files",
            "server.cache-buffers",
            "server.transfer-memory",
            "server.open-files",
            "server.threads",
            "server.poll",
            "share.read-ahead",
        ],
    },
    Subject {
        title: "One name for several servers",
        settings: &[
            "link.path",
            "link.targets",
            "link.comment",
            "link.ttl",
            "link.order",
            "link.failback",
            "link.check",
            "link.credentials",
            "site.name",
            "site.networks",
            "site.servers",
            "server.link-check-interval",
            "share.dfs",
        ],
    },
    Subject {
        title: "Ceph, and folders that other machines change",
        settings: &["share.store", "share.shared", "server.ceph-conf"],
    },
    Subject {
        title: "Several servers of one tree",
        settings: &[
            "server.cluster",
            "server.cluster-name",
            "server.cluster-server",
            "server.cluster-listen",
            "server.cluster-addresses",
            "server.cluster-address-command",
            "server.cluster-certificate",
            "server.cluster-key",
            "server.cluster-ca",
            "server.cluster-etcd-ca",
            "server.cluster-etcd-certificate",
            "server.cluster-etcd-key",
            "server.cluster-etcd-credentials",
            "server.cluster-rpc-port",
            "server.cluster-witness-port",
            "share.continuous",
        ],
    },
    Subject { title: "The server's own files", settings: &["server.state"] },
];

/// The subject of the setting with this path, such as `server.listen`.
#[must_use]
pub fn subject_of(path: &str) -> Option<&'static Subject> {
    SUBJECTS.iter().find(|subject| subject.settings.contains(&path))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::SUBJECTS;
    use crate::settings::SETTINGS;

    #[test]
    fn a_setting_has_at_most_one_subject() {
        let mut seen = HashSet::new();
        for path in SUBJECTS.iter().flat_map(|subject| subject.settings) {
            assert!(seen.insert(path), "{path} has two subjects");
            assert!(SETTINGS.iter().any(|setting| setting.path() == *path), "there is no setting {path}");
        }
    }
}
