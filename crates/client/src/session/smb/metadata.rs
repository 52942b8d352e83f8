//! Metadata as clients of SMB write and read it: named streams, FileBasicInformation, reparse points.

use ::smb::wire::create::{self, Disposition, Options};
use ::smb::wire::fscc::file_info::{Basic, Standard};
use ::smb::wire::fscc::reparse::{Reparse, SymlinkFlags};
use ::smb::wire::fscc::{FileAttributes, FileClass, ea};
use ::smb::wire::fsctl::Code;
use ::smb::wire::security::AccessMask;
use ::smb::wire::time::NtTime;
use ::smb::wire::{Command, FileKey, InfoType, Status, ioctl, read, set_info};
use vfs::mac::info_stream::InfoStream;
use vfs::mac::{FinderInfo, plist};
use vfs::names::Map;
use wire::{Reader, Writer};

use super::acl::uid_of;
use super::{LIST_BYTES, Smb, malformed, refused};
use crate::metadata::acl::{inheriting_file, passes_on};
use crate::metadata::{Aspect, AspectState, COMMENT, MetadataValue, Peer, second_name};
use crate::session::{DataTransfer, OpenIntent, Session};
use crate::{Error, Result};

/// Bytes of one read.
const PIECE: u32 = 64 << 10;
/// The longest stream that is read.
const LONGEST: u64 = crate::tree::LONGEST as u64;
/// Seconds from 1601 to 1970.
const EPOCH: i64 = 11_644_473_600;
/// Where the data of a file with a hole is.
const BEHIND_HOLE: u64 = 1 << 20;

impl Peer for Smb {
    fn put(&mut self, path: &str, aspect: Aspect<'_>, value: &MetadataValue) -> Result<bool> {
        match (aspect, value) {
            (Aspect::FinderInfo, MetadataValue::Bytes(bytes)) => {
                let info = self.info(path)?.unwrap_or_default();
                let info = InfoStream { finder_info: FinderInfo::from_prefix(bytes), ..info };
                self.put_stream(path, "AFP_AfpInfo", &info.build())?;
            }
            (Aspect::Fork, MetadataValue::Bytes(bytes)) => self.put_stream(path, "AFP_Resource", bytes)?,
            (Aspect::Comment, MetadataValue::Text(text)) => {
                self.put_stream(path, COMMENT, &plist::write_text(text))?
            }
            (Aspect::Attribute(name), MetadataValue::Bytes(bytes)) => self.put_stream(path, name, bytes)?,
            (Aspect::Ea(name), MetadataValue::Bytes(bytes)) => self.set_attribute(path, name, bytes)?,
            (Aspect::Created, MetadataValue::Time(..)) => {
                self.put_basic(path, |basic| basic.creation_time = nt(value))?
            }
            (Aspect::Modified, MetadataValue::Time(..)) => {
                self.put_basic(path, |basic| basic.last_write_time = nt(value))?
            }
            (Aspect::Accessed, MetadataValue::Time(..)) => {
                self.put_basic(path, |basic| basic.last_access_time = nt(value))?
            }
            (Aspect::Backup, MetadataValue::Time(secs, _)) => {
                // A server removes the stream if all bytes of the Finder info are zero.
                let info = self.info(path)?.filter(|info| !info.finder_info.is_none());
                let Some(info) = info else { return Ok(false) };
                let backup = Some(vfs::Time { secs: *secs, nanos: 0 });
                self.put_stream(path, "AFP_AfpInfo", &InfoStream { backup, ..info }.build())?;
            }
            (_, MetadataValue::Flag(on)) if bit(aspect).is_some() => {
                let (bit, on) = (bit(aspect).unwrap_or(FileAttributes::NONE), *on);
                self.put_basic(path, |basic| {
                    basic.attributes = if on { FileAttributes::NORMAL | bit } else { FileAttributes::NORMAL };
                })?;
            }
            (Aspect::Target, MetadataValue::Text(target)) => self.put_link(path, target)?,
            (Aspect::Links, _) => self.put_name(path)?,
            (Aspect::Sparse, _) => self.put_sparse(path)?,
            (Aspect::Acl, MetadataValue::Acl(entries)) => self.put_acl(path, entries)?,
            (Aspect::Inherited, _) => {
                self.put_acl(path, &passes_on())?;
                self.make_file(&inheriting_file(path))?;
            }
            (Aspect::Name, _) => self.make_file(&shown(path))?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn named(&self, path: &str) -> String {
        shown(path)
    }

    fn get(&mut self, path: &str, aspect: Aspect<'_>) -> Result<AspectState> {
        Ok(match aspect {
            Aspect::FinderInfo => match self.info(path)? {
                Some(info) => AspectState::Value(MetadataValue::Bytes(info.finder_info.as_bytes().to_vec())),
                None => AspectState::Missing,
            },
            Aspect::Backup => match self.info(path)?.and_then(|info| info.backup) {
                Some(time) => AspectState::Value(MetadataValue::Time(time.secs, time.nanos)),
                None => AspectState::Missing,
            },
            Aspect::Fork => bytes(self.filled(path, "AFP_Resource")?),
            Aspect::Attribute(name) => bytes(self.stream(path, name)?),
            Aspect::Comment => match self.filled(path, COMMENT)? {
                Some(list) => plist::read_text(&list)
                    .map_or(AspectState::Missing, |text| AspectState::Value(MetadataValue::Text(text))),
                None => AspectState::Missing,
            },
            Aspect::Ea(name) => self.ea(path, name)?,
            Aspect::Created => date(self.basic(path)?.creation_time),
            Aspect::Modified => date(self.basic(path)?.last_write_time),
            Aspect::Accessed => date(self.basic(path)?.last_access_time),
            Aspect::Hidden | Aspect::System | Aspect::Archive | Aspect::ReadOnly => {
                let bit = bit(aspect).unwrap_or(FileAttributes::NONE);
                AspectState::Value(MetadataValue::Flag(self.basic(path)?.attributes.intersects(bit)))
            }
            Aspect::Owner => self.owner(path)?,
            Aspect::Acl => AspectState::Value(MetadataValue::Acl(self.acl(path)?)),
            Aspect::Inherited => AspectState::Value(MetadataValue::Acl(self.acl(&inheriting_file(path))?)),
            Aspect::Target => self.link(path)?,
            Aspect::Links => {
                AspectState::Value(MetadataValue::Number(u64::from(self.standard(path)?.number_of_links)))
            }
            Aspect::Sparse => {
                let standard = self.standard(path)?;
                AspectState::Value(MetadataValue::Flag(standard.allocation_size < standard.end_of_file / 2))
            }
            Aspect::Name => {
                self.stat(&shown(path))?;
                let name = path.rsplit('/').next().unwrap_or_default();
                AspectState::Value(MetadataValue::Text(name.into()))
            }
            Aspect::Mode | Aspect::Group | Aspect::RenameLock | Aspect::DeleteLock => AspectState::Impossible,
        })
    }
}

/// The path of a file whose name has characters that Windows forbids: as Macs send it.
fn shown(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let name = Map::Sfm.encode(name.as_bytes());
    format!("{folder}/{}", String::from_utf8_lossy(&name))
}

fn bytes(found: Option<Vec<u8>>) -> AspectState {
    found.map_or(AspectState::Missing, |bytes| AspectState::Value(MetadataValue::Bytes(bytes)))
}

fn bit(aspect: Aspect<'_>) -> Option<FileAttributes> {
    Some(match aspect {
        Aspect::Hidden => FileAttributes::HIDDEN,
        Aspect::System => FileAttributes::SYSTEM,
        Aspect::Archive => FileAttributes::ARCHIVE,
        Aspect::ReadOnly => FileAttributes::READONLY,
        _ => return None,
    })
}

/// In units of 100 ns since 1601.
fn nt(time: &MetadataValue) -> NtTime {
    let MetadataValue::Time(secs, nanos) = time else { return NtTime::UNCHANGED };
    NtTime(((secs + EPOCH) * 10_000_000 + i64::from(nanos / 100)) as u64)
}

fn date(time: NtTime) -> AspectState {
    let (secs, rest) = (time.0 / 10_000_000, time.0 % 10_000_000);
    AspectState::Value(MetadataValue::Time(secs as i64 - EPOCH, rest as u32 * 100))
}

pub(super) fn existing(request: &mut create::Request<'_>) {
    request.disposition = Disposition::OPEN;
}

/// Opens only to look.
fn looked(request: &mut create::Request<'_>) {
    existing(request);
    request.desired_access = (AccessMask::READ_ATTRIBUTES | AccessMask::READ_CONTROL).0;
}

impl Smb {
    /// The Finder info and what is beside it.
    fn info(&mut self, path: &str) -> Result<Option<InfoStream>> {
        let bytes = self.filled(path, "AFP_AfpInfo")?;
        bytes.map(|bytes| InfoStream::parse(&bytes).map_err(malformed)).transpose()
    }

    pub(super) fn put_stream(&mut self, path: &str, name: &str, bytes: &[u8]) -> Result<()> {
        let name = String::from_utf8_lossy(&Map::Sfm.encode(name.as_bytes())).into_owned();
        let change = |request: &mut create::Request<'_>| request.disposition = Disposition::OVERWRITE_IF;
        let key = self.create(&format!("{path}:{name}"), change)?;
        let file = self.files.put(key);
        let mut done = Ok(());
        for (number, piece) in bytes.chunks(PIECE as usize).enumerate() {
            let offset = number as u64 * u64::from(PIECE);
            let started = self.start(file, DataTransfer::Write { offset, data: piece, stable: false });
            done = done.and(started.and_then(|_| self.finish()).map(drop));
        }
        self.close(file)?;
        done
    }

    /// A named stream that has bytes. `None`: it is missing or empty.
    fn filled(&mut self, path: &str, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.stream(path, name)?.filter(|bytes| !bytes.is_empty()))
    }

    /// A named stream.
    fn stream(&mut self, path: &str, name: &str) -> Result<Option<Vec<u8>>> {
        let name = String::from_utf8_lossy(&Map::Sfm.encode(name.as_bytes())).into_owned();
        let change = |request: &mut create::Request<'_>| {
            existing(request);
            request.desired_access = AccessMask::FILE_READ.0;
        };
        let read = self.with(&format!("{path}:{name}"), change, |smb, file| smb.all(file));
        match read {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Error::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All bytes of an open.
    fn all(&mut self, file: FileKey) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while (all.len() as u64) < LONGEST {
            let request = ::smb::client::read_request(file, all.len() as u64, PIECE);
            let id = self.send(self.request(Command::READ, |w| request.encode(w)).charge(1), &[])?;
            let answer = self.answer(Some(id))?;
            match answer.status() {
                Status::SUCCESS => {
                    all.extend(read::Response::decode(&answer.message).map_err(malformed)?.data)
                }
                Status::END_OF_FILE => return Ok(all),
                status => return Err(refused(status, "a read")),
            }
        }
        Err(Error::Other("a stream that is too long to be held in memory".into()))
    }

    fn basic(&mut self, path: &str) -> Result<Basic> {
        let bytes = self.with(path, looked, |smb, file| smb.query(file, FileClass::BASIC, &[]))?;
        Basic::decode(&mut Reader::new(&bytes)).map_err(malformed)
    }

    fn standard(&mut self, path: &str) -> Result<Standard> {
        let bytes = self.with(path, looked, |smb, file| smb.query(file, FileClass::STANDARD, &[]))?;
        Standard::decode(&mut Reader::new(&bytes)).map_err(malformed)
    }

    fn put_basic(&mut self, path: &str, change: impl FnOnce(&mut Basic)) -> Result<()> {
        let mut basic = Basic {
            creation_time: NtTime::UNCHANGED,
            last_access_time: NtTime::UNCHANGED,
            last_write_time: NtTime::UNCHANGED,
            change_time: NtTime::UNCHANGED,
            attributes: FileAttributes::NONE,
        };
        change(&mut basic);
        let mut w = Writer::new();
        basic.encode(&mut w);
        let open = |request: &mut create::Request<'_>| {
            existing(request);
            request.desired_access = AccessMask::WRITE_ATTRIBUTES.0;
        };
        self.with(path, open, |smb, file| smb.set(file, FileClass::BASIC, w.as_bytes()))
    }

    pub(super) fn set(&mut self, file: FileKey, class: FileClass, data: &[u8]) -> Result<()> {
        let request = set_info::Request {
            info_type: InfoType::FILE,
            information_class: class.0,
            additional_information: 0,
            file,
            data,
        };
        self.call(Command::SET_INFO, |w| request.encode(w)).map(drop)
    }

    fn ea(&mut self, path: &str, name: &str) -> Result<AspectState> {
        let bytes = self.with(path, existing, |smb, file| smb.query(file, FileClass::FULL_EA, &[]));
        let bytes = match bytes {
            Err(Error::Other(why)) if why.contains("NO_EAS") => return Ok(AspectState::Missing),
            other => other?,
        };
        let all = ea::decode(&mut Reader::new(&bytes)).map_err(malformed)?;
        let found = all.into_iter().find(|one| one.name.eq_ignore_ascii_case(name.as_bytes()));
        Ok(found.map_or(AspectState::Missing, |one| AspectState::Value(MetadataValue::Bytes(one.value))))
    }

    /// The owner, if it is a user of Unix.
    fn owner(&mut self, path: &str) -> Result<AspectState> {
        let owner = self.descriptor(path)?.owner;
        Ok(match owner.as_ref().and_then(uid_of) {
            Some(uid) => AspectState::Value(MetadataValue::Number(u64::from(uid))),
            None => AspectState::Impossible,
        })
    }

    pub(super) fn control(&mut self, file: FileKey, code: Code, input: &[u8]) -> Result<Vec<u8>> {
        let request = ioctl::Request {
            control_code: code,
            file,
            input: 0..0,
            max_input_response: 0,
            max_output_response: LIST_BYTES,
            flags: ioctl::Request::IS_FSCTL,
        };
        let answer = self.call(Command::IOCTL, |w| request.encode(input, w))?;
        Ok(ioctl::Response::decode(&answer.message).map_err(malformed)?.output)
    }

    fn put_link(&mut self, path: &str, target: &str) -> Result<()> {
        let target: Vec<u16> = target.encode_utf16().collect();
        let link = Reparse::Symlink {
            substitute_name: target.clone(),
            print_name: target,
            flags: SymlinkFlags::RELATIVE,
        };
        let mut w = Writer::new();
        link.encode(&mut w);
        let change = |request: &mut create::Request<'_>| {
            request.disposition = Disposition::CREATE;
            request.options = Options::OPEN_REPARSE_POINT;
        };
        let set =
            self.with(path, change, |smb, file| smb.control(file, Code::SET_REPARSE_POINT, w.as_bytes()));
        set.map(drop)
    }

    fn link(&mut self, path: &str) -> Result<AspectState> {
        let change = |request: &mut create::Request<'_>| {
            looked(request);
            request.options = Options::OPEN_REPARSE_POINT;
        };
        let read = self.with(path, change, |smb, file| smb.control(file, Code::GET_REPARSE_POINT, &[]));
        let bytes = match read {
            Err(Error::Other(why)) if why.contains("NOT_A_REPARSE_POINT") => return Ok(AspectState::Missing),
            other => other?,
        };
        let target = match Reparse::decode(&mut Reader::new(&bytes)).map_err(malformed)? {
            Reparse::Symlink { substitute_name, .. } => substitute_name,
            Reparse::Nfs(::smb::wire::fscc::reparse::Nfs::Symlink(target)) => target,
            _ => return Ok(AspectState::Missing),
        };
        Ok(AspectState::Value(MetadataValue::Text(String::from_utf16_lossy(&target).replace('\\', "/"))))
    }

    /// A second name: FileLinkInformation, MS-FSCC 2.4.27.
    fn put_name(&mut self, path: &str) -> Result<()> {
        let name = format!("{}{}", self.base, second_name(path).replace('/', "\\"));
        let units: Vec<u16> = name.encode_utf16().collect();
        let mut w = Writer::new();
        w.zeros(16); // no replacing, no folder
        w.u32_le(2 * units.len() as u32);
        units.iter().for_each(|unit| w.u16_le(*unit));
        self.with(path, existing, |smb, file| smb.set(file, FileClass::LINK, w.as_bytes()))
    }

    fn put_sparse(&mut self, path: &str) -> Result<()> {
        let file = self.open(path, OpenIntent::Create)?;
        let key = *self.files.get(file)?;
        let sparse = self.control(key, Code::SET_SPARSE, &[1]);
        let started =
            self.start(file, DataTransfer::Write { offset: BEHIND_HOLE, data: &[7; 4096], stable: true });
        let written = started.and_then(|_| self.finish());
        self.close(file)?;
        sparse.and(written).map(drop)
    }
}
