//! The PDUs of iSCSI: crates/iscsi/src/wire/pdu/.
//!
//! Whatever decodes must encode to the same value again.

use ::wire::{Reader, Writer};
use iscsi::wire::digest::{crc32c, crc32c_of_two};
use iscsi::wire::pdu::{
    Additional, AsyncMessage, DataIn, DataOut, Head, LogoutRequest, LogoutResponse, Lun, MAX_CDB, NopIn,
    NopOut, R2t, Reject, RequestFields, ScsiCommand, ScsiResponse, SequenceNumbers, Snack, TaskRequest,
    TaskResponse,
};

/// A request: what a PDU of the initiator's decodes to.
macro_rules! request {
    ($bytes:expr, $type:ty, |$value:ident, $w:ident| $encode:expr) => {
        if let Ok($value) = <$type>::decode(&mut Reader::new($bytes)) {
            let mut $w = Writer::new();
            $encode;
            assert_eq!($w.len(), 48);
            assert_eq!(<$type>::decode(&mut Reader::new($w.as_bytes())), Ok($value));
        }
    };
}

/// A response: with numbers, which are put into what was encoded.
macro_rules! response {
    ($bytes:expr, $type:ty, $with_status:expr, |$value:ident, $w:ident| $encode:expr) => {
        if let Ok($value) = <$type>::decode(&mut Reader::new($bytes))
            && let Ok(numbers) = SequenceNumbers::decode(&mut Reader::new(&$bytes[24..]))
        {
            let mut $w = Writer::new();
            $encode;
            let mut bytes = $w.into_bytes();
            assert_eq!(bytes.len(), 48);
            SequenceNumbers::stamp(numbers, &mut bytes, $with_status);
            assert_eq!(<$type>::decode(&mut Reader::new(&bytes)), Ok($value));
            assert_eq!(SequenceNumbers::decode(&mut Reader::new(&bytes[24..])), Ok(numbers));
        }
    };
}

/// The first byte says what is decoded.
pub fn messages(input: &[u8]) {
    let Some((selector, bytes)) = input.split_first() else { return };
    match selector {
        0 => head(bytes),
        1 => request!(bytes, NopOut, |pdu, w| pdu.encode(0, &mut w)),
        2 => request!(bytes, ScsiCommand, |pdu, w| pdu.encode(0, &mut w)),
        3 => request!(bytes, TaskRequest, |pdu, w| pdu.encode(0, &mut w)),
        4 => request!(bytes, DataOut, |pdu, w| pdu.encode(0, &mut w)),
        5 => request!(bytes, LogoutRequest, |pdu, w| pdu.encode(0, &mut w)),
        6 => request!(bytes, Snack, |pdu, w| pdu.encode(0, &mut w)),
        7 => response!(bytes, NopIn, true, |pdu, w| pdu.encode(0, &mut w)),
        8 => response!(bytes, ScsiResponse, true, |pdu, w| pdu.encode(0, &mut w)),
        9 => response!(bytes, TaskResponse, true, |pdu, w| pdu.encode(0, &mut w)),
        10 => response!(bytes, DataIn, true, |pdu, w| pdu.encode(0, &mut w)),
        11 => response!(bytes, LogoutResponse, true, |pdu, w| pdu.encode(0, &mut w)),
        12 => response!(bytes, R2t, true, |pdu, w| pdu.encode(0, &mut w)),
        13 => response!(bytes, AsyncMessage, true, |pdu, w| pdu.encode(0, &mut w)),
        14 => response!(bytes, Reject, true, |pdu, w| pdu.encode(0, &mut w)),
        15 => {
            if let Ok(all) = Additional::decode(&mut Reader::new(bytes)) {
                assert!(all.cdb.len() + 16 <= MAX_CDB);
            }
        }
        _ => {}
    }
}

/// Lengths, a unit's number, and digests of the rest.
fn head(bytes: &[u8]) {
    if let Ok(head) = Head::decode(&mut Reader::new(bytes)) {
        assert!(head.length(4, 4) >= 48 + head.additional + head.data);
    }
    let reader = || Reader::new(bytes);
    if let (Ok(fields), Ok(pdu)) = (RequestFields::decode(&mut reader()), ScsiCommand::decode(&mut reader()))
    {
        assert_eq!((fields.lun, fields.task_tag, fields.cmd_sn), (pdu.lun, pdu.task_tag, pdu.cmd_sn));
        assert_eq!(bytes[ScsiCommand::CDB], pdu.cdb);
    }
    if let Some(lun) = bytes.first_chunk()
        && let Some(number) = Lun(*lun).number()
    {
        assert_eq!(Lun::of(number).number(), Some(number));
    }
    let (first, second) = bytes.split_at(bytes.len() / 2);
    assert_eq!(crc32c(bytes), crc32c_of_two(first, second));
}
