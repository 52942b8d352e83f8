//! The folders, the servers and the client of a run.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{Content, LAYOUTS, Layout};
use crate::process::{self, Running};
use crate::samba::{self, Share, User};
use crate::{isolate, server};

const ADA: User = User { name: "ada", password: "secret" };
const UID: u32 = 61001;
/// The time limit of one run of smbclient.
const LIMIT: Duration = Duration::from_secs(20);

pub struct Place {
    folder: PathBuf,
    configuration: PathBuf,
}

impl Place {
    pub fn new() -> Result<Self> {
        let folder = process::fresh_folder("interop-layouts")?;
        for layout in LAYOUTS {
            let share = folder.join(layout.name);
            fs::create_dir_all(&share)?;
            chown(&share, Some(UID), Some(UID))?;
        }
        if isolate::is_isolated() {
            samba::unix_users(&folder, &[(ADA, UID)])?;
        }
        let configuration = samba::client_configuration(&folder.join("client"))?;
        Ok(Self { folder, configuration })
    }

    /// smbd with a share for each layout.
    pub fn smbd(&self) -> Result<(Running, u16)> {
        let port = process::free_port()?;
        let share = |layout: &Layout| Share {
            name: layout.name.into(),
            folder: self.folder.join(layout.name),
            settings: layout.settings,
        };
        let shares: Vec<Share> = LAYOUTS.iter().map(share).collect();
        Ok((samba::start(&self.folder.join("smbd"), port, &[ADA], &shares, "")?, port))
    }

    /// This server over the same folders, with no setting that names a layout.
    pub fn ours(&self) -> Result<(Running, u16)> {
        let (port, state) = (process::free_port()?, self.folder.join("fourfold"));
        let share = |layout: &Layout| {
            let path = self.folder.join(layout.name);
            format!("[[share]]\nname = \"{}\"\npath = \"{}\"\n\n", layout.name, path.display())
        };
        let settings = self.folder.join("fourfold.toml");
        fs::write(&settings, LAYOUTS.iter().map(share).collect::<String>())?;
        server::add_user(&state, ADA.name, ADA.password, UID)?;
        let running = server::ours_with_settings(&settings, &state, &["--smb-port", &port.to_string()])?;
        Ok((running, port))
    }

    pub fn client(&self, port: u16) -> Client<'_> {
        Client { place: self, port: port.to_string() }
    }

    /// Whether a file has exactly the attributes that smbd would have written.
    pub fn has_layout(&self, layout: &Layout, file: &str) -> Result<()> {
        let folder = self.folder.join(layout.name);
        let mut names = attributes(&folder.join(file))?;
        names.extend(in_depot(&folder, &folder.join(file))?);
        let places = [Some(layout.tags), Some(layout.finder_info), layout.resource];
        for name in places.into_iter().flatten() {
            ensure!(names.iter().any(|found| found == name), "there is no {name} among {names:?}");
        }
        let others =
            |name: &&String| name.contains("AFP_") || name.contains("kMDItem") || name.contains("netatalk");
        let other = names.iter().filter(others).find(|name| !places.contains(&Some(&***name)));
        ensure!(other.is_none(), "there is {other:?}, too");
        let sidecar = folder.join(format!("._{file}"));
        ensure!(sidecar.exists() == layout.resource.is_none(), "{} is wrong", sidecar.display());
        Ok(())
    }
}

/// The names of a file's attributes.
fn attributes(path: &Path) -> Result<Vec<String>> {
    let mut names = vec![0_u8; 65536];
    let len = rustix::fs::listxattr(path, &mut names[..]).with_context(|| path.display().to_string())?;
    let names = names[..len].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| OsStr::from_bytes(name).to_string_lossy().into_owned()).collect())
}

/// The files of a file in Samba's depot: `.streams/HH/HH/ID`, where the ID ends in the inode.
fn in_depot(share: &Path, file: &Path) -> Result<Vec<String>> {
    let inode = fs::metadata(file)?.ino().to_le_bytes();
    let end: String = inode.iter().map(|byte| format!("{byte:02X}")).collect();
    let mut folders = vec![share.join(".streams")];
    for _ in 0..3 {
        let inner = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        folders = inner.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    }
    folders.retain(|folder| folder.to_string_lossy().ends_with(&end));
    let files = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    files.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// smbclient, with one of the servers.
pub struct Client<'a> {
    place: &'a Place,
    port: String,
}

impl Client<'_> {
    /// Writes a file and its streams.
    pub fn write(&self, share: &str, file: &str, content: &Content) -> Result<()> {
        let local = self.local(share)?;
        fs::write(local.join("data"), b"data")?;
        let mut commands = format!("put data {file}");
        for (number, (name, value)) in content.streams().into_iter().enumerate() {
            fs::write(local.join(format!("in{number}")), value)?;
            commands.push_str(&format!("; put in{number} \"{file}:{name}\""));
        }
        self.run(share, &local, &commands)
    }

    /// The streams of a file, in the order of `like`.
    pub fn read(&self, share: &str, file: &str, like: &Content) -> Result<Vec<Vec<u8>>> {
        let local = self.local(share)?;
        let mut commands = String::new();
        let count = like.streams().len();
        for (number, (name, _)) in like.streams().into_iter().enumerate() {
            let _ = fs::remove_file(local.join(format!("out{number}"))); // there may be none
            commands.push_str(&format!("get \"{file}:{name}\" out{number}; "));
        }
        self.run(share, &local, &commands)?;
        let read = |number| fs::read(local.join(format!("out{number}")));
        Ok((0..count).map(read).collect::<std::io::Result<_>>()?)
    }

    fn local(&self, share: &str) -> Result<PathBuf> {
        let local = self.place.folder.join("local").join(share);
        fs::create_dir_all(&local)?;
        Ok(local)
    }

    fn run(&self, share: &str, local: &Path, commands: &str) -> Result<()> {
        let (unc, login) = (format!("//127.0.0.1/{share}"), format!("{}%{}", ADA.name, ADA.password));
        let (configuration, commands) =
            (self.place.configuration.to_string_lossy(), format!("lcd {}; {commands}", local.display()));
        let args = [&*unc, "-s", &configuration, "-p", &self.port, "-U", &login, "-c", &commands];
        let output = process::output("smbclient", &args, LIMIT)?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success() && !text.contains("NT_STATUS_"), "{commands}: {}", text.trim());
        Ok(())
    }
}
