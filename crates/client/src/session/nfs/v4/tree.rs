//! Trees over NFS versions 4.1 and 4.2: listings with attributes, named attributes or `._name`, extended attributes, lists, holes.

use ::nfs::wire::v4::OperationNumber as Number;
use ::nfs::wire::v4::attributes::{self as attribute, Source, Values};
use ::nfs::wire::v4::files::{CompoundOperation, Read, Rename, SetAttr};
use ::nfs::wire::v4::ranges::Seek;
use ::nfs::wire::v4::types::{Bitmap, Fattr, FileType, NfsTime};
use ::nfs::wire::xdr::{Decode as _, Opaque};
use vfs::acl::Entries;
use wire::{Reader, Writer};

use super::compound::CompoundResults;
use super::metadata::found;
use super::naming::IdMapper;
use super::{Nfs4, put};
use crate::metadata::{Aspect, MetadataValue, Peer as _};
use crate::session::nfs::rpc::malformed;
use crate::session::nfs::sidecar::{Sidecars as _, path_beside, set_extra};
use crate::session::nfs::tree::drop_sidecars;
use crate::session::{OpenFileId, Session as _};
use crate::tree::{
    Extra, FLAGS, Kind, MetadataLoss, Space, Stamp, Tree, TreeEntry, TreeListing, last_name, text, told,
};
use crate::{Error, Result};

/// NFS4_CONTENT_DATA, RFC 7862 11.
const DATA: u32 = 0;

/// What an entry of a listing has.
const LISTED: [u32; 9] = [
    attribute::TYPE,
    attribute::SIZE,
    attribute::RDATTR_ERROR,
    attribute::MODE,
    attribute::NUMLINKS,
    attribute::OWNER,
    attribute::OWNER_GROUP,
    attribute::TIME_METADATA,
    attribute::TIME_MODIFY,
];
/// What a file has besides its data, but for what has bytes of its own.
const DETAILS: [u32; 10] = [
    attribute::NAMED_ATTR,
    attribute::ARCHIVE,
    attribute::HIDDEN,
    attribute::MODE,
    attribute::OWNER,
    attribute::OWNER_GROUP,
    attribute::SYSTEM,
    attribute::TIME_BACKUP,
    attribute::TIME_CREATE,
    attribute::TIME_MODIFY,
];

impl Tree for Nfs4 {
    fn hides_lists(&self) -> bool {
        self.acl_attribute().is_none()
    }

    fn entries(&mut self, folder: &str) -> Result<TreeListing> {
        let handle = self.folder(folder)?;
        let (mut listing, mut naming) = (TreeListing::default(), std::mem::take(&mut self.naming));
        let listed = self.pages(&handle, folder, &LISTED, &mut |name, attributes| {
            match std::str::from_utf8(name) {
                Ok(name) => listing.add(entry(name, &decoded(attributes)?, &mut naming)),
                Err(_) => listing.unreadable.push(String::from_utf8_lossy(name).into_owned()),
            }
            Ok(())
        });
        self.naming = naming;
        listed?;
        drop_sidecars(&mut listing.entries);
        Ok(listing.without_doubles())
    }

    fn read(&mut self, file: OpenFileId, offset: u64, length: usize) -> Result<Vec<u8>> {
        let length = length.min(self.largest());
        let file = self.files.get(file)?;
        let (handle, state) = (file.handle.clone(), file.state);
        let read = CompoundOperation::Read(Read { state, offset, count: length as u32 });
        let answer = self.call(&[put(&handle), read], "a read")?;
        let mut results = CompoundResults::of(&answer, "a read")?;
        results.skip(Number::PUTFH)?;
        Ok(results.read()?.to_vec())
    }

    /// SEEK, which came with minor version 2. Not all servers have it.
    fn next_data(&mut self, file: OpenFileId, offset: u64) -> Result<Option<u64>> {
        if self.minor < 2 {
            return Ok(Some(offset));
        }
        let file = self.files.get(file)?;
        let (handle, state) = (file.handle.clone(), file.state);
        let answer = self
            .call(&[put(&handle), CompoundOperation::Seek(Seek { state, offset, what: DATA })], "a hole")?;
        let mut results = CompoundResults::of(&answer, "a hole")?;
        results.skip(Number::PUTFH)?;
        match results.sought() {
            Err(error) if !error.ends_session() => Ok(Some(offset)),
            other => other,
        }
    }

    fn entry(&mut self, path: &str) -> Result<TreeEntry> {
        let answer = self.on_name(path, CompoundOperation::GetAttr(Bitmap::of(&LISTED)))?;
        Ok(entry(last_name(path), &found(&answer, path)?.values()?, &mut self.naming))
    }

    /// A `._name` goes with the file on a server without named attributes.
    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        self.rename_one(from, to)?;
        self.folders.clear();
        if self.has_named == Some(true) {
            return Ok(());
        }
        match self.rename_one(&path_beside(from), &path_beside(to)) {
            Err(error) if error.ends_session() => Err(error),
            _ => Ok(()),
        }
    }

    fn set_length(&mut self, file: OpenFileId, length: u64) -> Result<()> {
        let file = self.files.get(file)?;
        let (handle, state) = (file.handle.clone(), file.state);
        let values = Values { size: Some(length), ..Values::default() };
        let mut w = Writer::new();
        values.encode_wanted(&Bitmap::of(&[attribute::SIZE]), &mut w);
        let attributes = Fattr::decode(&mut Reader::new(w.as_bytes())).map_err(malformed)?;
        let answer =
            self.call(&[put(&handle), CompoundOperation::SetAttr(SetAttr { state, attributes })], "a file")?;
        let mut results = CompoundResults::of(&answer, "a file")?;
        results.skip(Number::PUTFH)?;
        results.take::<Bitmap>(Number::SETATTR).map(drop)
    }

    fn space(&mut self) -> Result<Space> {
        let wanted = [attribute::SPACE_AVAIL, attribute::SPACE_TOTAL];
        let answer = self.on_name("", CompoundOperation::GetAttr(Bitmap::of(&wanted)))?;
        let values: Values<'_> = found(&answer, "")?.values()?;
        let told = values.space_total.zip(values.space_avail);
        let (total, free) = told.ok_or(Error::Unsupported("the space of this server"))?;
        Ok(Space { total, free })
    }

    fn drop_part(&mut self, path: &str, part: Aspect<'_>) -> Result<bool> {
        self.drop_named(path, part)
    }

    fn rights(&mut self, path: &str) -> Result<Option<Entries>> {
        self.whole_acl(path)
    }

    fn set_rights(&mut self, path: &str, entries: &Entries) -> Result<bool> {
        self.set_whole_acl(path, entries)
    }

    fn extra(&mut self, path: &str, kind: Kind) -> Result<Extra> {
        let answer = self.on_name(path, CompoundOperation::GetAttr(Bitmap::of(&DETAILS)))?;
        let values: Values<'_> = found(&answer, path)?.values()?;
        let mut extra = described(&values, &mut self.naming);
        if kind == Kind::Link {
            extra.target = text(told(self, path, Aspect::Target)?);
            return Ok(extra);
        }
        if path.is_empty() {
            return Ok(extra);
        }
        self.add_xattrs(path, &mut extra)?;
        if values.named_attr == Some(true) && self.add_named(path, &mut extra)? {
            return Ok(extra);
        }
        self.add_beside(path, &mut extra)?;
        Ok(extra)
    }

    fn set_extra(&mut self, path: &str, kind: Kind, extra: &Extra) -> Result<Vec<MetadataLoss>> {
        let has_parts = extra.finder_info.as_ref().is_some_and(|info| info.iter().any(|byte| *byte != 0))
            || extra.comment.is_some()
            || !extra.streams.is_empty()
            || !extra.fork.is_empty();
        let is_beside = kind != Kind::Link && has_parts && !self.keeps_named(path)?;
        set_extra(self, path, kind, extra, is_beside)
    }

    /// An owner or a group that the file has already need not be set, which only root may.
    fn put_unix(&mut self, path: &str, _kind: Kind, aspect: Aspect<'_>, number: u32) -> Result<bool> {
        if matches!(aspect, Aspect::Owner | Aspect::Group) {
            let wanted = [attribute::OWNER, attribute::OWNER_GROUP];
            let answer = self.on_name(path, CompoundOperation::GetAttr(Bitmap::of(&wanted)))?;
            let has = described(&found(&answer, path)?.values()?, &mut self.naming);
            let there = if aspect == Aspect::Owner { has.owner } else { has.group };
            if there == Some(number) {
                return Ok(true);
            }
        }
        self.put(path, aspect, &MetadataValue::Number(number.into()))
    }
}

impl Nfs4 {
    fn rename_one(&mut self, from: &str, to: &str) -> Result<()> {
        let ((old, name), (new, new_name)) = (self.place(from)?, self.place(to)?);
        let rename = Rename { from: Opaque::new(name.as_bytes()), to: Opaque::new(new_name.as_bytes()) };
        let operations =
            [put(&old), CompoundOperation::Save(()), put(&new), CompoundOperation::Rename(rename)];
        let answer = self.call(&operations, from)?;
        let mut results = CompoundResults::of(&answer, from)?;
        for number in [Number::PUTFH, Number::SAVEFH, Number::PUTFH] {
            results.skip(number)?;
        }
        results.renamed()
    }
}

fn stamp(time: NfsTime) -> Stamp {
    (time.seconds, time.nanoseconds)
}

fn decoded<'a>(attributes: &Fattr<'a>) -> Result<Values<'a>> {
    Values::of(attributes).map_err(|status| Error::Other(format!("attributes of a listing: {status:?}")))
}

/// What a fuzz target runs of an entry.
pub(super) fn decode_entry(name: &[u8], attributes: &Fattr<'_>) -> Result<()> {
    let values = decoded(attributes)?;
    entry(&String::from_utf8_lossy(name), &values, &mut IdMapper::empty());
    described(&values, &mut IdMapper::empty());
    Ok(())
}

/// An entry that the server does not describe, such as one that leads to another server, cannot be copied: it is [`Kind::Other`].
fn entry(name: &str, values: &Values<'_>, naming: &mut IdMapper) -> TreeEntry {
    let kind = match values.kind {
        Some(FileType::REG) => Kind::File,
        Some(FileType::DIR) => Kind::Folder,
        Some(FileType::LNK) => Kind::Link,
        _ => Kind::Other,
    };
    let user = values.owner.and_then(|name| naming.user(&name));
    let group = values.owner_group.and_then(|name| naming.group(&name));
    TreeEntry {
        name: name.to_owned(),
        kind,
        length: values.size.unwrap_or_default(),
        modified: values.time_modify.map(stamp),
        changed: values.time_metadata.map(stamp),
        links: if kind == Kind::Folder { 1 } else { values.numlinks.unwrap_or(1) },
        is_locked: false,
        mode: values.mode.map(|mode| mode & 0o7777),
        owner: user.zip(group),
    }
}

fn described(values: &Values<'_>, naming: &mut IdMapper) -> Extra {
    let mut extra = Extra {
        created: values.time_create.map(stamp),
        modified: values.time_modify.map(stamp),
        backup: values.time_backup.map(stamp),
        mode: values.mode.map(|mode| mode & 0o7777),
        owner: values.owner.and_then(|name| naming.user(&name)),
        group: values.owner_group.and_then(|name| naming.group(&name)),
        ..Extra::default()
    };
    for (flag, aspect) in extra.flags.iter_mut().zip(FLAGS) {
        *flag = match aspect {
            Aspect::Hidden => values.hidden,
            Aspect::System => values.system,
            Aspect::Archive => values.archive,
            _ => None, // read-only is in the mode
        };
    }
    extra
}
