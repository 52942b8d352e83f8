//! EXCHANGE_ID, CREATE_SESSION and their like, by RFC 8881 18.34 to 18.37 and 18.50.

use super::*;

const UPDATE: u32 = 0x4000_0000;
const CONFIRMED: u32 = 0x8000_0000;
/// EXCHGID4_FLAG_USE_NON_PNFS.
const NO_PNFS: u32 = 0x1_0000;

#[test]
fn minor_version_1_is_answered_only_when_it_is_turned_on() {
    let client = client();
    assert_eq!(compound_1(&client, &[exchange_id(b"me", 1, 0)]), words(&[10021, 0, 0]));
    client.service.set_minor_versions(&[1]);
    assert!(exchanged(&client, b"me", 1, 0).is_ok());
    assert_eq!(compound(&client, 1, &words(&[24])), words(&[10021, 0, 0]));
    // 4.3 is not built, whatever is asked for.
    client.service.set_minor_versions(&[0, 1, 2, 3]);
    let answer = now(client.call_raw((PROGRAM, 4, 1), &words(&[0, 3, 0]))).unwrap();
    assert_eq!(answer.results, words(&[10021, 0, 0]));
}

#[test]
fn a_registration_has_the_results_of_the_table_in_18_35_4() {
    let client = client_1();
    let other = client.clone().user(2000);
    // 1, new; 4, an unconfirmed record is replaced; 7, an update of nothing: NOENT.
    let (first, sequence, flags) = exchanged(&client, b"me", 1, 0).unwrap();
    assert_eq!((sequence, flags), (1, NO_PNFS));
    assert_eq!(exchanged(&client, b"me", 1, UPDATE), Err(2));
    let (second, ..) = exchanged(&other, b"me", 1, 0).unwrap();
    assert_ne!(first, second);
    assert_eq!(status(&compound_1(&client, &[create_session(first, 1, 4096)])), 10022); // STALE_CLIENTID
    let (own, ..) = exchanged(&client, b"me", 1, 0).unwrap();
    let session = Session::with_size(&client, own, 1, 4096);
    // 2, the same again; 6, an update; 8, of another verifier: NOT_SAME; 9, by another user: PERM.
    assert_eq!(exchanged(&client, b"me", 1, 0), Ok((own, 2, NO_PNFS | CONFIRMED)));
    assert_eq!(exchanged(&client, b"me", 1, UPDATE), Ok((own, 2, NO_PNFS | CONFIRMED)));
    assert_eq!(exchanged(&client, b"me", 2, UPDATE), Err(10027));
    assert_eq!(exchanged(&other, b"me", 1, UPDATE), Err(1));
    // 3, another user, while the client has a session: CLID_INUSE.
    assert_eq!(exchanged(&other, b"me", 1, 0), Err(10017));
    // 5, a restart: the sessions of the former run stay until the new one is confirmed.
    let (newer, ..) = exchanged(&client, b"me", 2, 0).unwrap();
    assert_eq!(session.call(&[]).0, 0);
    let next = Session::with_size(&client, newer, 1, 4096);
    let badsession = compound_1(&client, &[session.sequence([9, 0, 0, 0])]);
    assert_eq!(badsession, words(&[10052, 0, 1, 53, 10052]));
    // 3 again, after the session is gone: the record of the first user is forgotten.
    let destroy = [words(&[44]), next.id.clone()].concat();
    assert_eq!(compound_1(&client, &[destroy]), words(&[0, 0, 1, 44, 0]));
    assert!(exchanged(&other, b"me", 3, 0).is_ok());
    assert_eq!(status(&compound_1(&client, &[create_session(newer, 2, 4096)])), 10022);
}

#[test]
fn the_server_has_one_name_and_protects_no_state() {
    let reply = compound_1(&client_1(), &[exchange_id(b"me", 1, 0)]);
    // SP4_NONE, minor id 0, then major id and scope, which another server of the same secret has, too.
    assert_eq!(reply[36..48], words(&[0, 0, 0]));
    let names = reply[48..].to_vec();
    assert_eq!(compound_1(&client_1(), &[exchange_id(b"you", 1, 0)])[48..], names[..]);
    let (owner, scope) = names[..names.len() - 4].split_at((names.len() - 4) / 2);
    assert_eq!((owner, &owner[4..13]), (scope, &b"fourfold-"[..]));
    // SP4_MACH_CRED and SP4_SSV need RPCSEC_GSS; flags that there are not: INVAL. Two implementations: BADXDR.
    let with = |rest: &[u32]| [words(&[42]), vec![1; 8], opaque(b"x"), words(rest)].concat();
    let client = client_1();
    assert_eq!(status(&compound_1(&client, &[with(&[0, 1, 0, 0, 0])])), 22);
    assert_eq!(status(&compound_1(&client, &[with(&[0, 2, 0, 0, 0, 0, 0, 0, 0])])), 22);
    assert_eq!(status(&compound_1(&client, &[with(&[CONFIRMED, 0, 0])])), 22);
    assert_eq!(status(&compound_1(&client, &[with(&[0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])])), 10036);
}

#[test]
fn a_session_is_created_once_for_each_number() {
    let client = client_1();
    let (id, ..) = exchanged(&client, b"me", 1, 0).unwrap();
    assert_eq!(status(&compound_1(&client, &[create_session(id, 0, 4096)])), 10063); // SEQ_MISORDERED
    assert_eq!(status(&compound_1(&client, &[create_session(id ^ 1 << 40, 1, 4096)])), 10022);
    // The user of EXCHANGE_ID confirms it: CLID_INUSE for another one.
    let other = client.clone().user(2000);
    assert_eq!(status(&compound_1(&other, &[create_session(id, 1, 4096)])), 10017);
    assert_eq!(status(&compound_1(&client, &[create_session(id, 1, 64)])), 10005); // TOOSMALL
    let first = compound_1(&client, &[create_session(id, 1, 4096)]);
    // No flags; the limits of requests, with two slots for replies of 2048 bytes each.
    assert_eq!(first[36..44], words(&[1, 0]));
    assert_eq!(first[44..72], words(&[0, 4096, 4096, 2048, 16, 4, 0]));
    assert_eq!(compound_1(&client, &[create_session(id, 1, 4096)]), first);
    assert_eq!(status(&compound_1(&client, &[create_session(id, 3, 4096)])), 10063);
    let second = compound_1(&client, &[create_session(id, 2, 4096)]);
    assert_eq!((status(&second), second[20..36] == first[20..36]), (0, false));
    // Flags that there are not: INVAL. The seventeenth session: NOSPC.
    let mut flags = create_session(id, 3, 4096);
    flags[16..20].copy_from_slice(&words(&[8]));
    assert_eq!(status(&compound_1(&client, &[flags])), 22);
    for sequence in 3..17 {
        assert_eq!(status(&compound_1(&client, &[create_session(id, sequence, 4096)])), 0);
    }
    assert_eq!(status(&compound_1(&client, &[create_session(id, 17, 4096)])), 28);
}

#[test]
fn sessions_and_clients_are_destroyed_when_nothing_needs_them() {
    let client = client_1();
    let session = Session::of(&client, b"me", 1);
    let destroy_client = |id: u64| [words(&[57]), id.to_be_bytes().to_vec()].concat();
    assert_eq!(compound_1(&client, &[destroy_client(session.client_id)])[..4], words(&[10074])); // CLIENTID_BUSY
    let (state, handle) = session.opened(b"o", (3, 0), b"f");
    let destroy = [words(&[44]), session.id.clone()].concat();
    // Over a connection that the session does not know: CONN_NOT_BOUND_TO_SESSION. BIND_CONN_TO_SESSION lets it know.
    let another = client.clone().on_port(701);
    assert_eq!(status(&compound_1(&another, std::slice::from_ref(&destroy))), 10055);
    let bind = |direction| [words(&[41]), session.id.clone(), words(&[direction, 0])].concat();
    // CDFC4_FORE_OR_BOTH gets CDFS4_BOTH; 4 is no direction.
    let bound = [words(&[0, 0, 1, 41, 0]), session.id.clone(), words(&[3, 0])].concat();
    assert_eq!(compound_1(&another, &[bind(3)]), bound);
    assert_eq!(status(&compound_1(&another, &[bind(4)])), 22);
    assert_eq!(status(&compound_1(&another, std::slice::from_ref(&destroy))), 0);
    assert_eq!(status(&compound_1(&another, &[destroy])), 10052); // BADSESSION
    // The client has a file open: CLIENTID_BUSY. After CLOSE in another session it can go.
    assert_eq!(compound_1(&client, &[destroy_client(session.client_id)])[..4], words(&[10074]));
    let again = Session::with_size(&client, session.client_id, 2, 4096);
    assert_eq!(again.at(&handle, &[close_1(&state)]).0, 0);
    assert_eq!(again.call(&[[words(&[44]), again.id.clone()].concat()]).0, 0); // its own session, at the end
    assert_eq!(compound_1(&client, &[destroy_client(session.client_id)])[..4], words(&[0]));
    assert_eq!(compound_1(&client, &[destroy_client(session.client_id)])[..4], words(&[10022]));
    // A registration that is not confirmed.
    let (id, ..) = exchanged(&client, b"other", 1, 0).unwrap();
    assert_eq!(compound_1(&client, &[destroy_client(id)])[..4], words(&[0]));
    assert_eq!(status(&compound_1(&client, &[create_session(id, 1, 4096)])), 10022);
}

#[test]
fn a_client_that_changes_its_minor_version_loses_what_it_held() {
    let client = client_1();
    let old = registered(&client, b"me", 1);
    opened(&client, old, b"o", (3, 3), b"f");
    // RFC 8881 2.4.1: the new client need not wait for the end of the old one's lease.
    let session = Session::of(&client, b"me", 1);
    let (state, handle) = session.opened(b"o", (3, 3), b"f");
    assert_eq!(
        compound(&client, 1, &[words(&[30]), old.to_be_bytes().to_vec()].concat())[..4],
        words(&[10011])
    );
    // A stateid of a session is not good in minor version 0.
    assert_eq!(at(&client, &handle, &[read_1(&state)]).0, 10025);
    // Nor is its clientid: STALE_CLIENTID.
    let its = session.client_id;
    assert_eq!(
        compound(&client, 1, &[words(&[30]), its.to_be_bytes().to_vec()].concat())[..4],
        words(&[10022])
    );
    assert_eq!(in_docs(&client, &[open(its, b"p", 1, (1, 0), &words(&[0]), b"f")]).0, 10022);
    let newer = registered(&client, b"me", 2);
    opened(&client, newer, b"o", (3, 3), b"f");
}

/// RFC 8881 2.10.8.3 leaves it to the server without state protection: WRONG_CRED.
#[test]
fn a_session_is_ended_by_the_user_that_made_it() {
    const WRONG_CRED: u32 = 10082;
    let client = client_1();
    let session = Session::of(&client, b"me", 1);
    let stranger = client.clone().user(2000);
    let destroy = [words(&[44]), session.id.clone()].concat();
    let bind = [words(&[41]), session.id.clone(), words(&[3, 0])].concat();
    let destroy_client = [words(&[57]), session.client_id.to_be_bytes().to_vec()].concat();
    for operation in [&destroy, &bind, &destroy_client] {
        assert_eq!(status(&compound_1(&stranger, std::slice::from_ref(operation))), WRONG_CRED);
    }
    assert_eq!(status(&compound_1(&stranger, &[create_session(session.client_id, 2, 4096)])), 10017); // CLID_INUSE
    let (waiting, ..) = exchanged(&client, b"other", 1, 0).unwrap();
    let forget = [words(&[57]), waiting.to_be_bytes().to_vec()].concat();
    assert_eq!(status(&compound_1(&stranger, std::slice::from_ref(&forget))), WRONG_CRED);
    assert_eq!(status(&compound_1(&client, &[forget])), 0);
    assert_eq!(status(&compound_1(&client, &[destroy])), 0);
    assert_eq!(status(&compound_1(&client, &[destroy_client])), 0);
}
