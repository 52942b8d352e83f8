//! READDIR, RFC 1813 3.3.16, and the pages of a listing that READDIRPLUS and NFSv4 use, too.

use std::borrow::Cow;

use vfs::names::long::{is_long, shortened};
use vfs::{Error, Page};
use wire::Writer;

use super::put;
use super::target::Target;
use crate::server::answer::{Answer, AnswerStatus};
use crate::server::call::Call;
use crate::wire::v3::readdir::{self, Entry, Request, ResFail};
use crate::wire::v3::types::{Fail, Name, Status};

/// Cookies stay valid while entries come and go, so no verification is needed: the verifier is
/// always zero.
pub(super) const VERIFIER: [u8; 8] = [0; 8];

/// READDIR, RFC 1813 3.3.16.
pub(super) fn readdir(call: &Call<'_>, request: &Request<'_>, w: &mut Writer) -> Answer {
    let folder = match call.target(&request.dir) {
        Ok(folder) => folder,
        Err(status) => return put(w, &ResFail::from(status)),
    };
    let page = match page(&folder, request.cookie) {
        Ok(page) => page,
        Err(status) => return put(w, &Fail::new(status, folder.attributes())),
    };
    let count = request.count.min(call.max_listing());
    let mut entries = readdir::begin(w, &folder.attributes(), &VERIFIER, count);
    let all = listed(&folder, &page).all(|entry| {
        let name = listed_name(&folder, entry);
        entries.push(&Entry { fileid: entry.id.inode, name: Name::new(&name), cookie: entry.cookie })
    });
    if !all && entries.is_empty() {
        entries.discard();
        return put(w, &Fail::new(Status::TOOSMALL, folder.attributes()));
    }
    entries.finish(all && page.complete);
    Answer::of(AnswerStatus::V3(Status::OK))
}

/// Entries of a folder from a cookie on. A page of which nothing is listed is passed over, unless it is the last: clients
/// may take a reply without entries for the end of the folder.
pub(in crate::server) fn page(folder: &Target, mut cookie: u64) -> Result<Page, Status> {
    loop {
        let page = match folder.export.volume.list(&folder.actor.caller, &folder.found, cookie) {
            Err(Error::Invalid) => return Err(Status::BAD_COOKIE),
            other => other?,
        };
        match page.entries().last() {
            Some(last) if !page.complete && listed(folder, &page).next().is_none() => cookie = last.cookie,
            _ => return Ok(page),
        }
    }
}

/// The entries that the share's listings show.
pub(in crate::server) fn listed<'a>(
    folder: &'a Target,
    page: &'a Page,
) -> impl Iterator<Item = &'a vfs::Entry> {
    let inner = folder.export.volume.hidden(&folder.found.object);
    page.entries().iter().filter(move |entry| folder.export.lists_in(inner.as_deref(), entry.name()))
}

/// The name of an entry in a listing. Linux's client fails to list a folder in which a name has more than 255 bytes, and
/// cannot use such a name. So it gets the shortened name, which leads to the file as well, unless the share says otherwise.
pub(in crate::server) fn listed_name<'a>(folder: &Target, entry: &'a vfs::Entry) -> Cow<'a, [u8]> {
    let name = entry.name();
    match is_long(name) && folder.export.options.shortens_names {
        true => {
            let on_host = folder.found.object.name_on_host(name);
            on_host.unwrap_or_else(|| shortened(name, 0)).into() // it has just been removed
        }
        false => name.into(),
    }
}
