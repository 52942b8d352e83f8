//! Users of an Active Directory domain: Samba's domain controller, smbclient, smbcacls and python-gssapi.

mod controller;
mod directory;
mod forged;
mod groups;
mod membership;
mod passwords;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use anyhow::{Result, ensure};

use self::controller::{Controller, HOST, SERVER, text};
use super::expected::Expectations;
use super::outcome::{Outcome, Outcomes};
use super::{InteropArgs, conclude, prepare};
use crate::process::{self, Running};
use crate::{debian, ports, server};

const NEEDS: &[&str] = &["samba", "samba-tool", "smbclient", "smbcacls", "kinit", "unshare", "ip"];
/// Packages without a program: the modules of the database of a domain controller, and what a new domain has.
const CONTROLLER: [&str; 2] =
    ["/usr/share/doc/samba-dsdb-modules/copyright", "/usr/share/doc/samba-ad-provision/copyright"];
const BASE: u32 = 1_000_000;
const SETTINGS: &str = r#"[server]
listen = ["127.0.0.1", "10.99.0.2"]
domain = "lab.test"

[[share]]
name = "files"
path = "files"
"#;

pub fn run(args: &InteropArgs) -> Result<()> {
    prepare(args, debian::DOMAIN, false)?;
    let mut outcomes = Outcomes::default();
    match unable() {
        Some(why) => outcomes.skip("domain", &why),
        None => {
            let checked = checks(&mut outcomes)
                .map_or_else(|error| Outcome::Fail(format!("{error:#}")), |()| Outcome::Pass);
            outcomes.add("domain", checked);
        }
    }
    if args.list {
        print!("{}", outcomes.as_toml());
    }
    let expected = Expectations::read(&process::root().join("interop/domain/expected.toml"))?.else_pass();
    conclude(args, &expected.compare(&outcomes, process::is_ci()))
}

/// Why there can be no domain here.
fn unable() -> Option<String> {
    if !process::is_root() {
        return Some("a network of its own, and other users: needs root".into());
    }
    if !crate::isolate::is_isolated() {
        return Some("this machine lets no process have a network of its own".into());
    }
    let missing = NEEDS.iter().find(|program| process::find(program).is_none()).copied();
    let missing = missing.or(CONTROLLER.into_iter().find(|path| !Path::new(path).exists()));
    missing.map(|missing| format!("{missing} is not installed"))
}

/// The domain, and our server in it.
struct DomainPlace {
    domain: Controller,
    nfs: u16,
    afp: u16,
    server: Running,
}

fn checks(outcomes: &mut Outcomes) -> Result<()> {
    let domain = Controller::start("interop-domain")?;
    for user in ["alice", "bob", "carol", "dave"] {
        domain.kinit(user)?;
    }
    let place = DomainPlace::serve(domain)?;
    outcomes.run("smb: a user without an account acts with the ids of the SID", &[], || place.ids());
    outcomes.run("smb: names of the domain in an ACL, and an entry for a nested group", &[], || place.acl());
    outcomes.run("smb: an account of the server goes on to work", &[], || place.local());
    outcomes.run("smb: groups of the directory have names", &[], || place.names());
    outcomes.run(
        "smb: a user that is disabled in the directory is refused, with a ticket that is good",
        &[],
        || place.disabled(),
    );
    outcomes.run("afp: a user without an account acts with the ids of the SID", &[], || place.afp());
    outcomes.add_lines("nfs", &place.nfs_client("alice")?);
    outcomes.run("smb: the log names the user", &[], || {
        let log = fs::read_to_string(place.domain.at("state.log"))?;
        ensure!(log.contains("user=\"alice\" method=\"Kerberos\""), "the log does not name the user");
        Ok(())
    });
    groups::checks(&place, outcomes);
    passwords::checks(&place, outcomes);
    forged::checks(&place, outcomes);
    directory::checks(&place, outcomes);
    membership::checks(&place, outcomes);
    Ok(())
}

impl DomainPlace {
    fn serve(domain: Controller) -> Result<Self> {
        let (nfs, afp) = (ports::free_port()?, ports::free_port()?);
        let (state, settings) = (domain.at("state"), domain.at("fourfold.toml"));
        fs::write(&settings, SETTINGS.to_owned() + &groups::shares(&domain)?)?;
        fs::create_dir_all(&state)?;
        membership::refused(&domain)?;
        membership::join(&domain)?;
        fs::create_dir(domain.at("files"))?;
        fs::set_permissions(domain.at("files"), fs::Permissions::from_mode(0o777))?;
        server::add_user(&state, "local", "local", 61001)?;
        domain.disable("dave")?;
        let ports = [
            "--listen",
            SERVER,
            "--listen",
            "127.0.0.1",
            "--smb-port",
            "445",
            "--nfs-port",
            &nfs.to_string(),
            "--afp-port",
            &afp.to_string(),
        ];
        let server =
            server::ours_with_settings(&settings, &state, &[&ports[..], &["--bonjour", "off"]].concat())?;
        Ok(Self { domain, nfs, afp, server })
    }

    /// A client of SMB with a user's ticket.
    fn client(&self, program: &str, user: &str, words: &[&str]) -> Result<Output> {
        let configuration = self.domain.at("smb.conf");
        let cache = format!("KRB5CCNAME={}", self.domain.cache(user));
        let configuration = configuration.to_string_lossy();
        let fixed = ["-s", &*configuration, "--use-kerberos=required"];
        let unc = format!("//{HOST}/files");
        let words = [&[program, &*unc][..], words, &fixed].concat();
        self.domain.run(&cache, &words)
    }

    fn smbclient(&self, user: &str, command: &str) -> Result<String> {
        let output = self.client("smbclient", user, &["-c", command])?;
        let text = text(&output);
        ensure!(output.status.success() && !text.contains("NT_STATUS_"), "{}", text.trim());
        Ok(text)
    }

    fn smbcacls(&self, user: &str, words: &[&str]) -> Result<String> {
        let output = self.client("smbcacls", user, words)?;
        ensure!(output.status.success(), "{}", text(&output).trim());
        Ok(text(&output))
    }

    fn ids(&self) -> Result<()> {
        let local = self.domain.at("local");
        fs::write(&local, "content")?;
        self.smbclient("alice", &format!("put {} stored", local.display()))?;
        let stored = fs::metadata(self.domain.at("files/stored"))?;
        let expected = (BASE + self.domain.rid("alice")?, BASE + self.domain.rid("Domain_Users")?);
        ensure!(
            (stored.uid(), stored.gid()) == expected,
            "{} {}, not {expected:?}",
            stored.uid(),
            stored.gid()
        );
        Ok(())
    }

    /// `engineers`, in which alice is, is in `outer`. Bob is in neither.
    fn acl(&self) -> Result<()> {
        let shown = self.smbcacls("alice", &["stored", "--numeric"])?;
        ensure!(shown.contains(&format!("OWNER:{}", self.domain.sid("alice")?)), "{shown}");
        ensure!(self.smbcacls("alice", &["stored"])?.contains("OWNER:LAB\\alice"), "no name of the owner");
        self.smbclient("bob", &format!("put {} bobs", self.domain.at("local").display()))?;
        let (bob, outer) = (self.domain.sid("bob")?, self.domain.sid("outer")?);
        let list = format!("ACL:{bob}:ALLOWED/0x0/FULL,ACL:{outer}:ALLOWED/0x0/READ");
        self.smbcacls("bob", &["bobs", "--set", &list])?;
        let shown = self.smbcacls("bob", &["bobs", "--numeric"])?;
        ensure!(shown.contains(bob) && shown.contains(outer), "{shown}");
        self.smbclient("alice", "get bobs /dev/null")?;
        let carol = self.client("smbclient", "carol", &["-c", "get bobs /dev/null"])?;
        ensure!(text(&carol).contains("NT_STATUS_ACCESS_DENIED"), "carol reads it: {}", text(&carol).trim());
        Ok(())
    }

    /// The server asks the directory when it starts.
    fn names(&self) -> Result<()> {
        let mut shown = String::new();
        for _ in 0..40 {
            shown = self.smbcacls("bob", &["bobs"])?;
            if shown.contains("ACL:LAB\\outer:ALLOWED") {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(250));
        }
        anyhow::bail!("{shown}")
    }

    /// Dave got a ticket before he was disabled.
    fn disabled(&self) -> Result<()> {
        let output = self.client("smbclient", "dave", &["-c", "ls"])?;
        ensure!(text(&output).contains("NT_STATUS_ACCOUNT_DISABLED"), "{}", text(&output).trim());
        Ok(())
    }

    /// A client of NFS with a user's ticket: what it prints.
    fn nfs_client(&self, user: &str) -> Result<String> {
        let script = process::root().join("interop/nfs/gss.py").display().to_string();
        let cache = format!("KRB5CCNAME={}", self.domain.cache(user));
        let (port, uid) = (self.nfs.to_string(), (BASE + self.domain.rid(user)?).to_string());
        let words = [&*cache, "/usr/bin/python3", "-B", &script, &port, &uid, "", "domain"];
        let output = self.domain.run("env", &words)?;
        ensure!(output.status.success(), "{}", text(&output));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A client of AFP with a user's ticket makes a file.
    fn afp(&self) -> Result<()> {
        let script = process::root().join("interop/domain/afp_krb.py").display().to_string();
        let (cache, port) = (format!("KRB5CCNAME={}", self.domain.cache("alice")), self.afp.to_string());
        let words = [&*cache, "/usr/bin/python3", "-B", &script, &port, "by AFP"];
        let output = self.domain.run("env", &words)?;
        ensure!(output.status.success(), "{}", text(&output));
        let (owner, expected) =
            (fs::metadata(self.domain.at("files/by AFP"))?.uid(), BASE + self.domain.rid("alice")?);
        ensure!(owner == expected, "the file is of {owner}, not {expected}");
        Ok(())
    }

    fn local(&self) -> Result<()> {
        let unc = format!("//{HOST}/files");
        let words = [&*unc, "-U", "local%local", "--use-kerberos=off", "-c", "ls"];
        let output = self.domain.run("smbclient", &words)?;
        ensure!(output.status.success(), "{}", text(&output).trim());
        Ok(())
    }
}
