//! The Debian package: an `ar` archive with two compressed `tar` archives, as deb(5) says.

use anyhow::Result;
use jiff::Timestamp;
use md5::{Digest, Md5};

use super::contents::{self, DOC};
use super::tree::{PackedTree, gzip};
use super::{PackageParts, hex};

/// What is particular to one package.
pub struct About {
    pub version: String,
    pub maintainer: String,
}

const SCRIPTS: &[&str] = &["postinst", "prerm", "postrm"];
const DESCRIPTION: &str = "file server for AFP, SMB, NFS and iSCSI over one tree
 Fourfold shares folders with old and new Macs, Windows, Linux and UNIX. It is
 one process: what one client locks, renames or tags is locked, renamed and
 tagged for the clients of all protocols. The data stays plain files.
 .
 The package has a service for systemd. After the installation nothing is
 shared: /etc/fourfold/fourfold.toml says how to begin.";

/// The name and the bytes of the package.
pub fn make(parts: &PackageParts, about: &About) -> Result<(String, Vec<u8>)> {
    let data = data(parts, about)?;
    let control = control(parts, about, &data)?;
    let architecture = parts.program.debian_architecture()?;
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", parts.compress(&control.tar("./", parts.time)?)?),
        ("data.tar.gz", parts.compress(&data.tar("./", parts.time)?)?),
    ];
    let mut archive = ar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = ar::Header::new(name.as_bytes().to_vec(), bytes.len() as u64);
        header.set_mtime(parts.time);
        header.set_mode(0o100_644);
        archive.append(&header, bytes.as_slice())?;
    }
    Ok((format!("fourfold_{}_{architecture}.deb", about.version), archive.into_inner()?))
}

/// The files that are installed.
fn data(parts: &PackageParts, about: &About) -> Result<PackedTree> {
    let mut tree = contents::installed(parts, "zsh/vendor-completions")?;
    tree.file(&format!("{DOC}/copyright"), copyright()?);
    tree.file(&format!("{DOC}/changelog.Debian.gz"), gzip(changelog(parts, about)?.as_bytes())?);
    Ok(tree)
}

/// The description of the package, and the scripts of the maintainer.
fn control(parts: &PackageParts, about: &About, data: &PackedTree) -> Result<PackedTree> {
    let mut tree = PackedTree::default();
    let sum = |(path, bytes): (&str, &[u8])| format!("{}  {path}\n", hex(&Md5::digest(bytes)));
    let is_setting = |path: &str| path.starts_with("etc/");
    tree.file("control", fields(parts, about, data)?);
    tree.file("md5sums", data.files().filter(|(path, _)| !is_setting(path)).map(sum).collect::<String>());
    let settings = data.files().filter(|(path, _)| is_setting(path));
    tree.file("conffiles", settings.map(|(path, _)| format!("/{path}\n")).collect::<String>());
    for script in SCRIPTS {
        tree.program(script, contents::read(&format!("packaging/debian/{script}"))?);
    }
    Ok(tree)
}

fn fields(parts: &PackageParts, about: &About, data: &PackedTree) -> Result<String> {
    let mut depends = vec!["systemd | systemd-standalone-sysusers | systemd-sysusers".to_owned()];
    if let Some((major, minor)) = parts.program.glibc() {
        depends.extend([format!("libc6 (>= {major}.{minor})"), "libgcc-s1".to_owned()]);
    }
    let fields = [
        ("Package", "fourfold".to_owned()),
        ("Version", about.version.clone()),
        ("Architecture", parts.program.debian_architecture()?.to_owned()),
        ("Maintainer", about.maintainer.clone()),
        ("Installed-Size", data.kib().to_string()),
        ("Depends", depends.join(", ")),
        (
            "Suggests",
            "btrfs-progs, zfsutils-linux, openssh-client, libgssapi-krb5-2, smartmontools".to_owned(),
        ),
        ("Section", "net".to_owned()),
        ("Priority", "optional".to_owned()),
        ("Description", DESCRIPTION.to_owned()),
    ];
    Ok(fields.iter().map(|(name, value)| format!("{name}: {value}\n")).collect())
}

/// The copyright file, with the text of the MIT licence as a field of it.
fn copyright() -> Result<String> {
    let template = String::from_utf8(contents::read("packaging/debian/copyright")?)?;
    let licence = String::from_utf8(contents::read("LICENSE-MIT")?)?;
    let line = |line: &str| if line.is_empty() { " .".to_owned() } else { format!(" {line}") };
    let licence: Vec<String> = licence.trim().lines().map(line).collect();
    Ok(template.replace("@MIT@", &licence.join("\n")))
}

/// Debian's own changelog has one entry: the changes are in that of the project.
fn changelog(parts: &PackageParts, About { version, maintainer }: &About) -> Result<String> {
    let date = Timestamp::from_second(parts.time.cast_signed())?.strftime("%a, %d %b %Y %H:%M:%S +0000");
    Ok(format!(
        "fourfold ({version}) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- {maintainer}  {date}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copyright_is_a_file_of_fields() {
        let text = copyright().unwrap();
        assert!(text.contains("\nLicense: MIT\n MIT License\n .\n Copyright (c)"), "{text}");
        assert!(
            text.lines().all(|line| line.is_empty() || line.starts_with(' ') || line.contains(": ")),
            "{text}"
        );
    }
}
