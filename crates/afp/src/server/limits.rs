//! The limits on what clients can make the server keep.

/// The most bytes of a request or reply after login: what OpenSession calls the server's request quantum.
pub(super) const QUANTUM: u32 = 1 << 20;
/// Bytes around the data of the largest write.
pub(super) const MAX_AROUND: usize = 64 * 1024;
/// The longest message of a client before its login.
pub(super) const MAX_BEFORE_LOGIN: usize = 8 * 1024;
/// Sessions at a time.
pub(super) const MAX_SESSIONS: usize = 16_384;
/// Sessions of disconnected clients.
pub(super) const MAX_AWAY: usize = 1024;
/// The same for one user; all guests count as one user.
pub(super) const MAX_AWAY_EACH: usize = 64;
/// Volumes that a session may have open.
pub(super) const MAX_VOLUMES: usize = 1024;
/// Positions in listings that a session remembers.
pub(super) const MAX_LISTINGS: usize = 32;
/// Searches that a session may continue.
pub(super) const MAX_SEARCHES: usize = 4;
/// Volumes that a session may search by Spotlight.
pub(super) const MAX_SEARCHED_VOLUMES: usize = 64;
/// Folders that a search keeps for later.
pub(super) const MAX_FOLDERS_TO_SEARCH: usize = 16_384;
/// Forks that a session may have open.
pub(super) const MAX_FORKS: usize = 8192;
/// The most bytes that one command reads. A longer request gets this many.
pub(super) const MAX_READ: u64 = 4 << 20;
