//! DCE/RPC itself.

use super::*;

const SHARE_ENUM: u16 = 15;

/// The arguments of NetrShareEnum in level 0 of all shares.
fn share_enum() -> Vec<u8> {
    [&[0; 12][..], &[1, 0, 0, 0], &[0; 8], &[0xff; 4], &[0; 4]].concat()
}

fn exchange(pipe: &mut Pipe, message: &[u8]) -> Vec<u8> {
    pipe.transceive(message, usize::MAX).unwrap().bytes
}

/// C706 12.6.4.4: fragments' sizes, the group, `\PIPE\srvsvc` and its NUL, then one acceptance with NDR.
#[test]
fn a_bind_is_acknowledged_with_the_name_of_the_pipe() {
    let ack = exchange(&mut unbound(CallerRank::User), &hex(BIND_SRVSVC));
    let mut expected = hex("05000c03100000004400000002000000b810b81001000000");
    expected.extend(b"\x0d\x00\\PIPE\\srvsvc\0");
    expected.extend(hex("00")); // to a multiple of 4
    expected.extend(hex("0100000000000000045d888aeb1cc9119fe808002b10486002000000"));
    expected[8] = expected.len() as u8;
    assert_eq!(ack.escape_ascii().to_string(), expected.escape_ascii().to_string());
}

/// The request of Windows, MS-RPCE 2.2.2.14: NDR, NDR64, its features; and an unknown interface.
#[test]
fn each_presentation_context_gets_its_own_verdict() {
    let bind = "05000b0310000000cc00000002000000d016d016000000000400000000000100c84f324b7016d30112785a47bf6ee18803000000\
        045d888aeb1cc9119fe808002b1048600200000001000100c84f324b7016d30112785a47bf6ee1880300000033057171babe37498319b5\
        dbef9ccc360100000002000100c84f324b7016d30112785a47bf6ee188030000002c1cb76c1298404503000000000000000100000003000\
        100785734123412cdabef000123456789ad01000000045d888aeb1cc9119fe808002b10486002000000";
    let ack = exchange(&mut unbound(CallerRank::User), &hex(bind));
    let results = ack.last_chunk::<96>().unwrap();
    let verdicts: Vec<_> = results.chunks(24).map(|result| (result[0], result[2], result[4])).collect();
    // Accepted; rejected for its transfer syntax; features that both sides have; rejected for its
    // interface.
    assert_eq!(verdicts, [(0, 0, 0x04), (2, 2, 0), (3, 2, 0), (2, 1, 0)]);
    assert_eq!(ack[ack.len() - 100], 4);
}

#[test]
fn fragments_are_as_large_as_both_sides_take_and_never_smaller_than_everybody_must() {
    for (asked, given) in [(0u16, 1432u16), (2000, 2000), (u16::MAX, 4280)] {
        let mut bind = hex(BIND_SRVSVC);
        bind[16..18].copy_from_slice(&asked.to_le_bytes());
        bind[18..20].copy_from_slice(&asked.to_le_bytes());
        let ack = exchange(&mut unbound(CallerRank::User), &bind);
        assert_eq!(ack[16..20], [given.to_le_bytes(), given.to_le_bytes()].concat());
    }
}

#[test]
fn an_altered_context_adds_an_interface() {
    let mut pipe = bound(BIND_SRVSVC, CallerRank::User);
    let mut alter = hex(BIND_WKSSVC);
    alter[2] = kind::ALTER_CONTEXT;
    alter[28] = 1; // the context's number
    let answer = exchange(&mut pipe, &alter);
    assert_eq!(answer[2], kind::ALTER_CONTEXT_RESP);
    assert_eq!(answer[24..32], [0, 0, 0, 0, 1, 0, 0, 0]); // no address, one result
    let info = fragment(3, flags::WHOLE, 1, 0, &[0, 0, 0, 0, 100, 0, 0, 0]);
    assert_eq!(exchange(&mut pipe, &info)[2], kind::RESPONSE);
    assert!(call(&mut pipe, SHARE_ENUM, &share_enum()).is_ok());
}

#[test]
fn a_context_that_was_not_bound_is_unknown() {
    let mut pipe = bound(BIND_SRVSVC, CallerRank::User);
    let answer = exchange(&mut pipe, &fragment(3, flags::WHOLE, 9, SHARE_ENUM, &share_enum()));
    assert_eq!((answer[2], answer.len()), (kind::FAULT, 32));
    assert_eq!(answer[24..28], 0x1c01_0003u32.to_le_bytes()); // nca_s_unk_if
    assert!(call(&mut pipe, SHARE_ENUM, &share_enum()).is_ok());
}

#[test]
fn a_call_may_come_in_fragments() {
    let mut pipe = bound(BIND_SRVSVC, CallerRank::User);
    let whole = call(&mut pipe, SHARE_ENUM, &share_enum()).unwrap();
    let stub = share_enum();
    for (flags, part) in [(flags::FIRST, &stub[..8]), (0, &stub[8..9]), (0, &stub[9..30])] {
        pipe.write(&fragment(7, flags, 0, SHARE_ENUM, part)).unwrap();
        assert_eq!(pipe.read(100), Err(Status::PIPE_EMPTY));
    }
    let answer = exchange(&mut pipe, &fragment(7, flags::LAST, 0, SHARE_ENUM, &stub[30..]));
    assert_eq!(answer[24..], whole);
}

#[test]
fn an_orphaned_call_is_forgotten() {
    let mut pipe = bound(BIND_SRVSVC, CallerRank::User);
    pipe.write(&fragment(7, flags::FIRST, 0, SHARE_ENUM, &[0; 8])).unwrap();
    pipe.write(&Header::new(kind::ORPHANED, 7).message(|_| ())).unwrap();
    assert!(call(&mut pipe, SHARE_ENUM, &share_enum()).is_ok());
}

#[test]
fn what_breaks_the_protocol_ends_the_pipe() {
    let other_call = fragment(8, flags::LAST, 0, SHARE_ENUM, &[]);
    let mut authenticated = fragment(8, flags::WHOLE, 0, SHARE_ENUM, &[0; 32]);
    authenticated[10] = 8;
    let mut big_endian = fragment(8, flags::WHOLE, 0, SHARE_ENUM, &share_enum());
    big_endian[4] = 0;
    let mut other_version = big_endian.clone();
    other_version[..5].copy_from_slice(&[4, 0, 0, 3, 0x10]);
    let mut too_short = hex(BIND_SRVSVC);
    too_short[8] = 15;
    for message in [other_call, authenticated, big_endian, other_version, too_short, hex(BIND_SRVSVC)] {
        let mut pipe = bound(BIND_SRVSVC, CallerRank::User);
        pipe.write(&fragment(7, flags::FIRST, 0, SHARE_ENUM, &[])).unwrap();
        pipe.write(&message).unwrap();
        while let Ok(last) = pipe.read(usize::MAX) {
            assert_eq!(last.bytes[2], kind::FAULT);
        }
        assert_eq!(pipe.read(100), Err(Status::PIPE_DISCONNECTED));
        assert_eq!(pipe.write(&[5]), Err(Status::PIPE_DISCONNECTED));
    }
    let mut pipe = unbound(CallerRank::User);
    let answer = exchange(&mut pipe, &fragment(1, flags::WHOLE, 0, SHARE_ENUM, &share_enum()));
    assert_eq!(answer[24..28], 0x1c01_000bu32.to_le_bytes()); // nca_s_proto_error: nothing is bound
    assert_eq!(pipe.read(100), Err(Status::PIPE_DISCONNECTED));
}

/// MS-RPCE 2.2.2.9: the client may try again without authentication.
#[test]
fn authentication_inside_the_pipe_is_refused() {
    let mut bind = hex(BIND_SRVSVC);
    bind.extend([0; 24]);
    (bind[8], bind[10]) = (bind.len() as u8, 16);
    let mut pipe = unbound(CallerRank::User);
    let nak = exchange(&mut pipe, &bind);
    assert_eq!((nak[2], &nak[16..]), (kind::BIND_NAK, &[8, 0, 1, 5, 0][..]));
    assert_eq!(exchange(&mut pipe, &hex(BIND_SRVSVC))[2], kind::BIND_ACK);
}

#[test]
fn arguments_are_limited() {
    let mut pipe = bound(BIND_SRVSVC, CallerRank::User);
    let mut flags = flags::FIRST;
    for _ in 0..10 {
        let written = pipe.write(&fragment(7, flags, 0, SHARE_ENUM, &[0; 60_000]));
        flags = 0;
        if written.is_err() {
            break;
        }
    }
    let last = pipe.read(usize::MAX).unwrap().bytes;
    assert_eq!(last[24..28], 0x1c00_001bu32.to_le_bytes()); // nca_s_fault_remote_no_memory
    assert_eq!(pipe.read(100), Err(Status::PIPE_DISCONNECTED));
}

#[test]
fn a_long_answer_comes_in_fragments_that_the_client_takes() {
    let mut bind = hex(BIND_LSARPC);
    bind[16..20].copy_from_slice(&[0; 4]);
    let mut pipe = unbound(CallerRank::User);
    exchange(&mut pipe, &bind);
    let names = 100u32.to_le_bytes();
    let stub = [&names[..], &names, &[0; 800]].concat(); // LsarLookupNames4 of 100 empty names
    pipe.write(&fragment(7, flags::WHOLE, 0, 77, &stub)).unwrap();
    let (mut total, mut count) = (0, 0);
    while let Ok(message) = pipe.read(usize::MAX) {
        let bytes = message.bytes;
        assert!(bytes.len() <= 1432 && !message.more);
        let expected = if count == 0 { flags::FIRST } else { 0 };
        assert_eq!(bytes[3] & flags::FIRST, expected);
        assert_eq!(bytes[3] & flags::LAST == 0, (bytes.len() - 24) % 8 == 0 && bytes.len() > 1400);
        (total, count) = (total + bytes.len() - 24, count + 1);
    }
    // No domains: a pointer and 12 bytes; count, pointer, count; 16 bytes each; how many were found, status.
    assert_eq!((total, count), (16 + 12 + 1600 + 8, 2));
}
