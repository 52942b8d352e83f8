//! `fourfold adopt` of a generated afp.conf against Debian's afpd: several people on several hosts try all volumes of both servers. Ours
//! admits nobody whom afpd refuses; where ours refuses more, the report of `adopt` has named it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::netatalk::{self, NetatalkVolume};
use crate::ports;
use crate::process::{self, Running};
use crate::samba::{self, SambaUser};
use crate::server;

/// Volumes of a run. `FOURFOLD_ADOPT_VOLUMES` has another number.
const VOLUMES: usize = 14;
/// The seed of a run. `FOURFOLD_ADOPT_SEED` has another one.
const SEED: u64 = 20;
/// Each person logs in with [`netatalk::PASSWORD`].
const PEOPLE: [(&str, u32); 3] = [("vera", 4101), ("walt", 4102), ("xena", 4103)];
/// Addresses of this machine: a client that connects to one comes from it.
const HOSTS: [&str; 3] = ["10.9.0.1", "10.9.0.2", "10.9.1.3"];
const LIMIT: Duration = Duration::from_secs(30);
/// Settings of a volume, each with its values; the empty one leaves it out.
const SETTINGS: &[(&str, &[&str])] = &[
    ("valid users", &["", "", "vera", "VERA walt", "@vera", "vera walt xena"]),
    ("invalid users", &["", "", "", "xena", "walt"]),
    ("hosts allow", &["", "", "10.9.0.0/24", "10.9.0.1", "10.9.1.3, 10.9.0.2", "10.9.0.0/255.255.255.0"]),
    ("hosts deny", &["", "", "", "10.9.0.2", "10.9.1.0/24"]),
    ("read only", &["", "", "", "yes", "no", "1"]),
    ("rolist", &["", "", "", "", "vera"]),
    ("rwlist", &["", "", "", "", "vera walt"]),
    ("vol preset", &["", "", "one", "two"]),
    ("umask", &["", "", "", "", "0", "077"]),
];

/// One generated file, by both servers.
pub fn check(folder: &Path) -> Result<()> {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let seed = number("FOURFOLD_ADOPT_SEED", SEED);
    let count = number("FOURFOLD_ADOPT_VOLUMES", VOLUMES as u64);
    println!("adopt: afp.conf of seed {seed} with {count} volumes");
    let scene = Scene::new(
        &folder.join("adopted"),
        &mut SeededRandom(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        count,
    )?;
    let report = scene.adopt()?;
    let (theirs, their_port) = scene.theirs()?;
    let (ours, our_port) = scene.ours()?;
    let (mut same, mut narrower) = (0, 0);
    for volume in &scene.volumes {
        for (person, _) in PEOPLE {
            for host in HOSTS {
                let of = |port| scene.tried(person, host, port, &volume.name);
                let (they, we) = (of(their_port)?, of(our_port)?);
                let who = || {
                    format!(
                        "seed {seed}, [{}], {person} from {host}: afpd {they:?}, ours {we:?}\n{}",
                        volume.name, scene.text
                    )
                };
                ensure!(we <= they, "ours admits more: {}", who());
                ensure!(
                    we == they || is_named(&report, &volume.name),
                    "ours refuses more and does not say so: {}",
                    who()
                );
                if we == they { same += 1 } else { narrower += 1 }
            }
        }
    }
    drop((theirs, ours));
    println!("adopt: {same} answers are the same, {narrower} are narrower and named");
    ensure!(same > narrower, "too few answers are the same");
    Ok(())
}

/// What somebody may do in a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum VolumeAccess {
    Nothing,
    Read,
    Write,
}

struct Scene {
    folder: PathBuf,
    volumes: Vec<NetatalkVolume>,
    globals: String,
    /// The file that `adopt` reads.
    text: String,
}

impl Scene {
    fn new(folder: &Path, random: &mut SeededRandom, count: u64) -> Result<Self> {
        fs::create_dir_all(folder.join("local"))?;
        let users = PEOPLE.map(|(name, uid)| (SambaUser { name, password: netatalk::PASSWORD }, uid));
        samba::unix_users(folder, &users)?;
        for host in HOSTS {
            process::run("ip", &["address", "add", &format!("{host}/32"), "dev", "lo"])?;
        }
        let globals = "afp listen = 0.0.0.0\nmax connections = 10000\n\n[one]\nvalid users = vera walt\nhosts deny = 10.9.0.2\n\n[two]\nread only = yes\n";
        let mut volumes = Vec::new();
        for number in 0..count {
            let name = format!("v{number:02}");
            let at = folder.join("volumes").join(&name);
            fs::create_dir_all(&at)?;
            fs::set_permissions(&at, fs::Permissions::from_mode(0o777))?;
            volumes.push(NetatalkVolume { name, folder: at, settings: random.settings() });
        }
        let each = volumes.iter().map(|volume| {
            format!("\n[{}]\npath = {}\n{}", volume.name, volume.folder.display(), volume.settings)
        });
        let text = format!(
            "[Global]\n{}\n{}",
            globals.replace("afp listen = 0.0.0.0\n", ""),
            each.collect::<String>()
        );
        fs::write(folder.join("afp.conf"), &text)?;
        Ok(Self { folder: folder.into(), volumes, globals: globals.into(), text })
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    /// The report, and the settings in a file.
    fn adopt(&self) -> Result<Value> {
        let words = ["adopt", "--afp-conf", &self.path("afp.conf"), "--json"];
        let output = process::output(server::binary(), &words, LIMIT)?;
        let report: Value =
            serde_json::from_slice(&output.stdout).context("the report of adopt is no JSON")?;
        let settings = report["settings"].as_str().context("the report has no settings")?;
        let head = "[server]\nbonjour = \"off\"\nafp-logins = [\"cleartext\"]\n\n";
        fs::write(self.folder.join("fourfold.toml"), head.to_owned() + settings)?;
        Ok(report)
    }

    fn theirs(&self) -> Result<(Running, u16)> {
        let port = ports::free_port()?;
        let users = PEOPLE.map(|(name, _)| name);
        let running = netatalk::start_with(&self.folder, "afpd", port, &users, &self.volumes, &self.globals)?;
        Ok((running, port))
    }

    fn ours(&self) -> Result<(Running, u16)> {
        let (settings, state) = (self.folder.join("fourfold.toml"), self.folder.join("state"));
        for (name, uid) in PEOPLE {
            server::add_user(&state, name, netatalk::PASSWORD, uid)?;
        }
        let port = ports::free_port()?;
        let words = ["--afp-port", &port.to_string(), "--listen", "0.0.0.0"];
        Ok((server::ours_with_settings(&settings, &state, &words)?, port))
    }

    /// What one person gets from one host: a listing, and a file that is copied into the volume.
    fn tried(&self, person: &str, host: &str, port: u16, volume: &str) -> Result<VolumeAccess> {
        let url = format!("afp://{person}:{}@{host}:{port}/{volume}?login=cleartext", netatalk::PASSWORD);
        let file = self.folder.join("local").join(format!("{person}-{host}-{port}"));
        fs::write(&file, b"written")?;
        if !process::output(server::binary(), &["ls", &url], LIMIT)?.status.success() {
            return Ok(VolumeAccess::Nothing);
        }
        let copied = process::output(server::binary(), &["cp", &file.to_string_lossy(), &url], LIMIT)?;
        Ok(if copied.status.success() { VolumeAccess::Write } else { VolumeAccess::Read })
    }
}

/// Whether a setting of the volume is said to be lost or kept in another way.
fn is_named(report: &Value, volume: &str) -> bool {
    let shares = report["shares"].as_array().into_iter().flatten();
    let share = shares.filter(|share| share["name"] == volume);
    let mut settings = share.flat_map(|share| share["source"].as_array().into_iter().flatten());
    settings.any(|one| one["outcome"] == "lost" || one["outcome"] == "kept")
}

/// A generator that gives the same file for the same seed.
struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most
    }

    fn settings(&mut self) -> String {
        let mut text = String::new();
        for (name, values) in SETTINGS {
            let value = values[self.below(values.len())];
            if !value.is_empty() {
                text.push_str(&format!("{name} = {value}\n"));
            }
        }
        text
    }
}

/// Whether it can run here.
pub fn unable() -> Result<()> {
    if netatalk::packages::server().is_none() {
        bail!("no server of Netatalk");
    }
    Ok(())
}
