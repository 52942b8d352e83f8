//! Samba's smbd with the settings that the tests need: `vfs objects = catia fruit streams_xattr`,
//! durable handles, no printers.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process::{self, Running};

/// A share and its settings, in the form of smb.conf.
#[derive(Debug)]
pub struct SambaShare {
    pub name: String,
    pub folder: PathBuf,
    pub settings: &'static str,
}

/// An account that is also a Unix user.
#[derive(Clone, Copy, Debug)]
pub struct SambaUser {
    pub name: &'static str,
    pub password: &'static str,
}

/// Starts it. Its own files go to `place`, which is made anew. `global` is added to the global
/// section.
pub fn start(
    place: &Path,
    port: u16,
    users: &[SambaUser],
    shares: &[SambaShare],
    global: &str,
) -> Result<Running> {
    let place = process::root().join(place);
    let _ = std::fs::remove_dir_all(&place); // there may be none
    for folder in FOLDERS {
        std::fs::create_dir_all(place.join(folder.1))?;
    }
    let config = place.join("smb.conf");
    std::fs::write(&config, configuration(&place, port, shares, global))?;
    for user in users {
        add(&config, *user)?;
    }
    let program =
        process::find("smbd").context("smbd is missing: apt-get install samba samba-vfs-modules")?;
    let (program, config) = (program.to_string_lossy(), config.to_string_lossy());
    let smbd = [&*program, "-F", "--no-process-group", "-s", &*config];
    // smbd leaves helpers behind (samba-dcerpcd). In a process namespace of their own they end with
    // it.
    let alone = ["--pid", "--fork", "--kill-child", "--mount-proc"];
    let log = process::log_file(&place.join("smbd.out"))?;
    let mut running = if process::is_root() {
        Running::start("unshare", &[&alone[..], &smbd[..]].concat(), Stdio::null(), log)?
    } else {
        bail!("only root starts smbd");
    };
    running.kill_at_end();
    process::wait_for_port(&mut running, port, Duration::from_secs(20))
        .with_context(|| format!("smbd does not start; see {}", place.display()))?;
    Ok(running)
}

/// Settings of smb.conf for folders, and our folders for them.
const FOLDERS: &[(&str, &str)] = &[
    ("private dir", "private"),
    ("lock directory", "lock"),
    ("state directory", "state"),
    ("cache directory", "cache"),
    ("pid directory", "pid"),
    ("ncalrpc dir", "ncalrpc"),
];

/// Durable handles need the three settings `kernel share modes`, `kernel oplocks` and `posix locking`.
const GLOBAL: &str = "
  workgroup = WORKGROUP
  netbios name = PEER
  server role = standalone
  interfaces = lo
  bind interfaces only = yes
  disable netbios = yes
  load printers = no
  printcap name = /dev/null
  guest account = nobody
  read only = no
  store dos attributes = yes
  map hidden = no
  map system = no
  map readonly = no
  dos filemode = yes
  create mask = 755
  kernel share modes = no
  kernel oplocks = no
  posix locking = no
";

fn configuration(place: &Path, port: u16, shares: &[SambaShare], global: &str) -> String {
    let at = place.display();
    let mut text = format!("[global]{GLOBAL}  smb ports = {port}\n  log file = {at}/log\n{global}\n");
    text.push_str(&format!("  passdb backend = tdbsam:{at}/private/passdb.tdb\n"));
    for (setting, folder) in FOLDERS {
        text.push_str(&format!("  {setting} = {at}/{folder}\n"));
    }
    for SambaShare { name, folder, settings } in shares {
        text.push_str(&format!("[{name}]\n  path = {}\n{settings}\n", folder.display()));
    }
    text
}

fn add(config: &Path, user: SambaUser) -> Result<()> {
    let mut child = Command::new("smbpasswd")
        .args(["-L", "-s", "-a", "-c"])
        .arg(config)
        .arg(user.name)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot start smbpasswd")?;
    let twice = format!("{0}\n{0}\n", user.password);
    child.stdin.take().context("no standard input")?.write_all(twice.as_bytes())?;
    if !child.wait()?.success() {
        bail!("smbpasswd cannot add {}", user.name);
    }
    Ok(())
}

/// Adds the accounts to this mount namespace as Unix users. `folder` has the files that replace
/// those in `/etc`.
pub fn unix_users(folder: &Path, users: &[(SambaUser, u32)]) -> Result<()> {
    for (file, rest) in [("passwd", "::/nonexistent:/usr/sbin/nologin"), ("group", "")] {
        let real = Path::new("/etc").join(file);
        let mut text = std::fs::read_to_string(&real)?;
        for (user, id) in users {
            let ids = if rest.is_empty() { format!("{id}:") } else { format!("{id}:{id}") };
            text.push_str(&format!("{}:x:{ids}{rest}\n", user.name));
        }
        let copy = folder.join(file);
        std::fs::write(&copy, text)?;
        process::run("mount", &["--bind", &copy.to_string_lossy(), &real.to_string_lossy()])?;
    }
    Ok(())
}

/// Adds a group to this mount namespace. Its members need not be users of the host.
pub fn unix_group(folder: &Path, (name, gid): (&str, u32), members: &[&str]) -> Result<()> {
    let mut text = std::fs::read_to_string("/etc/group")?;
    text.push_str(&format!("{name}:x:{gid}:{}\n", members.join(",")));
    let copy = folder.join("group-more");
    std::fs::write(&copy, text)?;
    process::run("mount", &["--bind", &copy.to_string_lossy(), "/etc/group"])
}

/// A configuration for Samba's client programs. Without it they would use the host's and write to
/// its folders.
pub fn client_configuration(place: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(place)?;
    let (file, at) = (place.join("client.conf"), place.display());
    let mut text =
        "[global]\n  interfaces = 127.0.0.1/8\n  netbios name = CLIENT\n  client min protocol = SMB2_02\n"
            .to_owned();
    for (setting, _) in FOLDERS {
        text.push_str(&format!("  {setting} = {at}\n"));
    }
    // A client that runs at the same time must not find it empty.
    if std::fs::read_to_string(&file).ok().as_ref() != Some(&text) {
        std::fs::write(&file, text)?;
    }
    Ok(file)
}
