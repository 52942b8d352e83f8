//! What avahi on another machine receives from the server by multicast DNS. The other machine is a
//! network namespace.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::interop::cable::{ADDRESS, CLIENT, CableNetwork};
use crate::interop::outcome::Outcomes;
use crate::process::{self, Running};
use crate::{isolate, server};

const NEEDS: &[&str] = &["ip", "dbus-daemon", "avahi-daemon", "avahi-browse", "avahi-publish"];
/// The names of the tests.
const TOGETHER: &str = "bonjour: every protocol, Time Machine and the model are announced under one name";
const RELOAD: &str = "bonjour: another name is taken over by a reload";
const CONFLICT: &str = "bonjour: where another machine has the name, all services get a number";
const GOODBYE: &str = "bonjour: a server that stops is gone from the list";
const BESIDE: &str = "bonjour: beside an avahi on its own host";
const ALL: [&str; 5] = [TOGETHER, RELOAD, CONFLICT, GOODBYE, BESIDE];

/// The id that the manual page of `afp_voluuid.conf` has as its example.
const ID: &str = "1573974F-0ABD-69CC-C40A-8519B681A0E1";
/// How long an announcement may take.
const HEARD_WITHIN: Duration = Duration::from_secs(20);
const LIMIT: Duration = Duration::from_secs(20);

pub fn run(outcomes: &mut Outcomes) -> Result<()> {
    if !isolate::is_isolated() {
        ALL.iter().for_each(|name| outcomes.skip(name, "needs a network of its own, which root has"));
        return Ok(());
    }
    let Some(missing) = NEEDS.iter().find(|program| process::find(program).is_none()) else {
        return in_a_network(outcomes);
    };
    ALL.iter().for_each(|name| outcomes.skip(name, &format!("{missing} is not installed")));
    Ok(())
}

fn in_a_network(outcomes: &mut Outcomes) -> Result<()> {
    let network = CableNetwork::new()?;
    let place = BonjourPlace::new()?;
    let client = Avahi::start(&place, Some(CLIENT))?;
    let mut server = None;
    outcomes.run(TOGETHER, &[], || {
        server = Some(place.server()?);
        heard(&client, "Stüdio 1.5")
    });
    outcomes.run(RELOAD, &[], || {
        place.write_settings("Atelier")?;
        let pid = server.as_ref().and_then(|running: &Running| Pid::from_raw(running.pid().cast_signed()));
        kill_process(pid.context("no server")?, Signal::HUP)?;
        client.until(|found| found.iter().all(|one| one.name == "Atelier") && !found.is_empty())
    });
    outcomes.run(GOODBYE, &[], || {
        drop(server.take());
        client.until(|found| found.is_empty())
    });
    outcomes.run(CONFLICT, &[], || {
        let publish = ["netns", "exec", CLIENT, "avahi-publish", "-s", "Atelier", "_smb._tcp", "445"];
        let _other = Running::start("ip", &publish, Stdio::null(), Stdio::null())?;
        client.until(|found| found.len() == 1)?;
        let _server = place.server()?;
        client.until(|found| found.iter().filter(|one| one.name == "Atelier (2)").count() == 5)?;
        client.until(|found| found.iter().filter(|one| one.name == "Atelier").count() == 1)
    });
    drop(client);
    outcomes.run(BESIDE, &[], || {
        place.write_settings("Stüdio 1.5")?;
        let beside = Avahi::start(&place, None)?;
        let _server = place.server()?;
        heard(&beside, "Stüdio 1.5")
    });
    drop(network);
    Ok(())
}

/// Checks that all five services are announced under this name, at the server's address, with the
/// TXT records that Macs expect (the Time Machine over SMB specification has those of
/// `_adisk._tcp`).
fn heard(client: &Avahi, name: &str) -> Result<()> {
    let disk = format!("dk0=adVN=Backups,adVF=0x83,adVU={ID}");
    let expected = [
        ("_adisk._tcp", 9, vec![disk.as_str(), "sys=waMA=0,adVF=0x100"]),
        ("_afpovertcp._tcp", 10_548, vec![]),
        ("_device-info._tcp", 0, vec!["model=MacSamba"]),
        ("_nfs._tcp", 12_049, vec!["path=/Backups"]),
        ("_smb._tcp", 10_445, vec![]),
    ];
    let expected = expected.map(|(kind, port, text)| ResolvedService {
        name: name.into(),
        kind: kind.into(),
        address: ADDRESS.into(),
        port,
        text: text.into_iter().map(str::to_owned).collect(),
    });
    client.until(|found| found == expected)
}

/// A service that avahi has resolved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ResolvedService {
    name: String,
    kind: String,
    address: String,
    port: u16,
    /// The strings of its TXT record, sorted: avahi's order varies.
    text: Vec<String>,
}

impl ResolvedService {
    /// A line of `avahi-browse --parsable --resolve`: `=;interface;protocol;name;type;domain;host;address;port;"text" "text"`.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.strip_prefix("=;")?.splitn(9, ';');
        let (_interface, protocol) = (fields.next()?, fields.next()?);
        let (name, kind, _domain, _host) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let (address, port, text) = (fields.next()?, fields.next()?, fields.next()?);
        let strings = text.split('"').skip(1).step_by(2).map(str::to_owned);
        let mut text: Vec<String> = strings.collect();
        text.sort();
        let found = Self {
            name: unescaped(name),
            kind: kind.into(),
            address: address.into(),
            port: port.parse().ok()?,
            text,
        };
        (protocol == "IPv4").then_some(found)
    }
}

/// avahi writes a byte that is no letter or digit as `\` and three decimal digits, and a dot as
/// `\.`.
fn unescaped(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, more)) = rest.split_first() {
        let number = more.get(..3).filter(|_| *first == b'\\');
        let number = number.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        (rest, bytes) = match (number, *first, more) {
            (Some(byte), ..) => (&more[3..], [bytes, vec![byte]].concat()),
            (None, b'\\', [byte, more @ ..]) => (more, [bytes, vec![*byte]].concat()),
            (None, byte, _) => (more, [bytes, vec![byte]].concat()),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The server's folders.
struct BonjourPlace(PathBuf);

impl BonjourPlace {
    fn new() -> Result<Self> {
        let folder = process::fresh_folder("interop-bonjour")?;
        std::fs::create_dir(folder.join("share"))?;
        let place = Self(folder);
        place.write_settings("Stüdio 1.5")?;
        Ok(place)
    }

    fn settings(&self) -> PathBuf {
        self.0.join("fourfold.toml")
    }

    fn write_settings(&self, name: &str) -> Result<()> {
        let share = format!(
            "[[share]]\nname = \"Backups\"\npath = \"share\"\ntime-machine = true\nvolume-id = \"{ID}\"\n"
        );
        let text = format!("[server]\nbonjour-name = \"{name}\"\n{share}");
        Ok(std::fs::write(self.settings(), text)?)
    }

    /// It listens on the machine's own address, which is not announced, and on the cable's, which
    /// is.
    fn server(&self) -> Result<Running> {
        let ports =
            ["--listen", ADDRESS, "--nfs-port", "12049", "--smb-port", "10445", "--afp-port", "10548"];
        server::ours_with_settings(&self.settings(), &self.0.join("state"), &ports)
    }
}

/// An avahi, with the message bus for requests to it.
struct Avahi {
    namespace: Option<&'static str>,
    _daemon: Running,
    _bus: Running,
}

impl Avahi {
    /// Starts it in that network namespace, or in ours.
    fn start(place: &BonjourPlace, namespace: Option<&'static str>) -> Result<Self> {
        std::fs::create_dir_all("/run/dbus")?;
        let bus = ["--system", "--nofork", "--nopidfile"];
        let mut bus =
            Running::start("dbus-daemon", &bus, Stdio::null(), process::log_file(&place.0.join("bus.log"))?)?;
        let socket = Path::new("/run/dbus/system_bus_socket");
        wait(
            || Ok(std::os::unix::net::UnixStream::connect(socket).is_ok()),
            "the message bus does not start",
        )?;
        bus.still_up()?;
        let words = ["avahi-daemon", "--no-drop-root", "--no-chroot", "--no-rlimits"];
        let log = process::log_file(&place.0.join("avahi.log"))?;
        let words = inside(namespace, &words);
        let daemon = process::find(words[0]).with_context(|| format!("no {}", words[0]))?;
        let daemon = Running::start(daemon, &words[1..], Stdio::null(), log)?;
        let avahi = Self { namespace, _daemon: daemon, _bus: bus };
        wait(|| Ok(avahi.browse().is_ok()), "avahi does not start")?;
        Ok(avahi)
    }

    /// All services that it can resolve now, over IPv4.
    fn browse(&self) -> Result<Vec<ResolvedService>> {
        let words = ["avahi-browse", "--all", "--resolve", "--terminate", "--parsable", "--no-db-lookup"];
        let words = inside(self.namespace, &words);
        let text = process::stdout_of(words[0], &words[1..], LIMIT)?;
        let mut found: Vec<ResolvedService> = text.lines().filter_map(ResolvedService::parse).collect();
        found.retain(|one| one.kind != "_workstation._tcp" && one.address != "127.0.0.1");
        found.sort_by(|a, b| a.kind.cmp(&b.kind).then(a.cmp(b)));
        Ok(found)
    }

    fn until(&self, is_so: impl Fn(&[ResolvedService]) -> bool) -> Result<()> {
        let mut last = Vec::new();
        let heard = wait(
            || {
                last = self.browse()?;
                Ok(is_so(&last))
            },
            "it was not heard",
        );
        heard.with_context(|| format!("the last that avahi knew is {last:?}"))
    }
}

fn inside<'a>(namespace: Option<&'a str>, words: &[&'a str]) -> Vec<&'a str> {
    let enter = namespace.map(|namespace| ["ip", "netns", "exec", namespace]);
    enter.iter().flatten().chain(words).copied().collect()
}

fn wait(mut is_so: impl FnMut() -> Result<bool>, else_say: &str) -> Result<()> {
    let deadline = Instant::now() + HEARD_WITHIN;
    while !is_so()? {
        ensure!(Instant::now() < deadline, "{else_say} within {} s", HEARD_WITHIN.as_secs());
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_avahi_browse_is_taken_apart() {
        let line = r#"=;v1;IPv4;St\195\188dio\0321\.5;_nfs._tcp;local;vm.local;192.0.2.1;2049;"b=2" "a=1""#;
        let expected = ResolvedService {
            name: "Stüdio 1.5".into(),
            kind: "_nfs._tcp".into(),
            address: ADDRESS.into(),
            port: 2049,
            text: vec!["a=1".into(), "b=2".into()],
        };
        assert_eq!(ResolvedService::parse(line), Some(expected));
        assert_eq!(ResolvedService::parse("+;v1;IPv4;A;_nfs._tcp;local"), None);
    }
}
