//! Trees over AFP: listings with dates, parameters, both forks, extended attributes, comments.

use ::afp::client::{Error as AfpError, ForkId, ROOT};
use ::afp::wire::directory::Place;
use ::afp::wire::enumerate::{EnumerateForm, Reply};
use ::afp::wire::file::MoveAndRename;
use ::afp::wire::fork::SetForkParms;
use ::afp::wire::volume::{GetVolParms, Parameters};
use ::afp::wire::{DirBitmap, FileBitmap, Path, ResultCode, VolumeBitmap, attribute, command};
use vfs::acl::Entries;
use vfs::mac::FinderInfo;
use wire::Reader;

use super::metadata::WRITE_INHIBIT;
use super::{Afp, LIST_COUNT, malformed};
use crate::Result;
use crate::metadata::{Aspect, COMMENT, MetadataValue, Peer as _};
use crate::session::pages::Pages;
use crate::session::{OpenFileId, OpenIntent, Session as _};
use crate::tree::{
    Extra, FLAGS, Kind, Space, Stamp, Tree, TreeEntry, TreeListing, bytes, flag, stamp, text, told,
};

/// Seconds from 1970 to 2000.
const EPOCH: i64 = 946_684_800;
/// What a file is listed with, in the order of its parameters.
const FILE: FileBitmap = FileBitmap::ATTRIBUTES
    .union(FileBitmap::MODIFIED)
    .union(FileBitmap::FINDER_INFO)
    .union(FileBitmap::EXTENDED_DATA_LENGTH)
    .union(FileBitmap::UTF8_NAME);
/// What a folder is listed with.
const FOLDER: DirBitmap = DirBitmap::MODIFIED.union(DirBitmap::UTF8_NAME);
/// Attributes that are other parts of a file.
const PARTS: [&str; 2] = ["com.apple.FinderInfo", "com.apple.ResourceFork"];
/// The most bytes of one answer with the names of attributes.
const NAMES: u32 = 128 << 10;

impl Tree for Afp {
    fn hides_lists(&self) -> bool {
        self.hides_lists
    }

    fn entries(&mut self, folder: &str) -> Result<TreeListing> {
        let (mut start, mut listing, mut pages) = (1, TreeListing::default(), Pages::of(folder));
        loop {
            let page = self.page(folder, (start, LIST_COUNT), (FILE, FOLDER))?;
            if page.is_empty() {
                return Ok(listing.without_doubles());
            }
            pages.page(&page)?;
            let reply = Reply::decode(&mut Reader::new(&page)).map_err(malformed)?;
            let before = start;
            for found in EnumerateForm::Ext2.framing().entries(reply.entries) {
                let found = found.map_err(malformed)?;
                pages.entry(found.parameters.len())?;
                match entry(found.is_folder, found.parameters).map_err(malformed)? {
                    Ok(entry) => listing.add(entry),
                    Err(shown) => listing.unreadable.push(shown),
                }
                start += 1;
            }
            if start == before {
                return Err(pages.stuck());
            }
        }
    }

    fn read(&mut self, file: OpenFileId, offset: u64, length: usize) -> Result<Vec<u8>> {
        let fork = *self.files.get(file)?;
        let length = length.min(self.largest);
        self.client.read(fork, offset as i64, length as i64).map_err(|error| self.said(error, "a fork"))
    }

    fn entry(&mut self, path: &str) -> Result<TreeEntry> {
        let name = self.path(path);
        let found = self.client.parameters((self.volume, ROOT, &name), FILE, FOLDER);
        let (is_folder, bytes) = found.map_err(|error| self.said(error, path))?;
        let found = entry(is_folder, &bytes).map_err(malformed)?;
        found.map_err(|shown| crate::Error::Other(format!("{shown}: its name is not UTF-8")))
    }

    /// AFP does not replace what has the name: that is removed first.
    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        match self.move_and_rename(from, to) {
            Err(AfpError::Refused(ResultCode::OBJECT_EXISTS)) => {
                self.remove(to)?;
                self.move_and_rename(from, to)
            }
            other => other,
        }
        .map_err(|error| self.said(error, from))
    }

    fn set_length(&mut self, file: OpenFileId, length: u64) -> Result<()> {
        self.set_length_of(file, FileBitmap::EXTENDED_DATA_LENGTH, length)
    }

    fn set_fork_length(&mut self, fork: OpenFileId, length: u64) -> Result<()> {
        self.set_length_of(fork, FileBitmap::EXTENDED_RESOURCE_LENGTH, length)
    }

    fn fork_length(&mut self, path: &str) -> Result<u64> {
        let bytes = self.parameters(path, FileBitmap::EXTENDED_RESOURCE_LENGTH, DirBitmap::DIR_ID)?;
        Reader::new(&bytes).u64_be().map_err(malformed)
    }

    fn space(&mut self) -> Result<Space> {
        let bitmap = VolumeBitmap::EXTENDED_FREE | VolumeBitmap::EXTENDED_TOTAL;
        let request = GetVolParms { volume: self.volume, bitmap };
        let answer = self.call(command::GET_VOL_PARMS, "the volume", |w| request.encode(w))?;
        let found = Parameters::decode(&mut Reader::new(&answer)).map_err(malformed)?;
        Ok(Space { total: found.extended_total, free: found.extended_free })
    }

    fn drop_part(&mut self, path: &str, part: Aspect<'_>) -> Result<bool> {
        let name = match part {
            Aspect::Attribute(name) => name,
            Aspect::Comment => return self.put(path, Aspect::Comment, &MetadataValue::Text(String::new())),
            Aspect::FinderInfo => {
                return self.put(path, part, &MetadataValue::Bytes(FinderInfo::NONE.as_bytes().to_vec()));
            }
            Aspect::Fork => return self.cut_fork(path).map(|()| true),
            _ => return Ok(false),
        };
        let place = self.path(path);
        let request = attribute::Remove {
            volume: self.volume,
            directory: ROOT,
            bitmap: attribute::Bitmap::default(),
            path: Path::utf8(place.as_bytes()),
            name: name.as_bytes(),
        };
        self.call(command::REMOVE_EXT_ATTR, path, |w| request.encode(w)).map(|_| true)
    }

    /// As Macs do it: a file with the target in it becomes a link by its type and creator.
    fn make_link(&mut self, path: &str, target: &str) -> Result<()> {
        let file = self.open(path, OpenIntent::Create)?;
        let fork = *self.files.get(file)?;
        let written = self.client.write(fork, 0, target.as_bytes());
        self.close(file)?;
        written.map_err(|error| self.said(error, path))?;
        let mut info = FinderInfo::NONE;
        info.set_type(*b"slnk", *b"rhap");
        let value = MetadataValue::Bytes(info.as_bytes().to_vec());
        self.put(path, Aspect::FinderInfo, &value).map(drop)
    }

    fn rights(&mut self, path: &str) -> Result<Option<Entries>> {
        self.whole_acl(path)
    }

    /// A volume without lists refuses the command.
    fn set_rights(&mut self, path: &str, entries: &Entries) -> Result<bool> {
        self.set_whole_acl(path, entries).map(|()| true)
    }

    /// AFP has no call that gives a file to another owner or group.
    fn put_unix(&mut self, path: &str, _kind: Kind, aspect: Aspect<'_>, number: u32) -> Result<bool> {
        match aspect {
            Aspect::Owner | Aspect::Group => {
                Ok(told(self, path, aspect)? == Some(MetadataValue::Number(number.into())))
            }
            _ => self.put(path, aspect, &MetadataValue::Number(number.into())),
        }
    }

    fn extra(&mut self, path: &str, kind: Kind) -> Result<Extra> {
        let mut extra = Extra {
            created: stamp(told(self, path, Aspect::Created)?),
            modified: stamp(told(self, path, Aspect::Modified)?),
            backup: stamp(told(self, path, Aspect::Backup)?),
            ..Extra::default()
        };
        if kind == Kind::Link {
            extra.target = text(told(self, path, Aspect::Target)?);
            return Ok(extra);
        }
        for (flag_at, aspect) in FLAGS.into_iter().enumerate() {
            // Folders have no write inhibit bit.
            if kind == Kind::File || aspect != Aspect::ReadOnly {
                extra.flags[flag_at] = flag(told(self, path, aspect)?);
            }
        }
        extra.finder_info = bytes(told(self, path, Aspect::FinderInfo)?);
        let number = |value| match value {
            Some(MetadataValue::Number(number)) => u32::try_from(number).ok(),
            _ => None,
        };
        extra.mode = number(told(self, path, Aspect::Mode)?);
        extra.owner = number(told(self, path, Aspect::Owner)?);
        extra.group = number(told(self, path, Aspect::Group)?);
        if kind == Kind::File {
            extra.fork = bytes(told(self, path, Aspect::Fork)?).unwrap_or_default();
        }
        extra.comment = text(told(self, path, Aspect::Comment)?).filter(|text| !text.is_empty());
        for name in self.attribute_names(path)? {
            if let Some(value) = bytes(told(self, path, Aspect::Attribute(&name))?) {
                extra.streams.push((name, value));
                extra.within_limits(path)?;
            }
        }
        Ok(extra)
    }
}

impl Afp {
    fn move_and_rename(&mut self, from: &str, to: &str) -> std::result::Result<(), AfpError> {
        let (from, to) = (self.path(from), self.path(to));
        let (folder, name) = to.rsplit_once('\0').unwrap_or(("", &to));
        let request = MoveAndRename {
            from: Place { volume: self.volume, folder: ROOT, path: Path::utf8(from.as_bytes()) },
            to_folder: ROOT,
            to_path: Path::utf8(folder.as_bytes()),
            new_name: Path::utf8(name.as_bytes()),
        };
        self.client.call(command::MOVE_AND_RENAME, |w| request.encode(w))?.well().map(drop)
    }

    fn set_length_of(&mut self, file: OpenFileId, bitmap: FileBitmap, length: u64) -> Result<()> {
        let ForkId(fork) = *self.files.get(file)?;
        let length = i64::try_from(length).map_err(|_| crate::Error::Full)?;
        let request = SetForkParms { fork, bitmap, length };
        self.call(command::SET_FORK_PARMS, "a fork", |w| request.encode(w)).map(drop)
    }

    fn cut_fork(&mut self, path: &str) -> Result<()> {
        let file = self.open_fork(path, OpenIntent::Write)?;
        let cut = self.set_fork_length(file, 0);
        self.close(file)?;
        cut
    }

    /// The names of a file's extended attributes but those that are other parts of it.
    fn attribute_names(&mut self, path: &str) -> Result<Vec<String>> {
        let place = self.path(path);
        let request = attribute::List {
            volume: self.volume,
            directory: ROOT,
            bitmap: attribute::Bitmap::default(),
            count: 0,
            index: 0,
            max_reply: NAMES,
            path: Path::utf8(place.as_bytes()),
        };
        let answer = match self.call(command::LIST_EXT_ATTRS, path, |w| request.encode(w)) {
            Err(error) if error.ends_session() => return Err(error),
            Err(_) => return Ok(Vec::new()), // volumes without extended attributes
            Ok(answer) => answer,
        };
        let reply = attribute::Reply::decode(&mut Reader::new(&answer)).map_err(malformed)?;
        let names = reply.bytes.unwrap_or_default().split(|byte| *byte == 0);
        let names = names.filter(|name| !name.is_empty()).filter_map(|name| std::str::from_utf8(name).ok());
        let is_own = |name: &&str| !PARTS.contains(name) && *name != COMMENT;
        Ok(names.filter(is_own).map(str::to_owned).collect())
    }
}

/// An entry, or a name that is not UTF-8. Parameters are in the order of their bits; a name lies behind them, at the offset that
/// its parameter gives, counted from the first parameter.
fn entry(
    is_folder: bool,
    parameters: &[u8],
) -> std::result::Result<std::result::Result<TreeEntry, String>, wire::Malformed> {
    let mut r = Reader::new(parameters);
    let attributes = if is_folder { 0 } else { r.u16_be()? };
    let modified = r.i32_be()?;
    let (info, name_at, length) = match is_folder {
        true => (FinderInfo::NONE, r.u16_be()?, 0),
        false => {
            let info = FinderInfo::from_prefix(r.take(FinderInfo::LEN)?);
            let (a, b) = file_tail(&mut r)?;
            (info, a, b)
        }
    };
    let mut name = Reader::new(parameters);
    name.skip(name_at.into())?;
    name.skip(4)?; // the text encoding
    let length_of_name = name.u16_be()?;
    let name = name.take(length_of_name.into())?;
    let kind = match (is_folder, info.is_symlink()) {
        (true, _) => Kind::Folder,
        (_, true) => Kind::Link,
        _ => Kind::File,
    };
    let modified: Option<Stamp> = (modified != i32::MIN).then(|| (i64::from(modified) + EPOCH, 0));
    Ok(match std::str::from_utf8(name) {
        // A slash in a name of the Finder is a colon in one of Unix.
        Ok(name) => Ok(TreeEntry {
            name: name.replace('/', ":"),
            kind,
            length,
            modified,
            changed: None,
            links: 1,
            is_locked: attributes & WRITE_INHIBIT != 0,
            mode: None,
            owner: None,
        }),
        Err(_) => Err(String::from_utf8_lossy(name).into_owned()),
    })
}

/// The length of the data (bit 11) and the place of the name (bit 13); four bytes of padding follow the latter.
fn file_tail(r: &mut Reader<'_>) -> std::result::Result<(u16, u64), wire::Malformed> {
    let length = r.u64_be()?;
    Ok((r.u16_be()?, length))
}
