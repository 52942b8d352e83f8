//! What one initiator may take of the server.

/// Commands of a session that may be under way: what MaxCmdSN leaves room for.
pub(super) const QUEUE_DEPTH: u32 = 128;
/// Commands outside of the numbering that may be under way beside them.
pub(super) const MAX_IMMEDIATE: usize = 32;
/// Connections of a session.
pub(super) const MAX_CONNECTIONS: usize = 8;
/// Sessions of all initiators.
pub(super) const MAX_SESSIONS: usize = 16_384;
/// Longest data segment that a client may send before it has logged in: what RFC 7143 13.12 has as default.
pub(super) const MAX_LOGIN_DATA: usize = 8192;
/// Most data that are asked for with one R2T.
pub(super) const MAX_SOLICITED_AT_ONCE: u32 = 1 << 20;
/// Most data of a connection that are asked for and not there yet.
pub(super) const MAX_SOLICITED: u64 = 16 << 20;
/// Most bytes of parameters that a command may bring, all of which are kept until they are there.
pub(super) const MAX_PARAMETERS: usize = 8 << 20;
/// The same of all commands of a connection.
pub(super) const MAX_GATHERED: usize = 32 << 20;
/// Most bytes of a session's requests that came before their turn.
pub(super) const MAX_EARLY: usize = 32 << 20;
/// What a connection's commands may read at a time, in KiB; a command of at most `SHORT_READ` bytes does not count.
pub(super) const MAX_READING_KIB: u32 = 32 << 10;
/// Reads of more than this wait for their turn, and for the client to take what waits for it.
pub(super) const SHORT_READ: u32 = 64 << 10;
/// Bytes that may wait for a client before a long read begins.
pub(super) const MAX_WAITING: usize = 8 << 20;
