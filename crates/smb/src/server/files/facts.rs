//! Facts about a file that many answers contain: times, sizes, attributes.

use vfs::backend::Found;
use vfs::mac::DosAttributes;
use vfs::{Attributes, Beside, Description, DescriptionParts, Details, FileId, Kind};

use super::extended_attributes;
use super::{hiding, posix};
use crate::server::clients::open::File;
use crate::server::context::Context;
use crate::wire::Status;
use crate::wire::fscc::FileAttributes;
use crate::wire::time::NtTime;
use crate::wire::values::NetworkOpen;

/// DOS attributes that are kept with a file.
const KEPT: u32 = FileAttributes::READONLY.0
    | FileAttributes::HIDDEN.0
    | FileAttributes::SYSTEM.0
    | FileAttributes::ARCHIVE.0
    | FileAttributes::NOT_CONTENT_INDEXED.0
    | FileAttributes::OFFLINE.0;

/// The attributes that clients see. A file whose attributes were never set is shown as new to
/// programs that make backups.
pub(in crate::server) fn shown(kind: Kind, dos: DosAttributes) -> FileAttributes {
    let of_kind = match kind {
        Kind::Folder => FileAttributes::DIRECTORY,
        Kind::Link => FileAttributes::REPARSE_POINT,
        _ => FileAttributes::NONE,
    };
    let sparse = FileAttributes(dos.0) & FileAttributes::SPARSE_FILE;
    let kept = match (dos.0, kind) {
        (0, Kind::File) => FileAttributes::ARCHIVE,
        _ => FileAttributes(dos.0 & KEPT),
    };
    match kept | of_kind | sparse {
        FileAttributes::NONE => FileAttributes::NORMAL,
        all => all,
    }
}

/// The same for a file whose name begins with a dot. UNIX programs do not show such files, so
/// clients need not either.
pub(in crate::server) fn hidden(shown: FileAttributes) -> FileAttributes {
    FileAttributes(shown.0 & !FileAttributes::NORMAL.0) | FileAttributes::HIDDEN
}

/// The same of a link that leads to a folder, which Windows shows as a folder that is a reparse point.
pub(in crate::server) fn leading_to_folder(shown: FileAttributes) -> FileAttributes {
    shown | FileAttributes::DIRECTORY
}

/// The same of an open with the POSIX extensions: devices, FIFOs and sockets are reparse points.
pub(in crate::server) fn as_posix(kind: Kind, shown: FileAttributes) -> FileAttributes {
    match posix::is_special(kind) {
        true => FileAttributes(shown.0 & !FileAttributes::NORMAL.0) | FileAttributes::REPARSE_POINT,
        false => shown,
    }
}

/// Whether these attributes are more than those of a new file.
pub(in crate::server) fn is_more_than_normal(asked: FileAttributes) -> bool {
    asked.0 & KEPT & !FileAttributes::ARCHIVE.0 != 0
}

/// The attributes to keep when a client sets attributes. An empty set is kept as "normal", to
/// distinguish it from attributes that were never set.
pub(in crate::server) fn to_keep(asked: FileAttributes, before: DosAttributes) -> DosAttributes {
    let sparse = before.0 & FileAttributes::SPARSE_FILE.0;
    match asked.0 & KEPT | sparse {
        0 => DosAttributes(FileAttributes::NORMAL.0),
        kept => DosAttributes(kept),
    }
}

/// The length of all extended attributes of a file, MS-FSCC 2.4.13; 0 if it has none.
pub(in crate::server) fn ea_size(file: &File, facts: &Facts) -> Result<u32, Status> {
    if facts.description.xattr_count == 0 {
        return Ok(0);
    }
    let found = Found { object: file.open.node().clone(), attributes: facts.attributes };
    let eas = extended_attributes::of(file.open.volume(), &found)?;
    let bytes = eas.iter().map(|ea| ea.name.len() + ea.value.len()).sum::<usize>();
    Ok(ea_size_of(eas.len() as u32, bytes as u32))
}

/// The same for `count` attributes whose names and values have `bytes` bytes in all. The length is
/// that of a list in OS/2's form: the list's length, and for each attribute flags, two lengths,
/// name, NUL and value.
pub(in crate::server) fn ea_size_of(count: u32, bytes: u32) -> u32 {
    if count == 0 { 0 } else { 4 + bytes.saturating_add(5 * count) }
}

/// Times, sizes and attributes of an open file.
#[derive(Clone)]
pub(in crate::server) struct Facts {
    pub(in crate::server) attributes: Attributes,
    /// What describes the file besides: DOS attributes and dates.
    description: Description,
    /// The size of the stream that is open.
    pub(in crate::server) size: u64,
    /// The open is of the file itself, and not of a named stream.
    is_data: bool,
    /// The entry by which it was opened.
    pub(in crate::server) id: FileId,
    /// Its number, as listings have it.
    pub(in crate::server) file_id: u64,
    /// It is a link that leads to a folder of the share.
    pub(in crate::server) leads_to_folder: bool,
    /// The file's name hides it.
    is_hidden: bool,
    /// The open has the POSIX extensions.
    is_posix: bool,
    /// The time of the last change of attributes, as this client sees it.
    pub(in crate::server) changed: NtTime,
}

impl Facts {
    /// The facts as of now.
    pub(in crate::server) async fn of(file: &File) -> Result<Self, Status> {
        let open = file.shown();
        let attributes = open.attributes()?;
        let size = if open.is_data() { attributes.size } else { open.size().await? };
        let found = Found { object: open.node().clone(), attributes };
        let (volume, place) = (open.volume(), open.place());
        let beside = place.as_ref().map(|(folder, name)| Beside { folder, name });
        // What is only in a sidecar says nothing of times and DOS attributes: its place need not be looked at.
        let beside = beside.filter(|beside| volume.caching_tree().may_have_header(*beside));
        let description = volume.description(&found, beside, DescriptionParts::METADATA)?;
        Self::new(file, &found, description, size)
    }

    /// The facts about a file with these attributes whose data is open and that has only data.
    pub(in crate::server) fn of_plain(file: &File, attributes: Attributes) -> Result<Self, Status> {
        let found = Found { object: file.open.node().clone(), attributes };
        let description = Description::plain(Details { key: found.object.key(), attributes });
        Self::new(file, &found, description, attributes.size)
    }

    fn new(file: &File, found: &Found, description: Description, size: u64) -> Result<Self, Status> {
        let attributes = found.attributes;
        let is_hidden = file.open.place().is_some_and(|(_, name)| hiding::marks(&file.hiding, &name));
        let changed = file.changed_at(&attributes);
        let is_posix = file.is_posix;
        // Linux takes a folder for one, whatever else is said of it.
        let (id, leads_to_folder) = (file.entry_id(), !is_posix && leads_to_folder(file, found)?);
        let file_id = file.open.volume().number(id);
        let is_data = file.open.is_data();
        Ok(Self {
            attributes,
            description,
            size,
            is_data,
            id,
            file_id,
            leads_to_folder,
            is_hidden,
            is_posix,
            changed,
        })
    }

    /// The attributes that clients see.
    pub(in crate::server) fn file_attributes(&self) -> FileAttributes {
        let shown = shown(self.kind(), self.description.shown_dos());
        let shown = if self.leads_to_folder { leading_to_folder(shown) } else { shown };
        let shown = if self.is_posix { as_posix(self.attributes.kind, shown) } else { shown };
        if self.is_hidden { hidden(shown) } else { shown }
    }

    /// The tag of the reparse point that it is; 0 if it is none.
    pub(in crate::server) fn reparse_tag(&self) -> u32 {
        posix::reparse_tag(self.attributes.kind, self.is_posix)
    }

    /// The number by which a client knows the file. Macs get none: they remember files by their
    /// number for longer than the host keeps a number for one file.
    pub(in crate::server) fn number(&self, context: &Context) -> u64 {
        if context.is_mac() { 0 } else { self.file_id }
    }

    /// Whether clients have made it read-only.
    pub(in crate::server) fn is_readonly(&self) -> bool {
        self.description.is_readonly()
    }

    /// When it was made.
    pub(in crate::server) fn created(&self) -> NtTime {
        self.description.created.into()
    }

    /// The size that clients see: folders have none, their named streams do.
    pub(in crate::server) fn end_of_file(&self) -> u64 {
        if self.kind() == Kind::Folder { 0 } else { self.size }
    }

    /// The bytes that the file takes on the disk. Folders have none. A named stream of a folder
    /// counts as long as it is.
    pub(in crate::server) fn allocated(&self) -> u64 {
        match (self.attributes.kind, self.kind()) {
            (_, Kind::Folder) => 0,
            (Kind::Folder, _) => self.size,
            _ => self.attributes.allocated,
        }
    }

    /// The kind of what is open. A named stream of a folder is no folder, MS-FSA 2.1.5.12.6 and 27:
    /// only a DirectoryStream is one.
    fn kind(&self) -> Kind {
        match self.attributes.kind {
            Kind::Folder if !self.is_data => Kind::File,
            kind => kind,
        }
    }

    /// Whether the open is of a folder itself, or of a link that leads to one.
    pub(in crate::server) fn is_directory(&self) -> bool {
        self.kind() == Kind::Folder || self.leads_to_folder
    }

    /// What CREATE and CLOSE answer.
    pub(in crate::server) fn network_open(&self) -> NetworkOpen {
        let attributes = &self.attributes;
        NetworkOpen {
            creation_time: self.created().0,
            last_access_time: NtTime::from(attributes.accessed).0,
            last_write_time: NtTime::from(attributes.modified).0,
            change_time: self.changed.0,
            allocation_size: self.allocated(),
            end_of_file: self.end_of_file(),
            file_attributes: self.file_attributes().0,
        }
    }
}

/// Whether an open is of a link that leads to a folder of the share.
fn leads_to_folder(file: &File, found: &Found) -> Result<bool, Status> {
    let Some((folder, _)) = file.open.place().filter(|_| found.attributes.kind == Kind::Link) else {
        return Ok(false);
    };
    let folder = Found { attributes: folder.attributes()?, object: folder };
    link_leads_to_folder(file, &folder, found)
}

/// The same for an entry of a folder, as the user of this open sees it.
pub(in crate::server) fn link_leads_to_folder(
    file: &File,
    folder: &Found,
    link: &Found,
) -> Result<bool, Status> {
    let caller = &file.open.actor().caller;
    let target = file.open.volume().caching_tree().follow_link(caller, folder, link, file.folding)?;
    Ok(target.is_some_and(|target| target.attributes.kind == Kind::Folder))
}
