//! A server in this process.

use std::sync::Arc;

use ::smb::server::{Config, Service, Share, ShareKind, ShareOptions};
use auth::{Account, Accounts, Identity, Refusal, Secret, nt_hash};
use vfs::{Time, Volume};

use crate::robustness::server::USER;

/// A directory with only [`USER`], with the NFS client's uid.
struct People;

impl Accounts for People {
    fn find(&self, name: &str) -> Option<Account> {
        (name == USER.0).then(|| Account {
            name: name.into(),
            identity: Identity::new(1000, 100, &[]),
            disabled: false,
            secrets: vec![Secret::Nt(nt_hash(USER.1))],
        })
    }

    fn verify(&self, _: &str, _: &str) -> Result<Account, Refusal> {
        Err(Refusal::Unknown)
    }
}

/// A server of this volume as "share".
pub(crate) fn service(volume: Arc<Volume>) -> Arc<Service> {
    let kind = ShareKind::Disk { volume, serial: 1, created: Time { secs: 0, nanos: 0 } };
    let options = ShareOptions::default();
    let share = Share { name: "share".into(), comment: String::new(), kind, options };
    Service::new(Config::new(vec![Arc::new(share)], Arc::new(People)))
}
