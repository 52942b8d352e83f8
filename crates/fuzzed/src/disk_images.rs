//! Disk images (crates/images): whatever the bytes are, opening, reading and checking them ends, with no more memory than the
//! named limits.

use std::sync::Arc;

use images::compression::Method;
use images::containers::parsers;
use images::decmpfs::Compressed;
use images::tree::{FileSystem, Fork, NodeId};
use images::{Observer, Passphrase, Problem, Progress, Resume, Source, partitions};

/// Bytes of a sparse input, for volumes that are mostly zeros.
const SPARSE: usize = 128 << 10;
const SECTOR: usize = 512;
/// The most entries and bytes that are looked at.
const MOST: usize = 6;

/// Counts what a check reports, and stops one that does not end.
#[derive(Default)]
struct Count {
    steps: usize,
}

impl Observer for Count {
    fn progress(&mut self, progress: &Progress) -> bool {
        assert!(!progress.step.is_empty());
        self.steps += 1;
        assert!(self.steps < 100_000, "a check of a small image ends");
        true
    }

    fn problem(&mut self, problem: Problem) {
        assert!(!problem.structure.is_empty() && !problem.problem.is_empty());
    }
}

/// A disk from pieces: the number of a sector (one byte), how many bytes (two), the bytes.
pub fn sparse(data: &[u8]) -> Vec<u8> {
    let mut disk = vec![0; SPARSE];
    let mut rest = data;
    while let [sector, high, low, bytes @ ..] = rest {
        let count = usize::from(u16::from_be_bytes([*high, *low])).min(bytes.len());
        let at = usize::from(*sector) * SECTOR;
        let count_here = count.min(SPARSE - at);
        disk[at..at + count_here].copy_from_slice(&bytes[..count_here]);
        rest = &bytes[count..];
    }
    disk
}

/// Looks at a few files of a file system.
fn look(files: &dyn FileSystem) {
    let _ = (files.name(), files.format(), files.case_sensitive(), files.space());
    let mut folders = vec![files.root()];
    for _ in 0..4 {
        let Some(folder) = folders.pop() else { return };
        let Ok(page) = files.entries(folder, None, MOST) else { continue };
        assert!(page.entries.len() <= MOST);
        if let Some(next) = &page.next {
            let _ = files.entries(folder, Some(next), MOST);
        }
        for entry in &page.entries {
            node(files, entry.node);
            let _ = files.lookup(folder, &entry.name);
            folders.push(entry.node);
        }
    }
}

fn node(files: &dyn FileSystem, node: NodeId) {
    let Ok(known) = files.node(node) else { return };
    let mut buffer = [0; 4096];
    for fork in [Fork::Data, Fork::Resource] {
        for offset in [0, known.size / 2, u64::MAX] {
            let _ = files.read(node, fork, offset, &mut buffer);
        }
    }
    let _ = (files.link_target(node), files.parent(node));
    for name in files.attribute_names(node).unwrap_or_default().iter().take(MOST) {
        let _ = files.attribute(node, name);
    }
}

fn shown(source: &Source, passphrase: Option<&Passphrase>) {
    for volume in images::open(source, passphrase).unwrap_or_default() {
        if let Ok(files) = &volume.files {
            look(files.as_ref());
        }
    }
}

fn checked(source: &Source, passphrase: Option<&Passphrase>) {
    let _ = images::check(source, passphrase, Resume::default(), &mut Count::default());
}

/// An image in one file: sparse images, UDIF, encrypted images. Files of less than a few KiB are no volumes.
pub fn containers(data: &[u8]) {
    let (source, passphrase) = (Source::File(Arc::new(data.to_vec())), Passphrase::new("passphrase".into()));
    shown(&source, Some(&passphrase));
    checked(&source, Some(&passphrase));
    parsers::parse_plist(data);
}

/// Maps of partitions.
pub fn partition_maps(data: &[u8]) {
    let disk: Arc<dyn images::ReadAt> = Arc::new(sparse(data));
    let Ok(map) = partitions::read(&disk) else { return };
    assert!(map.partitions.len() <= partitions::MAX_PARTITIONS);
}

/// A volume of HFS+. The first byte says whether it is checked; if not, its files are looked at.
pub fn hfsplus(data: &[u8]) {
    let Some((&selector, pieces)) = data.split_first() else { return };
    let source = Source::File(Arc::new(sparse(pieces)));
    match selector & 1 {
        0 => shown(&source, None),
        _ => checked(&source, None),
    }
}

/// A volume of FAT, exFAT or ext4.
pub fn fat(data: &[u8]) {
    for open in [images::fat::open, images::exfat::open, images::ext::open] {
        if let Ok(files) = open(Arc::new(sparse(data))) {
            look(files.as_ref());
        }
    }
}

/// Compressions: the first byte says which.
pub fn compressions(data: &[u8]) {
    let Some((&selector, stream)) = data.split_first() else { return };
    let methods = [Method::Adc, Method::Zlib, Method::Bzip2, Method::Lzfse, Method::Lzvn, Method::Xz];
    let mut output = vec![0; 8 << 10];
    if let Ok(count) = methods[usize::from(selector) % methods.len()].decompress(stream, &mut output) {
        assert!(count <= output.len());
    }
}

/// Compressed files: the length of the attribute, the attribute, the resource fork.
pub fn decmpfs(data: &[u8]) {
    let Some((&length, rest)) = data.split_first() else { return };
    let (attribute, resource) = rest.split_at(rest.len().min(usize::from(length)));
    let Ok(file) = Compressed::parse(attribute.to_vec()) else { return };
    let resource = resource.to_vec();
    let mut buffer = [0; 4096];
    for offset in [0, file.size() / 2, file.size().saturating_sub(10), u64::MAX] {
        if let Ok(count) = file.read(&resource, offset, &mut buffer) {
            assert!(count as u64 <= file.size().saturating_sub(offset));
        }
    }
}
