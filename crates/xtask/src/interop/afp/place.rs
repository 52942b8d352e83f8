//! The folders, accounts and servers of one run.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};

use super::version::AfpVersion;
use crate::netatalk::CRYPTED;
pub use crate::netatalk::PASSWORD;
use crate::process::{self, Running};
use crate::{isolate, ports, server};

/// The user of the common client programs.
pub const PERSON: &str = "ada";
/// Unix users that no other account of this machine has.
const FIRST_UID: u32 = 61101;
const GROUP: (&str, u32) = ("afptest", 61100);

#[derive(Debug)]
pub struct AfpPlace {
    pub folder: PathBuf,
    versions: Vec<AfpVersion>,
    users: Vec<(String, u32)>,
}

impl AfpPlace {
    /// A folder of this name below `target/`, with users and volumes for these versions.
    pub fn new(name: &str, versions: &[AfpVersion]) -> Result<Self> {
        let names = versions.iter().flat_map(|version| version.users()).chain([PERSON.to_owned()]);
        let (folder, users) = (process::fresh_folder(name)?, names.zip(FIRST_UID..).collect());
        let place = Self { folder, versions: versions.to_vec(), users };
        if isolate::is_isolated() {
            place.unix_users()?;
        }
        for (name, _) in place.shares() {
            fs::create_dir_all(place.folder.join(&name))?;
        }
        // The files that the set Readonly expects.
        fs::write(place.folder.join("readonly/first.txt"), "one\n")?;
        fs::write(place.folder.join("readonly/second.txt"), "two\n")?;
        fs::create_dir_all(place.folder.join("readonly/third"))?;
        for (name, more) in place.shares() {
            place.give_away(&place.folder.join(&name), more)?;
        }
        Ok(place)
    }

    /// The names of shares, and whether they are read-only.
    fn shares(&self) -> Vec<(String, bool)> {
        let volumes = self.versions.iter().flat_map(|version| version.volumes()).map(|name| (name, false));
        volumes.chain([("files".to_owned(), false), ("readonly".to_owned(), true)]).collect()
    }

    /// Lets the group write. New files belong to the group, as the tests' manual requires.
    fn give_away(&self, folder: &Path, read_only: bool) -> Result<()> {
        if process::is_root() && !read_only {
            let mut versions = self.versions.iter();
            let version =
                versions.find(|version| version.volumes().iter().any(|volume| folder.ends_with(volume)));
            let owner = version.map_or(PERSON.to_owned(), |version| version.users()[0].clone());
            let uid = self.users.iter().find(|(name, _)| *name == owner).map(|(_, uid)| *uid);
            chown(folder, uid, Some(GROUP.1))?;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o2775))?;
        }
        Ok(())
    }

    /// Adds the accounts to this mount namespace as Unix users: members of one group, with
    /// passwords.
    fn unix_users(&self) -> Result<()> {
        let line = |file: &str, name: &str, id: u32| match file {
            "passwd" => format!("{name}:x:{id}:{}::/nonexistent:/bin/sh\n", GROUP.1),
            _ => format!("{name}:{CRYPTED}:20000:0:99999:7:::\n"),
        };
        for file in ["passwd", "shadow", "group"] {
            let real = Path::new("/etc").join(file);
            let mut text = fs::read_to_string(&real)?;
            if file == "group" {
                text.push_str(&format!("{}:x:{}:\n", GROUP.0, GROUP.1));
            } else {
                self.users.iter().for_each(|(name, uid)| text.push_str(&line(file, name, *uid)));
            }
            let copy = self.folder.join(file);
            fs::write(&copy, text)?;
            process::run("mount", &["--bind", &copy.to_string_lossy(), &real.to_string_lossy()])?;
        }
        Ok(())
    }

    /// gvfs uses only AFP's own port, which is free in a network of our own.
    fn port() -> Result<u16> {
        if isolate::is_isolated() { Ok(548) } else { Ok(ports::free_port()?) }
    }

    /// `fourfold serve` with all login methods, and these settings.
    pub fn ours(&self, more: &str) -> Result<(Running, u16)> {
        let (port, state) = (Self::port()?, self.folder.join("fourfold"));
        let settings = state.with_extension("toml");
        let mut text = format!("{SETTINGS}{more}");
        for (name, read_only) in self.shares() {
            let path = self.folder.join(&name);
            text.push_str(&format!(
                "\n[[share]]\nname = \"{name}\"\npath = \"{}\"\nnfs = false\nsmb = false\niscsi = false\nguests = true\nread-only = {read_only}\n",
                path.display()
            ));
        }
        fs::write(&settings, text)?;
        for (user, uid) in &self.users {
            server::add_user_with(&state, user, PASSWORD, *uid, &["--legacy-password"])?;
        }
        let running = server::ours_with_settings(&settings, &state, &["--afp-port", &port.to_string()])?;
        Ok((running, port))
    }

    /// Netatalk's afpd over the same folders.
    pub fn peer(&self, afpd: &Path) -> Result<(Running, u16)> {
        let (port, state) = (Self::port()?, self.folder.join("netatalk"));
        fs::create_dir_all(&state)?;
        let at = state.display();
        let modules = crate::compare::afp::modules(afpd)?;
        let mut text = format!(
            "[Global]\nafp port = {port}\nafp listen = 127.0.0.1\nuam path = {}\nuam list = uams_passwd.so uams_guest.so \
             uams_dhx_passwd.so uams_dhx2_passwd.so\nguest account = nobody\ncnid scheme = sqlite\nvol dbpath = {at}\n\
             signature = 0123456789abcdef\nserver name = netatalk\nlog file = {at}/afpd.log\nlog level = default:note\nzeroconf = no\n",
            modules.display()
        );
        for (name, read_only) in self.shares() {
            let (path, read_only) = (self.folder.join(&name), if read_only { "yes" } else { "no" });
            text.push_str(&format!(
                "\n[{name}]\npath = {}\nvolume name = {name}\nea = sys\nread only = {read_only}\n",
                path.display()
            ));
        }
        let config = state.join("afp.conf");
        fs::write(&config, text)?;
        let log = process::log_file(&state.join("afpd.out"))?;
        let mut running = Running::start(afpd, &["-d", "-F", &config.to_string_lossy()], Stdio::null(), log)?;
        process::wait_for_port(&mut running, port, Duration::from_secs(20))
            .with_context(|| format!("afpd does not start; see {at}"))?;
        Ok((running, port))
    }
}

const SETTINGS: &str = "[server]
afp-logins = [\"dhx2\", \"srp\", \"dhx\", \"cleartext\", \"randnum\", \"2-way-randnum\"]
bonjour = \"off\"
";
