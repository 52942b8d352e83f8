//! The servers that files come from, and how a client has written the files there.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::Result;

use super::{CHANGED, MigratePlace};
use crate::interop::layouts::content::{Data, LayoutItem};
use crate::interop::layouts::netatalk::Mac;
use crate::interop::layouts::place::{ADA, UID};
use crate::netatalk::{self, NetatalkVolume, packages};
use crate::process::{self, Running};
use crate::samba::{self, SambaShare};
use crate::{ganesha, isolate, ports, server};

/// 2000-01-01, from which AFP counts seconds, in seconds of Unix.
const FROM_2000: i64 = 946_684_800;
/// The first bytes of AppleDouble files, RFC 1740 appendix A.
const APPLE_DOUBLE: &[u8] = b"\x00\x05\x16\x07";

/// A server of another project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Samba,
    Netatalk,
    Ganesha,
    /// The same by version 4.
    Ganesha4,
    /// This server by version 4, which has named attributes.
    Fourfold,
}

/// A running one.
pub struct SourceServer {
    _running: Running,
    pub url: String,
    /// What it gives to a client of its protocol.
    pub given: Vec<LayoutItem>,
}

impl Source {
    pub const ALL: &'static [Self] =
        &[Self::Samba, Self::Netatalk, Self::Ganesha, Self::Ganesha4, Self::Fourfold];

    pub fn name(self) -> &'static str {
        match self {
            Self::Samba => "Samba",
            Self::Netatalk => "Netatalk",
            Self::Ganesha => "Ganesha",
            Self::Ganesha4 => "Ganesha, NFSv4",
            Self::Fourfold => "Fourfold, NFSv4",
        }
    }

    pub fn share(self) -> &'static str {
        match self {
            Self::Samba => "smb",
            Self::Netatalk => "afp",
            Self::Ganesha => "nfs",
            Self::Ganesha4 => "nfs4",
            Self::Fourfold => "own",
        }
    }

    /// Why it cannot be started here.
    pub fn unable(self) -> Option<String> {
        let needed: &[&str] = match self {
            Self::Samba => &["smbd"],
            Self::Netatalk => &["python3", "cc"],
            Self::Ganesha | Self::Ganesha4 => &["ganesha.nfsd", "rpcbind"],
            Self::Fourfold => &[],
        };
        let missing = needed.iter().find(|program| process::find(program).is_none());
        match self {
            _ if missing.is_some() => missing.map(|program| format!("{program} is not installed")),
            Self::Netatalk if packages::server().is_none() => {
                Some("Debian's netatalk could not be fetched".into())
            }
            Self::Netatalk if !isolate::is_isolated() => Some("it needs root and namespaces".into()),
            _ => None,
        }
    }

    /// Starts it, and writes the files by a client of its protocol.
    pub fn serve(self, place: &MigratePlace, items: &[LayoutItem]) -> Result<SourceServer> {
        match self {
            Self::Samba => smbd(place, items),
            Self::Netatalk => afpd(place, items),
            Self::Ganesha | Self::Ganesha4 => nfsd(self, place, items),
            Self::Fourfold => fourfold(place, items),
        }
    }
}

fn is_apple_double(item: &LayoutItem) -> bool {
    matches!(&item.data, Data::File(data) if data.starts_with(APPLE_DOUBLE))
}

fn smbd(place: &MigratePlace, items: &[LayoutItem]) -> Result<SourceServer> {
    let (port, name) = (ports::free_port()?, Source::Samba.share());
    let settings = "  vfs objects = catia fruit streams_xattr";
    let share = SambaShare { name: name.into(), folder: place.source(Source::Samba), settings };
    let running = samba::start(&place.folder.join("smbd"), port, &[ADA], &[share], "")?;
    let client = place.client(port);
    client.write(name, items)?;
    set_dates(&place.source(Source::Samba))?;
    let mut given = items.to_vec();
    let names =
        given.iter().flat_map(|item| item.streams.iter().map(|(name, _)| format!("{}:{name}", item.name)));
    let names: Vec<String> = names.collect();
    let (found, _) = client.read(name, &names.iter().map(String::as_str).collect::<Vec<_>>())?;
    // What it changes or drops itself is not lost on the way.
    let mut found = found.into_iter();
    for item in &mut given {
        let streams = std::mem::take(&mut item.streams).into_iter();
        item.streams = streams.filter_map(|(name, _)| Some((name, found.next()??))).collect();
    }
    Ok(SourceServer { _running: running, given, url: format!("smb://{}@127.0.0.1:{port}/{name}", ADA.name) })
}

fn afpd(place: &MigratePlace, items: &[LayoutItem]) -> Result<SourceServer> {
    let (port, name) = (ports::free_port()?, Source::Netatalk.share());
    let folder = place.source(Source::Netatalk);
    let volume = NetatalkVolume { name: name.into(), folder, settings: "ea = sys".into() };
    let running = netatalk::start(&place.folder, "afpd", port, &[ADA.name], &[volume])?;
    let mac = Mac::with(place.folder.join("items.json"), port);
    mac.write_dated(name, items, CHANGED.as_secs() as i64 - FROM_2000)?;
    mac.check(name, items)?;
    Ok(SourceServer {
        _running: running,
        given: items.to_vec(),
        url: format!("afp://{}@127.0.0.1:{port}/{name}", ADA.name),
    })
}

/// A Mac that mounts NFS stores `._name` beside `name`. Of the files of the corpus that are such files, these are the bytes.
fn nfsd(source: Source, place: &MigratePlace, items: &[LayoutItem]) -> Result<SourceServer> {
    let (folder, mut given) = (place.source(source), Vec::new());
    for item in items {
        let Data::File(data) = &item.data else { continue };
        write(&folder.join(&item.name), data)?;
        given.push(item.clone());
        if !is_apple_double(item) {
            given.last_mut().into_iter().for_each(|item| item.streams.clear());
        } else {
            write(&folder.join(format!("._{}", item.name)), data)?;
        }
    }
    set_dates(&folder)?;
    let server = ganesha::start(&folder, &place.folder.join(format!("ganesha-{}", source.share())))?;
    let (nfs, mount) = (server.address.nfs_port, server.address.mount_port);
    let options = if source == Source::Ganesha4 { "vers=4".to_owned() } else { format!("mountport={mount}") };
    let url = format!("nfs://127.0.0.1:{nfs}{}?{options}", server.address.export);
    Ok(SourceServer { _running: server.running, given, url })
}

/// The files are written over SMB, and read over NFS by their owner.
fn fourfold(place: &MigratePlace, items: &[LayoutItem]) -> Result<SourceServer> {
    let (folder, state) = (place.source(Source::Fourfold), place.folder.join("fourfold-source"));
    let (settings, name) = (place.folder.join("source.toml"), Source::Fourfold.share());
    let path = folder.display();
    let text = format!("[server]\nbonjour = \"off\"\n\n[[share]]\nname = \"{name}\"\npath = \"{path}\"\n");
    fs::write(&settings, text)?;
    server::add_user(&state, ADA.name, ADA.password, UID)?;
    let [smb, nfs] = [ports::free_port()?, ports::free_port()?];
    let ports = ["--smb-port", &smb.to_string(), "--nfs-port", &nfs.to_string()];
    let running = server::ours_with_settings(&settings, &state, &ports)?;
    place.client(smb).write(name, items)?;
    set_dates(&folder)?;
    let url = format!("nfs://127.0.0.1:{nfs}/{name}?vers=4&uid={UID}");
    Ok(SourceServer { _running: running, given: items.to_vec(), url })
}

/// Gives all files the same old date.
fn set_dates(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            fs::File::options().write(true).open(&path)?.set_modified(UNIX_EPOCH + CHANGED)?;
        }
    }
    Ok(())
}

fn write(path: &Path, data: &[u8]) -> Result<()> {
    Ok(fs::write(path, data)?)
}
