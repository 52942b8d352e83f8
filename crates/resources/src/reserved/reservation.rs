//! What is reserved, and the reads that are looked at.

use std::net::IpAddr;
use std::time::Duration;

use formats::FileId;

/// What a stream may read beyond its own speed, so that a player can catch up.
pub const HEADROOM: f64 = 1.25;
/// A stream that was not read for so long is over: another one may take its place.
pub const STREAM_IDLE: Duration = Duration::from_secs(10);

/// Streams of one kind that are reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamReservation {
    /// Its number, which stays.
    pub id: u64,
    /// Bytes per second of each stream.
    pub speed: u64,
    /// How many streams.
    pub streams: u32,
    /// Which reads are theirs.
    pub of: StreamFilter,
}

/// Which reads belong to a reservation: all parts that are given must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamFilter {
    /// Views of the share: `vfs::Volume::view`.
    pub views: Vec<u32>,
    /// Files that are reserved themselves, wherever they are.
    pub files: Vec<FileId>,
    /// The account that has logged in, and its number on the host for clients that only state a number.
    pub account: Option<(String, Option<u32>)>,
    /// The address of the client.
    pub client: Option<IpAddr>,
}

/// A read of a client, as the tree sees it.
#[derive(Debug, Clone, Copy)]
pub struct StreamRead<'a> {
    /// The view of the share.
    pub view: u32,
    /// The file.
    pub file: FileId,
    /// The account that has logged in.
    pub account: Option<&'a str>,
    /// The user that the read acts as.
    pub uid: u32,
    /// The client, if the tree knows it.
    pub client: Option<IpAddr>,
    /// Where in the file.
    pub offset: u64,
    /// How many bytes.
    pub length: usize,
}

/// A range of a file, in bytes: where it begins, and its length.
pub type ByteRange = (u64, u64);

impl StreamFilter {
    pub(super) fn has(&self, read: &StreamRead<'_>, client: Option<IpAddr>) -> bool {
        let is_place = self.views.contains(&read.view) || self.files.contains(&read.file);
        let is_account = self.account.as_ref().is_none_or(|(name, uid)| match read.account {
            Some(account) => account == name,
            None => uid.is_some_and(|uid| uid == read.uid),
        });
        is_place && is_account && self.client.is_none_or(|wanted| client == Some(wanted))
    }
}
