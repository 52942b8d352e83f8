//! The server's functions that the pipes call.

use std::sync::Arc;
use std::time::SystemTime;

use auth::SidName;
use spotlight::Store;

pub use crate::wire::rpc::srvsvc::{Connection, OpenFile, Session};
pub use crate::wire::security::Sid;

/// The server as one session sees it. Each call asks for everything anew, so the answers must come
/// from memory.
pub trait PipeHost: Send + Sync {
    /// The server itself.
    fn server(&self) -> Server;

    /// The user of the session.
    fn caller(&self) -> Caller;

    /// The shares that the caller may see, IPC$ among them.
    fn shares(&self) -> Vec<Share>;

    /// The sessions of all users.
    fn sessions(&self) -> Vec<Session>;

    /// All opens of all sessions.
    fn opens(&self) -> Vec<OpenFile>;

    /// Connections to the share of this name, or of the client with this address.
    fn connections(&self, share_or_client: &str) -> Vec<Connection>;

    /// The server's own accounts.
    fn accounts(&self) -> Vec<LocalAccount>;

    /// The name of a user.
    fn user(&self, uid: u32) -> Option<String>;

    /// The name of a group.
    fn group(&self, gid: u32) -> Option<String>;

    /// The number of a user.
    fn uid(&self, name: &str) -> Option<u32>;

    /// The number of a group.
    fn gid(&self, name: &str) -> Option<u32>;

    /// The name of a SID of a domain.
    fn named(&self, _sid: &Sid) -> Option<SidName> {
        None
    }

    /// The SID of a name of a domain: `alice`, `LAB\alice`, `alice@lab.test`, or `LAB`.
    fn sid(&self, _name: &str) -> Option<SidName> {
        None
    }

    /// The share of this name, for searches of the caller; `None` if it has no such share, or the share cannot be searched.
    fn searchable(&self, _share: &str) -> Option<Arc<dyn Store>> {
        None
    }

    /// The time.
    fn now(&self) -> SystemTime;
}

/// The server's description of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its NetBIOS name: also the name of the domain of its own accounts.
    pub name: String,
    /// The description shown beside the name.
    pub comment: String,
    /// The workgroup.
    pub group: String,
    /// The version of Windows that it stands for.
    pub major: u32,
    /// The second number of that version.
    pub minor: u32,
    /// The SID of the domain of its own accounts: S-1-5-21 and three numbers that stay.
    pub sid: Sid,
}

/// An account of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalAccount {
    /// Its name.
    pub name: String,
    /// The user that it acts as.
    pub uid: u32,
    /// The groups of that user.
    pub groups: Vec<u32>,
    /// It may not log in.
    pub disabled: bool,
}

/// The user of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The account's name.
    pub name: String,
    /// The rank, which decides what the user may ask.
    pub rank: CallerRank,
}

/// What a caller may ask. Each rank may ask what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallerRank {
    /// A user without an account or a name may list the shares.
    Anonymous,
    /// A guest may also look up well-known names, and numbers of users and groups.
    Guest,
    /// A user with an account may also see the paths of shares, and its own sessions.
    User,
    /// An administrator may also see the sessions of all users.
    Administrator,
}

/// A share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The name by which clients connect. One that ends with `$` is not shown by clients.
    pub name: String,
    /// What is shared.
    pub kind: ShareKind,
    /// The description shown beside the name.
    pub comment: String,
    /// The path that clients are shown, such as `C:\music`. It need not exist.
    pub path: String,
    /// How many sessions are connected.
    pub uses: u32,
    /// The most sessions that may be connected, if there is a limit.
    pub max_uses: Option<u32>,
    /// `SHI1005` flags, MS-SRVS 2.2.4.29: the same bits as the share flags of TREE_CONNECT.
    pub flags: u32,
}

/// What is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareKind {
    /// Files.
    Disk,
    /// Named pipes: IPC$.
    Ipc,
}
