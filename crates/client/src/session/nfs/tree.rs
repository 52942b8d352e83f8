//! Trees over NFS version 3: listings with attributes, and `._name` for what Macs keep beside the data.

use ::nfs::wire::v3::readdirplus;
use ::nfs::wire::v3::types::{DirOpArgs, Fattr3, FileType, NfsTime, Sattr3, Verifier, Wcc};
use ::nfs::wire::v3::{fsstat, getattr, read, rename, setattr};
use ::nfs::wire::xdr::Opaque;
use vfs::mac::layout::sidecar_owner;

use super::rpc::ok;
use super::sidecar::{Sidecars as _, path_beside as beside, set_extra};
use super::{LIST_BYTES, NFS, NfsSession, procedure};
use crate::Result;
use crate::metadata::{Aspect, MetadataValue, Peer as _};
use crate::session::pages::Pages;
use crate::session::{OpenFileId, Session};
use crate::tree::{
    Extra, Kind, MetadataLoss, Space, Stamp, Tree, TreeEntry, TreeListing, below, last_name, text, told,
};

impl Tree for NfsSession {
    /// RFC 1813 has no lists.
    fn hides_lists(&self) -> bool {
        true
    }

    fn entries(&mut self, folder: &str) -> Result<TreeListing> {
        let handle = self.folder(folder)?;
        let (mut cookie, mut verifier, mut listing) = (0, Verifier::default(), TreeListing::default());
        let mut pages = Pages::of(folder);
        loop {
            let dir = Opaque::new(&handle[..]);
            let request =
                readdirplus::Request { dir, cookie, verifier, dircount: LIST_BYTES, maxcount: LIST_BYTES };
            let answer = self.rpc.call(NFS, procedure::READDIRPLUS, &request)?;
            let page: readdirplus::ResOk<'_> = ok::<_, Option<Fattr3>>(&answer, folder)?;
            let mut bare = Vec::new();
            for found in &page.entries {
                pages.entry(found.name.len())?;
                let Ok(name) = std::str::from_utf8(&found.name) else {
                    listing.unreadable.push(String::from_utf8_lossy(&found.name).into_owned());
                    continue;
                };
                match &found.attributes {
                    _ if name == "." || name == ".." => {}
                    Some(attributes) => listing.add(entry(name, attributes)),
                    None => bare.push(name.to_owned()),
                }
            }
            let (eof, last) = (page.eof, page.entries.last().map(|entry| entry.cookie));
            let seen = page.verifier;
            for name in bare {
                if name.contains('/') {
                    listing.unreadable.push(name);
                    continue;
                }
                let attributes = self.attributes(&below(folder, &name))?;
                listing.add(entry(&name, &attributes));
            }
            if eof {
                drop_sidecars(&mut listing.entries);
                return Ok(listing.without_doubles());
            }
            let last = last.ok_or_else(|| pages.stuck())?;
            pages.go_on_behind(last)?;
            (cookie, verifier) = (last, seen);
        }
    }

    fn read(&mut self, file: OpenFileId, offset: u64, length: usize) -> Result<Vec<u8>> {
        let handle = self.files.get(file)?.clone();
        let count = length.min(self.largest()) as u32;
        let request = read::Request { file: Opaque::new(&handle), offset, count };
        let answer = self.rpc.call(NFS, procedure::READ, &request)?;
        let done: read::ResOkData<'_> = ok::<_, Option<Fattr3>>(&answer, "a read")?;
        Ok(done.data.to_vec())
    }

    fn entry(&mut self, path: &str) -> Result<TreeEntry> {
        let attributes = self.attributes_of(path)?;
        Ok(entry(last_name(path), &attributes))
    }

    /// The `._name` goes with the file: a server that does not know that they are one leaves it behind.
    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        self.rename_one(from, to)?;
        self.folders.clear();
        match self.rename_one(&beside(from), &beside(to)) {
            Err(error) if error.ends_session() => Err(error),
            _ => Ok(()),
        }
    }

    fn set_length(&mut self, file: OpenFileId, length: u64) -> Result<()> {
        let new_attributes = Sattr3 { size: Some(length), ..Sattr3::default() };
        let object = Opaque::new(&self.files.get(file)?[..]);
        let request = setattr::Request { object, new_attributes, guard: None };
        let answer = self.rpc.call(NFS, procedure::SETATTR, &request)?;
        ok::<setattr::ResOk, Wcc>(&answer, "a file").map(drop)
    }

    fn space(&mut self) -> Result<Space> {
        let request = fsstat::Request { root: Opaque::new(&self.root) };
        let answer = self.rpc.call(NFS, procedure::FSSTAT, &request)?;
        let found = ok::<fsstat::ResOk, Option<Fattr3>>(&answer, "the export")?;
        Ok(Space { total: found.total_bytes, free: found.available_bytes })
    }

    fn extra(&mut self, path: &str, kind: Kind) -> Result<Extra> {
        let attributes = self.attributes_of(path)?;
        let mut extra = Extra {
            modified: Some(stamp(attributes.mtime)),
            mode: Some(attributes.mode & 0o7777),
            owner: Some(attributes.uid),
            group: Some(attributes.gid),
            ..Extra::default()
        };
        if kind == Kind::Link {
            extra.target = text(told(self, path, Aspect::Target)?);
            return Ok(extra);
        }
        if path.is_empty() {
            return Ok(extra);
        }
        self.add_beside(path, &mut extra)?;
        Ok(extra)
    }

    fn set_extra(&mut self, path: &str, kind: Kind, extra: &Extra) -> Result<Vec<MetadataLoss>> {
        set_extra(self, path, kind, extra, true)
    }

    /// An owner or a group that the file has already need not be set, which only root may.
    fn put_unix(&mut self, path: &str, _kind: Kind, aspect: Aspect<'_>, number: u32) -> Result<bool> {
        let has = match aspect {
            Aspect::Owner => self.attributes(path)?.uid == number,
            Aspect::Group => self.attributes(path)?.gid == number,
            _ => false,
        };
        if has { Ok(true) } else { self.put(path, aspect, &MetadataValue::Number(number.into())) }
    }
}

impl NfsSession {
    /// The attributes of what a path names, which may be the export itself.
    fn attributes_of(&mut self, path: &str) -> Result<Fattr3> {
        if !path.is_empty() {
            return self.attributes(path);
        }
        let request = getattr::Request { object: Opaque::new(&self.root) };
        let answer = self.rpc.call(NFS, procedure::GETATTR, &request)?;
        Ok(ok::<getattr::ResOk, ()>(&answer, path)?.attributes)
    }

    fn rename_one(&mut self, from: &str, to: &str) -> Result<()> {
        let ((old, name), (new, new_name)) = (self.place(from)?, self.place(to)?);
        let request = rename::Request {
            from: DirOpArgs { dir: Opaque::new(&old), name: Opaque::new(name.as_bytes()) },
            to: DirOpArgs { dir: Opaque::new(&new), name: Opaque::new(new_name.as_bytes()) },
        };
        let answer = self.rpc.call(NFS, procedure::RENAME, &request)?;
        ok::<rename::ResOk, rename::ResOk>(&answer, from).map(drop)
    }
}

fn stamp(time: NfsTime) -> Stamp {
    (time.seconds.into(), time.nanoseconds)
}

fn entry(name: &str, attributes: &Fattr3) -> TreeEntry {
    let kind = match attributes.file_type {
        FileType::REG => Kind::File,
        FileType::DIR => Kind::Folder,
        FileType::LNK => Kind::Link,
        _ => Kind::Other,
    };
    TreeEntry {
        name: name.to_owned(),
        kind,
        length: attributes.size,
        modified: Some(stamp(attributes.mtime)),
        changed: Some(stamp(attributes.ctime)),
        links: attributes.nlink,
        is_locked: false,
        mode: Some(attributes.mode & 0o7777),
        owner: Some((attributes.uid, attributes.gid)),
    }
}

/// Leaves out `._name` where `name` is there: it is a part of that.
pub(super) fn drop_sidecars(entries: &mut Vec<TreeEntry>) {
    let names: std::collections::HashSet<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    entries.retain(|entry| {
        let owner = sidecar_owner(entry.name.as_bytes()).and_then(|owner| std::str::from_utf8(owner).ok());
        entry.kind != Kind::File || owner.is_none_or(|owner| !names.contains(owner))
    });
}
