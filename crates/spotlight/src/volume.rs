//! Searches in a volume, as one of its users.

use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use formats::Kind;
use formats::names::{Folding, from_text_view, text_view, to_hfs_nfd};
use jiff::tz::TimeZone;
use query::language::Clock;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use vfs::{Caller, FoundEntry, Search, Volume};

use crate::client::Store;
use crate::found::FoundFile;
use crate::search::ClientSearch;

/// The most results that are looked for at once.
const PAGE: usize = 200;
/// How many pages of all clients are looked for at a time. The others wait.
const AT_A_TIME: usize = 4;

static PERMITS: Semaphore = Semaphore::const_new(AT_A_TIME);

/// The number by which the client's protocol identifies a found entry.
type Numbering = dyn Fn(&FoundEntry) -> Option<u64> + Send + Sync;

/// A volume that can be searched, as one user sees it.
pub struct VolumeStore {
    /// What one page needs: a page that is looked for may outlive the client.
    searched: Arc<SearchedVolume>,
    base: String,
    path_scope: String,
    uuid: [u8; 16],
}

struct SearchedVolume {
    volume: Arc<Volume>,
    caller: Caller,
    folding: Folding,
    numbering: Box<Numbering>,
}

impl VolumeStore {
    /// The volume of the share `name`, with this identity, as `caller` sees it; `None` if it cannot be searched.
    pub fn new(
        volume: &Arc<Volume>,
        caller: Caller,
        folding: Folding,
        (name, uuid): (&str, [u8; 16]),
        numbering: Box<Numbering>,
    ) -> Option<Self> {
        if !volume.searches().is_searchable() {
            return None;
        }
        let searched = SearchedVolume { volume: volume.clone(), caller, folding, numbering };
        Some(Self {
            searched: Arc::new(searched),
            base: format!("/{name}"),
            path_scope: "/".to_owned(),
            uuid,
        })
    }

    /// The same for a client that is told the whole path of the share as what it may search.
    #[must_use]
    pub fn with_path_scope(mut self, path_scope: String) -> Self {
        self.path_scope = path_scope;
        self
    }
}

impl Store for VolumeStore {
    fn base(&self) -> String {
        self.base.clone()
    }

    fn uuid(&self) -> [u8; 16] {
        self.uuid
    }

    fn path_scope(&self) -> String {
        self.path_scope.clone()
    }

    fn clock(&self) -> Clock {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { now: now.as_secs() as i64, zone: TimeZone::system() }
    }

    fn look(&self, search: Arc<ClientSearch>) {
        let (searched, wanted) = (self.searched.clone(), Arc::downgrade(&search));
        drop(search);
        // Outside of a runtime (tests) it runs here.
        let Ok(runtime) = Handle::try_current() else { return searched.page(&wanted) };
        runtime.spawn(async move {
            let Ok(permit) = PERMITS.acquire().await else { return };
            let looked = tokio::task::spawn_blocking(move || searched.page(&wanted)).await;
            drop(permit);
            looked.unwrap_or_default() // a panic there was logged
        });
    }
}

impl SearchedVolume {
    /// Looks for a page of a search, if its client still has it open.
    fn page(&self, wanted: &Weak<ClientSearch>) {
        let Some(search) = wanted.upgrade() else { return };
        match self.found(&search) {
            Ok(()) => {}
            Err(_) => search.fail(),
        }
    }

    fn found(&self, search: &ClientSearch) -> vfs::Result<()> {
        let root = self.volume.root()?;
        let names: Vec<Vec<u8>> = search.scope.iter().map(|name| from_text_view(name)).collect();
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let scope = match names.is_empty() {
            true => None,
            false => {
                let reached = self.volume.lookup_path(&self.caller, &root, &names, self.folding);
                Some(reached.map_err(|error| error.why)?.found.ok_or(vfs::Error::NotFound)?)
            }
        };
        let asked = Search { query: &search.query, within: scope.as_ref() };
        let page = self.volume.searches().find(&self.caller, asked, search.place().as_ref(), PAGE)?;
        let files = page.entries.iter().filter_map(|entry| self.described(entry)).collect();
        search.deliver(files, page.next);
        Ok(())
    }

    fn described(&self, entry: &FoundEntry) -> Option<FoundFile> {
        let attributes = &entry.found.attributes;
        let shown = |name: &Vec<u8>| {
            let text = text_view(name);
            String::from_utf8_lossy(&to_hfs_nfd(text.as_bytes())).into_owned()
        };
        Some(FoundFile {
            number: (self.numbering)(entry)?,
            path: entry.path.iter().map(shown).collect(),
            is_folder: attributes.kind == Kind::Folder,
            length: attributes.size,
            owner: attributes.uid,
            group: attributes.gid,
            modified: attributes.modified,
            accessed: attributes.accessed,
            created: attributes.created,
        })
    }
}
