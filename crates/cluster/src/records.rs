//! What clients of each server may reclaim at other servers if it is lost.
//!
//! ```text
//! fourfold-common/CLUSTER/records/NUMBER/clients/NAME   a client of NFSv4, in hexadecimal
//! fourfold-common/CLUSTER/records/NUMBER/hosts/NAME     a host with locks by NLM
//! ```
//!
//! NUMBER is that of the server, which has another one after each start. So a record of a server that is not a member is of
//! a client that has lost its server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wire::hex;

use crate::etcd::{Error, Etcd};

/// How many records are asked for at a time: names have up to 1,024 bytes, and an answer 4 MiB.
const PAGE: u64 = 500;

/// The two kinds of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// Clients of NFSv4 that have something open.
    Clients,
    /// Hosts with locks by NLM.
    Hosts,
}

impl RecordKind {
    fn name(self) -> &'static str {
        match self {
            Self::Clients => "clients",
            Self::Hosts => "hosts",
        }
    }
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterRecord {
    /// The name of the client, or the address of the host.
    pub name: Vec<u8>,
    /// What the server has noted.
    pub note: Vec<u8>,
    /// The name by which the client knows the server.
    pub server: String,
}

/// The value of a key.
#[derive(Serialize, Deserialize)]
struct RecordValue {
    note: Vec<u8>,
    server: String,
}

/// The keys of a cluster's records.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    prefix: String,
}

impl Records {
    pub(crate) fn of(cluster: &str) -> Self {
        Self { prefix: format!("fourfold-common/{cluster}/records/") }
    }

    fn of_server(&self, server: u16) -> String {
        format!("{}{server}/", self.prefix)
    }

    fn of_table(&self, server: u16, table: RecordKind) -> String {
        format!("{}{server}/{}/", self.prefix, table.name())
    }

    fn key(&self, server: u16, table: RecordKind, name: &[u8]) -> String {
        self.of_table(server, table) + &hex::encode(name)
    }

    pub(crate) async fn add(
        &self,
        etcd: &mut Etcd,
        (server, table): (u16, RecordKind),
        record: &ClusterRecord,
    ) -> Result<(), Error> {
        let value = RecordValue { note: record.note.clone(), server: record.server.clone() };
        let value = serde_json::to_string(&value).map_err(|error| Error::Refused(error.to_string()))?;
        etcd.put(&self.key(server, table, &record.name), &value, None).await
    }

    pub(crate) async fn remove(
        &self,
        etcd: &mut Etcd,
        (server, table): (u16, RecordKind),
        name: &[u8],
    ) -> Result<(), Error> {
        etcd.remove(&self.key(server, table, name)).await
    }

    /// Whether a client of this server may have something to reclaim.
    pub(crate) async fn has(&self, etcd: &mut Etcd, server: u16) -> Result<bool, Error> {
        Ok(!etcd.page(&self.of_server(server), "", 1).await?.is_empty())
    }

    /// All records of a table of a server.
    pub(crate) async fn all(
        &self,
        etcd: &mut Etcd,
        server: u16,
        table: RecordKind,
    ) -> Result<Vec<ClusterRecord>, Error> {
        let (prefix, mut all, mut last) = (self.of_table(server, table), Vec::new(), String::new());
        loop {
            let page = etcd.page(&prefix, &last, PAGE).await?;
            all.extend(page.iter().filter_map(|pair| parse(&prefix, &pair.key, &pair.value)));
            match page.last() {
                Some(pair) if page.len() as u64 == PAGE => last.clone_from(&pair.key),
                _ => return Ok(all),
            }
        }
    }

    /// How many records there are of each server.
    pub(crate) async fn counts(&self, etcd: &mut Etcd) -> Result<BTreeMap<u16, usize>, Error> {
        let (mut counts, mut last) = (BTreeMap::new(), String::new());
        loop {
            let page = etcd.page(&self.prefix, &last, PAGE).await?;
            let servers = page.iter().filter_map(|pair| self.server(&pair.key));
            servers.for_each(|server| *counts.entry(server).or_default() += 1);
            match page.last() {
                Some(pair) if page.len() as u64 == PAGE => last.clone_from(&pair.key),
                _ => return Ok(counts),
            }
        }
    }

    /// The server of a record with this key, if the key is understood.
    fn server(&self, key: &str) -> Option<u16> {
        key.strip_prefix(&self.prefix)?.split('/').next()?.parse().ok()
    }

    /// Forgets all records of a server.
    pub(crate) async fn forget(&self, etcd: &mut Etcd, server: u16) -> Result<(), Error> {
        etcd.remove_all(&self.of_server(server)).await
    }
}

fn parse(prefix: &str, key: &str, value: &str) -> Option<ClusterRecord> {
    let name = hex::decode_any(key.strip_prefix(prefix)?)?;
    let RecordValue { note, server } = serde_json::from_str(value).ok()?;
    Some(ClusterRecord { name, note, server })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_bytes_are_keys() {
        let records = Records::of("home");
        let key = records.key(7, RecordKind::Clients, b"Linux\xff/x");
        assert_eq!(key, "fourfold-common/home/records/7/clients/4c696e7578ff2f78");
        let value = r#"{"note":[1],"server":"gate"}"#;
        let record = parse(&records.of_table(7, RecordKind::Clients), &key, value).unwrap();
        assert_eq!(
            record,
            ClusterRecord { name: b"Linux\xff/x".to_vec(), note: vec![1], server: "gate".into() }
        );
        assert_eq!(parse(&records.of_table(7, RecordKind::Hosts), &key, value), None);
        assert_eq!(
            (records.server(&key), records.server("fourfold-common/home/records/x/")),
            (Some(7), None)
        );
        assert!(!key.starts_with(&records.of_server(70)) && !key.starts_with(&records.of_server(71)));
    }
}
