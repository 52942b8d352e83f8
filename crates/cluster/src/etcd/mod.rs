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
        let mut end = prefix.as_bytes().to_vec();
        end.last_mut().into_iter().for_each(|last| *last += 1);
        let request = json!({ "key": STANDARD.encode(prefix), "range_end": STANDARD.encode(end) });
        let answer = self.call("/v3/kv/range", &request).await?;
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
        let name = STANDARD.encode(key);
        let request = json!({
            "compare": [{ "target": "MOD", "key": name, "result": "EQUAL", "mod_revision": revision.to_string() }],
            "success": [{ "request_put": {
                "key": name, "value": STANDARD.encode(value), "lease": lease.unwrap_or(0).to_string(),
            } }],
        });
        let answer = self.call("/v3/kv/txn", &request).await?;
        Ok(answer["succeeded"].as_bool().unwrap_or(false))
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
