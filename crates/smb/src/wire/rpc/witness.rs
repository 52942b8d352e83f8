//! The witness service, MS-SWN: clients of one server of a cluster ask another one to tell them when theirs is lost.

use std::net::{IpAddr, Ipv6Addr};

use wire::Malformed;

use super::WinError;
use super::ndr::{Decoder, Encoder, Handle};

/// The name of an interface group, in UTF-16 units with the NUL, 2.2.2.5.
const GROUP_NAME: usize = 260;

wire::number! {
    /// A version of the protocol, 2.2.
    pub Version: u32 {
        V1 = 0x0001_0001,
        V2 = 0x0002_0000,
    }
}

/// A call, 3.1.4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    GetInterfaceList,
    Register(Register),
    UnRegister { handle: Handle },
    AsyncNotify { handle: Handle },
    RegisterEx(Register),
    UnRegisterEx { handle: Handle },
}

/// The arguments of `WitnessrRegister` and `WitnessrRegisterEx`, 3.1.4.2 and 3.1.4.5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    pub version: Version,
    pub net_name: Option<String>,
    pub share_name: Option<String>,
    pub ip_address: Option<String>,
    pub client_name: Option<String>,
    /// [`IP_NOTIFICATION`].
    pub flags: u32,
    /// How long the server may leave a request for notices unanswered, in seconds.
    pub keep_alive_secs: u32,
}

/// In [`Register::flags`]: the client wants to hear of all addresses.
pub const IP_NOTIFICATION: u32 = 1;

impl Request {
    /// The call `operation` with its arguments; `None` where there is no such operation.
    pub fn decode(operation: u16, stub: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut d = Decoder::new(stub);
        Ok(Some(match operation {
            0 => Self::GetInterfaceList,
            1 => Self::Register(Register {
                version: Version(d.u32()?),
                net_name: d.unique_wide_string()?,
                share_name: None,
                ip_address: d.unique_wide_string()?,
                client_name: d.unique_wide_string()?,
                flags: 0,
                keep_alive_secs: 0,
            }),
            2 => Self::UnRegister { handle: d.handle()? },
            3 => Self::AsyncNotify { handle: d.handle()? },
            4 => Self::RegisterEx(Register {
                version: Version(d.u32()?),
                net_name: d.unique_wide_string()?,
                share_name: d.unique_wide_string()?,
                ip_address: d.unique_wide_string()?,
                client_name: d.unique_wide_string()?,
                flags: d.u32()?,
                keep_alive_secs: d.u32()?,
            }),
            5 => Self::UnRegisterEx { handle: d.handle()? },
            _ => return Ok(None),
        }))
    }
}

/// Whether a server or an address can be used, 2.2.2.3 and 2.2.2.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    Available = 1,
    Unavailable = 0xff,
}

/// An address of a server, `WITNESS_INTERFACE_INFO`, 2.2.2.5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessInterface {
    /// The server. A longer name is cut.
    pub group: String,
    pub state: State,
    pub address: IpAddr,
    /// Clients of the asked server can register here.
    pub is_witness: bool,
}

impl WitnessInterface {
    const IPV4: u32 = 1;
    const IPV6: u32 = 2;
    const WITNESS: u32 = 4;

    fn encode(&self, e: &mut Encoder) {
        let mut name: Vec<u16> = self.group.encode_utf16().take(GROUP_NAME - 1).collect();
        name.resize(GROUP_NAME, 0);
        e.align(4);
        name.iter().for_each(|unit| e.u16(*unit));
        e.u32(Version::V2.0);
        e.u16(self.state as u16);
        e.align(4);
        let family = put_address(e, self.address);
        e.u32(family | if self.is_witness { Self::WITNESS } else { 0 });
    }
}

/// Four bytes of IPv4 and 16 of IPv6, one of which are zeros. Returns which, as both flags have it.
fn put_address(e: &mut Encoder, address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(v4) => {
            e.put(&v4.octets());
            e.put(&Ipv6Addr::UNSPECIFIED.octets());
            WitnessInterface::IPV4
        }
        IpAddr::V6(v6) => {
            e.put(&[0; 4]);
            e.put(&v6.octets());
            WitnessInterface::IPV6
        }
    }
}

/// The answer to [`Request::GetInterfaceList`], 3.1.4.1.
pub fn interface_list_response(interfaces: &[WitnessInterface]) -> Vec<u8> {
    let mut e = Encoder::new();
    e.pointer();
    e.count(interfaces.len());
    e.pointer();
    e.count(interfaces.len());
    interfaces.iter().for_each(|interface| interface.encode(&mut e));
    e.u32(WinError::OK.0);
    e.into_stub()
}

/// The answer to a registration: its handle, or the reason of a refusal.
pub fn register_response(registered: Result<Handle, WinError>) -> Vec<u8> {
    let mut e = Encoder::new();
    e.handle(&registered.unwrap_or_default());
    e.u32(registered.err().unwrap_or(WinError::OK).0);
    e.into_stub()
}

/// The answer to [`Request::UnRegister`].
pub fn unregister_response(status: WinError) -> Vec<u8> {
    let mut e = Encoder::new();
    e.u32(status.0);
    e.into_stub()
}

/// The answer to [`Request::UnRegisterEx`], 3.1.4.6: the handle, which is zeros from now on if it was known.
pub fn unregister_ex_response(handle: &Handle, status: WinError) -> Vec<u8> {
    let mut e = Encoder::new();
    e.handle(handle);
    e.u32(status.0);
    e.into_stub()
}

/// What a client is told, `RESP_ASYNC_NOTIFY`, 2.2.2.4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// An address (as the client has named it) is in these states, one after another.
    ResourceChange { name: String, states: Vec<State> },
    /// The client is to use these addresses.
    ClientMove(Vec<IpAddr>),
    /// Addresses have come or gone.
    IpChange(Vec<(IpAddr, State)>),
}

/// Flags of `IPADDR_INFO`, 2.2.2.1.
const ONLINE: u32 = 0x08;
const OFFLINE: u32 = 0x10;
/// The size of `IPADDR_INFO`, and that of `IPADDR_INFO_LIST` before it.
const ADDRESS: usize = 24;
const LIST_HEAD: usize = 12;

impl Notice {
    fn kind(&self) -> u32 {
        match self {
            Self::ResourceChange { .. } => 1,
            Self::ClientMove(_) => 2,
            Self::IpChange(_) => 4,
        }
    }

    /// How many structures there are, and their bytes: these are not NDR.
    fn messages(&self) -> (usize, Vec<u8>) {
        let mut e = Encoder::new();
        let count = match self {
            Self::ResourceChange { name, states } => {
                states.iter().for_each(|state| change(&mut e, name, *state));
                states.len()
            }
            Self::ClientMove(to) => {
                let online: Vec<_> = to.iter().map(|address| (*address, State::Available)).collect();
                addresses(&mut e, &online);
                1
            }
            Self::IpChange(changed) => {
                addresses(&mut e, changed);
                1
            }
        };
        (count, e.into_stub())
    }
}

/// `RESOURCE_CHANGE`, 2.2.2.3. Nothing in it is aligned.
fn change(e: &mut Encoder, name: &str, state: State) {
    let name: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    let length = 8 + name.len() as u32;
    e.put(&length.to_le_bytes());
    e.put(&(state as u32).to_le_bytes());
    e.put(&name);
}

/// `IPADDR_INFO_LIST`, 2.2.2.2.
fn addresses(e: &mut Encoder, list: &[(IpAddr, State)]) {
    e.count(LIST_HEAD + ADDRESS * list.len());
    e.u32(0);
    e.count(list.len());
    for (address, state) in list {
        let is_online = if *state == State::Available { ONLINE } else { OFFLINE };
        e.u32(is_online | if address.is_ipv4() { WitnessInterface::IPV4 } else { WitnessInterface::IPV6 });
        put_address(e, *address);
    }
}

/// The answer to [`Request::AsyncNotify`], 3.1.4.4.
pub fn notify_response(notice: Result<&Notice, WinError>) -> Vec<u8> {
    let mut e = Encoder::new();
    match notice {
        Err(_) => e.null(),
        Ok(notice) => {
            let (count, bytes) = notice.messages();
            e.pointer();
            e.u32(notice.kind());
            e.count(bytes.len());
            e.count(count);
            e.pointer();
            e.count(bytes.len());
            e.put(&bytes);
        }
    }
    e.u32(notice.err().unwrap_or(WinError::OK).0);
    e.into_stub()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    fn text(e: &mut Encoder, text: &str) {
        e.string(text);
        e.flush();
    }

    #[test]
    fn a_registration_has_strings_behind_pointers() {
        let mut e = Encoder::new();
        e.u32(0x0001_0001);
        text(&mut e, "files");
        text(&mut e, "192.0.2.1");
        text(&mut e, "CLIENT");
        let stub = e.into_stub();
        let Ok(Some(Request::Register(found))) = Request::decode(1, &stub) else { panic!() };
        assert_eq!((found.version, found.net_name.as_deref()), (Version::V1, Some("files")));
        assert_eq!(found.ip_address.as_deref(), Some("192.0.2.1"));
        assert_eq!((found.client_name.as_deref(), found.share_name), (Some("CLIENT"), None));
        assert!((0..stub.len()).all(|end| Request::decode(1, &stub[..end]).is_err()));
        assert_eq!(Request::decode(6, &[]), Ok(None));
    }

    #[test]
    fn the_end_of_a_registration_takes_its_handle_back() {
        assert_eq!(Request::decode(5, &[7; 20]), Ok(Some(Request::UnRegisterEx { handle: [7; 20] })));
        let answer = unregister_ex_response(&[0; 20], WinError::OK);
        assert_eq!(answer, [0; 24]);
        assert_eq!(unregister_ex_response(&[7; 20], WinError::INVALID_PARAMETER)[20..], [87, 0, 0, 0]);
    }

    #[test]
    fn a_registration_of_version_2_has_a_share_flags_and_a_time() {
        let mut e = Encoder::new();
        e.u32(0x0002_0000);
        text(&mut e, "files");
        e.null();
        text(&mut e, "2001:db8::1");
        text(&mut e, "CLIENT");
        e.u32(1);
        e.u32(120);
        let Ok(Some(Request::RegisterEx(found))) = Request::decode(4, &e.into_stub()) else { panic!() };
        assert_eq!((found.version, found.share_name), (Version::V2, None));
        assert_eq!((found.flags, found.keep_alive_secs), (IP_NOTIFICATION, 120));
    }

    /// 2.2.2.5, and the example of 4.1: an element has 260 characters, then 32 bytes.
    #[test]
    fn an_interface_has_552_bytes() {
        let interface = |address: &str, is_witness| WitnessInterface {
            group: "NODE02".into(),
            state: State::Available,
            address: address.parse().unwrap(),
            is_witness,
        };
        let list = [interface("192.168.1.22", true), interface("2001:db8::1", false)];
        let stub = interface_list_response(&list);
        assert_eq!(stub.len(), 16 + 2 * 552 + 4);
        assert_eq!(stub[4..8], [2, 0, 0, 0]);
        assert_eq!(stub[16..22], *b"N\0O\0D\0");
        let first = hex("00000200 0100 0000 C0A80116 00000000000000000000000000000000 05000000");
        assert_eq!(stub[16 + 520..16 + 552], first);
        let second = hex("00000200 0100 0000 00000000 20010DB8000000000000000000000001 02000000");
        assert_eq!(stub[16 + 552 + 520..][..32], second);
    }

    /// As the library of Samba writes it: a length of 26 for nine characters with their NUL.
    #[test]
    fn a_change_of_an_address_has_its_name_and_its_state() {
        let change = Notice::ResourceChange { name: "10.1.2.3".into(), states: vec![State::Unavailable] };
        let expected = hex("1a000000 ff000000 310030002e0031002e0032002e0033000000");
        assert_eq!(change.messages(), (1, expected.clone()));
        let stub = notify_response(Ok(&change));
        assert_eq!(stub[4..16], [1, 0, 0, 0, 26, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!((&stub[20..24], &stub[24..50]), (&[26, 0, 0, 0][..], &expected[..]));
        assert_eq!(stub[50..], [0; 6]); // to a multiple of 4; no error
        let both =
            Notice::ResourceChange { name: "a".into(), states: vec![State::Unavailable, State::Available] };
        assert_eq!(both.messages(), (2, hex("0c000000 ff000000 61000000 0c000000 01000000 61000000")));
        assert_eq!(notify_response(Err(WinError::TIMEOUT)), [0, 0, 0, 0, 0xb4, 5, 0, 0]);
    }

    /// As the library of Samba writes a list of one: 36 bytes.
    #[test]
    fn addresses_to_move_to_are_listed() {
        let to = Notice::ClientMove(vec!["10.1.2.3".parse().unwrap()]);
        let expected = hex("24000000 00000000 01000000 09000000 0a010203 00000000000000000000000000000000");
        assert_eq!(to.messages(), (1, expected));
        let gone = Notice::IpChange(vec![("2001:db8::1".parse().unwrap(), State::Unavailable)]);
        let expected = hex("24000000 00000000 01000000 12000000 00000000 20010db8000000000000000000000001");
        assert_eq!((gone.kind(), gone.messages()), (4, (1, expected)));
    }
}
