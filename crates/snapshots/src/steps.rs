//! Where tests stop an operation, as a crash would: between every two of its steps.
//!
//! An operation calls `pass` after each step. Unless a test of the same thread asked for a stop,
//! that is one look at a thread-local number.

use std::cell::Cell;

use crate::Refusal;

thread_local! {
    static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Stops the next operation of this thread after `steps` more steps; with 0, after its first.
pub fn stop_after(steps: u32) {
    LEFT.set(Some(steps));
}

/// Lets the operations of this thread go on again. Returns whether an operation was stopped.
pub fn go_on() -> bool {
    LEFT.replace(None).is_none_or(|left| left == 0)
}

/// A step was done.
///
/// # Errors
/// A test asked for a stop here.
pub fn pass() -> Result<(), Refusal> {
    match LEFT.get() {
        None => Ok(()),
        Some(0) => Err(Refusal::Stopped),
        Some(left) => {
            LEFT.set(Some(left - 1));
            Ok(())
        }
    }
}
