//! `cargo xtask compare large`: the cost of an operation in a folder of 1,000,000 files, compared
//! with a folder of 10,000.
//!
//! Both folders are shares of one server. NFS looks up exact names. AFP ignores case, as SMB does,
//! so each new name is first compared with all names of the folder.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::folder;
use crate::process::Running;
use crate::samba::{self, SambaUser};
use crate::server::{self, ExportAddress, UID};
use crate::{debian, isolate, loader, ports, process};

pub const PACKAGES: &[&[debian::Package]] = &[debian::NFS_CLIENTS];

/// A share and how many files it has.
const FOLDERS: [(&str, usize); 2] = [("small", 10_000), ("large", 1_000_000)];
/// The highest cost of an operation in the large folder, as a multiple of its cost in the small
/// one.
const BAR: f64 = 3.0;
const ADA: SambaUser = SambaUser { name: "ada", password: "secret" };

/// The measured rows, in this order: later rows need the files of earlier ones. Lists count
/// entries, the other rows count files.
const ROWS: &[(&str, Speaks, &str)] = &[
    ("NFS create, write 4 KiB", Speaks::Nfs, "create --block 4096 --file new"),
    ("NFS look-up", Speaks::Nfs, "stat --file new"),
    ("NFS look-up of a missing name", Speaks::Nfs, "missing --file none"),
    ("NFS rename there and back", Speaks::Nfs, "rename --file new"),
    ("NFS remove", Speaks::Nfs, "remove --file new"),
    ("NFS READDIRPLUS, an entry", Speaks::Nfs, "list --block 1048576 --file ."),
    ("AFP create, write 4 KiB", Speaks::Afp, "create --block 4096 --file mac"),
    ("AFP look-up", Speaks::Afp, "stat --file mac"),
    ("AFP look-up of a missing name", Speaks::Afp, "missing --file none"),
    ("AFP rename there and back", Speaks::Afp, "rename --file mac"),
    ("AFP remove", Speaks::Afp, "remove --file mac"),
];

#[derive(Clone, Copy, PartialEq)]
enum Speaks {
    Nfs,
    Afp,
}

/// A server with both shares.
struct LargeFolderBench {
    running: Running,
    nfs_port: u16,
    afp_port: u16,
    nfs: PathBuf,
    afp: PathBuf,
    count: usize,
}

pub fn run(quick: bool) -> Result<()> {
    if !isolate::is_isolated() {
        bail!(
            "as root only, and where namespaces may be made: the folders are made on a file system of their own"
        );
    }
    let bench = LargeFolderBench::start(if quick { 500 } else { 5_000 })?;
    let before = bench.running.memory_kib();
    let mut short = 0;
    println!("| an operation | 10,000 files | 1,000,000 files | times |\n|---|---|---|---|");
    for (name, speaks, args) in ROWS {
        // The first run of each row reads the folder. The time that a client waits for that once is
        // not measured.
        let [small, large] = FOLDERS.map(|(share, files)| {
            bench.measure(*speaks, share, files, args, false)?;
            bench.measure(*speaks, share, files, args, true)
        });
        let (small, large) = (small?, large?);
        let times = large / small;
        short += usize::from(times > BAR);
        println!("| {name} | {small:.2} us | {large:.2} us | {times:.2} |");
    }
    println!("memory: {} MiB before, {} MiB after", before / 1024, bench.running.memory_kib() / 1024);
    if short > 0 {
        bail!("{short} rows cost more than {BAR} times as much in the large folder");
    }
    Ok(())
}

impl LargeFolderBench {
    fn start(count: usize) -> Result<Self> {
        samba::unix_users(&process::fresh_folder("compare/users")?, &[(ADA, UID)])?;
        let folder = folder::prepare_for_many()?;
        let state = process::fresh_folder("compare/state-large")?;
        let mut text = "[server]\nafp-logins = [\"cleartext\"]\nbonjour = \"off\"\n".to_owned();
        for (share, files) in FOLDERS {
            println!("making {files} files in {share} …");
            fill(&folder.join(share), files)?;
            text +=
                &format!("\n[[share]]\nname = \"{share}\"\npath = \"{}\"\n", folder.join(share).display());
        }
        let settings = state.with_extension("toml");
        std::fs::write(&settings, text)?;
        server::add_user_with(&state, ADA.name, ADA.password, UID, &["--legacy-password"])?;
        let (nfs_port, afp_port) = (ports::free_port()?, ports::free_port()?);
        let ports = ["--nfs-port", &nfs_port.to_string(), "--afp-port", &afp_port.to_string()];
        let running = server::ours_with_settings(&settings, &state, &ports)?;
        let (nfs, afp) = (loader::compile("load")?, loader::compile_afp()?);
        Ok(Self { running, nfs_port, afp_port, nfs, afp, count })
    }

    /// Microseconds per operation. A row that makes or removes files runs twice, each time with
    /// other files.
    fn measure(&self, speaks: Speaks, share: &str, files: usize, args: &str, second: bool) -> Result<f64> {
        let is_list = args.starts_with("list");
        let count = if is_list { files } else { self.count }.to_string();
        let mut all: Vec<String> = args.split(' ').map(str::to_owned).collect();
        if let Some(last) = all.last_mut().filter(|_| !is_list && !second) {
            last.push_str("-first");
        }
        all.extend(["--count".to_owned(), count, "--passes".to_owned(), "1".to_owned()]);
        all.extend(self.reach(speaks, share));
        let program = if speaks == Speaks::Nfs { &self.nfs } else { &self.afp };
        let measured = loader::load(program, &all, self.running.pid())?;
        Ok(measured.seconds * 1e6 / measured.ops as f64)
    }

    fn reach(&self, speaks: Speaks, share: &str) -> Vec<String> {
        let port = self.afp_port.to_string();
        match speaks {
            Speaks::Nfs => loader::nfs_options(&ExportAddress {
                export: format!("/{share}"),
                nfs_port: self.nfs_port,
                mount_port: self.nfs_port,
            }),
            Speaks::Afp => {
                ["--port", &port, "--share", share, "--user", ADA.name, "--password", ADA.password]
                    .map(str::to_owned)
                    .to_vec()
            }
        }
    }
}

/// Empty files that belong to the clients' user, as their folder does.
fn fill(folder: &Path, files: usize) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    std::os::unix::fs::chown(folder, Some(UID), Some(UID))?;
    for entry in 0..files {
        let path = folder.join(format!("entry-{entry:07}"));
        File::create(&path)?;
        std::os::unix::fs::chown(&path, Some(UID), Some(UID))?;
    }
    Ok(())
}
