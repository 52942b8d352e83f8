//! QUERY_DIRECTORY, MS-SMB2 3.3.5.18 and MS-FSA 2.1.5.6.3.

use vfs::acl::Rights;
use vfs::backend::Found;
use vfs::mac::time;
use vfs::names::windows_view;
use vfs::{Caller, Description, Error, Kind, Page, Time};
use wire::Writer;

use super::facts;
use super::hiding::{begins_with_dot, hides};
use super::mac;
use super::short_names::ShortNames;
use super::{posix, posix_names};
use crate::server::clients::open::File;
use crate::server::clients::tree::Tree;
use crate::server::context::{Context, Outcome, Reply};
use crate::server::dfs;
use crate::wire::Status;
use crate::wire::fscc::directory::{Entry, EntryName, Facts, Form, Listing};
use crate::wire::fscc::pattern::NamePattern;
use crate::wire::fscc::readdirattr::{MacAttributes, ReadDirAttrVersion, ShortFinderInfo};
use crate::wire::fscc::reparse::Tag;
use crate::wire::fscc::{FileAttributes, FileClass};
use crate::wire::query_directory::{Flags, Request, Response};
use crate::wire::security::AccessMask;

/// A client's position in a folder's listing.
#[derive(Default)]
pub(in crate::server) struct Scan {
    /// The pattern of the scan's first request, which also applies to the later ones.
    pattern: Option<NamePattern>,
    /// `.` and `..` are entries 0 and 1. The tree's own entries follow.
    dots: u8,
    cookie: u64,
    /// An entry has matched.
    found: bool,
    /// All entries have been read.
    over: bool,
}

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    let request = Request::decode(&context.message)?;
    context.may_transfer(request.output_buffer_length)?;
    let open = context.open(request.file).await?;
    let file = open.file()?;
    if file.open.node().kind() != Kind::Folder || !file.open.is_data() {
        return Err(Status::INVALID_PARAMETER.into());
    }
    open.require(AccessMask::LIST_DIRECTORY)?;
    let form = Form::of(FileClass(request.information_class));
    let form = form.filter(|form| *form != Form::Posix || file.is_posix).ok_or(Status::INVALID_INFO_CLASS)?;
    let mac = MacView::new(context, form)?;
    let form = if mac.is_some() { Form::IdBothMac } else { form };
    let mut scan = file.scan.lock();
    if request.flags.intersects(Flags::RESTART_SCANS | Flags::REOPEN) {
        let pattern = scan.pattern.take().filter(|_| request.pattern.is_empty());
        *scan = Scan { pattern, ..Scan::default() };
    }
    let tree = context.tree();
    if scan.pattern.is_none() {
        let asked = match file.is_posix {
            true => request.pattern.clone(),
            false => tree.share.options.characters.read(&request.pattern).into_owned(),
        };
        let pattern = NamePattern::new(&asked, file.folding).map_err(|_| Status::OBJECT_NAME_INVALID)?;
        scan.pattern = Some(pattern);
    }
    let asked = request.output_buffer_length as usize;
    let (reserved, room) = context.connection.peer.memory.reserve_up_to(asked);
    let mut w = Writer::onto(Vec::with_capacity(room.min(LIKELY)));
    let is_of_one = scan.pattern.as_ref().is_some_and(|pattern| pattern.literal().is_some()) && mac.is_none();
    let mut walk = FolderScan {
        short_names: is_of_one.then(|| &context.service().short_names),
        tree,
        file,
        mac,
        has_numbers: !context.is_mac(),
        single: request.flags.contains(Flags::RETURN_SINGLE_ENTRY),
        listing: Listing::begin(&w, form, room),
        full: false,
    };
    walk.run(&mut scan, &mut w)?;
    if walk.listing.is_empty() {
        return Err(match (walk.full, scan.found) {
            (true, _) => Status::INFO_LENGTH_MISMATCH.into(),
            (false, true) => Status::NO_MORE_FILES.into(),
            (false, false) => Status::NO_SUCH_FILE.into(),
        });
    }
    scan.found = true;
    let response = Response { data: w.into_bytes() };
    Ok(Reply { file: Some(open.key), reserved, ..Reply::encoded(|w| response.encode(w)) })
}

/// How much room is allocated for entries at once.
const LIKELY: usize = 64 * 1024;

/// The state of one request's scan of a folder.
struct FolderScan<'a> {
    tree: &'a Tree,
    file: &'a File,
    mac: Option<MacView>,
    /// Whether entries show file numbers. Macs must not see them: see [`facts::Facts::number`].
    has_numbers: bool,
    single: bool,
    /// A request for one name is told the short one, too. In the listing of a folder it would cost more than the rest of an
    /// entry, and few programs look at it.
    short_names: Option<&'a ShortNames>,
    listing: Listing,
    /// The next entry did not fit.
    full: bool,
}

impl FolderScan<'_> {
    fn run(&mut self, scan: &mut Scan, w: &mut Writer) -> Result<(), Status> {
        if scan.over {
            return Ok(());
        }
        let volume = self.tree.volume()?;
        let folder =
            Found { object: self.file.open.node().clone(), attributes: self.file.open.attributes()? };
        let caller = &self.file.open.actor().caller;
        if let Some(mac) = &mut self.mac {
            mac.above = volume.rights(caller, &folder, None)?;
        }
        self.dots(scan, &folder, w)?;
        while !self.done() {
            let page = volume.list(caller, &folder, scan.cookie)?;
            let mut ended = page.entries().is_empty();
            for entry in page.entries() {
                let is_dot = matches!(entry.name(), b"." | b"..");
                if !is_dot && self.entry(scan, (&folder, &page, entry), w)? {
                    break;
                }
                scan.cookie = entry.cookie;
                if self.done() {
                    return Ok(());
                }
            }
            ended |= page.complete && !self.full;
            if ended {
                scan.over = true;
                return Ok(());
            }
        }
        Ok(())
    }

    fn done(&self) -> bool {
        self.full || (self.single && !self.listing.is_empty())
    }

    /// The folder itself and its parent. The share's folder has no parent that clients may see, so
    /// it stands in for it.
    fn dots(&mut self, scan: &mut Scan, folder: &Found, w: &mut Writer) -> Result<(), Status> {
        for (at, name) in [(0, "."), (1, "..")] {
            if scan.dots > at || self.done() {
                continue;
            }
            if matches(scan, EntryName::Utf8(name)) {
                let volume = self.tree.volume()?;
                let parent = if at == 0 { None } else { volume.parent(folder).ok() };
                let of = parent.as_ref().unwrap_or(folder);
                let description = volume.description(of, None, vfs::DescriptionParts::METADATA)?;
                let shown = facts::shown(Kind::Folder, description.shown_dos());
                let facts = self.facts(&of.attributes, description.created, shown, 0);
                let mac = self.mac.as_ref().map(|mac| mac.of_dots());
                let is_above = at == 1 && self.file.open.place().is_none();
                let posix = match is_above {
                    true => posix::above_share(&of.attributes),
                    false => posix::attributes(&of.attributes, volume.file_system(of.attributes.id)),
                };
                let facts =
                    if is_above && self.file.is_posix { Facts { file_id: 0, ..facts } } else { facts };
                let (name, mac, posix) = (EntryName::Utf8(name), mac.as_ref(), Some(&posix));
                let entry = Entry { facts, name, short_name: &[], mac, posix };
                if !self.listing.push(w, &entry) {
                    self.full = true;
                    return Ok(());
                }
            }
            scan.dots = at + 1;
        }
        Ok(())
    }

    /// Adds an entry that matches. True if it did not fit.
    fn entry(
        &mut self,
        scan: &Scan,
        (folder, page, entry): (&Found, &Page, &vfs::Entry),
        w: &mut Writer,
    ) -> Result<bool, Status> {
        let units;
        let name = match plain_name(entry.name()) {
            Some(name) => EntryName::Utf8(name),
            None => {
                units = windows_view(entry.name());
                EntryName::Units(&units)
            }
        };
        let as_is = (self.file.is_posix && matches!(name, EntryName::Units(_)))
            .then(|| posix_names::shown_name(entry.name()));
        if !matches(scan, as_is.as_deref().map_or(name, EntryName::Units)) || hides(&self.file.hiding, name) {
            return Ok(false);
        }
        let caller = &self.file.open.actor().caller;
        let rich = match page.rich_details(caller, entry) {
            Ok(rich) => rich,
            Err(Error::NotFound | Error::Stale) => return Ok(false), // gone meanwhile
            Err(Error::AccessDenied) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let attributes = &rich.details.attributes;
        let mut shown = facts::shown(attributes.kind, rich.shown_dos());
        let is_dfs_link = attributes.kind == Kind::Link && self.is_dfs_link(folder, entry.name());
        let is_link = attributes.kind == Kind::Link && !self.file.is_posix;
        if is_dfs_link || is_link && self.leads_to_folder(folder, entry.name()) {
            shown = facts::leading_to_folder(shown);
        }
        if self.file.is_posix {
            shown = facts::as_posix(attributes.kind, shown);
        }
        if begins_with_dot(name) {
            shown = facts::hidden(shown);
        }
        let facts = self.facts(
            attributes,
            rich.created,
            shown,
            facts::ea_size_of(rich.xattr_count, rich.xattr_bytes),
        );
        let facts = if is_dfs_link { Facts { reparse_tag: Tag::DFS.0, ..facts } } else { facts };
        let mac = match &self.mac {
            Some(mac) => Some(mac.of(self.tree, caller, folder, entry.name(), &rich)?),
            None => None,
        };
        let characters = &self.tree.share.options.characters;
        let mapped = !characters.is_empty() && !self.file.is_posix;
        let units = as_is.or_else(|| mapped.then(|| self.tree.share.shown(entry.name())));
        let name = units.as_deref().map_or(name, EntryName::Units);
        let short_name = self.short_names.and_then(|names| names.beside(entry.name()));
        let short_name = short_name.map_or_else(Vec::new, |short| windows_view(&short));
        let file_system = || self.file.open.volume().file_system(attributes.id);
        let posix = self.file.is_posix.then(|| posix::attributes(attributes, file_system()));
        let entry = Entry { facts, name, short_name: &short_name, mac: mac.as_ref(), posix: posix.as_ref() };
        if self.listing.push(w, &entry) {
            return Ok(false);
        }
        self.full = true;
        Ok(true)
    }

    /// Whether a link leads to a folder of the share. A link that can no longer be read is listed
    /// as before.
    fn leads_to_folder(&self, folder: &Found, name: &[u8]) -> bool {
        let link = folder.object.lookup(&self.file.open.actor().caller, name);
        link.is_ok_and(|link| facts::link_leads_to_folder(self.file, folder, &link).unwrap_or(false))
    }

    /// Whether a link is one of a namespace.
    fn is_dfs_link(&self, folder: &Found, name: &[u8]) -> bool {
        let share = &self.tree.share;
        let look = || folder.object.lookup(&self.file.open.actor().caller, name);
        share.options.dfs && look().is_ok_and(|link| dfs::is_link(share, &link))
    }

    fn facts(
        &self,
        attributes: &vfs::Attributes,
        created: Time,
        shown: FileAttributes,
        ea_size: u32,
    ) -> Facts {
        let is_folder = attributes.kind == Kind::Folder;
        Facts {
            creation_time: created.into(),
            last_access_time: attributes.accessed.into(),
            last_write_time: attributes.modified.into(),
            change_time: self.file.open.volume().changed(attributes).into(),
            end_of_file: if is_folder { 0 } else { attributes.size },
            allocation_size: if is_folder { 0 } else { attributes.allocated },
            attributes: shown,
            ea_size,
            reparse_tag: posix::reparse_tag(attributes.kind, self.file.is_posix),
            file_id: if self.has_numbers { self.file.open.volume().number(attributes.id) } else { 0 },
        }
    }
}

/// Metadata that Macs get in the fields of an entry that they do not need.
struct MacView {
    /// The Mac knows the second form.
    second: bool,
    /// The caller's rights on the folder.
    above: Rights,
}

impl MacView {
    /// The view for a Mac that asks for the one class with such fields; else `None`.
    fn new(context: &Context, form: Form) -> Result<Option<Self>, Status> {
        if form != Form::IdBoth || !context.is_mac() {
            return Ok(None);
        }
        Ok(Some(Self { second: context.mac() == mac::Kind::NewMac, above: Rights::NONE }))
    }

    fn of(
        &self,
        tree: &Tree,
        caller: &Caller,
        folder: &Found,
        name: &[u8],
        rich: &Description,
    ) -> Result<MacAttributes, Status> {
        let attributes = &rich.details.attributes;
        let rights = tree.volume()?.caching_tree().listed_rights(caller, (folder, self.above), name, rich)?;
        let added = rich.finder_info.date_added().unwrap_or(rich.created);
        let info = rich.finder_info.as_bytes();
        let is_folder = attributes.kind == Kind::Folder;
        let rights = if tree.read_only { rights.difference(Rights::CHANGING) } else { rights };
        Ok(MacAttributes {
            maximal_access: AccessMask(rights.0) & AccessMask::FILE_ALL,
            version: self.version(rich.plain),
            resource_fork_len: rich.fork_len,
            finder_info: ShortFinderInfo::new(info, is_folder, time::to_2000(Some(added))),
            // A Mac derives its rights from the mode. For a file with an ACL the mode does not show
            // all rights.
            mode: if rich.has_acl { 0 } else { mac::posix_mode(attributes) },
        })
    }

    /// For the folder itself and its parent. A Mac needs no metadata of these here.
    fn of_dots(&self) -> MacAttributes {
        MacAttributes {
            maximal_access: AccessMask(self.above.0),
            version: self.version(false),
            resource_fork_len: 0,
            finder_info: ShortFinderInfo::default(),
            mode: 0,
        }
    }

    fn version(&self, has_no_xattrs: bool) -> ReadDirAttrVersion {
        if self.second { ReadDirAttrVersion::V2 { has_no_xattrs } } else { ReadDirAttrVersion::V1 }
    }
}

fn matches(scan: &Scan, name: EntryName<'_>) -> bool {
    scan.pattern.as_ref().is_none_or(|pattern| pattern.matches(name))
}

/// The name, if clients see it as it is stored. That holds for most names.
fn plain_name(stored: &[u8]) -> Option<&str> {
    let plain = |byte: &u8| matches!(byte, 0x20..=0x7E) && !br#""*:<>?\|"#.contains(byte);
    match stored.last() {
        Some(b' ' | b'.') | None => None,
        Some(_) if stored.iter().all(plain) => std::str::from_utf8(stored).ok(),
        Some(_) => None,
    }
}

#[cfg(test)]
mod speed;
