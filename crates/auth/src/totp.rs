//! Codes of authenticator apps: HOTP (RFC 4226) counted by time (TOTP, RFC 6238), and base32 (RFC 4648 6), in which apps take secrets.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

/// Seconds of a step, RFC 6238 4.1.
pub(crate) const STEP_S: u64 = 30;
/// Digits of a code.
pub(crate) const DIGITS: usize = 6;
/// Steps before and after the current one whose codes count: the clocks of the phone and of the server differ, RFC 6238 5.2.
const TOLERANCE: u64 = 1;

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The step of a time in seconds since 1970.
pub(crate) fn step_at(unix_s: u64) -> u64 {
    unix_s / STEP_S
}

/// The value of a counter, RFC 4226 5.3.
///
/// # Panics
/// Never: HMAC takes keys of any length.
fn value(secret: &[u8], counter: u64) -> u32 {
    let mut mac = <Hmac<Sha1> as KeyInit>::new_from_slice(secret).expect("HMAC takes any key");
    mac.update(&counter.to_be_bytes());
    let hash: [u8; 20] = mac.finalize().into_bytes().into();
    let at = usize::from(hash[19] & 0xf);
    u32::from_be_bytes([hash[at] & 0x7f, hash[at + 1], hash[at + 2], hash[at + 3]])
}

/// The code of a step.
pub(crate) fn code(secret: &[u8], step: u64) -> String {
    let number = value(secret, step) % 10_u32.pow(DIGITS as u32);
    format!("{number:0width$}", width = DIGITS)
}

/// The step whose code this is: near the current one, and after `used`, whose code was taken before (RFC 6238 5.2).
pub(crate) fn step_of(secret: &[u8], typed: &str, now: u64, used: u64) -> Option<u64> {
    let steps = now.saturating_sub(TOLERANCE)..=now + TOLERANCE;
    // Each code is computed and compared as a whole, so that the time of an answer tells nothing.
    let found = steps.filter(|step| is_same(&code(secret, *step), typed));
    found.fold(None, |found, step| found.or((step > used).then_some(step)))
}

fn is_same(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |found, (a, b)| found | (a ^ b));
    one.len() == other.len() && differing == 0
}

/// Bytes in base32, without padding.
pub(crate) fn base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for chunk in bytes.chunks(5) {
        let mut all = [0; 8];
        all[3..3 + chunk.len()].copy_from_slice(chunk);
        let bits = u64::from_be_bytes(all);
        for place in 0..(chunk.len() * 8).div_ceil(5) {
            let letter = ALPHABET[((bits >> (35 - 5 * place)) & 0x1f) as usize];
            text.push(char::from(letter));
        }
    }
    text
}

/// The bytes of base32 in any case of letters, without padding. `None`: it is none.
pub(crate) fn of_base32(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes() {
        let wanted = letter.to_ascii_uppercase();
        let value = ALPHABET.iter().position(|known| *known == wanted)?;
        bits = (bits << 5) | value as u32;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    (bits == 0 && count < 5).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn values_are_those_of_rfc_4226_appendix_d() {
        let expected = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871",
            "520489",
        ];
        for (counter, expected) in expected.into_iter().enumerate() {
            assert_eq!(code(SECRET, counter as u64), expected);
        }
    }

    #[test]
    fn codes_are_those_of_rfc_6238_appendix_b() {
        // The last six of the eight digits of the appendix.
        for (time, expected) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(code(SECRET, step_at(time)), expected, "{time}");
        }
    }

    #[test]
    fn a_code_counts_once_and_a_step_early_or_late() {
        for (now, used, expected) in
            [(1, 0, Some(1)), (2, 0, Some(1)), (0, 0, Some(1)), (3, 0, None), (1, 1, None), (2, 5, None)]
        {
            assert_eq!(step_of(SECRET, "287082", now, used), expected, "{now} {used}");
        }
        for wrong in ["", "287083", "28708", "2870820", "２８７０８２"] {
            assert_eq!(step_of(SECRET, wrong, 1, 0), None, "{wrong}");
        }
    }

    #[test]
    fn base32_is_that_of_rfc_4648_10() {
        for (bytes, text) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(bytes.as_bytes()), text);
            assert_eq!(of_base32(&text.to_lowercase()), Some(bytes.as_bytes().to_vec()), "{text}");
        }
        for wrong in ["M", "MZ1", "MZXW6YTB0", "MZ=", "MZXW6Y"] {
            assert_eq!(of_base32(wrong), None, "{wrong}");
        }
    }
}
