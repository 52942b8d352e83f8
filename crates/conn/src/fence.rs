//! Whether this server may answer clients: one of several of one tree may not, once others may have taken its state.

use std::sync::OnceLock;

/// Answers whether the server may not answer any more.
type FenceCheck = Box<dyn Fn() -> bool + Send + Sync>;

static FENCE: OnceLock<FenceCheck> = OnceLock::new();

/// From now on no reply is sent while `is_over` answers true: the connection ends instead. Can be set once.
pub fn set_fence(is_over: impl Fn() -> bool + Send + Sync + 'static) {
    let _ = FENCE.set(Box::new(is_over)); // a second one is of the same server
}

/// Whether replies may not be sent any more. A server that is alone pays one load.
#[inline]
#[must_use]
pub fn is_fenced() -> bool {
    FENCE.get().is_some_and(|is_over| is_over())
}
