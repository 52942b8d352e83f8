//! APFS: images that the tests write, judged by apfsck where it is installed, read, and damaged.

mod any_bytes;
mod checkpoint;
mod content;
mod damage;
mod disk;
mod judged;
mod keys;
mod objects;
mod reading;
mod seeds;
mod volume_superblock;
mod writer;

use std::sync::Arc;

use content::Names;
use disk::Disk;
use images::tree::FileSystem;
use images::{Passphrase, ReadAt, apfs};
use writer::ContainerWriter;

/// The passphrase of encrypted volumes here.
const PASSPHRASE: &str = "correct horse battery staple";

/// A volume with a bit of everything, and two snapshots. Returns the container.
fn everything(names: Names, passphrase: Option<&str>) -> Disk {
    let mut container = ContainerWriter::new();
    let volume = container.volume("Data of Ann", names, passphrase);
    let folder = container.folder(volume, 2, "Documents");
    let deep = container.folder(volume, folder, "Ünïcödé – ordner");
    container.file(volume, deep, "café.txt", b"accents");
    container.file(volume, 2, "empty", b"");
    let hello = container.file(volume, 2, "hello.txt", b"hello, world\n");
    container.hard_link(volume, hello, folder, "also hello.txt");
    container.link(volume, 2, "link", "Documents/also hello.txt");
    let pieces: [(u64, &[u8]); 2] = [(0, &[1; 5000]), (1 << 20, &[2; 100])];
    container.sparse_file(volume, folder, "sparse", (1 << 20) + 100_000, &pieces);
    let with_fork = container.file(volume, 2, "with fork", b"data");
    container.attribute(volume, with_fork, "com.apple.ResourceFork", &pattern(9000));
    container.attribute(
        volume,
        with_fork,
        "com.apple.FinderInfo",
        b"TEXTttxt\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    );
    container.attribute(volume, with_fork, "user.small", b"small");
    container.attribute(volume, with_fork, "user.large", &pattern(5000));
    let original = container.file(volume, folder, "original", &pattern(20_000));
    container.clone_file(volume, original, folder, "clone");
    let doomed = container.file(volume, 2, "doomed", b"only in the first snapshot");
    container.snapshot(volume, "first");
    container.remove(volume, doomed);
    container.file(volume, 2, "later", b"not in the first snapshot");
    container.snapshot(volume, "second");
    let many = container.folder(volume, 2, "many");
    for number in 0..400 {
        container.file(volume, many, &format!("file with a rather long name, number {number}"), b"");
    }
    container.finish()
}

/// A sealed volume, as macOS has its system: everything in it has a hash.
fn sealed() -> Disk {
    let mut container = ContainerWriter::new();
    let volume = container.volume("System", Names::Folded, None);
    container.volumes[volume].content.is_sealed = true;
    let folder = container.folder(volume, 2, "usr");
    for number in 0..60 {
        container.file(volume, folder, &format!("program with the number {number}"), &pattern(number * 100));
    }
    container.finish()
}

/// A folder with so many long names that the trees have four levels.
fn long_names() -> Disk {
    let mut container = ContainerWriter::new();
    let volume = container.volume("Long names", Names::Folded, None);
    let folder = container.folder(volume, 2, "folder");
    for number in 0..400 {
        container.file(volume, folder, &long_name(number), b"");
    }
    container.finish()
}

/// A name of 250 bytes.
fn long_name(number: u32) -> String {
    format!("{number:04} {}é", "ü–".repeat(48) + "abc")
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 7 % 251) as u8).collect()
}

fn passphrase() -> Passphrase {
    Passphrase::new(PASSPHRASE.to_owned())
}

fn volumes(disk: Disk) -> Vec<images::Volume> {
    let disk: Arc<dyn ReadAt> = Arc::new(disk);
    apfs::volumes(&disk, Some(&passphrase())).unwrap()
}

fn files(volume: &images::Volume) -> Arc<dyn FileSystem> {
    volume.files.clone().unwrap()
}
