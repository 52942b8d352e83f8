//! Files that clients have open, and that an administrator closes.

use admin::control::Disconnect;

use super::Running;

impl Running {
    /// Closes a file, which clients have open with this inode number in this share, for all of them.
    ///
    /// # Errors
    /// No client that can be told has it open; the lines say so.
    pub(crate) fn close_open(&self, share: &str, inode: u64) -> Result<Vec<String>, Vec<String>> {
        let file = self.parts.volumes.open_numbered(share, inode);
        let file = file.ok_or_else(|| vec!["no client has the file open any more".to_owned()])?;
        let everybody = Disconnect::default();
        let done: Vec<String> =
            self.parts.fronts.iter().filter_map(|front| front.disconnect(&everybody, Some(&file))).collect();
        let why = "only NFS clients have it open, and a server cannot take an open file from them";
        if done.is_empty() { Err(vec![why.into()]) } else { Ok(done) }
    }
}
