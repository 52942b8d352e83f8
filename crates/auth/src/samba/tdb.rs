//! The records of a TDB file, Samba's trivial database: a header, heads of chains, and records in these chains.

use super::SambaFileError;

/// What the file begins with, padded with zeros to 32 bytes.
const MAGIC: &[u8] = b"TDB file\n";
const MAGIC_LEN: usize = 32;
const VERSION: u32 = 0x2601_1967 + 6;
/// Bytes of the header. The chain of free records comes next, then the other chains.
const HEADER: usize = 168;
/// Where in the header the features are that change the layout.
const FEATURES: usize = 60;
/// Bytes before the key of a record.
const RECORD: usize = 24;
/// Marks a record in use.
const IN_USE: u32 = 0x2601_1999;
/// Marks a removed record that is still in its chain.
const DEAD: u32 = 0xFEE1_DEAD;

/// Calls `each` with the key and the value of every record.
pub(super) fn records<'a>(
    file: &'a [u8],
    mut each: impl FnMut(&'a [u8], &'a [u8]),
) -> Result<(), SambaFileError> {
    if file.get(..MAGIC.len()) != Some(MAGIC) {
        return Err(SambaFileError("it is not a TDB file"));
    }
    let number = numbers(file)?;
    if number(FEATURES)? != 0 {
        return Err(SambaFileError("it has features that this program does not know"));
    }
    let chains = number(MAGIC_LEN + 4)? as usize;
    // A chain that leads back into itself ends here: there cannot be more records than fit.
    let mut left = file.len() / RECORD;
    for chain in 0..chains {
        let mut at = number(HEADER + 4 * (chain + 1))? as usize;
        while at != 0 {
            left = left.checked_sub(1).ok_or(SambaFileError("a chain of records has no end"))?;
            let field = |nth: usize| number(at.saturating_add(4 * nth));
            let (key, value, mark) = (field(2)? as usize, field(3)? as usize, field(5)?);
            if mark == IN_USE {
                let bytes = file.get(at + RECORD..).and_then(|bytes| bytes.get(..key.checked_add(value)?));
                let (key, value) = bytes.ok_or(SambaFileError("a record ends after the file"))?.split_at(key);
                each(key, value);
            } else if mark != DEAD {
                return Err(SambaFileError("a chain leads to no record"));
            }
            at = field(0)? as usize;
        }
    }
    Ok(())
}

/// Reads numbers in the byte order of the machine that wrote the file, at their offsets.
fn numbers(file: &[u8]) -> Result<impl Fn(usize) -> Result<u32, SambaFileError> + Copy + '_, SambaFileError> {
    let bytes = move |at: usize| -> Result<[u8; 4], SambaFileError> {
        let bytes = at.checked_add(4).and_then(|end| file.get(at..end));
        bytes.and_then(|bytes| bytes.try_into().ok()).ok_or(SambaFileError("it is cut off"))
    };
    let is_little = u32::from_le_bytes(bytes(MAGIC_LEN)?) == VERSION;
    if !is_little && u32::from_be_bytes(bytes(MAGIC_LEN)?) != VERSION {
        return Err(SambaFileError("it has another version of the format"));
    }
    Ok(move |at| bytes(at).map(if is_little { u32::from_le_bytes } else { u32::from_be_bytes }))
}
