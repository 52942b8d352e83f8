//! Samba's client programs: smbclient, smbget (libsmbclient), rpcclient.

mod images;
mod rpcclient;
mod smbcacls;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::place::{ADA, BOB, SmbPlace};
use super::torture::login;
use crate::interop::outcome::Outcomes;
use crate::process;

/// Links and their targets.
const LINKS: &[(&str, &str)] = &[
    ("link-file", "linked/file"),
    ("link-folder", "linked"),
    ("link-nowhere", "nothing"),
    ("link-loop", "link-loop"),
    ("link-absolute", "/etc/passwd"),
    ("link-out", "../../etc"),
];
const LIMIT: Duration = Duration::from_secs(60);

/// The options with which these programs reach the server.
pub(super) struct Clients<'a> {
    place: &'a SmbPlace,
    port: String,
    configuration: String,
    login: String,
    local: PathBuf,
}

/// The server has the share `files` for accounts, and `guests` for all users.
pub fn run(outcomes: &mut Outcomes, place: &SmbPlace, port: u16, configuration: &Path) -> Result<()> {
    let local = place.folder.join("local");
    fs::create_dir_all(&local)?;
    let configuration = configuration.to_string_lossy().into_owned();
    let clients = Clients { place, port: port.to_string(), configuration, login: login(), local };
    clients.transfers(outcomes);
    clients.folders(outcomes);
    clients.links(outcomes);
    clients.metadata(outcomes);
    clients.protocols(outcomes);
    clients.logins(outcomes);
    clients.smbget(outcomes);
    rpcclient::run(outcomes, &clients);
    smbcacls::run(outcomes, &clients);
    images::run(outcomes, &clients);
    Ok(())
}

/// Bytes that depend on the position.
pub fn content(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8).collect()
}

impl Clients<'_> {
    /// Runs smbclient with these options. Returns the command's answer if it succeeds.
    fn smbclient(&self, share: &str, login: &str, more: &[&str], command: &str) -> Result<String> {
        let unc = format!("//127.0.0.1/{share}");
        let mut args = vec![&*unc, "-s", &self.configuration, "-p", &self.port, "-U", login];
        args.extend(more);
        args.extend(["-c", command]);
        let output = process::output("smbclient", &args, LIMIT)?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success() && !text.contains("NT_STATUS_"), "{command}: {}", text.trim());
        Ok(text)
    }

    fn files(&self, command: &str) -> Result<String> {
        self.smbclient("files", &self.login, &[], command)
    }

    /// The file's path on the share's disk.
    fn stored(&self, name: &str) -> PathBuf {
        self.place.folder.join("files").join(name)
    }

    /// Makes a local file. Returns its name for a command.
    fn file(&self, name: &str, content: &[u8]) -> Result<String> {
        let path = self.local.join(name);
        fs::write(&path, content)?;
        Ok(path.to_string_lossy().into_owned())
    }

    fn transfers(&self, outcomes: &mut Outcomes) {
        outcomes.run("smbclient: lists the shares", &["smbclient"], || {
            let args =
                ["-L", "//127.0.0.1", "-g", "-s", &self.configuration, "-p", &self.port, "-U", &self.login];
            let text = process::stdout_of("smbclient", &args, LIMIT)?;
            ensure!(text.contains("Disk|files|") && text.contains("IPC|IPC$|"), "it says {text:?}");
            Ok(())
        });
        outcomes.run("smbclient: put", &["smbclient"], || {
            let wanted = content(33 << 20 | 12345);
            let from = self.file("from", &wanted)?;
            self.files(&format!("put {from} \"größe copied\""))?;
            ensure!(fs::read(self.stored("größe copied"))? == wanted, "the file on the disk differs");
            Ok(())
        });
        outcomes.run("smbclient: get", &["smbclient"], || {
            let (to, wanted) = (self.local.join("to"), content(33 << 20 | 54321));
            fs::write(self.stored("source"), &wanted)?;
            self.files(&format!("get source {}", to.display()))?;
            ensure!(fs::read(to)? == wanted, "the copy differs");
            Ok(())
        });
        outcomes.run("smbclient: server-side copy", &["smbclient"], || {
            let wanted = content(5 << 20 | 77);
            let from = self.file("from", &wanted)?;
            self.files(&format!("put {from} original; scopy original copy"))?;
            ensure!(fs::read(self.stored("copy"))? == wanted, "the copy differs");
            Ok(())
        });
    }

    fn folders(&self, outcomes: &mut Outcomes) {
        outcomes.run("smbclient: mkdir, rename, del, rmdir", &["smbclient"], || {
            let small = self.file("small", b"12345")?;
            self.files(&format!("mkdir a; cd a; put {small} x; rename x y; cd ..; rename a b"))?;
            ensure!(fs::read(self.stored("b/y"))? == b"12345", "b/y is not what a/x was");
            self.files("del b/y; rmdir b")?;
            ensure!(!self.stored("b").exists(), "the folder is still there");
            Ok(())
        });
        outcomes.run("smbclient: a full folder is not removed", &["smbclient"], || {
            let refused =
                self.files("mkdir full; mkdir full/in; rmdir full").err().context("it is removed")?;
            ensure!(refused.to_string().contains("NT_STATUS_DIRECTORY_NOT_EMPTY"), "{refused}");
            Ok(())
        });
        outcomes.run("smbclient: lists 2,000 entries and a pattern", &["smbclient"], || {
            let folder = self.stored("many");
            fs::create_dir_all(&folder)?;
            (0..2000).try_for_each(|i| fs::write(folder.join(format!("entry {i:04}.txt")), "x"))?;
            let count = |text: &str| text.lines().filter(|line| line.contains(" entry ")).count();
            let (all, some) = (self.files("ls many/*")?, self.files("ls \"many/entry 1?0?.*\"")?);
            ensure!(count(&all) == 2000 && count(&some) == 100, "{} and {}", count(&all), count(&some));
            Ok(())
        });
        outcomes.run("smbclient: whole trees", &["smbclient"], || {
            let (here, back) = (self.local.join("tree"), self.local.join("back"));
            for folder in [here.join("one/two/three"), back.clone()] {
                fs::create_dir_all(folder)?;
            }
            fs::write(here.join("one/two/three/deep"), "deep")?;
            fs::write(here.join("one/größe"), "x")?;
            let (local, there) = (here.display(), back.display());
            self.files(&format!("lcd {local}; prompt off; recurse on; mput one; lcd {there}; mget one"))?;
            ensure!(fs::read(back.join("one/two/three/deep"))? == b"deep", "another content");
            ensure!(back.join("one/größe").exists(), "a name is missing");
            self.files("deltree one")?;
            ensure!(!self.stored("one").exists(), "the tree is still there");
            Ok(())
        });
    }

    fn links(&self, outcomes: &mut Outcomes) {
        outcomes.run("smbclient: ls and allinfo of links", &["smbclient"], || {
            self.make_links()?;
            let listed = self.files("ls link-*")?;
            for (name, _) in LINKS {
                let line = listed.lines().find(|line| line.contains(name)).context("not listed")?;
                let letters = if *name == "link-folder" { " Dr " } else { " r " };
                ensure!(line.contains(letters), "{line}");
                let text = self.files(&format!("allinfo {name}"))?;
                let leads_nowhere = !matches!(*name, "link-file" | "link-folder");
                ensure!(text.contains("symlink: subst=") == leads_nowhere, "{name}: {text}");
            }
            Ok(())
        });
        outcomes.run("smbclient: rename of links", &["smbclient"], || {
            self.make_links()?;
            for (name, target) in LINKS {
                self.files(&format!("rename {name} renamed"))?;
                ensure!(
                    fs::read_link(self.stored("renamed"))? == Path::new(target),
                    "{name}: another target"
                );
                fs::remove_file(self.stored("renamed"))?;
            }
            self.targets_are_there()
        });
        outcomes.run("smbclient: rm of links", &["smbclient"], || {
            self.make_links()?;
            for (name, _) in LINKS {
                // smbclient removes a file that is listed as a folder only with rmdir. It does the
                // same with smbd.
                let command = if *name == "link-folder" { "rmdir" } else { "rm" };
                self.files(&format!("{command} {name}"))?;
                ensure!(fs::symlink_metadata(self.stored(name)).is_err(), "{name} is still there");
            }
            self.targets_are_there()
        });
    }

    /// Links of every kind, and the targets of two of them.
    fn make_links(&self) -> Result<()> {
        let folder = self.stored("linked");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("file"), "linked")?;
        for (name, target) in LINKS {
            let _ = fs::remove_file(self.stored(name)); // of an earlier test
            std::os::unix::fs::symlink(target, self.stored(name))?;
        }
        Ok(())
    }

    fn targets_are_there(&self) -> Result<()> {
        ensure!(fs::read(self.stored("linked/file"))? == b"linked", "the target has changed");
        Ok(())
    }

    fn metadata(&self, outcomes: &mut Outcomes) {
        outcomes.run("smbclient: allinfo", &["smbclient"], || {
            let small = self.file("small", b"12345")?;
            let text = self.files(&format!("put {small} info; allinfo info"))?;
            for wanted in ["create_time:", "write_time:", "stream: [::$DATA], 5 bytes"] {
                ensure!(text.contains(wanted), "no {wanted:?} in {text:?}");
            }
            Ok(())
        });
        outcomes.run("smbclient: a named stream", &["smbclient"], || self.stream("stream-few", 2000));
        outcomes
            .run("smbclient: a large named stream", &["smbclient"], || self.stream("stream-many", 5 << 20));
        outcomes.run("smbclient: attributes", &["smbclient"], || {
            let small = self.file("small", b"12345")?;
            let text = self.files(&format!("put {small} hidden; setmode hidden +h; allinfo hidden"))?;
            let line = text.lines().find(|line| line.starts_with("attributes:")).context("no attributes")?;
            ensure!(line.contains('H'), "{line}");
            Ok(())
        });
        outcomes.run("smbclient: times", &["smbclient"], || {
            let small = self.file("small", b"12345")?;
            self.files(&format!("put {small} times; utimes times -1 -1 2001:02:03-04:05:06 -1"))?;
            let changed =
                self.stored("times").metadata()?.modified()?.duration_since(std::time::UNIX_EPOCH)?;
            // smbclient takes local time: a day around 2001-02-03.
            ensure!(changed.as_secs().abs_diff(981_173_106) < 86_400, "{} s", changed.as_secs());
            Ok(())
        });
        outcomes.run("smbclient: room on the disk", &["smbclient"], || {
            let text = self.files("du; volume")?;
            ensure!(text.contains("blocks of size"), "it says {text:?}");
            Ok(())
        });
    }

    /// Copies a stream of that size to the server and back, and checks that the file is unchanged.
    fn stream(&self, name: &str, size: usize) -> Result<()> {
        let (small, stream) = (self.file("small", b"12345")?, self.file("stream", &content(size))?);
        let back = self.local.join("stream back");
        let text = self.files(&format!(
            "put {small} {name}; put {stream} {name}:more; allinfo {name}; get {name}:more \"{}\"",
            back.display()
        ))?;
        ensure!(text.contains(&format!("stream: [:more:$DATA], {size} bytes")), "it is not listed: {text:?}");
        ensure!(fs::read(back)? == content(size), "the stream differs");
        ensure!(fs::read(self.stored(name))? == b"12345", "the file itself was changed");
        Ok(())
    }

    fn protocols(&self, outcomes: &mut Outcomes) {
        let pass = |more: &[&str]| {
            let (to, wanted) = (self.local.join("protocol"), content(3 << 20));
            fs::write(self.stored("protocol"), &wanted)?;
            self.smbclient("files", &self.login, more, &format!("ls; get protocol {}", to.display()))?;
            ensure!(fs::read(to)? == wanted, "the copy differs");
            Ok(())
        };
        for dialect in ["SMB2_02", "SMB2_10", "SMB3_00", "SMB3_02", "SMB3_11"] {
            outcomes.run(&format!("smbclient: {dialect}"), &["smbclient"], || pass(&["-m", dialect]));
            let signed = format!("smbclient: {dialect} signed");
            outcomes.run(&signed, &["smbclient"], || pass(&["-m", dialect, "--client-protection=sign"]));
        }
        for dialect in ["SMB3_00", "SMB3_02", "SMB3_11"] {
            let encrypted = format!("smbclient: {dialect} encrypted");
            outcomes
                .run(&encrypted, &["smbclient"], || pass(&["-m", dialect, "--client-protection=encrypt"]));
        }
        for cipher in ["AES-128-GCM", "AES-128-CCM", "AES-256-GCM", "AES-256-CCM"] {
            let only = format!("--option=client smb3 encryption algorithms={cipher}");
            outcomes.run(&format!("smbclient: {cipher}"), &["smbclient"], || {
                pass(&["-m", "SMB3_11", "--client-protection=encrypt", &only])
            });
        }
        for signing in ["AES-128-GMAC", "AES-128-CMAC", "HMAC-SHA256"] {
            let only = format!("--option=client smb3 signing algorithms={signing}");
            outcomes.run(&format!("smbclient: {signing}"), &["smbclient"], || {
                pass(&["-m", "SMB3_11", "--client-protection=sign", &only])
            });
        }
    }

    fn logins(&self, outcomes: &mut Outcomes) {
        let refused = |share: &str, login: &str, status: &str| {
            let error = self.smbclient(share, login, &[], "ls").err().context("it may enter")?;
            ensure!(error.to_string().contains(status), "{error}");
            Ok(())
        };
        outcomes.run("smbclient: another account", &["smbclient"], || {
            let bob = format!("{}%{}", BOB.name, BOB.password);
            self.smbclient("files", &bob, &[], "ls").map(drop)
        });
        outcomes.run("smbclient: a wrong password", &["smbclient"], || {
            refused("files", &format!("{}%wrong", ADA.name), "NT_STATUS_LOGON_FAILURE")
        });
        outcomes.run("smbclient: a share that is not there", &["smbclient"], || {
            refused("nowhere", &self.login, "NT_STATUS_BAD_NETWORK_NAME")
        });
        outcomes.run("smbclient: a guest where guests may enter", &["smbclient"], || {
            self.smbclient("guests", "%", &[], "ls").map(drop)
        });
        outcomes.run("smbclient: a guest elsewhere", &["smbclient"], || {
            refused("files", "%", "NT_STATUS_ACCESS_DENIED")
        });
    }

    fn smbget(&self, outcomes: &mut Outcomes) {
        outcomes.run("smbget: a file", &["smbget"], || {
            let (to, wanted) = (self.local.join("smbget"), content(7 << 20 | 99));
            fs::write(self.stored("smbget"), &wanted)?;
            let _ = fs::remove_file(&to); // smbget continues at the end of an existing file
            let (url, to_text) =
                (format!("smb://127.0.0.1:{}/files/smbget", self.port), to.to_string_lossy());
            let file = format!("--rcfile={}", self.smbget_settings()?.display());
            process::stdout_of("smbget", &["-U", &self.login, &file, "-q", "-o", &to_text, &url], LIMIT)?;
            ensure!(fs::read(to)? == wanted, "the copy differs");
            Ok(())
        });
    }

    /// A file of settings for smbget, which may be empty. Without it smbget reads the user's own.
    fn smbget_settings(&self) -> Result<PathBuf> {
        let file = self.local.join("smbgetrc");
        fs::write(&file, "")?;
        Ok(file)
    }
}
