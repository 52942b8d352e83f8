//! READDIR, RFC 7530 16.24.

use vfs::state::Cause;
use vfs::{Entry, Kind, Page, Plan};
use wire::Writer;

use super::asking;
use super::attributes::{self, number};
use super::fail::Fail;
use super::looking;
use super::named;
use super::place::{self, HandleTarget};
use super::referrals;
use super::shown::{Owners, VisibleFile};
use crate::server::call::Call;
use crate::server::handle::{HandleContent, HandleView};
use crate::server::v3::{MAX_LISTING, Target, listed, listed_name, page};
use crate::wire::v4::attributes::{FILEHANDLE, MOUNTED_ON_FILEID, RDATTR_ERROR, Source, Values};
use crate::wire::v4::files::ReadDir;
use crate::wire::v4::types::{Bitmap, FileHandle, Name, Status, Verifier};
use crate::wire::xdr::Encode;

/// Cookies stay valid while entries come and go, so no verification is needed.
const VERIFIER: Verifier = [0; 8];
/// "No entry follows", and the flag of the end.
const TAIL: usize = 8;
/// No entry has the cookies 1 and 2, RFC 7530 16.24.4. 0 is the start.
const RESERVED: std::ops::RangeInclusive<u64> = 1..=2;
/// What is added to the cookies of the tree, so that none of them is reserved.
const OFFSET: u64 = 2;
/// The bytes of an entry with a name of 20 bytes and the attributes that Linux wants.
const USUAL: usize = 224;
/// The attributes that an entry of a listing has without its details.
const LISTED: Bitmap = Bitmap::of(&[RDATTR_ERROR, MOUNTED_ON_FILEID]);

/// READDIR: `.` and `..` are not entries in this version.
pub(super) fn list(
    call: &Call<'_>,
    folder: &HandleTarget,
    request: &ReadDir,
    w: &mut Writer,
) -> Result<(), Fail> {
    let is_folder = match folder {
        HandleTarget::Pseudo(_) | HandleTarget::Attributes(_) => true,
        HandleTarget::Attribute(_) => false,
        HandleTarget::File(target) => {
            target.found.attributes.kind == Kind::Folder && target.sidecar.is_none()
        }
    };
    if !is_folder {
        return Err(Status::NOTDIR.into());
    }
    if RESERVED.contains(&request.cookie) {
        return Err(Status::BAD_COOKIE.into());
    }
    if request.cookie != 0 && request.verifier != VERIFIER {
        return Err(Status::NOT_SAME.into());
    }
    if attributes::can_only_be_set(call.minor, &request.wanted) {
        return Err(Status::INVAL.into());
    }
    let most = request.max_count.min(MAX_LISTING) as usize;
    let end = (w.len() + most.min(call.room)).saturating_sub(TAIL);
    if w.len() + VERIFIER.len() > end {
        return Err(Status::TOOSMALL.into());
    }
    VERIFIER.encode(w);
    let mut entries = ReplyEntries { call, wanted: &request.wanted, end, is_empty: true };
    match folder {
        HandleTarget::Pseudo(path) => entries.shares(path, request.cookie, w),
        HandleTarget::File(target) => entries.files(target, request.cookie, w),
        HandleTarget::Attributes(target) | HandleTarget::Attribute(target) => {
            entries.attributes(target, request.cookie, w)
        }
    }
}

/// The entries of one reply.
struct ReplyEntries<'a> {
    call: &'a Call<'a>,
    wanted: &'a Bitmap,
    /// The most bytes that the reply may have before its tail.
    end: usize,
    is_empty: bool,
}

impl ReplyEntries<'_> {
    /// The names in a folder of the pseudo-root. The cookie of a name depends on the name alone.
    fn shares(&mut self, path: &str, after: u64, w: &mut Writer) -> Result<(), Fail> {
        let names = place::names_below(self.call, path);
        let mut names: Vec<_> = names.iter().map(|name| (number(self.call, name.as_bytes()), name)).collect();
        names.sort();
        names.retain(|(cookie, _)| *cookie > after);
        let folder = HandleTarget::Pseudo(path.to_owned());
        for (cookie, name) in names {
            let found = match looking::child(self.call, &folder, name.as_bytes()) {
                // It is there, and its attributes are not for this connection.
                Err(Status::WRONGSEC) => Ok(HandleTarget::Pseudo(place::below(path, name))),
                found => found,
            };
            let put = |wanted: &Bitmap, w: &mut Writer| match &found {
                Ok(place) => attributes::put(self.call, place, wanted, w).map_err(Fail::from),
                Err(status) => Err(Fail::from(*status)),
            };
            if !self.push(cookie, name.as_bytes(), put, w)? {
                return self.finish(false, w);
            }
        }
        self.finish(true, w)
    }

    /// The named attributes of a file. The cookie of a name depends on the name alone.
    fn attributes(&mut self, of: &Target, after: u64, w: &mut Writer) -> Result<(), Fail> {
        let call = self.call;
        let mut names: Vec<_> =
            named::names(of)?.into_iter().map(|name| (number(call, name.as_bytes()), name)).collect();
        names.sort_by_key(|(cookie, _)| *cookie);
        names.retain(|(cookie, _)| *cookie > after);
        for (cookie, name) in names {
            let place = HandleTarget::Attribute(Box::new(named::target(of, HandleView::Attribute(name))));
            let put = |wanted: &Bitmap, w: &mut Writer| Ok(attributes::put(call, &place, wanted, w)?);
            if !self.push(cookie, name.as_bytes(), put, w)? {
                return self.finish(false, w);
            }
        }
        self.finish(true, w)
    }

    fn files(&mut self, folder: &Target, cookie: u64, w: &mut Writer) -> Result<(), Fail> {
        let mut after = cookie.saturating_sub(OFFSET);
        let mut rows = Rows::new(self.call, folder, self.wanted);
        loop {
            let page = page(folder, after)?;
            // One allocation for the reply, and not one each time that it doubles.
            w.reserve(self.end.saturating_sub(w.len()).min(page.entries().len() * USUAL));
            for entry in listed(folder, &page).filter(|entry| !matches!(entry.name(), b"." | b"..")) {
                let put = |wanted: &Bitmap, w: &mut Writer| rows.put(&page, entry, wanted, w);
                if !self.push(entry.cookie + OFFSET, &listed_name(folder, entry), put, w)? {
                    return self.finish(false, w);
                }
            }
            match page.entries().last() {
                // Nothing of this page is listed: the reply would look like the end of the folder.
                Some(last) if self.is_empty && !page.complete => after = last.cookie,
                _ => return self.finish(page.complete, w),
            }
        }
    }

    /// Appends an entry if it fits. An entry without attributes shows why, if the client has asked for that. An entry
    /// that is gone by now is left out.
    fn push(
        &mut self,
        cookie: u64,
        name: &[u8],
        put: impl FnOnce(&Bitmap, &mut Writer) -> Result<(), Fail>,
        w: &mut Writer,
    ) -> Result<bool, Fail> {
        let start = w.len();
        true.encode(w);
        cookie.encode(w);
        Name::new(name).encode(w);
        let attributes_at = w.len();
        match put(self.wanted, w) {
            Ok(()) => {}
            Err(Fail { status: Status::NOENT | Status::STALE, .. }) => {
                w.truncate(start);
                return Ok(true);
            }
            Err(fail) if self.wanted.has(RDATTR_ERROR) => {
                w.truncate(attributes_at);
                let values = Values { rdattr_error: Some(fail.status), ..Values::default() };
                values.encode_wanted(self.wanted, w);
            }
            Err(fail) => return Err(fail),
        }
        if w.len() > self.end {
            w.truncate(start);
            return Ok(false);
        }
        self.is_empty = false;
        Ok(true)
    }

    fn finish(&self, is_end: bool, w: &mut Writer) -> Result<(), Fail> {
        if self.is_empty && !is_end {
            return Err(Status::TOOSMALL.into());
        }
        false.encode(w);
        is_end.encode(w);
        Ok(())
    }
}

/// What is the same for all entries of a folder.
struct Rows<'a> {
    call: &'a Call<'a>,
    folder: &'a Target,
    needs: AttributeNeeds,
    owners: Owners,
}

/// What an entry has to be asked for. A client that wants less costs less.
struct AttributeNeeds {
    /// More than the listing itself says: the key and the attributes of the entry.
    details: bool,
    /// An attribute that a client with a delegation to write may have changed in its cache.
    cached: bool,
    handle: bool,
    /// The file itself: see [`attributes::needs_file`].
    file: bool,
    /// Links may lead to other servers.
    referrals: bool,
}

/// An entry as the listing itself has it.
struct ListedInode {
    inode: u64,
}

impl Source<'_> for ListedInode {
    fn rdattr_error(&self) -> Option<Status> {
        Some(Status::OK)
    }

    fn mounted_on_fileid(&self) -> Option<u64> {
        Some(self.inode)
    }
}

impl<'a> Rows<'a> {
    fn new(call: &'a Call<'a>, folder: &'a Target, wanted: &Bitmap) -> Self {
        let referrals = folder.export.options.links.is_some();
        let needs = AttributeNeeds {
            details: referrals || !wanted.is_within(&LISTED),
            cached: asking::CACHED.iter().any(|&number| wanted.has(number)),
            handle: wanted.has(FILEHANDLE),
            file: attributes::needs_file(wanted),
            referrals,
        };
        Self { call, folder, needs, owners: Owners::default() }
    }

    /// Writes the attributes of an entry.
    fn put(&mut self, page: &Page, entry: &Entry, wanted: &Bitmap, w: &mut Writer) -> Result<(), Fail> {
        if !self.needs.details {
            ListedInode { inode: entry.id.inode }.encode_wanted(wanted, w);
            return Ok(());
        }
        let Self { call, folder, .. } = *self;
        let details = page.details_with_locks(&folder.actor.caller, entry)?;
        let volume = &folder.export.volume;
        // Another client has changes in its cache that the host has not. A client that can be told so asks for this one file.
        if self.needs.cached && volume.stateless().is_written_behind(&folder.actor, entry.id) {
            if wanted.has(RDATTR_ERROR) {
                return Err(Status::DELAY.into());
            }
            volume.permit(&folder.actor, Plan::Look)?.recall(entry.id, Cause::Read)?;
        }
        if self.needs.referrals && details.attributes.kind == Kind::Link {
            let object = volume.node(&details.key)?;
            volume.saw(object.object.id(), &folder.found.object, entry.name());
            if let Some(referral) = referrals::of(call, folder, &object) {
                return Ok(referrals::put_attributes(call, (folder, &object), &referral, wanted, w)?);
            }
        }
        let sealed = self.needs.handle.then(|| {
            let named = HandleContent { tag: folder.export.tag, view: HandleView::File, key: details.key };
            named.seal(&call.service.secret)
        });
        let handle = FileHandle::new(sealed.as_ref().map_or(&[], |sealed| sealed.as_bytes()));
        let file = if self.needs.file { Some(volume.node(&details.key)?) } else { None };
        let now = &details.attributes;
        // Of a file system that is mounted here: the folder below it, RFC 8881 5.8.2.23.
        let mounted_on = Some(entry.id.inode);
        let shown = VisibleFile { target: folder, now, handle, mounted_on, file: file.as_ref() };
        Ok(shown.put(call, wanted, &mut self.owners, w)?)
    }
}
