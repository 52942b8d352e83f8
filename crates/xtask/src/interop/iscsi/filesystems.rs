//! File systems on a LUN. Their own programs make, fill and check them, in separate sessions.
//!
//! With FUSE the programs work on the LUN itself. In any case images that they made elsewhere are
//! copied onto the LUN and back.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::disk::{self, LoopMount, MountedDisk};
use super::place::{IscsiPlace, IscsiServer, LunAddress, said, text};
use crate::interop::outcome::Outcomes;
use crate::process;

const LIMIT: Duration = Duration::from_secs(120);
/// The size of the copied images. XFS needs 300 MB.
const COPIED: u64 = 384 << 20;

pub fn run(outcomes: &mut Outcomes, place: &IscsiPlace, served: &IscsiServer) -> Result<()> {
    let bench = FilesystemBench::new(place, served)?;
    for kind in KINDS {
        outcomes.run(
            &format!("{}: made elsewhere, copied to the LUN and back", kind.name),
            kind.needs,
            || bench.copied(kind),
        );
        let name = format!("{}: made and filled on the LUN", kind.name);
        match disk::why_not() {
            Some(why) => outcomes.skip(&name, why),
            None => outcomes.run(&name, kind.needs, || bench.made(kind)),
        }
        let Some((mount, name)) = kind.mount else { continue };
        let name = format!("{}: mounted, used and trimmed {name}", kind.name);
        match why_not_used(mount) {
            Some(why) => outcomes.skip(&name, &why),
            None => outcomes.run(&name, kind.needs, || bench.used(kind, mount)),
        }
    }
    Ok(())
}

/// A file system, and the programs that make it, fill it, check it, and read it.
struct Kind {
    name: &'static str,
    lun: &'static str,
    needs: &'static [&'static str],
    make: fn(&Path, &FilesystemBench) -> Result<()>,
    check: fn(&Path, &FilesystemBench) -> Result<()>,
    mount: Option<(&'static str, &'static str)>,
}

const KINDS: &[Kind] = &[
    Kind {
        name: "ext4",
        lun: "disk",
        needs: &["mkfs.ext4", "debugfs", "e2fsck"],
        make: |disk, bench| tool("mkfs.ext4", &["-q", "-F", "-d", &text(&bench.tree), &text(disk)]),
        check: |disk, bench| {
            tool("e2fsck", &["-fn", &text(disk)])?;
            let out = bench.out()?;
            tool("debugfs", &["-R", &format!("rdump / {}", text(&out)), &text(disk)])?;
            let _ = fs::remove_dir(out.join("lost+found"));
            same(&bench.tree, &out)
        },
        mount: Some(("ext4", "by the kernel")),
    },
    Kind {
        name: "ext4 with blocks of 4096",
        lun: "disk-4k",
        needs: &["mkfs.ext4", "e2fsck"],
        make: |disk, bench| {
            tool("mkfs.ext4", &["-q", "-F", "-b", "4096", "-d", &text(&bench.tree), &text(disk)])
        },
        check: |disk, _| tool("e2fsck", &["-fn", &text(disk)]),
        mount: None,
    },
    Kind {
        name: "XFS",
        lun: "disk",
        needs: &["mkfs.xfs", "xfs_repair"],
        make: |disk, bench| tool("mkfs.xfs", &["-q", "-f", "-p", &text(&bench.prototype()?), &text(disk)]),
        check: |disk, _| tool("xfs_repair", &["-n", "-f", &text(disk)]),
        mount: Some(("xfs", "by the kernel")),
    },
    Kind {
        name: "NTFS",
        lun: "disk",
        needs: &["mkfs.ntfs", "ntfscp", "ntfscat", "ntfsfix"],
        make: |disk, bench| {
            tool("mkfs.ntfs", &["-F", "-Q", "-q", &text(disk)])?;
            for name in names(&bench.flat)? {
                tool("ntfscp", &["-f", &text(disk), &text(&bench.flat.join(&name)), &name])?;
            }
            Ok(())
        },
        check: |disk, bench| {
            tool("ntfsfix", &["-n", &text(disk)])?;
            for name in names(&bench.flat)? {
                let found = process::output("ntfscat", &["-f", &text(disk), &name], LIMIT)?.stdout;
                ensure!(found == fs::read(bench.flat.join(&name))?, "{name} differs");
            }
            Ok(())
        },
        mount: Some(("ntfs-3g", "by ntfs-3g")),
    },
    Kind {
        name: "FAT",
        lun: "disk",
        needs: &["mkfs.fat", "mcopy", "fsck.fat"],
        make: |disk, bench| {
            tool("mkfs.fat", &["-F", "32", &text(disk)])?;
            tool("mcopy", &["-s", "-i", &text(disk), &text(&bench.flat), "::/flat"])
        },
        check: |disk, bench| {
            tool("fsck.fat", &["-n", &text(disk)])?;
            let out = bench.out()?;
            tool("mcopy", &["-s", "-n", "-i", &text(disk), "::/flat", &text(&out)])?;
            same(&bench.flat, &out.join("flat"))
        },
        mount: None,
    },
    Kind {
        name: "HFS+",
        lun: "disk",
        needs: &["python3", "fsstat", "tsk_recover", "7z"],
        make: |disk, bench| {
            let script = process::root().join("interop/iscsi/hfsplus.py");
            tool("python3", &["-B", &text(&script), &text(disk), &text(&bench.flat)])
        },
        // Debian 12 has no package of Apple's fsck. Two programs that read the structures
        // themselves replace it.
        check: |disk, bench| {
            let found = said("fsstat", &["-f", "hfs", &text(disk)])?;
            ensure!(found.contains("File System Type: HFS+"), "it says {found}");
            let out = bench.out()?;
            tool("tsk_recover", &["-a", "-f", "hfs", &text(disk), &text(&out)])?;
            for name in names(&bench.flat)? {
                // The program does not extract empty files.
                let wanted = fs::read(bench.flat.join(&name))?;
                ensure!(wanted.is_empty() || fs::read(out.join(&name))? == wanted, "{name} differs");
            }
            let out = bench.out()?;
            tool("7z", &["x", "-y", "-thfs", &format!("-o{}", text(&out)), &text(disk)])?;
            same(&bench.flat, &out.join("interop"))
        },
        mount: None,
    },
];

fn why_not_used(mount: &str) -> Option<String> {
    match mount {
        "ntfs-3g" if !process::is_root() => Some("only root mounts".into()),
        "ntfs-3g" => disk::why_not().map(str::to_owned),
        _ => disk::why_not_mounted(mount),
    }
}

/// A program that has to succeed.
fn tool(program: &str, args: &[&str]) -> Result<()> {
    process::stdout_of(program, args, LIMIT).map(drop)
}

/// Two folders with the same files.
fn same(wanted: &Path, found: &Path) -> Result<()> {
    let output = process::output("diff", &["-r", &text(wanted), &text(found)], LIMIT)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{}", said.lines().take(5).collect::<Vec<_>>().join("; "));
    Ok(())
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let entries: Vec<fs::DirEntry> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    Ok(entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// The files that the file systems are filled with, and working folders.
struct FilesystemBench<'a> {
    served: &'a IscsiServer,
    work: PathBuf,
    /// Files in folders, with all kinds of names.
    tree: PathBuf,
    /// Files whose names every file system can have.
    flat: PathBuf,
}

impl<'a> FilesystemBench<'a> {
    fn new(place: &IscsiPlace, served: &'a IscsiServer) -> Result<Self> {
        let work = place.work("filesystems")?;
        let (tree, flat) = (work.join("tree"), work.join("flat"));
        for folder in [tree.join("größe/déjà vu"), flat.clone()] {
            fs::create_dir_all(folder)?;
        }
        for number in 0..400_usize {
            fs::write(tree.join("größe/déjà vu").join(format!("{number:03} ☂")), bytes(number * 97, number))?;
        }
        for (number, len) in [0, 1, 511, 4096, 70_000, 3 << 20, 24 << 20].into_iter().enumerate() {
            fs::write(tree.join(format!("{len} bytes")), bytes(len, number))?;
            fs::write(flat.join(format!("{len} bytes.dat")), bytes(len, number))?;
        }
        for number in 0..100 {
            fs::write(flat.join(format!("File {number}.txt")), bytes(number * 331, number))?;
        }
        Ok(Self { served, work, tree, flat })
    }

    fn lun(&self, kind: &Kind) -> Result<LunAddress> {
        self.served.lun(kind.lun)
    }

    /// An empty folder for the files that are read back.
    fn out(&self) -> Result<PathBuf> {
        let out = self.work.join("out");
        let _ = fs::remove_dir_all(&out); // there may be none
        fs::create_dir_all(&out)?;
        Ok(out)
    }

    /// mkfs.xfs's description of the files to fill the file system with.
    fn prototype(&self) -> Result<PathBuf> {
        let mut lines = vec!["/".to_owned(), "0 0".into(), "d--755 0 0".into()];
        for name in names(&self.flat)? {
            let without_spaces = name.replace(' ', "_");
            let link = self.work.join(&without_spaces);
            fs::copy(self.flat.join(&name), &link)?;
            lines.push(format!("{without_spaces} ---644 0 0 {}", text(&link)));
        }
        lines.push("$".into());
        let file = self.work.join("prototype");
        fs::write(&file, lines.join("\n") + "\n")?;
        Ok(file)
    }

    /// Makes the file system in a file, copies that onto the LUN and back, and checks it.
    fn copied(&self, kind: &Kind) -> Result<()> {
        let (image, back, url) = (self.work.join("image"), self.work.join("back"), self.lun(kind)?.url());
        fs::File::create(&image)?.set_len(COPIED)?;
        (kind.make)(&image, self)?;
        let convert = ["convert", "-f", "raw", "-O", "raw"];
        tool("qemu-img", &[&convert[..], &["-n", &text(&image), &url]].concat())?;
        tool("qemu-img", &[&convert[..], &[&url, &text(&back)]].concat())?;
        fs::File::options().write(true).open(&back)?.set_len(COPIED)?;
        (kind.check)(&back, self)?;
        tool("cmp", &[&text(&image), &text(&back)])?;
        fs::remove_file(image)?;
        Ok(fs::remove_file(back)?)
    }

    /// Makes the file system on the LUN, and checks it in another session.
    fn made(&self, kind: &Kind) -> Result<()> {
        let disk = self.empty_disk(kind)?;
        (kind.make)(&disk.file, self)?;
        drop(disk);
        let disk = MountedDisk::attach(&self.lun(kind)?, &self.work)?;
        (kind.check)(&disk.file, self)
    }

    fn empty_disk(&self, kind: &Kind) -> Result<MountedDisk> {
        let lun = self.lun(kind)?;
        tool("qemu-io", &["-f", "raw", "-d", "unmap", "-c", "discard 0 1G", &lun.url()])?;
        MountedDisk::attach(&lun, &self.work)
    }

    /// Mounts the file system on the LUN: writes, renames, removes and trims files. Reads and
    /// checks it in another session.
    fn used(&self, kind: &Kind, mount: &str) -> Result<()> {
        let (disk, at) = (self.empty_disk(kind)?, self.work.join("mounted"));
        (kind.make)(&disk.file, self)?;
        let mounted = mount_at(&disk, mount, &at)?;
        self.work_in(&at, mount)?;
        drop(mounted);
        drop(disk);
        let disk = MountedDisk::attach(&self.lun(kind)?, &self.work)?;
        let mounted = mount_at(&disk, mount, &at)?;
        same(&self.tree, &at.join("copy"))?;
        ensure!(!at.join("second").exists(), "what was removed is there");
        drop(mounted);
        match mount {
            "ext4" => tool("e2fsck", &["-fn", &disk.path()]),
            "xfs" => tool("xfs_repair", &["-n", "-f", &disk.path()]),
            _ => tool("ntfsfix", &["-n", &disk.path()]),
        }
    }

    fn work_in(&self, at: &Path, mount: &str) -> Result<()> {
        for name in ["first", "second"] {
            tool("cp", &["-r", &text(&self.tree), &text(&at.join(name))])?;
        }
        tool(
            "dd",
            &[
                "if=/dev/urandom",
                &format!("of={}", text(&at.join("synced"))),
                "bs=64k",
                "count=100",
                "oflag=sync",
                "status=none",
            ],
        )?;
        fs::rename(at.join("first"), at.join("copy"))?;
        fs::remove_dir_all(at.join("second"))?;
        tool("sync", &["-f", &text(at)])?;
        if mount != "ntfs-3g" {
            tool("fstrim", &[&text(at)])?;
        }
        same(&self.tree, &at.join("copy")).context("while it is mounted")
    }
}

fn mount_at(disk: &MountedDisk, mount: &str, at: &Path) -> Result<LoopMount> {
    if mount == "ntfs-3g" { LoopMount::by_ntfs_3g(disk, at) } else { LoopMount::by_kernel(disk, mount, at) }
}

/// Bytes that depend on the position and on the file.
fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|at| (at ^ (at >> 8) ^ (at >> 16) ^ seed.wrapping_mul(0x9D)) as u8).collect()
}
