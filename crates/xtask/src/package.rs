//! `cargo xtask package`: a Debian package, an RPM, a tarball and an OCI image of the program. The same program gives the same
//! bytes: names are sorted, owners are root, and all times are that of the commit.

mod contents;
mod deb;
mod licences;
mod oci;
mod program;
mod repo;
mod rpm;
mod tarball;
mod tree;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use flate2::Compression;
use sha2::{Digest, Sha256};

use crate::process;
use program::PackagedProgram;

/// What git and cargo may take to tell something.
const LIMIT: Duration = Duration::from_secs(60);
/// The maintainer of the Debian package, unless another one is named.
pub const MAINTAINER: &str = "The Fourfold authors <fourfold@fourfold.invalid>";
/// Where packages are made, below the repository's root.
const FOLDER: &str = "target/package";
/// Where the program is compiled for packages, without paths of this machine.
const BUILD_FOLDER: &str = "target/dist";

#[derive(clap::Args)]
pub struct PackageArgs {
    /// deb, rpm, tarball, oci or all of these; repo: an apt repository of the Debian packages that were made
    #[arg(default_value = "all")]
    what: String,
    /// Pack this program instead of compiling one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Compile for this target, such as x86_64-unknown-linux-musl for a static program
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// The version of the Debian package instead of that of the workspace
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// The maintainer of the Debian package
    #[arg(
        long,
        value_name = "NAME <ADDRESS>",
        default_value = "The Fourfold authors <fourfold@fourfold.invalid>"
    )]
    maintainer: String,
    /// Sign the repository with this key of gpg
    #[arg(long, value_name = "KEY")]
    sign_with: Option<String>,
}

pub fn run(args: &PackageArgs) -> Result<()> {
    let kinds = ["deb", "rpm", "tarball", "oci"];
    if args.what == "repo" {
        let made = repo::make(&process::root().join(FOLDER), args.sign_with.as_deref(), time()?)?;
        println!("{}", made.display());
        return Ok(());
    }
    ensure!(
        args.what == "all" || kinds.contains(&&*args.what),
        "{} is no kind of package; there are: {}, all, repo",
        args.what,
        kinds.join(", ")
    );
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => compile(args.target.as_deref())?,
    };
    let folder = process::root().join(FOLDER);
    std::fs::create_dir_all(&folder)?;
    let parts = PackageParts::of(&binary, &folder)?;
    println!("{}", parts.about());
    let mut made = Vec::new();
    for kind in kinds.into_iter().filter(|kind| args.what == "all" || args.what == *kind) {
        let (name, bytes) = match kind {
            "deb" => parts.deb(args.version.as_deref(), &args.maintainer)?,
            "rpm" => parts.rpm(None)?,
            "tarball" => parts.tarball()?,
            _ => parts.oci()?,
        };
        std::fs::write(folder.join(&name), &bytes).with_context(|| format!("cannot write {name}"))?;
        let sum = hex(&Sha256::digest(&bytes));
        println!("{sum}  {FOLDER}/{name} ({} bytes)", bytes.len());
        made.push(format!("{sum}  {name}\n"));
    }
    std::fs::write(folder.join("SHA256SUMS"), made.concat())?;
    Ok(())
}

/// All that packages are made of.
pub struct PackageParts {
    program: PackagedProgram,
    /// The version of the workspace.
    version: String,
    /// The time of all files, in seconds since 1970.
    time: u64,
    third_party: String,
    /// How well archives are compressed.
    compression: Compression,
}

impl PackageParts {
    /// Strips the program into `folder`, and collects the rest from the repository.
    pub fn of(binary: &Path, folder: &Path) -> Result<Self> {
        let metadata = metadata()?;
        let version = metadata["packages"]
            .as_array()
            .and_then(|all| all.iter().find(|package| package["name"] == "fourfold"))
            .and_then(|package| package["version"].as_str())
            .context("cargo metadata names no version of fourfold")?;
        Ok(Self {
            program: PackagedProgram::stripped(binary, folder)?,
            version: version.to_owned(),
            time: time()?,
            third_party: licences::notices(&metadata)?,
            compression: Compression::best(),
        })
    }

    /// The same, with archives that are made quickly and are larger: for tests.
    pub fn quickly(binary: &Path, folder: &Path) -> Result<Self> {
        Ok(Self { compression: Compression::fast(), ..Self::of(binary, folder)? })
    }

    fn compress(&self, archive: &[u8]) -> Result<Vec<u8>> {
        tree::compressed(archive, self.compression)
    }

    /// A line about the program.
    pub fn about(&self) -> String {
        format!("program: {} bytes, stripped; {}", self.program.bytes.len(), self.program.needs())
    }

    /// The name and the bytes of the Debian package.
    pub fn deb(&self, version: Option<&str>, maintainer: &str) -> Result<(String, Vec<u8>)> {
        let version = version.map_or_else(|| format!("{}-1", self.version), str::to_owned);
        deb::make(self, &deb::About { version, maintainer: maintainer.to_owned() })
    }

    /// The name and the bytes of the RPM; `version` without the number of the package.
    pub fn rpm(&self, version: Option<&str>) -> Result<(String, Vec<u8>)> {
        rpm::make(self, version.unwrap_or(&self.version))
    }

    pub fn tarball(&self) -> Result<(String, Vec<u8>)> {
        tarball::make(self)
    }

    pub fn oci(&self) -> Result<(String, Vec<u8>)> {
        oci::make(self)
    }
}

/// Where `cargo xtask package --target` has the static program for this processor, if it was compiled.
pub fn static_program() -> PathBuf {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    process::root().join(BUILD_FOLDER).join(target).join("release/fourfold")
}

/// Compiles the program. Paths of this machine are replaced, so that they do not change the bytes.
fn compile(target: Option<&str>) -> Result<PathBuf> {
    let root = process::root();
    let home =
        std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")));
    let home = home.context("neither CARGO_HOME nor HOME is set")?;
    let flags = [(root.display().to_string(), "."), (home, "/cargo")];
    let flags = flags.map(|(from, to)| format!("--remap-path-prefix={from}={to}")).join("\u{1f}");
    let mut args = vec![
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--package",
        "fourfold",
        "--target-dir",
        BUILD_FOLDER,
    ];
    args.extend(target.iter().flat_map(|target| ["--target", target]));
    process::run_with("cargo", &args, &[("CARGO_ENCODED_RUSTFLAGS", &flags)])?;
    Ok(root.join(BUILD_FOLDER).join(target.unwrap_or_default()).join("release/fourfold"))
}

/// `cargo metadata` of the libraries that are linked on this platform.
fn metadata() -> Result<serde_json::Value> {
    let host = process::stdout_of("rustc", &["-vV"], LIMIT)?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let manifest = process::root().join("Cargo.toml").display().to_string();
    let args = [
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        host,
        "--manifest-path",
        &manifest,
    ];
    Ok(serde_json::from_str(&process::stdout_of("cargo", &args, LIMIT)?)?)
}

/// `SOURCE_DATE_EPOCH`, else the time of the commit.
fn time() -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => {
            let root = process::root().display().to_string();
            process::stdout_of("git", &["-C", &root, "log", "-1", "--format=%ct"], LIMIT)?
        }
    };
    match text.trim().parse() {
        Ok(time) => Ok(time),
        Err(_) => bail!("{text:?} is no time in seconds since 1970; set SOURCE_DATE_EPOCH"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
