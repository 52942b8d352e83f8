//! Messages of NTLM, MS-NLMP 2.2. Names are UTF-16LE where [`flags::UNICODE`] is agreed on; they stay bytes here.

use wire::{Malformed, Reader, Writer};

const SIGNATURE: [u8; 8] = *b"NTLMSSP\0";
const NEGOTIATE: u32 = 1;
const CHALLENGE: u32 = 2;
const AUTHENTICATE: u32 = 3;

/// NegotiateFlags, MS-NLMP 2.2.2.5.
pub mod flags {
    pub const UNICODE: u32 = 0x0000_0001;
    pub const OEM: u32 = 0x0000_0002;
    pub const REQUEST_TARGET: u32 = 0x0000_0004;
    pub const SIGN: u32 = 0x0000_0010;
    pub const SEAL: u32 = 0x0000_0020;
    pub const LM_KEY: u32 = 0x0000_0080;
    pub const NTLM: u32 = 0x0000_0200;
    pub const ANONYMOUS: u32 = 0x0000_0800;
    pub const OEM_DOMAIN_SUPPLIED: u32 = 0x0000_1000;
    pub const OEM_WORKSTATION_SUPPLIED: u32 = 0x0000_2000;
    pub const ALWAYS_SIGN: u32 = 0x0000_8000;
    pub const TARGET_TYPE_DOMAIN: u32 = 0x0001_0000;
    pub const TARGET_TYPE_SERVER: u32 = 0x0002_0000;
    pub const EXTENDED_SESSIONSECURITY: u32 = 0x0008_0000;
    pub const TARGET_INFO: u32 = 0x0080_0000;
    pub const VERSION: u32 = 0x0200_0000;
    pub const KEY_128: u32 = 0x2000_0000;
    pub const KEY_EXCH: u32 = 0x4000_0000;
    pub const KEY_56: u32 = 0x8000_0000;
}

/// AvId, MS-NLMP 2.2.2.1.
pub mod av {
    pub const EOL: u16 = 0;
    pub const NB_COMPUTER_NAME: u16 = 1;
    pub const NB_DOMAIN_NAME: u16 = 2;
    pub const DNS_COMPUTER_NAME: u16 = 3;
    pub const DNS_DOMAIN_NAME: u16 = 4;
    pub const FLAGS: u16 = 6;
    pub const TIMESTAMP: u16 = 7;
    pub const TARGET_NAME: u16 = 9;
    pub const CHANNEL_BINDINGS: u16 = 10;

    /// In the value of [`FLAGS`]: the AUTHENTICATE message has a MIC.
    pub const FLAG_MIC: u32 = 2;

    /// The value of [`FLAGS`].
    pub fn flags(value: &[u8]) -> u32 {
        wire::Reader::new(value).u32_le().unwrap_or(0)
    }
}

/// VERSION, MS-NLMP 2.2.2.10: for debugging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    pub major: u8,
    pub minor: u8,
    pub build: u16,
    pub revision: u8,
}

/// NEGOTIATE_MESSAGE, MS-NLMP 2.2.1.1. Old clients leave out all after the flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Negotiate<'a> {
    pub flags: u32,
    /// In the client's code page.
    pub domain: &'a [u8],
    pub workstation: &'a [u8],
    pub version: Option<Version>,
}

/// CHALLENGE_MESSAGE, MS-NLMP 2.2.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Challenge<'a> {
    pub target_name: &'a [u8],
    pub flags: u32,
    pub challenge: [u8; 8],
    /// See [`av_pairs`].
    pub target_info: &'a [u8],
    pub version: Version,
}

/// AUTHENTICATE_MESSAGE, MS-NLMP 2.2.1.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authenticate<'a> {
    pub lm_response: &'a [u8],
    pub nt_response: &'a [u8],
    pub domain: &'a [u8],
    pub user: &'a [u8],
    pub workstation: &'a [u8],
    pub session_key: &'a [u8],
    pub flags: u32,
    /// The bytes before the names: a MIC if the AV pairs of the response say so.
    pub mic: Option<[u8; 16]>,
}

/// NTLMv2_RESPONSE, MS-NLMP 2.2.2.8, with the NTLMv2_CLIENT_CHALLENGE of 2.2.2.7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NtlmV2Response<'a> {
    pub proof: [u8; 16],
    /// All after the proof, as it is hashed.
    pub client_challenge: &'a [u8],
    /// A FILETIME.
    pub timestamp: u64,
    pub challenge_from_client: [u8; 8],
    /// See [`av_pairs`].
    pub av_pairs: &'a [u8],
}

impl Version {
    /// NTLMSSP_REVISION_W2K3.
    pub const REVISION: u8 = 15;

    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (major, minor, build) = (r.u8()?, r.u8()?, r.u16_le()?);
        r.skip(3)?;
        Ok(Self { major, minor, build, revision: r.u8()? })
    }

    fn encode(self, w: &mut Writer) {
        w.u8(self.major);
        w.u8(self.minor);
        w.u16_le(self.build);
        w.zeros(3);
        w.u8(self.revision);
    }
}

impl<'a> Negotiate<'a> {
    pub fn decode(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = begin(message, NEGOTIATE)?;
        let flags = r.u32_le()?;
        let mut negotiate = Self { flags, domain: &[], workstation: &[], version: None };
        if r.remaining() < 16 {
            return Ok(negotiate);
        }
        let (domain, workstation) = (Fields::decode(&mut r)?, Fields::decode(&mut r)?);
        if flags & flags::OEM_DOMAIN_SUPPLIED != 0 {
            negotiate.domain = domain.of(message)?;
        }
        if flags & flags::OEM_WORKSTATION_SUPPLIED != 0 {
            negotiate.workstation = workstation.of(message)?;
        }
        if flags & flags::VERSION != 0 {
            negotiate.version = Version::decode(&mut r).ok();
        }
        Ok(negotiate)
    }

    pub fn encode(&self, w: &mut Writer) {
        let mut at = 32 + self.version.map_or(0, |_| 8);
        start(w, NEGOTIATE);
        w.u32_le(self.flags);
        Fields::encode(w, self.domain, &mut at);
        Fields::encode(w, self.workstation, &mut at);
        if let Some(version) = self.version {
            version.encode(w);
        }
        w.put(self.domain);
        w.put(self.workstation);
    }
}

impl<'a> Challenge<'a> {
    pub fn decode(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = begin(message, CHALLENGE)?;
        let target_name = Fields::decode(&mut r)?.of(message)?;
        let (flags, challenge) = (r.u32_le()?, r.array()?);
        r.skip(8)?; // reserved
        let target_info = Fields::decode(&mut r)?.of(message)?;
        let version = Version::decode(&mut r)?;
        Ok(Self { target_name, flags, challenge, target_info, version })
    }

    pub fn encode(&self, w: &mut Writer) {
        let mut at = 56;
        start(w, CHALLENGE);
        Fields::encode(w, self.target_name, &mut at);
        w.u32_le(self.flags);
        w.put(&self.challenge);
        w.zeros(8);
        Fields::encode(w, self.target_info, &mut at);
        self.version.encode(w);
        w.put(self.target_name);
        w.put(self.target_info);
    }
}

impl<'a> Authenticate<'a> {
    /// Where the MIC stands, when there is one.
    pub const MIC_AT: usize = 72;
    const HEAD: usize = Self::MIC_AT + 16;

    pub fn decode(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = begin(message, AUTHENTICATE)?;
        let mut fields = [Fields::default(); 6];
        for field in &mut fields {
            *field = Fields::decode(&mut r)?;
        }
        // Very old clients end here. NTLMv2 needs the following fields.
        let flags = r.u32_le()?;
        let has_room = fields.iter().all(|field| field.length == 0 || field.offset >= Self::HEAD);
        let mic = message.get(Self::MIC_AT..Self::HEAD).filter(|_| has_room);
        let [lm, nt, domain, user, workstation, session_key] = fields;
        Ok(Self {
            lm_response: lm.of(message)?,
            nt_response: nt.of(message)?,
            domain: domain.of(message)?,
            user: user.of(message)?,
            workstation: workstation.of(message)?,
            session_key: session_key.of(message)?,
            flags,
            mic: mic.and_then(|mic| mic.try_into().ok()),
        })
    }

    /// With zeros for the version, as no server evaluates it.
    pub fn encode(&self, w: &mut Writer) {
        let mut at = if self.mic.is_some() { Self::HEAD } else { Self::MIC_AT };
        start(w, AUTHENTICATE);
        let fields =
            [self.lm_response, self.nt_response, self.domain, self.user, self.workstation, self.session_key];
        fields.iter().for_each(|field| Fields::encode(w, field, &mut at));
        w.u32_le(self.flags);
        w.zeros(8); // version
        if let Some(mic) = self.mic {
            w.put(&mic);
        }
        fields.iter().for_each(|field| w.put(field));
    }
}

impl<'a> NtlmV2Response<'a> {
    pub fn decode(response: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(response);
        let proof = r.array()?;
        let client_challenge = &response[r.position()..];
        if [r.u8()?, r.u8()?] != [1, 1] {
            return Err(Malformed("another version of the response than 1"));
        }
        r.skip(6)?; // reserved
        let (timestamp, challenge_from_client) = (r.u64_le()?, r.array()?);
        r.skip(4)?; // reserved
        Ok(Self { proof, client_challenge, timestamp, challenge_from_client, av_pairs: r.rest() })
    }
}

/// The AV pairs before the one that ends them, MS-NLMP 2.2.2.1; what follows that is padding.
pub fn av_pairs(bytes: &[u8]) -> impl Iterator<Item = Result<(u16, &[u8]), Malformed>> {
    let mut r = Reader::new(bytes);
    let mut has_ended = false;
    std::iter::from_fn(move || {
        if has_ended {
            return None;
        }
        let pair = av_pair(&mut r);
        has_ended = !matches!(pair, Ok((id, _)) if id != av::EOL);
        match pair {
            Ok((av::EOL, _)) => None,
            pair => Some(pair),
        }
    })
}

fn av_pair<'a>(r: &mut Reader<'a>) -> Result<(u16, &'a [u8]), Malformed> {
    let (id, length) = (r.u16_le()?, r.u16_le()?);
    Ok((id, r.take(length.into())?))
}

/// AV pairs in the order given, and the one that ends them.
pub fn encode_av_pairs(w: &mut Writer, pairs: &[(u16, &[u8])]) {
    for (id, value) in pairs {
        w.u16_le(*id);
        w.u16_le(value.len() as u16);
        w.put(value);
    }
    w.u16_le(av::EOL);
    w.u16_le(0);
}

/// Length, allocated length and offset of a value, as in all messages.
#[derive(Debug, Clone, Copy, Default)]
struct Fields {
    length: usize,
    offset: usize,
}

impl Fields {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let length = r.u16_le()?.into();
        r.skip(2)?; // allocated
        Ok(Self { length, offset: r.u32_le()? as usize })
    }

    /// The value. The offset of an empty value is ignored.
    fn of(self, message: &[u8]) -> Result<&[u8], Malformed> {
        if self.length == 0 {
            return Ok(&[]);
        }
        let end = self.offset.checked_add(self.length);
        let value = end.and_then(|end| message.get(self.offset..end));
        value.ok_or(Malformed("a value outside of its message"))
    }

    fn encode(w: &mut Writer, value: &[u8], at: &mut usize) {
        w.u16_le(value.len() as u16);
        w.u16_le(value.len() as u16);
        w.u32_le(*at as u32);
        *at += value.len();
    }
}

fn begin(message: &[u8], kind: u32) -> Result<Reader<'_>, Malformed> {
    let mut r = Reader::new(message);
    if r.array()? != SIGNATURE || r.u32_le()? != kind {
        return Err(Malformed("another message than NTLM's next"));
    }
    Ok(r)
}

fn start(w: &mut Writer, kind: u32) {
    w.put(&SIGNATURE);
    w.u32_le(kind);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    /// MS-NLMP 4.2.4.3.
    #[test]
    fn the_authenticate_message_of_the_specification_decodes() {
        let message = hex("4e544c4d53535000 03000000 180018006c000000 5400540084000000 0c000c0048000000 0800080054000000
             100010005c000000 10001000d8000000 358288e2 0501280a0000000f 44006f006d00610069006e00 5500730065007200
             43004f004d0050005500540045005200 86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa
             68cd0ab851e51c96aabc927bebef6a1c 01010000000000000000000000000000aaaaaaaaaaaaaaaa00000000
             02000c0044006f006d00610069006e00 01000c00530065007200760065007200 0000000000000000
             c5dad2544fc9799094ce1ce90bc9d03e");
        let authenticate = Authenticate::decode(&message).unwrap();
        assert_eq!(authenticate.user, utf16("User"));
        assert_eq!(authenticate.domain, utf16("Domain"));
        assert_eq!(authenticate.workstation, utf16("COMPUTER"));
        assert_eq!(authenticate.session_key, hex("c5dad2544fc9799094ce1ce90bc9d03e"));
        assert_eq!((authenticate.flags, authenticate.mic), (0xe288_8235, None));
        let response = NtlmV2Response::decode(authenticate.nt_response).unwrap();
        assert_eq!(response.proof[..], hex("68cd0ab851e51c96aabc927bebef6a1c"));
        assert_eq!((response.timestamp, response.challenge_from_client), (0, [0xaa; 8]));
        let pairs: Result<Vec<_>, _> = av_pairs(response.av_pairs).collect();
        let (domain, server) = (utf16("Domain"), utf16("Server"));
        assert_eq!(pairs, Ok(vec![(2, &domain[..]), (1, &server[..])]));
    }

    /// From the captures of "The anatomy of signing and cryptographic keys" (Microsoft Open Specifications blog, 2017).
    #[test]
    fn the_challenge_of_windows_decodes_and_encodes() {
        let message = hex("4E544C4D53535000020000000C000C003800000015828AE20D1D8BA31179D0080000000000000000
             50005000440000000A0092270000000F530055005400330031003100 02000C00530055005400330031003100
             01000C00530055005400330031003100 04000C00530055005400330031003100 03000C00530055005400330031003100
             07000800A1A1F5ADCBAED001 00000000");
        let challenge = Challenge::decode(&message).unwrap();
        assert_eq!(challenge.target_name, utf16("SUT311"));
        assert_eq!(challenge.challenge[..], hex("0D1D8BA31179D008"));
        assert_eq!(challenge.version, Version { major: 10, minor: 0, build: 10130, revision: 15 });
        let ids: Vec<u16> = av_pairs(challenge.target_info).map(|pair| pair.unwrap().0).collect();
        assert_eq!(ids, [2, 1, 4, 3, 7]);
        let mut w = Writer::new();
        challenge.encode(&mut w);
        assert_eq!(w.as_bytes(), message);
    }

    #[test]
    fn a_negotiate_message_may_end_after_its_flags() {
        let short = hex("4E544C4D535350000100000007820800");
        assert_eq!(Negotiate::decode(&short).unwrap().flags, 0x0008_8207);
        let windows = hex("4E544C4D5353500001000000978208E200000000000000000000000000000000060380250000000F");
        let negotiate = Negotiate::decode(&windows).unwrap();
        assert_eq!(negotiate.version, Some(Version { major: 6, minor: 3, build: 9600, revision: 15 }));
        assert!(Negotiate::decode(&short[..15]).is_err());
    }

    #[test]
    fn values_outside_of_their_message_are_refused() {
        let authenticate = Authenticate {
            lm_response: &[],
            nt_response: &[1; 44],
            domain: b"d\0",
            user: b"u\0",
            workstation: &[],
            session_key: &[2; 16],
            flags: flags::UNICODE,
            mic: Some([3; 16]),
        };
        let mut w = Writer::new();
        authenticate.encode(&mut w);
        let message = w.into_bytes();
        assert_eq!(Authenticate::decode(&message), Ok(authenticate));
        assert!((0..message.len()).all(|length| Authenticate::decode(&message[..length]).is_err()));
    }
}
