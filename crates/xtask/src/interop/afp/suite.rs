//! Netatalk's test programs (`afp_spectest`, `afp_logintest`). Debian 13 has them as a package. On
//! the release before, root unpacks that package and its libraries into a folder below `target/`,
//! and runs the programs with their own loader.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::process;

const PACKAGE: &str = "netatalk-tests";
/// The first release that has the package.
const RELEASE: &str = "trixie";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const BRIEFLY: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Suite {
    /// The folder of the programs.
    folder: PathBuf,
    /// The loader of another release and the folder of its libraries, if the system cannot start
    /// the programs.
    loader: Option<(PathBuf, PathBuf)>,
    /// Netatalk's version. The tests depend on it.
    pub version: String,
}

impl Suite {
    /// The programs in a folder given, installed, or unpacked by [`install`].
    pub fn find(given: Option<&Path>) -> Option<Self> {
        if let Some(folder) = given {
            return Some(Self { folder: folder.into(), loader: None, version: version_beside(folder)? });
        }
        if let Some(program) = process::find("afp_spectest") {
            let folder = program.parent()?.to_path_buf();
            let packaged = installed_version().filter(|_| folder == Path::new("/usr/bin"));
            let version = packaged.or_else(|| version_beside(&folder))?;
            return Some(Self { folder, loader: None, version });
        }
        let version = fs::read_to_string(unpacked().join("version")).ok()?;
        let libraries = libraries(&unpacked())?;
        let loader = files_in(&libraries).into_iter().find(|path| is_loader(path))?;
        Some(Self { folder: unpacked().join("usr/bin"), loader: Some((loader, libraries)), version })
    }

    /// The command that starts one of the programs.
    pub fn command(&self, program: &str) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let program = text(&self.folder.join(program));
        match &self.loader {
            Some((loader, libraries)) => {
                vec![text(loader), "--library-path".into(), text(libraries), program]
            }
            None => vec![program],
        }
    }

    /// The names of spectest's sets.
    pub fn sets(&self) -> Result<Vec<String>> {
        let command = [self.command("afp_spectest"), vec!["-l".into()]].concat();
        let args: Vec<&str> = command.iter().skip(1).map(String::as_str).collect();
        let output = process::output(&command[0], &args, BRIEFLY)?; // its exit status is 2
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let names: Vec<String> = text.lines().filter(|line| !line.contains(' ')).map(str::to_owned).collect();
        ensure!(!names.is_empty(), "afp_spectest -l lists nothing: {text}");
        Ok(names)
    }
}

/// Makes the programs available where that can be done.
pub fn install() -> Result<()> {
    if Suite::find(None).is_some() {
        return Ok(());
    }
    if !process::is_root() || process::find("apt-get").is_none() {
        bail!("as root, and with apt-get, they are installed");
    }
    let _ = process::run("apt-get", &["update", "-q"]); // the install shows whether it worked
    if has_package() {
        let env = [("DEBIAN_FRONTEND", "noninteractive")];
        return process::run_with(
            "apt-get",
            &["install", "-y", "-q", "--no-install-recommends", PACKAGE],
            &env,
        );
    }
    unpack_next_release()
}

fn has_package() -> bool {
    let shown = process::stdout_of("apt-cache", &["show", PACKAGE], BRIEFLY);
    shown.is_ok_and(|text| text.contains("Package: "))
}

fn installed_version() -> Option<String> {
    let text = process::stdout_of("dpkg-query", &["-W", "-f", "${Version}", PACKAGE], BRIEFLY).ok()?;
    Some(plain_version(&text))
}

/// `4.2.3` of `4.2.3~ds-1+deb13u2`.
fn plain_version(text: &str) -> String {
    text.trim().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect()
}

/// The version that Netatalk reports in the folder of these programs.
fn version_beside(folder: &Path) -> Option<String> {
    // Its exit status is 1.
    let output = process::output(folder.join("nad"), &["--version"], BRIEFLY).ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(plain_version(text.split("Netatalk ").nth(1)?))
}

fn unpacked() -> PathBuf {
    process::root().join("target/interop-netatalk")
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The folder of the libraries: one below `usr/lib` whose name depends on the processor.
fn libraries(root: &Path) -> Option<PathBuf> {
    files_in(&root.join("usr/lib"))
        .into_iter()
        .find(|folder| files_in(folder).iter().any(|path| is_loader(path)))
}

fn is_loader(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux"))
}

/// Fetches the package and all its dependencies, as if no package were installed, with lists and a
/// cache of its own. apt verifies all of it with Debian's keys.
fn unpack_next_release() -> Result<()> {
    let (root, place) = (unpacked(), process::fresh_folder("interop-netatalk-apt")?);
    ensure!(Path::new(KEYRING).exists(), "{KEYRING} is missing: apt-get install debian-archive-keyring");
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
    apt_get(&["install", "-y", "-q", "--download-only", PACKAGE])?;
    let _ = fs::remove_dir_all(&root); // there may be none
    fs::create_dir_all(&root)?;
    let to = root.to_string_lossy();
    let mut version = None;
    for archive in files_in(&place.join("cache/archives")) {
        let Some(name) = archive.file_name().map(|name| name.to_string_lossy().into_owned()) else {
            continue;
        };
        if name.ends_with(".deb") {
            process::run("dpkg-deb", &["-x", &archive.to_string_lossy(), &to])?;
            version = version.or_else(|| name.strip_prefix("netatalk-tests_").map(plain_version));
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
