//! The machine at the other end, whichever connection it uses: MS-SMB2 3.3.1.16.

use vfs::state::ClientId;

/// A client, told by the GUID that it sends.
pub(super) struct Client {
    /// All zeros before 2.1.
    pub(super) guid: [u8; 16],
    /// In the tree's tables.
    pub(super) id: ClientId,
}

impl Client {
    /// A client that has not been seen.
    pub(super) fn new(guid: [u8; 16]) -> Self {
        Self { guid, id: ClientId::unused() }
    }
}
