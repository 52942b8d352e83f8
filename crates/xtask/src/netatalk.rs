//! Netatalk's afpd of Debian, unpacked into a folder below `target/` and started there by `chroot`, in a mount and process
//! namespace of its own. So neither the system's settings nor another Netatalk has anything to do with it.

pub mod packages;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process::{self, Running};
use crate::{isolate, loader, ports};

/// The password of all users.
pub const PASSWORD: &str = "secret";
/// The same as `crypt` stores it: afpd asks the host.
pub const CRYPTED: &str =
    "$6$fourfold$Q2ESwTqXTPHo3wlHoM/OSyKWP25G.XkX47tPoEN67ULukuXKI2g0sQokAvwGj/QWrkrfQi4CL1Vjxa5QrNm9f.";

/// A volume and its settings, in the form of afp.conf.
#[derive(Debug)]
pub struct NetatalkVolume {
    pub name: String,
    pub folder: PathBuf,
    pub settings: String,
}

/// `$1`: where the packages are unpacked; `$2`: the folder of a run, which has the same path there; `$3`: afpd's own, in it.
const SCRIPT: &str = r#"set -e
for folder in etc proc dev run tmp var/lock var/lib/netatalk "$2"; do mkdir -p "$1/$folder"; done
for folder in run tmp var/lock var/lib/netatalk; do mount -t tmpfs tmpfs "$1/$folder"; done
mkdir -p "$1/var/lock/netatalk" "$1/var/lib/netatalk/CNID"
mount --rbind "$2" "$1/$2"
mount --bind "$3/etc" "$1/etc"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
LD_PRELOAD="$3/limits.so" chroot "$1" /usr/sbin/cnid_metad -d -F /etc/netatalk/afp.conf &
exec chroot "$1" /usr/sbin/afpd -d -F /etc/netatalk/afp.conf
"#;

/// Starts it with volumes that are in this folder, for users of this machine. Its own files go to `place` in it.
pub fn start(
    folder: &Path,
    place: &str,
    port: u16,
    users: &[&str],
    volumes: &[NetatalkVolume],
) -> Result<Running> {
    start_with(folder, place, port, users, volumes, "")
}

/// The same, with more lines for the global section of its settings.
pub fn start_with(
    folder: &Path,
    place: &str,
    port: u16,
    users: &[&str],
    volumes: &[NetatalkVolume],
    globals: &str,
) -> Result<Running> {
    let root = packages::server().context("Debian's netatalk is not unpacked")?;
    if !isolate::is_isolated() {
        bail!("only root, and where namespaces may be made, can start afpd");
    }
    let place = folder.join(place);
    let etc = place.join("etc");
    std::fs::create_dir_all(etc.join("netatalk"))?;
    for file in ["passwd", "group"] {
        std::fs::copy(Path::new("/etc").join(file), etc.join(file))?;
    }
    let shadow = |user: &&str| format!("{user}:{CRYPTED}:20000:0:99999:7:::\n");
    std::fs::write(etc.join("shadow"), users.iter().map(shadow).collect::<String>())?;
    std::fs::write(etc.join("hosts"), "127.0.0.1 localhost\n")?;
    std::fs::write(etc.join("shells"), "/bin/sh\n/usr/sbin/nologin\n")?;
    let cnid = ports::free_port()?;
    std::fs::write(etc.join("netatalk/afp.conf"), configuration(&place, (port, cnid), volumes, globals))?;
    std::fs::copy(loader::compile_limits()?, place.join("limits.so"))?;
    let arguments = [&*root, folder, &place].map(|path| path.to_string_lossy().into_owned());
    let alone = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", SCRIPT, "afpd"];
    let words: Vec<&str> = alone.into_iter().chain(arguments.iter().map(String::as_str)).collect();
    let log = place.join("afpd.out");
    let mut running = Running::start("unshare", &words, Stdio::null(), process::log_file(&log)?)?;
    running.kill_at_end();
    for port in [cnid, port] {
        process::wait_for_port(&mut running, port, Duration::from_secs(20))
            .with_context(|| format!("afpd does not start; see {}", place.display()))?;
    }
    Ok(running)
}

/// The ports are those of afpd and of its database.
fn configuration(
    place: &Path,
    (port, cnid): (u16, u16),
    volumes: &[NetatalkVolume],
    globals: &str,
) -> String {
    let at = place.display();
    let mut text = format!(
        "[Global]\nafp port = {port}\nafp listen = 127.0.0.1\ncnid listen = localhost:{cnid}\ncnid server = localhost:{cnid}\n\
         uam list = uams_passwd.so uams_guest.so uams_dhx_passwd.so uams_dhx2_passwd.so\nguest account = nobody\n\
         signature = 0123456789abcdef\nserver name = netatalk\nlog file = {at}/afpd.log\nlog level = default:note\n\
         zeroconf = no\nspotlight = no\n{globals}"
    );
    for NetatalkVolume { name, folder, settings } in volumes {
        text.push_str(&format!(
            "\n[{name}]\npath = {}\nvolume name = {name}\n{settings}\n",
            folder.display()
        ));
    }
    text
}
