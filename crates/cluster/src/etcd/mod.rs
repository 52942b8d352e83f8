//! A client of etcd, over its JSON gateway: keys, transactions, leases.
//!
//! One request at a time goes over one kept connection. When it fails, the next member of etcd is tried.
//! Only what the membership needs is here.

mod http;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use http::Connection;

/// How long a member of etcd may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_millis(1_500);

/// Why etcd cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No member of etcd answers.
    #[error("no member of etcd answers: {0}")]
    Unreachable(String),
    /// It answers something else than expected.
    #[error("etcd refused: {0}")]
    Refused(String),
}

/// The members of etcd, each as `host:port`: one at least.
pub type Endpoints = Vec<String>;

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// The revision of the last change of it.
    pub revision: u64,
}

/// A key that is written.
#[derive(Debug, Clone, Copy)]
pub struct Put<'a> {
    /// The key.
    pub key: &'a str,
    /// Its value.
    pub value: &'a str,
    /// It is removed when this lease ends.
    pub lease: Option<u64>,
}

impl Put<'_> {
    fn json(&self) -> Value {
        let lease = self.lease.unwrap_or(0).to_string();
        json!({ "key": STANDARD.encode(self.key), "value": STANDARD.encode(self.value), "lease": lease })
    }
}

/// Connections to etcd, one at a time.
pub struct Etcd {
    endpoints: Vec<String>,
    at: usize,
    connection: Option<Connection>,
}

impl Etcd {
    /// A client that connects with its first request.
    #[must_use]
    pub fn new(endpoints: Endpoints) -> Self {
        Self { endpoints, at: 0, connection: None }
    }

    /// A lease that ends after so many seconds without being renewed. Returns its number.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn grant(&mut self, seconds: u64) -> Result<u64, Error> {
        let answer = self.call("/v3/lease/grant", &json!({ "TTL": seconds.to_string() })).await?;
        number(&answer["ID"]).ok_or_else(|| refused(&answer))
    }

    /// Renews a lease. `false`: it has ended.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn renew(&mut self, lease: u64) -> Result<bool, Error> {
        let answer = self.call("/v3/lease/keepalive", &json!({ "ID": lease.to_string() })).await?;
        Ok(number(&answer["result"]["TTL"]).unwrap_or(0) > 0)
    }

    /// Ends a lease, with its keys.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn revoke(&mut self, lease: u64) -> Result<(), Error> {
        self.call("/v3/lease/revoke", &json!({ "ID": lease.to_string() })).await.map(drop)
    }

    /// All keys that begin with this.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn list(&mut self, prefix: &str) -> Result<Vec<Pair>, Error> {
        self.range(&json!({ "key": STANDARD.encode(prefix), "range_end": end_of(prefix) })).await
    }

    /// So many keys at most that begin with this, those after `after`.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn page(&mut self, prefix: &str, after: &str, most: u64) -> Result<Vec<Pair>, Error> {
        let from = STANDARD.encode(format!("{}\0", if after.is_empty() { prefix } else { after }));
        let request = json!({ "key": from, "range_end": end_of(prefix), "limit": most.to_string() });
        self.range(&request).await
    }

    async fn range(&mut self, request: &Value) -> Result<Vec<Pair>, Error> {
        let answer = self.call("/v3/kv/range", request).await?;
        let found = answer["kvs"].as_array().map(Vec::as_slice).unwrap_or_default();
        found.iter().map(|pair| parse_pair(pair).ok_or_else(|| refused(&answer))).collect()
    }

    /// Writes a key if it is still as it was at this revision (0: it is not there). Returns whether it was.
    ///
    /// # Errors
    /// etcd cannot be used. The key may have been written.
    pub async fn swap(
        &mut self,
        key: &str,
        revision: u64,
        value: &str,
        lease: Option<u64>,
    ) -> Result<bool, Error> {
        self.swap_with((key, revision), &[Put { key, value, lease }]).await
    }

    /// Writes several keys at once if this one is still as it was at this revision. Returns whether it was.
    ///
    /// # Errors
    /// etcd cannot be used. The keys may have been written.
    pub async fn swap_with(&mut self, (key, revision): (&str, u64), puts: &[Put<'_>]) -> Result<bool, Error> {
        let key = STANDARD.encode(key);
        let puts: Vec<Value> = puts.iter().map(|put| json!({ "request_put": put.json() })).collect();
        let request = json!({
            "compare": [{ "target": "MOD", "key": key, "result": "EQUAL", "mod_revision": revision.to_string() }],
            "success": puts,
        });
        let answer = self.call("/v3/kv/txn", &request).await?;
        Ok(answer["succeeded"].as_bool().unwrap_or(false))
    }

    /// Writes a key.
    ///
    /// # Errors
    /// etcd cannot be used. The key may have been written.
    pub async fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        self.call("/v3/kv/put", &Put { key, value, lease: None }.json()).await.map(drop)
    }

    /// Removes a key, if it is there.
    ///
    /// # Errors
    /// etcd cannot be used. The key may have been removed.
    pub async fn remove(&mut self, key: &str) -> Result<(), Error> {
        self.call("/v3/kv/deleterange", &json!({ "key": STANDARD.encode(key) })).await.map(drop)
    }

    /// Removes a key, if it has this value.
    ///
    /// # Errors
    /// etcd cannot be used. The key may have been removed.
    pub async fn remove_if(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let key = STANDARD.encode(key);
        let request = json!({
            "compare": [{ "target": "VALUE", "key": key, "result": "EQUAL", "value": STANDARD.encode(value) }],
            "success": [{ "request_delete_range": { "key": key } }],
        });
        self.call("/v3/kv/txn", &request).await.map(drop)
    }

    /// Removes all keys that begin with this.
    ///
    /// # Errors
    /// etcd cannot be used. Keys may have been removed.
    pub async fn remove_all(&mut self, prefix: &str) -> Result<(), Error> {
        let request = json!({ "key": STANDARD.encode(prefix), "range_end": end_of(prefix) });
        self.call("/v3/kv/deleterange", &request).await.map(drop)
    }

    /// The value of a key and the revision of its last change; `None`: it is not there.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn get(&mut self, key: &str) -> Result<Option<Pair>, Error> {
        let answer = self.call("/v3/kv/range", &json!({ "key": STANDARD.encode(key) })).await?;
        let found = answer["kvs"].as_array().and_then(|found| found.first());
        found.map(|pair| parse_pair(pair).ok_or_else(|| refused(&answer))).transpose()
    }

    /// A number that this key has not given before, from 1.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn count(&mut self, key: &str) -> Result<u64, Error> {
        loop {
            let found = self.get(key).await?;
            let (last, revision) =
                found.map_or((0, 0), |pair| (pair.value.parse().unwrap_or(0), pair.revision));
            let next: u64 = last + 1;
            if self.swap(key, revision, &next.to_string(), None).await? {
                return Ok(next);
            }
        }
    }

    /// One request, at the member that answered last or at the next ones.
    async fn call(&mut self, path: &str, request: &Value) -> Result<Value, Error> {
        let mut why = String::new();
        for _ in 0..=self.endpoints.len() {
            match tokio::time::timeout(ANSWER_WITHIN, self.try_call(path, request)).await {
                Ok(Ok(answer)) => return answer,
                Ok(Err(error)) => why = error,
                Err(_) => why = format!("{} took too long", self.endpoints[self.at]),
            }
            self.connection = None;
            self.at = (self.at + 1) % self.endpoints.len();
        }
        Err(Error::Unreachable(why))
    }

    /// The outer error: this member cannot answer. The inner one: etcd does not want to.
    async fn try_call(&mut self, path: &str, request: &Value) -> Result<Result<Value, Error>, String> {
        let endpoint = &self.endpoints[self.at];
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => {
                none.insert(Connection::open(endpoint).await.map_err(|error| format!("{endpoint}: {error}"))?)
            }
        };
        let (status, answer) = connection
            .post(path, request.to_string())
            .await
            .map_err(|error| format!("{endpoint}: {error}"))?;
        let answer: Value =
            serde_json::from_slice(&answer).map_err(|_| format!("{endpoint}: not an answer of etcd"))?;
        match status {
            200 => Ok(Ok(answer)),
            // Not available: it has no leader.
            500..=599 => Err(format!("{endpoint}: {answer}")),
            _ => Ok(Err(refused(&answer))),
        }
    }
}

/// The end of the keys that begin with this, as etcd wants it.
fn end_of(prefix: &str) -> String {
    let mut end = prefix.as_bytes().to_vec();
    end.last_mut().into_iter().for_each(|last| *last += 1);
    STANDARD.encode(end)
}

fn refused(answer: &Value) -> Error {
    Error::Refused(answer["error"].as_str().map_or_else(|| answer.to_string(), str::to_owned))
}

/// Numbers of 64 bits are strings in the JSON of etcd.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn parse_pair(pair: &Value) -> Option<Pair> {
    let text =
        |value: &Value| String::from_utf8(STANDARD.decode(value.as_str().unwrap_or_default()).ok()?).ok();
    Some(Pair {
        key: text(&pair["key"])?,
        value: text(&pair["value"])?,
        revision: number(&pair["mod_revision"])?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_as_etcd_writes_them() {
        // As etcd 3.4 answers to a range.
        let pair = json!({ "key": "Zm9v", "create_revision": "2", "mod_revision": "7", "version": "3", "value": "YmFy" });
        let expected = Pair { key: "foo".into(), value: "bar".into(), revision: 7 };
        assert_eq!(parse_pair(&pair), Some(expected));
    }
}
