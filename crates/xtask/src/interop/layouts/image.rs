//! File systems of a kind, in a file: with root and a loop device.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::process;

/// The kinds, and the size of their images: XFS makes none below 300 MB.
const SIZES: &[(&str, u64)] = &[("ext4", 64 << 20), ("xfs", 320 << 20)];

/// A mounted image; unmounted when it is dropped.
pub struct MountedImage {
    folder: PathBuf,
}

impl MountedImage {
    /// An empty file system on this folder.
    pub fn mount(kind: &str, folder: &Path) -> Result<Self> {
        let size = SIZES.iter().find(|(of, _)| *of == kind).map_or(0, |(_, size)| *size);
        let file = folder.with_extension("image");
        std::fs::File::create(&file)?.set_len(size)?;
        let (file, place) = (file.to_string_lossy(), folder.to_string_lossy());
        // With the blocks of a large disk, which limit the attributes.
        let blocks: &[&str] = if kind == "ext4" { &["-b", "4096"] } else { &[] };
        process::run(&format!("mkfs.{kind}"), &[&["-q"], blocks, &[&*file]].concat())?;
        process::run("mount", &["-o", "loop", &file, &place])?;
        ensure!(process::find("umount").is_some(), "umount is missing");
        Ok(Self { folder: folder.into() })
    }
}

impl Drop for MountedImage {
    fn drop(&mut self) {
        let place = self.folder.to_string_lossy();
        if let Err(error) = process::run("umount", &["--lazy", &place]) {
            println!("{place} stays mounted: {error:#}");
        }
        let _ = std::fs::remove_file(self.folder.with_extension("image")); // the next run makes it anew
    }
}
