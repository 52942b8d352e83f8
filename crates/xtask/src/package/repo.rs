//! An apt repository of the Debian packages in `target/package`: plain files, which any site can host.
//! The layout is that of <https://wiki.debian.org/DebianRepository/Format>.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::hex;
use super::tree::gzip;
use crate::process;

/// The suite, and where packages are.
const SUITE: &str = "stable";
const POOL: &str = "pool/main/f/fourfold";
/// What gpg may take.
const LIMIT: Duration = Duration::from_secs(60);
/// The longest description of a package.
const LONGEST_CONTROL: u64 = 1 << 20;

/// Makes the repository of all packages in `folder`, and signs it with this key of gpg. `time` is the time of the repository.
pub fn make(folder: &Path, key: Option<&str>, time: u64) -> Result<PathBuf> {
    let root = folder.join("repo");
    let mut packages = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        packages.extend(path.extension().is_some_and(|end| end == "deb").then_some(path));
    }
    packages.sort();
    ensure!(
        !packages.is_empty(),
        "there is no .deb in {}: `cargo xtask package deb` makes one",
        folder.display()
    );
    fs::create_dir_all(root.join(POOL))?;
    let mut lists: BTreeMap<String, String> = BTreeMap::new();
    for path in &packages {
        let bytes = fs::read(path)?;
        let name = path.file_name().context("a package has no name")?.to_string_lossy();
        let control = control(&bytes).with_context(|| format!("{name} is no package"))?;
        let architecture = field(&control, "Architecture").context("a package has no architecture")?;
        lists.entry(architecture.to_owned()).or_default().push_str(&stanza(&control, &name, &bytes));
        fs::write(root.join(POOL).join(&*name), &bytes)?;
    }
    let dists = root.join("dists").join(SUITE);
    let mut indexes = Vec::new();
    for (architecture, list) in &lists {
        let place = format!("main/binary-{architecture}");
        fs::create_dir_all(dists.join(&place))?;
        for (name, bytes) in
            [("Packages", list.clone().into_bytes()), ("Packages.gz", gzip(list.as_bytes())?)]
        {
            fs::write(dists.join(&place).join(name), &bytes)?;
            indexes.push((format!("{place}/{name}"), bytes));
        }
    }
    let architectures: Vec<&str> = lists.keys().map(String::as_str).collect();
    fs::write(dists.join("Release"), release(&architectures, &indexes, time)?)?;
    if let Some(key) = key {
        let at = |name: &str| dists.join(name).display().to_string();
        let (from, to) = (at("Release"), at("InRelease"));
        process::stdout_of(
            "gpg",
            &["--batch", "--yes", "--local-user", key, "--clearsign", "--output", &to, &from],
            LIMIT,
        )?;
    }
    Ok(root)
}

/// The description in a package: the file `control` of `control.tar.gz`.
fn control(package: &[u8]) -> Result<String> {
    let mut archive = ar::Archive::new(package);
    while let Some(member) = archive.next_entry() {
        let member = member?;
        if member.header().identifier() != b"control.tar.gz" {
            continue;
        }
        let mut files = tar::Archive::new(GzDecoder::new(member));
        for file in files.entries()? {
            let file = file?;
            if file.path()?.ends_with("control") {
                let mut text = String::new();
                file.take(LONGEST_CONTROL).read_to_string(&mut text)?;
                return Ok(text);
            }
        }
    }
    anyhow::bail!("it has no control.tar.gz with a file control")
}

fn field<'a>(control: &'a str, name: &str) -> Option<&'a str> {
    control.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// The package in the list of all packages.
fn stanza(control: &str, name: &str, bytes: &[u8]) -> String {
    let (size, sum) = (bytes.len(), hex(&Sha256::digest(bytes)));
    format!("{}\nFilename: {POOL}/{name}\nSize: {size}\nSHA256: {sum}\n\n", control.trim_end())
}

fn release(architectures: &[&str], indexes: &[(String, Vec<u8>)], time: u64) -> Result<String> {
    let date = Timestamp::from_second(time.cast_signed())?.strftime("%a, %d %b %Y %H:%M:%S UTC");
    let sums = indexes
        .iter()
        .map(|(path, bytes)| format!(" {} {} {path}\n", hex(&Sha256::digest(bytes)), bytes.len()));
    Ok(format!(
        "Origin: Fourfold\nLabel: Fourfold\nSuite: {SUITE}\nCodename: {SUITE}\nDate: {date}\nArchitectures: {}\nComponents: main\n\
         Description: Fourfold, a file server for AFP, SMB, NFS and iSCSI\nSHA256:\n{}",
        architectures.join(" "),
        sums.collect::<String>()
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tree::PackedTree;
    use super::*;

    const CONTROL: &str =
        "Package: fourfold\nVersion: 1.2.3-1\nArchitecture: amd64\nDescription: file server\n of four\n";

    fn package() -> Vec<u8> {
        let mut tree = PackedTree::default();
        tree.file("control", CONTROL);
        let control = gzip(&tree.tar("./", 0).unwrap()).unwrap();
        let mut archive = ar::Builder::new(Vec::new());
        for (name, bytes) in [("debian-binary", b"2.0\n".to_vec()), ("control.tar.gz", control)] {
            let header = ar::Header::new(name.as_bytes().to_vec(), bytes.len() as u64);
            archive.append(&header, bytes.as_slice()).unwrap();
        }
        archive.into_inner().unwrap()
    }

    #[test]
    fn a_repository_lists_its_packages_with_their_sums() {
        let folder = std::env::temp_dir().join(format!("fourfold-repo-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder); // of a test that failed
        fs::create_dir(&folder).unwrap();
        assert!(make(&folder, None, 0).unwrap_err().to_string().contains("cargo xtask package deb"));
        let bytes = package();
        fs::write(folder.join("fourfold_1.2.3-1_amd64.deb"), &bytes).unwrap();
        let root = make(&folder, None, 0).unwrap();
        let list = fs::read_to_string(root.join("dists/stable/main/binary-amd64/Packages")).unwrap();
        let sum = hex(&Sha256::digest(&bytes));
        let place = "pool/main/f/fourfold/fourfold_1.2.3-1_amd64.deb";
        assert_eq!(list, format!("{CONTROL}Filename: {place}\nSize: {}\nSHA256: {sum}\n\n", bytes.len()));
        assert_eq!(fs::read(root.join(place)).unwrap(), bytes);
        let release = fs::read_to_string(root.join("dists/stable/Release")).unwrap();
        let of_list =
            format!(" {} {} main/binary-amd64/Packages\n", hex(&Sha256::digest(list.as_bytes())), list.len());
        assert!(
            release.contains(&of_list) && release.contains("\nDate: Thu, 01 Jan 1970 00:00:00 UTC\n"),
            "{release}"
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}
