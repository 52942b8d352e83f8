//! What all servers of a cluster have in common for good: the identities of the shares, the secret of NFS's file handles,
//! and what targets of iSCSI are known by. So a handle that one server gave is valid at the others, and a LUN is the same
//! disk there.
//!
//! ```text
//! fourfold-common/CLUSTER/identity   the secret and the identities, in JSON
//! fourfold-common/CLUSTER/numbers    what clients know servers by, and which ids of files are given, in JSON
//! fourfold-common/CLUSTER/luns       the table of LUNs, as text of its owner
//! fourfold-common/CLUSTER/accounts   the accounts, likewise
//! fourfold-common/CLUSTER/settings   the settings that all servers have alike, likewise
//! ```
//!
//! The first server that needs one of them writes what it has used so far, so its clients notice nothing.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::etcd::{Endpoints, Error, Etcd, Put};
use crate::records::Records;

/// The keys.
const IDENTITY: &str = "identity";
const NUMBERS: &str = "numbers";

/// The number of the port of targets at the virtual addresses. Those of the servers follow.
const MAIN_PORT: u16 = 1;
/// The longest text, in bytes: etcd takes requests of 1.5 MiB, and base64 adds a third.
const MAX_TEXT: usize = 1 << 20;

/// How many ids of files a server gets at a time. A server that ends does not give the rest back: a restart costs a block of
/// the million that there are.
const ID_BLOCK: u64 = 4096;
/// One past the last id of a file.
const END_OF_IDS: u64 = 1 << 32;

/// How often a change is tried while other servers change the same key: each of them does that once for each share.
const TRIES: usize = 64;

/// A text that the servers have in common. The cluster does not know what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// The table of LUNs.
    Luns,
    /// The accounts, with what is needed to verify their passwords.
    Accounts,
    /// The settings that all servers have alike.
    Settings,
}

impl Text {
    fn name(self) -> &'static str {
        match self {
            Self::Luns => "luns",
            Self::Accounts => "accounts",
            Self::Settings => "settings",
        }
    }

    /// The key that is changed with it, below the prefix of the membership.
    pub(crate) fn marker(self, prefix: &str) -> String {
        format!("{prefix}{}", self.name())
    }
}

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
struct CommonIdentity {
    secret: Option<[u8; 16]>,
    shares: BTreeMap<String, ShareIdentity>,
    /// The identity of which the names of targets are made.
    #[serde(default)]
    targets: Option<[u8; 16]>,
    /// The numbers of the servers' ports of targets, by the names of the servers.
    #[serde(default)]
    ports: BTreeMap<String, u16>,
}

/// The value of the key for what came later: a server of an earlier version that changes the identity writes only what it
/// knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct IdentityNumbers {
    /// By which clients know that servers are one.
    #[serde(default)]
    signature: Option<[u8; 16]>,
    /// The ids of files.
    #[serde(default)]
    ids: Option<Ids>,
}

/// The ids of files that servers may give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Ids {
    /// All servers with this have the same ids. Another cluster of the same folder, or this one after a loss of etcd, has
    /// another one.
    lineage: [u8; 16],
    /// The first id that no server has.
    next: u64,
    /// The first id of the last block of each server, by the names of the servers: for people.
    blocks: BTreeMap<String, u64>,
}

impl Ids {
    /// The next block, which this server has for good. `None`: all ids are given.
    fn block(&mut self, server: &str) -> Option<Range<u64>> {
        let end = self.next.checked_add(ID_BLOCK).filter(|end| *end <= END_OF_IDS)?;
        let block = self.next..end;
        self.blocks.insert(server.to_owned(), block.start);
        self.next = end;
        Some(block)
    }
}

impl CommonIdentity {
    /// The number of the port of targets of the server with this name, which it keeps. `None`: all numbers are taken.
    fn port(&mut self, name: &str) -> Option<u16> {
        let last = self.ports.values().copied().max().unwrap_or(MAIN_PORT);
        match self.ports.get(name) {
            Some(known) => Some(*known),
            None => {
                let next = last.checked_add(1)?;
                self.ports.insert(name.to_owned(), next);
                Some(next)
            }
        }
    }

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
    /// Before the keys that are changed with texts.
    markers: String,
}

impl Common {
    /// A client that connects with its first request.
    pub(crate) fn new(endpoints: Endpoints, cluster: &str) -> Self {
        let (etcd, records) = (Etcd::new(endpoints), Records::of(cluster));
        let markers = crate::membership::prefix(cluster);
        Self { etcd, records, prefix: format!("fourfold-common/{cluster}/"), markers }
    }

    /// The secret of file handles: `own` if the cluster has none yet.
    pub(crate) async fn secret(&mut self, own: [u8; 16]) -> Result<[u8; 16], Error> {
        self.change(IDENTITY, |identity: &mut CommonIdentity| *identity.secret.get_or_insert(own)).await
    }

    /// The identity of a share: `own` if the cluster has none yet, perhaps with another tag.
    pub(crate) async fn share(&mut self, name: &str, own: ShareIdentity) -> Result<ShareIdentity, Error> {
        self.change(IDENTITY, |identity: &mut CommonIdentity| identity.share(name, own)).await
    }

    /// The identity of which the names of targets are made: `own` if the cluster has none yet.
    pub(crate) async fn targets(&mut self, own: [u8; 16]) -> Result<[u8; 16], Error> {
        self.change(IDENTITY, |identity: &mut CommonIdentity| *identity.targets.get_or_insert(own)).await
    }

    /// By which clients know that servers are one: `own` if the cluster has nothing yet.
    pub(crate) async fn signature(&mut self, own: [u8; 16]) -> Result<[u8; 16], Error> {
        self.change(NUMBERS, |numbers: &mut IdentityNumbers| *numbers.signature.get_or_insert(own)).await
    }

    /// The lineage of the ids of files, if the cluster has one.
    pub(crate) async fn lineage(&mut self) -> Result<Option<[u8; 16]>, Error> {
        self.change(NUMBERS, |numbers: &mut IdentityNumbers| numbers.ids.as_ref().map(|ids| ids.lineage))
            .await
    }

    /// The lineage of the ids of files: `own` if the cluster has none yet. Then ids are given from the first block at `next` or
    /// behind it.
    pub(crate) async fn begin_ids(&mut self, own: [u8; 16], next: u64) -> Result<[u8; 16], Error> {
        let next = next.next_multiple_of(ID_BLOCK);
        let begin = || Ids { lineage: own, next, blocks: BTreeMap::new() };
        self.change(NUMBERS, |numbers: &mut IdentityNumbers| numbers.ids.get_or_insert_with(begin).lineage)
            .await
    }

    /// The next block of ids of files, for this server alone. `None`: all ids are given.
    pub(crate) async fn id_block(&mut self, server: &str) -> Result<Option<Range<u64>>, Error> {
        let block = |numbers: &mut IdentityNumbers| numbers.ids.as_mut().and_then(|ids| ids.block(server));
        self.change(NUMBERS, block).await
    }

    /// The number of the port of targets of the server with this name. 0: all numbers are taken.
    pub(crate) async fn port(&mut self, name: &str) -> Result<u16, Error> {
        let port = self.change(IDENTITY, |identity: &mut CommonIdentity| identity.port(name)).await;
        port.map(Option::unwrap_or_default)
    }

    /// A text and its revision; `None`: it was never written.
    pub(crate) async fn text(&mut self, text: Text) -> Result<Option<(String, u64)>, Error> {
        let found = self.etcd.get(&format!("{}{}", self.prefix, text.name())).await?;
        Ok(found.map(|pair| (pair.value, pair.revision)))
    }

    /// Replaces a text if it is still of this revision (0: it was never written). Returns whether it was. The other servers
    /// see the marker change.
    pub(crate) async fn swap(&mut self, text: Text, revision: u64, value: &str) -> Result<bool, Error> {
        if value.len() > MAX_TEXT {
            return Err(Error::Refused(format!("the {} of the cluster are longer than 1 MiB", text.name())));
        }
        let (key, marker) = (format!("{}{}", self.prefix, text.name()), text.marker(&self.markers));
        let puts =
            [Put { key: &key, value, lease: None }, Put { key: &marker, value: "changed", lease: None }];
        self.etcd.swap_with((&key, revision), &puts).await
    }

    /// Forgets what is kept of the server with this name for good. Returns whether there was something.
    pub(crate) async fn forget(&mut self, name: &str) -> Result<bool, Error> {
        self.change(IDENTITY, |identity: &mut CommonIdentity| identity.ports.remove(name).is_some()).await
    }

    /// The names of all servers that there have been, and that were not removed.
    pub(crate) async fn names(&mut self) -> Result<Vec<String>, Error> {
        self.change(IDENTITY, |identity: &mut CommonIdentity| identity.ports.keys().cloned().collect()).await
    }

    /// Changes the value of a key. If another server changes it meanwhile, `change` sees that first.
    async fn change<V, T>(&mut self, key: &str, change: impl Fn(&mut V) -> T) -> Result<T, Error>
    where
        V: Clone + Default + PartialEq + Serialize + DeserializeOwned,
    {
        let key = format!("{}{key}", self.prefix);
        for _ in 0..TRIES {
            let found = self.etcd.get(&key).await?;
            let known: V = match &found {
                None => V::default(),
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
    fn a_server_keeps_the_number_of_its_port_and_no_other_server_has_it() {
        let mut identity = CommonIdentity::default();
        let ports = ["gate1", "gate2", "gate1"].map(|name| identity.port(name));
        assert_eq!(ports, [Some(2), Some(3), Some(2)]);
        identity.ports.insert("gate3".to_owned(), u16::MAX);
        assert_eq!((identity.port("gate4"), identity.port("gate2")), (None, Some(3)));
        // As a version without ports has written it.
        let before = r#"{"secret":null,"shares":{}}"#;
        assert_eq!(serde_json::from_str::<CommonIdentity>(before).unwrap(), CommonIdentity::default());
    }

    #[test]
    fn no_two_servers_have_one_id() {
        let mut ids = Ids { lineage: [1; 16], next: 4096, blocks: BTreeMap::new() };
        let blocks = ["gate1", "gate2", "gate1"].map(|name| ids.block(name).unwrap());
        assert_eq!(blocks, [4096..8192, 8192..12_288, 12_288..16_384]);
        assert_eq!(ids.blocks, BTreeMap::from([("gate1".to_owned(), 12_288), ("gate2".to_owned(), 8192)]));
        ids.next = END_OF_IDS - ID_BLOCK;
        assert_eq!(ids.block("gate2"), Some(END_OF_IDS - ID_BLOCK..END_OF_IDS));
        assert_eq!((ids.block("gate2"), ids.next), (None, END_OF_IDS));
    }

    #[test]
    fn a_share_keeps_its_identity_and_no_other_share_has_its_tag() {
        let mut identity = CommonIdentity::default();
        let one = ShareIdentity { id: [1; 16], tag: 7 };
        assert_eq!(identity.share("one", one), one);
        assert_eq!(identity.share("one", ShareIdentity { id: [2; 16], tag: 9 }), one, "of another server");
        let two = identity.share("two", ShareIdentity { id: [3; 16], tag: 7 });
        assert_eq!(two, ShareIdentity { id: [3; 16], tag: 8 });
        let last = identity.share("last", ShareIdentity { id: [4; 16], tag: u32::MAX });
        assert_eq!(identity.share("first", ShareIdentity { id: [5; 16], tag: u32::MAX }).tag, 1, "not 0");
        assert_eq!(last.tag, u32::MAX);
        let text = serde_json::to_string(&identity).unwrap();
        assert_eq!(serde_json::from_str::<CommonIdentity>(&text).unwrap(), identity);
    }
}
