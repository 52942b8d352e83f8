use super::*;
use crate::wire::xdr::tests::{bytes_of, value_of};

/// The words of a message, big-endian.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// RFC 5531 9 and Appendix A, by hand: a call of NFS GETATTR by uid 501, gid 20, groups 20 and 80 of "mac".
fn call_by_hand() -> Vec<u8> {
    let mut bytes = words(&[
        0x1234_5678, // xid
        0,           // CALL
        2,           // rpcvers
        100_003,     // prog
        3,           // vers
        1,           // proc
        1,           // cred: AUTH_SYS
        32,          // its body's length
        0xaabb_ccdd, // stamp
        3,           // length of machinename
    ]);
    bytes.extend(b"mac\0"); // with one byte of padding
    bytes.extend(words(&[
        501, // uid
        20,  // gid
        2,   // gids<16>
        20, 80, // the groups
        0,  // verf: AUTH_NONE
        0,  // its body's length
    ]));
    bytes
}

fn call() -> CallHeader<'static> {
    let machine_name = Opaque::new(b"mac");
    let sys = AuthSys { stamp: 0xaabb_ccdd, machine_name, uid: 501, gid: 20, gids: Words::new(&[20, 80]) };
    CallHeader {
        xid: 0x1234_5678,
        program: 100_003,
        version: 3,
        procedure: 1,
        credential: Credential::Sys(sys),
        verifier: AuthFlavor::AUTH_NONE,
    }
}

/// A call whose AUTH_SYS body is `body`.
fn call_with_auth_sys(body: &[u8]) -> Vec<u8> {
    let mut bytes = words(&[7, 0, 2, 100_003, 3, 0, 1, body.len() as u32]);
    bytes.extend(body);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend(words(&[0, 0]));
    bytes
}

#[test]
fn record_mark_is_a_bit_and_31_bits_of_length() {
    let mark = RecordMark { last: true, len: 0x0102_0304 };
    assert_eq!(mark.to_bytes(), [0x81, 2, 3, 4]); // RFC 5531 11
    assert_eq!(RecordMark::from_bytes([0x81, 2, 3, 4]), mark);
    assert_eq!(
        RecordMark::from_bytes([0x7f, 0xff, 0xff, 0xff]),
        RecordMark { last: false, len: 0x7fff_ffff }
    );
}

#[test]
fn call_with_auth_sys_is_laid_out_as_in_the_rfc() {
    assert_eq!(value_of::<CallHeader<'_>>(&call_by_hand()), Ok(call()));
    assert_eq!(bytes_of(&call()), call_by_hand());
}

#[test]
fn call_with_auth_none_has_two_empty_bodies() {
    let bytes = words(&[9, 0, 2, 100_000, 2, 3, 0, 0, 0, 0]);
    let header: CallHeader<'_> = value_of(&bytes).unwrap();
    assert_eq!((header.xid, header.program, header.version, header.procedure), (9, 100_000, 2, 3));
    assert_eq!(header.credential, Credential::None);
    assert_eq!(bytes_of(&header), bytes);
}

#[test]
fn every_cut_of_a_call_is_malformed() {
    let bytes = call_by_hand();
    for len in 0..bytes.len() {
        assert!(value_of::<CallHeader<'_>>(&bytes[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn other_flavours_are_kept_by_their_number() {
    let bytes = words(&[9, 0, 2, 100_003, 3, 0, 6, 4, 0xffff_ffff, 0, 0]);
    let header: CallHeader<'_> = value_of(&bytes).unwrap();
    assert_eq!(header.credential, Credential::Unknown(AuthFlavor::RPCSEC_GSS));
}

#[test]
fn sixteen_groups_are_kept_and_seventeen_are_a_bad_credential() {
    let body = |count: u32| words(&[&[0, 0, 501, 20, count][..], &vec![5; count as usize]].concat());
    let sixteen = call_with_auth_sys(&body(16));
    let Credential::Sys(sys) = value_of::<CallHeader<'_>>(&sixteen).unwrap().credential else { panic!() };
    assert_eq!(&*sys.gids, [5; 16]); // RFC 5531 Appendix A: gids<16>
    let seventeen = call_with_auth_sys(&body(17));
    assert_eq!(value_of::<CallHeader<'_>>(&seventeen).unwrap().credential, Credential::Malformed);
}

#[test]
fn machine_name_of_255_bytes_is_kept_and_of_256_is_a_bad_credential() {
    let body = |len: u32| {
        let name = vec![b'x'; len as usize];
        let padded = [&name[..], &[0; 3][..name.len().wrapping_neg() & 3]].concat();
        [words(&[0, len]), padded, words(&[501, 20, 0])].concat()
    };
    let longest = call_with_auth_sys(&body(255));
    let Credential::Sys(sys) = value_of::<CallHeader<'_>>(&longest).unwrap().credential else { panic!() };
    assert_eq!(sys.machine_name.len(), 255);
    let longer = call_with_auth_sys(&body(256));
    assert_eq!(value_of::<CallHeader<'_>>(&longer).unwrap().credential, Credential::Malformed);
}

#[test]
fn bytes_left_over_in_auth_sys_are_a_bad_credential() {
    let bytes = call_with_auth_sys(&words(&[0, 0, 501, 20, 0, 1]));
    assert_eq!(value_of::<CallHeader<'_>>(&bytes).unwrap().credential, Credential::Malformed);
}

#[test]
fn credential_body_over_400_bytes_is_malformed() {
    let with_body = |len: u32| {
        let body = vec![0; len as usize];
        [words(&[7, 0, 2, 100_003, 3, 0, 6, len]), body, words(&[0, 0])].concat()
    };
    assert!(value_of::<CallHeader<'_>>(&with_body(400)).is_ok()); // RFC 5531 8.2: opaque body<400>
    assert!(value_of::<CallHeader<'_>>(&with_body(404)).is_err());
}

#[test]
fn call_of_another_rpc_version_keeps_its_xid() {
    let bytes = words(&[0xabcd, 0, 3]);
    assert_eq!(value_of::<Message<'_>>(&bytes), Ok(Message::OtherVersion { xid: 0xabcd, version: 3 }));
    assert!(value_of::<Message<'_>>(&words(&[0xabcd, 2])).is_err());
}

#[test]
fn replies_are_laid_out_as_in_the_rfc() {
    let cases: [(Outcome, &[u32]); 8] = [
        (Outcome::Success, &[0, 0, 0, 0]), // MSG_ACCEPTED, AUTH_NONE, no body, SUCCESS
        (Outcome::ProgUnavail, &[0, 0, 0, 1]),
        (Outcome::ProgMismatch { low: 2, high: 3 }, &[0, 0, 0, 2, 2, 3]),
        (Outcome::ProcUnavail, &[0, 0, 0, 3]),
        (Outcome::GarbageArgs, &[0, 0, 0, 4]),
        (Outcome::SystemErr, &[0, 0, 0, 5]),
        (Outcome::RpcMismatch { low: 2, high: 2 }, &[1, 0, 2, 2]), // MSG_DENIED, RPC_MISMATCH
        (Outcome::AuthError(AuthStat::AUTH_TOOWEAK), &[1, 1, 5]),  // MSG_DENIED, AUTH_ERROR
    ];
    for (outcome, body) in cases {
        let bytes = [words(&[42, 1]), words(body)].concat(); // xid, REPLY
        let header = ReplyHeader { xid: 42, outcome };
        assert_eq!(bytes_of(&header), bytes, "{outcome:?}");
        assert_eq!(value_of::<ReplyHeader>(&bytes), Ok(header), "{outcome:?}");
    }
    assert_eq!(bytes_of(&ReplyHeader::success(1)).len(), ReplyHeader::SUCCESS_SIZE);
}

mod properties {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_call_is_read_as_it_was_written(
            (xid, program, version, procedure) in any::<(u32, u32, u32, u32)>(),
            (stamp, uid, gid) in any::<(u32, u32, u32)>(),
            name in vec(any::<u8>(), 0..=MACHINE_NAME_LIMIT),
            gids in vec(any::<u32>(), 0..=GIDS_LIMIT),
        ) {
            let machine_name = Opaque::new(&name);
            let sys = AuthSys { stamp, machine_name, uid, gid, gids: Words::new(&gids) };
            let verifier = AuthFlavor::AUTH_NONE;
            let header =
                CallHeader { xid, program, version, procedure, credential: Credential::Sys(sys), verifier };
            let bytes = bytes_of(&header);
            prop_assert_eq!(value_of::<CallHeader<'_>>(&bytes), Ok(header));
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in vec(any::<u8>(), 0..600)) {
            let _ = value_of::<Message<'_>>(&bytes);
        }

        #[test]
        fn no_words_make_the_decoder_panic(numbers in vec(0_u32..20, 0..60)) {
            let _ = value_of::<Message<'_>>(&words(&numbers));
        }
    }
}
