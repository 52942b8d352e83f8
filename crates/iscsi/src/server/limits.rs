//! The limits on the resources of one initiator.

/// Commands of a session that may be in flight: MaxCmdSN leaves room for as many.
pub(super) const QUEUE_DEPTH: u32 = 128;
/// Immediate commands that may be in flight in addition.
pub(super) const MAX_IMMEDIATE: usize = 32;
/// Connections of a session.
pub(super) const MAX_CONNECTIONS: usize = 8;
/// Sessions of all initiators.
pub(super) const MAX_SESSIONS: usize = 16_384;
/// The longest data segment that a client may send before its login: the default of RFC 7143 13.12.
pub(super) const MAX_LOGIN_DATA: usize = 8192;
/// The most data that one R2T solicits.
pub(super) const MAX_SOLICITED_AT_ONCE: u32 = 1 << 20;
/// The most data of a connection that are solicited and have not arrived.
pub(super) const MAX_SOLICITED: u64 = 16 << 20;
/// The most bytes of parameters of a command. All of them are kept until they are complete.
pub(super) const MAX_PARAMETERS: usize = 8 << 20;
/// The most bytes of parameters of all commands of a connection.
pub(super) const MAX_GATHERED: usize = 32 << 20;
/// The most bytes of a session's requests that arrived before their turn.
pub(super) const MAX_EARLY: usize = 32 << 20;
/// The data that a connection's commands may read at a time, in KiB. Commands of at most
/// `SHORT_READ` bytes do not count.
pub(super) const MAX_READING_KIB: u32 = 32 << 10;
/// Longer reads wait for their permit, and for the client to receive the waiting responses.
pub(super) const SHORT_READ: u32 = 64 << 10;
/// Bytes that may wait for a client when a long read begins.
pub(super) const MAX_WAITING: usize = 8 << 20;
