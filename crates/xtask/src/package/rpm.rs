//! The package for Fedora, RHEL, openSUSE and others: RPM's format 4, as its authors describe it (lead, signature, header, payload).

mod header;

use anyhow::{Context, Result};
use md5::{Digest as _, Md5};
use sha2::Sha256;

use self::header::{RpmHeader, RpmValue};
use super::contents;
use super::tree::{PackedTree, TreeEntry};
use super::{PackageParts, hex};

const SUMMARY: &str = "File server for AFP, SMB, NFS and iSCSI over one tree";
const DESCRIPTION: &str = "Fourfold shares folders with old and new Macs, Windows, Linux and UNIX. It is\n\
one process: what one client locks, renames or tags is locked, renamed and\n\
tagged for the clients of all protocols. The data stays plain files.\n\n\
The package has a service for systemd, which is not started by itself:\n\
/etc/fourfold/fourfold.toml says how to begin.";
/// The scripts, with the tags of their text and of their program.
const SCRIPTS: [(&str, u32, u32); 3] = [("post", 1024, 1086), ("preun", 1025, 1087), ("postun", 1026, 1088)];
/// What the program that installs it must know: the way that names and digests of files are kept here.
const RPMLIB: [(&str, &str); 3] = [
    ("rpmlib(CompressedFileNames)", "3.0.4-1"),
    ("rpmlib(FileDigests)", "4.6.0-1"),
    ("rpmlib(PayloadFilesHavePrefix)", "4.0-1"),
];
/// A requirement of the program that installs it: this version or an earlier one.
const OF_RPMLIB: u32 = 1 << 24 | 2 | 8;
/// A version that is provided: exactly this.
const EXACTLY: u32 = 8;
/// A file of settings that upgrades do not replace, and a document.
const SETTING: u32 = 1 | 16;
const DOCUMENT: u32 = 2;
/// SHA-256 among the algorithms of OpenPGP, RFC 4880 9.4.
const SHA256: u32 = 8;

/// The name and the bytes of the package.
pub fn make(parts: &PackageParts, version: &str) -> Result<(String, Vec<u8>)> {
    let machine = parts.program.machine()?;
    let name = format!("fourfold-{version}-1");
    let tree = files(parts)?;
    let payload = cpio(&tree, parts.time)?;
    let packed = parts.compress(&payload)?;
    let header = described(parts, version, &tree, &packed)?.bytes(63);
    let mut signature = RpmHeader::default();
    signature.put(273, RpmValue::Text(hex(&Sha256::digest(&header))));
    signature.put(1000, RpmValue::Numbers(vec![u32::try_from(header.len() + packed.len())?]));
    let all = [header.as_slice(), &packed].concat();
    signature.put(1004, RpmValue::Bytes(Md5::digest(&all).to_vec()));
    signature.put(1007, RpmValue::Numbers(vec![u32::try_from(payload.len())?]));
    let mut signature = signature.bytes(62);
    signature.resize(signature.len().next_multiple_of(8), 0);
    let whole = [lead(&name, machine), signature, all].concat();
    Ok((format!("{name}.{machine}.rpm"), whole))
}

/// The beginning, of which only the first four bytes count today.
fn lead(name: &str, machine: &str) -> Vec<u8> {
    let mut lead = vec![0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0];
    let number: u16 = if machine == "aarch64" { 19 } else { 1 };
    lead.extend(number.to_be_bytes());
    let mut text = name.as_bytes()[..name.len().min(65)].to_vec();
    text.resize(66, 0);
    lead.extend(text);
    lead.extend([0, 1, 0, 5]); // Linux; a signature that is a header
    lead.resize(96, 0);
    lead
}

fn files(parts: &PackageParts) -> Result<PackedTree> {
    let mut tree = contents::installed(parts, "zsh/site-functions")?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        tree.file(&format!("usr/share/licenses/fourfold/{licence}"), contents::read(licence)?);
    }
    Ok(tree)
}

/// The entries that belong to the package: all files, and the folders that are its own.
fn entries(tree: &PackedTree) -> impl Iterator<Item = TreeEntry<'_>> {
    tree.entries()
        .filter(|entry| entry.bytes.is_some() || entry.path.split('/').any(|part| part == "fourfold"))
}

/// The payload: the archive of cpio's format `newc`.
fn cpio(tree: &PackedTree, time: u64) -> Result<Vec<u8>> {
    let mut archive = Vec::new();
    let mut add = |number: usize, (path, mode, time, bytes): (&str, u32, u64, &[u8])| {
        let links = if bytes.is_empty() { 2 } else { 1 };
        let fields = [
            number as u64,
            mode.into(),
            0,
            0,
            links,
            time,
            bytes.len() as u64,
            0,
            0,
            0,
            0,
            path.len() as u64 + 1,
            0,
        ];
        archive.extend_from_slice(b"070701");
        fields.iter().for_each(|field| archive.extend(format!("{field:08x}").into_bytes()));
        archive.extend_from_slice(path.as_bytes());
        archive.push(0);
        archive.resize(archive.len().next_multiple_of(4), 0);
        archive.extend_from_slice(bytes);
        archive.resize(archive.len().next_multiple_of(4), 0);
    };
    for (number, entry) in entries(tree).enumerate() {
        let path = format!("./{}", entry.path);
        add(number + 1, (&path, entry.whole_mode(), time, entry.bytes.unwrap_or_default()));
    }
    add(0, ("TRAILER!!!", 0, 0, &[]));
    Ok(archive)
}

/// What the package says of itself.
fn described(parts: &PackageParts, version: &str, tree: &PackedTree, packed: &[u8]) -> Result<RpmHeader> {
    let text = |text: &str| RpmValue::Text(text.to_owned());
    let translated = |text: &str| RpmValue::Translated(text.to_owned());
    let time = u32::try_from(parts.time).context("the time of the commit")?;
    let mut header = RpmHeader::default();
    header.put(100, RpmValue::Texts(vec!["C".into()]));
    for (tag, value) in [
        (1000, text("fourfold")),
        (1001, text(version)),
        (1002, text("1")),
        (1004, translated(SUMMARY)),
        (1005, translated(DESCRIPTION)),
        (1006, RpmValue::Numbers(vec![time])),
        (1007, text("localhost")),
        (1014, text("MIT OR Apache-2.0")),
        (1016, translated("System Environment/Daemons")),
        (1021, text("linux")),
        (1022, text(parts.program.machine()?)),
        (1044, text(&format!("fourfold-{version}-1.src.rpm"))),
        (1064, text("4.16.0")),
        (1124, text("cpio")),
        (1125, text("gzip")),
        (1126, text("9")),
        (5011, RpmValue::Numbers(vec![SHA256])),
        (5092, RpmValue::Texts(vec![hex(&Sha256::digest(packed))])),
        (5093, RpmValue::Numbers(vec![SHA256])),
    ] {
        header.put(tag, value);
    }
    for (script, tag, program) in SCRIPTS {
        let content = String::from_utf8(contents::read(&format!("packaging/rpm/{script}"))?)?;
        header.put(tag, RpmValue::Text(content));
        header.put(program, text("/bin/sh"));
    }
    put_files(&mut header, tree, time)?;
    put_relations(&mut header, parts, version);
    Ok(header)
}

/// A list for each property of the files.
fn put_files(header: &mut RpmHeader, tree: &PackedTree, time: u32) -> Result<()> {
    let all: Vec<TreeEntry<'_>> = entries(tree).collect();
    let numbers = |of: &dyn Fn(&TreeEntry<'_>) -> u32| RpmValue::Numbers(all.iter().map(of).collect());
    let texts = |of: &dyn Fn(&TreeEntry<'_>) -> String| RpmValue::Texts(all.iter().map(of).collect());
    let size = |entry: &TreeEntry<'_>| entry.bytes.map_or(0, <[u8]>::len) as u32;
    let folder =
        |path: &str| path.rsplit_once('/').map_or("/".to_owned(), |(folder, _)| format!("/{folder}/"));
    let mut folders: Vec<String> = all.iter().map(|entry| folder(entry.path)).collect();
    folders.sort();
    folders.dedup();
    let flags = |entry: &TreeEntry<'_>| match entry.path {
        path if entry.bytes.is_some() && path.starts_with("etc/") => SETTING,
        path if entry.bytes.is_some() && path.starts_with("usr/share/doc/") => DOCUMENT,
        _ => 0,
    };
    let index = |entry: &TreeEntry<'_>| folders.binary_search(&folder(entry.path)).unwrap_or_default() as u32;
    header.put(1009, RpmValue::Numbers(vec![all.iter().map(size).sum()]));
    header.put(1028, numbers(&size));
    header.put(1030, RpmValue::Shorts(all.iter().map(|entry| entry.whole_mode() as u16).collect()));
    header.put(1033, RpmValue::Shorts(vec![0; all.len()]));
    header.put(1034, numbers(&|_| time));
    header
        .put(1035, texts(&|entry| entry.bytes.map_or_else(String::new, |bytes| hex(&Sha256::digest(bytes)))));
    header.put(1036, texts(&|_| String::new()));
    header.put(1037, numbers(&flags));
    header.put(1039, texts(&|_| "root".into()));
    header.put(1040, texts(&|_| "root".into()));
    header.put(1045, numbers(&|_| u32::MAX));
    header.put(1095, numbers(&|_| 1));
    header.put(1096, RpmValue::Numbers((1..=u32::try_from(all.len())?).collect()));
    header.put(1097, texts(&|_| String::new()));
    header.put(1116, numbers(&index));
    header.put(1117, texts(&|entry| entry.path.rsplit('/').next().unwrap_or_default().to_owned()));
    header.put(1118, RpmValue::Texts(folders.clone()));
    Ok(())
}

/// What the package provides and needs.
fn put_relations(header: &mut RpmHeader, parts: &PackageParts, version: &str) {
    header.put(1047, RpmValue::Texts(vec!["fourfold".into()]));
    header.put(1112, RpmValue::Numbers(vec![EXACTLY]));
    header.put(1113, RpmValue::Texts(vec![format!("{version}-1")]));
    let mut needs: Vec<(String, u32, String)> = vec![("/bin/sh".into(), 0, String::new())];
    if let Some((major, minor)) = parts.program.glibc() {
        needs.push((format!("libc.so.6(GLIBC_{major}.{minor})(64bit)"), 0, String::new()));
        needs.push(("libgcc_s.so.1()(64bit)".into(), 0, String::new()));
    }
    needs.extend(RPMLIB.map(|(name, version)| (name.into(), OF_RPMLIB, version.into())));
    header.put(1048, RpmValue::Numbers(needs.iter().map(|(_, flags, _)| *flags).collect()));
    header.put(1049, RpmValue::Texts(needs.iter().map(|(name, ..)| name.clone()).collect()));
    header.put(1050, RpmValue::Texts(needs.into_iter().map(|(.., version)| version).collect()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_has_files_and_the_own_folders() {
        let mut tree = PackedTree::default();
        tree.program("usr/bin/fourfold", b"program".to_vec());
        tree.file("etc/fourfold/fourfold.toml", b"x".to_vec());
        let paths: Vec<String> = entries(&tree).map(|entry| entry.path.to_owned()).collect();
        assert_eq!(paths, ["etc/fourfold", "etc/fourfold/fourfold.toml", "usr/bin/fourfold"]);
        let archive = cpio(&tree, 7).unwrap();
        assert!(archive.starts_with(b"07070100000001000041ed"), "a folder of mode 755");
        assert!(archive.len().is_multiple_of(4) && archive.windows(10).any(|part| part == b"TRAILER!!!"));
    }

    #[test]
    fn the_lead_has_96_bytes_and_names_the_package() {
        let lead = lead("fourfold-1.2.3-1", "x86_64");
        assert_eq!(
            (lead.len(), &lead[10..26], &lead[76..80]),
            (96, &b"fourfold-1.2.3-1"[..], &[0, 1, 0, 5][..])
        );
    }
}
