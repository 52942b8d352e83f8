//! What a cluster asks of the tree of its server: the files that the server's clients use, as far as only their places tell.

use std::pin::Pin;

use formats::FileId;

use crate::state::{ChangeNotice, Elsewhere, Party};

/// The tree of a server, for the other servers of its cluster.
pub trait ServedTree: Send + Sync {
    /// Follows a move of a file that clients of this server have open, through another server. It does not wait for a disk.
    /// It is called before the state of the file comes from there: what clients do by such an open finds the file then.
    fn follow(&self, told: &ChangeNotice);

    /// Tells the subscribers of this server of a change that was made through another server. Waits for the disk.
    fn hear(&self, told: &ChangeNotice);

    /// Tells the subscribers of this server that changes through other servers were missed.
    fn hear_of_loss(&self);

    /// The files inside a folder, at any depth, that clients of this server have open. Waits for the disk.
    fn files_open_below(&self, folder: FileId) -> Vec<FileId>;

    /// Asks the clients that keep these files open only in their caches to close them, and waits until they have, or have lost
    /// those caches. A client that is not connected closes them as well. Not those of `by`.
    fn recall_opens<'a>(
        &'a self,
        by: Party,
        files: &'a [FileId],
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

    /// Nothing is opened inside a folder by clients of this server until the answer is dropped. `None` if something is open there.
    /// Waits for the disk.
    fn hold_below(&self, folder: FileId) -> Option<Elsewhere>;
}
