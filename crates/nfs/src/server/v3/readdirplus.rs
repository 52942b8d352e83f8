//! READDIRPLUS, RFC 1813 3.3.17.

use vfs::Page;
use wire::Writer;

use super::put;
use super::readdir::{VERIFIER, listed, listed_name, page};
use super::target::Target;
use crate::server::answer::{Answer, AnswerStatus};
use crate::server::call::Call;
use crate::server::handle::{HandleContent, HandleView};
use crate::wire::v3::readdirplus::{self, Entry, Request, ResFail};
use crate::wire::v3::types::{Fail, FileHandle, Name, Status};

/// READDIRPLUS, RFC 1813 3.3.17.
pub(super) fn readdirplus(call: &Call<'_>, request: &Request<'_>, w: &mut Writer) -> Answer {
    let folder = match call.target(&request.dir) {
        Ok(folder) => folder,
        Err(status) => return put(w, &ResFail::from(status)),
    };
    let page = match page(&folder, request.cookie) {
        Ok(page) => page,
        Err(status) => return put(w, &Fail::new(status, folder.attributes())),
    };
    let maxcount = request.maxcount.min(call.max_listing());
    let mut entries = readdirplus::begin(w, &folder.attributes(), &VERIFIER, request.dircount, maxcount);
    let all = listed(&folder, &page).all(|entry| push(call, &folder, &page, &mut entries, entry));
    if !all && entries.is_empty() {
        entries.discard();
        return put(w, &Fail::new(Status::TOOSMALL, folder.attributes()));
    }
    entries.finish(all && page.complete);
    Answer::of(AnswerStatus::V3(Status::OK))
}

/// Adds an entry. Attributes that are not available are left out: the entry has just been removed,
/// or the caller may not see them.
fn push(
    call: &Call<'_>,
    folder: &Target,
    page: &Page,
    entries: &mut readdirplus::Entries<'_>,
    entry: &vfs::Entry,
) -> bool {
    let details = page.details_with_locks(&folder.actor.caller, entry);
    let details = details.as_ref().ok();
    let handle = details.map(|details| {
        HandleContent { tag: folder.export.tag, view: HandleView::File, key: details.key }
            .seal(&call.service.secret)
    });
    let name = listed_name(folder, entry);
    entries.push(&Entry {
        fileid: entry.id.inode,
        name: Name::new(&name),
        cookie: entry.cookie,
        attributes: details
            .filter(|_| folder.is_current(entry.id))
            .map(|details| folder.fattr(&details.attributes)),
        handle: handle.as_ref().map(|handle| FileHandle::new(handle.as_bytes())),
    })
}
