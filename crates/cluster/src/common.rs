//! What all servers of a cluster have in common for good: the identities of the shares, and the secret of NFS's file
//! handles. So a handle that one server gave is valid at the others.
//!
//! ```text
//! fourfold-common/CLUSTER/identity   the secret and the identities, in JSON
//! ```
//!
//! The first server that needs one of them writes what it has used so far, so its clients notice nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::etcd::{Endpoints, Error, Etcd};
use crate::records::Records;

/// How often a change is tried while other servers change the same key: each of them does that once for each share.
const TRIES: usize = 64;

/// The identity of a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareIdentity {
    /// For uses that have room for 16 bytes.
    pub id: [u8; 16],
    /// For uses that have room for four bytes. Each share of the cluster has another one.
    pub tag: u32,
}

/// The value of the key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    secret: Option<[u8; 16]>,
    shares: BTreeMap<String, ShareIdentity>,
}

impl Identity {
    /// The identity of the share with this name: `own` if it has none yet, with a tag that no other share has.
    fn share(&mut self, name: &str, own: ShareIdentity) -> ShareIdentity {
        if let Some(known) = self.shares.get(name) {
            return *known;
        }
        let mut new = own;
        while new.tag == 0 || self.shares.values().any(|other| other.tag == new.tag) {
            new.tag = new.tag.wrapping_add(1);
        }
        self.shares.insert(name.to_owned(), new);
        new
    }
}

/// A client of etcd for all of that. It has a connection of its own, so that it does not delay the renewal of the lease.
pub(crate) struct Common {
    pub(crate) etcd: Etcd,
    pub(crate) records: Records,
    prefix: String,
}

impl Common {
    /// A client that connects with its first request.
    pub(crate) fn new(endpoints: Endpoints, cluster: &str) -> Self {
        let (etcd, records) = (Etcd::new(endpoints), Records::of(cluster));
        Self { etcd, records, prefix: format!("fourfold-common/{cluster}/") }
    }

    /// The secret of file handles: `own` if the cluster has none yet.
    pub(crate) async fn secret(&mut self, own: [u8; 16]) -> Result<[u8; 16], Error> {
        self.change(|identity| *identity.secret.get_or_insert(own)).await
    }

    /// The identity of a share: `own` if the cluster has none yet, perhaps with another tag.
    pub(crate) async fn share(&mut self, name: &str, own: ShareIdentity) -> Result<ShareIdentity, Error> {
        self.change(|identity| identity.share(name, own)).await
    }

    /// Changes the identity. If another server changes it meanwhile, `change` sees that first.
    async fn change<T>(&mut self, change: impl Fn(&mut Identity) -> T) -> Result<T, Error> {
        let key = format!("{}identity", self.prefix);
        for _ in 0..TRIES {
            let found = self.etcd.get(&key).await?;
            let known: Identity = match &found {
                None => Identity::default(),
                Some(pair) => serde_json::from_str(&pair.value)
                    .map_err(|error| Error::Refused(format!("{key} cannot be read: {error}")))?,
            };
            let mut changed = known.clone();
            let result = change(&mut changed);
            if changed == known {
                return Ok(result);
            }
            let value = serde_json::to_string(&changed).map_err(|error| Error::Refused(error.to_string()))?;
            if self.etcd.swap(&key, found.map_or(0, |pair| pair.revision), &value, None).await? {
                return Ok(result);
            }
        }
        Err(Error::Refused(format!("{key} is changed by other servers all the time")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_keeps_its_identity_and_no_other_share_has_its_tag() {
        let mut identity = Identity::default();
        let one = ShareIdentity { id: [1; 16], tag: 7 };
        assert_eq!(identity.share("one", one), one);
        assert_eq!(identity.share("one", ShareIdentity { id: [2; 16], tag: 9 }), one, "of another server");
        let two = identity.share("two", ShareIdentity { id: [3; 16], tag: 7 });
        assert_eq!(two, ShareIdentity { id: [3; 16], tag: 8 });
        let last = identity.share("last", ShareIdentity { id: [4; 16], tag: u32::MAX });
        assert_eq!(identity.share("first", ShareIdentity { id: [5; 16], tag: u32::MAX }).tag, 1, "not 0");
        assert_eq!(last.tag, u32::MAX);
        let text = serde_json::to_string(&identity).unwrap();
        assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), identity);
    }
}
