//! What is shared: volumes, their folders, stores, snapshots, quotas, LUNs and links.

pub(crate) mod arriving;
pub(crate) mod availability;
pub(crate) mod backups;
pub(crate) mod browsing;
pub(crate) mod entries;
pub(crate) mod folders;
pub(crate) mod gates;
pub(crate) mod keeper;
pub(crate) mod links;
pub(crate) mod luns;
pub(crate) mod misplaced;
pub(crate) mod overlap;
pub(crate) mod quotas;
pub(crate) mod restoring;
pub(crate) mod samba_acls;
pub(crate) mod searching;
pub(crate) mod snapshots;
pub(crate) mod stores;
pub(crate) mod team;
pub(crate) mod volumes;
