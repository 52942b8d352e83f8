//! Samba's client of access control lists.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use anyhow::{Result, ensure};

use super::{Clients, LIMIT};
use crate::interop::outcome::Outcomes;
use crate::process;

/// An entry for somebody who has no part in the file.
const STRANGER: &str = "ACL:S-1-22-1-4711:ALLOWED/0x0/0x00120089";

pub fn run(outcomes: &mut Outcomes, clients: &Clients<'_>) {
    outcomes.run("smbcacls: a list that was read is written back", &["smbcacls"], || {
        let path = clients.stored("listed");
        clients.files(&format!("put {} listed", clients.file("listed", b"x")?))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
        let shown = clients.list_of("listed")?;
        clients.smbcacls(&["listed", "--numeric", "--set", &shown.join(",")])?;
        let (now, mode) = (clients.list_of("listed")?, fs::metadata(&path)?.mode() & 0o777);
        ensure!(now == shown && mode == 0o640, "{mode:o}: it was {shown:?} and is {now:?}");
        Ok(())
    });
    outcomes.run("smbcacls: an owner adds entries again and again", &["smbcacls"], || {
        let before = clients.list_of("listed")?;
        for number in 4711..4714 {
            clients.smbcacls(&[
                "listed",
                "--numeric",
                "--add",
                &STRANGER.replace("4711", &number.to_string()),
            ])?;
        }
        let (now, mode) =
            (clients.list_of("listed")?, fs::metadata(clients.stored("listed"))?.mode() & 0o777);
        let kept = before.iter().filter(|entry| now.contains(entry)).count();
        ensure!((now.len(), kept) == (before.len() + 3, before.len()), "it was {before:?} and is {now:?}");
        ensure!(mode & 0o137 == 0, "the mode has become wider: {mode:o}");
        Ok(())
    });
}

impl Clients<'_> {
    fn smbcacls(&self, words: &[&str]) -> Result<String> {
        let reach = format!("exec 3<>/dev/tcp/127.0.0.1/{}; cat <&3 & exec cat >&3", self.port);
        let reach = format!("LIBSMB_PROG=bash -c '{reach}'"); // it has no option for the port
        let mut args = vec![&*reach, "smbcacls", "//127.0.0.1/files", words[0], "-s", &self.configuration];
        args.extend(["-U", &self.login]);
        args.extend(&words[1..]);
        let output = process::output("env", &args, LIMIT)?;
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        ensure!(output.status.success() && !text.contains("NT_STATUS_"), "{words:?}: {}", text.trim());
        Ok(text)
    }

    /// The entries of a file's list.
    fn list_of(&self, name: &str) -> Result<Vec<String>> {
        let text = self.smbcacls(&[name, "--numeric"])?;
        Ok(text.lines().filter(|line| line.starts_with("ACL:")).map(str::to_owned).collect())
    }
}
