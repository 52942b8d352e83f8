//! The API over HTTP, in front of a server that is made up.

use web::testing::{CONFIDENTIAL, Fixture};

thread_local! {
    static FIXTURE: Fixture = Fixture::new();
}

/// What a client sends that has neither a token nor a session: HTTP/1.1 or 2, cookies, tokens, logins.
pub fn connection(input: &[u8]) {
    let answer = FIXTURE.with(|fixture| fixture.connection(input));
    let has = |text: &str| answer.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(!has(CONFIDENTIAL), "{}", answer.escape_ascii());
}

/// What an administrator sends: paths, parameters, bodies in JSON.
pub fn requests(input: &[u8]) {
    let Ok(input) = std::str::from_utf8(input) else { return };
    let status = FIXTURE.with(|fixture| fixture.request(input));
    assert!(status.is_none_or(|status| status.as_u16() != 500), "{input:?}");
}
