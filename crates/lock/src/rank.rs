//! The order of all locks: bands of the program, which are named here, and the ranks that each crate declares in them.

use crate::holder::Holder;
pub use crate::holder::{RecordedHolder, UnrecordedHolder};

/// The place of a lock in the order. Each rank is a type, so that a lock needs no memory for it. [`ranks!`](crate::ranks)
/// declares them.
pub trait Rank {
    /// The position in the order of all locks: [`number`].
    const NUMBER: usize;
    /// The name in messages.
    const NAME: &'static str;
    /// How the lock records the thread that has it.
    type Holder: Holder;
}

/// The parts of the order. While a thread holds a lock, it waits only for locks of later bands, and for those of a higher
/// number in the same band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// What the servers of a cluster hand over: clients that are not connected may give way under it.
    Cluster,
    /// The settings and the parts of the running program.
    Program,
    /// Connections, and what watches them.
    Connections,
    /// The sessions of protocols and what belongs to them. Crates of protocols have 64 numbers each.
    Sessions,
    /// Users and their logins.
    Accounts,
    /// The tree of files, what clients hold of it, and what is known of its folders.
    Tree,
    /// What other servers have of the state of files.
    Elsewhere,
    /// The index of the state folder and its batches.
    Index,
    /// The tables that are kept in the index.
    Tenants,
    /// The database of the index, and the stores of files.
    Store,
    /// Sending: below everything that can send a reply.
    Sending,
    /// The copies of trees of other servers, and their mounts.
    Copies,
    /// The API and the console.
    Api,
    /// What is noted for people and metrics while any other lock may be held.
    Notes,
}

/// The most ranks of a band.
const BAND_SIZE: usize = 1024;

/// The position of a rank in the order of all locks. An order that is no place of a band does not compile.
pub const fn number(band: Band, order: usize) -> usize {
    assert!(order < BAND_SIZE, "a band has 1024 ranks");
    band as usize * BAND_SIZE + order
}

/// Declares ranks of one band, in their order, from this number of the band on. A crate does so in `src/ranks.rs` only:
/// `cargo xtask tidy` reads these files, and finds two ranks of one number or name.
///
/// ```ignore
/// lock::ranks! {
///     Band::Store, from 512;
///
///     /// The names of a folder.
///     FolderNames,
///     /// One name. Its lock does not record its holder, which would take too much memory.
///     FolderName: UnrecordedHolder,
/// }
/// let names = lock::Mutex::<_, FolderNames>::new(vec!["a"]);
/// assert_eq!(names.lock().len(), 1);
/// ```
#[macro_export]
macro_rules! ranks {
    (Band::$band:ident, from $first:literal; $($(#[doc = $doc:literal])+ $name:ident $(: $holder:ident)?,)+) => {
        $($(#[doc = $doc])+ pub struct $name;)+

        const _: () = {
            enum Position { $($name),+ }

            $(impl $crate::Rank for $name {
                const NUMBER: usize =
                    $crate::rank::number($crate::rank::Band::$band, $first + Position::$name as usize);
                const NAME: &'static str = stringify!($name);
                type Holder = $crate::ranks!(@holder $($holder)?);
            })+
        };
    };
    (@holder) => { $crate::rank::RecordedHolder };
    (@holder $holder:ident) => { $crate::rank::$holder };
}
