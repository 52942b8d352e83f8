//! Searches in the shares, and the indexes that answer them.

mod contents;

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use admin::control::{FindAnswer, FindRequest, FoundFile, FoundSnapshot, MOST_FOUND, SearchStatus};
use admin::{SearchScope, Settings, ShareSettings};
use anyhow::{Context, bail};
use auth::Accounts as _;
use jiff::tz::TimeZone;
use lock::Mutex;
use query::Query;
use query::language::{self, Clock};
use search::{ContentReader, IndexOptions, SearchIndex};
use vfs::backend::Found;
use vfs::backend::host::as_ourselves;
use vfs::caches::{Cache, CacheReport};
use vfs::names::{Hiding, text_view};
use vfs::{Attributes, Caller, Error, PastEntry, Search, SearchPlace, Volume};

use self::contents::ContentWorker;
use crate::people::person::RightsPerson;
use crate::ranks;
use crate::serve::current::Current;
use crate::shares::volumes::Volumes;

/// The folder of all indexes, in the state folder.
const FOLDER: &str = "search";
/// An index is written when nothing more has changed for so long.
const QUIET: Duration = Duration::from_secs(5);
/// Files that one call asks the tree for.
const PAGE: usize = 1_000;

/// Files that were found, and where to go on.
type Page = (Vec<FoundFile>, Option<SearchPlace>);

/// The indexes of the shares of a server. As a cache they have what is not on the disk yet, and the identities of folders.
#[derive(Default)]
pub(crate) struct Indexes {
    running: Mutex<HashMap<String, RunningIndex>, ranks::SearchIndexes>,
    /// Memory of all, in bytes; 0 before the first limit.
    limit: AtomicU64,
}

/// The index of a share.
struct RunningIndex {
    scope: SearchScope,
    volume: Arc<Volume>,
    index: SearchIndex,
}

impl Indexes {
    /// Begins to keep the indexes that the settings want, and ends the others; returns lines about what failed.
    pub(crate) fn apply(&self, volumes: &Volumes, current: &Arc<Current>) -> Vec<String> {
        let mut running = self.running.lock();
        let mut before = std::mem::take(&mut *running);
        let mut lines = Vec::new();
        for share in current.settings.shares.iter().filter(|share| share.search != SearchScope::Off) {
            let kept = volumes.open(share, &current.settings).and_then(|volume| {
                let same =
                    |old: &RunningIndex| old.scope == share.search && Arc::ptr_eq(&old.volume, &volume);
                match before.remove(&share.name) {
                    Some(old) if same(&old) => Ok(old),
                    old => {
                        drop(old); // it is written before its files are opened again
                        start(volumes.state(), share, volume, current)
                    }
                }
            });
            match kept {
                Ok(index) => _ = running.insert(share.name.clone(), index),
                Err(error) => lines.push(format!("the share {} is not indexed: {error:#}", share.name)),
            }
        }
        for old in before.values() {
            old.volume.searches().set_finder(None);
        }
        self.share_memory(&running);
        // Shares of one folder have one volume: what is indexed stays.
        running.values().for_each(|index| index.volume.searches().set_finder(Some(index.index.finder())));
        drop(running);
        drop(before);
        lines
    }

    fn share_memory(&self, running: &HashMap<String, RunningIndex>) {
        let limit = self.limit.load(Ordering::Relaxed);
        if let Some(each) = limit.checked_div(running.len() as u64).filter(|each| *each > 0) {
            running.values().for_each(|running| running.index.limit_memory(each));
        }
    }

    /// New snapshots are read, and those that are gone are forgotten.
    pub(crate) fn look_at_snapshots(&self) {
        self.running.lock().values().for_each(|running| running.index.look_at_snapshots());
    }

    /// What waits is written.
    pub(crate) fn stop(&self) {
        let running = std::mem::take(&mut *self.running.lock());
        running.values().for_each(|index| index.volume.searches().set_finder(None));
    }

    /// How they are, by the names of the shares.
    pub(crate) fn status(&self) -> Vec<SearchStatus> {
        let running = self.running.lock();
        let mut all: Vec<SearchStatus> = running.iter().map(|(share, index)| status(share, index)).collect();
        all.sort_by(|a, b| a.share.cmp(&b.share));
        all
    }
}

impl Cache for Indexes {
    fn report(&self) -> CacheReport {
        let bytes = self.running.lock().values().map(|running| running.index.memory()).sum();
        CacheReport { bytes, ..CacheReport::default() }
    }

    fn limit_to(&self, limit: u64) {
        self.limit.store(limit, Ordering::Relaxed);
        self.share_memory(&self.running.lock());
    }
}

fn start(
    state: &Path,
    share: &ShareSettings,
    volume: Arc<Volume>,
    current: &Arc<Current>,
) -> anyhow::Result<RunningIndex> {
    let reads_contents = share.search == SearchScope::Contents;
    let options = IndexOptions {
        share: share.name.clone(),
        folder: state.join(FOLDER).join(folder_name(&share.name)),
        owner_names: owner_names(current.clone()),
        contents: reads_contents.then(|| Arc::new(ContentWorker::new()) as Arc<dyn ContentReader>),
        quiet: QUIET,
    };
    let index = SearchIndex::start(&volume, options).context("its changes cannot be heard")?;
    Ok(RunningIndex { scope: share.search, volume, index })
}

/// The folder of the index of a share: its name, in which each byte that may mean something else is a number.
fn folder_name(share: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let encoded = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") };
    share.bytes().map(encoded).collect()
}

fn owner_names(current: Arc<Current>) -> search::OwnerNames {
    Arc::new(move |uid| current.accounts.unix().user_numbered(uid).map(|user| user.name.clone()))
}

fn status(share: &str, running: &RunningIndex) -> SearchStatus {
    let status = running.index.finder().status();
    SearchStatus {
        share: share.to_owned(),
        contents: running.scope == SearchScope::Contents,
        entries: status.entries,
        bytes: status.bytes,
        building: status.building,
        problem: status.problem,
        unread_snapshots: status.unread_snapshots,
    }
}

/// Who asks.
pub(crate) enum Asker<'a> {
    /// An account, by its name.
    Account(&'a str),
    /// A user of the host, by the number.
    User(u32),
    /// The account of this server that a user of the host has, by the number of the user.
    Person(u32),
}

impl Asker<'_> {
    /// The identity whose rights count. `None` for an account: it is the server itself.
    fn person(&self, current: &Current) -> anyhow::Result<Option<RightsPerson>> {
        match self {
            Self::Account(name) => {
                let person = RightsPerson::named(name, current);
                person.map(Some).with_context(|| format!("there is no account {name:?}"))
            }
            Self::Person(uid) => {
                let user = current.accounts.unix().user_numbered(*uid);
                let account = user.and_then(|user| current.accounts.find_in_any_case(&user.name));
                // An account that acts as another user is another person's.
                let own = account.filter(|account| !account.disabled && account.identity.uid == *uid);
                own.map(|account| Some(RightsPerson::of(&account)))
                    .with_context(|| format!("user {uid} of this machine has no account at this server"))
            }
            Self::User(0) => Ok(None),
            Self::User(uid) => Ok(Some(RightsPerson::numbered(*uid, current))),
        }
    }
}

/// Finds files by the rights of the asker.
pub(crate) fn find(
    volumes: &Volumes,
    current: &Current,
    request: &FindRequest,
    asker: &Asker<'_>,
) -> anyhow::Result<FindAnswer> {
    let query = parsed(&request.query)?;
    let person = asker.person(current)?;
    let wanted = wanted(&current.settings, request)?;
    let limit = request.limit.clamp(1, MOST_FOUND);
    let mut answer = FindAnswer::default();
    for share in wanted {
        if !person.as_ref().is_none_or(|person| person.enters(share)) {
            continue;
        }
        // The search in the share before may have left this thread with the rights of the asker.
        let volume = as_ourselves(|| volumes.open(share, &current.settings))??;
        let Some(finder) = volume.searches().finder() else {
            answer.without_index.push(share.name.clone());
            continue;
        };
        let status = finder.status();
        let is_behind = request.snapshots && status.unread_snapshots > 0;
        if status.building.is_some() || status.problem.is_some() || is_behind {
            answer.incomplete.push(share.name.clone());
        }
        let caller =
            person.as_ref().map_or_else(Caller::root, |person| volume.acting(person.identity.clone()));
        let hiding = Hiding::new(&share.hide, &share.show, share.case_sensitive);
        let at = ShareSearch { share, volume: &volume, caller: &caller, person: person.as_ref(), hiding };
        if !at.find(&query, request, limit, &mut answer)? {
            break;
        }
    }
    Ok(answer)
}

/// The query of a text, as the people of this machine mean dates.
fn parsed(text: &str) -> anyhow::Result<Query> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let clock = Clock { now: since.as_secs() as i64, zone: TimeZone::system() };
    language::parse(text, &clock).map_err(|error| {
        let place = text.get(..error.at).map_or(0, |before| before.chars().count());
        anyhow::anyhow!("{error}\n  {text}\n  {:place$}^", "")
    })
}

fn wanted<'a>(settings: &'a Settings, request: &FindRequest) -> anyhow::Result<Vec<&'a ShareSettings>> {
    let Some(name) = &request.share else {
        if !request.path.is_empty() {
            bail!("a folder is in a share: name the share, too");
        }
        return Ok(settings.shares.iter().collect());
    };
    let share = settings.shares.iter().find(|share| share.name == *name);
    Ok(vec![share.with_context(|| format!("there is no share {name:?}; `fourfold status` lists them"))?])
}

/// A search in one share.
struct ShareSearch<'a> {
    share: &'a ShareSettings,
    volume: &'a Volume,
    caller: &'a Caller,
    person: Option<&'a RightsPerson>,
    /// What listings leave out, a person does not find.
    hiding: Hiding,
}

impl ShareSearch<'_> {
    /// Adds what is found. `false`: the answer is full.
    fn find(
        &self,
        query: &Query,
        request: &FindRequest,
        limit: usize,
        answer: &mut FindAnswer,
    ) -> anyhow::Result<bool> {
        let within = match self.folder(&request.path) {
            Ok(within) => within,
            // A folder that the asker may not see is as one that is not there.
            Err(Error::NotFound | Error::AccessDenied) => return Ok(true),
            Err(other) => bail!("the share {} cannot be searched: {other}", self.share.name),
        };
        let search = Search { query, within: within.as_ref() };
        let mut after = None;
        loop {
            // One more says whether there are more.
            let most = (limit - answer.files.len() + 1).min(PAGE);
            let page = if request.snapshots {
                self.past_page(search, after.as_ref(), most)
            } else {
                self.page(search, after.as_ref(), most)
            };
            let (files, next) =
                page.with_context(|| format!("the share {} cannot be searched", self.share.name))?;
            for file in files {
                if answer.files.len() == limit {
                    answer.more = true;
                    return Ok(false);
                }
                answer.files.push(file);
            }
            match next {
                Some(next) => after = Some(next),
                None => return Ok(true),
            }
        }
    }

    fn page(&self, search: Search<'_>, after: Option<&SearchPlace>, most: usize) -> vfs::Result<Page> {
        let page = self.volume.searches().find(self.caller, search, after, most)?;
        let shown = page.entries.iter().filter(|entry| !self.is_hidden(&entry.path));
        Ok((shown.map(|entry| self.found(&entry.path, &entry.found.attributes)).collect(), page.next))
    }

    fn past_page(&self, search: Search<'_>, after: Option<&SearchPlace>, most: usize) -> vfs::Result<Page> {
        let page = self.volume.searches().find_past(self.caller, search, after, most)?;
        let shown = page.entries.iter().filter(|entry| !self.is_hidden(&entry.path));
        let file = |entry: &PastEntry| {
            let [_, name] = &entry.snapshot.path;
            let snapshot = FoundSnapshot { name: text_view(name), taken: entry.snapshot.taken.secs };
            FoundFile { snapshot: Some(snapshot), ..self.found(&entry.path, &entry.found.attributes) }
        };
        Ok((shown.map(file).collect(), page.next))
    }

    /// The folder to search in. A person sees of a share of homes the own one.
    fn folder(&self, path: &[u8]) -> Result<Option<Found>, Error> {
        let mut at = self.volume.root()?;
        let home = self.person.filter(|_| self.share.homes).and_then(|person| person.account.as_deref());
        let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        let names: Vec<&[u8]> = home.map(str::as_bytes).into_iter().chain(names).collect();
        for name in &names {
            at = self.volume.lookup(self.caller, &at.object, name)?;
        }
        Ok(Some(at).filter(|_| !names.is_empty()))
    }

    fn is_hidden(&self, path: &[Vec<u8>]) -> bool {
        self.person.is_some() && path.iter().any(|name| self.hiding.hides(name))
    }

    fn found(&self, names: &[Vec<u8>], attributes: &Attributes) -> FoundFile {
        let path = names.join(&b'/');
        let name = names.last().map(|name| text_view(name)).unwrap_or_default();
        let host_path: PathBuf = self.share.path.join(std::ffi::OsStr::from_bytes(&path));
        FoundFile {
            share: self.share.name.clone(),
            path: text_view(&path),
            host_path: host_path.as_os_str().as_bytes().to_vec(),
            kind: query::kind_of(&name, attributes.kind, [0; 4]).name().to_owned(),
            size: (attributes.kind == vfs::Kind::File).then_some(attributes.size),
            modified: attributes.modified.secs,
            snapshot: None,
        }
    }
}
