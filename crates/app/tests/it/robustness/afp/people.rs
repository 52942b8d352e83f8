//! Guessed passwords.

use std::time::{Duration, Instant};

use ::afp::client::{Client, ClientLogin};
use ::afp::wire::ResultCode;

use super::client::{Afp, connect};
use crate::robustness::server::{Server, USER, folder};

/// One attempt; returns the answer, and its time.
fn guess(port: u16, name: &str, password: &str) -> (ResultCode, Duration) {
    let mut client = Client::open(connect(port).unwrap()).unwrap();
    let begun = Instant::now();
    let refused = client.log_in("AFP3.4", &ClientLogin::Cleartext { name, password }).unwrap_err();
    (refused.code().expect("an answer"), begun.elapsed())
}

#[test]
fn wrong_passwords_are_answered_more_slowly_and_lock_out_no_account() {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let port = server.afp_port;
    let mut inside = Afp::enter(port);
    let first = guess(port, USER.0, "wrong");
    assert_eq!(first.0, ResultCode::USER_NOT_AUTH); // Apple Filing Protocol Reference, FPLogin
    let begun = Instant::now();
    let mut last = first.1;
    for number in 0..9 {
        let (code, took) = guess(port, USER.0, &format!("wrong{number}"));
        assert_eq!(code, ResultCode::USER_NOT_AUTH);
        last = took;
    }
    println!("the first guess took {:?}, the tenth {last:?}, all {:?}", first.1, begun.elapsed());
    assert!(last > first.1 + Duration::from_millis(400), "{last:?} after {:?}", first.1);
    inside.parameters_of_root();
    Afp::enter(port).parameters_of_root(); // the right password succeeds
}

#[test]
fn an_unknown_user_is_answered_like_a_wrong_password() {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let (unknown, wrong) = (guess(server.afp_port, "nobody-here", "x"), guess(server.afp_port, USER.0, "x"));
    println!("unknown: {unknown:?}, wrong: {wrong:?}");
    assert_eq!(unknown.0, wrong.0);
}
