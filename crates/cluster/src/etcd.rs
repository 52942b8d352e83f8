//! A client of etcd, over its JSON gateway: keys, transactions, leases.
//!
//! One request at a time goes over one kept connection. When it fails, the next member of etcd is tried.
//! Only what the membership needs is here.

mod endpoints;
mod http;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

pub use endpoints::{Endpoints, EtcdLogin};
use http::{EtcdConnection, describe};

/// How long a member of etcd may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_millis(1_500);

/// The answer of etcd's HTTP gateway to a certificate with a common name, if etcd has users (embed/serve.go of etcd 3.4).
const NAMED: &[u8] = b"CommonName of client";
const WITHOUT_NAME: &str = "an etcd with users wants a certificate without a common name (CN) at its HTTP gateway; \
                            give `cluster-etcd-certificate` such a one";

/// Why etcd cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No member of etcd answers.
    #[error("no member of etcd answers: {0}")]
    Unreachable(String),
    /// It answers something else than expected.
    #[error("etcd refused: {0}")]
    Refused(String),
    /// It wants a user and a password, or others.
    #[error("etcd refused the user (`cluster-etcd-credentials`): {0}")]
    Login(String),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdPair {
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
    endpoints: Endpoints,
    at: usize,
    connection: Option<EtcdConnection>,
    /// That of the login, as long as etcd accepts it.
    token: Option<String>,
}

impl Etcd {
    /// A client that connects with its first request.
    #[must_use]
    pub fn new(endpoints: Endpoints) -> Self {
        Self { endpoints, at: 0, connection: None, token: None }
    }

    /// The next request is sent over a new connection.
    pub(crate) fn disconnect(&mut self) {
        self.connection = None;
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
    pub async fn list(&mut self, prefix: &str) -> Result<Vec<EtcdPair>, Error> {
        self.range(&json!({ "key": STANDARD.encode(prefix), "range_end": end_of(prefix) })).await
    }

    /// So many keys at most that begin with this, those after `after`.
    ///
    /// # Errors
    /// etcd cannot be used.
    pub async fn page(&mut self, prefix: &str, after: &str, most: u64) -> Result<Vec<EtcdPair>, Error> {
        let from = STANDARD.encode(format!("{}\0", if after.is_empty() { prefix } else { after }));
        let request = json!({ "key": from, "range_end": end_of(prefix), "limit": most.to_string() });
        self.range(&request).await
    }

    async fn range(&mut self, request: &Value) -> Result<Vec<EtcdPair>, Error> {
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

    /// Writes a key, which is removed when the lease ends.
    ///
    /// # Errors
    /// etcd cannot be used. The key may have been written.
    pub async fn put(&mut self, key: &str, value: &str, lease: Option<u64>) -> Result<(), Error> {
        self.call("/v3/kv/put", &Put { key, value, lease }.json()).await.map(drop)
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
    pub async fn get(&mut self, key: &str) -> Result<Option<EtcdPair>, Error> {
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
        let (count, mut why) = (self.endpoints.members.len(), String::new());
        for _ in 0..=count {
            match tokio::time::timeout(ANSWER_WITHIN, self.try_call(path, request)).await {
                Ok(Ok(answer)) => return answer,
                Ok(Err(error)) => why = error,
                Err(_) => why = "it took too long".to_owned(),
            }
            why = format!("{}: {why}", self.endpoints.members[self.at]);
            self.connection = None;
            self.at = (self.at + 1) % count;
        }
        Err(Error::Unreachable(why))
    }

    /// The outer error: this member cannot answer. The inner one: etcd does not want to.
    async fn try_call(&mut self, path: &str, request: &Value) -> Result<Result<Value, Error>, String> {
        let knew_token = self.token.is_some();
        if let Err(error) = self.log_in().await? {
            return Ok(Err(error));
        }
        match self.ask(path, request).await? {
            Err(Error::Login(_)) if knew_token => {} // tokens end: of etcd 3.4 after 300 s without use
            answer => return Ok(answer),
        }
        self.token = None;
        match self.log_in().await? {
            Ok(()) => self.ask(path, request).await,
            Err(error) => Ok(Err(error)),
        }
    }

    /// Gets a token, if there is a user and no token yet.
    async fn log_in(&mut self) -> Result<Result<(), Error>, String> {
        let (Some(login), None) = (&self.endpoints.login, &self.token) else { return Ok(Ok(())) };
        let request = json!({ "name": login.user, "password": login.password });
        let answer = match self.ask("/v3/auth/authenticate", &request).await? {
            Ok(answer) => answer,
            Err(Error::Refused(why)) => return Ok(Err(Error::Login(why))),
            Err(error) => return Ok(Err(error)),
        };
        self.token = answer["token"].as_str().map(str::to_owned);
        Ok(self.token.is_some().then_some(()).ok_or_else(|| refused(&answer)))
    }

    /// One request at this member.
    async fn ask(&mut self, path: &str, request: &Value) -> Result<Result<Value, Error>, String> {
        let endpoint = &self.endpoints.members[self.at];
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => {
                let opened = EtcdConnection::open(endpoint, self.endpoints.tls.as_ref()).await;
                none.insert(opened.map_err(|error| describe(&*error))?)
            }
        };
        let (status, answer) = connection
            .post(path, self.token.as_deref(), request.to_string())
            .await
            .map_err(|error| unanswered(&*error, self.endpoints.tls.is_none()))?;
        let answer: Value = match serde_json::from_slice(&answer) {
            Ok(answer) => answer,
            Err(_) if answer.starts_with(NAMED) => return Ok(Err(Error::Login(WITHOUT_NAME.to_owned()))),
            Err(_) => return Err("this is not an answer of etcd".to_owned()),
        };
        match status {
            200 => Ok(Ok(answer)),
            // Not available: it has no leader.
            500..=599 => Err(answer.to_string()),
            _ if is_about_login(status, &answer) => Ok(Err(Error::Login(reason(&answer)))),
            _ => Ok(Err(refused(&answer))),
        }
    }
}

/// A request without an answer. An etcd that wants TLS closes the connection of a request in clear.
fn unanswered(error: &(dyn std::error::Error + 'static), is_clear: bool) -> String {
    let is_closed = error.downcast_ref().is_some_and(hyper::Error::is_incomplete_message);
    let hint = if is_closed && is_clear { "; if it wants TLS, write `etcds://`" } else { "" };
    format!("{}{hint}", describe(error))
}

/// UNAUTHENTICATED, or one of the errors of etcd about logins that have a code of their own (api/v3rpc/rpctypes/error.go).
fn is_about_login(status: u16, answer: &Value) -> bool {
    const OLD: [&str; 2] = ["etcdserver: user name is empty", "auth: revision in header is old"];
    status == 401 || answer["error"].as_str().is_some_and(|error| OLD.contains(&error))
}

/// The end of the keys that begin with this, as etcd wants it.
fn end_of(prefix: &str) -> String {
    let mut end = prefix.as_bytes().to_vec();
    end.last_mut().into_iter().for_each(|last| *last += 1);
    STANDARD.encode(end)
}

fn refused(answer: &Value) -> Error {
    Error::Refused(reason(answer))
}

fn reason(answer: &Value) -> String {
    answer["error"].as_str().map_or_else(|| answer.to_string(), str::to_owned)
}

/// Numbers of 64 bits are strings in the JSON of etcd.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn parse_pair(pair: &Value) -> Option<EtcdPair> {
    let text =
        |value: &Value| String::from_utf8(STANDARD.decode(value.as_str().unwrap_or_default()).ok()?).ok();
    Some(EtcdPair {
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
        let expected = EtcdPair { key: "foo".into(), value: "bar".into(), revision: 7 };
        assert_eq!(parse_pair(&pair), Some(expected));
    }
}
