//! Samba's client of access control lists.

use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::thread;

use anyhow::{Context as _, Result, ensure};

use super::{Clients, LIMIT};
use crate::interop::outcome::Outcomes;
use crate::process;

/// A file of these checks.
const FILE: &str = "guarded";
/// smbcacls has no option for the port.
const AT: (&str, u16) = ("127.0.0.7", 445);
/// Connections of all checks together.
const MOST_CONNECTIONS: usize = 100;
/// An entry for somebody who has no part in the file.
const STRANGER: &str = "ACL:S-1-22-1-4711:ALLOWED/0x0/0x00120089";

pub fn run(outcomes: &mut Outcomes, clients: &Clients<'_>) {
    if let Err(error) = relay(&clients.port) {
        outcomes.skip("smbcacls: a list that was read is written back", &format!("{error:#}"));
        outcomes.skip("smbcacls: an owner adds entries again and again", &format!("{error:#}"));
        return;
    }
    outcomes.run("smbcacls: a list that was read is written back", &["smbcacls"], || {
        let path = clients.stored(FILE);
        clients.files(&format!("put {} {FILE}", clients.file(FILE, b"x")?))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
        let shown = clients.list_of(FILE)?;
        clients.smbcacls(&[FILE, "--numeric", "--set", &shown.join(",")])?;
        let (now, mode) = (clients.list_of(FILE)?, fs::metadata(&path)?.mode() & 0o777);
        ensure!(now == shown && mode == 0o640, "{mode:o}: it was {shown:?} and is {now:?}");
        Ok(())
    });
    outcomes.run("smbcacls: an owner adds entries again and again", &["smbcacls"], || {
        let before = clients.list_of(FILE)?;
        for number in 4711..4714 {
            clients.smbcacls(&[
                FILE,
                "--numeric",
                "--add",
                &STRANGER.replace("4711", &number.to_string()),
            ])?;
        }
        let (now, mode) = (clients.list_of(FILE)?, fs::metadata(clients.stored(FILE))?.mode() & 0o777);
        let kept = before.iter().filter(|entry| now.contains(entry)).count();
        ensure!((now.len(), kept) == (before.len() + 3, before.len()), "it was {before:?} and is {now:?}");
        ensure!(mode & 0o137 == 0, "the mode has become wider: {mode:o}");
        Ok(())
    });
}

/// Leads connections to the standard port to the server, at an address of these checks.
fn relay(port: &str) -> Result<()> {
    let port: u16 = port.parse()?;
    let listener = TcpListener::bind(AT).context("port 445 cannot be used here")?;
    thread::spawn(move || {
        for client in listener.incoming().take(MOST_CONNECTIONS).flatten() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
            let (Ok(from_client), Ok(from_server)) = (client.try_clone(), server.try_clone()) else {
                continue;
            };
            for (mut from, mut to) in [(from_client, server), (from_server, client)] {
                thread::spawn(move || {
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
    Ok(())
}

impl Clients<'_> {
    fn smbcacls(&self, words: &[&str]) -> Result<String> {
        let unc = format!("//{}/files", AT.0);
        let mut args = vec![&*unc, words[0], "-s", &self.configuration];
        args.extend(["-U", &self.login]);
        args.extend(&words[1..]);
        let output = process::output("smbcacls", &args, LIMIT)?;
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        ensure!(output.status.success() && !text.contains("NT_STATUS_"), "{words:?}: {}", text.trim());
        Ok(text)
    }

    /// The entries of a file's list.
    fn list_of(&self, name: &str) -> Result<Vec<String>> {
        let text = self.smbcacls(&[name, "--numeric"])?;
        let mut entries: Vec<String> =
            text.lines().filter(|line| line.starts_with("ACL:")).map(str::to_owned).collect();
        entries.sort_unstable(); // smbcacls has an order of its own for entries that it writes
        Ok(entries)
    }
}
