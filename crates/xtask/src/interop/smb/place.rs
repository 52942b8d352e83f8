//! The folders, accounts and servers of one run.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::suites::Kind;
use super::torture::{self, Target, TortureSlot};
use crate::process::{self, Running};
use crate::samba::{self, SambaShare, SambaUser};
use crate::{isolate, past, ports, server};

pub const ADA: SambaUser = SambaUser { name: "ada", password: "secret" };
pub const BOB: SambaUser = SambaUser { name: "bob", password: "geheim" };
/// Unix users that no other account of this machine has: Samba maps users both ways.
const UIDS: &[(SambaUser, u32)] = &[(ADA, 61001), (BOB, 61002)];

/// The most suites that run in parallel: the five long ones mostly wait.
const SLOTS: usize = 5;

#[derive(Debug)]
pub struct SmbPlace {
    pub folder: PathBuf,
    /// The folder of a share with a snapshot, where this machine can have one.
    past: Option<PathBuf>,
}

impl SmbPlace {
    pub fn new() -> Result<Self> {
        let mut place = Self { folder: process::fresh_folder("interop-smb")?, past: None };
        let slots = (1..=SLOTS).flat_map(|slot| [format!("share{slot}"), format!("time{slot}")]);
        for name in slots.chain(["files".into(), "guests".into(), "sealed".into()]) {
            fs::create_dir_all(place.folder.join(&name))?;
            if process::is_root() {
                chown(place.folder.join(&name), Some(UIDS[0].1), Some(UIDS[0].1))?;
            }
        }
        if isolate::is_isolated() {
            samba::unix_users(&place.folder, UIDS)?;
        }
        place.past = past::mount(&place.folder, UIDS[0].1)?;
        Ok(place)
    }

    /// smbd over the same folders.
    pub fn peer(&self) -> Result<(Running, u16)> {
        let port = ports::free_port()?;
        let mut shares = Vec::new();
        for slot in 1..=SLOTS {
            let share = |name: &str, folder: &str, settings| SambaShare {
                name: format!("{name}{slot}"),
                folder: self.folder.join(format!("{folder}{slot}")),
                settings,
            };
            shares.push(share("main", "share", ""));
            shares.push(share("plain", "share", "  vfs objects = streams_xattr"));
            shares.push(share("other", "share", OTHER));
            shares.push(share("canon", "share", NON_CANONICAL));
            shares.push(share("netatalk", "share", "  fruit:locking = netatalk"));
            shares.push(share(
                "convert",
                "share",
                "  fruit:wipe_intentionally_left_blank_rfork = yes\n  fruit:delete_empty_adfiles = yes",
            ));
            shares.push(share(
                "time",
                "time",
                "  fruit:time machine = yes\n  fruit:time machine max size = 32K",
            ));
        }
        let running = samba::start(&self.folder.join("smbd"), port, &[ADA, BOB], &shares, FRUIT)?;
        Ok((running, port))
    }

    /// smbd for clients other than smbtorture, with guests and a share that requires encryption.
    pub fn peer_for_clients(&self) -> Result<(Running, u16)> {
        let port = ports::free_port()?;
        let share =
            |name: &str, settings| SambaShare { name: name.into(), folder: self.folder.join(name), settings };
        let sealed = share("sealed", "  smb encrypt = required");
        let shares = [share("files", ""), share("guests", "  guest ok = yes"), sealed];
        let global = "  vfs objects = catia fruit streams_xattr\n  map to guest = bad user";
        let running = samba::start(&self.folder.join("smbd-clients"), port, &[ADA, BOB], &shares, global)?;
        Ok((running, port))
    }

    /// `fourfold serve` for smbtorture, without guests: it must refuse users without an account.
    pub fn ours(&self) -> Result<(Running, Target)> {
        let settings = self.write_settings("fourfold", &self.shares_for_smbtorture())?;
        let past = self.options_for_past(&settings)?;
        let (running, port) = self.serve(&settings)?;
        let target = self.target(port, "main", &[(Kind::Past, past::SHARE)])?;
        Ok((running, Target { past, ..target }))
    }

    /// Takes the snapshot of [`Kind::Past`], and returns the options that lead smbtorture to it.
    fn options_for_past(&self, settings: &Path) -> Result<Vec<String>> {
        let Some(folder) = &self.past else { return Ok(Vec::new()) };
        let label = past::take(settings, folder)?;
        let (stream, length) = (past::STREAM, past::STREAM_LENGTH);
        Ok(vec![
            format!("twrp_snapshot={label}"),
            "twrp_file=subdir\\hardlink".into(),
            format!("twrp_stream={stream}"),
            format!("twrp_stream_size={length}"),
        ])
    }

    /// `fourfold serve` for other clients, with guests and a share that requires encryption.
    pub fn ours_for_clients(&self) -> Result<(Running, u16)> {
        let shares = [
            self.share("files", "files", "local-recall = true"),
            self.share("guests", "guests", "guests = true"),
            self.share("sealed", "sealed", "encryption = \"required\""),
        ];
        self.serve(&self.write_settings("fourfold-clients", &shares.concat())?)
    }

    fn write_settings(&self, name: &str, text: &str) -> Result<PathBuf> {
        let settings = self.folder.join(name).with_extension("toml");
        fs::write(&settings, text)?;
        Ok(settings)
    }

    fn serve(&self, settings: &Path) -> Result<(Running, u16)> {
        let (port, state) = (ports::free_port()?, settings.with_extension(""));
        for (user, uid) in UIDS {
            server::add_user(&state, user.name, user.password, *uid)?;
        }
        let running = server::ours_with_settings(settings, &state, &["--smb-port", &port.to_string()])?;
        Ok((running, port))
    }

    /// The settings of a share.
    fn share(&self, name: &str, folder: &str, more: &str) -> String {
        let path = self.folder.join(folder);
        format!(
            "[[share]]\nname = \"{name}\"\npath = \"{}\"\nnfs = false\nafp = false\niscsi = false\n{more}\n",
            path.display()
        )
    }

    fn shares_for_smbtorture(&self) -> String {
        let slot = |slot: usize| {
            let share = |name: &str, folder: &str, more| {
                self.share(&format!("{name}{slot}"), &format!("{folder}{slot}"), more)
            };
            [
                share("main", "share", "hide = [\"hidefile\"]"),
                share("plain", "share", "mac-sidecars = false"),
                share("time", "time", "time-machine = true\ntime-machine-size = 32768"),
            ]
            .concat()
        };
        let past = self.past.as_ref().map(|folder| {
            let path = folder.strip_prefix(&self.folder).unwrap_or(folder).to_string_lossy();
            self.share(past::SHARE, &path, "")
        });
        (1..=SLOTS).map(slot).chain(past).collect()
    }

    /// smbd's address for smbtorture. `main` is the name of the ordinary shares, without the slot's
    /// number.
    pub fn peers_target(&self, port: u16, main: &str) -> Result<Target> {
        let named =
            [(Kind::Netatalk, "netatalk"), (Kind::Conversion, "convert"), (Kind::NonCanonical, "canon")];
        self.target(port, main, &named)
    }

    fn target(&self, port: u16, main: &str, named: &[(Kind, &str)]) -> Result<Target> {
        let slot = |slot: usize| {
            let named = named.iter().chain(&[(Kind::TimeMachine, "time")]);
            Ok(TortureSlot {
                main: format!("{main}{slot}"),
                plain: format!("plain{slot}"),
                shares: named.map(|(kind, share)| (*kind, of_slot(*kind, share, slot))).collect(),
                folder: Some(self.folder.join(format!("share{slot}"))),
                iptables: self.iptables(slot)?,
            })
        };
        Ok(Target {
            host: "127.0.0.1".into(),
            port,
            slots: (1..=SLOTS).map(slot).collect::<Result<_>>()?,
            past: Vec::new(),
            login: torture::login(),
            configuration: samba::client_configuration(&self.folder.join("client"))?,
        })
    }
}

impl SmbPlace {
    /// In a network of our own: iptables with names of chains that only this slot uses.
    fn iptables(&self, slot: usize) -> Result<Option<PathBuf>> {
        if !isolate::is_isolated() || process::find("iptables").is_none() {
            return Ok(None);
        }
        let script = self.folder.join(format!("iptables{slot}"));
        fs::write(&script, format!("iptables -w $(echo \"$@\" | sed s/SMBTORTURE/SLOT{slot}/g)\n"))?;
        Ok(Some(script))
    }
}

/// The share of a slot. One share serves all slots if its suite runs once.
fn of_slot(kind: Kind, share: &str, slot: usize) -> String {
    if kind == Kind::Past { share.into() } else { format!("{share}{slot}") }
}

/// The peer's other configuration: it keeps security descriptors as they were set, and names of
/// streams in Samba's own form.
const OTHER: &str = "  vfs objects = catia fruit streams_xattr acl_xattr\n  fruit:encoding = private";
const NON_CANONICAL: &str =
    "  vfs objects = catia fruit streams_xattr acl_xattr\n  acl flag inherited canonicalization = no";

/// The settings that smbtorture's tests require: vfs.fruit, smb2.dosmode (the file's name is in
/// it), smb2.secleak.
const FRUIT: &str = "
  map to guest = never
  hide files = /hidefile/
  vfs objects = catia fruit streams_xattr
  fruit:copyfile = yes
  fruit:resource = file
  fruit:metadata = netatalk
  fruit:encoding = native
  fruit:veto_appledouble = no
";

/// A target given on the command line, as `HOST:PORT/SHARE`.
pub fn elsewhere(text: &str, login: &str, folder: Option<&Path>) -> Result<Target> {
    let (address, share) = text.split_once('/').context("say HOST:PORT/SHARE")?;
    let (host, port) = address.rsplit_once(':').unwrap_or((address, "445"));
    let slot = TortureSlot {
        main: share.into(),
        plain: share.into(),
        shares: Vec::new(),
        folder: folder.map(Path::to_path_buf),
        iptables: None,
    };
    Ok(Target {
        host: host.into(),
        port: port.parse().with_context(|| format!("{port:?} is no port"))?,
        slots: vec![slot],
        past: Vec::new(),
        login: login.into(),
        configuration: samba::client_configuration(&process::root().join("target/interop-smb-client"))?,
    })
}
