//! The announced services, with their names and texts (RFC 6763).

use std::net::IpAddr;

use admin::settings::BoundPorts;
use admin::{Bonjour, Protocol, Settings, ShareSettings};

use crate::fronts::{FRONTS, FrontRow};
use crate::host::here;

/// The longest instance name in bytes, RFC 6763, 4.1.1.
const MOST_NAME: usize = 63;
/// Room for a number that distinguishes it from another machine's: ` (12)`.
const NUMBER_ROOM: usize = 5;
/// The longest string of a TXT record in bytes, RFC 1035, 3.3.14.
const MOST_TEXT: usize = 255;
/// The port of a service that clients do not connect to: discard.
const DISCARD: u16 = 9;

/// The announcement of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Announcement {
    /// The instance name of all services, unless another machine has it.
    pub(super) name: String,
    /// The configured addresses.
    pub(super) listen: Vec<IpAddr>,
    /// It is announced on this machine, too.
    pub(super) loopback: bool,
    pub(super) services: Vec<Service>,
}

/// One service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Service {
    /// Its type: `_smb._tcp`.
    pub(crate) kind: &'static str,
    /// The instance's own name if there are several services of its type. It comes before the
    /// server's name.
    pub(crate) which: Option<String>,
    pub(crate) port: u16,
    /// Its TXT record.
    pub(crate) text: Vec<(String, String)>,
}

impl Service {
    pub(crate) fn new(kind: &'static str, port: u16) -> Self {
        Self { kind, which: None, port, text: Vec::new() }
    }

    pub(crate) fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.text.push((key.into(), value.into()));
        self
    }

    /// Whether every string of its text is short enough.
    pub(crate) fn fits(&self) -> bool {
        self.text.iter().all(|(key, value)| key.len() + "=".len() + value.len() <= MOST_TEXT)
    }

    /// Its instance name on a server with this name.
    pub(super) fn instance(&self, server: &str) -> String {
        let Some(which) = &self.which else { return server.to_owned() };
        let on = format!(" on {server}");
        format!("{}{on}", cut(which, MOST_NAME.saturating_sub(on.len())))
    }
}

impl Announcement {
    /// The announcement for these settings and the bound ports; `None` if it is empty. `id` gives
    /// the id by which Macs recognize a share; a share without an id is not announced to Time
    /// Machine.
    pub(super) fn of(
        settings: &Settings,
        ports: BoundPorts,
        id: impl Fn(&ShareSettings) -> Option<[u8; 16]>,
    ) -> Option<Self> {
        let server = &settings.server;
        let loopback = server.bonjour == Bonjour::On;
        let reachable = loopback || server.listen.iter().any(|ip| !ip.is_loopback());
        if server.bonjour == Bonjour::Off || !reachable {
            return None;
        }
        let of_fronts = FRONTS.iter().rev().filter_map(|row| {
            let port = ports.of(row.protocol)?;
            Some((row.services)(settings, port))
        });
        let mut services: Vec<Service> = of_fronts.flatten().collect();
        services.extend(time_machine(settings, ports, id));
        if services.is_empty() {
            return None;
        }
        services.push(Service::new("_device-info._tcp", 0).with("model", here::MODEL));
        let name = cut(&here::server_name(server), MOST_NAME - NUMBER_ROOM).to_owned();
        Some(Self { name, listen: server.listen.clone(), loopback, services })
    }
}

/// The shares that a protocol shows.
pub(crate) fn shown(settings: &Settings, protocol: Protocol) -> impl Iterator<Item = &ShareSettings> {
    settings.shares.iter().filter(move |share| share.protocols.contains(&protocol))
}

/// One service for all shares: clients of the protocol ask for the shares themselves.
pub(crate) fn one(kind: &'static str, protocol: Protocol, settings: &Settings, port: u16) -> Vec<Service> {
    let is_shown = shown(settings, protocol).next().is_some();
    is_shown.then(|| Service::new(kind, port)).into_iter().collect()
}

/// The shares that Macs may back up to, with their protocols.
fn time_machine(
    settings: &Settings,
    ports: BoundPorts,
    id: impl Fn(&ShareSettings) -> Option<[u8; 16]>,
) -> Option<Service> {
    const TIME_MACHINE: u8 = 0x80;
    let mut service = Service::new("_adisk._tcp", DISCARD).with("sys", "waMA=0,adVF=0x100");
    for share in settings.shares.iter().filter(|share| share.time_machine) {
        let over =
            |row: &&FrontRow| ports.of(row.protocol).is_some() && share.protocols.contains(&row.protocol);
        let protocols = FRONTS.iter().filter(over).fold(0, |flags, row| flags | row.backup_flag);
        let Some(id) = id(share).filter(|_| protocols != 0) else { continue };
        let flags = TIME_MACHINE | protocols;
        let value = format!("adVN={},adVF=0x{flags:02x},adVU={}", share.flat_name(), uuid(&id));
        let with = service.clone().with(format!("dk{}", service.text.len() - 1), value);
        if with.fits() {
            service = with;
        } else {
            tracing::warn!(share = share.name, "its name is too long to be announced to Time Machine");
        }
    }
    (service.text.len() > 1).then_some(service)
}

/// The format of Macs' ids: `01234567-89AB-CDEF-0123-456789ABCDEF`.
fn uuid(id: &[u8; 16]) -> String {
    let digits = wire::hex::encode(id).to_uppercase();
    [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]).join("-")
}

/// As many whole characters as fit.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports() -> BoundPorts {
        BoundPorts::by(|protocol| Protocol::OF_FILES.contains(&protocol).then(|| protocol.standard_port()))
    }

    /// The id in Netatalk's manual page of `afp_voluuid.conf`.
    const ID: [u8; 16] = *b"\x15\x73\x97\x4f\x0a\xbd\x69\xcc\xc4\x0a\x85\x19\xb6\x81\xa0\xe1";
    const UUID: &str = "1573974F-0ABD-69CC-C40A-8519B681A0E1";

    const NFS_FOR_ALL: &str = "nfs-clients = \"all\"";

    fn settings(text: &str, shares: &[(&str, &str)]) -> Settings {
        let folder = tempfile::tempdir().unwrap();
        let mut text = format!("[server]\nbonjour-name = \"Studio\"\n{text}\n");
        for (index, (name, more)) in shares.iter().enumerate() {
            std::fs::create_dir(folder.path().join(index.to_string())).unwrap();
            text.push_str(&format!("[[share]]\nname = \"{name}\"\npath = \"{index}\"\n{more}\n"));
        }
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        Settings::load(&admin::Arguments::new(false, folder.path().into())).unwrap()
    }

    fn announced(settings: &Settings, ports: BoundPorts) -> Vec<String> {
        let Some(announcement) = Announcement::of(settings, ports, |_| Some(ID)) else { return Vec::new() };
        let line = |service: &Service| {
            let text: Vec<String> =
                service.text.iter().map(|(key, value)| format!(" {key}={value}")).collect();
            let instance = service.instance(&announcement.name);
            format!("{instance} {} {}{}", service.kind, service.port, text.concat())
        };
        announcement.services.iter().map(line).collect()
    }

    #[test]
    fn each_protocol_that_shows_a_share_is_announced_under_one_name() {
        let both = announced(&settings(NFS_FOR_ALL, &[("A", "")]), ports());
        let device = "Studio _device-info._tcp 0 model=MacSamba";
        let expected =
            ["Studio _afpovertcp._tcp 548", "Studio _smb._tcp 445", "Studio _nfs._tcp 2049 path=/A", device];
        assert_eq!(both, expected);
        let smb_only = settings("", &[("A", "nfs = false\nafp = false")]);
        assert_eq!(announced(&smb_only, ports()), ["Studio _smb._tcp 445", device]);
        assert!(announced(&smb_only, ports().with(Protocol::Smb, None)).is_empty());
    }

    #[test]
    fn several_nfs_shares_are_told_apart_by_their_names() {
        let long = "ü".repeat(80);
        let only_nfs = ports().with(Protocol::Smb, None).with(Protocol::Afp, None);
        let lines = announced(&settings(NFS_FOR_ALL, &[("A", ""), (&long, "")]), only_nfs);
        assert_eq!(lines[0], "A on Studio _nfs._tcp 2049 path=/A");
        let instance = format!("{} on Studio", "ü".repeat(26)); // 52 + 10 bytes: one more would be 64
        assert_eq!(lines[1], format!("{instance} _nfs._tcp 2049 path=/{long}"));
    }

    #[test]
    fn nfs_shares_that_no_host_may_mount_are_not_announced() {
        let only_nfs = ports().with(Protocol::Smb, None).with(Protocol::Afp, None);
        let guests = ("Open", "guests = true");
        let lines = |server: &str| announced(&settings(server, &[("Closed", ""), guests]), only_nfs);
        assert_eq!(lines("")[0], "Studio _nfs._tcp 2049 path=/Open");
        assert!(announced(&settings("", &[("Closed", "")]), only_nfs).is_empty());
        assert_eq!(lines(NFS_FOR_ALL)[0], "Closed on Studio _nfs._tcp 2049 path=/Closed");
    }

    #[test]
    fn time_machine_shares_say_over_which_protocols_and_who_they_are() {
        let machine = |off: &str| {
            let share = format!("time-machine = true\n{off}");
            let lines = announced(&settings("", &[("Backups", &share), ("Other", "")]), ports());
            lines.into_iter().find(|line| line.contains("_adisk"))
        };
        let expected = |flags: &str| {
            Some(format!(
                "Studio _adisk._tcp 9 sys=waMA=0,adVF=0x100 dk0=adVN=Backups,adVF={flags},adVU={UUID}"
            ))
        };
        assert_eq!(machine("smb = false"), expected("0x81"));
        assert_eq!(machine("afp = false\nnfs = false"), expected("0x82"));
        assert_eq!(machine(""), expected("0x83"));
        assert_eq!(machine("afp = false\nsmb = false"), None);
    }

    #[test]
    fn a_time_machine_share_whose_name_does_not_fit_is_left_out_and_the_next_takes_its_number() {
        let more = "time-machine = true";
        let long = "€".repeat(80);
        let lines = announced(&settings("", &[(&long, more), ("B", more)]), ports());
        let disks = lines.iter().find(|line| line.contains("_adisk")).unwrap();
        assert!(disks.contains("dk0=adVN=B,") && !disks.contains("dk1"), "{disks}");
    }

    #[test]
    fn a_server_for_this_machine_only_announces_nothing_unless_told() {
        let here = "listen = [\"127.0.0.1\", \"::1\"]";
        let with = |more: &str| Announcement::of(&settings(more, &[("A", "")]), ports(), |_| Some(ID));
        assert!(with(here).is_none());
        assert!(with(&format!("{here}\nbonjour = \"on\"")).unwrap().loopback);
        assert!(!with("").unwrap().loopback);
        assert!(with("bonjour = \"off\"").is_none());
    }

    #[test]
    fn a_name_leaves_room_for_the_number_that_another_machine_of_that_name_causes() {
        let name = "x".repeat(100);
        let settings = settings("", &[("A", "")]);
        let settings = Settings {
            server: admin::ServerSettings { bonjour_name: Some(name), ..settings.server.clone() },
            ..settings
        };
        assert_eq!(Announcement::of(&settings, ports(), |_| Some(ID)).unwrap().name.len(), 58);
    }
}
