//! `cargo xtask interop package`: our packages as a machine gets them. The Debian package is installed, upgraded, removed
//! and purged in a copy of this machine's file system that nothing is written back from (overlayfs); the image and the
//! tarball are unpacked and run.

mod alone;
mod installed;
mod scripts;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::outcome::Outcomes;
use crate::package::{self, MAINTAINER, PackageParts};
use crate::{isolate, process, server};

const LIMIT: Duration = Duration::from_secs(60);
/// The version of the upgrade.
const NEXT: &str = "9.0.0-1";
/// `systemd-analyze security` gives a service without any restriction 96 of 100, and 100 is the worst.
const MOST_EXPOSED: &str = "45";

const ALONE: &str = "tarball: the static program serves where nothing else is";

/// All packages of the program under test.
pub fn run(outcomes: &mut Outcomes) -> Result<()> {
    if !isolate::is_isolated() {
        outcomes.skip("deb", "as root only, and where namespaces may be made");
        return Ok(());
    }
    let place = process::fresh_folder("interop-package")?;
    let parts = PackageParts::quickly(&server::binary(), &place)?;
    println!("{}", parts.about());
    let (deb, next) = (parts.deb(None, MAINTAINER)?, parts.deb(Some(NEXT), MAINTAINER)?);
    let again = PackageParts::quickly(&server::binary(), &place)?;
    outcomes.run("packages: the same program gives the same bytes", &[], || {
        ensure!(again.deb(None, MAINTAINER)? == deb, "{} differs", deb.0);
        ensure!(again.tarball()? == parts.tarball()?, "the tarball differs");
        ensure!(again.oci()? == parts.oci()?, "the image differs");
        Ok(())
    });
    for (name, bytes) in [&deb, &next] {
        fs::write(place.join(name), bytes)?;
    }
    let file = place.join(&deb.0).display().to_string();
    outcomes.run("deb: dpkg-deb reads it", &["dpkg-deb"], || {
        let listed = process::stdout_of("dpkg-deb", &["--contents", &file], LIMIT)?;
        ensure!(
            listed.contains(" ./usr/bin/fourfold\n") || listed.contains(" usr/bin/fourfold\n"),
            "{listed}"
        );
        process::stdout_of("dpkg-deb", &["--info", &file], LIMIT).map(drop)
    });
    outcomes.run("deb: lintian finds no error", &["lintian"], || {
        let args = ["--allow-root", "--fail-on", "error", &file];
        process::stdout_of("lintian", &args, LIMIT).map(drop)
    });
    installed::run(outcomes, &place, &[&deb.0, &next.0])?;
    outcomes.run("tarball: the program runs", &["tar"], || tarball(&parts, &place));
    outcomes.run("rpm: rpm checks, installs, verifies and removes it", &["rpm"], || rpm(&parts, &place));
    outcomes.run("rpm: its scripts install, upgrade and remove it", &["rpm", "chroot"], || {
        scripts::run(&parts, &place)
    });
    let program = package::static_program();
    if program.is_file() {
        outcomes.run(ALONE, &["tar", "chroot", "nfs-ls", "smbclient"], || alone::run(&program, &place));
    } else {
        outcomes.skip(ALONE, "there is no static program; docs/packages.md says how it is compiled");
    }
    let image = oci(&parts, &place)?;
    outcomes.run("oci: skopeo reads it", &["skopeo"], || {
        let found = process::stdout_of("skopeo", &["inspect", &format!("oci-archive:{image}")], LIMIT)?;
        let found: Value = serde_json::from_str(&found)?;
        ensure!(
            found["Os"] == "linux" && found["Labels"]["org.opencontainers.image.title"] == "fourfold",
            "{found}"
        );
        Ok(())
    });
    outcomes.run("oci: the program runs with what is in the image", &["tar", "chroot"], || {
        container(&image, &place)
    });
    Ok(())
}

fn unpack(archive: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let (archive, folder) = (archive.display().to_string(), folder.display().to_string());
    process::stdout_of("tar", &["-xf", &archive, "-C", &folder], LIMIT).map(drop)
}

fn tarball(parts: &PackageParts, place: &Path) -> Result<()> {
    let (name, bytes) = parts.tarball()?;
    fs::write(place.join(&name), bytes)?;
    let folder = place.join("tarball");
    unpack(&place.join(&name), &folder)?;
    let folder = folder.join(name.trim_end_matches(".tar.gz"));
    let said = process::stdout_of(folder.join("bin/fourfold"), &["--version"], LIMIT)?;
    ensure!(said.starts_with("fourfold "), "it says {said}");
    for file in
        ["README.md", "LICENSE-MIT", "third-party.txt", "docs/settings.md", "packaging/fourfold.service"]
    {
        ensure!(folder.join(file).is_file(), "{file} is missing");
    }
    Ok(())
}

/// Without the scripts: the folder has nothing but the package.
fn rpm(parts: &PackageParts, place: &Path) -> Result<()> {
    let (name, bytes) = parts.rpm(None)?;
    let (file, root) = (place.join(name), place.join("rpm"));
    fs::write(&file, bytes)?;
    fs::create_dir_all(&root)?;
    let (file, folder) = (file.display().to_string(), root.display().to_string());
    let checked = process::stdout_of("rpm", &["--checksig", "--nosignature", &file], LIMIT)?;
    ensure!(checked.contains("digests OK"), "rpm says {checked}");
    let ask = |words: &[&str]| process::stdout_of("rpm", &[&["--root", &folder], words].concat(), LIMIT);
    ask(&["--install", "--nodeps", "--noscripts", &file])?;
    let said = process::stdout_of(root.join("usr/bin/fourfold"), &["--version"], LIMIT)?;
    ensure!(said.starts_with("fourfold "), "it says {said}");
    ask(&["--verify", "--nodeps", "--noscripts", "fourfold"])?;
    let settings = ask(&["--query", "--configfiles", "fourfold"])?;
    ensure!(settings.trim() == "/etc/fourfold/fourfold.toml", "settings are {settings}");
    ask(&["--erase", "--nodeps", "--noscripts", "fourfold"])?;
    ensure!(
        !root.join("usr/bin/fourfold").exists() && !root.join("etc/fourfold").exists(),
        "it leaves files"
    );
    Ok(())
}

/// Writes the image, and returns its path.
fn oci(parts: &PackageParts, place: &Path) -> Result<String> {
    let (name, bytes) = parts.oci()?;
    fs::write(place.join(&name), bytes)?;
    Ok(place.join(name).display().to_string())
}

/// Unpacks the image as its specification says, and starts the program with the image as its whole file system.
fn container(image: &str, place: &Path) -> Result<()> {
    let (layout, root) = (place.join("image"), place.join("container"));
    unpack(Path::new(image), &layout)?;
    let blob = |described: &Value| {
        let digest = described["digest"].as_str().and_then(|digest| digest.strip_prefix("sha256:"));
        Ok::<_, anyhow::Error>(layout.join("blobs/sha256").join(digest.context("no digest")?))
    };
    let read = |path: &Path| Ok::<Value, anyhow::Error>(serde_json::from_slice(&fs::read(path)?)?);
    let index = read(&layout.join("index.json"))?;
    let manifest = read(&blob(&index["manifests"][0])?)?;
    let config = read(&blob(&manifest["config"])?)?;
    unpack(&blob(&manifest["layers"][0])?, &root)?;
    let root = root.display().to_string();
    let program = config["config"]["Entrypoint"][0].as_str().context("no entry point")?;
    let settings = config["config"]["Cmd"][2].as_str().context("no settings")?;
    let said = process::stdout_of("chroot", &[&root, program, "check", "--config", settings], LIMIT)?;
    ensure!(said.contains("accepted"), "it says {said}");
    Ok(())
}
