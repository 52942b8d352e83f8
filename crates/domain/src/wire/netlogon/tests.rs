use wire::Sid;

use super::*;

const PARTIES: Parties<'_> = Parties { controller: "\\\\dc1.lab.test", account: "FILER$", computer: "FILER" };

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// The answer to a login, MS-NRPC 2.2.1.4.17 and C706 14, with a user principal name.
fn answer(principal: &str) -> Vec<u8> {
    let mut e = Encoder::of_unique_pointers();
    let numbers = |e: &mut Encoder, all: &[u32]| all.iter().for_each(|number| e.u32(*number));
    e.u16(SAM_INFO4);
    e.pointer();
    e.put(&[0; 6 * 8]); // times
    e.counted_head(&utf16("alice"));
    (0..5).for_each(|_| e.counted_head(b""));
    numbers(&mut e, &[0, 1_103, 513, 1]);
    e.pointer();
    e.null();
    e.put(&[7; 16]);
    e.counted_head(&utf16("DC1"));
    e.counted_head(&utf16("LAB"));
    e.pointer();
    e.put(&[0; 40]);
    numbers(&mut e, &[0, 0]); // no SIDs of other domains
    e.counted_head(&utf16("lab.test"));
    e.counted_head(&utf16(principal));
    (0..10).for_each(|_| e.counted_head(b""));
    e.counted_tail(&utf16("alice"), 2);
    numbers(&mut e, &[1, 513, 7]);
    e.counted_tail(&utf16("DC1"), 2);
    e.counted_tail(&utf16("LAB"), 2);
    e.u32(4);
    let mut sid = wire::Writer::new();
    "S-1-5-21-1-2-3".parse::<Sid>().unwrap().encode(&mut sid);
    e.put(sid.as_bytes());
    e.counted_tail(&utf16("lab.test"), 2);
    e.counted_tail(&utf16(principal), 2);
    e.u8(1);
    numbers(&mut e, &[0, 0]);
    e.into_stub()
}

#[test]
fn a_user_has_a_sid_groups_and_a_key_wherever_the_last_string_ends() {
    for principal in ["alice@lab.test", "alice1@lab.test", ""] {
        let answer = answer(principal);
        let Verdict { status, validation } = verdict(&answer).unwrap();
        let Validation { user, session_key } = validation.unwrap();
        assert_eq!((status, session_key), (0, [7; 16]));
        assert_eq!((&*user.name, &*user.domain), ("alice", "LAB"));
        assert_eq!(user.sid.to_string(), "S-1-5-21-1-2-3-1103");
        assert_eq!(user.groups.iter().map(Sid::to_string).collect::<Vec<_>>(), ["S-1-5-21-1-2-3-513"]);
        for end in 0..answer.len() {
            assert!(verdict(&answer[..end]).is_err(), "cut at {end}");
        }
    }
}

/// STATUS_WRONG_PASSWORD, as Samba 4.17 answers it: no user.
#[test]
fn a_refusal_has_a_status_and_no_user() {
    let refused = b"\x06\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x6a\0\0\xc0";
    assert_eq!(verdict(refused), Ok(Verdict { status: 0xC000_006A, validation: None }));
    let nothing = b"\x06\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0";
    assert!(verdict(nothing).is_err(), "a login without a user");
    assert!(verdict(b"\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x6a\0\0\xc0").is_err(), "another level");
}

/// C706 14.3.4.2: the count with the zero at the end, three times but the offset; then the units.
#[test]
fn the_first_calls_name_the_parties() {
    let stub = challenge(&PARTIES, [9; 8]);
    let name = utf16("\\\\dc1.lab.test\0");
    assert_eq!(stub[..16], [0, 0, 2, 0, 15, 0, 0, 0, 0, 0, 0, 0, 15, 0, 0, 0]);
    assert_eq!(stub[16..46], name);
    assert_eq!(stub[46..60], [0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0]);
    assert_eq!(stub[60..], [&utf16("FILER\0")[..], &[9; 8]].concat());
    let stub = authenticate(&PARTIES, [9; 8]);
    assert_eq!(stub[stub.len() - 4..], flags::ASKED.to_le_bytes());
    assert_eq!(
        challenged(b"\x01\x02\x03\x04\x05\x06\x07\x08\x22\0\0\xc0"),
        Ok(([1, 2, 3, 4, 5, 6, 7, 8], 0xC000_0022))
    );
    let expected = AuthenticateResponse { credential: [1; 8], flags: flags::NEEDED, status: 0 };
    let answer = [&[1; 8][..], &flags::NEEDED.to_le_bytes(), &[0xE8, 3, 0, 0], &[0; 4]].concat();
    assert_eq!(authenticated(&answer), Ok(expected));
    assert!(authenticated(&answer[..19]).is_err() && challenged(&[0; 13]).is_err());
}

/// MS-NRPC 3.5.4.5.1: the level twice (before the union and in it), the strings behind the structure, then the level of the answer.
#[test]
fn a_login_has_the_names_the_challenge_and_the_responses() {
    let (domain, user) = (utf16("LAB"), utf16("alice"));
    let asked = Logon {
        domain: &domain,
        user: &user,
        workstation: b"",
        challenge: [5; 8],
        nt: &[1; 45],
        lm: &[2; 24],
    };
    let stub = logon(&PARTIES, &asked);
    let computer = 16 + 30 + 2; // after the controller's name
    let level = computer + 16 + 12;
    assert_eq!(stub[level..level + 4], [2, 0, 2, 0]);
    let structure = level + 8;
    assert_eq!(stub[structure..structure + 8], [6, 0, 6, 0, 0, 0, 2, 0]);
    assert_eq!(stub[structure + 20..structure + 24], [10, 0, 10, 0]);
    assert_eq!(stub[structure + 28..structure + 36], [0; 8], "no workstation");
    assert_eq!(stub[structure + 36..structure + 44], [5; 8]);
    assert_eq!(stub[structure + 44..structure + 48], [45, 0, 45, 0]);
    assert!(stub.ends_with(&[&[2; 24][..], &[6, 0, 0, 0, 0, 0, 0, 0]].concat()));
}
