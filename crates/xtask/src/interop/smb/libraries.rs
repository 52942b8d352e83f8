//! Libraries in other languages that reach SMB servers. Each has a program in `interop/smb/` that
//! uses a share as a user does.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, iter};

use anyhow::{Context, Result, ensure};

use super::place::{ADA, SmbPlace};
use crate::interop::outcome::Outcomes;
use crate::process;

/// The time limit for fetching and building one of them for the first time.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);
/// The time limit of one program.
const LIMIT: Duration = Duration::from_secs(90);

/// The source of one of the programs.
pub struct ProgramSource {
    pub name: &'static str,
    /// Its folder in `interop/smb/`.
    source: &'static str,
    /// The programs that it needs. Without them it is skipped: they are too large to be installed
    /// only for this.
    needs: &'static [&'static str],
    /// The commands to fetch and build it, in a folder with a copy of the source.
    install: &'static [&'static str],
    /// The command to start it in that folder.
    start: &'static [&'static str],
}

pub const LIBRARIES: &[ProgramSource] = &[
    ProgramSource {
        name: "go-smb2",
        source: "go",
        needs: &["go"],
        install: &["go", "build", "-o", "client", "."],
        start: &["./client"],
    },
    ProgramSource {
        name: "smb-rs",
        source: "rust",
        needs: &["cargo"],
        install: &["cargo", "build", "--quiet", "--locked", "--target-dir", "target"],
        start: &["target/debug/interop-smb"],
    },
    ProgramSource {
        name: "v9u-smb2",
        source: "node",
        needs: &["node", "npm"],
        install: &["npm", "install", "--silent", "--ignore-scripts", "--no-package-lock"],
        start: &["node", "v9u-smb2.js"],
    },
    ProgramSource {
        name: "smbj",
        source: "java",
        needs: &["java", "mvn"],
        install: JARS,
        start: &["java", "-cp", "jars/*", "Clients.java", "smbj"],
    },
    ProgramSource {
        name: "jcifs-ng",
        source: "java",
        needs: &["java", "mvn"],
        install: JARS,
        start: &["java", "-cp", "jars/*", "Clients.java", "jcifs-ng"],
    },
];

/// Fetches the packages in `pom.xml`.
const JARS: &[&str] = &[
    "mvn",
    "-q",
    "-B",
    "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies",
    "-DoutputDirectory=jars",
];

impl ProgramSource {
    fn folder(&self) -> PathBuf {
        process::root().join("target/interop-smb-libraries").join(self.source)
    }

    fn is_installed(&self, sources: &str) -> bool {
        fs::read_to_string(self.folder().join("installed")).is_ok_and(|installed| installed == sources)
    }

    /// Fetches and builds it, unless the wanted version is there. That needs the outside network.
    /// If it fails, the program is skipped.
    pub fn install(&self) {
        if self.missing().is_none()
            && let Err(error) = self.try_install()
        {
            println!("{} cannot be installed: {error:#}", self.name);
        }
    }

    fn try_install(&self) -> Result<()> {
        let from = process::root().join("interop/smb").join(self.source);
        let sources = copy(&from, &self.folder())?;
        if self.is_installed(&sources) {
            return Ok(());
        }
        let _ = fs::remove_file(self.folder().join("installed")); // there may be none
        let output = self.within(self.install, &[], INSTALL_LIMIT)?;
        let said = [output.stdout, output.stderr].concat();
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&said).trim());
        Ok(fs::write(self.folder().join("installed"), sources)?)
    }

    fn missing(&self) -> Option<&'static str> {
        self.needs.iter().find(|program| process::find(program).is_none()).copied()
    }

    /// A command in its folder.
    fn within(&self, command: &[&str], more: &[&str], limit: Duration) -> Result<std::process::Output> {
        let folder = self.folder().to_string_lossy().into_owned();
        let args = ["-C", &folder].into_iter().chain(command.iter().copied()).chain(more.iter().copied());
        process::output("env", &args.collect::<Vec<_>>(), limit)
    }

    /// Runs the program's checks.
    pub fn run(&self, outcomes: &mut Outcomes, place: &SmbPlace, port: u16) {
        if let Some(missing) = self.missing() {
            return outcomes.skip(self.name, &format!("{missing} is not installed"));
        }
        if !self.folder().join("installed").exists() {
            return outcomes.skip(self.name, "it cannot be installed");
        }
        session(outcomes, self.name, place, port, |args| self.within(self.start, args, LIMIT));
    }
}

/// Copies a folder of sources. Returns all of their text.
fn copy(from: &Path, to: &Path) -> Result<String> {
    fs::create_dir_all(to)?;
    let mut sources = String::new();
    let mut names: Vec<_> = fs::read_dir(from)?.collect::<Result<_, _>>()?;
    names.sort_by_key(fs::DirEntry::file_name);
    for entry in names {
        let (name, to) = (entry.file_name(), to.join(entry.file_name()));
        match entry.file_type()?.is_dir() {
            true if name == "target" || name == "node_modules" => {}
            true => sources.push_str(&copy(&entry.path(), &to)?),
            false => {
                let text = fs::read_to_string(entry.path())
                    .with_context(|| format!("{} cannot be read", entry.path().display()))?;
                if !fs::read_to_string(&to).is_ok_and(|there| there == text) {
                    fs::write(&to, &text)?;
                }
                sources.extend(iter::once(text));
            }
        }
    }
    Ok(sources)
}

/// Runs a program with these arguments. Its lines are outcomes of their own. An outcome with its
/// name tells whether it came to its end.
pub fn session(
    outcomes: &mut Outcomes,
    name: &str,
    place: &SmbPlace,
    port: u16,
    run: impl FnOnce(&[&str]) -> Result<std::process::Output>,
) {
    let mut text = String::new();
    outcomes.run(name, &[], || {
        let (port, files) = (port.to_string(), place.folder.join("files"));
        let files = files.to_string_lossy();
        let mut args = vec!["--port", &port, "--share", "files", "--folder", &files];
        args.extend(["--user", ADA.name, "--password", ADA.password]);
        let output = run(&args)?;
        text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {}", output.status, said.trim());
        Ok(())
    });
    outcomes.add_lines(name, &text);
}
