//! Logins with and without authentication: RFC 7143 12.1 and 9.2.1, RFC 1994.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ::iscsi::client::{Algorithm, Chap, Client, Error, Login};
use ::iscsi::wire::keys;
use ::iscsi::wire::pdu::{LoginStatus, Stage};
use wire::Writer;

use super::client::{Iscsi, TARGET, connect, enter_with, isid, log_in, login};
use crate::robustness::server::{Server, folder, write_iscsi_settings};

const NAME: &str = "initiator";
const SECRET: &str = "a secret of its own";
const OWN_NAME: &str = "target";
const OWN_SECRET: &str = "what the target knows";

const SECURITY: (bool, Stage, Stage) = (false, Stage::SECURITY_NEGOTIATION, Stage::SECURITY_NEGOTIATION);
const TO_OPERATIONAL: (bool, Stage, Stage) =
    (true, Stage::SECURITY_NEGOTIATION, Stage::OPERATIONAL_NEGOTIATION);

/// A server that requires authentication, with an account for initiators and one of its own.
fn closed() -> (tempfile::TempDir, PathBuf, Server) {
    let (top, share) = folder();
    write_iscsi_settings(top.path(), &share, "", "size = \"64 MiB\"\n");
    let path = top.path().join("fourfold.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let named = format!("[server]\niscsi-account = \"{OWN_NAME}\"\n");
    std::fs::write(&path, text.replace("[server]\n", &named)).unwrap();
    for (number, (name, secret)) in [(NAME, SECRET), (OWN_NAME, OWN_SECRET)].into_iter().enumerate() {
        add(top.path(), name, secret, 2000 + number);
    }
    let server = Server::run_with_iscsi(top.path(), 0);
    (top, share, server)
}

fn add(top: &Path, name: &str, secret: &str, uid: usize) {
    let uid = uid.to_string();
    let mut adding = Command::new(env!("CARGO_BIN_EXE_fourfold"))
        .args(["user", "add", name, "--uid", &uid, "--chap-secret", "--password-stdin", "--state", "state"])
        .current_dir(top)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    adding.stdin.take().unwrap().write_all(format!("{secret}\n").as_bytes()).unwrap();
    assert!(adding.wait().unwrap().success());
}

fn chap(secret: &'static str, algorithm: Algorithm) -> Chap<'static> {
    Chap { name: NAME, secret: secret.as_bytes(), algorithm, mutual: None }
}

fn status(outcome: Result<Iscsi, Error>) -> LoginStatus {
    match outcome {
        Err(Error::Login(status)) => status,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("logged in"),
    }
}

#[test]
fn only_initiators_with_the_secret_log_in() {
    let (_top, _share, server) = closed();
    for algorithm in [Algorithm::Md5, Algorithm::Sha1, Algorithm::Sha256] {
        let mutual = Some((OWN_SECRET.as_bytes(), 77, &b"what the initiator asks"[..]));
        for chap in [chap(SECRET, algorithm), Chap { mutual, ..chap(SECRET, algorithm) }] {
            let mut client = enter_with(server.iscsi_port, &Login { chap: Some(chap), ..login() }).unwrap();
            client.read(0, 0, 1).unwrap();
        }
        let impostor = Some((&b"something else altogether"[..], 77, &b"what the initiator asks"[..]));
        let chap = Chap { mutual: impostor, ..chap(SECRET, algorithm) };
        let outcome = log_in(server.iscsi_port, &Login { chap: Some(chap), ..login() });
        assert!(matches!(outcome, Err(Error::Impostor)));
    }
    let refused = [
        Login { chap: None, ..login() },
        Login { chap: Some(chap("a secret that is wrong", Algorithm::Md5)), ..login() },
        Login { chap: Some(Chap { name: "nobody", ..chap(SECRET, Algorithm::Md5) }), ..login() },
    ];
    for login in refused {
        let status = status(log_in(server.iscsi_port, &Login { isid: isid(), ..login }));
        assert_eq!(status, LoginStatus::AUTHENTICATION_FAILURE, "{login:?}");
    }
}

/// One step of a login by hand.
fn step(client: &mut Iscsi, stages: (bool, Stage, Stage), pairs: &[(&str, &str)]) -> Result<Vec<u8>, Error> {
    let mut text = Writer::new();
    pairs.iter().for_each(|(key, value)| keys::encode(key, value, &mut text));
    let request = client.login_request([0x80, 9, 9, 9, 9, 9], stages);
    let mut w = Writer::new();
    request.encode(text.len(), &mut w);
    client.send(w, text.as_bytes())?;
    client.login_response().map(|(_, text)| text)
}

/// A login up to the target's challenge; returns the text with the challenge.
fn challenged(port: u16) -> (Iscsi, Vec<u8>) {
    let mut client = Client::new(connect(port).unwrap());
    let who = [
        ("InitiatorName", "iqn.2026-11.invalid:hostile"),
        ("TargetName", TARGET),
        ("SessionType", "Normal"),
        ("AuthMethod", "CHAP"),
    ];
    step(&mut client, SECURITY, &who).unwrap();
    let question = step(&mut client, SECURITY, &[("CHAP_A", "5")]).unwrap();
    (client, question)
}

fn value(text: &[u8], key: &str) -> String {
    let pairs = keys::decode(text).unwrap();
    pairs.iter().find(|pair| pair.key == key).map(|pair| pair.value.to_owned()).unwrap()
}

fn right_answer(question: &[u8]) -> String {
    let id = keys::number(&value(question, "CHAP_I")).unwrap() as u8;
    let challenge = keys::binary(&value(question, "CHAP_C")).unwrap();
    keys::hexadecimal_of(&Algorithm::Md5.response(id, SECRET.as_bytes(), &challenge))
}

#[test]
fn an_answer_that_was_overheard_is_of_no_use() {
    let (_top, _share, server) = closed();
    let (mut client, question) = challenged(server.iscsi_port);
    let overheard = right_answer(&question);
    let answer = |overheard: &str| [("CHAP_N", NAME.to_owned()), ("CHAP_R", overheard.to_owned())];
    let say = |client: &mut Iscsi| {
        let pairs = answer(&overheard);
        step(client, TO_OPERATIONAL, &pairs.each_ref().map(|(key, value)| (*key, value.as_str())))
    };
    say(&mut client).unwrap();
    let mut questions = vec![value(&question, "CHAP_C")];
    for _ in 0..3 {
        let (mut client, question) = challenged(server.iscsi_port);
        questions.push(value(&question, "CHAP_C"));
        let refused = say(&mut client).unwrap_err();
        assert!(matches!(refused, Error::Login(LoginStatus::AUTHENTICATION_FAILURE)), "{refused}");
    }
    questions.sort();
    questions.dedup();
    assert_eq!(questions.len(), 4, "no challenge is used twice");
}

/// RFC 7143 12.1.3: a side that receives its own challenge must refuse.
#[test]
fn a_question_that_is_reflected_is_refused() {
    let (_top, _share, server) = closed();
    let (mut client, question) = challenged(server.iscsi_port);
    let (id, challenge) = (value(&question, "CHAP_I"), value(&question, "CHAP_C"));
    let answer = right_answer(&question);
    let pairs = [("CHAP_N", NAME), ("CHAP_R", &answer), ("CHAP_I", &id), ("CHAP_C", &challenge)];
    let refused = step(&mut client, TO_OPERATIONAL, &pairs).unwrap_err();
    assert!(matches!(refused, Error::Login(LoginStatus::AUTHENTICATION_FAILURE)), "{refused}");

    // Over another connection: an attacker asks the target itself for the response.
    let (mut first, question) = challenged(server.iscsi_port);
    let (mut second, own) = challenged(server.iscsi_port);
    let (id, challenge) = (value(&question, "CHAP_I"), value(&question, "CHAP_C"));
    let guess = keys::hexadecimal_of(&[0; 16]);
    let pairs = [("CHAP_N", NAME), ("CHAP_R", &guess), ("CHAP_I", &id), ("CHAP_C", &challenge)];
    let refused = step(&mut second, TO_OPERATIONAL, &pairs).unwrap_err();
    assert!(matches!(refused, Error::Login(LoginStatus::AUTHENTICATION_FAILURE)), "{refused}");
    drop(own);
    let pairs = [("CHAP_N", NAME), ("CHAP_R", &guess)];
    assert!(step(&mut first, TO_OPERATIONAL, &pairs).is_err());
}

#[test]
fn the_security_stage_cannot_be_left_out() {
    let (_top, _share, server) = closed();
    let who =
        [("InitiatorName", "iqn.2026-11.invalid:hostile"), ("TargetName", TARGET), ("SessionType", "Normal")];
    let to_the_end = (true, Stage::OPERATIONAL_NEGOTIATION, Stage::FULL_FEATURE);
    let skip = (true, Stage::SECURITY_NEGOTIATION, Stage::FULL_FEATURE);
    for stages in [to_the_end, skip, TO_OPERATIONAL] {
        let mut client = Client::new(connect(server.iscsi_port).unwrap());
        let refused = step(&mut client, stages, &who).unwrap_err();
        assert!(
            matches!(refused, Error::Login(LoginStatus::AUTHENTICATION_FAILURE)),
            "{stages:?}: {refused}"
        );
    }
}

#[test]
fn wrong_passwords_are_answered_more_slowly_and_lock_out_no_account() {
    let (_top, _share, server) = closed();
    let port = server.iscsi_port;
    let mut inside =
        enter_with(port, &Login { chap: Some(chap(SECRET, Algorithm::Md5)), ..login() }).unwrap();
    let guess = || {
        let begun = Instant::now();
        let login = Login { chap: Some(chap("a secret that is wrong", Algorithm::Md5)), ..login() };
        assert_eq!(status(log_in(port, &login)), LoginStatus::AUTHENTICATION_FAILURE);
        begun.elapsed()
    };
    let first = guess();
    let last = (0..9).fold(first, |_, _| guess());
    println!("the first guess took {first:?}, the tenth {last:?}");
    assert!(last > first + Duration::from_millis(400), "{last:?} after {first:?}");
    inside.read(0, 0, 1).unwrap();
    enter_with(port, &Login { chap: Some(chap(SECRET, Algorithm::Md5)), ..login() }).unwrap();
}
