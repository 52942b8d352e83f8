//! The made-up server: its alerts, its files, and itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use admin::control::{BrowsedStatus, DiskHealth};
use axum::body::Bytes;

use super::{Lines, MadeUp};
use crate::IssuerStatus;
use crate::alerts::{AlertDesk, AlertName, AlertReport};
use crate::browsing::{BrowseRefusal, ImageBrowser, WantedImage};
use crate::files::{FolderStatus, Part};
use crate::server::{ServerControl, ServerState};
use crate::store::{FilePerson, FileStore, ReceivedFile, Removal, StoreRefusal, StoredFile};
use admin::control::{FindAnswer, FindRequest};

impl AlertDesk for MadeUp {
    fn alerts(&self) -> Vec<AlertReport> {
        Vec::new()
    }

    fn mute(&self, _: &AlertName, _: Option<u64>, _: &str) -> Lines {
        Ok(Vec::new())
    }

    fn unmute(&self, _: &AlertName, _: &str) -> Lines {
        Ok(Vec::new())
    }

    fn test(&self) -> Lines {
        Ok(Vec::new())
    }
}

impl ServerControl for MadeUp {
    fn server(&self) -> ServerState {
        ServerState::default()
    }

    fn records_slowest(&self) -> bool {
        false
    }

    fn requires_second_factor(&self) -> bool {
        self.requires_second_factor.load(Ordering::SeqCst)
    }

    fn issuer(&self) -> Option<IssuerStatus> {
        None
    }

    fn order_certificate(&self, _: &str) -> Lines {
        Ok(Vec::new())
    }

    fn disks(&self) -> DiskHealth {
        DiskHealth::default()
    }

    fn restart(&self, _: &str) -> Lines {
        Ok(Vec::new())
    }

    fn close_open(&self, _: &str, _: u64) -> Lines {
        Ok(Vec::new())
    }
}

/// The data of each file.
const DATA: &[u8] = b"a scene that nobody else may see";

struct MadeUpFile;

impl StoredFile for MadeUpFile {
    fn size(&self) -> u64 {
        DATA.len() as u64
    }

    fn changed_ns(&self) -> i128 {
        1
    }

    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Vec<String>> {
        let rest = usize::try_from(offset).ok().and_then(|at| DATA.get(at..)).unwrap_or_default();
        Ok(rest[..length.min(rest.len())].to_vec())
    }
}

impl ReceivedFile for MadeUpFile {
    fn append(&mut self, _: Bytes) -> Result<(), Vec<String>> {
        Ok(())
    }

    fn end(self: Box<Self>) -> Lines {
        Ok(vec!["received".into()])
    }
}

impl FileStore for MadeUp {
    fn stored(&self, _: &FilePerson, _: &str, _: &[u8]) -> Result<Arc<dyn StoredFile>, Vec<String>> {
        Ok(Arc::new(MadeUpFile))
    }

    fn received(
        &self,
        _: &FilePerson,
        _: &str,
        path: &[u8],
        replaces: bool,
    ) -> Result<Box<dyn ReceivedFile>, StoreRefusal> {
        match path {
            b"there" if !replaces => Err(StoreRefusal::Exists),
            _ => Ok(Box::new(MadeUpFile)),
        }
    }

    fn make_folder(&self, _: &FilePerson, _: &str, _: &[u8]) -> Result<Vec<String>, StoreRefusal> {
        Ok(Vec::new())
    }

    fn find(&self, _: &FilePerson, _: &FindRequest) -> Result<FindAnswer, Vec<String>> {
        Ok(FindAnswer::default())
    }

    fn move_entry(&self, _: &FilePerson, _: &str, _: &[u8], _: &[u8]) -> Result<Vec<String>, StoreRefusal> {
        Ok(Vec::new())
    }

    fn remove_entry(&self, _: &FilePerson, _: &str, _: &[u8], _: Removal) -> Lines {
        Ok(Vec::new())
    }
}

/// One image is open for each person.
fn image_of(person: &FilePerson) -> BrowsedStatus {
    BrowsedStatus { name: "Mac$".into(), account: person.account.clone(), ..BrowsedStatus::default() }
}

impl ImageBrowser for MadeUp {
    fn browsed(&self, by: &FilePerson) -> Vec<BrowsedStatus> {
        vec![image_of(by)]
    }

    fn browse(&self, by: &FilePerson, wanted: &WantedImage) -> Result<BrowsedStatus, BrowseRefusal> {
        match wanted.passphrase.as_deref() {
            Some("open sesame") => Ok(image_of(by)),
            _ => Err(BrowseRefusal::NeedsPassphrase),
        }
    }

    fn end_browse(&self, _: &FilePerson, name: &str) -> Lines {
        if name == "Mac$" { Ok(Vec::new()) } else { Err(vec!["no such image".into()]) }
    }

    fn browsed_folder(
        &self,
        _: &FilePerson,
        _: &str,
        _: &[u8],
        _: &Part,
    ) -> Result<FolderStatus, Vec<String>> {
        Ok(FolderStatus::default())
    }
}
