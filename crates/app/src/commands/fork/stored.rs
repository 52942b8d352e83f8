//! A file as the folder keeps it, in whatever layout: read whole, and made.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{Backend, Found, NewKind, Object, Stability, Wait};
use vfs::mac::fields::Dates;
use vfs::mac::portable::Portable;
use vfs::streams::{File, Streams};
use vfs::{Access, Caller, Kind, SetAttributes, SetTime};

/// Where a file's sidecar was before the file was moved: docs/on-disk-format.md.
const MOVING: &[u8] = b"user.fourfold.moving";

/// A folder and what its files are beside their data.
struct Folder {
    object: Arc<dyn Object>,
    streams: Streams,
}

impl Folder {
    fn of(path: &Path) -> anyhow::Result<(Self, Vec<u8>)> {
        let path = std::path::absolute(path)?;
        let (folder, name) = path.parent().zip(path.file_name()).context("it is no file in a folder")?;
        let host = Host::open(folder, &HostOptions::default())
            .with_context(|| format!("the folder {} cannot be opened", folder.display()))?;
        let backend: Arc<dyn Backend> = Arc::new(host);
        let object = backend.root()?.object;
        Ok((Self { object, streams: Streams::new(backend) }, name.as_bytes().to_vec()))
    }
}

/// Reads a file, if it has at most so many bytes.
pub(super) fn read(path: &Path, most: u64) -> anyhow::Result<Portable> {
    let (folder, name) = Folder::of(path)?;
    let root = Caller::root();
    let found = folder.object.lookup(&root, &name).context("it cannot be read")?;
    ensure!(found.attributes.kind == Kind::File, "it is not a file");
    let file = File { folder: &*folder.object, name: &name, object: &*found.object };
    let fork = folder.streams.fork(&root, &file)?;
    let length = found.attributes.size.saturating_add(fork.as_ref().map_or(0, |fork| fork.len()));
    ensure!(length <= most, "it has {length} bytes; at most {most} are packed");
    let (mut data, mut resource) = (Vec::new(), Vec::new());
    found.object.prepare(&root, &found.attributes, Access::READ, true)?;
    read_whole(found.attributes.size, &mut data, |at, count, into| {
        found.object.read_at(at, count, into, Wait::Allowed)
    })?;
    if let Some(fork) = &fork {
        read_whole(fork.len(), &mut resource, |at, count, into| {
            fork.read_at(at, count, into, Wait::Allowed)
        })?;
    }
    let mut attributes = Vec::new();
    for stream in folder.streams.streams(&root, &file)? {
        ensure!(length + stream.len <= most, "its streams have more than {most} bytes");
        let mut value = Vec::new();
        folder.streams.read_stream(&root, &file, &stream.name, (0, stream.len as usize), &mut value)?;
        attributes.push((stream.name, value));
    }
    let (metadata, _) = folder.streams.load(&file)?;
    let modified = vfs::Time { nanos: 0, ..found.attributes.modified };
    let whole = |time: vfs::Time| vfs::Time { nanos: 0, ..time };
    Ok(Portable {
        name: String::from_utf8_lossy(&name).replace(':', "/"),
        finder_info: metadata.finder_info_with_date(),
        comment: metadata.comment.clone(),
        dates: Dates {
            created: metadata.times.created.map(whole),
            modified: Some(modified),
            backup: metadata.times.backup.map(whole),
            accessed: None,
        },
        bits: metadata.shown_bits(),
        data,
        resource,
        attributes,
    })
}

/// Reads until all bytes are there.
fn read_whole(
    length: u64,
    into: &mut Vec<u8>,
    mut read: impl FnMut(u64, usize, &mut Vec<u8>) -> vfs::Result<usize>,
) -> anyhow::Result<()> {
    const CHUNK: usize = 4 << 20;
    while (into.len() as u64) < length {
        let left = usize::try_from(length - into.len() as u64).unwrap_or(CHUNK).min(CHUNK);
        ensure!(read(into.len() as u64, left, into)? > 0, "it has become shorter while it was read");
    }
    Ok(())
}

/// Makes a file. If something of it cannot be written, it is removed again.
pub(super) fn write(path: &Path, content: &Portable) -> anyhow::Result<()> {
    let (folder, name) = Folder::of(path)?;
    let root = Caller::root();
    let made = folder.object.create(&root, &name, NewKind::File, 0o644).context("it cannot be made")?;
    fill(&folder, &name, &made, content).inspect_err(|_| {
        let _ = folder.streams.remove(&root, &*folder.object, &name, None);
    })
}

fn fill(folder: &Folder, name: &[u8], made: &Found, content: &Portable) -> anyhow::Result<()> {
    let root = Caller::root();
    let file = File { folder: &*folder.object, name, object: &*made.object };
    made.object.prepare(&root, &made.attributes, Access::WRITE, true)?;
    made.object.write_at(&root, 0, &content.data, Stability::Unstable)?;
    for (name, value) in &content.attributes {
        folder.streams.truncate_stream(&root, &file, name, 0)?;
        folder.streams.write_stream(&root, &file, name, 0, value, Stability::Unstable)?;
    }
    if !content.resource.is_empty() {
        folder.streams.write_fork(&root, &file, 0, &content.resource, Stability::Unstable)?;
    }
    let (mut metadata, _) = folder.streams.load(&file)?;
    let before = metadata.clone();
    metadata.set_finder_info(content.finder_info);
    metadata.comment.clone_from(&content.comment);
    metadata.times.created = content.dates.created;
    metadata.times.backup = content.dates.backup;
    metadata.set_bits(content.bits);
    if metadata != before {
        folder.streams.store(&root, &file, &metadata)?;
    }
    // The file stays with its sidecar, where another server finds both.
    match made.object.remove_xattr(&root, MOVING) {
        Ok(()) | Err(vfs::Error::NoSuchAttribute | vfs::Error::NotSupported) => {}
        Err(error) => return Err(error.into()),
    }
    if let Some(modified) = content.dates.modified {
        let times = SetAttributes { modified: SetTime::To(modified), ..SetAttributes::default() };
        made.object.set_attributes(&root, &times)?;
    }
    Ok(())
}
