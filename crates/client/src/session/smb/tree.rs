//! Trees over SMB: listings with dates, streams by name, extended attributes.

use ::smb::wire::create::{Disposition, Options};
use ::smb::wire::fscc::directory;
use ::smb::wire::fscc::file_info::{AttributeTag, Basic};
use ::smb::wire::fscc::fs_info::FullSize;
use ::smb::wire::fscc::{FileAttributes, FileClass, FsClass, ea, stream};
use ::smb::wire::query_directory::Flags as ListFlags;
use ::smb::wire::security::AccessMask;
use ::smb::wire::time::NtTime;
use ::smb::wire::{Command, Dialect, InfoType, Status};
use vfs::acl::{Entries, Who};
use vfs::mac::{FinderFlags, FinderInfo, plist};
use vfs::names::Map;
use wire::Reader;

use super::{CREDIT, Smb, malformed, refused};
use crate::metadata::{Aspect, COMMENT};
use crate::security::FileSecurity;
use crate::session::pages::Pages;
use crate::session::{OpenFileId, Session};
use crate::tree::{
    Extra, FLAGS, Kind, Space, Stamp, Tree, TreeEntry, TreeListing, bytes, last_name, stamp, text, told,
};
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

    fn entries(&mut self, folder: &str) -> Result<TreeListing> {
        let change = |request: &mut ::smb::wire::create::Request<'_>| {
            (request.disposition, request.options) = (Disposition::OPEN, Options::DIRECTORY_FILE);
            request.desired_access = AccessMask::FILE_READ.0;
        };
        self.with(folder, change, |smb, file| {
            let (mut listing, mut flags) = (TreeListing::default(), ListFlags::RESTART_SCANS);
            let mut pages = Pages::of(folder);
            while let Some(page) = smb.next_page(file, flags)? {
                pages.page(&page)?;
                for listed in directory::decode(smb.form(), &page).map_err(malformed)? {
                    pages.entry(2 * listed.name.len())?;
                    match String::from_utf16(&listed.name) {
                        Ok(name) if name == "." || name == ".." => {}
                        Ok(name) => {
                            let name = Map::Sfm.decode(name.as_bytes());
                            let name = String::from_utf8_lossy(&name).into_owned();
                            listing.add(entry(name, &listed.facts));
                        }
                        Err(_) => listing.unreadable.push(String::from_utf16_lossy(&listed.name)),
                    }
                }
                flags = ListFlags::NONE;
            }
            Ok(listing.without_doubles())
        })
    }

    fn read(&mut self, file: OpenFileId, offset: u64, length: usize) -> Result<Vec<u8>> {
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

    fn entry(&mut self, path: &str) -> Result<TreeEntry> {
        let (file, info) = self.opened(path, as_it_is)?;
        let attributes = FileAttributes(info.file_attributes);
        let reparse_tag = match attributes.contains(FileAttributes::REPARSE_POINT) {
            true => self.query(file, FileClass::ATTRIBUTE_TAG, &[]).and_then(|bytes| {
                Ok(AttributeTag::decode(&mut Reader::new(&bytes)).map_err(malformed)?.reparse_tag)
            }),
            false => Ok(0),
        };
        self.close_key(file)?;
        let name = Map::Sfm.decode(last_name(path).as_bytes());
        Ok(TreeEntry {
            name: String::from_utf8_lossy(&name).into_owned(),
            kind: kind(attributes, reparse_tag?),
            length: info.end_of_file,
            modified: date(NtTime(info.last_write_time)),
            changed: date(NtTime(info.change_time)),
            links: 1,
            is_locked: attributes.contains(FileAttributes::READONLY),
            mode: None,
            owner: None,
        })
    }

    /// FileRenameInformation, MS-FSCC 2.4.42.2: the whole path from the share's root on.
    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let name: Vec<u16> = format!("{}{}", self.base, to.replace('/', "\\")).encode_utf16().collect();
        let mut w = wire::Writer::new();
        w.u64_le(1); // it replaces
        w.zeros(8); // no other root
        w.u32_le(2 * name.len() as u32);
        name.iter().for_each(|unit| w.u16_le(*unit));
        let change = |request: &mut ::smb::wire::create::Request<'_>| {
            as_it_is(request);
            request.desired_access = (AccessMask::DELETE | AccessMask::READ_ATTRIBUTES).0;
        };
        self.with(from, change, |smb, file| smb.set(file, FileClass::RENAME, w.as_bytes()))
    }

    fn set_length(&mut self, file: OpenFileId, length: u64) -> Result<()> {
        let key = *self.files.get(file)?;
        self.set(key, FileClass::END_OF_FILE, &length.to_le_bytes())
    }

    fn fork_length(&mut self, path: &str) -> Result<u64> {
        match self.stat(&format!("{path}:AFP_Resource")) {
            Err(Error::Missing(_)) => Ok(0),
            other => other,
        }
    }

    fn space(&mut self) -> Result<Space> {
        let found = self.with("", as_it_is, |smb, file| {
            smb.query_any(file, (InfoType::FILE_SYSTEM, FsClass::FULL_SIZE.0), &[])
        })?;
        let found = FullSize::decode(&mut Reader::new(&found)).map_err(malformed)?;
        let unit = u64::from(found.sectors_per_unit) * u64::from(found.bytes_per_sector);
        Ok(Space {
            total: found.total_units.saturating_mul(unit),
            free: found.caller_available_units.saturating_mul(unit),
        })
    }

    /// A stream is removed as a file is; an attribute is removed by an empty value.
    fn drop_part(&mut self, path: &str, part: Aspect<'_>) -> Result<bool> {
        let name = match part {
            Aspect::Attribute(name) => name,
            Aspect::FinderInfo => "AFP_AfpInfo",
            // Servers ignore the removal of this stream, as macOS does.
            Aspect::Fork => return self.put_stream(path, "AFP_Resource", &[]).map(|()| true),
            Aspect::Comment => COMMENT,
            Aspect::Ea(name) => return self.set_attribute(path, name, &[]).map(|()| true),
            _ => return Ok(false),
        };
        let name = String::from_utf8_lossy(&Map::Sfm.encode(name.as_bytes())).into_owned();
        self.remove(&format!("{path}:{name}")).map(|()| true)
    }

    fn rights(&mut self, path: &str) -> Result<Option<Entries>> {
        self.whole_acl(path)
    }

    fn set_rights(&mut self, path: &str, entries: &Entries) -> Result<bool> {
        self.set_whole_acl(path, entries).map(|()| true)
    }

    fn security(&mut self, path: &str, _kind: Kind, _extra: &Extra) -> Result<FileSecurity> {
        self.whole_security(path)
    }

    fn account(&mut self, who: &Who) -> Result<Option<Who>> {
        match who {
            Who::Foreign(sid) => self.account_of(sid),
            _ => Ok(None),
        }
    }

    /// SMB has descriptors instead: the list says what the mode says.
    fn put_unix(&mut self, path: &str, kind: Kind, aspect: Aspect<'_>, number: u32) -> Result<bool> {
        match aspect {
            Aspect::Owner => self.set_owner(path, number),
            Aspect::Group => self.set_group(path, number),
            _ => self.set_mode(path, number, kind == Kind::Folder),
        }
        .map(|()| true)
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
            extra.within_limits(path)?;
        }
        Ok(extra)
    }
}

impl Smb {
    fn add_stream(&mut self, path: &str, name: String, extra: &mut Extra) -> Result<()> {
        match name.as_str() {
            "AFP_AfpInfo" => {
                extra.finder_info = bytes(told(self, path, Aspect::FinderInfo)?);
                hide_as_told(extra);
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

/// Servers that are not Macs, such as smbd, keep the Finder's flag "invisible" and the attribute hidden apart. A file that has one of
/// the two is not shown to Macs, so it is hidden.
fn hide_as_told(extra: &mut Extra) {
    let info = extra.finder_info.as_deref().map_or(FinderInfo::NONE, FinderInfo::from_prefix);
    if info.flags().contains(FinderFlags::IS_INVISIBLE) {
        let hidden = FLAGS.iter().zip(&mut extra.flags).filter(|(aspect, _)| **aspect == Aspect::Hidden);
        hidden.for_each(|(_, flag)| *flag = Some(true));
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
    let name = |stream: stream::StreamEntry| {
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

/// Opens a file, a folder or a link, to look at it.
fn as_it_is(request: &mut ::smb::wire::create::Request<'_>) {
    (request.disposition, request.options) = (Disposition::OPEN, Options::OPEN_REPARSE_POINT);
    request.desired_access = AccessMask::READ_ATTRIBUTES.0;
}

fn kind(attributes: FileAttributes, reparse_tag: u32) -> Kind {
    match reparse_tag {
        SYMLINK => Kind::Link,
        _ if attributes.contains(FileAttributes::REPARSE_POINT) => Kind::Other,
        _ if attributes.contains(FileAttributes::DIRECTORY) => Kind::Folder,
        _ => Kind::File,
    }
}

fn entry(name: String, facts: &directory::Facts) -> TreeEntry {
    TreeEntry {
        name,
        kind: kind(facts.attributes, facts.reparse_tag),
        length: facts.end_of_file,
        modified: date(facts.last_write_time),
        changed: date(facts.change_time),
        links: 1,
        is_locked: facts.attributes.contains(FileAttributes::READONLY),
        mode: None,
        owner: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_named_without_their_type_and_the_data_is_none_of_them() {
        // MS-FSCC 2.4.49: the data is "::$DATA", others are ":name:$DATA".
        let stream =
            |name: &str| stream::StreamEntry { name: name.encode_utf16().collect(), ..Default::default() };
        let mut w = wire::Writer::new();
        stream::encode(
            &[stream("::$DATA"), stream(":AFP_AfpInfo:$DATA"), stream(":a\u{f022}b:$DATA")],
            &mut w,
        );
        assert_eq!(names(w.as_bytes()).unwrap(), ["AFP_AfpInfo", "a:b"]);
    }

    #[test]
    fn a_file_that_the_finder_does_not_show_is_hidden() {
        // kIsInvisible is bit 14 of the Finder flags, at offset 8 of the Finder info (Inside Macintosh, Finder Interface).
        let mut info = [0; 32];
        info[8] = 0x40;
        for (info, hidden) in [(info, true), ([0; 32], false)] {
            let flags = [Some(false), Some(true), None, None, None, None];
            let mut extra = Extra { finder_info: Some(info.to_vec()), flags, ..Extra::default() };
            hide_as_told(&mut extra);
            assert_eq!(extra.flags, [Some(hidden), Some(true), None, None, None, None]);
        }
    }

    #[test]
    fn dates_count_from_1601() {
        // 1970-01-01 in MS-DTYP's FILETIME.
        assert_eq!(date(NtTime(116_444_736_000_000_000)), Some((0, 0)));
        assert_eq!(date(NtTime(0)), None);
    }
}
