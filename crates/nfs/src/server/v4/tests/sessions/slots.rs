//! SEQUENCE and the order of operations, by RFC 8881 2.10.6, 16.2 and 18.46.

use super::*;

#[test]
fn only_sequence_and_its_like_come_first() {
    let client = client_1();
    let session = Session::of(&client, b"me", 1);
    assert_eq!(compound_1(&client, &[words(&[24])]), words(&[10071, 0, 1, 24, 10071])); // OP_NOT_IN_SESSION
    assert_eq!(compound_1(&client, &[]), words(&[0, 0, 0]));
    assert_eq!(compound_1(&client, &[words(&[2])]), words(&[10044, 0, 1, 10044, 10044]));
    // Two operations, neither SEQUENCE: NOT_ONLY_OP.
    assert_eq!(status(&compound_1(&client, &[exchange_id(b"x", 1, 0), words(&[24])])), 10081);
    let destroy = [words(&[44]), session.id.clone()].concat();
    assert_eq!(status(&compound_1(&client, &[destroy.clone(), words(&[24])])), 10081);
    // After SEQUENCE: SEQUENCE_POS, NOT_ONLY_OP of a DESTROY_SESSION that is not the last, and of BIND_CONN_TO_SESSION.
    assert_eq!(session.call(&[session.sequence([9, 0, 0, 0])]), (10064, words(&[53, 10064])));
    assert_eq!(session.call(&[destroy, words(&[24])]).0, 10081);
    let bind = [words(&[41]), session.id.clone(), words(&[1, 0])].concat();
    assert_eq!(session.call(&[bind]).0, 10081);
    // What minor version 1 has dropped, and layouts: NOTSUPP. What no version has: OP_ILLEGAL.
    for number in [20, 30, 35, 36, 39, 47, 48, 49, 50, 51] {
        let (status, reply) = session.call(&[[words(&[number]), vec![0; 64]].concat()]);
        assert_eq!((status, &reply[..8]), (10004, &words(&[number, 10004])[..]));
    }
    assert_eq!(session.call(&[words(&[59])]), (10044, words(&[10044, 10044])));
    // BACKCHANNEL_CTL: a flavour that the server has. SET_SSV without SP4_SSV: INVAL.
    assert_eq!(session.call(&[words(&[40, 0x4000_0000, 1, 0])]).0, 0);
    assert_eq!(session.call(&[words(&[40, 0x4000_0000, 0])]).0, 22);
    assert_eq!(session.call(&[words(&[54, 0, 0])]).0, 22);
}

#[test]
fn a_repeated_request_is_not_executed_again() {
    let client = client_1();
    let session = Session::of(&client, b"me", 1);
    let make = |name: &[u8]| [words(&[6, 2]), opaque(name), words(&[0, 0])].concat();
    let calls = |arguments, name: &[u8]| {
        vec![session.sequence(arguments), words(&[24]), look_up(b"docs"), make(name)]
    };
    let first = compound_1(&client, &calls([1, 1, 3, 1], b"d"));
    assert_eq!(status(&first), 0);
    // session, sequence number, slot, the two highest slots, no flags
    assert_eq!(first[20..36], session.id[..]);
    assert_eq!(first[36..56], words(&[1, 1, 3, 3, 0]));
    // Over any connection, and with another tag, which is the only difference.
    assert_eq!(compound_1(&client.clone().on_port(999), &calls([1, 1, 3, 1], b"d")), first);
    let tagged = [opaque(b"again"), words(&[1, 4]), calls([1, 1, 3, 1], b"d").concat()].concat();
    let reply = now(client.call_raw((PROGRAM, 4, 1), &tagged)).unwrap().results;
    assert_eq!(reply, [words(&[0]), opaque(b"again"), first[8..].to_vec()].concat());
    // The next one finds the folder there: EXIST. Another request with the same number: SEQ_FALSE_RETRY.
    assert_eq!(status(&compound_1(&client, &calls([2, 1, 3, 0], b"d"))), 17);
    assert_eq!(status(&compound_1(&client, &calls([2, 1, 3, 0], b"e"))), 10076);
    let misordered = compound_1(&client, &calls([4, 1, 3, 0], b"d"));
    assert_eq!(misordered, words(&[10063, 0, 1, 53, 10063]));
    // BADSLOT, BAD_HIGH_SLOT, BADSESSION.
    assert_eq!(status(&compound_1(&client, &[session.sequence([1, 4, 4, 0])])), 10053);
    assert_eq!(status(&compound_1(&client, &[session.sequence([1, 2, 4, 0])])), 10077);
    assert_eq!(status(&compound_1(&client, &[session.sequence([1, 2, 3, 0])])), 0);
    let unknown = [words(&[53]), vec![7; 16], words(&[1, 0, 0, 0])].concat();
    assert_eq!(status(&compound_1(&client, &[unknown])), 10052);
}

#[test]
fn a_long_reply_is_kept_if_the_client_wants_that_only() {
    let client = client_1();
    let session = Session::of(&client, b"me", 1);
    let (state, handle) = session.opened(b"o", (3, 0), b"f");
    let write = [words(&[38]), state.to_vec(), words(&[0, 0, 2]), opaque(&[b'x'; 1000])].concat();
    assert_eq!(session.at(&handle, &[write]).0, 0);
    let put = [words(&[22]), opaque(&handle)].concat();
    let read = |count| [words(&[25]), state.to_vec(), words(&[0, 0, count])].concat();
    let calls =
        |sequence, keep, count| vec![session.sequence([sequence, 2, 3, keep]), put.clone(), read(count)];
    assert_eq!(status(&compound_1(&client, &calls(1, 0, 1000))), 0);
    assert_eq!(status(&compound_1(&client, &calls(1, 0, 1000))), 10068); // RETRY_UNCACHED_REP
    let kept = compound_1(&client, &calls(2, 1, 1000));
    assert_eq!((status(&kept), kept.len()), (0, 56 + 8 + 16 + 1000));
    assert_eq!(compound_1(&client, &calls(2, 1, 1000)), kept);
}

#[test]
fn the_limits_of_a_session_are_kept() {
    let client = client_1();
    let (id, ..) = exchanged(&client, b"me", 1, 0).unwrap();
    let session = Session::with_size(&client, id, 1, 512);
    assert_eq!(session.call(&[words(&[58, 0])]).0, 0);
    let (state, handle) = session.opened(b"o", (3, 0), b"f");
    // The message is longer than 512 bytes: REQ_TOO_BIG. 17 operations, where 16 are allowed: TOO_MANY_OPS.
    let long = [words(&[15]), opaque(&[b'a'; 600])].concat();
    let refused = compound_1(&client, &[session.sequence([4, 0, 0, 0]), long]);
    assert_eq!(refused, words(&[10065, 0, 1, 53, 10065]));
    let many: Vec<_> =
        std::iter::once(session.sequence([4, 0, 0, 0])).chain(vec![words(&[24]); 16]).collect();
    assert_eq!(status(&compound_1(&client, &many)), 10070);
    // The reply to 14 GETATTRs of most attributes is longer: REP_TOO_BIG, and nothing of the last one.
    let get = words(&[9, 2, 0x0018_a23e, 0x00b0_a23a]);
    let (status_, reply) = session.call(&[vec![words(&[24])], vec![get; 13]].concat());
    assert_eq!((status_, &reply[reply.len() - 8..]), (10066, &words(&[9, 10066])[..]));
    assert!(56 + reply.len() <= 512 - 24 + 8);
    // Data are cut to what fits.
    let write = [words(&[38]), state.to_vec(), words(&[0, 0, 2]), opaque(&[b'x'; 300])].concat();
    assert_eq!(session.at(&handle, std::slice::from_ref(&write)).0, 0);
    assert_eq!(
        session
            .at(
                &handle,
                &[[words(&[38]), state.to_vec(), words(&[0, 300, 2]), opaque(&[b'x'; 300])].concat()]
            )
            .0,
        0
    );
    let (status_, reply) =
        session.at(&handle, &[[words(&[25]), state.to_vec(), words(&[0, 0, 600])].concat()]);
    assert_eq!((status_, reply[..12].to_vec()), (0, words(&[25, 0, 0])));
    assert!((300..512).contains(&reply.len()), "{}", reply.len());
    // A change whose results might not fit is not executed.
    let gets = vec![words(&[9, 2, 0x0018_a23e, 0x00b0_a23a]); 2];
    let make = [words(&[6, 2]), opaque(b"d"), words(&[0, 0])].concat();
    assert_eq!(session.in_docs(&[gets, vec![make]].concat()).0, 10066);
    assert_eq!(session.in_docs(&[[words(&[15]), opaque(b"d")].concat()]).0, 2); // NOENT
}

#[test]
fn each_operation_in_a_session_with_each_kind_of_arguments_is_answered() {
    let client = client_1();
    let session = Session::of(&client, b"me", 1);
    let (state, handle) = session.opened(b"o", (3, 0), b"f");
    let views = crate::server::v4::tests::hostile::views(&client, &handle).into_iter().map(|put| vec![put]);
    let docs = vec![words(&[24]), look_up(b"docs")];
    let places: Vec<_> = [vec![], vec![words(&[24])], docs].into_iter().chain(views).collect();
    let arguments: Vec<Vec<u8>> = vec![
        vec![],
        words(&[0; 64]),
        words(&[u32::MAX; 64]),
        words(&[1; 64]),
        [state.to_vec(), words(&[0, 0, 4, 1, 0, 0])].concat(),
        [words(&[1]), state.to_vec(), words(&[0; 16])].concat(),
        [session.client_id.to_be_bytes().to_vec(), words(&[9, 0])].concat(),
        words(&[0x7fff_ffff, 0x8000_0000, 3, 0xffff, 0, 1]),
    ];
    for number in (3..60).filter(|number| *number != 44).chain([10044, u32::MAX]) {
        for place in &places {
            for arguments in &arguments {
                let operation = [words(&[number]), arguments.clone()].concat();
                let (status, reply) = session.call(&[place.clone(), vec![operation.clone()]].concat());
                assert!(crate::wire::v4::types::Status(status).name().is_some(), "{number}: {status}");
                assert_eq!(reply.len() % 4, 0);
                // The same without a session.
                if number != 44 {
                    let reply = compound_1(&client, &[operation]);
                    assert!(crate::wire::v4::types::Status(super::status(&reply)).name().is_some());
                }
            }
        }
    }
}
