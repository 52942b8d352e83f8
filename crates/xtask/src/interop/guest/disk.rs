//! A disk for the virtual machine with programs from Debian's packages, which are not installed on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;

const LIMIT: Duration = Duration::from_secs(300);

/// The image of the disk with this name, which [`fetch`] makes.
pub fn image(name: &str) -> PathBuf {
    process::root().join("target").join(name).join("disk.img")
}

/// Fetches the packages and all their dependencies, and makes the disk with this name, unless it exists.
pub fn fetch(name: &str, packages: &[&str]) -> Result<()> {
    let list = process::root().join("target").join(name).join("packages");
    if fs::read_to_string(&list).is_ok_and(|made_of| made_of == packages.join(" ")) {
        return Ok(());
    }
    let folder = process::fresh_folder(name)?;
    download(packages, &folder)?;
    unpack(&folder)?;
    fs::write(list, packages.join(" ")).context("cannot write the list of packages")
}

/// With an empty list of installed packages, apt fetches everything.
fn download(packages: &[&str], folder: &Path) -> Result<()> {
    let (archives, status) = (folder.join("archives"), folder.join("status"));
    fs::create_dir_all(archives.join("partial"))?;
    fs::write(&status, "")?;
    let options = [
        format!("-oDir::State::status={}", status.display()),
        format!("-oDir::Cache::archives={}", archives.display()),
        "-oDir::Cache::pkgcache=".into(),
        "-oDir::Cache::srcpkgcache=".into(),
        "-oAPT::Sandbox::User=root".into(),
        "-oDebug::NoLocking=1".into(),
    ];
    let mut args: Vec<&str> = options.iter().map(String::as_str).collect();
    args.extend(["install", "-y", "-q", "--no-install-recommends", "--download-only"]);
    args.extend(packages);
    process::stdout_of("apt-get", &args, LIMIT).map(drop)
}

/// `/bin`, `/sbin` and `/lib` are links into `/usr`, as on an installed Debian. Documentation stays out.
const UNPACK: &str = r#"cd "$0"
mkdir -p root/usr/bin root/usr/sbin root/usr/lib root/usr/lib64 root/root root/mnt
for name in bin sbin lib lib64; do ln -s usr/$name root/$name; done
for package in archives/*.deb; do
	dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C root --exclude=./usr/share/doc \
		--exclude=./usr/share/man --exclude=./usr/share/locale --exclude=./usr/share/perl --exclude='./usr/share/X11'
done
rm -r archives
printf 'root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000:ada:/tmp:/bin/bash\nstatd:x:106:65534::/var/lib/nfs:/bin/false\n_rpc:x:107:65534::/run/rpcbind:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n' >root/etc/passwd
printf 'root:x:0:\nada:x:1000:\nnogroup:x:65534:\n' >root/etc/group
truncate -s 2G disk.img
mkfs.ext4 -q -F -O ^has_journal -d root disk.img
rm -r root"#;

fn unpack(folder: &Path) -> Result<()> {
    process::stdout_of("sh", &["-ec", UNPACK, &folder.to_string_lossy()], LIMIT).map(drop)
}
