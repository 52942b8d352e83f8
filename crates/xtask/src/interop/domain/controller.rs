//! A domain controller of Samba, which is started in this network: `LAB`, lab.test, with the users and groups of
//! `interop/domain/people.py`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process::{self, Running};

/// The controller's address.
const ADDRESS: &str = "10.99.0.1";
/// The address of the server.
pub const SERVER: &str = "10.99.0.2";
/// The name by which clients know the server.
pub const HOST: &str = "filer.lab.test";
pub const REALM: &str = "LAB.TEST";
const ADMINISTRATOR: &str = "Passw0rd!x";
const PYTHON: &str = "/usr/bin/python3";
const LIMIT: Duration = Duration::from_secs(120);
/// Not for a domain in a test: nothing is printed, and no DNS server or policy is changed.
const OPTIONS: &[&str] = &[
    "interfaces=10.99.0.1",
    "bind interfaces only=yes",
    "dns update command=/bin/true",
    "spn update command=/bin/true",
    "gpo update command=/bin/true",
    "load printers=no",
    "disable spoolss=yes",
    "disable netbios=yes",
];

pub struct Controller {
    folder: PathBuf,
    sids: HashMap<String, String>,
    _samba: Running,
}

impl Controller {
    /// Makes a domain in a folder of its own, and starts its controller.
    pub fn start(folder: &str) -> Result<Self> {
        let folder = process::fresh_folder(folder)?;
        for address in [ADDRESS, SERVER] {
            process::run("ip", &["addr", "add", &format!("{address}/32"), "dev", "lo"])?;
        }
        name_hosts(&folder)?;
        provision(&folder)?;
        let configuration = folder.join("dc/etc/smb.conf");
        let script = process::root().join("interop/domain/people.py");
        let words = [&script, &configuration].map(|path| path.to_string_lossy().into_owned());
        let words: Vec<&str> = ["-B"].into_iter().chain(words.iter().map(String::as_str)).collect();
        let output = process::output(PYTHON, &words, LIMIT)?;
        ensure!(output.status.success(), "people.py: {}", text(&output));
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let pair = |line: &str| line.split_once(' ').map(|(name, sid)| (name.to_owned(), sid.to_owned()));
        let sids = lines.lines().filter_map(pair).collect();
        write_clients(&folder)?;
        let log = process::log_file(&folder.join("samba.log"))?;
        let configuration = configuration.to_string_lossy();
        let samba = ["-i", "-M", "single", "--debug-stdout", "-s", &*configuration];
        let alone = ["--pid", "--fork", "--kill-child", "--mount-proc", "samba"];
        let mut samba = Running::start("unshare", &[&alone[..], &samba].concat(), log, Stdio::null())?;
        samba.kill_at_end();
        for port in [88, 389, 445] {
            wait_for(&mut samba, port)?;
        }
        Ok(Self { folder, sids, _samba: samba })
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The SID of a user or group.
    pub fn sid(&self, name: &str) -> Result<&str> {
        self.sids.get(name).map(String::as_str).with_context(|| format!("the domain has no {name}"))
    }

    /// The number at the end of a SID.
    pub fn rid(&self, name: &str) -> Result<u32> {
        let (_, rid) = self.sid(name)?.rsplit_once('-').context("no SID")?;
        Ok(rid.parse()?)
    }

    /// The password of a user.
    pub fn password(user: &str) -> String {
        match user {
            "administrator" => ADMINISTRATOR.to_owned(),
            _ => format!("{}{}-pw1!", user[..1].to_uppercase(), &user[1..]),
        }
    }

    /// Gets a fresh ticket of a user.
    pub fn kinit(&self, user: &str) -> Result<()> {
        let file = self.at("password");
        fs::write(&file, Self::password(user) + "\n")?;
        let script = format!("exec kinit -c {} {user} < {}", self.cache(user), file.display());
        let output = self.run("sh", &["-c", &script])?;
        ensure!(output.status.success(), "kinit: {}", text(&output));
        Ok(())
    }

    /// Disables a user, who has a ticket for the server already.
    pub fn disable(&self, user: &str) -> Result<()> {
        let cache = format!("KRB5CCNAME={}", self.cache(user));
        let output = self.run(&cache, &["kvno", &format!("cifs/{HOST}")])?;
        ensure!(output.status.success(), "kvno: {}", text(&output));
        self.tool(&["user", "disable", user])
    }

    /// Changes something in the directory.
    pub fn tool(&self, words: &[&str]) -> Result<()> {
        let configuration = self.at("dc/etc/smb.conf").display().to_string();
        let output = process::output("samba-tool", &[words, &["-s", &configuration]].concat(), LIMIT)?;
        ensure!(output.status.success(), "samba-tool: {}", text(&output));
        Ok(())
    }

    /// The controller has no address while `work` is done.
    pub fn away(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let address = |what: &str| process::run("ip", &["addr", what, &format!("{ADDRESS}/32"), "dev", "lo"]);
        address("del")?;
        let done = work();
        address("add")?;
        done
    }

    /// The cache with a user's tickets.
    pub fn cache(&self, user: &str) -> String {
        format!("FILE:{}", self.at(&format!("cache-{user}")).display())
    }

    /// Runs a program with the Kerberos settings of the domain.
    pub fn run(&self, program: &str, words: &[&str]) -> Result<Output> {
        let configuration = format!("KRB5_CONFIG={}", self.at("krb5.conf").display());
        process::output("env", &[&[&*configuration, program], words].concat(), LIMIT)
    }
}

fn provision(folder: &Path) -> Result<()> {
    let target = format!("--targetdir={}", folder.join("dc").display());
    let mut words: Vec<String> = [
        "domain",
        "provision",
        "--use-rfc2307",
        "--realm=LAB.TEST",
        "--domain=LAB",
        "--host-name=dc1",
        "--host-ip=10.99.0.1",
        "--server-role=dc",
        "--dns-backend=SAMBA_INTERNAL",
        "--adminpass=Passw0rd!x",
        &target,
    ]
    .map(str::to_owned)
    .to_vec();
    words.extend(OPTIONS.iter().map(|option| format!("--option={option}")));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = process::output("samba-tool", &words, LIMIT)?;
    ensure!(output.status.success(), "samba-tool domain provision: {}", text(&output));
    Ok(())
}

/// The names of the two machines, for the programs of this mount namespace.
fn name_hosts(folder: &Path) -> Result<()> {
    let hosts = folder.join("hosts");
    let lines = format!("127.0.0.1 localhost\n{ADDRESS} dc1.lab.test dc1 lab.test\n{SERVER} {HOST} filer\n");
    fs::write(&hosts, lines)?;
    process::run("mount", &["--bind", &hosts.to_string_lossy(), "/etc/hosts"])
}

/// The settings of clients.
fn write_clients(folder: &Path) -> Result<()> {
    fs::write(
        folder.join("krb5.conf"),
        format!(
            "[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n rdns = false\n \
             dns_canonicalize_hostname = false\n[realms]\n {REALM} = {{\n  kdc = {ADDRESS}\n }}\n[domain_realm]\n .lab.test = {REALM}\n"
        ),
    )?;
    // The server asks the directory, and has no variables of its own for that.
    process::run("mount", &["--bind", &folder.join("krb5.conf").to_string_lossy(), "/etc/krb5.conf"])?;
    Ok(fs::write(folder.join("smb.conf"), "[global]\n workgroup = LAB\n")?)
}

fn wait_for(samba: &mut Running, port: u16) -> Result<()> {
    for _ in 0..600 {
        if std::net::TcpStream::connect((ADDRESS, port)).is_ok() {
            return Ok(());
        }
        samba.still_up()?;
        std::thread::sleep(Duration::from_millis(50));
    }
    anyhow::bail!("the domain controller does not listen on port {port}")
}

/// What a program has printed.
pub fn text(output: &Output) -> String {
    let Output { stdout, stderr, .. } = output;
    [stdout, stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}
