//! FPSpotlightRPC: Finder's searches in a volume. What is inside the messages is the work of the crate `spotlight`; files have
//! the numbers of the catalogue.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use lock::Mutex;
use spotlight::{Client, Store, VolumeStore};
use vfs::FoundEntry;
use wire::Writer;

use super::open_volume::OpenVolume;
use crate::ranks;
use crate::server::limits::MAX_SEARCHED_VOLUMES;
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::wire::ResultCode;
use crate::wire::spotlight::{SpotlightCall, SpotlightRequest, put_flags, put_message, put_opened};

/// The longest answer to a message.
const LONGEST_ANSWER: usize = 64 << 10;

/// The volumes that a session searches, by their numbers, and its searches in them.
#[derive(Default)]
pub(in crate::server) struct SearchedVolumes {
    open: Mutex<BTreeMap<u16, SearchedVolume>, ranks::AfpSpotlight>,
}

struct SearchedVolume {
    /// A number may be that of another volume later.
    volume: Weak<OpenVolume>,
    client: Client,
}

impl SearchedVolumes {
    /// Forgets all searches.
    pub(in crate::server) fn end(&self) {
        self.open.lock().clear();
    }
}

/// Answers a call. A volume that cannot be searched does not know the command, as that of a server without Spotlight.
pub(super) fn run(request: &Request) -> Outcome {
    let SpotlightRequest { volume, call } = SpotlightRequest::decode(&mut request.reader())?;
    let volume = request.volume(volume)?;
    let store = store(request, &volume).ok_or(ResultCode::CALL_NOT_SUPPORTED)?;
    let mut w = Writer::new();
    match call {
        SpotlightCall::Open => put_opened(volume.id, &store.base(), &mut w),
        SpotlightCall::Flags => put_flags(&mut w),
        SpotlightCall::Message(message) => {
            let mut open = request.session.spotlight.open.lock();
            if !open.contains_key(&volume.id) && open.len() >= MAX_SEARCHED_VOLUMES {
                return Err(ResultCode::MISC_ERROR);
            }
            open.retain(|_, searched| searched.volume.strong_count() > 0);
            let new =
                || SearchedVolume { volume: Arc::downgrade(&volume), client: Client::new(store.clone()) };
            let searched = open.entry(volume.id).or_insert_with(new);
            if searched.volume.as_ptr() != Arc::as_ptr(&volume) {
                *searched = new();
            }
            searched.client.renew(store.clone());
            let answer =
                searched.client.answer(message, LONGEST_ANSWER).map_err(|_| ResultCode::MISC_ERROR)?;
            put_message(&answer, &mut w);
        }
        SpotlightCall::Unknown(_) => return Err(ResultCode::MISC_ERROR),
    }
    Ok(Reply { head: w.into_bytes(), ..Reply::default() })
}

/// The volume as the session's user sees it; `None` if it cannot be searched.
fn store(request: &Request, volume: &Arc<OpenVolume>) -> Option<Arc<dyn Store>> {
    let numbered = volume.clone();
    let numbering =
        move |entry: &FoundEntry| numbered.id_of(&entry.found.object.key()).ok().map(|id| u64::from(id.0));
    let (caller, share) = (request.caller().clone(), &volume.share);
    let store = VolumeStore::new(
        volume.tree(),
        caller,
        share.folding(),
        (&share.name, share.uuid),
        Box::new(numbering),
    )?;
    let base = store.base();
    Some(Arc::new(store.with_path_scope(base)))
}
