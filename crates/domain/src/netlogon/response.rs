//! The response of NTLMv2 to a challenge of our own, for a user whose password has come in the clear: MS-NLMP 3.3.2.

use std::time::SystemTime;

use ::wire::Writer;
use auth::ntlm_v2::{hmac_md5, response_key};
use auth::{MemberNames, NtlmResponse, nt_hash};

/// AvId, MS-NLMP 2.2.2.1.
const END: u16 = 0;
const COMPUTER: u16 = 1;
const DOMAIN: u16 = 2;
const HOST: u16 = 3;
const DNS_DOMAIN: u16 = 4;
const TIMESTAMP: u16 = 7;
/// From 1601, where a FILETIME begins, to 1970, in units of 100 ns.
const EPOCH: u64 = 116_444_736_000_000_000;

/// What the response is made of, besides the user and the password.
pub(super) struct Fresh {
    pub(super) challenge: [u8; 8],
    pub(super) of_client: [u8; 8],
    pub(super) now: SystemTime,
}

/// The response. The user is `alice`, `LAB\alice` or `alice@lab.test`.
pub(super) fn make(user: &str, password: &str, names: &MemberNames, fresh: &Fresh) -> NtlmResponse {
    let (domain, user) = match user.split_once('\\') {
        Some((domain, user)) => (domain, user),
        None if user.contains('@') => ("", user), // the name with its domain, MS-NLMP 2.2.1.3
        None => (&*names.short, user),
    };
    let key = response_key(&nt_hash(password), &units(user), &units(domain));
    let temp = temp(names, fresh);
    let proof = hmac_md5(&key, &[&fresh.challenge, &temp]);
    NtlmResponse {
        user: user.to_owned(),
        domain: domain.to_owned(),
        workstation: names.computer.clone(),
        challenge: fresh.challenge,
        nt: [&proof[..], &temp].concat(),
        lm: vec![0; 24],
    }
}

/// NTLMv2_CLIENT_CHALLENGE, MS-NLMP 2.2.2.7.
fn temp(names: &MemberNames, fresh: &Fresh) -> Vec<u8> {
    let since = fresh.now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = (EPOCH + (since.as_nanos() / 100) as u64).to_le_bytes();
    let mut w = Writer::new();
    w.put(&[1, 1, 0, 0, 0, 0, 0, 0]);
    w.put(&now);
    w.put(&fresh.of_client);
    w.zeros(4);
    let texts = [
        (DOMAIN, &names.short),
        (COMPUTER, &names.computer),
        (DNS_DOMAIN, &names.domain),
        (HOST, &names.host),
    ];
    for (id, text) in texts {
        pair(&mut w, id, &units(text).into_iter().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    }
    pair(&mut w, TIMESTAMP, &now);
    pair(&mut w, END, &[]);
    w.zeros(4);
    w.into_bytes()
}

fn pair(w: &mut Writer, id: u16, value: &[u8]) {
    w.u16_le(id);
    w.u16_le(value.len() as u16);
    w.put(value);
}

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> MemberNames {
        let text = str::to_owned;
        MemberNames {
            computer: text("FILER"),
            host: text("filer.lab.test"),
            short: text("LAB"),
            domain: text("lab.test"),
        }
    }

    #[test]
    fn the_user_may_have_a_domain_in_front_or_behind() {
        let now = SystemTime::UNIX_EPOCH;
        let fresh = Fresh { challenge: [1; 8], of_client: [2; 8], now };
        let of = |user| {
            let response = make(user, "secret", &names(), &fresh);
            (response.domain, response.user)
        };
        let pair = |domain: &str, user: &str| (domain.to_owned(), user.to_owned());
        assert_eq!(of("alice"), pair("LAB", "alice"));
        assert_eq!(of("OTHER\\bob"), pair("OTHER", "bob"));
        assert_eq!(of("alice@lab.test"), pair("", "alice@lab.test"));
    }

    /// MS-NLMP 3.3.2, as a server verifies it.
    #[test]
    fn the_response_proves_the_password_and_names_this_server() {
        let fresh = Fresh {
            challenge: [1; 8],
            of_client: [2; 8],
            now: SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1),
        };
        let response = make("alice", "Password", &names(), &fresh);
        let key = response_key(&nt_hash("Password"), &units("ALICE"), &units("LAB"));
        let (proof, temp) = response.nt.split_at(16);
        assert_eq!(proof, hmac_md5(&key, &[&[1; 8], temp]));
        assert_eq!(temp[8..16], 116_444_736_010_000_000_u64.to_le_bytes());
        assert_eq!(temp[28..38], *b"\x02\0\x06\0L\0A\0B\0");
        assert_eq!(temp[38..52], *b"\x01\0\x0a\0F\0I\0L\0E\0R\0");
        assert!(temp.ends_with(&[0; 8]));
    }
}
