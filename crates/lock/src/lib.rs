//! Locks for threads, each with a rank.
//!
//! A thread takes locks in the order of their ranks only: while it holds a lock, it may wait for
//! locks of higher ranks, and for no other. So threads cannot wait for each other in a circle. The
//! order has bands ([`rank::Band`]); each crate declares the ranks of its own locks in them ([`ranks!`]).
//! Debug builds verify each acquisition and panic with the names of both locks. A release build
//! pays for one relaxed store per lock, which records the thread that holds it.
//!
//! A thread that has to wait registers the lock that it waits for. [`waiting::list`] gives the
//! waiting threads, for the report of a stalled server.

mod condvar;
mod held;
mod holder;
mod mutex;
pub mod rank;
mod rwlock;
pub mod waiting;

pub use self::condvar::Condvar;
pub use self::held::taken;
pub use self::mutex::{Mutex, MutexGuard};
pub use self::rank::Rank;
pub use self::rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
