//! Netatalk's packages of Debian and all that they need, unpacked below `target/`. Debian 12 does not have them; they come
//! from the release after it. apt verifies them with Debian's keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::process;

/// afpd, the daemon and the tools of AppleTalk, and the test programs.
const PACKAGES: [&str; 3] = ["netatalk", "atalkd", TESTS];
pub const TESTS: &str = "netatalk-tests";
/// The first release that has them.
const RELEASE: &str = "trixie";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const BRIEFLY: Duration = Duration::from_secs(20);

/// The folder that they are unpacked to.
pub fn unpacked() -> PathBuf {
    process::root().join("target/interop-netatalk")
}

/// The same, if there is a server in it.
pub fn server() -> Option<PathBuf> {
    Some(unpacked()).filter(|root| root.join("usr/sbin/afpd").exists())
}

/// The daemon of AppleTalk there.
const ATALKD: &str = "usr/sbin/atalkd";

/// The version of the test programs there.
pub fn version() -> Option<String> {
    fs::read_to_string(unpacked().join("version")).ok()
}

/// `4.2.3` of `4.2.3~ds-1+deb13u2`.
pub fn plain_version(text: &str) -> String {
    text.trim().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect()
}

/// Unpacks them, unless that is done.
pub fn install() -> Result<()> {
    if server().is_some() && version().is_some() && unpacked().join(ATALKD).exists() {
        return Ok(());
    }
    if !process::is_root() || process::find("apt-get").is_none() {
        bail!("as root, and with apt-get, they are fetched");
    }
    ensure!(Path::new(KEYRING).exists(), "{KEYRING} is missing: apt-get install debian-archive-keyring");
    unpack()
}

/// Fetches the packages and all their dependencies, as if no package were installed, with lists and a cache of its own.
fn unpack() -> Result<()> {
    let (root, place) = (unpacked(), process::fresh_folder("interop-netatalk-apt")?);
    for folder in ["lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(place.join(folder))?;
    }
    fs::write(place.join("status"), "")?;
    let sources = format!("deb [signed-by={KEYRING}] {} {RELEASE} main\n", mirror()?);
    fs::write(place.join("sources.list"), sources)?;
    let options = options(&place);
    let options: Vec<&str> = options.iter().flat_map(|option| ["-o", option]).collect();
    let apt_get = |words: &[&str]| process::run("apt-get", &[&options, words].concat());
    apt_get(&["update", "-q"])?;
    apt_get(&[&["install", "-y", "-q", "--download-only"], &PACKAGES[..]].concat())?;
    let _ = fs::remove_dir_all(&root); // there may be none
    fs::create_dir_all(&root)?;
    let to = root.to_string_lossy();
    let mut version = None;
    for archive in fs::read_dir(place.join("cache/archives"))? {
        let archive = archive?;
        let name = archive.file_name().to_string_lossy().into_owned();
        if name.ends_with(".deb") {
            process::run("dpkg-deb", &["-x", &archive.path().to_string_lossy(), &to])?;
            let version_of = |name: &str| Some(plain_version(name.strip_prefix(TESTS)?.strip_prefix('_')?));
            version = version.or_else(|| version_of(&name));
        }
    }
    fs::write(root.join("version"), version.context("the package was not among those that were fetched")?)?;
    Ok(fs::remove_dir_all(&place)?)
}

fn options(place: &Path) -> Vec<String> {
    let at = |option: &str, name: &str| format!("{option}={}", place.join(name).display());
    vec![
        at("Dir::Etc::sourcelist", "sources.list"),
        "Dir::Etc::sourceparts=/dev/null".into(),
        at("Dir::State", ""),
        at("Dir::State::lists", "lists"),
        at("Dir::State::status", "status"),
        at("Dir::Cache", "cache"),
        "APT::Sandbox::User=root".into(),
        "APT::Install-Recommends=false".into(),
        "Acquire::Languages=none".into(),
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
    ]
}

/// The mirror that this machine's apt uses for its release.
fn mirror() -> Result<String> {
    let format = "$(ORIGIN)|$(COMPONENT)|$(RELEASE)|$(REPO_URI)";
    let targets = process::stdout_of(
        "apt-get",
        &["indextargets", "--format", format, "Created-By: Packages"],
        BRIEFLY,
    )?;
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).unwrap_or_default();
    let wanted = format!("Debian|main|{name}|");
    let found = targets.lines().find_map(|line| line.strip_prefix(&wanted));
    found.map(str::to_owned).with_context(|| format!("apt knows no mirror of Debian's release {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_what_its_makers_gave_it() {
        assert_eq!(plain_version("4.2.3~ds-1+deb13u2_amd64.deb"), "4.2.3");
        assert_eq!(plain_version("4.5.1)\n"), "4.5.1");
    }
}
