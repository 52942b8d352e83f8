//! What the pipes need to know of the server around them.

use std::time::SystemTime;

pub use crate::wire::rpc::srvsvc::{Connection, OpenFile, Session};
pub use crate::wire::security::Sid;

/// The server as one session sees it. Everything is asked anew for each call, and must be answered from memory.
pub trait PipeHost: Send + Sync {
    /// The server itself.
    fn server(&self) -> Server;

    /// Whose session it is.
    fn caller(&self) -> Caller;

    /// The shares that the caller may see, IPC$ among them.
    fn shares(&self) -> Vec<Share>;

    /// Everybody's sessions.
    fn sessions(&self) -> Vec<Session>;

    /// Everything that is open.
    fn opens(&self) -> Vec<OpenFile>;

    /// Connections to the share of this name, or of the client with this address.
    fn connections(&self, share_or_client: &str) -> Vec<Connection>;

    /// The name of a user.
    fn user(&self, uid: u32) -> Option<String>;

    /// The name of a group.
    fn group(&self, gid: u32) -> Option<String>;

    /// The number of a user.
    fn uid(&self, name: &str) -> Option<u32>;

    /// The number of a group.
    fn gid(&self, name: &str) -> Option<u32>;

    /// The time.
    fn now(&self) -> SystemTime;
}

/// What the server tells of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its NetBIOS name: also the name of the domain of its own accounts.
    pub name: String,
    /// What people are shown beside the name.
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

/// Whose session it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The account's name.
    pub name: String,
    /// What it may ask.
    pub rank: Rank,
}

/// What a caller may ask. Each rank may ask what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Without an account or a name: which shares there are.
    Anonymous,
    /// Without an account.
    Guest,
    /// Whose names numbers are, where shares are, and its own sessions.
    User,
    /// Who else is there.
    Administrator,
}

/// A share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The name by which clients connect. One that ends with `$` is not shown by clients.
    pub name: String,
    /// What is shared.
    pub kind: ShareKind,
    /// What people are shown beside the name.
    pub comment: String,
    /// Where clients are told that it is: a path such as `C:\music`, which need not exist.
    pub path: String,
    /// How many sessions are connected.
    pub uses: u32,
    /// How many may be, if not any number.
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
