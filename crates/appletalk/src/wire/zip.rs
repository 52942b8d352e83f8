//! Messages of the Zone Information Protocol, "Inside AppleTalk" chapter 8, "Packet formats".

use wire::{Malformed, Reader, Writer};

use crate::address::HardwareAddress;
use crate::name::MacName;
use crate::wire::atp::{Packet, Request, Response};
use crate::wire::{put_name, read_name};

mod function {
    pub(super) const QUERY: u8 = 1;
    pub(super) const REPLY: u8 = 2;
    pub(super) const GET_NET_INFO: u8 = 5;
    pub(super) const NET_INFO: u8 = 6;
    pub(super) const NOTIFY: u8 = 7;
    pub(super) const EXTENDED_REPLY: u8 = 8;
}

/// What a router says of the network of the asking node, figure 8-4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetInfo {
    /// [`NetInfo::ZONE_INVALID`] and the others.
    pub flags: u8,
    /// The network's first number.
    pub first: u16,
    /// Its last number.
    pub last: u16,
    /// The zone that was asked for.
    pub zone: MacName,
    /// The multicast address of the zone that is to be used. `None` if the link has none.
    pub multicast: Option<HardwareAddress>,
    /// The network's default zone, if the one asked for is not a zone of this network.
    pub default_zone: Option<MacName>,
}

impl NetInfo {
    /// The zone that was asked for is not one of this network.
    pub const ZONE_INVALID: u8 = 0x80;
    /// The link has no multicast addresses.
    pub const USE_BROADCAST: u8 = 0x40;
    /// The network has one zone.
    pub const ONLY_ONE_ZONE: u8 = 0x20;
}

/// A message whose datagram has the type of ZIP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ZipMessage {
    /// Which zones have these networks? Each by its first number.
    Query(Vec<u16>),
    /// Networks and their zones; the list of each network is whole.
    Reply(Vec<(u16, MacName)>),
    /// A part of one network's zones.
    ExtendedReply {
        /// How many zones the network has in all.
        count: u8,
        /// The network, in each, and a zone.
        zones: Vec<(u16, MacName)>,
    },
    /// Which network is this, and is this zone one of its zones?
    GetNetInfo(MacName),
    /// The answer.
    NetInfo(NetInfo),
    /// A zone of a network has got another name, figure 8-5.
    Notify {
        /// The name until now.
        old: MacName,
        /// The multicast address of the new one.
        multicast: Option<HardwareAddress>,
        /// The name from now on.
        new: MacName,
    },
}

impl ZipMessage {
    /// From a datagram's data.
    ///
    /// # Errors
    /// It is of no function that is known, or shorter than its fields say.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(payload);
        let function = r.u8()?;
        match function {
            function::QUERY => query(r),
            function::REPLY => {
                r.skip(1)?; // the count: the list ends with the datagram
                Ok(Self::Reply(pairs(r)?))
            }
            function::EXTENDED_REPLY => Ok(Self::ExtendedReply { count: r.u8()?, zones: pairs(r)? }),
            function::GET_NET_INFO => {
                r.skip(5)?;
                Ok(Self::GetNetInfo(read_name(&mut r)?))
            }
            function::NET_INFO => Ok(Self::NetInfo(net_info(r)?)),
            function::NOTIFY => {
                r.skip(5)?; // flags, and where a reply has the range
                let old = read_name(&mut r)?;
                let multicast = read_multicast(&mut r)?;
                Ok(Self::Notify { old, multicast, new: read_name(&mut r)? })
            }
            _ => Err(Malformed("ZIP function that is not known")),
        }
    }

    /// A datagram's data.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        match self {
            Self::Query(networks) => {
                w.put(&[function::QUERY, networks.len() as u8]);
                networks.iter().for_each(|network| w.u16_be(*network));
            }
            Self::Reply(zones) => put_pairs(&mut w, function::REPLY, networks(zones), zones),
            Self::ExtendedReply { count, zones } => {
                put_pairs(&mut w, function::EXTENDED_REPLY, *count, zones);
            }
            Self::GetNetInfo(zone) => {
                w.put(&[function::GET_NET_INFO, 0, 0, 0, 0, 0]);
                put_name(&mut w, zone);
            }
            Self::NetInfo(info) => {
                w.put(&[function::NET_INFO, info.flags]);
                w.u16_be(info.first);
                w.u16_be(info.last);
                put_name(&mut w, &info.zone);
                put_multicast(&mut w, info.multicast);
                if let Some(zone) = &info.default_zone {
                    put_name(&mut w, zone);
                }
            }
            Self::Notify { old, multicast, new } => {
                w.put(&[function::NOTIFY, 0, 0, 0, 0, 0]);
                put_name(&mut w, old);
                put_multicast(&mut w, *multicast);
                put_name(&mut w, new);
            }
        }
        w.into_bytes()
    }
}

fn query(mut r: Reader<'_>) -> Result<ZipMessage, Malformed> {
    let count = r.u8()?;
    let networks = (0..count).map(|_| r.u16_be()).collect::<Result<_, _>>()?;
    r.finish()?;
    Ok(ZipMessage::Query(networks))
}

/// Networks and zones up to the end.
fn pairs(mut r: Reader<'_>) -> Result<Vec<(u16, MacName)>, Malformed> {
    let mut zones = Vec::new();
    while r.remaining() > 0 {
        zones.push((r.u16_be()?, read_name(&mut r)?));
    }
    Ok(zones)
}

fn put_pairs(w: &mut Writer, function: u8, count: u8, zones: &[(u16, MacName)]) {
    w.put(&[function, count]);
    for (network, zone) in zones {
        w.u16_be(*network);
        put_name(w, zone);
    }
}

/// How many networks the list has: one after the other.
fn networks(zones: &[(u16, MacName)]) -> u8 {
    let changes = zones.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
    (changes + usize::from(!zones.is_empty())) as u8
}

fn net_info(mut r: Reader<'_>) -> Result<NetInfo, Malformed> {
    let (flags, first, last) = (r.u8()?, r.u16_be()?, r.u16_be()?);
    let zone = read_name(&mut r)?;
    let multicast = read_multicast(&mut r)?;
    let has_default = flags & NetInfo::ZONE_INVALID != 0;
    let default_zone = if has_default { Some(read_name(&mut r)?) } else { None };
    Ok(NetInfo { flags, first, last, zone, multicast, default_zone })
}

/// Its length comes first, and is 0 if there is none. One of another length belongs to another link than Ethernet.
fn read_multicast(r: &mut Reader<'_>) -> Result<Option<HardwareAddress>, Malformed> {
    let length = r.u8()?;
    Ok(r.take(length.into())?.try_into().ok().map(HardwareAddress))
}

fn put_multicast(w: &mut Writer, multicast: Option<HardwareAddress>) {
    match multicast {
        Some(HardwareAddress(bytes)) => {
            w.u8(bytes.len() as u8);
            w.put(&bytes);
        }
        None => w.u8(0),
    }
}

wire::number! {
    /// Which list of zones is asked for: in the user bytes of a transaction, "ZIP ATP Requests".
    pub ZoneListKind: u8 ["zone list {}"] {
        /// The zone of the network that the request came from.
        MY_ZONE = 7,
        /// All zones.
        ALL = 8,
        /// The zones of the network that the request came from.
        LOCAL = 9,
    }
}

/// GetMyZone, GetZoneList or GetLocalZones, figure 8-2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneListRequest {
    /// The number of the transaction, which the reply repeats.
    pub transaction: u16,
    /// Which list.
    pub kind: ZoneListKind,
    /// The first zone that is wanted; the list's first is 1.
    pub start: u16,
}

impl ZoneListRequest {
    /// From a datagram's data.
    ///
    /// # Errors
    /// It is no request of ATP for one packet.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let request = match Packet::decode(payload)? {
            Packet::Request(request) if request.bitmap & 1 != 0 => request,
            _ => return Err(Malformed("no request of ATP for a first packet")),
        };
        let [kind, _, high, low] = request.user;
        let start = u16::from(high) << 8 | u16::from(low);
        Ok(Self { transaction: request.tid, kind: ZoneListKind(kind), start })
    }

    /// A datagram's data: an at-least-once transaction.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let [high, low] = self.start.to_be_bytes();
        let user = [self.kind.0, 0, high, low];
        let request = Request { exactly_once: None, bitmap: 1, tid: self.transaction, user, data: &[] };
        Packet::Request(request).encode()
    }
}

/// The reply to a [`ZoneListRequest`], figure 8-2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneListReply {
    /// The request's.
    pub transaction: u16,
    /// Whether the list ends here.
    pub is_last: bool,
    /// Zones, as many as fit into one packet.
    pub zones: Vec<MacName>,
}

impl ZoneListReply {
    /// From a datagram's data.
    ///
    /// # Errors
    /// It is no response of ATP, or ends inside a name.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let response = match Packet::decode(payload)? {
            Packet::Response(response) if response.sequence == 0 => response,
            _ => return Err(Malformed("no first response of ATP")),
        };
        let mut r = Reader::new(response.data);
        let mut zones = Vec::new();
        while r.remaining() > 0 {
            zones.push(read_name(&mut r)?);
        }
        Ok(Self { transaction: response.tid, is_last: response.user[0] != 0, zones })
    }

    /// A datagram's data.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        self.zones.iter().for_each(|zone| put_name(&mut w, zone));
        let [high, low] = (self.zones.len() as u16).to_be_bytes();
        let user = [u8::from(self.is_last), 0, high, low];
        let (tid, data) = (self.transaction, w.as_bytes());
        let response = Response { ends: true, asks_status: false, sequence: 0, tid, user, data };
        Packet::Response(response).encode()
    }
}

#[cfg(test)]
mod tests;
