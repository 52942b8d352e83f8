//! The use of the server: sessions, their open files, their connections to shares, and transports.

use crate::wire::rpc::level::Levels;
use crate::wire::rpc::ndr::Encoder;

/// A session, `SESSION_INFO_0` to `SESSION_INFO_502`, MS-SRVS 2.2.4.10 to 2.2.4.14.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The client's address or name.
    pub client: String,
    pub user: String,
    pub opens: u32,
    pub active_secs: u32,
    pub idle_secs: u32,
    /// MS-SRVS 2.2.2.3: 1 for a guest.
    pub flags: u32,
}

impl Levels for Session {
    const LISTED: &'static [u32] = &[0, 1, 2, 10, 502];
    const SHOWN: &'static [u32] = &[];

    fn encode(&self, level: u32, e: &mut Encoder) {
        e.string(&self.client);
        if level == 0 {
            return;
        }
        e.string(&self.user);
        if level != 10 {
            e.u32(self.opens);
        }
        e.u32(self.active_secs);
        e.u32(self.idle_secs);
        if level != 10 {
            e.u32(self.flags);
        }
        if matches!(level, 2 | 502) {
            e.string(""); // the client's kind
        }
        if level == 502 {
            e.string(""); // the transport
        }
    }
}

/// A file that is open, `FILE_INFO_2` and `FILE_INFO_3`, MS-SRVS 2.2.4.6 and 2.2.4.7.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFile {
    pub id: u32,
    /// 1 read, 2 write, 4 create.
    pub permissions: u32,
    pub locks: u32,
    pub path: String,
    pub user: String,
}

impl Levels for OpenFile {
    const LISTED: &'static [u32] = &[2, 3];
    const SHOWN: &'static [u32] = &[2, 3];

    fn encode(&self, level: u32, e: &mut Encoder) {
        e.u32(self.id);
        if level == 2 {
            return;
        }
        e.u32(self.permissions);
        e.u32(self.locks);
        e.string(&self.path);
        e.string(&self.user);
    }
}

/// A connection to a share, `CONNECTION_INFO_0` and `CONNECTION_INFO_1`, MS-SRVS 2.2.4.1 and 2.2.4.2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    pub id: u32,
    /// [`super::share_type`].
    pub kind: u32,
    pub opens: u32,
    pub users: u32,
    pub active_secs: u32,
    pub user: String,
    /// The share if the client asked about a client, or the client if it asked about a share.
    pub other: String,
}

impl Levels for Connection {
    const LISTED: &'static [u32] = &[0, 1];
    const SHOWN: &'static [u32] = &[];

    fn encode(&self, level: u32, e: &mut Encoder) {
        e.u32(self.id);
        if level == 0 {
            return;
        }
        for n in [self.kind, self.opens, self.users, self.active_secs] {
            e.u32(n);
        }
        e.string(&self.user);
        e.string(&self.other);
    }
}

/// The server's transports, MS-SRVS 2.2.4.93 and following. The server reports none, so that the
/// type has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {}

impl Levels for Transport {
    const LISTED: &'static [u32] = &[0, 1, 2, 3];
    const SHOWN: &'static [u32] = &[];

    fn encode(&self, _level: u32, _e: &mut Encoder) {
        match *self {}
    }
}
