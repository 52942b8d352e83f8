//! The parameters of a file or folder, packed as a bitmap requests them: Apple Filing Protocol
//! Reference, "AFP File Bitmap", "AFP Directory Bitmap".

use namespace::Document;
use vfs::mac::{DosAttributes, FileBits, FinderFlags, FinderInfo};
use vfs::state::Stream;
use vfs::{Attributes, Caller, Description, HostKey, Kind, Time};
use wire::Writer;

use super::rights;
use crate::catalogue::CatalogId;
use crate::server::config::Version;
use crate::server::volumes::names;
use crate::server::volumes::open_volume::OpenVolume;
use crate::server::volumes::target::{Target, is_folder};
use crate::wire::bitmap::{DirBitmap, FileBitmap};
use crate::wire::{Path, ResultCode};

/// A client has the data fork open, or the folder mounted: computed.
const DATA_OPEN: u16 = 0x0008;
/// A client has the resource fork open: computed.
const RESOURCE_OPEN: u16 = 0x0010;

/// The parameters that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) struct RequestedParameters {
    pub(in crate::server) file: FileBitmap,
    pub(in crate::server) dir: DirBitmap,
}

/// All facts of a file or folder that parameters are made from. Facts that are not requested may be
/// wrong.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct ParameterFacts<'a> {
    pub(in crate::server) key: HostKey,
    pub(in crate::server) attributes: Attributes,
    pub(in crate::server) id: CatalogId,
    pub(in crate::server) parent: CatalogId,
    /// The stored name; for the volume's root folder, the volume's name.
    pub(in crate::server) name: &'a [u8],
    pub(in crate::server) created: Time,
    pub(in crate::server) backup: Option<Time>,
    /// The Finder information, with the date when it was added to its folder.
    pub(in crate::server) finder_info: FinderInfo,
    pub(in crate::server) bits: FileBits,
    pub(in crate::server) fork_len: u64,
    /// The number of entries of a folder.
    pub(in crate::server) offspring: u32,
    /// See [`rights::access_rights`].
    pub(in crate::server) rights: u32,
}

impl<'a> ParameterFacts<'a> {
    /// Of a file whose id, number of entries and rights are not known yet.
    pub(in crate::server) fn new(description: &Description, parent: CatalogId, name: &'a [u8]) -> Self {
        let &Description { details, created, backup, mut finder_info, mut bits, dos, fork_len, .. } =
            description;
        // Attributes that only a client of DOS or another server has set.
        if dos.contains(DosAttributes::HIDDEN) {
            finder_info.set_flags(finder_info.flags() | FinderFlags::IS_INVISIBLE);
            bits |= FileBits::INVISIBLE;
        }
        bits.set(FileBits::SYSTEM, dos.contains(DosAttributes::SYSTEM) || bits.contains(FileBits::SYSTEM));
        if dos.contains(DosAttributes::READONLY) && details.attributes.kind == Kind::File {
            bits |= FileBits::LOCKED;
        }
        let (key, attributes) = (details.key, details.attributes);
        let (id, offspring, rights) = (CatalogId(0), 0, 0);
        Self {
            key,
            attributes,
            id,
            parent,
            name,
            created,
            backup,
            finder_info,
            bits,
            fork_len,
            offspring,
            rights,
        }
    }
}

impl ParameterFacts<'_> {
    /// Shows a document in the place of a link to other servers: a file that cannot be changed.
    pub(in crate::server) fn show(&mut self, document: &Document) {
        self.attributes.kind = Kind::File;
        self.attributes.size = document.content.len() as u64;
        self.attributes.mode = 0o444;
        self.finder_info.set_type(document.file_type, namespace::CREATOR);
        self.bits |= FileBits::LOCKED;
        self.fork_len = 0;
    }
}

impl RequestedParameters {
    /// Refuses bits that the client's version does not have.
    pub(in crate::server) fn check(self, version: Version) -> Result<Self, ResultCode> {
        // How often an application may run at once is nothing that a server of files knows.
        let file = FileBitmap::of(version).difference(FileBitmap::LAUNCH_LIMIT);
        match file.contains(self.file) && DirBitmap::of(version).contains(self.dir) {
            true => Ok(self),
            false => Err(ResultCode::BITMAP_ERROR),
        }
    }

    /// Whether anything is requested that is neither an attribute of the host nor a number or name.
    pub(in crate::server) fn needs_metadata(self, is_folder: bool) -> bool {
        match is_folder {
            true => self.dir.intersects(
                DirBitmap::ATTRIBUTES | DirBitmap::CREATED | DirBitmap::BACKUP | DirBitmap::FINDER_INFO,
            ),
            false => self.file.intersects(
                FileBitmap::ATTRIBUTES | FileBitmap::CREATED | FileBitmap::BACKUP | FileBitmap::FINDER_INFO,
            ),
        }
    }

    pub(in crate::server) fn needs_fork_len(self) -> bool {
        self.file.intersects(FileBitmap::RESOURCE_LENGTH | FileBitmap::EXTENDED_RESOURCE_LENGTH)
    }

    pub(in crate::server) fn needs_rights(self, is_folder: bool) -> bool {
        match is_folder {
            true => self.dir.intersects(DirBitmap::ACCESS_RIGHTS | DirBitmap::UNIX_PRIVILEGES),
            false => self.file.intersects(FileBitmap::UNIX_PRIVILEGES),
        }
    }

    fn needs_parent(self, is_folder: bool) -> bool {
        match is_folder {
            true => {
                self.needs_metadata(true)
                    || self.dir.intersects(
                        DirBitmap::PARENT_ID
                            | DirBitmap::LONG_NAME
                            | DirBitmap::SHORT_NAME
                            | DirBitmap::UTF8_NAME,
                    )
            }
            false => true,
        }
    }
}

/// Appends the parameters of a path's target. Answers whether it is a folder.
pub(in crate::server) fn put_target(
    volume: &OpenVolume,
    caller: &Caller,
    version: Version,
    target: &Target,
    wanted: RequestedParameters,
    w: &mut Writer,
) -> Result<bool, ResultCode> {
    let found = target.found()?;
    let is_folder = is_folder(found);
    let tree = volume.tree();
    let key = found.object.key();
    let id = volume.id_of(&key)?;
    let place = if wanted.needs_parent(is_folder) { target.place(volume)? } else { None };
    let parent = match place {
        Some(place) => volume.id_of(&place.folder.object.key())?,
        None => CatalogId::PARENT_OF_ROOT,
    };
    if let Some(place) = place {
        tree.saw(found.object.id(), &place.folder.object, &place.name);
    }
    let wants_prodos = !version.is_3() && wanted.file.intersects(FileBitmap::UTF8_NAME);
    let needs_metadata = wanted.needs_metadata(is_folder) || wants_prodos;
    let needs_fork_len = !is_folder && wanted.needs_fork_len();
    let needed = vfs::DescriptionParts { metadata: needs_metadata, fork_len: needs_fork_len, more: false };
    let description = tree.description(found, place.map(|place| place.beside()), needed)?;
    let offspring = match is_folder && wanted.dir.intersects(DirBitmap::OFFSPRING_COUNT) {
        // The count is unknown for a folder that the server itself may not list.
        true => tree.mac_tree().offspring(found).unwrap_or(0),
        false => 0,
    };
    let rights = if wanted.needs_rights(is_folder) { rights::access_rights(tree, caller, found)? } else { 0 };
    let name = place.map_or(volume.share.name.as_bytes(), |place| &place.name);
    let mut facts =
        ParameterFacts { id, offspring, rights, ..ParameterFacts::new(&description, parent, name) };
    if let Some(document) = volume.document(found) {
        facts.show(&document);
    }
    put(volume, version, &facts, wanted, w);
    Ok(is_folder)
}

/// Appends parameters. Offsets of names count from this position.
pub(in crate::server) fn put(
    volume: &OpenVolume,
    version: Version,
    facts: &ParameterFacts<'_>,
    wanted: RequestedParameters,
    w: &mut Writer,
) {
    let mut names = NameOffsets { from: w.len(), long: None, short: None, utf8: None };
    match facts.attributes.kind {
        Kind::Folder => put_dir(volume, version, facts, wanted.dir, &mut names, w),
        _ => put_file(volume, version, facts, wanted.file, &mut names, w),
    }
    names.put(facts, w);
}

/// The positions of the names' offsets, until the names are appended.
struct NameOffsets {
    from: usize,
    long: Option<usize>,
    short: Option<usize>,
    utf8: Option<usize>,
}

impl NameOffsets {
    /// Reserves an offset.
    fn later(w: &mut Writer) -> Option<usize> {
        let at = w.len();
        w.u16_be(0);
        Some(at)
    }

    fn put(&self, facts: &ParameterFacts<'_>, w: &mut Writer) {
        for at in [self.long, self.short].into_iter().flatten() {
            self.here(at, w);
            // Names of the form 8.3 have not been used since AFP 2.0: a short name is the long one.
            let name = names::long_name(facts.name, facts.id);
            w.u8(name.len() as u8);
            w.put(&name);
        }
        if let Some(at) = self.utf8 {
            self.here(at, w);
            let name = names::utf8_name(facts.name);
            w.u32_be(Path::HINT_UTF8);
            w.u16_be(name.len() as u16);
            w.put(name.as_bytes());
        }
    }

    fn here(&self, at: usize, w: &mut Writer) {
        let offset = (w.len() - self.from) as u16;
        w.patch_u16_be(at, offset);
    }
}

/// Appends the parameters that files and folders have in common, up to the names: bits 0 to 5.
fn put_common(volume: &OpenVolume, facts: &ParameterFacts<'_>, wanted: FileBitmap, w: &mut Writer) {
    if wanted.contains(FileBitmap::ATTRIBUTES) {
        w.u16_be(attributes(volume, facts));
    }
    if wanted.contains(FileBitmap::PARENT_ID) {
        w.u32_be(facts.parent.0);
    }
    if wanted.contains(FileBitmap::CREATED) {
        w.u32_be(date(Some(facts.created)));
    }
    if wanted.contains(FileBitmap::MODIFIED) {
        w.u32_be(date(Some(facts.attributes.modified)));
    }
    if wanted.contains(FileBitmap::BACKUP) {
        w.u32_be(date(facts.backup));
    }
    if wanted.contains(FileBitmap::FINDER_INFO) {
        w.put(finder_info(facts).as_bytes());
    }
}

fn put_file(
    volume: &OpenVolume,
    version: Version,
    facts: &ParameterFacts<'_>,
    wanted: FileBitmap,
    names: &mut NameOffsets,
    w: &mut Writer,
) {
    put_common(volume, facts, wanted, w);
    if wanted.contains(FileBitmap::LONG_NAME) {
        names.long = NameOffsets::later(w);
    }
    if wanted.contains(FileBitmap::SHORT_NAME) {
        names.short = NameOffsets::later(w);
    }
    if wanted.contains(FileBitmap::FILE_NUMBER) {
        w.u32_be(facts.id.0);
    }
    let data_len = facts.attributes.size;
    if wanted.contains(FileBitmap::DATA_LENGTH) {
        w.u32_be(length_32(version, data_len));
    }
    if wanted.contains(FileBitmap::RESOURCE_LENGTH) {
        w.u32_be(length_32(version, facts.fork_len));
    }
    if wanted.contains(FileBitmap::EXTENDED_DATA_LENGTH) {
        w.u64_be(data_len);
    }
    if wanted.contains(FileBitmap::LAUNCH_LIMIT) {
        w.u16_be(0);
    }
    if wanted.contains(FileBitmap::UTF8_NAME) {
        put_utf8_or_prodos(version, facts, names, w);
    }
    if wanted.contains(FileBitmap::EXTENDED_RESOURCE_LENGTH) {
        w.u64_be(facts.fork_len);
    }
    if wanted.contains(FileBitmap::UNIX_PRIVILEGES) {
        put_unix(facts, w);
    }
}

fn put_dir(
    volume: &OpenVolume,
    version: Version,
    facts: &ParameterFacts<'_>,
    wanted: DirBitmap,
    names: &mut NameOffsets,
    w: &mut Writer,
) {
    put_common(volume, facts, FileBitmap(wanted.0), w);
    if wanted.contains(DirBitmap::LONG_NAME) {
        names.long = NameOffsets::later(w);
    }
    if wanted.contains(DirBitmap::SHORT_NAME) {
        names.short = NameOffsets::later(w);
    }
    if wanted.contains(DirBitmap::DIR_ID) {
        w.u32_be(facts.id.0);
    }
    if wanted.contains(DirBitmap::OFFSPRING_COUNT) {
        w.u16_be(u16::try_from(facts.offspring).unwrap_or(u16::MAX));
    }
    if wanted.contains(DirBitmap::OWNER_ID) {
        w.u32_be(facts.attributes.uid);
    }
    if wanted.contains(DirBitmap::GROUP_ID) {
        w.u32_be(facts.attributes.gid);
    }
    if wanted.contains(DirBitmap::ACCESS_RIGHTS) {
        w.u32_be(facts.rights);
    }
    if wanted.contains(DirBitmap::UTF8_NAME) {
        put_utf8_or_prodos(version, facts, names, w);
    }
    if wanted.contains(DirBitmap::UNIX_PRIVILEGES) {
        put_unix(facts, w);
    }
}

fn put_utf8_or_prodos(version: Version, facts: &ParameterFacts<'_>, names: &mut NameOffsets, w: &mut Writer) {
    if version.is_3() {
        names.utf8 = NameOffsets::later(w);
        w.u32_be(0);
        return;
    }
    w.put(&prodos(facts.attributes.kind, facts.finder_info.file_type()));
}

/// ProDOS information: file type, a zero, auxiliary type with its low byte first, two reserved
/// bytes. A folder has type $0F, a text $04, a system file $FF or $B3; a Mac type `pXYZ` is file
/// type X, auxiliary type YZ (Inside AppleTalk, "Mapping ProDOS file types").
fn prodos(kind: Kind, mac_type: [u8; 4]) -> [u8; 6] {
    match (kind, &mac_type) {
        (Kind::Folder, _) => [0x0f, 0, 0, 2, 0, 0],
        (_, b"TEXT") => [0x04, 0, 0, 0, 0, 0],
        (_, b"PSYS") => [0xff, 0, 0, 0, 0, 0],
        (_, b"PS16") => [0xb3, 0, 0, 0, 0, 0],
        (_, [b'p', file_type, high, low]) => [*file_type, 0, *low, *high, 0, 0],
        _ => [0; 6],
    }
}

fn put_unix(facts: &ParameterFacts<'_>, w: &mut Writer) {
    w.u32_be(facts.attributes.uid);
    w.u32_be(facts.attributes.gid);
    w.u32_be(rights::unix_mode(&facts.attributes));
    w.u32_be(facts.rights);
}

/// The attribute word, with its computed bits.
pub(in crate::server) fn attributes(volume: &OpenVolume, facts: &ParameterFacts<'_>) -> u16 {
    let mut bits = facts.bits.0 & !(DATA_OPEN | RESOURCE_OPEN);
    let flags = facts.finder_info.flags();
    if flags.contains(FinderFlags::IS_INVISIBLE) {
        bits |= FileBits::INVISIBLE.0;
    }
    if facts.attributes.kind == Kind::Folder {
        return bits;
    }
    if flags.contains(FinderFlags::IS_SHARED) {
        bits |= FileBits::MULTI_USER.0;
    }
    bits | open_bits(volume, &facts.attributes)
}

fn open_bits(volume: &OpenVolume, attributes: &Attributes) -> u16 {
    const MOST: usize = 64;
    let state = volume.tree().state();
    if state.quiet(attributes.id) {
        return 0;
    }
    state.opens(Some(attributes.id), MOST).iter().fold(0, |bits, open| match open.stream {
        Stream::Data => bits | DATA_OPEN,
        Stream::Resource => bits | RESOURCE_OPEN,
        _ => bits,
    })
}

/// Finder information; a symbolic link has the type and creator by which Macs recognize it.
pub(in crate::server) fn finder_info(facts: &ParameterFacts<'_>) -> FinderInfo {
    let mut info = facts.finder_info;
    if facts.attributes.kind == Kind::Link {
        info.set_type(*b"slnk", *b"rhap");
    }
    info
}

/// A date in the form for clients: seconds since 2000.
pub(in crate::server) fn date(time: Option<Time>) -> u32 {
    vfs::mac::time::to_2000(time) as u32
}

/// A length in 32 bits: a larger one becomes the largest that old clients accept.
pub(in crate::server) fn length_32(version: Version, length: u64) -> u32 {
    let most = if version.is_3() { u32::MAX } else { i32::MAX as u32 };
    u32::try_from(length).unwrap_or(most).min(most)
}
