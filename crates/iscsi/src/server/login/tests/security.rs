//! AuthMethod and CHAP, RFC 7143 section 12.

use super::*;
use crate::server::chap::{Algorithm, Challenge};
use crate::wire::keys::hexadecimal_of;

/// The value of a key in the server's text.
fn value<'a>(told: &'a str, key: &str) -> &'a str {
    told.split('|').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('=')).unwrap()
}

/// The response to a challenge with this secret.
fn answer(told: &str, name: &str, secret: &str) -> String {
    let algorithm = Algorithm::of(value(told, "CHAP_A")).unwrap();
    let challenge = Challenge::of(algorithm, value(told, "CHAP_I"), value(told, "CHAP_C")).unwrap();
    format!("CHAP_N={name}|CHAP_R={}|", hexadecimal_of(&challenge.answer(secret.as_bytes())))
}

/// Goes on until the challenge.
fn challenged(client: &mut Client, target: &str, algorithms: &str) -> String {
    let told = client.say(SECURITY, Some(OPERATIONAL), &(hello(target) + "AuthMethod=CHAP,None|")).text(None);
    assert_eq!(value(&told, "AuthMethod"), "CHAP");
    client.say(SECURITY, None, &format!("CHAP_A={algorithms}|")).text(None)
}

/// A complete login.
fn log_in(client: &mut Client, target: &str, name: &str, secret: &str) -> LoginAnswer {
    let told = challenged(client, target, "5");
    let text = answer(&told, name, secret);
    client.say(SECURITY, Some(FULL), &text)
}

#[test]
fn a_login_with_the_secret_succeeds() {
    for (offered, taken, bytes) in [("5", "5", 16), ("7,6,5", "7", 32), ("8,6", "6", 20)] {
        let mut client = Client::new();
        let told = challenged(&mut client, ADAS, offered);
        assert_eq!(value(&told, "CHAP_A"), taken);
        assert_eq!(value(&told, "CHAP_I"), "17");
        assert_eq!(value(&told, "CHAP_C"), format!("0x{}", "11".repeat(bytes)));
        let text = answer(&told, "ada", "secret of ada");
        assert_eq!(client.say(SECURITY, Some(OPERATIONAL), &text).text(Some(OPERATIONAL)), "");
        let (_, logged_in) = client.say(OPERATIONAL, Some(FULL), "").logged_in();
        assert_eq!(logged_in.account.as_deref(), Some("ada"));
    }
}

#[test]
fn the_login_with_chap_of_rfc_7143_appendix_b() {
    let mut client = Client::new();
    let text = hello(ADAS) + "AuthMethod=KRB5,CHAP,None|";
    let told = client.say(SECURITY, Some(OPERATIONAL), &text).text(None);
    assert!(told.ends_with("|AuthMethod=CHAP|"), "{told}");
    let told = client.say(SECURITY, None, "CHAP_A=8,5|").text(None);
    assert_eq!(value(&told, "CHAP_A"), "5");
    let text = answer(&told, "ada", "secret of ada") + "CHAP_I=1|CHAP_C=0b3q2+7w==|";
    let told = client.say(SECURITY, Some(OPERATIONAL), &text).text(Some(OPERATIONAL));
    assert!(told.starts_with("CHAP_N=studio|CHAP_R=0x"), "{told}");
    let told = client.say(OPERATIONAL, None, "FirstBurstLength=8192|").text(None);
    assert_eq!(told, "FirstBurstLength=8192|MaxRecvDataSegmentLength=1048576|");
    assert_eq!(client.say(OPERATIONAL, None, "MaxBurstLength=8192|").text(None), "MaxBurstLength=8192|");
    let (told, logged_in) = client.say(OPERATIONAL, Some(FULL), "").logged_in();
    assert_eq!(told, "");
    assert_eq!((logged_in.parameters.first_burst, logged_in.parameters.max_burst), (8192, 8192));
}

#[test]
fn a_response_is_checked_against_hashes_that_others_computed() {
    // printf '\021secret of ada' and 16 bytes of 0x11 behind it, through md5sum.
    let mut client = Client::new();
    challenged(&mut client, ADAS, "5");
    client.say(SECURITY, Some(FULL), "CHAP_N=ada|CHAP_R=0x6255c9f83fa04cda05d92f09924dc43b|").logged_in();
    let mut client = Client::new();
    challenged(&mut client, ADAS, "5");
    client.say(SECURITY, Some(FULL), "CHAP_N=ada|CHAP_R=0bYlXJ+D+gTNoF2S8Jkk3EOw==|").logged_in();
}

#[test]
fn the_target_says_who_it_is_when_the_secret_is_asked_for() {
    let mut client = Client::new();
    let told = client.say(SECURITY, None, &(hello(ADAS) + "AuthMethod=CHAP|")).text(None);
    assert_eq!(told, "TargetPortalGroupTag=1|TargetAlias=Ada's disk|AuthMethod=CHAP|");
}

#[test]
fn a_wrong_secret_and_an_unknown_name_are_answered_alike() {
    for (name, secret) in [
        ("ada", "secret of bob"),
        ("ada", ""),
        ("nobody", "secret of ada"),
        ("nobody", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), // hashed although there is no secret
        ("grace", "secret of grace"),                   // disabled
        ("bob", "bob"),                                 // has no CHAP secret
    ] {
        assert_eq!(log_in(&mut Client::new(), MEMBERS, name, secret).refused(), (2, 1), "{name} {secret}");
    }
}

#[test]
fn the_case_of_an_accounts_name_does_not_matter() {
    log_in(&mut Client::new(), MEMBERS, "Ada", "secret of ada").logged_in();
}

#[test]
fn an_account_that_is_not_for_a_target_is_not_let_in() {
    log_in(&mut Client::new(), MEMBERS, "eve", "secret of eve").logged_in();
    assert_eq!(log_in(&mut Client::new(), ADAS, "eve", "secret of eve").refused(), (2, 2));
}

#[test]
fn only_guests_pass_the_security_stage_without_a_proof() {
    let begin = |target: &str, stage: Stage, next: Stage, method: &str| {
        Client::new().say(stage, Some(next), &(hello(target) + method))
    };
    assert_eq!(begin(ADAS, SECURITY, OPERATIONAL, "").refused(), (2, 1));
    assert_eq!(begin(ADAS, SECURITY, FULL, "").refused(), (2, 1));
    assert_eq!(begin(ADAS, OPERATIONAL, FULL, "").refused(), (2, 1));
    assert_eq!(begin(ADAS, SECURITY, OPERATIONAL, "AuthMethod=None|").refused(), (2, 1));
    assert_eq!(begin(OPEN, SECURITY, OPERATIONAL, "AuthMethod=KRB5,SRP|").refused(), (2, 1));
    assert_eq!(begin(OPEN, SECURITY, OPERATIONAL, "AuthMethod=Reject|").refused(), (2, 1));
    begin(OPEN, SECURITY, FULL, "AuthMethod=KRB5,None,CHAP|").logged_in();
    let told = begin(ADAS, SECURITY, OPERATIONAL, "AuthMethod=None,CHAP|").text(None);
    assert_eq!(value(&told, "AuthMethod"), "CHAP");

    let mut client = Client::new();
    client.say(OPERATIONAL, None, &hello(OPEN)).text(None);
    assert_eq!(Client::new().say(OPERATIONAL, None, &hello(ADAS)).refused(), (2, 1));
}

#[test]
fn a_chosen_authentication_must_be_completed() {
    let mut client = Client::new();
    challenged(&mut client, OPEN, "5");
    assert_eq!(client.say(SECURITY, Some(FULL), "").refused(), (2, 1));
    let mut client = Client::new();
    client.say(SECURITY, None, &(hello(OPEN) + "AuthMethod=CHAP|")).text(None);
    assert_eq!(client.say(SECURITY, Some(FULL), "").refused(), (2, 1));
    assert_eq!(log_in(&mut Client::new(), OPEN, "ada", "wrong").refused(), (2, 1));
}

#[test]
fn steps_are_in_order() {
    let begun = || {
        let mut client = Client::new();
        client.say(SECURITY, None, &(hello(ADAS) + "AuthMethod=CHAP|")).text(None);
        client
    };
    assert_eq!(begun().say(SECURITY, None, "CHAP_N=ada|CHAP_R=0x00|").refused(), (2, 1));
    assert_eq!(begun().say(SECURITY, None, "CHAP_A=8|").refused(), (2, 1));
    assert_eq!(begun().say(SECURITY, None, "CHAP_A=None|").refused(), (2, 1));
    let mut client = Client::new();
    assert_eq!(client.say(SECURITY, None, &(hello(ADAS) + "CHAP_A=5|")).refused(), (2, 1));
    for wrong in ["CHAP_N=ada|", "CHAP_R=0x00|", "CHAP_N=ada|CHAP_R=17|", "CHAP_N=ada|CHAP_R=0x|"] {
        let mut client = Client::new();
        challenged(&mut client, ADAS, "5");
        assert_eq!(client.say(SECURITY, None, wrong).refused(), (2, 1), "{wrong}");
    }
}

#[test]
fn an_answer_is_for_one_challenge() {
    let mut first = Client::new();
    let told = challenged(&mut first, ADAS, "5");
    let heard = answer(&told, "ada", "secret of ada");
    first.say(SECURITY, Some(FULL), &heard).logged_in();

    let mut replaying = Client::of(Arc::new(House { random: 0x12, ..House::new() }));
    challenged(&mut replaying, ADAS, "5");
    assert_eq!(replaying.say(SECURITY, Some(FULL), &heard).refused(), (2, 1));

    // A challenge cannot be answered again after a failure.
    let mut guessing = Client::new();
    let told = challenged(&mut guessing, ADAS, "5");
    guessing.say(SECURITY, Some(FULL), "CHAP_N=ada|CHAP_R=0x00|").refused();
    let right = answer(&told, "ada", "secret of ada");
    assert_eq!(guessing.say(SECURITY, Some(FULL), &right).refused(), (2, 0));
}

#[test]
fn the_target_proves_its_name_on_request() {
    let mut client = Client::new();
    let told = challenged(&mut client, ADAS, "5");
    let text = answer(&told, "ada", "secret of ada") + "CHAP_I=9|CHAP_C=0x0102030405060708090a0b0c0d0e0f10|";
    let (told, _) = client.say(SECURITY, Some(FULL), &text).logged_in();
    let theirs = Challenge::of(Algorithm::Md5, "9", "0x0102030405060708090a0b0c0d0e0f10").unwrap();
    assert_eq!(value(&told, "CHAP_N"), "studio");
    assert_eq!(value(&told, "CHAP_R"), hexadecimal_of(&theirs.answer(b"secret of the studio")));
}

/// A login with a right response, and a challenge from the initiator.
fn both_ways(house: House, challenge: &str) -> LoginAnswer {
    let mut client = Client::of(Arc::new(house));
    let told = challenged(&mut client, ADAS, "5");
    let text = answer(&told, "ada", "secret of ada") + challenge;
    client.say(SECURITY, Some(FULL), &text)
}

#[test]
fn a_challenge_given_back_is_not_answered() {
    let own = format!("CHAP_I=17|CHAP_C=0x{}|", "11".repeat(16));
    assert_eq!(both_ways(House::new(), &own).refused(), (2, 1));
    let own_with_another_number = format!("CHAP_I=18|CHAP_C=0b{}EQ==|", "ERER".repeat(5));
    assert_eq!(both_ways(House::new(), &own_with_another_number).refused(), (2, 1));
}

#[test]
fn one_secret_is_not_for_both_directions() {
    let own = Some(OwnSecret { name: "studio".into(), secret: b"secret of ada".to_vec() });
    let house = || House { own: own.clone(), ..House::new() };
    assert_eq!(both_ways(house(), "CHAP_I=9|CHAP_C=0x0102|").refused(), (2, 1));
    assert_eq!(both_ways(house(), "").refused(), (2, 1)); // a verifier knows this secret
}

#[test]
fn a_challenge_that_the_server_cannot_answer_is_refused() {
    let mine = "CHAP_I=9|CHAP_C=0x0102|";
    assert_eq!(both_ways(House { own: None, ..House::new() }, mine).refused(), (2, 1));
    let own = Some(OwnSecret { name: "studio".into(), secret: b"too short".to_vec() });
    assert_eq!(both_ways(House { own, ..House::new() }, mine).refused(), (2, 1));
    for half in ["CHAP_I=9|", "CHAP_C=0x0102|", "CHAP_I=256|CHAP_C=0x0102|", "CHAP_I=9|CHAP_C=258|"] {
        assert_eq!(both_ways(House::new(), half).refused(), (2, 1), "{half}");
    }
    let long = format!("CHAP_I=9|CHAP_C=0x{}|", "01".repeat(1025));
    assert_eq!(both_ways(House::new(), &long).refused(), (2, 1));
}

#[test]
fn wrong_secrets_delay_only_the_guessing_initiator() {
    let house = Arc::new(House::new());
    let mut now = Instant::now();
    let mut waited = |secret: &str| {
        let mut client = Client { now, ..Client::of(house.clone()) };
        let told = log_in(&mut client, ADAS, "ada", secret);
        let wait = client.now - std::mem::replace(&mut now, client.now);
        (matches!(told, LoginAnswer::In(..)), wait.as_millis())
    };
    let guesses: Vec<_> = (0..8).map(|_| waited("guess").1).collect();
    assert_eq!(guesses, [0, 0, 0, 0, 0, 250, 500, 1000]);
    assert_eq!(waited("secret of ada"), (true, 2000));
    assert_eq!(waited("secret of ada"), (true, 0));
    let wrong: Vec<_> = (0..8).map(|_| waited("guess").1).collect();
    assert_eq!(wrong, [0, 0, 0, 0, 0, 250, 500, 1000]);
    assert_eq!(waited("secret of ada"), (true, 0));
}

#[test]
fn the_log_has_the_claimed_name_and_the_reason_of_the_refusal() {
    for (name, reason) in [
        ("ada", "the CHAP secret is wrong"),
        ("nobody", "there is no such account"),
        ("grace", "the account is disabled"),
        ("bob", "the account has no CHAP secret"),
    ] {
        let mut client = Client::new();
        let told = challenged(&mut client, ADAS, "5");
        client.say(SECURITY, Some(FULL), &answer(&told, name, "guess")).refused();
        let claim = client.claim();
        assert_eq!((&*claim.user, claim.method, claim.reason), (name, "CHAP", Some(reason)));
    }
}

#[test]
fn a_login_that_is_not_looked_at_is_not_called_a_wrong_secret() {
    let house = Arc::new(House::new());
    let (guard, now) = (house.login_guard.clone(), Instant::now());
    while let Some(attempt) = guard.limiter.admit(peer().address.ip(), "somebody", now) {
        guard.limiter.failed(&attempt, now);
    }
    let mut client = Client { now, ..Client::of(house) };
    let told = challenged(&mut client, ADAS, "5");
    let right = answer(&told, "ada", "secret of ada");
    assert_eq!(client.say(SECURITY, Some(FULL), &right).refused(), (3, 2)); // RFC 7143 11.13.5: out of resources
}
