//! SPNEGO, RFC 4178 4.2, as far as SMB uses it: which mechanism, its tokens, and a checksum over the list of mechanisms.
//!
//! It handles only the DER that these messages use: definite lengths, tags of one byte, a fixed
//! depth.

use wire::Malformed;

/// Contents of the object identifiers, DER without tag and length.
pub const SPNEGO: &[u8] = &[0x2B, 6, 1, 5, 5, 2];
pub const NTLMSSP: &[u8] = &[0x2B, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 0x0A];
pub const KERBEROS: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 2];
pub const MS_KERBEROS: &[u8] = &[0x2A, 0x86, 0x48, 0x82, 0xF7, 0x12, 1, 2, 2];

/// The hint of Windows, MS-SPNG 3.2.5.2.
pub const HINT: &[u8] = b"not_defined_in_RFC4178@please_ignore";

const RAW_NTLM: &[u8] = b"NTLMSSP\0";

const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const ENUMERATED: u8 = 0x0A;
const GENERAL_STRING: u8 = 0x1B;
const SEQUENCE: u8 = 0x30;
const APPLICATION: u8 = 0x60;
/// A field `[0]`; the others follow.
const FIELD: u8 = 0xA0;

/// The content of a security buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpnegoToken<'a> {
    Init(NegTokenInit<'a>),
    Resp(NegTokenResp<'a>),
    /// A message of NTLM without SPNEGO around it (MS-SMB2 3.3.5.5.3 leaves the mechanism open).
    Ntlm(&'a [u8]),
}

/// RFC 4178 4.2.1, and MS-SPNG 2.2.1 (NegTokenInit2) where it has a hint. Flags are not kept:
/// neither side may rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NegTokenInit<'a> {
    pub mech_types: MechTypes<'a>,
    /// For the first mechanism of the list.
    pub mech_token: Option<&'a [u8]>,
    pub hint: Option<&'a [u8]>,
    pub mech_list_mic: Option<&'a [u8]>,
}

/// MechTypeList: a sequence of object identifiers, as DER, which its checksum is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MechTypes<'a>(&'a [u8]);

/// RFC 4178 4.2.2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NegTokenResp<'a> {
    pub neg_state: Option<NegState>,
    pub supported_mech: Option<&'a [u8]>,
    pub response_token: Option<&'a [u8]>,
    pub mech_list_mic: Option<&'a [u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NegState(pub u8);

impl NegState {
    pub const ACCEPT_COMPLETED: Self = Self(0);
    pub const ACCEPT_INCOMPLETE: Self = Self(1);
    pub const REJECT: Self = Self(2);
    pub const REQUEST_MIC: Self = Self(3);
}

impl<'a> SpnegoToken<'a> {
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if bytes.starts_with(RAW_NTLM) {
            return Ok(Self::Ntlm(bytes));
        }
        let mut r = Der(bytes);
        let token = match r.any()? {
            (APPLICATION, inner) => {
                let mut inner = Der(inner);
                if inner.expect(OBJECT_IDENTIFIER)? != SPNEGO {
                    return Err(Malformed("another mechanism than SPNEGO"));
                }
                let init = inner.expect(FIELD)?;
                inner.finish()?;
                Self::Init(NegTokenInit::fields(only(SEQUENCE, init)?)?)
            }
            (tag, inner) if tag == FIELD + 1 => Self::Resp(NegTokenResp::fields(only(SEQUENCE, inner)?)?),
            _ => return Err(Malformed("neither SPNEGO nor NTLM")),
        };
        r.finish()?;
        Ok(token)
    }
}

impl<'a> NegTokenInit<'a> {
    fn fields(sequence: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Der(sequence);
        let mut init = Self { mech_types: MechTypes(&[]), mech_token: None, hint: None, mech_list_mic: None };
        let mech_types = r.expect(FIELD)?;
        init.mech_types = MechTypes::decode(mech_types)?;
        while let Some((tag, field)) = r.next()? {
            match tag.wrapping_sub(FIELD) {
                2 => init.mech_token = Some(only(OCTET_STRING, field)?),
                3 if field.first() == Some(&SEQUENCE) => init.hint = hint_name(only(SEQUENCE, field)?)?,
                3 | 4 => init.mech_list_mic = Some(only(OCTET_STRING, field)?),
                _ => {} // flags, and what later versions add
            }
        }
        Ok(init)
    }

    /// The token as bytes: with a hint as MS-SPNG 2.2.1 has it, else as RFC 4178.
    pub fn encode(&self) -> Vec<u8> {
        let mic = if self.hint.is_some() { 4 } else { 3 };
        let hint =
            self.hint.map(|hint| field(3, &tlv(SEQUENCE, &[&field(0, &tlv(GENERAL_STRING, &[hint]))])));
        let fields = [
            Some(field(0, self.mech_types.0)),
            self.mech_token.map(|token| field(2, &tlv(OCTET_STRING, &[token]))),
            hint,
            self.mech_list_mic.map(|bytes| field(mic, &tlv(OCTET_STRING, &[bytes]))),
        ];
        let sequence = sequence(&fields);
        tlv(APPLICATION, &[&tlv(OBJECT_IDENTIFIER, &[SPNEGO]), &field(0, &sequence)])
    }
}

impl<'a> MechTypes<'a> {
    fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut list = Der(only(SEQUENCE, bytes)?);
        while let Some((tag, _)) = list.next()? {
            if tag != OBJECT_IDENTIFIER {
                return Err(Malformed("a mechanism that is no object identifier"));
            }
        }
        Ok(Self(bytes))
    }

    /// The mechanisms, the preferred one first.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut list = Der(only(SEQUENCE, self.0).unwrap_or_default());
        std::iter::from_fn(move || Some(list.next().ok()??.1))
    }

    /// The list as DER.
    pub fn as_der(&self) -> &'a [u8] {
        self.0
    }

    /// A list as DER, for [`Self::of`].
    pub fn to_der(mechanisms: &[&[u8]]) -> Vec<u8> {
        let list: Vec<_> = mechanisms.iter().map(|mech| Some(tlv(OBJECT_IDENTIFIER, &[mech]))).collect();
        sequence(&list)
    }

    /// The list that [`Self::to_der`] has made.
    pub fn of(der: &'a [u8]) -> Result<Self, Malformed> {
        Self::decode(der)
    }
}

impl<'a> NegTokenResp<'a> {
    fn fields(sequence: &'a [u8]) -> Result<Self, Malformed> {
        let (mut r, mut resp) = (Der(sequence), Self::default());
        while let Some((tag, field)) = r.next()? {
            match tag.wrapping_sub(FIELD) {
                0 => match only(ENUMERATED, field)? {
                    [state] => resp.neg_state = Some(NegState(*state)),
                    _ => return Err(Malformed("a state that is no byte")),
                },
                1 => resp.supported_mech = Some(only(OBJECT_IDENTIFIER, field)?),
                2 => resp.response_token = Some(only(OCTET_STRING, field)?),
                3 => resp.mech_list_mic = Some(only(OCTET_STRING, field)?),
                _ => {}
            }
        }
        Ok(resp)
    }

    pub fn encode(&self) -> Vec<u8> {
        let fields = [
            self.neg_state.map(|state| field(0, &tlv(ENUMERATED, &[&[state.0]]))),
            self.supported_mech.map(|mech| field(1, &tlv(OBJECT_IDENTIFIER, &[mech]))),
            self.response_token.map(|token| field(2, &tlv(OCTET_STRING, &[token]))),
            self.mech_list_mic.map(|mic| field(3, &tlv(OCTET_STRING, &[mic]))),
        ];
        field(1, &sequence(&fields))
    }
}

/// The name of a NegHints, if it has one.
fn hint_name(hints: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    let mut r = Der(hints);
    while let Some((tag, field)) = r.next()? {
        if tag == FIELD {
            return only(GENERAL_STRING, field).map(Some);
        }
    }
    Ok(None)
}

/// Tags, lengths and contents, one after another (X.690 8.1).
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    fn next(&mut self) -> Result<Option<(u8, &'a [u8])>, Malformed> {
        if self.0.is_empty() { Ok(None) } else { self.any().map(Some) }
    }

    fn any(&mut self) -> Result<(u8, &'a [u8]), Malformed> {
        const SHORT: Malformed = Malformed("DER that ends early");
        let (&[tag, first], mut rest) = self.0.split_first_chunk().ok_or(SHORT)?;
        if tag & 0x1F == 0x1F {
            return Err(Malformed("a DER tag of more than one byte"));
        }
        let mut length = usize::from(first);
        if first >= 0x80 {
            let count = usize::from(first & 0x7F);
            if !(1..=4).contains(&count) {
                return Err(Malformed("a DER length that is indefinite or enormous"));
            }
            let (digits, after) = rest.split_at_checked(count).ok_or(SHORT)?;
            length = digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit));
            rest = after;
        }
        let (contents, rest) = rest.split_at_checked(length).ok_or(SHORT)?;
        self.0 = rest;
        Ok((tag, contents))
    }

    fn expect(&mut self, tag: u8) -> Result<&'a [u8], Malformed> {
        match self.any()? {
            (found, contents) if found == tag => Ok(contents),
            _ => Err(Malformed("another DER tag")),
        }
    }

    fn finish(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed("bytes left over")) }
    }
}

/// The contents of the one element that `bytes` is.
fn only(tag: u8, bytes: &[u8]) -> Result<&[u8], Malformed> {
    let mut r = Der(bytes);
    let contents = r.expect(tag)?;
    r.finish()?;
    Ok(contents)
}

fn sequence(fields: &[Option<Vec<u8>>]) -> Vec<u8> {
    let fields: Vec<&[u8]> = fields.iter().flatten().map(Vec::as_slice).collect();
    tlv(SEQUENCE, &fields)
}

fn field(number: u8, contents: &[u8]) -> Vec<u8> {
    tlv(FIELD + number, &[contents])
}

fn tlv(tag: u8, contents: &[&[u8]]) -> Vec<u8> {
    let length: usize = contents.iter().map(|part| part.len()).sum();
    let digits = (length as u32).to_be_bytes();
    let mut bytes = vec![tag];
    if length < 0x80 {
        bytes.push(length as u8);
    } else {
        let skipped = digits.iter().take_while(|&&digit| digit == 0).count();
        bytes.push(0x80 | (4 - skipped) as u8);
        bytes.extend(&digits[skipped..]);
    }
    contents.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    /// From the captures of "The anatomy of signing and cryptographic keys" (Microsoft Open Specifications blog, 2017).
    #[test]
    fn the_tokens_of_a_windows_login_decode_and_encode() {
        let first = hex(
            "604806062B0601050502A03E303CA00E300C060A2B06010401823702020AA22A04284E544C4D5353500001000000
                         978208E200000000000000000000000000000000060380250000000F",
        );
        let Ok(SpnegoToken::Init(init)) = SpnegoToken::decode(&first) else { panic!() };
        assert_eq!(init.mech_types.iter().collect::<Vec<_>>(), [NTLMSSP]);
        assert_eq!(init.mech_types.as_der(), hex("300C060A2B06010401823702020A"));
        assert_eq!(init.mech_types.as_der(), MechTypes::to_der(&[NTLMSSP]));
        assert!(init.mech_token.unwrap().starts_with(b"NTLMSSP\0\x01") && init.mech_list_mic.is_none());
        assert_eq!(init.encode(), first);
        let last = hex("A11B3019A0030A0100A3120410010000003B453CDC3524164200000000");
        let resp = NegTokenResp {
            neg_state: Some(NegState::ACCEPT_COMPLETED),
            mech_list_mic: Some(&last[13..]),
            ..NegTokenResp::default()
        };
        assert_eq!(SpnegoToken::decode(&last), Ok(SpnegoToken::Resp(resp)));
        assert_eq!(resp.encode(), last);
    }

    /// NegTokenInit2 of MS-SPNG 2.2.1, built by hand: one mechanism and the hint.
    #[test]
    fn a_servers_hint_is_laid_out_as_the_specification_says() {
        let der = MechTypes::to_der(&[NTLMSSP]);
        let mech_types = MechTypes::of(&der).unwrap();
        let init = NegTokenInit { mech_types, mech_token: None, hint: Some(HINT), mech_list_mic: None };
        let expected = [
            &hex("604806062B0601050502 A03E 303C A00E300C060A2B06010401823702020A A32A3028A0261B24")[..],
            b"not_defined_in_RFC4178@please_ignore",
        ];
        assert_eq!(init.encode(), expected.concat());
        assert_eq!(SpnegoToken::decode(&init.encode()), Ok(SpnegoToken::Init(init)));
    }

    #[test]
    fn long_tokens_have_long_lengths() {
        for length in [0x7F, 0x80, 0xFF, 0x100, 0x1_0000] {
            let token = vec![7; length];
            let resp = NegTokenResp { response_token: Some(&token), ..NegTokenResp::default() };
            assert_eq!(SpnegoToken::decode(&resp.encode()), Ok(SpnegoToken::Resp(resp)));
        }
        assert_eq!(tlv(4, &[&[0; 0x80]])[..3], [4, 0x81, 0x80]);
        assert_eq!(tlv(4, &[&[0; 0x100]])[..4], [4, 0x82, 1, 0]);
    }

    #[test]
    fn ntlm_without_anything_around_it_is_known() {
        assert_eq!(SpnegoToken::decode(b"NTLMSSP\0rest"), Ok(SpnegoToken::Ntlm(b"NTLMSSP\0rest")));
    }

    #[test]
    fn what_is_cut_indefinite_or_something_else_is_refused() {
        let good = hex("A11B3019A0030A0100A3120410010000003B453CDC3524164200000000");
        assert!((0..good.len()).all(|length| SpnegoToken::decode(&good[..length]).is_err()));
        for bad in ["A1803000", "A185000000000230 00", "60063004 06022B06", "BF013000", "3000", "A10330000 0"]
        {
            assert!(SpnegoToken::decode(&hex(bad)).is_err(), "{bad}");
        }
        assert!(SpnegoToken::decode(&[&good[..], &[0]].concat()).is_err(), "bytes left over");
    }
}
