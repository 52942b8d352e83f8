//! `fourfold migrate` from servers of other projects, smbd, afpd and Ganesha, and from this one over NFSv4, with files of real Macs
//! that clients of other projects have written there. What arrived is read with smbclient. The grid of it is in docs/migrating.md.

mod adopted;
mod grid;
mod source;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};

use self::grid::Grid;
use self::source::Source;
use super::expected::Expectations;
use super::layouts::content::{Amount, LayoutItem};
use super::layouts::corpus;
use super::layouts::image::MountedImage;
use super::layouts::place::{ADA, SmbClientProgram, UID};
use super::outcome::Outcomes;
use super::{InteropArgs, conclude, prepare};
use crate::netatalk::packages;
use crate::process::{self, Running};
use crate::{debian, isolate, ports, samba, server};

/// The time limit of one copy.
const LIMIT: Duration = Duration::from_secs(60);
/// The date of the last change of all files: 2001-02-03 04:05:06 UTC.
const CHANGED: Duration = Duration::from_secs(981_173_106);

pub fn run(args: &InteropArgs) -> Result<()> {
    if !isolate::is_isolated()
        && let Err(error) = packages::install()
    {
        println!("no server of Netatalk: {error:#}");
    }
    let needed = [debian::SMB_CLIENTS, debian::SMB_PEER, debian::AFP_PEER, debian::NFS_PEER].concat();
    prepare(args, &needed, false)?;
    let mut outcomes = Outcomes::default();
    match unable() {
        Some(why) => outcomes.skip("migrate", &why),
        None => match MigratePlace::new() {
            Ok(place) => {
                checks(&mut outcomes, &place)?;
                outcomes.run("migrate", &[], || Ok(()));
            }
            Err(error) => outcomes.skip("migrate", &format!("no file system in a file: {error:#}")),
        },
    }
    if args.list {
        print!("{}", outcomes.as_toml());
    }
    let expected = Expectations::read(&process::root().join("interop/migrate/expected.toml"))?.else_pass();
    let expected = expected.retain(|name| !name.contains(": ") || outcomes.has(name));
    conclude(args, &expected.compare(&outcomes, process::is_ci()))
}

fn unable() -> Option<String> {
    if !isolate::is_isolated() || !process::is_root() {
        return Some("it needs root and namespaces".into());
    }
    process::find("smbclient").is_none().then(|| "smbclient is not installed".into())
}

fn checks(outcomes: &mut Outcomes, place: &MigratePlace) -> Result<()> {
    let (items, has_macs) = items(outcomes)?;
    let (mut grids, mut given) = (Vec::new(), Vec::new());
    for source in Source::ALL {
        let name = source.name();
        if let Some(why) = source.unable() {
            outcomes.skip(&format!("{name}: source"), &why);
            continue;
        }
        outcomes.run(&format!("{name}: source"), &[], || {
            let served = source.serve(place, &items)?;
            close(&place.source(*source), &served.given)?;
            migrate(place, *source, &served.url, &[])?;
            migrate(place, *source, &served.url, &["--verify-only"])?;
            given.push((*source, served.given));
            Ok(())
        });
    }
    match adopted::unable() {
        Ok(()) => {
            outcomes.run("afp.conf: nobody gets more than from afpd", &[], || adopted::check(&place.folder))
        }
        Err(why) => outcomes.skip("afp.conf: nobody gets more than from afpd", &why.to_string()),
    }
    let (_running, client) = place.ours()?;
    for (source, items) in &given {
        outcomes.run(&format!("{}: nobody gets more rights", source.name()), &[], || {
            no_wider(*source, (&place.source(*source), &place.destination(*source)), items)?;
            open(&place.destination(*source), items)
        });
        outcomes.run(&format!("{}: data and dates arrive", source.name()), &[], || {
            let grid = Grid::of(*source, items, &client, &place.destination(*source))?;
            let done = grid.is_whole();
            grids.push(grid);
            done
        });
    }
    if has_macs && grids.len() == Source::ALL.len() {
        outcomes.run("what survives is what docs/migrating.md says", &[], || grid::compare(&grids));
    }
    Ok(())
}

/// Files with all that a Mac stores, and those of real Macs.
fn items(outcomes: &mut Outcomes) -> Result<(Vec<LayoutItem>, bool)> {
    let mut items = vec![Amount::Little.older("tagged"), Amount::Little.newer("other")];
    let folder = corpus::folder();
    match &folder {
        Some(folder) => {
            items.extend(corpus::items(folder)?);
            outcomes.run("files of real Macs", &[], || Ok(()));
        }
        None => outcomes.skip("files of real Macs", "../shared/data/mac is not there"),
    }
    Ok((items, folder.is_some()))
}

/// The folders of sources and destinations.
pub struct MigratePlace {
    pub folder: PathBuf,
    _image: MountedImage,
    configuration: PathBuf,
}

impl MigratePlace {
    /// On XFS, whose attributes have up to 64 KiB.
    fn new() -> Result<Self> {
        let folder = process::fresh_folder("interop-migrate")?;
        let shares = folder.join("shares");
        fs::create_dir_all(&shares)?;
        let image = MountedImage::mount("xfs", &shares)?;
        for source in Source::ALL {
            for name in ["from", "to"] {
                let share = shares.join(format!("{name}-{}", source.share()));
                fs::create_dir(&share)?;
                std::os::unix::fs::chown(&share, Some(UID), Some(UID))?;
            }
        }
        samba::unix_users(&folder, &[(ADA, UID)])?;
        fs::write(folder.join("password"), format!("{}\n", ADA.password))?;
        let configuration = samba::client_configuration(&folder.join("client"))?;
        Ok(Self { folder, _image: image, configuration })
    }

    /// The folder that a server of another project serves.
    pub fn source(&self, source: Source) -> PathBuf {
        self.folder.join("shares").join(format!("from-{}", source.share()))
    }

    fn destination(&self, source: Source) -> PathBuf {
        self.folder.join("shares").join(format!("to-{}", source.share()))
    }

    pub fn client(&self, port: u16) -> SmbClientProgram {
        SmbClientProgram::new(self.folder.join("local"), self.configuration.clone(), port)
    }

    /// This server over all destinations.
    fn ours(&self) -> Result<(Running, SmbClientProgram)> {
        let share = |source: &Source| {
            let path = self.destination(*source).display().to_string();
            format!("[[share]]\nname = \"{}\"\npath = \"{path}\"\n\n", source.share())
        };
        let (settings, state) = (self.folder.join("fourfold.toml"), self.folder.join("fourfold"));
        let shares: String = Source::ALL.iter().map(share).collect();
        fs::write(&settings, "[server]\nbonjour = \"off\"\n\n".to_owned() + &shares)?;
        server::add_user(&state, ADA.name, ADA.password, UID)?;
        let port = ports::free_port()?;
        let running = server::ours_with_settings(&settings, &state, &["--smb-port", &port.to_string()])?;
        Ok((running, self.client(port)))
    }
}

/// Copies, or compares; all files must be there with their data.
fn migrate(place: &MigratePlace, source: Source, url: &str, more: &[&str]) -> Result<()> {
    let (to, password) = (place.destination(source), place.folder.join("password"));
    let (to, password) = (to.to_string_lossy(), password.to_string_lossy());
    let words = ["migrate", url, &*to, "--password-file", &*password];
    let output = process::output(server::binary(), &[&words[..], more].concat(), LIMIT)?;
    ensure!(output.status.success(), "migrate {}: {}", more.join(" "), said(&output).trim());
    Ok(())
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// Files of a server that not all may read: one in three is its owner's alone, one in three also its group's.
fn close(folder: &Path, items: &[LayoutItem]) -> Result<()> {
    for (item, mode) in items.iter().zip([0o600, 0o640, 0o644].into_iter().cycle()) {
        fs::set_permissions(folder.join(&item.name), fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Lets the client that reads what has arrived read all of it.
fn open(folder: &Path, items: &[LayoutItem]) -> Result<()> {
    for item in items {
        fs::set_permissions(folder.join(&item.name), fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}

/// No copy has a bit of a mode that the original does not have, and those of the owner are there, if the owner is: smbd's is a SID
/// that nobody here has.
fn no_wider(source: Source, (from, to): (&Path, &Path), items: &[LayoutItem]) -> Result<()> {
    for item in items {
        let mode =
            |folder: &Path| Ok::<u32, anyhow::Error>(fs::metadata(folder.join(&item.name))?.mode() & 0o777);
        let (from, to) = (mode(from)?, mode(to)?);
        let is_owners = to & 0o600 == 0o600 || source == Source::Samba;
        ensure!(to & !from == 0 && is_owners, "{}: {to:o} instead of {from:o}", item.name);
    }
    Ok(())
}

/// The date of the last change, in seconds.
fn changed(path: &Path) -> Result<u64> {
    let changed = fs::metadata(path).with_context(|| path.display().to_string())?.modified()?;
    Ok(changed.duration_since(UNIX_EPOCH)?.as_secs())
}
