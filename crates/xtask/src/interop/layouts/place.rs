//! The folders, the servers and the client of a run.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::catia::{self, TABLES};
use super::content::{Data, LayoutItem};
use super::facts::{Fact, LayoutFacts};
use super::image::MountedImage;
use super::{LAYOUTS, Layout, netatalk};
use crate::netatalk::NetatalkVolume;
use crate::process::{self, Running};
use crate::samba::{self, SambaShare, SambaUser};
use crate::{isolate, ports, server};

pub const ADA: SambaUser = SambaUser { name: "ada", password: "secret" };
pub const UID: u32 = 61001;
/// How the names of shares of what is converted end.
const CONVERTED: &str = "-converted";
/// A file with the value of an attribute in `.AppleDouble`, without the name of the file it belongs to.
const VALUE: &str = ".AppleDouble/::EA::";
/// The time limit of one run of smbclient.
const LIMIT: Duration = Duration::from_secs(20);

pub struct LayoutsPlace {
    folder: PathBuf,
    /// Where the shares are: a file system of its own, or why there is none.
    shares: PathBuf,
    image: Result<MountedImage>,
    configuration: PathBuf,
    /// What was right.
    facts: LayoutFacts,
    /// smbd's port.
    theirs: Cell<u16>,
    /// The port of this server for NFS.
    nfs: Cell<u16>,
}

impl LayoutsPlace {
    /// With shares on a file system of this kind, if that can be.
    pub fn new(kind: &str, facts: LayoutFacts) -> Result<Self> {
        let folder = process::fresh_folder(&format!("interop-layouts-{kind}"))?;
        let shares = folder.join("shares");
        fs::create_dir_all(&shares)?;
        let image = MountedImage::mount(kind, &shares);
        let layouts = LAYOUTS.iter().chain(netatalk::LAYOUTS).chain(netatalk::KEPT);
        for name in layouts.map(|layout| layout.name).chain(TABLES.iter().map(|table| table.name)) {
            let share = shares.join(name);
            fs::create_dir_all(&share)?;
            chown(&share, Some(UID), Some(UID))?;
        }
        if isolate::is_isolated() {
            samba::unix_users(&folder, &[(ADA, UID)])?;
        }
        let configuration = samba::client_configuration(&folder.join("client"))?;
        Ok(Self {
            folder,
            shares,
            image,
            configuration,
            facts,
            theirs: Cell::default(),
            nfs: Cell::default(),
        })
    }

    pub fn mounted(&self) -> Result<(), &anyhow::Error> {
        self.image.as_ref().map(drop)
    }

    pub fn name(&self) -> String {
        self.folder.display().to_string()
    }

    /// The folder of a share.
    pub fn share(&self, name: &str) -> String {
        self.shares.join(name).display().to_string()
    }

    /// A state folder.
    pub fn state(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// smbd's share with the settings for a layout after its conversion.
    pub fn converted(&self, name: &str) -> String {
        format!("{name}{CONVERTED}")
    }

    /// smbd with two shares for each of its layouts: as it is, and as it is after its conversion; and the second for Netatalk's.
    pub fn smbd(&self) -> Result<(Running, u16)> {
        let port = ports::free_port()?;
        let share = |layout: &Layout| {
            let folder = self.shares.join(layout.name);
            [(layout.name.to_owned(), layout.settings), (self.converted(layout.name), layout.converted().1)]
                .map(|(name, settings)| SambaShare { name, folder: folder.clone(), settings })
        };
        let catia = TABLES.iter().map(|table| {
            let (name, folder) = (table.name.to_owned(), self.shares.join(table.name));
            SambaShare { name, folder, settings: table.settings }
        });
        let converted = netatalk::KEPT.iter().flat_map(share).filter(|share| share.name.ends_with(CONVERTED));
        let shares: Vec<SambaShare> = LAYOUTS.iter().flat_map(share).chain(converted).chain(catia).collect();
        self.theirs.set(port);
        Ok((samba::start(&self.folder.join("smbd"), port, &[ADA], &shares, "")?, port))
    }

    /// Netatalk's afpd with volumes of these names and settings.
    pub fn afpd<'a>(
        &self,
        name: &str,
        volumes: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<(Running, u16)> {
        let port = ports::free_port()?;
        let volumes: Vec<NetatalkVolume> = volumes
            .map(|(name, settings)| NetatalkVolume {
                name: name.into(),
                folder: self.shares.join(name),
                settings: settings.into(),
            })
            .collect();
        Ok((crate::netatalk::start(&self.folder, name, port, &[ADA.name], &volumes)?, port))
    }

    /// This server over the same folders, with no setting that names a layout of what files have. The ports are SMB's and
    /// AFP's.
    pub fn ours(&self) -> Result<(Running, u16, u16)> {
        let (port, afp, state) = (ports::free_port()?, ports::free_port()?, self.folder.join("fourfold"));
        let share = |layout: &Layout| {
            let names = if layout.is_native() { "plain" } else { "private" };
            let path = self.share(layout.name);
            format!(
                "[[share]]\nname = \"{}\"\npath = \"{path}\"\nname-encoding = \"{names}\"\n\n",
                layout.name
            )
        };
        let settings = self.folder.join("fourfold.toml");
        let shares: String = LAYOUTS.iter().chain(netatalk::LAYOUTS).map(share).collect();
        let all = "[server]\nafp-logins = [\"cleartext\"]\nbonjour = \"off\"\n\n".to_owned()
            + &shares
            + &catia::adopted(self)?;
        fs::write(&settings, all)?;
        server::add_user_with(&state, ADA.name, ADA.password, UID, &["--legacy-password"])?;
        let nfs = ports::free_port()?;
        self.nfs.set(nfs);
        let [smb_port, afp_port, nfs_port] = [port, afp, nfs].map(|port| port.to_string());
        let ports = ["--smb-port", &*smb_port, "--afp-port", &afp_port, "--nfs-port", &nfs_port];
        let running = server::ours_with_settings(&settings, &state, &ports)?;
        Ok((running, port, afp))
    }

    pub fn client(&self, port: u16) -> SmbClientProgram {
        let reader = if port == self.theirs.get() { "smbd" } else { "SMB" };
        let client = SmbClientProgram::new(self.folder.join("local"), self.configuration.clone(), port);
        SmbClientProgram { facts: self.facts.clone(), reader, ..client }
    }

    pub fn nfs_port(&self) -> u16 {
        self.nfs.get()
    }

    pub fn facts(&self) -> LayoutFacts {
        self.facts.clone()
    }

    /// Whether a file has exactly the attributes that smbd would have written.
    pub fn has_layout(&self, layout: &Layout, file: &str) -> Result<()> {
        let folder = self.shares.join(layout.name);
        let mut names = attributes(&folder.join(file))?;
        names.extend(in_depot(&folder, &folder.join(file))?);
        names.extend(in_apple_double(&folder, file));
        let places = [Some(layout.tags), Some(layout.finder_info), layout.resource];
        for name in places.into_iter().flatten() {
            ensure!(names.iter().any(|found| found == name), "there is no {name} among {names:?}");
        }
        let words = ["AFP_", "kMDItemUserTags", "netatalk", ".AppleDouble"];
        // In `.AppleDouble` each attribute is a file.
        let is_value = |name: &str| name.starts_with(VALUE) && layout.tags.starts_with(VALUE);
        let others = |name: &&String| words.iter().any(|word| name.contains(word)) && !is_value(name);
        let other = names.iter().filter(others).find(|name| !places.contains(&Some(&***name)));
        ensure!(other.is_none(), "there is {other:?}, too");
        let sidecar = folder.join(format!("._{file}"));
        ensure!(sidecar.exists() == layout.resource.is_none(), "{} is wrong", sidecar.display());
        Ok(())
    }
}

/// The value of an attribute.
pub fn value(path: &Path, name: &str) -> Result<Vec<u8>> {
    let mut bytes = vec![0_u8; 65536];
    let len = rustix::fs::getxattr(path, name, &mut bytes[..]).with_context(|| path.display().to_string())?;
    bytes.truncate(len);
    Ok(bytes)
}

/// The names of a file's attributes.
pub fn attributes(path: &Path) -> Result<Vec<String>> {
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

/// The files of a file in Netatalk's folder, without its own name.
fn in_apple_double(folder: &Path, file: &str) -> Vec<String> {
    let entries = fs::read_dir(folder.join(".AppleDouble")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let of_file = |name: String| {
        let rest = name.strip_prefix(file).filter(|rest| rest.is_empty() || rest.starts_with("::EA::"));
        rest.map(|rest| format!(".AppleDouble/{rest}"))
    };
    names.filter_map(of_file).collect()
}

/// The bytes of a file or stream, if it is there.
type StreamContents = Option<Vec<u8>>;

/// smbclient, with one of the servers.
pub struct SmbClientProgram {
    /// Where it keeps files.
    local: PathBuf,
    configuration: PathBuf,
    port: String,
    facts: LayoutFacts,
    /// Who is asked, in the matrix of facts.
    reader: &'static str,
}

impl SmbClientProgram {
    pub fn new(local: PathBuf, configuration: PathBuf, port: u16) -> Self {
        Self { local, configuration, port: port.to_string(), facts: LayoutFacts::default(), reader: "SMB" }
    }

    /// Writes files and folders with their streams.
    pub fn write(&self, share: &str, items: &[LayoutItem]) -> Result<()> {
        let local = self.local(share)?;
        let mut commands = Vec::new();
        for (at, item) in items.iter().enumerate() {
            match &item.data {
                Data::File(data) => {
                    fs::write(local.join(format!("in{at}")), data)?;
                    commands.push(format!("put in{at} \"{}\"", item.name));
                }
                Data::Folder => commands.push(format!("mkdir \"{}\"", item.name)),
                Data::Kept => {}
            }
            for (number, (name, value)) in item.streams.iter().enumerate() {
                fs::write(local.join(format!("in{at}-{number}")), value)?;
                commands.push(format!("put in{at}-{number} \"{}:{name}\"", item.name));
            }
        }
        self.run(share, &local, &commands)
    }

    /// Whether files and folders are there with exactly these data and streams.
    pub fn check(&self, share: &str, items: &[LayoutItem]) -> Result<()> {
        let mut expected = Vec::new();
        for item in items {
            let data = match &item.data {
                Data::File(data) => Some((Fact::Data, item.name.clone(), data)),
                Data::Folder | Data::Kept => None,
            };
            let streams = item
                .streams
                .iter()
                .map(|(name, value)| (Fact::of_stream(name), format!("{}:{name}", item.name), value));
            expected.extend(data.into_iter().chain(streams));
        }
        let names: Vec<&str> = expected.iter().map(|(_, name, _)| name.as_str()).collect();
        let (all, run) = self.read(share, &names)?;
        let (mut wrong, mut there) = (None, BTreeSet::new());
        for ((fact, name, value), found) in expected.into_iter().zip(all) {
            if found.is_some() {
                there.insert(name.split(':').next().unwrap_or_default().to_owned());
            }
            self.facts.add(layout_of(share), self.reader, fact, found.as_ref() == Some(value));
            wrong = wrong.or(match found {
                None => Some(format!("{name} is not there")),
                Some(found) if found == *value => None,
                Some(found) => Some(format!("{name} is {}, not {}", short(&found), short(value))),
            });
        }
        for item in items {
            self.facts.add(layout_of(share), self.reader, Fact::Name, there.contains(&item.name));
        }
        match wrong {
            Some(wrong) if wrong.ends_with("is not there") => run.and_then(|()| bail!(wrong)),
            Some(wrong) => bail!(wrong),
            None => run,
        }
    }

    pub fn remove(&self, share: &str, name: &str) -> Result<()> {
        self.run(share, &self.local(share)?, &[format!("del \"{name}\"")])
    }

    /// Gives files dates, and takes or gives bits.
    pub fn mark(&self, share: &str, names: &[&str], marks: &Marks) -> Result<()> {
        let local = self.local(share)?;
        let mark = |name: &&str| {
            [
                format!("utimes \"{name}\" {} -1 {} -1", marks.created, marks.changed),
                format!("setmode \"{name}\" {}", marks.mode),
            ]
        };
        self.run(share, &local, &names.iter().flat_map(mark).collect::<Vec<_>>())
    }

    /// Whether files have these dates and bits.
    pub fn check_marks(&self, share: &str, names: &[&str], marks: &Marks) -> Result<()> {
        let local = self.local(share)?;
        let mut wrong = None;
        for name in names {
            let text = self.said(share, &local, &[format!("allinfo \"{name}\"")])?;
            let value = |key: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(key));
                line.unwrap_or_default().trim().to_owned()
            };
            let bits = value("attributes:");
            let bits: String = bits.chars().take_while(|c| *c != ' ').filter(|c| "HS".contains(*c)).collect();
            for (fact, found, expected) in [
                (Fact::Dates, value("create_time:"), marks.created_shown),
                (Fact::Dates, value("write_time:"), marks.changed_shown),
                (Fact::Bits, bits, marks.bits_shown),
            ] {
                self.facts.add(layout_of(share), self.reader, fact, found == expected);
                let is_wrong = found != expected;
                wrong =
                    wrong.or(is_wrong.then(|| format!("{name}: {fact:?} are {found:?}, not {expected:?}")));
            }
        }
        wrong.map_or(Ok(()), |wrong| bail!(wrong))
    }

    /// What files and streams have; `None`: there is no such one. Then the result of the program.
    pub fn read(&self, share: &str, names: &[&str]) -> Result<(Vec<StreamContents>, Result<()>)> {
        let local = self.local(share)?;
        let out = |at: usize| local.join(format!("out{at}"));
        let get = |(at, name): (usize, &&str)| {
            let _ = fs::remove_file(out(at)); // there may be none
            format!("get \"{name}\" out{at}")
        };
        let commands: Vec<String> = names.iter().enumerate().map(get).collect();
        let run = self.run(share, &local, &commands);
        Ok(((0..names.len()).map(|at| fs::read(out(at)).ok()).collect(), run))
    }

    fn local(&self, share: &str) -> Result<PathBuf> {
        let local = self.local.join(share);
        fs::create_dir_all(&local)?;
        Ok(local)
    }

    fn run(&self, share: &str, local: &Path, commands: &[String]) -> Result<()> {
        self.said(share, local, commands).map(drop)
    }

    /// What the program prints. Dates are those of UTC.
    fn said(&self, share: &str, local: &Path, commands: &[String]) -> Result<String> {
        let (unc, login) = (format!("//127.0.0.1/{share}"), format!("{}%{}", ADA.name, ADA.password));
        let (configuration, commands) = (
            self.configuration.to_string_lossy(),
            format!("lcd {}; {}", local.display(), commands.join("; ")),
        );
        let args = [
            "TZ=UTC",
            "smbclient",
            &*unc,
            "-s",
            &configuration,
            "-p",
            &self.port,
            "-U",
            &login,
            "-c",
            &commands,
        ];
        let output = process::output("env", &args, LIMIT)?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        let is_known = |line: &&str| line.contains("NT_STATUS_OBJECT_NAME_COLLISION"); // the folder is there
        let failed = text.lines().find(|line| line.contains("NT_STATUS_") && !is_known(line));
        ensure!(failed.is_none(), "{share}: {}", failed.unwrap_or_default());
        ensure!(
            output.status.success() || text.lines().any(|line| is_known(&line)),
            "{share}: {}",
            text.trim()
        );
        Ok(text)
    }
}

/// Dates and bits of a file, as smbclient takes and shows them.
pub struct Marks {
    created: &'static str,
    changed: &'static str,
    created_shown: &'static str,
    changed_shown: &'static str,
    mode: &'static str,
    bits_shown: &'static str,
}

/// Two sets of them. The seconds are round ones of time(2).
pub const MARKS: [Marks; 2] = [
    Marks {
        created: "2001:09:09-01:46:40",
        created_shown: "Sun Sep  9 01:46:40 2001 UTC",
        changed: "2009:02:13-23:31:30",
        changed_shown: "Fri Feb 13 23:31:30 2009 UTC",
        mode: "+h-s",
        bits_shown: "H",
    },
    Marks {
        created: "2004:11:09-11:33:20",
        created_shown: "Tue Nov  9 11:33:20 2004 UTC",
        changed: "2011:03:13-07:06:40",
        changed_shown: "Sun Mar 13 07:06:40 2011 UTC",
        mode: "-h+s",
        bits_shown: "S",
    },
];

/// The layout in the matrix of facts: that of a share, also after its conversion.
fn layout_of(share: &str) -> &str {
    share.strip_suffix(CONVERTED).unwrap_or(share)
}

/// The beginning of a value, and its length.
fn short(value: &[u8]) -> String {
    format!("{} bytes {}", value.len(), value[..value.len().min(80)].escape_ascii())
}
