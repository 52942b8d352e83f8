//! Metadata as Macs write and read it over AFP: parameters, forks, extended attributes, the desktop database.

use ::afp::client::ROOT;
use ::afp::wire::desktop::{AddComment, Comment, OfFile, OpenDt, OpenDtReply};
use ::afp::wire::directory::{Place, SetParms};
use ::afp::wire::{DirBitmap, FileBitmap, Path, SetParameters, UnixPrivileges, attribute, command};
use vfs::mac::FinderInfo;
use vfs::names::{decode_mac_roman, encode_mac_roman};
use wire::{Reader, Writer};

use super::{Afp, malformed};
use crate::metadata::acl::{inheriting_file, passes_on};
use crate::metadata::{Aspect, AspectState, MetadataValue, Peer};
use crate::session::{OpenIntent, Session};
use crate::{Error, Result};

/// Seconds from 1970 to 2000.
const EPOCH: i64 = 946_684_800;
/// A date that was never set: Apple Filing Protocol Reference, "Date-Time Values".
const NEVER: i32 = i32::MIN;
/// Bytes of one read or write.
const PIECE: usize = 64 << 10;
/// The longest attribute that is read.
const LONGEST_ATTRIBUTE: u32 = 4 << 20;
/// Set the bits, or clear them.
const SET: u16 = 0x8000;
/// The bits of "AFP File Attributes" against writing.
pub(super) const WRITE_INHIBIT: u16 = 0x20;

impl Peer for Afp {
    fn put(&mut self, path: &str, aspect: Aspect<'_>, value: &MetadataValue) -> Result<bool> {
        let mut set = SetParameters::default();
        let seconds = |value: &MetadataValue| match value {
            MetadataValue::Time(secs, _) => i32::try_from(secs - EPOCH).ok(),
            _ => None,
        };
        match (aspect, value) {
            (Aspect::FinderInfo, MetadataValue::Bytes(bytes)) => {
                set.finder_info = Some(*FinderInfo::from_prefix(bytes).as_bytes());
            }
            (Aspect::Fork, MetadataValue::Bytes(bytes)) => return self.put_fork(path, bytes).map(|()| true),
            (Aspect::Comment, MetadataValue::Text(text)) => {
                return self.put_comment(path, text).map(|()| true);
            }
            (Aspect::Attribute(name), MetadataValue::Bytes(bytes)) => {
                return self.set_attribute(path, name, bytes).map(|()| true);
            }
            (Aspect::Created, _) => set.created = seconds(value),
            (Aspect::Modified, _) => set.modified = seconds(value),
            (Aspect::Backup, _) => set.backup = seconds(value),
            (Aspect::Mode, MetadataValue::Number(mode)) => {
                let (_, unix) = self.unix(path)?;
                set.unix = Some(UnixPrivileges { mode: *mode as u32, ..unix });
            }
            (Aspect::Acl, MetadataValue::Acl(entries)) => return self.put_acl(path, entries).map(|()| true),
            (Aspect::Inherited, _) => {
                self.put_acl(path, &passes_on())?;
                return self.make_file(&inheriting_file(path)).map(|()| true);
            }
            (Aspect::Name, _) => return self.make_file(path).map(|()| true),
            (_, MetadataValue::Flag(on)) => match bits(aspect) {
                Some(bits) => set.attributes = Some(if *on { bits | SET } else { bits }),
                None => return Ok(false),
            },
            _ => return Ok(false),
        }
        self.set(path, &set)?;
        Ok(true)
    }

    fn get(&mut self, path: &str, aspect: Aspect<'_>) -> Result<AspectState> {
        let date = |seconds: i32| match seconds {
            NEVER => AspectState::Missing,
            seconds => AspectState::Value(MetadataValue::Time(i64::from(seconds) + EPOCH, 0)),
        };
        Ok(match aspect {
            Aspect::FinderInfo => {
                let bytes = self.parameters(path, FileBitmap::FINDER_INFO, DirBitmap::FINDER_INFO)?;
                AspectState::Value(MetadataValue::Bytes(bytes))
            }
            Aspect::Fork => match self.fork(path, true)? {
                bytes if bytes.is_empty() => AspectState::Missing,
                bytes => AspectState::Value(MetadataValue::Bytes(bytes)),
            },
            Aspect::Comment => self.comment(path)?,
            Aspect::Attribute(name) => self.value(path, name)?,
            Aspect::Created => date(self.number(path, FileBitmap::CREATED, DirBitmap::CREATED)?),
            Aspect::Modified => date(self.number(path, FileBitmap::MODIFIED, DirBitmap::MODIFIED)?),
            Aspect::Backup => date(self.number(path, FileBitmap::BACKUP, DirBitmap::BACKUP)?),
            Aspect::Mode => {
                AspectState::Value(MetadataValue::Number(u64::from(self.unix(path)?.1.mode & 0o7777)))
            }
            Aspect::Owner => AspectState::Value(MetadataValue::Number(u64::from(self.unix(path)?.1.user))),
            Aspect::Group => AspectState::Value(MetadataValue::Number(u64::from(self.unix(path)?.1.group))),
            Aspect::Target => {
                let bytes = self.parameters(path, FileBitmap::FINDER_INFO, DirBitmap::FINDER_INFO)?;
                if !FinderInfo::from_prefix(&bytes).is_symlink() {
                    return Ok(AspectState::Missing);
                }
                let target = self.fork(path, false)?;
                AspectState::Value(MetadataValue::Text(String::from_utf8_lossy(&target).into_owned()))
            }
            Aspect::Acl => AspectState::Value(MetadataValue::Acl(self.acl(path)?)),
            Aspect::Inherited => AspectState::Value(MetadataValue::Acl(self.acl(&inheriting_file(path))?)),
            Aspect::Name => {
                self.stat(path)?;
                let name = path.rsplit('/').next().unwrap_or_default();
                AspectState::Value(MetadataValue::Text(name.into()))
            }
            _ => match bits(aspect) {
                Some(bits) => {
                    let bytes = self.parameters(path, FileBitmap::ATTRIBUTES, DirBitmap::ATTRIBUTES)?;
                    let found = Reader::new(&bytes).u16_be().map_err(malformed)?;
                    AspectState::Value(MetadataValue::Flag(found & bits != 0))
                }
                None => AspectState::Impossible,
            },
        })
    }
}

/// The bits of "AFP File Attributes".
fn bits(aspect: Aspect<'_>) -> Option<u16> {
    Some(match aspect {
        Aspect::Hidden => 0x01,
        Aspect::System => 0x04,
        Aspect::ReadOnly => WRITE_INHIBIT,
        Aspect::Archive => 0x40,
        Aspect::RenameLock => 0x80,
        Aspect::DeleteLock => 0x100,
        _ => return None,
    })
}

impl Afp {
    fn set(&mut self, path: &str, set: &SetParameters) -> Result<()> {
        let name = self.path(path);
        let place = Place { volume: self.volume, folder: ROOT, path: Path::utf8(name.as_bytes()) };
        let request = SetParms { place, bitmap: set.bitmap(), parameters: &set.to_bytes() };
        self.call(command::SET_FILE_DIR_PARMS, path, |w| request.encode(w)).map(drop)
    }

    pub(super) fn parameters(
        &mut self,
        path: &str,
        files: FileBitmap,
        folders: DirBitmap,
    ) -> Result<Vec<u8>> {
        let name = self.path(path);
        let found = self.client.parameters((self.volume, ROOT, &name), files, folders);
        found.map(|(_, bytes)| bytes).map_err(|error| self.said(error, path))
    }

    fn number(&mut self, path: &str, files: FileBitmap, folders: DirBitmap) -> Result<i32> {
        Reader::new(&self.parameters(path, files, folders)?).i32_be().map_err(malformed)
    }

    /// The UNIX privileges, before and after decoding.
    pub(super) fn unix(&mut self, path: &str) -> Result<(Vec<u8>, UnixPrivileges)> {
        let bytes = self.parameters(path, FileBitmap::UNIX_PRIVILEGES, DirBitmap::UNIX_PRIVILEGES)?;
        let unix = UnixPrivileges::decode(&mut Reader::new(&bytes)).map_err(malformed)?;
        Ok((bytes, unix))
    }

    fn put_fork(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        let file = self.open_fork(path, OpenIntent::Write)?;
        let fork = *self.files.get(file)?;
        let mut done = Ok(());
        for (number, piece) in bytes.chunks(PIECE).enumerate() {
            let written = self.client.write(fork, (number * PIECE) as i64, piece);
            done = done.and(written.map_err(|error| self.said(error, path)));
        }
        self.close(file)?;
        done
    }

    fn fork(&mut self, path: &str, resource: bool) -> Result<Vec<u8>> {
        let name = self.path(path);
        let file = self.open_either(path, &name, resource, OpenIntent::Read)?;
        let fork = *self.files.get(file)?;
        let mut all = Vec::new();
        let done = loop {
            match self.client.read(fork, all.len() as i64, PIECE as i64) {
                Ok(bytes) if bytes.is_empty() => break Ok(()),
                Ok(_) if all.len() > crate::tree::LONGEST => {
                    break Err(Error::Other("a fork that is too long to be held in memory".into()));
                }
                Ok(bytes) => all.extend(bytes),
                Err(error) => break Err(self.said(error, path)),
            }
        };
        self.close(file)?;
        done.map(|()| all)
    }

    /// An extended attribute, in as many pieces as the server makes of it.
    fn value(&mut self, path: &str, name: &str) -> Result<AspectState> {
        let place = self.path(path);
        let request = attribute::Get {
            volume: self.volume,
            directory: ROOT,
            bitmap: attribute::Bitmap::default(),
            offset: 0,
            count: u64::MAX,
            max_reply: LONGEST_ATTRIBUTE,
            path: Path::utf8(place.as_bytes()),
            name: name.as_bytes(),
        };
        let answer = match self.call(command::GET_EXT_ATTR, path, |w| request.encode(w)) {
            Err(Error::Missing(_)) => return Ok(AspectState::Missing),
            // Servers differ: the reference names no code for an attribute that is not there.
            Err(Error::Other(why))
                if ["MISC_ERROR", "ITEM_NOT_FOUND"].iter().any(|code| why.contains(code)) =>
            {
                return Ok(AspectState::Missing);
            }
            other => other?,
        };
        let reply = attribute::Reply::decode(&mut Reader::new(&answer)).map_err(malformed)?;
        Ok(match reply.bytes {
            Some(bytes) => AspectState::Value(MetadataValue::Bytes(bytes.to_vec())),
            None if reply.length == 0 => AspectState::Value(MetadataValue::Bytes(Vec::new())),
            None => AspectState::Missing,
        })
    }

    fn desktop(&mut self) -> Result<u16> {
        let request = OpenDt { volume: self.volume };
        let reply = self.call(command::OPEN_DT, "the desktop database", |w| request.encode(w))?;
        Ok(OpenDtReply::decode(&mut Reader::new(&reply)).map_err(malformed)?.desktop)
    }

    fn put_comment(&mut self, path: &str, text: &str) -> Result<()> {
        let (desktop, place, comment) = (self.desktop()?, self.path(path), encode_mac_roman(text));
        let path_bytes = Path::utf8(place.as_bytes());
        let request = AddComment { desktop, directory: ROOT, path: path_bytes, comment: &comment };
        self.call(command::ADD_COMMENT, path, |w: &mut Writer| request.encode(w)).map(drop)
    }

    fn comment(&mut self, path: &str) -> Result<AspectState> {
        let (desktop, place) = (self.desktop()?, self.path(path));
        let request = OfFile { desktop, directory: ROOT, path: Path::utf8(place.as_bytes()) };
        let reply = match self.call(command::GET_COMMENT, path, |w| request.encode(w)) {
            Err(Error::Other(why)) if why.contains("ITEM_NOT_FOUND") => return Ok(AspectState::Missing),
            other => other?,
        };
        let Comment(comment) = Comment::decode(&mut Reader::new(&reply)).map_err(malformed)?;
        Ok(AspectState::Value(MetadataValue::Text(decode_mac_roman(comment))))
    }
}
