use std::collections::VecDeque;
use std::sync::Mutex;

use auth::srp::{IdentityHash, Verifier};
use auth::{Identity, Refusal, Secret};
use wire::Reader;
use wire::hex;

use super::*;
use crate::wire::command;
use crate::wire::login::{ChangePassword, Continue, Login, LoginCont, LoginExt};

/// Recorded messages between other projects' clients and this server.
const RECORDED: &str = include_str!("recorded.txt");
const PASSWORD: &str = "Geheim42";

/// A directory with only "tester", which may be disabled.
struct People {
    disabled: bool,
}

impl Accounts for People {
    fn find(&self, name: &str) -> Option<Account> {
        let salt = RECORDED.lines().find_map(|line| line.strip_prefix("salt "));
        let verifier = Verifier::of("tester", PASSWORD, hex::decode(salt.unwrap()).unwrap());
        let secrets = vec![Secret::Srp(Box::new(verifier)), Secret::legacy(PASSWORD).unwrap()];
        let identity = Identity::new(1000, 100, &[]);
        (name == "tester").then(|| Account { name: name.into(), identity, disabled: self.disabled, secrets })
    }

    fn verify(&self, name: &str, password: &str) -> Result<Account, Refusal> {
        let account = self.find(name).ok_or(Refusal::Unknown)?;
        match password == PASSWORD {
            false => Err(Refusal::WrongPassword),
            true if account.disabled => Err(Refusal::Disabled),
            true => Ok(account),
        }
    }
}

/// The same account while its password is read from a file at each start: no verifier is stored.
struct OfThisRun;

impl Accounts for OfThisRun {
    fn find(&self, name: &str) -> Option<Account> {
        let stored = People { disabled: false }.find(name)?;
        let hash = IdentityHash::of("tester", PASSWORD, stored.verifier()?.salt);
        Some(Account { secrets: vec![Secret::IdentityHash(Box::new(hash))], ..stored })
    }

    fn verify(&self, _: &str, _: &str) -> Result<Account, Refusal> {
        Err(Refusal::Unknown)
    }
}

/// A recorded login.
struct Recording {
    method: UamMethod,
    random: Vec<Vec<u8>>,
    /// The client's messages and the answers.
    steps: Vec<(Vec<u8>, i32, Vec<u8>)>,
}

fn bytes(hex: &str) -> Vec<u8> {
    wire::hex::decode_any(hex).unwrap()
}

fn recording(method: UamMethod) -> Recording {
    recorded("method", method)
}

/// The lines of the recording with this title, for this method.
fn recorded(what: &str, method: UamMethod) -> Recording {
    let heading = format!("{what} {}", str::from_utf8(method.name()).unwrap());
    let lines = RECORDED.lines().skip_while(|line| *line != heading).skip(1);
    let mut recording = Recording { method, random: Vec::new(), steps: Vec::new() };
    let mut said = Vec::new();
    let is_part = |line: &&str| ["random ", "client ", "server "].iter().any(|part| line.starts_with(part));
    for line in lines.take_while(is_part) {
        match line.split_once(' ').unwrap() {
            ("random", hex) => recording.random.push(bytes(hex)),
            ("client", hex) => said = bytes(hex),
            (_, reply) => {
                let (code, hex) = reply.split_once(' ').unwrap_or((reply, ""));
                recording.steps.push((said.clone(), code.parse().unwrap(), bytes(hex)));
            }
        }
    }
    assert!(!recording.steps.is_empty());
    recording
}

/// The result of a login, and the answers on the way.
struct LoginReplay {
    result: Result<Account, ResultCode>,
    answers: Vec<(i32, Vec<u8>)>,
}

/// Returns the recorded random bytes, once.
fn drawing(recording: &Recording) -> impl Fn(&mut [u8]) -> bool {
    let drawn = Mutex::new(recording.random.iter().cloned().collect::<VecDeque<_>>());
    move |bytes: &mut [u8]| {
        let drawn = drawn.lock().unwrap().pop_front();
        drawn.is_some_and(|drawn| bytes.len() == drawn.len() && (bytes.copy_from_slice(&drawn), true).1)
    }
}

/// Plays the client's side of a recording, with these accounts, as this user.
fn play(recording: &Recording, people: &dyn Accounts, user: &str) -> LoginReplay {
    let random = drawing(recording);
    let judge = UamContext { accounts: people, has_domain: false, random: &random, decoy: b"decoy" };
    let mut answers = Vec::new();
    let (mut exchange, mut id) = (None::<UamExchange>, 0);
    for (said, _, _) in &recording.steps {
        let outcome = match exchange.take() {
            None => start(recording.method, user, &first_info(said), &judge),
            Some(exchange) => {
                let request = LoginCont::decode(&mut Reader::new(&said[1..])).unwrap();
                assert_eq!(request.id, id);
                exchange.next(request.info, &judge)
            }
        };
        match outcome {
            Ok(UamStep::Continue(info, next)) => {
                id = next.id_after(id);
                let mut w = wire::Writer::new();
                Continue { id, info: &info }.encode(&mut w);
                answers.push((-5001, w.into_bytes()));
                exchange = Some(next);
            }
            Ok(UamStep::Done(account, info) | UamStep::Entered { account, reply: info, .. }) => {
                answers.push((0, info));
                return LoginReplay { result: Ok(account), answers };
            }
            Ok(UamStep::OfDomain(_)) => panic!("there is no domain"),
            Err(code) => return LoginReplay { result: Err(code), answers },
        }
    }
    panic!("the recording has no more messages");
}

/// A server without accounts: its users are those of a domain.
struct WithoutAccounts;

impl Accounts for WithoutAccounts {
    fn find(&self, _: &str) -> Option<Account> {
        None
    }

    fn verify(&self, _: &str, _: &str) -> Result<Account, Refusal> {
        Err(Refusal::Unknown)
    }
}

/// What a domain controller is asked when the client's side of a recording is played.
fn asked(recording: &Recording, accounts: &dyn Accounts) -> Option<(String, String)> {
    let random = drawing(recording);
    let judge = UamContext { accounts, has_domain: true, random: &random, decoy: b"decoy" };
    let mut exchange = None::<UamExchange>;
    for (said, _, _) in &recording.steps {
        let outcome = match exchange.take() {
            None => start(recording.method, "tester", &first_info(said), &judge),
            Some(exchange) => {
                let request = LoginCont::decode(&mut Reader::new(&said[1..])).unwrap();
                exchange.next(request.info, &judge)
            }
        };
        match outcome {
            Ok(UamStep::Continue(_, next)) => exchange = Some(next),
            Ok(UamStep::OfDomain(credentials)) => return Some((credentials.user, credentials.password)),
            _ => return None,
        }
    }
    None
}

#[test]
fn a_domain_controller_is_asked_about_whole_passwords_of_users_that_have_none_here() {
    let credentials = Some(("tester".to_owned(), PASSWORD.to_owned()));
    for method in [UamMethod::Dhx2, UamMethod::Dhx] {
        assert_eq!(asked(&recording(method), &WithoutAccounts), credentials, "{method:?}");
        assert_eq!(asked(&recording(method), &People { disabled: false }), None, "{method:?}");
    }
    assert_eq!(
        asked(&recording(UamMethod::Cleartext), &WithoutAccounts),
        None,
        "it sends eight characters at most"
    );
}

/// The method's own part of the first command.
fn first_info(said: &[u8]) -> Vec<u8> {
    let r = &mut Reader::new(&said[1..]);
    match said[0] {
        command::LOGIN => {
            let login = Login::decode(r).unwrap();
            assert_eq!(typed(login.user), "tester");
            login.info.to_vec()
        }
        _ => {
            let login = LoginExt::decode(r).unwrap();
            assert_eq!((login.user, login.directory), (&b"tester"[..], &b""[..]));
            login.info.to_vec()
        }
    }
}

const WITH_ACCOUNTS: [UamMethod; 6] = [
    UamMethod::Dhx2,
    UamMethod::Srp,
    UamMethod::Dhx,
    UamMethod::TwoWayRandnum,
    UamMethod::Randnum,
    UamMethod::Cleartext,
];

#[test]
fn somebody_elses_client_is_let_in_and_answered_as_it_took_it() {
    for method in WITH_ACCOUNTS {
        let recording = recording(method);
        let played = play(&recording, &People { disabled: false }, "tester");
        assert_eq!(played.result.unwrap().name, "tester");
        let recorded: Vec<_> =
            recording.steps.iter().map(|(_, code, reply)| (*code, reply.clone())).collect();
        assert_eq!(played.answers, recorded, "{method:?}");
    }
}

#[test]
fn a_verifier_that_is_derived_at_the_login_is_the_stored_one() {
    let recording = recording(UamMethod::Srp);
    let played = play(&recording, &OfThisRun, "tester");
    assert_eq!(played.result.unwrap().name, "tester");
    let recorded: Vec<_> = recording.steps.iter().map(|(_, code, reply)| (*code, reply.clone())).collect();
    assert_eq!(played.answers, recorded);
    assert!(play(&recording, &OfThisRun, "nobody").result.is_err());
}

#[test]
fn nmap_is_let_in() {
    let recording = recorded("nmap", UamMethod::Dhx);
    assert!(play(&recording, &People { disabled: false }, "tester").result.is_ok());
}

/// Plays a change of a password; returns the new and the old one.
fn play_change(recording: &Recording) -> Result<(String, String), ResultCode> {
    let people = People { disabled: false };
    let random = drawing(recording);
    let judge = UamContext { accounts: &people, has_domain: false, random: &random, decoy: b"decoy" };
    let mut change = None::<change::ChangeExchange>;
    for (id, (said, _, reply)) in (0_u16..).zip(&recording.steps) {
        let request = ChangePassword::decode(&mut Reader::new(&said[1..])).unwrap();
        let step = match change.take() {
            None => change::start(recording.method, request.info, &judge)?,
            Some(change) => {
                assert_eq!(request.info[..2], id.to_be_bytes());
                change.next(&request.info[2..], &judge)?
            }
        };
        match step {
            change::ChangeStep::Continue(info, next) => {
                let answered = Continue { id: id + 1, info: &info };
                assert_eq!(Continue::decode(&mut Reader::new(reply)), Ok(answered));
                change = Some(next);
            }
            change::ChangeStep::Passwords { new, old } => return Ok((new, old)),
        }
    }
    panic!("the recording has no more messages");
}

#[test]
fn somebody_elses_client_changes_a_password() {
    for method in [UamMethod::Dhx2, UamMethod::Dhx, UamMethod::Cleartext] {
        let played = play_change(&recorded("change", method));
        assert_eq!(played, Ok(("Neues123".into(), PASSWORD.into())), "{method:?}");
    }
    let mut forged = recorded("change", UamMethod::Dhx2);
    forged.steps[2].0[14] ^= 1; // in the nonce
    assert_eq!(play_change(&forged), Err(ResultCode::USER_NOT_AUTH));
    forged.steps[2].0.truncate(500);
    assert_eq!(play_change(&forged), Err(ResultCode::PARAM_ERROR));
}

#[test]
fn unknown_disabled_and_wrong_logins_are_refused_alike() {
    for method in WITH_ACCOUNTS {
        let recording = recording(method);
        let steps = recording.steps.len() - 1;
        let people = People { disabled: false };
        let refused = |played: LoginReplay| {
            assert_eq!(played.result.unwrap_err(), ResultCode::USER_NOT_AUTH, "{method:?}");
            assert_eq!(played.answers.len(), steps, "{method:?}");
            played.answers.iter().map(|(_, reply)| reply.len()).collect::<Vec<_>>()
        };
        let mut lengths = vec![refused(play(&recording, &people, "nobody"))];
        lengths.push(refused(play(&recording, &People { disabled: true }, "tester")));
        let mut wrong = recording;
        let (said, _, _) = wrong.steps.last_mut().unwrap();
        let at = said.len() - if method == UamMethod::TwoWayRandnum { 9 } else { 1 };
        said[at] ^= 2;
        // The zeros at the password's end do not matter, but its first block and the nonce do.
        if matches!(method, UamMethod::Dhx2 | UamMethod::Dhx) {
            said[20] ^= 2;
        }
        lengths.push(refused(play(&wrong, &people, "tester")));
        lengths.dedup();
        assert_eq!(lengths.len(), 1, "{method:?}");
    }
}

#[test]
fn an_unknown_name_has_the_same_salt_each_time() {
    let recording = recording(UamMethod::Srp);
    let people = People { disabled: false };
    let salt = |user| play(&recording, &people, user).answers[0].1[203..219].to_vec();
    assert_eq!(salt("nobody"), salt("nobody"));
    assert_ne!(salt("nobody"), salt("somebody"));
    assert_eq!(hex::encode(&salt("tester")), "90120da9b6d95119349e9c9109a5da5a");
}

#[test]
fn numbers_of_a_client_that_would_make_the_key_known_are_refused() {
    let people = People { disabled: false };
    for (method, step, at, length) in
        [(UamMethod::Dhx2, 1, 4, 128), (UamMethod::Dhx, 0, 26, 16), (UamMethod::Srp, 1, 8, 192)]
    {
        let prime = match method {
            UamMethod::Dhx2 => recording(method).steps[0].2[8..136].to_vec(),
            UamMethod::Dhx => bytes("ba2873dfb06057d43f2024744ceee75b"),
            _ => auth::srp::modulus().to_vec(),
        };
        let mut numbers = vec![vec![0; length], prime.clone()];
        if method != UamMethod::Srp {
            let one = [vec![0; length - 1], vec![1]].concat();
            let minus_one = [&prime[..length - 1], &[prime[length - 1] - 1]].concat();
            numbers.extend([one, minus_one, vec![0xff; length]]);
        }
        for number in numbers {
            let mut recording = recording(method);
            recording.steps[step].0[at..at + length].copy_from_slice(&number);
            let played = play(&recording, &people, "tester");
            assert_eq!(played.result.unwrap_err(), ResultCode::USER_NOT_AUTH, "{method:?} {number:?}");
            assert_eq!(played.answers.len(), step);
        }
    }
}

#[test]
fn any_step_cut_short_is_refused() {
    let people = People { disabled: false };
    for method in WITH_ACCOUNTS {
        let whole = recording(method);
        for step in 1..whole.steps.len() {
            for length in (4..whole.steps[step].0.len()).step_by(9) {
                let mut cut = recording(method);
                cut.steps[step].0.truncate(length);
                assert!(play(&cut, &people, "tester").result.is_err(), "{method:?} {step} {length}");
            }
        }
    }
}

#[test]
fn ten_bytes_more_than_a_login_by_dhx2_needs_are_passed_over() {
    let mut recording = recording(UamMethod::Dhx2);
    recording.steps[2].0.extend([0; 10]);
    assert!(play(&recording, &People { disabled: false }, "tester").result.is_ok());
}

#[test]
fn what_was_typed_ends_at_the_first_zero_and_may_be_macroman() {
    assert_eq!(typed(b"abc\0def"), "abc");
    assert_eq!(typed("a\u{308}".as_bytes()), "\u{e4}");
    assert_eq!(typed(&[b'k', 0x8a, b's', b'e']), "k\u{e4}se"); // Inside Macintosh, "Roman Character Set"
    assert_eq!(typed(b""), "");
}
