//! An archive that the kernel unpacks as its first file system.

use std::collections::BTreeSet;

/// The form is `newc`: the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    names: BTreeSet<String>,
}

impl Archive {
    const FOLDER: u32 = 0o040_755;
    const FILE: u32 = 0o100_000;

    /// Adds a file and the folders above it. Existing entries stay.
    pub fn file(&mut self, name: &str, mode: u32, contents: &[u8]) {
        for (at, _) in name.match_indices('/') {
            self.entry(&name[..at], Self::FOLDER, &[]);
        }
        self.entry(name, Self::FILE | mode, contents);
    }

    fn entry(&mut self, name: &str, mode: u32, contents: &[u8]) {
        if !self.names.insert(name.to_owned()) {
            return;
        }
        // Magic; inode, mode, user, group, links, time, size; four device numbers; the name's length with its NUL; checksum.
        let inode = self.names.len();
        let (size, length) = (contents.len(), name.len() + 1);
        let header = format!(
            "070701{inode:08x}{mode:08x}{0:08x}{0:08x}{1:08x}{0:08x}{size:08x}{0:08x}{0:08x}{0:08x}{0:08x}{length:08x}{0:08x}",
            0, 1
        );
        self.bytes.extend(header.as_bytes());
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub fn end(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_every_folder_once_and_ends_with_its_trailer() {
        let mut archive = Archive::default();
        archive.file("a/b/c", 0o644, b"hello");
        archive.file("a/d", 0o755, b"");
        let bytes = archive.end();
        let names: Vec<_> =
            bytes.windows(6).enumerate().filter(|(_, magic)| magic == b"070701").map(|(at, _)| at).collect();
        assert_eq!(names.len(), 5); // a, a/b, a/b/c, a/d, the trailer
        assert!(names.iter().all(|at| at % 4 == 0));
        assert_eq!(&bytes[110..112], b"a\0");
        assert!(bytes.len() % 4 == 0 && bytes.windows(11).any(|name| name == b"TRAILER!!!\0"));
    }
}
