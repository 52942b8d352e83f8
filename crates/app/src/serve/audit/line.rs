//! A line of the audit log.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use conn::observe::EndedOperation;
use serde::Serialize;
use vfs::noted::{Act, FileNote};
use wire::ClientAddress;

/// What an operation did to a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) time: SystemTime,
    pub(super) key: Key,
    pub(super) command: String,
    /// Bytes of the request and the reply.
    pub(super) bytes: u64,
}

/// Lines with the same key can be summed up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) client: SocketAddr,
    pub(super) user: String,
    pub(super) protocol: &'static str,
    pub(super) share: Arc<str>,
    pub(super) act: Act,
    pub(super) path: String,
    pub(super) to: Option<String>,
    pub(super) inode: Option<u64>,
    pub(super) result: String,
    pub(super) failed: bool,
}

/// How a line looks in the file. Fields may be added at the end, and are never renamed or removed.
#[derive(Serialize)]
struct AuditRecord<'a> {
    time: String,
    client: String,
    user: &'a str,
    protocol: &'static str,
    share: &'a str,
    operation: &'static str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inode: Option<u64>,
    command: &'a str,
    result: &'a str,
    ok: bool,
    bytes: u64,
    times: u64,
}

impl Line {
    pub(super) fn of(
        operation: &EndedOperation<'_>,
        share: Arc<str>,
        note: &FileNote,
        time: SystemTime,
    ) -> Self {
        let outcome = &operation.outcome;
        let key = Key {
            client: SocketAddr::new(operation.client.ip().to_canonical(), operation.client.port()),
            user: outcome.user.to_owned(),
            protocol: operation.protocol,
            share,
            act: note.act,
            path: note.path.text().into_owned(),
            to: note.to.as_ref().map(|to| to.text().into_owned()),
            inode: note.inode,
            result: outcome.result.to_owned(),
            failed: outcome.failed,
        };
        let bytes = (outcome.bytes_in as u64).saturating_add(outcome.bytes_out as u64);
        Self { time, key, command: operation.command.to_owned(), bytes }
    }

    /// What it takes in the queue, about.
    pub(super) fn bytes(&self) -> usize {
        let Key { user, path, to, result, .. } = &self.key;
        size_of::<Self>() + user.len() + path.len() + to.as_ref().map_or(0, String::len) + result.len()
    }

    /// Whether further lines with the same key are summed up: a file is read or written in many pieces.
    pub(super) fn repeats(&self) -> bool {
        matches!(self.key.act, Act::Read | Act::Write | Act::List)
    }

    /// The line as JSON, for so many operations.
    pub(super) fn json(&self, times: u64) -> Vec<u8> {
        let Key { client, user, protocol, share, act, path, to, inode, result, failed } = &self.key;
        let written = AuditRecord {
            time: stamp(self.time),
            client: ClientAddress(*client).to_string(),
            user,
            protocol,
            share,
            operation: act.word(),
            path,
            to: to.as_deref(),
            inode: *inode,
            command: &self.command,
            result,
            ok: !failed,
            bytes: self.bytes,
            times,
        };
        let mut json = serde_json::to_vec(&written).unwrap_or_default();
        json.push(b'\n');
        json
    }
}

/// `2026-11-22T10:44:01.000456Z`.
pub(super) fn stamp(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
