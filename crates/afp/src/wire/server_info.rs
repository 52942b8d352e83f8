//! A server's information before a session: the reply to DSIGetStatus and FPGetSrvrInfo, Apple
//! Filing Protocol Reference, "FPGetSrvrInfo".
//!
//! The header has offsets from the block's start, and the server's name; then come the parts at the
//! offsets. An offset of 0 stands for a missing part. In servers before AFP 2.2, the header ends
//! after the name, or after the signature's offset.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};

use wire::{Malformed, Reader, Writer};

use super::strings::pascal;

/// Bits of [`ServerInfo::flags`], Apple Filing Protocol Reference, "Server Flags Bitmap".
pub mod flags {
    /// FPCopyFile.
    pub const COPY_FILE: u16 = 0x0001;
    /// FPChangePassword.
    pub const CHANGE_PASSWORD: u16 = 0x0002;
    /// Clients must not store passwords.
    pub const DONT_SAVE_PASSWORD: u16 = 0x0004;
    /// FPGetSrvrMsg.
    pub const SERVER_MESSAGES: u16 = 0x0008;
    pub const SIGNATURE: u16 = 0x0010;
    pub const TCP: u16 = 0x0020;
    /// Attentions notify of changes.
    pub const NOTIFICATIONS: u16 = 0x0040;
    /// FPGetSessionToken and FPDisconnectOldSession.
    pub const RECONNECT: u16 = 0x0080;
    pub const DIRECTORY_SERVICES: u16 = 0x0100;
    pub const UTF8_NAME: u16 = 0x0200;
    pub const UUIDS: u16 = 0x0400;
    /// FPZzz with flags.
    pub const EXTENDED_SLEEP: u16 = 0x0800;
    /// Classic clients may use all functions, and not only a basic set.
    pub const SUPER_CLIENT: u16 = 0x8000;
}

/// An address of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerAddress<'a> {
    Ipv4(Ipv4Addr),
    Ipv4Port(SocketAddrV4),
    /// AppleTalk.
    Ddp {
        net: u16,
        node: u8,
        socket: u8,
    },
    Dns(&'a [u8]),
    /// An address for SSH. Servers send a DNS name here, against the reference, because clients
    /// need that.
    Ssh(&'a [u8]),
    Ipv6(Ipv6Addr),
    Ipv6Port(Ipv6Addr, u16),
    /// An address of an unknown kind, or with a wrong length.
    Other {
        kind: u8,
        data: &'a [u8],
    },
}

impl<'a> ServerAddress<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let length = usize::from(r.u8()?);
        let kind = r.u8()?;
        let data = r.take(length.checked_sub(2).ok_or(Malformed("an address without a type"))?)?;
        Ok(Self::of(kind, data).unwrap_or(Self::Other { kind, data }))
    }

    fn of(kind: u8, data: &'a [u8]) -> Option<Self> {
        let mut r = Reader::new(data);
        let address = match (kind, data.len()) {
            (1, 4) => Self::Ipv4(r.array::<4>().ok()?.into()),
            (2, 6) => Self::Ipv4Port(SocketAddrV4::new(r.array::<4>().ok()?.into(), r.u16_be().ok()?)),
            (3, 4) => Self::Ddp { net: r.u16_be().ok()?, node: r.u8().ok()?, socket: r.u8().ok()? },
            (4, _) => Self::Dns(data),
            (5, _) => Self::Ssh(data),
            (6, 16) => Self::Ipv6(r.array::<16>().ok()?.into()),
            (7, 18) => Self::Ipv6Port(r.array::<16>().ok()?.into(), r.u16_be().ok()?),
            _ => return None,
        };
        Some(address)
    }

    fn encode(&self, w: &mut Writer) {
        let mut head = |kind, length: usize| {
            w.u8((length + 2) as u8);
            w.u8(kind);
        };
        match self {
            Self::Ipv4(address) => {
                head(1, 4);
                w.put(&address.octets());
            }
            Self::Ipv4Port(address) => {
                head(2, 6);
                w.put(&address.ip().octets());
                w.u16_be(address.port());
            }
            Self::Ddp { net, node, socket } => {
                head(3, 4);
                w.u16_be(*net);
                w.u8(*node);
                w.u8(*socket);
            }
            Self::Dns(data) => named(w, 4, data),
            Self::Ssh(data) => named(w, 5, data),
            Self::Ipv6(address) => {
                head(6, 16);
                w.put(&address.octets());
            }
            Self::Ipv6Port(address, port) => {
                head(7, 18);
                w.put(&address.octets());
                w.u16_be(*port);
            }
            Self::Other { kind, data } => named(w, *kind, data),
        }
    }
}

/// An address of bytes, cut to the limit of its length field.
fn named(w: &mut Writer, kind: u8, data: &[u8]) {
    let data = &data[..data.len().min(253)];
    w.u8((data.len() + 2) as u8);
    w.u8(kind);
    w.put(data);
}

/// The block. Texts are in MacRoman by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerInfo<'a> {
    /// At most 16 bytes.
    pub machine_type: &'a [u8],
    pub versions: Vec<&'a [u8]>,
    /// User authentication methods.
    pub uams: Vec<&'a [u8]>,
    /// An icon of 32 by 32 bits and its mask, in the format of resources of type `ICN#`.
    pub icon: Option<&'a [u8; ICON_LEN]>,
    pub flags: u16,
    /// At most 31 bytes.
    pub name: &'a [u8],
    /// It is permanent, also if the server's name and addresses change.
    pub signature: Option<[u8; 16]>,
    pub addresses: Vec<ServerAddress<'a>>,
    /// The directories of the users: Open Directory names, or a Kerberos principal. UTF-8.
    pub directory_names: Vec<&'a [u8]>,
    pub utf8_name: Option<&'a [u8]>,
}

/// Bytes of an icon with its mask.
pub const ICON_LEN: usize = 256;

/// Offsets after the name: signature, addresses, directory names, UTF-8 name.
const LATER: usize = 4;

impl<'a> ServerInfo<'a> {
    /// Decodes a whole block.
    pub fn decode(block: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(block);
        let (machine_type, versions) = (r.u16_be()?, r.u16_be()?);
        let (uams, icon, flags) = (r.u16_be()?, r.u16_be()?, r.u16_be()?);
        let name = pascal::read(&mut r)?;
        if r.position() % 2 == 1 && r.remaining() > 0 {
            r.skip(1)?;
        }
        let early = [machine_type, versions, uams, icon];
        let data = early.into_iter().filter(|offset| *offset != 0).min().unwrap_or(u16::MAX);
        let mut later = [0; LATER];
        for offset in &mut later {
            if r.position() + 2 > usize::from(data).min(block.len()) {
                break;
            }
            *offset = r.u16_be()?;
        }
        let [signature, addresses, directory_names, utf8_name] = later;
        Ok(Self {
            machine_type: at(block, machine_type, pascal::read)?.unwrap_or_default(),
            versions: at(block, versions, strings)?.unwrap_or_default(),
            uams: at(block, uams, strings)?.unwrap_or_default(),
            icon: at(block, icon, |r| r.take(ICON_LEN))?.and_then(|icon| icon.try_into().ok()),
            flags,
            name,
            signature: at(block, signature, Reader::array)?,
            addresses: at(block, addresses, |r| list(r, ServerAddress::decode))?.unwrap_or_default(),
            directory_names: at(block, directory_names, strings)?.unwrap_or_default(),
            utf8_name: at(block, utf8_name, |r| {
                let length = usize::from(r.u16_be()?);
                r.take(length)
            })?,
        })
    }

    /// Encodes the block. Parts beyond the range of an offset are left out, texts are cut to the
    /// limit of their length field.
    pub fn encode(&self) -> Vec<u8> {
        let mut block = StatusBlock { w: Writer::new() };
        block.w.zeros(8);
        block.w.u16_be(self.flags);
        pascal::put(&mut block.w, self.name);
        if block.w.len() % 2 == 1 {
            block.w.u8(0);
        }
        let later = block.w.len();
        block.w.zeros(2 * LATER);
        block.part(0, |w| pascal::put(w, self.machine_type));
        block.part(2, |w| put_strings(w, &self.versions));
        block.part(4, |w| put_strings(w, &self.uams));
        if let Some(icon) = self.icon {
            block.part(6, |w| w.put(icon));
        }
        if let Some(signature) = self.signature {
            block.part(later, |w| w.put(&signature));
        }
        block.part(later + 2, |w| put_list(w, &self.addresses, |w, address| address.encode(w)));
        // Required since AFP 3.1, also if there are none.
        block.part(later + 4, |w| put_strings(w, &self.directory_names));
        if let Some(name) = self.utf8_name {
            let name = &name[..name.len().min(usize::from(u16::MAX))];
            block.part(later + 6, |w| {
                w.u16_be(name.len() as u16);
                w.put(name);
            });
        }
        block.w.into_bytes()
    }
}

/// A block being written.
struct StatusBlock {
    w: Writer,
}

impl StatusBlock {
    /// Appends a part, and its offset at `offset_at`.
    fn part(&mut self, offset_at: usize, write: impl FnOnce(&mut Writer)) {
        let Ok(offset) = u16::try_from(self.w.len()) else { return };
        self.w.patch_u16_be(offset_at, offset);
        write(&mut self.w);
    }
}

/// Decodes the part at `offset`.
fn at<'a, T>(
    block: &'a [u8],
    offset: u16,
    decode: impl FnOnce(&mut Reader<'a>) -> Result<T, Malformed>,
) -> Result<Option<T>, Malformed> {
    if offset == 0 {
        return Ok(None);
    }
    let mut r = Reader::new(block);
    r.skip(usize::from(offset))?;
    decode(&mut r).map(Some)
}

fn list<'a, T>(
    r: &mut Reader<'a>,
    decode: impl Fn(&mut Reader<'a>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let count = r.u8()?;
    (0..count).map(|_| decode(r)).collect()
}

fn strings<'a>(r: &mut Reader<'a>) -> Result<Vec<&'a [u8]>, Malformed> {
    list(r, pascal::read)
}

fn put_list<T>(w: &mut Writer, items: &[T], put: impl Fn(&mut Writer, &T)) {
    let items = &items[..items.len().min(255)];
    w.u8(items.len() as u8);
    items.iter().for_each(|item| put(w, item));
}

fn put_strings(w: &mut Writer, strings: &[&[u8]]) {
    put_list(w, strings, |w, string| pascal::put(w, string));
}

#[cfg(test)]
mod tests;
