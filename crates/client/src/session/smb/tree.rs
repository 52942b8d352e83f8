//! Trees over SMB: listings with dates, streams by name, extended attributes.

use ::smb::wire::create::{Disposition, Options};
use ::smb::wire::fscc::directory::{self, Form};
use ::smb::wire::fscc::file_info::Basic;
use ::smb::wire::fscc::{FileAttributes, FileClass, ea, stream};
use ::smb::wire::query_directory::Flags as ListFlags;
use ::smb::wire::security::AccessMask;
use ::smb::wire::time::NtTime;
use ::smb::wire::{Command, Dialect, Status};
use vfs::mac::plist;
use vfs::names::Map;
use wire::Reader;

use super::{CREDIT, Smb, malformed, refused};
use crate::metadata::{Aspect, COMMENT};
use crate::session::{FileId, Session};
use crate::tree::{Entry, Extra, Kind, Listing, Stamp, Tree, bytes, stamp, text, told};
use crate::{Error, Result};

/// IO_REPARSE_TAG_SYMLINK, MS-FSCC 2.1.2.1.
const SYMLINK: u32 = 0xA000_000C;
/// Seconds from 1601 to 1970.
const EPOCH: i64 = 11_644_473_600;

impl Tree for Smb {
    /// Names that Windows forbids have characters of the private use area, as Macs send them.
    fn native(&self, path: &str) -> String {
        let names = path.split('/').map(|name| Map::Sfm.encode(name.as_bytes()));
        let names = names.map(|name| String::from_utf8_lossy(&name).into_owned());
        names.collect::<Vec<_>>().join("/")
    }

    fn entries(&mut self, folder: &str) -> Result<Listing> {
        let change = |request: &mut ::smb::wire::create::Request<'_>| {
            (request.disposition, request.options) = (Disposition::OPEN, Options::DIRECTORY_FILE);
            request.desired_access = AccessMask::FILE_READ.0;
        };
        self.with(folder, change, |smb, file| {
            let (mut listing, mut flags) = (Listing::default(), ListFlags::RESTART_SCANS);
            while let Some(page) = smb.next_page(file, flags)? {
                for listed in directory::decode(Form::IdBoth, &page).map_err(malformed)? {
                    match String::from_utf16(&listed.name) {
                        Ok(name) if name == "." || name == ".." => {}
                        Ok(name) => {
                            let name = Map::Sfm.decode(name.as_bytes());
                            let name = String::from_utf8_lossy(&name).into_owned();
                            listing.entries.push(entry(name, &listed.facts));
                        }
                        Err(_) => listing.unreadable.push(String::from_utf16_lossy(&listed.name)),
                    }
                }
                flags = ListFlags::NONE;
            }
            Ok(listing)
        })
    }

    fn read(&mut self, file: FileId, offset: u64, length: usize) -> Result<Vec<u8>> {
        let key = *self.files.get(file)?;
        let length = length.min(self.largest());
        let charge =
            if self.client.dialect() == Dialect::SMB_2_0_2 { 0 } else { length.div_ceil(CREDIT) as u16 };
        let request = ::smb::client::read_request(key, offset, length as u32);
        let id = self.send(self.request(Command::READ, |w| request.encode(w)).charge(charge), &[])?;
        let answer = self.answer(Some(id))?;
        match answer.status() {
            Status::SUCCESS => {
                Ok(::smb::wire::read::Response::decode(&answer.message).map_err(malformed)?.data.to_vec())
            }
            Status::END_OF_FILE => Ok(Vec::new()),
            status => Err(refused(status, "a read")),
        }
    }

    fn extra(&mut self, path: &str, kind: Kind) -> Result<Extra> {
        let change = |request: &mut ::smb::wire::create::Request<'_>| {
            request.disposition = Disposition::OPEN;
            request.options = Options::OPEN_REPARSE_POINT;
            request.desired_access = (AccessMask::READ_ATTRIBUTES | AccessMask::READ_EA).0;
        };
        let (basic, streams, eas) = self.with(path, change, |smb, file| {
            let basic = smb.query(file, FileClass::BASIC, &[])?;
            let basic = Basic::decode(&mut Reader::new(&basic)).map_err(malformed)?;
            let streams = smb.query(file, FileClass::STREAM, &[]).or_else(none)?;
            let eas = smb.query(file, FileClass::FULL_EA, &[]).or_else(none)?;
            Ok((basic, streams, eas))
        })?;
        let mut extra = Extra {
            created: date(basic.creation_time),
            modified: date(basic.last_write_time),
            ..Extra::default()
        };
        let bits = [
            FileAttributes::HIDDEN,
            FileAttributes::SYSTEM,
            FileAttributes::ARCHIVE,
            FileAttributes::READONLY,
        ];
        for (flag, bit) in extra.flags.iter_mut().zip(bits) {
            *flag = Some(basic.attributes.intersects(bit));
        }
        if kind == Kind::Link {
            extra.target = text(told(self, path, Aspect::Target)?);
            return Ok(extra);
        }
        extra.attributes = attributes(&eas)?;
        for name in names(&streams)? {
            self.add_stream(path, name, &mut extra)?;
        }
        Ok(extra)
    }
}

impl Smb {
    fn add_stream(&mut self, path: &str, name: String, extra: &mut Extra) -> Result<()> {
        match name.as_str() {
            "AFP_AfpInfo" => {
                extra.finder_info = bytes(told(self, path, Aspect::FinderInfo)?);
                extra.backup = stamp(told(self, path, Aspect::Backup)?);
            }
            "AFP_Resource" => extra.fork = bytes(told(self, path, Aspect::Fork)?).unwrap_or_default(),
            _ => {
                let Some(value) = bytes(told(self, path, Aspect::Attribute(&name))?) else { return Ok(()) };
                match plist::read_text(&value).filter(|_| name == COMMENT) {
                    Some(comment) => extra.comment = Some(comment),
                    None => extra.streams.push((name, value)),
                }
            }
        }
        Ok(())
    }
}

/// A server that does not know a class of information has none of it.
fn none(error: Error) -> Result<Vec<u8>> {
    match error {
        error if error.ends_session() => Err(error),
        _ => Ok(Vec::new()),
    }
}

/// The names of a file's streams but its data.
fn names(bytes: &[u8]) -> Result<Vec<String>> {
    let streams = stream::decode(&mut Reader::new(bytes)).map_err(malformed)?;
    let name = |stream: stream::Stream| {
        let whole = String::from_utf16_lossy(&stream.name);
        let name = whole.strip_prefix(':')?.strip_suffix(":$DATA")?;
        let name = Map::Sfm.decode(name.as_bytes());
        Some(String::from_utf8_lossy(&name).into_owned()).filter(|name| !name.is_empty())
    };
    Ok(streams.into_iter().filter_map(name).collect())
}

fn attributes(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let all = ea::decode(&mut Reader::new(bytes)).map_err(malformed)?;
    Ok(all.into_iter().map(|one| (String::from_utf8_lossy(&one.name).into_owned(), one.value)).collect())
}

fn date(time: NtTime) -> Option<Stamp> {
    (time.0 != 0).then(|| ((time.0 / 10_000_000) as i64 - EPOCH, (time.0 % 10_000_000) as u32 * 100))
}

fn entry(name: String, facts: &directory::Facts) -> Entry {
    let is = |bit| facts.attributes.contains(bit);
    let kind = match facts.reparse_tag {
        SYMLINK => Kind::Link,
        _ if is(FileAttributes::REPARSE_POINT) => Kind::Other,
        _ if is(FileAttributes::DIRECTORY) => Kind::Folder,
        _ => Kind::File,
    };
    Entry {
        name,
        kind,
        length: facts.end_of_file,
        modified: date(facts.last_write_time),
        changed: date(facts.change_time),
        links: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_named_without_their_type_and_the_data_is_none_of_them() {
        // MS-FSCC 2.4.49: the data is "::$DATA", others are ":name:$DATA".
        let stream =
            |name: &str| stream::Stream { name: name.encode_utf16().collect(), ..Default::default() };
        let mut w = wire::Writer::new();
        stream::encode(
            &[stream("::$DATA"), stream(":AFP_AfpInfo:$DATA"), stream(":a\u{f022}b:$DATA")],
            &mut w,
        );
        assert_eq!(names(w.as_bytes()).unwrap(), ["AFP_AfpInfo", "a:b"]);
    }

    #[test]
    fn dates_count_from_1601() {
        // 1970-01-01 in MS-DTYP's FILETIME.
        assert_eq!(date(NtTime(116_444_736_000_000_000)), Some((0, 0)));
        assert_eq!(date(NtTime(0)), None);
    }
}
