//! The endpoint mapper, C706 appendices I, L and O, and MS-RPCE 2.2.1.2: at which TCP port an interface is.

use wire::Malformed;
use wire::tower::{SyntaxId, Tower};

use super::ndr::{Decoder, Encoder, Handle};
use super::{Syntax, Uuid};

/// The size of the text in an entry, `ept_max_annotation_size`.
const ANNOTATION: usize = 64;

wire::number! {
    /// The result of a call, C706 appendix E.
    pub EpmStatus: u32 {
        OK = 0,
        /// `ept_s_not_registered`: there are no (more) entries.
        NOT_REGISTERED = 0x16c9_a0d6,
        /// `EPT_S_CANT_PERFORM_OP`.
        CANNOT_PERFORM = 0x0000_06d8,
    }
}

/// A call, C706 appendix O.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `ept_lookup`: all endpoints, or those of an interface.
    Lookup { interface: Option<Syntax>, versions: u32, handle: Handle, max: u32 },
    /// `ept_map`: the endpoints that fit a tower. `None`: the tower is of another transport than TCP.
    Map { wanted: Option<Syntax>, handle: Handle, max: u32 },
    /// `ept_lookup_handle_free`.
    Free { handle: Handle },
    /// `ept_insert`, `ept_delete`, `ept_inq_object`, `ept_mgmt_delete`: they are for this machine's own programs.
    Refused,
}

/// `inquiry_type` of a lookup: only those of an interface, with or without an object.
const BY_INTERFACE: [u32; 2] = [1, 3];

impl Request {
    /// The call `operation` with its arguments; `None` where there is no such operation.
    pub fn decode(operation: u16, stub: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut d = Decoder::new(stub);
        Ok(Some(match operation {
            2 => {
                let inquiry = d.u32()?;
                object(&mut d)?;
                let interface = if d.pointer()? { Some(interface_id(&mut d)?) } else { None };
                let interface = interface.filter(|_| BY_INTERFACE.contains(&inquiry));
                Self::Lookup { interface, versions: d.u32()?, handle: d.handle()?, max: d.u32()? }
            }
            3 => {
                object(&mut d)?;
                let wanted = if d.pointer()? { wanted(&mut d)? } else { None };
                Self::Map { wanted, handle: d.handle()?, max: d.u32()? }
            }
            4 => Self::Free { handle: d.handle()? },
            0 | 1 | 5 | 6 => Self::Refused,
            _ => return Ok(None),
        }))
    }
}

/// A UUID behind a pointer: no interface here distinguishes objects.
fn object(d: &mut Decoder<'_>) -> Result<(), Malformed> {
    if d.pointer()? {
        d.array::<16>()?;
    }
    Ok(())
}

/// `rpc_if_id_t`.
fn interface_id(d: &mut Decoder<'_>) -> Result<Syntax, Malformed> {
    Ok(Syntax { uuid: Uuid(d.array()?), major: d.u16()?, minor: d.u16()? })
}

/// The interface that a tower (`twr_t`) asks for, if it is to be called with NDR over TCP.
fn wanted(d: &mut Decoder<'_>) -> Result<Option<Syntax>, Malformed> {
    let tower = Tower::decode(d.tower()?)?;
    let is_ndr = |tower: &Tower| Uuid(tower.transfer.uuid) == Syntax::NDR.uuid;
    Ok(tower.filter(is_ndr).map(|tower| {
        let SyntaxId { uuid, major, minor } = tower.interface;
        Syntax { uuid: Uuid(uuid), major, minor }
    }))
}

impl From<Syntax> for SyntaxId {
    fn from(Syntax { uuid, major, minor }: Syntax) -> Self {
        Self { uuid: uuid.0, major, minor }
    }
}

/// An interface and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    pub interface: Syntax,
    /// Over TCP, at the address at which the mapper was asked.
    pub port: u16,
    /// What people read of it; less than 64 characters of ASCII.
    pub annotation: &'static str,
}

impl Endpoint {
    fn tower(&self) -> Vec<u8> {
        let [interface, transfer] = [self.interface, Syntax::NDR].map(SyntaxId::from);
        Tower { interface, transfer, port: self.port }.encode()
    }
}

/// `twr_p_t` behind its pointer.
fn put_tower(e: &mut Encoder, endpoint: &Endpoint) {
    let tower = endpoint.tower();
    e.align(4);
    e.count(tower.len());
    e.count(tower.len());
    e.put(&tower);
}

/// The head of an array that is conformant and varying: its size, offset and count.
fn array(e: &mut Encoder, max: u32, count: usize) {
    e.u32(max);
    e.u32(0);
    e.count(count);
}

/// The answer to [`Request::Lookup`].
pub fn lookup_response(handle: &Handle, found: &[Endpoint], max: u32, status: EpmStatus) -> Vec<u8> {
    let mut e = Encoder::new();
    e.handle(handle);
    e.count(found.len());
    array(&mut e, max, found.len());
    for endpoint in found {
        e.align(4);
        e.put(&[0; 16]); // of no object
        e.pointer();
        let text = &endpoint.annotation.as_bytes()[..endpoint.annotation.len().min(ANNOTATION - 1)];
        e.u32(0);
        e.count(text.len() + 1);
        e.put(text);
        e.put(&[0]);
    }
    found.iter().for_each(|endpoint| put_tower(&mut e, endpoint));
    e.u32(status.0);
    e.into_stub()
}

/// The answer to [`Request::Map`].
pub fn map_response(handle: &Handle, found: &[Endpoint], max: u32, status: EpmStatus) -> Vec<u8> {
    let mut e = Encoder::new();
    e.handle(handle);
    e.count(found.len());
    array(&mut e, max, found.len());
    found.iter().for_each(|_| e.pointer());
    found.iter().for_each(|endpoint| put_tower(&mut e, endpoint));
    e.u32(status.0);
    e.into_stub()
}

/// The answer to [`Request::Free`]: a handle of nothing.
pub fn free_response() -> Vec<u8> {
    let mut e = Encoder::new();
    e.handle(&[0; 20]);
    e.u32(EpmStatus::OK.0);
    e.into_stub()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITNESS: Endpoint = Endpoint { interface: Syntax::WITNESS, port: 49_153, annotation: "Witness" };

    fn map(tower: &[u8]) -> Vec<u8> {
        let mut e = Encoder::new();
        e.null();
        e.pointer();
        e.count(tower.len());
        e.count(tower.len());
        e.put(tower);
        e.handle(&[0; 20]);
        e.u32(4);
        e.into_stub()
    }

    #[test]
    fn a_request_to_map_names_an_interface_over_tcp() {
        let stub = map(&WITNESS.tower());
        let expected = Request::Map { wanted: Some(Syntax::WITNESS), handle: [0; 20], max: 4 };
        assert_eq!(Request::decode(3, &stub), Ok(Some(expected)));
        let mut pipe = WITNESS.tower();
        pipe[61] = 0x0f; // a named pipe instead of a port
        let other = Request::Map { wanted: None, handle: [0; 20], max: 4 };
        assert_eq!(Request::decode(3, &map(&pipe)), Ok(Some(other)));
        assert!((0..stub.len()).all(|end| Request::decode(3, &stub[..end]).is_err()));
        assert_eq!(Request::decode(9, &[]), Ok(None));
        assert_eq!(Request::decode(0, &[]), Ok(Some(Request::Refused)));
    }

    #[test]
    fn a_lookup_of_an_interface_and_one_of_all() {
        let mut e = Encoder::new();
        e.u32(0);
        e.null();
        e.null();
        e.u32(1);
        e.handle(&[7; 20]);
        e.u32(100);
        let all = Request::Lookup { interface: None, versions: 1, handle: [7; 20], max: 100 };
        assert_eq!(Request::decode(2, &e.into_stub()), Ok(Some(all)));
        let mut e = Encoder::new();
        e.u32(1);
        e.null();
        e.pointer();
        e.put(&Syntax::WITNESS.uuid.0);
        e.u16(1);
        e.u16(1);
        e.u32(1);
        e.handle(&[0; 20]);
        e.u32(2);
        let one = Request::Lookup { interface: Some(Syntax::WITNESS), versions: 1, handle: [0; 20], max: 2 };
        assert_eq!(Request::decode(2, &e.into_stub()), Ok(Some(one)));
    }

    #[test]
    fn an_answer_has_a_handle_counts_towers_and_a_status() {
        let answer = map_response(&[0; 20], &[WITNESS], 4, EpmStatus::OK);
        assert_eq!(answer[20..36], [1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(answer[40..48], [75, 0, 0, 0, 75, 0, 0, 0]);
        assert_eq!((answer.len(), &answer[124..]), (128, &[0; 4][..]));
        let none = map_response(&[0; 20], &[], 4, EpmStatus::NOT_REGISTERED);
        assert_eq!(none[20..], [0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xd6, 0xa0, 0xc9, 0x16]);
        let looked = lookup_response(&[0; 20], &[WITNESS], 9, EpmStatus::OK);
        assert_eq!(looked[56..72], *b"\0\0\0\0\x08\0\0\0Witness\0");
        assert_eq!(looked[72..80], [75, 0, 0, 0, 75, 0, 0, 0]);
    }
}
