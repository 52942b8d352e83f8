//! Logging in and out, Apple Filing Protocol Reference, FPLogin, FPLoginExt, FPLoginCont, FPLogout, FPChangePassword,
//! FPGetAuthMethods.
//!
//! Requests are read and written from the byte after the command's number. A field at an even
//! offset counts its offset from that number.

use wire::{Malformed, Reader, Writer, layout};

use super::Path;
use super::strings::{even, long, pascal, rest};

/// A login without an account.
pub const NO_USER_AUTHENT: &[u8] = b"No User Authent";
/// The unencrypted password, at most eight characters.
pub const CLEARTXT_PASSWRD: &[u8] = b"Cleartxt Passwrd";
/// A random number encrypted with DES.
pub const RANDNUM_EXCHANGE: &[u8] = b"Randnum exchange";
/// The same in both directions.
pub const TWO_WAY_RANDNUM_EXCHANGE: &[u8] = b"2-Way Randnum exchange";
/// Diffie-Hellman over 128 bits.
pub const DHCAST128: &[u8] = b"DHCAST128";
/// Diffie-Hellman over a group of the server's choice.
pub const DHX2: &[u8] = b"DHX2";
/// Secure Remote Password.
pub const SRP: &[u8] = b"SRP";
/// Kerberos 5, by GSS-API.
pub const KERBEROS: &[u8] = b"Client Krb v2";

/// FPLogin, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login<'a> {
    pub version: &'a [u8],
    /// Upper and lower case are equal.
    pub uam: &'a [u8],
    /// In MacRoman. It is the start of the method's own data in all methods with accounts; empty
    /// for guests.
    pub user: &'a [u8],
    /// The rest of the method's own data.
    pub info: &'a [u8],
}

impl<'a> Login<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (version, uam) = (pascal::read(r)?, pascal::read(r)?);
        let user = if r.remaining() > 0 { pascal::read(r)? } else { &[] };
        even::skip(r)?;
        Ok(Self { version, uam, user, info: r.rest() })
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        pascal::put(w, self.version);
        pascal::put(w, self.uam);
        if !self.user.is_empty() || !self.info.is_empty() {
            pascal::put(w, self.user);
            even::pad(w, start);
            w.put(self.info);
        }
    }
}

layout! {
    /// FPLoginExt, request.
    pub struct LoginExt<'a> [1] {
        /// No flag is defined.
        pub flags: u16,
        pub version: &'a [u8] => pascal,
        pub uam: &'a [u8] => pascal,
        /// In UTF-8.
        pub user: &'a [u8] => name,
        /// The folder of Open Directory that has the account. Empty for all.
        pub directory: &'a [u8] => name [even],
        /// The method's own data.
        pub info: &'a [u8] => rest,
    }

    /// FPLoginCont, request: the next step of a method.
    pub struct LoginCont<'a> [1] {
        /// The id from the server.
        pub id: u16,
        pub info: &'a [u8] => rest,
    }

    /// The reply to a step of a login that is not the last one (the result is AUTH_CONTINUE).
    pub struct Continue<'a> {
        /// The id for the next step.
        pub id: u16,
        pub info: &'a [u8] => rest,
    }

    /// The data of the second step of SRP: the client's public number and its proof.
    pub struct SrpProof<'a> {
        /// The number of the message: 3.
        pub step: u16,
        pub number: &'a [u8] => long,
        pub proof: &'a [u8] => long,
    }
}

/// The data of the second step of Kerberos: the client's name, padding, and its token after a length of two bytes.
///
/// The form of the name is not specified, and clients differ: it is a Pascal string, or ends with a zero. Nothing depends on
/// it. So the token is found from the end: it begins at an even place, and begins as RFC 2743 3.1 says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KerberosToken<'a> {
    /// What goes before the token.
    pub name: &'a [u8],
    pub token: &'a [u8],
}

impl<'a> KerberosToken<'a> {
    /// The longest name with its padding: a Pascal string and a zero.
    const MAX_NAME: usize = 258;
    /// The first byte of a token.
    const INITIAL: u8 = 0x60;

    /// Decodes the data of an FPLoginCont.
    pub fn decode(info: &'a [u8]) -> Result<Self, Malformed> {
        let token_at = |at: usize| {
            let (name, rest) = info.split_at_checked(at)?;
            let (length, token) = rest.split_first_chunk()?;
            let is_all = usize::from(u16::from_be_bytes(*length)) == token.len();
            (is_all && token.first() == Some(&Self::INITIAL)).then_some(Self { name, token })
        };
        (0..=Self::MAX_NAME).step_by(2).find_map(token_at).ok_or(Malformed("no token of Kerberos"))
    }
}

layout! {
    /// The server's token, in the reply to the second step of Kerberos.
    pub struct KerberosReply<'a> {
        pub token: &'a [u8] => long,
    }
}

/// FPChangePassword, request. Methods of several steps send it for each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangePassword<'a> {
    pub uam: &'a [u8],
    /// In MacRoman. Empty from AFP 3.0 on: it is the user of the session.
    pub user: &'a [u8],
    /// The method's own data.
    pub info: &'a [u8],
}

impl<'a> ChangePassword<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let uam = pascal::read(r)?;
        even::skip(r)?;
        let user = if r.remaining() > 0 { pascal::read(r)? } else { &[] };
        even::skip(r)?;
        Ok(Self { uam, user, info: r.rest() })
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        w.u8(0);
        pascal::put(w, self.uam);
        even::pad(w, start);
        pascal::put(w, self.user);
        even::pad(w, start);
        w.put(self.info);
    }
}

layout! {
    /// FPGetAuthMethods, request: the login methods for the users of a folder of Open Directory.
    pub struct GetAuthMethods<'a> [1] {
        /// No flag is defined.
        pub flags: u16,
        pub directory: &'a [u8] => name,
    }
}

/// FPGetAuthMethods, reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethods<'a> {
    /// No flag is defined.
    pub flags: u16,
    /// At most 255 methods.
    pub uams: Vec<&'a [u8]>,
}

impl<'a> AuthMethods<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (flags, count) = (r.u16_be()?, r.u8()?);
        let uams = (0..count).map(|_| pascal::read(r)).collect::<Result<_, _>>()?;
        Ok(Self { flags, uams })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_be(self.flags);
        w.u8(self.uams.len() as u8);
        self.uams.iter().take(usize::from(u8::MAX)).for_each(|uam| pascal::put(w, uam));
    }
}

/// An AFPName without a text encoding hint: its kind, its length in two bytes (or one, if it is not UTF-8), its bytes.
mod name {
    use super::*;

    pub(super) fn read<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
        match r.u8()? {
            Path::UTF8 => long::read(r),
            _ => pascal::read(r),
        }
    }

    pub(super) fn put(w: &mut Writer, bytes: &[u8]) {
        w.u8(Path::UTF8);
        long::put(w, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut w = Writer::new();
        encode(&mut w);
        w.into_bytes()
    }

    #[test]
    fn a_login_names_the_version_the_method_and_the_user_who_is_padded_to_an_even_place() {
        // AFP Programming Guide, "Cleartext Password": in both forms, the password is at offset 30,
        // counted from the command's number.
        let padded = b"\x06AFP3.4\x10Cleartxt Passwrd\x03ada\0secret\0\0";
        let bytes = b"\x06AFP3.4\x10Cleartxt Passwrd\x04johnsecret\0\0";
        let login = Login { version: b"AFP3.4", uam: CLEARTXT_PASSWRD, user: b"ada", info: b"secret\0\0" };
        for (bytes, login) in [(&padded[..], login), (&bytes[..], Login { user: b"john", ..login })] {
            assert_eq!(Login::decode(&mut Reader::new(bytes)), Ok(login));
            assert_eq!(written(|w| login.encode(w)), bytes);
        }
    }

    /// Both forms of the name that clients send: with its length, and with a zero at its end.
    #[test]
    fn the_token_of_kerberos_is_behind_a_name_of_any_form() {
        let token = b"\x60\x05\x06\x03abc";
        for name in [&b"\x03ada"[..], b"\x04john\0", b"\0ada\0\0", b"\0john\0", b""] {
            let info = [name, b"\0\x07", token].concat();
            assert_eq!(KerberosToken::decode(&info), Ok(KerberosToken { name, token }));
            for cut in 0..info.len() {
                assert!(KerberosToken::decode(&info[..cut]).is_err());
            }
        }
        assert!(KerberosToken::decode(b"\x03ada\0\x03abc").is_err(), "no token of GSS-API");
        let far = [&[b'a'; 260][..], b"\0\x07", token].concat();
        assert!(KerberosToken::decode(&far).is_err(), "a name that is too long");
    }

    #[test]
    fn a_guests_login_ends_with_the_method() {
        let bytes = b"\x06AFP2.2\x0fNo User Authent";
        let login = Login { version: b"AFP2.2", uam: NO_USER_AUTHENT, user: b"", info: b"" };
        assert_eq!(Login::decode(&mut Reader::new(bytes)), Ok(login));
        assert_eq!(written(|w| login.encode(w)), bytes);
    }

    #[test]
    fn an_extended_login_names_the_user_in_utf8_and_where_the_account_is() {
        let bytes = b"\0\0\0\x06AFP3.4\x03SRP\x03\0\x03ada\x03\0\0\0\x01";
        let padded = b"\0\0\0\x06AFP3.4\x04DHX2\x03\0\x03ada\x03\0\0\0";
        let login = LoginExt {
            flags: 0,
            version: b"AFP3.4",
            uam: SRP,
            user: b"ada",
            directory: b"",
            info: b"\0\x01",
        };
        let other = LoginExt { uam: DHX2, info: b"", ..login };
        for (bytes, login) in [(&bytes[..], login), (&padded[..], other)] {
            assert_eq!(LoginExt::decode(&mut Reader::new(bytes)), Ok(login));
            assert_eq!(written(|w| login.encode(w)), bytes);
        }
    }

    #[test]
    fn a_change_of_a_password_names_nobody_from_afp_3_on() {
        let three = b"\0\x04DHX2\0\0\0ab";
        let two = b"\0\x04DHX2\0\x03adaab";
        let change = ChangePassword { uam: DHX2, user: b"", info: b"ab" };
        for (bytes, change) in [(&three[..], change), (&two[..], ChangePassword { user: b"ada", ..change })] {
            assert_eq!(ChangePassword::decode(&mut Reader::new(bytes)), Ok(change));
            assert_eq!(written(|w| change.encode(w)), bytes);
        }
    }

    #[test]
    fn methods_are_listed_with_their_count() {
        let methods = AuthMethods { flags: 0, uams: vec![DHX2, SRP] };
        let bytes = b"\0\0\x02\x04DHX2\x03SRP";
        assert_eq!(written(|w| methods.encode(w)), bytes);
        assert_eq!(AuthMethods::decode(&mut Reader::new(bytes)), Ok(methods));
        assert!(AuthMethods::decode(&mut Reader::new(b"\0\0\xff\0")).is_err());
    }
}
