//! What a volume does for the clients of one protocol only. A [`Volume`](crate::Volume) has what several protocols use; the rest
//! is in a face of it, which borrows it. A face is named by what it offers, not by a protocol.

mod caching_tree;
mod mac_tree;
mod stateless;
mod stored_rights;

pub use self::caching_tree::CachingTree;
pub use self::mac_tree::MacTree;
pub use self::stateless::{ReadData, Stateless};
pub use self::stored_rights::StoredRights;
