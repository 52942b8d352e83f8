//! `catia:mappings`, read as smbd reads it: pairs of hexadecimal numbers, the character on the disk and the one that clients see.

use vfs::names::Map;

use super::work::Work;
use crate::commands::adopt::share::words;

/// The characters that Windows forbids, which fruit maps with `fruit:encoding = native`.
const FORBIDDEN: &[u8] = b"\"*:<>?\\|";

/// What counts of a table, and what does not.
#[derive(Debug, Default, PartialEq, Eq)]
struct CatiaTable {
    pairs: Vec<(u16, u16)>,
    left_out: Vec<String>,
}

impl CatiaTable {
    fn read(text: &str) -> Self {
        let mut table = Self::default();
        for pair in words(text) {
            match parse(&pair) {
                Ok((disk, client)) => table.add(disk, client),
                Err(why) => table.left_out.push(format!("{pair}: {why}")),
            }
        }
        table
    }

    /// Of two pairs with one character the later one counts in smbd.
    fn add(&mut self, disk: u16, client: u16) {
        let left_out = &mut self.left_out;
        self.pairs.retain(|one| {
            let is_kept = one.0 != disk && one.1 != client;
            if !is_kept && *one != (disk, client) {
                left_out.push(format!("{}: a later pair has one of its characters", shown(*one)));
            }
            is_kept
        });
        self.pairs.push((disk, client));
    }

    /// Whether a pair is what names are to clients here anyway: the map of Services for Macintosh.
    fn is_own((disk, client): (u16, u16)) -> bool {
        Map::Sfm.encode(&utf8(disk)) == utf8(client)
    }

    /// Whether all characters that Windows forbids are those of that map, as with `fruit:encoding = native`.
    fn is_native(&self) -> bool {
        let mut forbidden = FORBIDDEN.iter().copied().chain(1..=0x1F).map(u16::from);
        self.pairs.iter().all(|pair| Self::is_own(*pair))
            && forbidden.all(|disk| self.pairs.iter().any(|pair| pair.0 == disk))
    }

    fn text(&self) -> String {
        self.pairs.iter().map(|pair| shown(*pair)).collect::<Vec<_>>().join(",")
    }
}

fn utf8(unit: u16) -> Vec<u8> {
    let mut bytes = [0; 4];
    let c = char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER);
    c.encode_utf8(&mut bytes).as_bytes().to_vec()
}

fn shown((disk, client): (u16, u16)) -> String {
    format!("{disk:#04x}:{client:#04x}")
}

/// A pair; the numbers are hexadecimal with or without `0x`.
fn parse(pair: &str) -> Result<(u16, u16), &'static str> {
    let number = |text: &str| {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        let is_character = |code: &u16| *code != 0 && char::from_u32(u32::from(*code)).is_some();
        let number = Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        number.and_then(|digits| u16::from_str_radix(digits, 16).ok()).filter(is_character)
    };
    let (disk, client) = pair.split_once(':').ok_or("not two numbers")?;
    let (disk, client) =
        number(disk).zip(number(client)).ok_or("not two hexadecimal numbers of characters up to 0xffff")?;
    match client < 0x80 {
        true => Err(
            "clients would see a character that names on the disk have, too: they see a private code point, which Macs show as \
                     the character on the disk",
        ),
        false => Ok((disk, client)),
    }
}

/// Translates the table. `is_private`: fruit stores characters that Windows forbids as private code points.
pub(super) fn translate(work: &mut Work<'_>, text: &str, is_private: bool) {
    let table = CatiaTable::read(text);
    let left_out = table.left_out.join("; ");
    if table.pairs.is_empty() {
        return work.no_effect("catia:mappings", left_out);
    }
    let is_own = table.is_native() || !is_private && table.pairs.iter().all(|pair| CatiaTable::is_own(*pair));
    let how = if is_own {
        "name-encoding = \"plain\" is this table".to_owned()
    } else {
        work.share.set_text("catia-mappings", &table.text());
        "catia-mappings".to_owned()
    };
    match left_out.is_empty() {
        true => work.to("catia:mappings", how),
        false => work.kept("catia:mappings", format!("{how}, without {left_out}")),
    }
}

/// Whether a table makes fruit store all characters as themselves.
pub(super) fn is_native(text: &str) -> bool {
    CatiaTable::read(text).is_native()
}

#[cfg(test)]
mod tests {
    use vfs::names::{Characters, windows_view};

    use super::*;

    /// Samba's source3/lib/string_replace.c: strtol with base 16, the last pair of a character counts.
    #[test]
    fn tables_are_read_as_smbd_reads_them() {
        for (text, pairs, left_out) in [
            ("0x22:0xa8,0x3a:0xf7", &[(0x22, 0xA8), (0x3A, 0xF7)][..], 0),
            ("22:a8 3A:F7", &[(0x22, 0xA8), (0x3A, 0xF7)], 0),
            ("0x22:0xa8,\t0x22:0xa9", &[(0x22, 0xA9)], 1),
            ("0x22:0xa8,0x2a:0xa8", &[(0x2A, 0xA8)], 1),
            ("0x3a:0x2d,0x22:0xa8", &[(0x22, 0xA8)], 1),
            ("0x22:0x1f600,x:y,0x0:0xa8,0xd800:0xa8,-22:a8", &[], 5),
        ] {
            let table = CatiaTable::read(text);
            assert_eq!((&*table.pairs, table.left_out.len()), (pairs, left_out), "{text}: {table:?}");
            assert!(Characters::parse(&table.text()).is_some(), "{text}");
        }
    }

    #[test]
    fn fruits_own_table_is_told() {
        let own: Vec<String> = FORBIDDEN
            .iter()
            .copied()
            .chain(1..=0x1F)
            .map(|byte| {
                let view = windows_view(&[b'a', byte, b'a'])[1];
                format!("{byte:#04x}:{view:#06x}")
            })
            .collect();
        assert!(is_native(&own.join(",")));
        assert!(!is_native(&own[1..].join(",")));
        assert!(!is_native("0x22:0xf022,0x3a:0xf03a"));
    }
}
