//! RPCSEC_GSS version 1, RFC 2203: the credential, the creation of contexts, and protected arguments and results.

use wire::{Malformed, Reader, Writer};

use super::rpc::{AUTH_BODY_LIMIT, AuthFlavor};
use super::xdr::{Decode, Encode, Opaque, arguments, enumeration, opaque, record};

/// The version of the credential.
pub const VERSION: u32 = 1;
/// The longest handle of a context that decodes.
pub const HANDLE_LIMIT: usize = 64;
/// Sequence numbers are below, RFC 2203 5.3.3.1.
pub const MAX_SEQUENCE: u32 = 0x8000_0000;
/// The longest token of a login. A ticket with a very large PAC has 128 KiB.
pub const TOKEN_LIMIT: usize = 256 << 10;
/// The longest body of protected arguments that decodes: above any record that is served.
pub const BODY_LIMIT: usize = 4 << 20;
/// The longest checksum.
pub const CHECKSUM_LIMIT: usize = 4096;
/// The object identifier of Kerberos 5, without tag and length: RFC 4121 4.1.
pub const KERBEROS: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";
/// Where a call has its credential.
const CREDENTIAL_AT: usize = 24;

enumeration! {
    /// rpc_gss_proc_t.
    pub struct Procedure;
    DATA = 0,
    INIT = 1,
    CONTINUE_INIT = 2,
    DESTROY = 3,
}

enumeration! {
    /// rpc_gss_service_t: what protects arguments and results.
    pub struct Protection;
    NONE = 1,
    INTEGRITY = 2,
    PRIVACY = 3,
}

record! {
    /// rpc_gss_cred_vers_1_t, after its version.
    pub struct Credential<'a> {
        pub procedure: Procedure,
        pub sequence: u32,
        pub protection: Protection,
        pub handle: Opaque<'a, HANDLE_LIMIT>,
    }

    /// rpc_gss_init_arg.
    pub struct InitArguments<'a> {
        pub token: Opaque<'a, TOKEN_LIMIT>,
    }

    /// rpc_gss_init_res.
    pub struct InitResults<'a> {
        pub handle: Opaque<'a, HANDLE_LIMIT>,
        pub major: u32,
        pub minor: u32,
        /// The width of the window of sequence numbers.
        pub window: u32,
        pub token: Opaque<'a, TOKEN_LIMIT>,
    }

    /// rpc_gss_integ_data: a body, which begins with the sequence number, and its checksum.
    pub struct Integrity<'a> {
        pub body: Opaque<'a, BODY_LIMIT>,
        pub checksum: Opaque<'a, CHECKSUM_LIMIT>,
    }

    /// rpc_gss_priv_data: the same body, encrypted.
    pub struct Privacy<'a> {
        pub body: Opaque<'a, BODY_LIMIT>,
    }

    /// What the verifier of a call is the checksum of, and that checksum, RFC 2203 5.3.1.
    pub struct SignedHeader<'a> {
        pub header: Opaque<'a, BODY_LIMIT>,
        pub flavor: AuthFlavor,
        pub checksum: Opaque<'a, AUTH_BODY_LIMIT>,
    }
}

impl<'a> Credential<'a> {
    /// Reads the body of a credential. `None`: it has another version, or none.
    pub fn of(body: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let mut r = Reader::new(body);
        match r.u32_be() {
            Ok(VERSION) => arguments(&mut r).map(Some),
            _ => Ok(None),
        }
    }

    /// Writes the body of a credential.
    pub fn put(&self, w: &mut Writer) {
        w.u32_be(VERSION);
        self.encode(w);
    }
}

impl<'a> SignedHeader<'a> {
    /// The parts of a call, from its transaction id to the end of its credential, and its verifier.
    pub fn of(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(message);
        r.skip(CREDENTIAL_AT + 4)?; // and the flavour
        opaque(&mut r, AUTH_BODY_LIMIT)?;
        let header = Opaque(&message[..message.len() - r.remaining()]);
        let (flavor, checksum) = (AuthFlavor::decode(&mut r)?, Opaque::decode(&mut r)?);
        Ok(Self { header, flavor, checksum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::xdr::tests::{bytes_of, value_of};

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn a_credential_has_the_layout_of_the_rfc() {
        // RFC 2203 5: version, procedure, sequence number, service, handle.
        let body = [words(&[1, 0, 7, 2, 5]), b"12345\0\0\0".to_vec()].concat();
        let credential = Credential::of(&body).unwrap().unwrap();
        assert_eq!(credential.procedure, Procedure::DATA);
        assert_eq!((credential.sequence, credential.protection), (7, Protection::INTEGRITY));
        assert_eq!(&*credential.handle, b"12345");
        let mut w = Writer::new();
        credential.put(&mut w);
        assert_eq!(w.as_bytes(), body);
        assert_eq!(Credential::of(&words(&[2, 0, 7, 2, 0])), Ok(None));
        for end in 4..body.len() {
            assert!(Credential::of(&body[..end]).is_err(), "{end}");
        }
        assert!(Credential::of(&[body, vec![0; 4]].concat()).is_err());
    }

    #[test]
    fn results_and_protected_bodies_have_the_layout_of_the_rfc() {
        // RFC 2203 5.2.3.1, 5.3.2.2.
        let results = [words(&[4, 0x0102_0304, 0, 9, 128, 3]), b"abc\0".to_vec()].concat();
        let of: InitResults<'_> = value_of(&results).unwrap();
        assert_eq!(
            (&*of.handle, of.major, of.minor, of.window, &*of.token),
            (&[1, 2, 3, 4][..], 0, 9, 128, &b"abc"[..])
        );
        assert_eq!(bytes_of(&of), results);
        let integrity = words(&[8, 7, 0xffff_ffff, 4, 1]);
        let of: Integrity<'_> = value_of(&integrity).unwrap();
        assert_eq!((of.body.len(), of.checksum.len()), (8, 4));
    }

    #[test]
    fn the_verifier_is_over_all_up_to_the_end_of_the_credential() {
        let head = words(&[7, 0, 2, 100_003, 3, 0, 6, 20, 1, 0, 1, 1, 0]);
        let message = [head.clone(), words(&[6, 3]), b"mic\0rest".to_vec()].concat();
        let signed = SignedHeader::of(&message).unwrap();
        assert_eq!(
            (&*signed.header, signed.flavor, &*signed.checksum),
            (&*head, AuthFlavor::RPCSEC_GSS, &b"mic"[..])
        );
        for end in 0..message.len() - 5 {
            assert!(SignedHeader::of(&message[..end]).is_err(), "{end}");
        }
    }
}
