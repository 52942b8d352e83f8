//! The identity that an operation runs as.

use std::sync::LazyLock;

/// The Unix identity that a request runs as.
pub use auth::Identity as Caller;

/// What a caller wants to do to a file, as a set of bits; or what it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Access(pub u8);

bitflags::bitflags! {
    impl Access: u8 {
        /// Nothing.
        const NONE = 0;
        /// Read data, or list a folder.
        const READ = 4;
        /// Write data, or change a folder's entries.
        const WRITE = 2;
        /// Execute a file, or pass through a folder.
        const EXECUTE = 1;
    }
}

/// The server itself.
pub(crate) fn server() -> &'static Caller {
    static SERVER: LazyLock<Caller> = LazyLock::new(Caller::root);
    &SERVER
}
