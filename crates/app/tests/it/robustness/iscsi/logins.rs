//! Logins that fail or stop half-way: RFC 7143 section 6 and 11.13.5.

use std::io::Write;
use std::time::{Duration, Instant};

use ::iscsi::client::{Client, Error, Login};
use ::iscsi::wire::pdu::{LoginStatus, Opcode, Stage};
use wire::Writer;

use super::client::{Iscsi, TARGET, connect, enter, is_closed_within, isid, log_in, login};
use super::frames::header;
use super::{MIB, SOON, beside_a_neighbour};

/// How long a client has for its login, plus some time for a busy machine.
const LOGIN_WITHIN: Duration = Duration::from_secs(30 + 8);

const OPERATIONAL: (bool, Stage, Stage) = (true, Stage::OPERATIONAL_NEGOTIATION, Stage::FULL_FEATURE);

/// One login request with this text; `more`: the text continues in the next one.
fn say(client: &mut Iscsi, stages: (bool, Stage, Stage), more: bool, text: &[u8]) -> Result<Vec<u8>, Error> {
    let mut request = client.login_request([0x80, 1, 2, 3, 4, 5], stages);
    request.more = more;
    let mut w = Writer::new();
    request.encode(text.len(), &mut w);
    client.send(w, text)?;
    client.login_response().map(|(_, text)| text)
}

fn names() -> Vec<u8> {
    format!("InitiatorName=iqn.2026-11.invalid:hostile\0TargetName={TARGET}\0SessionType=Normal\0")
        .into_bytes()
}

fn fresh(port: u16) -> Iscsi {
    Client::new(connect(port).unwrap())
}

fn refusal(outcome: Result<Vec<u8>, Error>) -> LoginStatus {
    match outcome {
        Err(Error::Login(status)) => status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn logins_that_cannot_be_are_refused_and_their_connections_closed() {
    let with = |more: &str| [names(), more.as_bytes().to_vec()].concat();
    let nobody =
        b"InitiatorName=iqn.2026-11.invalid:x\0TargetName=iqn.2026-11.invalid:nothing\0SessionType=Normal\0";
    let cases: Vec<(Vec<u8>, LoginStatus)> = vec![
        (b"SessionType=Normal\0".to_vec(), LoginStatus::MISSING_PARAMETER),
        (b"InitiatorName=iqn.2026-11.invalid:x\0".to_vec(), LoginStatus::MISSING_PARAMETER),
        (nobody.to_vec(), LoginStatus::NOT_FOUND),
        // 6.2: a key may be sent once only.
        (with("MaxBurstLength=65536\0MaxBurstLength=65536\0"), LoginStatus::INITIATOR_ERROR),
        (with("InitialR2T=Yes\0InitialR2T=No\0"), LoginStatus::INITIATOR_ERROR),
        (with("no key at all\0"), LoginStatus::INITIATOR_ERROR),
        (with("HeaderDigest=None"), LoginStatus::INITIATOR_ERROR), // the zero byte is missing
        (with("=\0"), LoginStatus::INITIATOR_ERROR),
        (b"\xff\xfe\0".to_vec(), LoginStatus::INITIATOR_ERROR),
    ];
    beside_a_neighbour("logins that cannot be", 8 * MIB, |port| {
        for (text, status) in &cases {
            let mut client = fresh(port);
            let shown = String::from_utf8_lossy(text);
            assert_eq!(refusal(say(&mut client, OPERATIONAL, false, text)), *status, "{shown}");
            assert!(is_closed_within(client.link(), SOON), "{shown}");
        }
    });
}

/// RFC 7143 13: an impossible value is answered with Reject, an unknown key with NotUnderstood.
#[test]
fn values_at_their_limits_are_negotiated_or_rejected() {
    const KEYS: [&str; 6] = [
        "MaxConnections",
        "MaxRecvDataSegmentLength",
        "MaxBurstLength",
        "FirstBurstLength",
        "MaxOutstandingR2T",
        "DefaultTime2Wait",
    ];
    beside_a_neighbour("values at their limits", 8 * MIB, |port| {
        for key in KEYS {
            for value in [
                "0",
                "1",
                "511",
                "512",
                "16777215",
                "16777216",
                "4294967296",
                "18446744073709551616",
                "-1",
                "0x",
                "x",
            ] {
                let mut client = fresh(port);
                let text = [names(), format!("{key}={value}\0").into_bytes()].concat();
                match say(&mut client, OPERATIONAL, false, &text) {
                    Ok(_) | Err(Error::Login(LoginStatus::INITIATOR_ERROR)) => {}
                    Err(error) => panic!("{key}={value}: {error}"),
                }
            }
        }
    });
}

#[test]
fn stages_that_do_not_exist_and_requests_unlike_the_first_are_refused() {
    let stages = [
        (true, Stage(2), Stage::FULL_FEATURE),
        (true, Stage::FULL_FEATURE, Stage::FULL_FEATURE),
        (true, Stage::OPERATIONAL_NEGOTIATION, Stage::OPERATIONAL_NEGOTIATION),
        (true, Stage::OPERATIONAL_NEGOTIATION, Stage(2)),
        (true, Stage::SECURITY_NEGOTIATION, Stage(2)),
    ];
    beside_a_neighbour("stages that do not exist", 8 * MIB, |port| {
        for stages in stages {
            let mut client = fresh(port);
            let refused = refusal(say(&mut client, stages, false, &names()));
            assert_eq!(refused, LoginStatus::INITIATOR_ERROR, "{stages:?}");
        }
        let mut client = fresh(port);
        say(&mut client, (false, Stage::OPERATIONAL_NEGOTIATION, Stage::FULL_FEATURE), false, &names())
            .unwrap();
        let back = (true, Stage::SECURITY_NEGOTIATION, Stage::OPERATIONAL_NEGOTIATION);
        assert_eq!(refusal(say(&mut client, back, false, b"")), LoginStatus::INITIATOR_ERROR);
        // A missing session cannot be joined.
        let mut client = fresh(port);
        let mut request = client.login_request(isid(), OPERATIONAL);
        request.tsih = 0x7777;
        let mut w = Writer::new();
        request.encode(names().len(), &mut w);
        client.send(w, &names()).unwrap();
        let refused = client.login_response().unwrap_err();
        assert!(matches!(refused, Error::Login(LoginStatus::SESSION_DOES_NOT_EXIST)), "{refused}");
    });
}

/// RFC 7143 6.2: text may continue in the next request, but not forever.
#[test]
fn text_without_an_end_is_refused() {
    beside_a_neighbour("text without an end", 8 * MIB, |port| {
        let not_last = (false, Stage::OPERATIONAL_NEGOTIATION, Stage::FULL_FEATURE);
        for length in [0, 1, 8192] {
            let mut client = fresh(port);
            let part = vec![b'x'; length];
            let outcome = (0..100_000).find_map(|_| say(&mut client, not_last, true, &part).err());
            let status = refusal(Err(outcome.expect("an end")));
            assert_eq!(status, LoginStatus::OUT_OF_RESOURCES, "parts of {length} bytes");
            assert!(is_closed_within(client.link(), SOON));
        }
    });
}

#[test]
fn something_else_than_a_login_ends_its_connection() {
    beside_a_neighbour("other requests before the login", 8 * MIB, |port| {
        for opcode in (0..0x80).filter(|opcode| opcode & 0x3f != 0x03) {
            let mut stream = connect(port).unwrap();
            stream.write_all(&header(opcode, 0, 0)).unwrap();
            assert!(is_closed_within(&mut stream, SOON), "{opcode:#x}");
        }
    });
}

/// RFC 7143 6.3: after the login, its connection accepts no other login.
#[test]
fn a_second_login_over_a_connection_is_rejected() {
    beside_a_neighbour("a second login", 8 * MIB, |port| {
        let mut client = enter(port);
        client.link().write_all(&header(0x43, 0, 0)).unwrap();
        assert_eq!(client.receive().unwrap().opcode(), Opcode::REJECT);
        client.read(0, 0, 1).unwrap();
    });
}

#[test]
fn a_thousand_half_open_logins_delay_no_client_and_end_in_time() {
    const COUNT: usize = 1_000;
    beside_a_neighbour("1,000 half-open logins", 48 * MIB, |port| {
        let begun = Instant::now();
        let mut half: Vec<Iscsi> = (0..COUNT).map(|_| fresh(port)).collect();
        for (number, client) in half.iter_mut().enumerate() {
            match number % 4 {
                0 => {} // a connection without a request
                1 => client.link().write_all(&header(0x43, 0, 512)[..20]).unwrap(),
                2 => client.link().write_all(&header(0x43, 0, 512)).unwrap(),
                _ => drop(
                    say(client, (false, Stage::SECURITY_NEGOTIATION, Stage(0)), false, &names()).unwrap(),
                ),
            }
        }
        println!("{COUNT} half-open logins after {:?}", begun.elapsed());
        let other = Instant::now();
        log_in(port, &Login { isid: isid(), ..login() }).unwrap().log_out().unwrap();
        assert!(other.elapsed() < Duration::from_secs(10), "{:?}", other.elapsed());
        for client in &mut half {
            let left = LOGIN_WITHIN.saturating_sub(begun.elapsed()).max(Duration::from_millis(100));
            assert!(is_closed_within(client.link(), left));
        }
        println!("all of them were closed after {:?}", begun.elapsed());
    });
}
