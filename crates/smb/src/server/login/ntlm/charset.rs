//! The form of names in NTLM messages, MS-NLMP 2.2.2.5: UTF-16LE, or one byte for each character (OEM).

use crate::wire::ntlm::flags;
use crate::wire::text;

/// Code page 850, from 0x80 on. The protocol does not say which code page a client uses. This is the one of Windows in
/// western Europe, and smbd's choice.
const CODE_PAGE_850: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒ\
    áíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
    └┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀\
    ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";
/// Stands for a character that the code page does not have.
const REPLACEMENT: u8 = b'?';

/// The character set that client and server agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charset {
    Unicode,
    Oem,
}

impl Charset {
    /// The character set that these flags choose: Unicode takes precedence. `None` if they choose
    /// neither.
    pub(super) fn chosen(negotiated: u32) -> Option<Self> {
        let has = |flag| negotiated & flag != 0;
        match () {
            () if has(flags::UNICODE) => Some(Self::Unicode),
            () if has(flags::OEM) => Some(Self::Oem),
            () => None,
        }
    }

    /// The flag that says so.
    pub(super) fn flag(self) -> u32 {
        match self {
            Self::Unicode => flags::UNICODE,
            Self::Oem => flags::OEM,
        }
    }

    /// A name as UTF-16 units, which the hashes of NTLMv2 are made of in either form (MS-NLMP 3.3.2).
    pub(super) fn units(self, name: &[u8]) -> Vec<u16> {
        match self {
            Self::Unicode => text::whole_units(name),
            Self::Oem => name.iter().map(|&byte| decoded(byte)).collect::<String>().encode_utf16().collect(),
        }
    }

    /// A name as text.
    pub(super) fn text(self, name: &[u8]) -> String {
        String::from_utf16_lossy(&self.units(name))
    }

    /// Text as a name.
    pub(super) fn bytes(self, text: &str) -> Vec<u8> {
        match self {
            Self::Unicode => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Oem => text.chars().map(encoded).collect(),
        }
    }
}

fn decoded(byte: u8) -> char {
    let high = byte.checked_sub(0x80);
    high.and_then(|at| CODE_PAGE_850.chars().nth(at.into())).unwrap_or(char::from(byte))
}

fn encoded(c: char) -> u8 {
    let high = || CODE_PAGE_850.chars().position(|listed| listed == c);
    match c.is_ascii() {
        true => c as u8,
        false => high().map_or(REPLACEMENT, |at| 0x80 + at as u8), // the table has 128 characters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unicode_goes_before_oem_and_one_of_them_must_be_there() {
        let chosen = |negotiated| Charset::chosen(negotiated).map(Charset::flag);
        assert_eq!([1, 2, 3, 4].map(chosen), [Some(1), Some(2), Some(1), None]);
    }

    #[test]
    fn every_byte_is_a_character_and_that_character_is_the_byte() {
        assert_eq!(CODE_PAGE_850.chars().count(), 128);
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(Charset::Oem.bytes(&Charset::Oem.text(&all)), all);
        assert_eq!(Charset::Oem.text(b"M\x9aLLER \x81\xe1\xff"), "MÜLLER üß\u{a0}");
        assert_eq!(Charset::Oem.bytes("a€😀"), b"a??");
    }

    #[test]
    fn half_a_unit_and_half_a_pair_are_no_error() {
        assert_eq!(Charset::Unicode.text(b"a\0\x3d\xd8b"), "a\u{fffd}");
    }
}
