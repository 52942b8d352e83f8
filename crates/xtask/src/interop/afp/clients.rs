//! Common client programs: GNOME's gvfs, nmap's scripts, Netatalk's client, avahi. Wireshark checks
//! the packets.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};

use super::bonjour;
use super::place::{AfpPlace, PASSWORD, PERSON};
use crate::interop::capture::{Capture, CapturedProtocol};
use crate::interop::outcome::{Outcome, Outcomes};
use crate::{isolate, process};

const LIMIT: Duration = Duration::from_secs(240);
/// The share that these programs use.
const SHARE: &str = "files";

/// The names that choose them.
pub const CLIENTS: &[&str] = &["gvfs", "nmap", "afpcmd", "wireshark", "bonjour"];

/// Wireshark 4.0 reads a name in FPMapID's reply beyond its end, also in Netatalk's replies.
const DSI: CapturedProtocol =
    CapturedProtocol { layer: "dsi", replies: "afp", mistaken: &["FPMapID reply"], lengths: &[] };

/// Runs the chosen programs against the server on that port.
pub fn run(
    outcomes: &mut Outcomes,
    is_meant: impl Fn(&str) -> bool,
    place: &AfpPlace,
    port: u16,
) -> Result<()> {
    let capture = is_meant("wireshark").then(|| Capture::start(&place.folder, port));
    if is_meant("gvfs") {
        outcomes.0.extend(steady(|| gvfs(place))?.0);
    }
    if is_meant("nmap") {
        nmap(outcomes, port);
    }
    if is_meant("afpcmd") {
        afpcmd(outcomes, place, port)?;
    }
    if is_meant("bonjour") {
        bonjour::run(outcomes)?;
    }
    match capture {
        Some(Ok(capture)) => capture.judge(outcomes, port, &DSI),
        Some(Err(error)) => outcomes.skip("wireshark", &format!("{error:#}")),
        None => {}
    }
    Ok(())
}

/// gvfs's daemon for AFP ends or hangs in one of six runs, with Netatalk's server and ours. So a
/// test fails only if it fails three times.
const ATTEMPTS: usize = 3;

fn steady(mut run: impl FnMut() -> Result<Outcomes>) -> Result<Outcomes> {
    let mut outcomes = run()?;
    for _ in 1..ATTEMPTS {
        if !outcomes.0.iter().any(|(_, outcome)| matches!(outcome, Outcome::Fail(_))) {
            break;
        }
        outcomes = run()?;
    }
    Ok(outcomes)
}

/// One of our shell scripts. Its lines are outcomes of their own. An outcome with its name tells
/// whether it came to its end.
fn script(outcomes: &mut Outcomes, name: &str, around: &[&str], args: &[&str]) {
    let mut text = String::new();
    outcomes.run(name, &[around[0]], || {
        let file = process::root().join(format!("interop/afp/{name}.sh"));
        let file = file.to_string_lossy();
        let command = [around, &["sh", &file], args].concat();
        let output = process::output(command[0], &command[1..], LIMIT)?;
        text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(text.lines().any(|line| line == "end"), "{}: {text} {}", output.status, said.trim());
        Ok(())
    });
    outcomes.add_lines(name, &text);
}

/// Empties the share and makes a folder for the client's own files.
fn fresh(place: &AfpPlace, name: &str) -> Result<(PathBuf, PathBuf)> {
    let (share, work) = (place.folder.join(SHARE), place.folder.join(name));
    for entry in fs::read_dir(&share)? {
        let path = entry?.path();
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    let _ = fs::remove_dir_all(&work); // there may be none
    fs::create_dir_all(&work)?;
    Ok((share, work))
}

/// gvfs uses port 548, whatever port the address has.
fn gvfs(place: &AfpPlace) -> Result<Outcomes> {
    let mut outcomes = Outcomes::default();
    if !isolate::is_isolated() {
        outcomes.skip(
            "gvfs",
            "it knows no other port than 548, which is free only in a network of our own (as root)",
        );
        return Ok(outcomes);
    }
    if !Path::new("/usr/lib/gvfs/gvfsd-afp").exists() && !Path::new("/usr/libexec/gvfsd-afp").exists() {
        outcomes.skip("gvfs", "gvfs-backends is not installed");
        return Ok(outcomes);
    }
    let (share, work) = fresh(place, "gvfs")?;
    let (share, work) = (share.to_string_lossy(), work.to_string_lossy());
    let (home, runtime) = (format!("HOME={work}"), format!("XDG_RUNTIME_DIR={work}"));
    // Its daemons end with the process namespace.
    let alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "env", &home, &runtime];
    let bus = [
        "GVFS_DISABLE_FUSE=1",
        "GVFS_REMOTE_VOLUME_MONITOR_IGNORE=1",
        "LC_ALL=C.UTF-8",
        "dbus-run-session",
        "--",
    ];
    script(&mut outcomes, "gvfs", &[&alone[..], &bus].concat(), &[PERSON, PASSWORD, SHARE, &share, &work]);
    Ok(outcomes)
}

fn afpcmd(outcomes: &mut Outcomes, place: &AfpPlace, port: u16) -> Result<()> {
    if process::find("afpcmd").is_none() {
        outcomes.skip("afpcmd", "afpcmd (Netatalk's client, built from its source) is not on the path");
        return Ok(());
    }
    if !process::is_root() {
        outcomes.skip("afpcmd", "it leaves a daemon behind, which only root can shut in");
        return Ok(());
    }
    let (share, work) = fresh(place, "afpcmd")?;
    // The daemon is found by a socket in /tmp, where another daemon's may be.
    let private = "mount -t tmpfs tmpfs /tmp && exec \"$0\" \"$@\"";
    let alone =
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", private];
    let args =
        [&port.to_string(), PERSON, PASSWORD, SHARE, &share.to_string_lossy(), &work.to_string_lossy()];
    script(outcomes, "afpcmd", &alone, &args);
    Ok(())
}

/// Scripts, and the lines that each must print.
const SCRIPTS: &[(&str, &[&str])] = &[
    ("afp-serverinfo", &["Server Signature: ", "UTF8 Server Name: ", "AFP3.4", "DHX2", "UUIDs: true"]),
    ("afp-showmount", &["files", "readonly", "Options: IsOwner"]),
    ("afp-ls", &["information retrieved as ada", "first.txt", "drwxr-xr-x", "third"]),
];

fn nmap(outcomes: &mut Outcomes, port: u16) {
    for (script, lines) in SCRIPTS {
        outcomes.run(&format!("nmap: {script}"), &["nmap"], || {
            let (port, forced) = (port.to_string(), format!("+{script}"));
            let login = format!("afp.username={PERSON},afp.password={PASSWORD},ls.maxfiles=0,ls.maxdepth=1");
            let args = ["-Pn", "-n", "-p", &port, "--script", &forced, "--script-args", &login, "127.0.0.1"];
            let text = process::stdout_of("nmap", &args, LIMIT)?;
            for line in *lines {
                ensure!(text.contains(line), "no {line:?} in {text}");
            }
            Ok(())
        });
    }
}
