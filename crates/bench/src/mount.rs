//! Folders of network file systems that this machine has mounted: the kernel's client has a cache, and
//! the interface to the server shows what it hid.

use std::fs;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
use std::path::{Path, PathBuf};

use crate::{Protocol, Target};

/// The most mounts that are looked at.
const MAX_MOUNTS: usize = 100_000;
/// A port that no packet is sent to: a datagram socket is connected to it, to learn the way.
const ANY_PORT: u16 = 9;
/// The option of a folder's URL that names the server.
const OPTION: &str = "server";

/// The bytes of the interface that leads to the server of a mounted folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counter {
    pub(crate) interface: String,
}

impl Counter {
    /// That of a local folder, if a server holds its files: the mount names it, or `?server=HOST` does.
    pub(crate) fn of(target: &Target) -> Option<Self> {
        if target.protocol != Protocol::File {
            return None;
        }
        let server = match target.options.get(OPTION) {
            Some(server) => server.clone(),
            None => {
                let folder = Path::new(&target.share).canonicalize().ok()?;
                server_of(&fs::read_to_string("/proc/self/mounts").ok()?, &folder)?
            }
        };
        let address = (server.as_str(), ANY_PORT).to_socket_addrs().ok()?.next()?.ip();
        Some(Self { interface: interface_to(address)? })
    }

    /// Bytes that the interface has received and sent. The loopback interface receives what it sends.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let received = self.number("statistics/rx_bytes")?;
        match self.interface.as_str() {
            "lo" => Some(received),
            _ => Some(received + self.number("statistics/tx_bytes")?),
        }
    }

    /// The interface's speed in bytes per second.
    pub(crate) fn speed(&self) -> Option<f64> {
        self.number("speed").filter(|speed| *speed > 0).map(|megabits| megabits as f64 * 1e6 / 8.0)
    }

    fn number(&self, what: &str) -> Option<u64> {
        let path = PathBuf::from("/sys/class/net").join(&self.interface).join(what);
        fs::read_to_string(path).ok()?.trim().parse().ok()
    }
}

/// The interface that packets to an address leave by.
fn interface_to(address: IpAddr) -> Option<String> {
    let any: IpAddr = match address {
        IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((address, ANY_PORT)).ok()?;
    let own = socket.local_addr().ok()?.ip();
    let interfaces = if_addrs::get_if_addrs().ok()?;
    interfaces.into_iter().find(|interface| interface.ip() == own).map(|interface| interface.name)
}

/// The server of the mount that holds a folder, by the table of mounts.
fn server_of(mounts: &str, folder: &Path) -> Option<String> {
    let of = |line: &str| -> Option<(usize, Option<String>)> {
        let mut words = line.split(' ');
        let (source, at, kind) = (words.next()?, words.next()?, words.next()?);
        let at = unescaped(at);
        folder.starts_with(&at).then(|| (at.len(), server(source, kind, words.next().unwrap_or_default())))
    };
    // The last of equal ones covers the others.
    mounts.lines().take(MAX_MOUNTS).filter_map(of).max_by_key(|(length, _)| *length)?.1
}

/// The server of a mount's source and options: `HOST:/EXPORT`, `//HOST/SHARE`, `USER@HOST:FOLDER`.
fn server(source: &str, kind: &str, options: &str) -> Option<String> {
    let is_network = ["nfs", "nfs4", "cifs", "smb3", "ceph"].contains(&kind);
    let is_bridge = ["fuse.sshfs", "fuse.afpfs", "fuse.fuse-nfs", "fuse.smbnetfs"].contains(&kind);
    if !is_network && !is_bridge {
        return None;
    }
    if let Some(address) = options.split(',').find_map(|option| option.strip_prefix("addr=")) {
        return Some(address.to_owned());
    }
    let host = match source.strip_prefix("//") {
        Some(rest) => rest.split('/').next()?,
        None => source.rsplit_once(":")?.0,
    };
    let host = host.rsplit('@').next()?.trim_matches(['[', ']']);
    (!host.is_empty()).then(|| host.to_owned())
}

/// A path of the table: blanks and backslashes are there as octal numbers.
fn unescaped(path: &str) -> String {
    path.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "/dev/sda1 / ext4 rw,relatime 0 0\n\
        server:/export /mnt/my\\040files nfs4 rw,vers=4.2,addr=192.0.2.7,clientaddr=192.0.2.1 0 0\n\
        //nas.example/share /mnt/smb cifs rw,vers=3.1.1,username=ada 0 0\n\
        ada@[2001:db8::1]:/home /mnt/ssh fuse.sshfs rw,user_id=0 0 0\n\
        tmpfs /mnt/smb/local tmpfs rw 0 0\n";

    #[test]
    fn the_server_of_a_mounted_folder_is_in_the_table_of_mounts() {
        let of = |folder: &str| server_of(MOUNTS, Path::new(folder));
        assert_eq!(of("/mnt/my files/a").as_deref(), Some("192.0.2.7"));
        assert_eq!(of("/mnt/smb/b").as_deref(), Some("nas.example"));
        assert_eq!(of("/mnt/ssh").as_deref(), Some("2001:db8::1"));
        assert_eq!(of("/mnt/smb/local/c"), None);
        assert_eq!(of("/srv"), None);
    }

    #[test]
    fn bytes_are_those_of_the_interface_to_the_server() {
        let target = Target::parse("file:///tmp?server=127.0.0.1").unwrap();
        let counter = Counter::of(&target).unwrap();
        assert_eq!(counter.interface, "lo");
        let before = counter.bytes().unwrap();
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.send_to(&[0; 1000], receiver.local_addr().unwrap()).unwrap();
        assert!(counter.bytes().unwrap() - before >= 1000);
        assert_eq!(Counter::of(&Target::parse("file:///proc").unwrap()), None);
        assert_eq!(Counter::of(&Target::parse("smb://127.0.0.1/s").unwrap()), None);
    }
}
