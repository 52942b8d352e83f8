//! Session commands and messages to the user. Apple Filing Protocol Reference, FPGetSrvrParms,
//! FPGetSrvrMsg, FPGetSessionToken, FPDisconnectOldSession, FPZzz. (FPGetSrvrInfo and FPLogout have
//! no parameters; `server_info` has the former's reply.)

use wire::{Malformed, Reader, Writer, layout};

use super::strings::{blob, long, pascal};

/// FPGetSrvrParms, reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SrvrParms<'a> {
    /// Seconds since the year 2000.
    pub time: i32,
    pub volumes: Vec<ListedVolume<'a>>,
}

/// A volume that the user may open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedVolume<'a> {
    pub flags: u8,
    /// UTF-8 from AFP 3 on, MacRoman before.
    pub name: &'a [u8],
}

impl ListedVolume<'_> {
    pub const HAS_PASSWORD: u8 = 0x80;
    /// Apple II clients look for their configuration here.
    pub const HAS_CONFIGURATION: u8 = 0x01;
}

impl<'a> SrvrParms<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (time, count) = (r.i32_be()?, r.u8()?);
        let volume = |_| Ok(ListedVolume { flags: r.u8()?, name: pascal::read(r)? });
        let volumes = (0..count).map(volume).collect::<Result<_, _>>()?;
        Ok(Self { time, volumes })
    }

    /// At most 255 volumes are encoded.
    pub fn encode(&self, w: &mut Writer) {
        let volumes = &self.volumes[..self.volumes.len().min(255)];
        w.i32_be(self.time);
        w.u8(volumes.len() as u8);
        for volume in volumes {
            w.u8(volume.flags);
            pascal::put(w, volume.name);
        }
    }
}

layout! {
    /// FPGetSrvrMsg, request.
    pub struct GetSrvrMsg [1] {
        pub kind: u16,
        pub bitmap: u16,
    }
}

impl GetSrvrMsg {
    /// The greeting.
    pub const LOGIN: u16 = 0;
    /// The message that an attention has announced.
    pub const SERVER: u16 = 1;
    /// Bit of the bitmap: the text itself is requested.
    pub const TEXT: u16 = 0x0001;
    /// Bit of the bitmap: the text is UTF-8, with a long length. From AFP 3 on.
    pub const UTF8: u16 = 0x0002;
}

/// FPGetSrvrMsg, reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SrvrMsg<'a> {
    pub kind: u16,
    /// As in the request: it determines the size of the text's length.
    pub bitmap: u16,
    pub text: &'a [u8],
}

impl<'a> SrvrMsg<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (kind, bitmap) = (r.u16_be()?, r.u16_be()?);
        let text = if bitmap & GetSrvrMsg::UTF8 == 0 { pascal::read(r)? } else { long::read(r)? };
        Ok(Self { kind, bitmap, text })
    }

    /// Texts longer than their length field are cut: the caller knows the limit.
    pub fn encode(&self, w: &mut Writer) {
        w.u16_be(self.kind);
        w.u16_be(self.bitmap);
        if self.bitmap & GetSrvrMsg::UTF8 == 0 {
            pascal::put(w, self.text);
        } else {
            long::put(w, self.text);
        }
    }
}

wire::number! {
    /// The purpose of a token.
    pub TokenKind: u16 {
        LOGIN_WITHOUT_ID = 0,
        LOGIN_WITH_ID = 1,
        RECONNECT_WITH_ID = 2,
        LOGIN_WITH_TIME_AND_ID = 3,
        RECONNECT_WITH_TIME_AND_ID = 4,
        RECON1_LOGIN = 5,
        RECON1_RECONNECT = 6,
        RECON1_REFRESH = 7,
        KERBEROS_SESSION_KEY = 8,
    }
}

impl TokenKind {
    /// Whether the request has the start time of the client.
    fn has_time(self) -> bool {
        (Self::LOGIN_WITH_TIME_AND_ID.0..=Self::RECON1_REFRESH.0).contains(&self.0)
    }
}

/// FPGetSessionToken, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetSessionToken<'a> {
    pub kind: TokenKind,
    /// The start time of the client's machine, by its own clock: it is only compared for equality.
    pub time: Option<u32>,
    /// The client's identifier. Absent in requests of the oldest form.
    pub id: &'a [u8],
}

impl<'a> GetSessionToken<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let kind = TokenKind(r.u16_be()?);
        if r.remaining() == 0 {
            return Ok(Self { kind, time: kind.has_time().then_some(0), id: &[] });
        }
        let length = r.u32_be()?;
        let time = if kind.has_time() { Some(r.u32_be()?) } else { None };
        let id = r.take(usize::try_from(length).unwrap_or(usize::MAX))?;
        Ok(Self { kind, time, id })
    }

    /// The kinds with a time send it, as 0 if it is `None`.
    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.kind.0);
        if self.kind == TokenKind::LOGIN_WITHOUT_ID && self.id.is_empty() {
            return;
        }
        w.u32_be(u32::try_from(self.id.len()).unwrap_or(u32::MAX));
        if self.kind.has_time() {
            w.u32_be(self.time.unwrap_or(0));
        }
        w.put(self.id);
    }
}

layout! {
    /// FPGetSessionToken, reply.
    pub struct SessionToken<'a> {
        pub token: &'a [u8] => blob,
    }

    /// FPDisconnectOldSession, request.
    pub struct DisconnectOldSession<'a> [1] {
        /// Reserved.
        pub kind: u16,
        pub token: &'a [u8] => blob,
    }
}

/// FPZzz, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zzz {
    /// Without either bit, the sleep ends with the next request.
    pub flags: u32,
}

impl Zzz {
    /// A sleep that ends only with a request with [`Zzz::WAKE`].
    pub const EXTENDED: u32 = 1;
    pub const WAKE: u32 = 2;

    /// Clients of AFP 3.0 send no flags.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let head = r.take(r.remaining().min(1))?.len(); // padding
        let flags = if head == 0 || r.remaining() == 0 { 0 } else { r.u32_be()? };
        Ok(Self { flags })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u32_be(self.flags);
    }
}

layout! {
    /// FPZzz, reply: not in the reference, but Apple's servers send it.
    pub struct Asleep {
        /// How long the session is kept.
        pub hours: u32,
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
    fn volumes_have_flags_and_a_pascal_name() {
        let bytes = b"\x30\x00\x00\x01\x02\x80\x04Priv\x00\x01a";
        let volumes =
            vec![ListedVolume { flags: 0x80, name: b"Priv" }, ListedVolume { flags: 0, name: b"a" }];
        let parms = SrvrParms { time: 0x3000_0001, volumes };
        assert_eq!(written(|w| parms.encode(w)), bytes);
        assert_eq!(SrvrParms::decode(&mut Reader::new(bytes)), Ok(parms));
        assert!(SrvrParms::decode(&mut Reader::new(&bytes[..13])).is_err());
    }

    #[test]
    fn a_message_has_a_long_length_only_as_utf8() {
        let request = GetSrvrMsg { kind: GetSrvrMsg::SERVER, bitmap: GetSrvrMsg::TEXT };
        assert_eq!(written(|w| request.encode(w)), [0, 0, 1, 0, 1]);
        assert_eq!(GetSrvrMsg::decode(&mut Reader::new(&[0, 0, 1, 0, 1])), Ok(request));
        for (bitmap, bytes) in [(1, &b"\x00\x01\x00\x01\x02hi"[..]), (3, b"\x00\x01\x00\x03\x00\x02hi")] {
            let reply = SrvrMsg { kind: 1, bitmap, text: b"hi" };
            assert_eq!(written(|w| reply.encode(w)), bytes);
            assert_eq!(SrvrMsg::decode(&mut Reader::new(bytes)), Ok(reply));
        }
    }

    #[test]
    fn a_token_is_asked_for_with_as_much_as_its_kind_has() {
        // The oldest form has no id; types 3 to 7 have a time between the id's length and the id.
        type Case = (u16, Option<u32>, &'static [u8], &'static [u8]);
        let cases: [Case; 4] = [
            (0, None, b"", b"\0\0\0"),
            (1, None, b"abc", b"\0\0\x01\0\0\0\x03abc"),
            (3, Some(0x01020304), b"abc", b"\0\0\x03\0\0\0\x03\x01\x02\x03\x04abc"),
            (8, None, b"", b"\0\0\x08\0\0\0\0"),
        ];
        for (kind, time, id, bytes) in cases {
            let request = GetSessionToken { kind: TokenKind(kind), time, id };
            assert_eq!(written(|w| request.encode(w)), bytes);
            assert_eq!(GetSessionToken::decode(&mut Reader::new(bytes)), Ok(request));
        }
        let absurd = b"\0\0\x03\xff\xff\xff\xff\x01\x02\x03\x04abc";
        assert!(GetSessionToken::decode(&mut Reader::new(absurd)).is_err());
    }

    #[test]
    fn an_old_session_is_named_by_its_token() {
        let bytes = b"\0\0\0\0\0\0\x04abcd";
        let request = DisconnectOldSession { kind: 0, token: b"abcd" };
        assert_eq!(written(|w| request.encode(w)), bytes);
        assert_eq!(DisconnectOldSession::decode(&mut Reader::new(bytes)), Ok(request));
        assert!(DisconnectOldSession::decode(&mut Reader::new(&bytes[..10])).is_err());
    }

    #[test]
    fn sleep_has_flags_unless_the_client_is_old() {
        assert_eq!(written(|w| Zzz { flags: Zzz::WAKE }.encode(w)), [0, 0, 0, 0, 2]);
        assert_eq!(Zzz::decode(&mut Reader::new(&[0, 0, 0, 0, 1])), Ok(Zzz { flags: 1 }));
        assert_eq!(Zzz::decode(&mut Reader::new(&[0])), Ok(Zzz { flags: 0 }));
        assert!(Zzz::decode(&mut Reader::new(&[0, 0, 0])).is_err());
        assert_eq!(written(|w| Asleep { hours: 10 }.encode(w)), [0, 0, 0, 10]);
        assert_eq!(Asleep::decode(&mut Reader::new(&[0, 0, 0, 10])), Ok(Asleep { hours: 10 }));
    }
}
