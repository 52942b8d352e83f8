//! bzip2, one stream: Huffman codes, move-to-front, and the Burrows-Wheeler transform by blocks of at most 900,000 bytes.
//! The format is documented in "BZIP2: Format Specification" (Joe Tsai, 2016).

use wire::Malformed;

use super::Output;

const BLOCK_MAGIC: u64 = 0x3141_5926_5359;
const END_MAGIC: u64 = 0x1772_4538_5090;
/// Symbols of a group that share a Huffman code.
const GROUP: usize = 50;
const MAX_CODE: usize = 20;
const MAX_SYMBOLS: usize = 258;
/// Each block has at least 4 bytes of its header: an image of many empty blocks ends.
const EARLY: Malformed = Malformed("its bzip2 stream ends too early");
const DAMAGED: Malformed = Malformed("its bzip2 stream is damaged");

pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> Result<usize, Malformed> {
    let mut bits = Bits { bytes: input, at: 0 };
    let mut output = Output::new(output);
    if bits.take(24)? != 0x42_5A_68 {
        return Err(Malformed("it is no bzip2 stream"));
    }
    let level = bits.take(8)?.wrapping_sub(u64::from(b'0'));
    if !(1..=9).contains(&level) {
        return Err(DAMAGED);
    }
    loop {
        match bits.take(24)? << 24 | bits.take(24)? {
            BLOCK_MAGIC => block(&mut bits, level as usize * 100_000, &mut output)?,
            END_MAGIC => return Ok(output.written),
            _ => return Err(DAMAGED),
        }
    }
}

/// Bits from the highest of each byte on.
struct Bits<'a> {
    bytes: &'a [u8],
    /// In bits.
    at: usize,
}

impl Bits<'_> {
    /// At most 32 bits.
    fn take(&mut self, count: usize) -> Result<u64, Malformed> {
        let rest = self.bytes.get(self.at / 8..).unwrap_or(&[]);
        let shift = self.at % 8;
        if rest.len() * 8 < shift + count {
            return Err(EARLY);
        }
        let mut word = [0; 8];
        let known = rest.len().min(8);
        word[..known].copy_from_slice(&rest[..known]);
        self.at += count;
        let word = u64::from_be_bytes(word) << shift;
        Ok(if count == 0 { 0 } else { word >> (64 - count) })
    }

    fn bit(&mut self) -> Result<bool, Malformed> {
        Ok(self.take(1)? == 1)
    }
}

/// A canonical Huffman code.
struct Code {
    /// For each length, the first code, and the place of its symbol.
    first: [u32; MAX_CODE + 2],
    place: [usize; MAX_CODE + 2],
    symbols: Vec<u16>,
}

impl Code {
    fn new(lengths: &[u8]) -> Self {
        let mut symbols: Vec<u16> = (0..lengths.len() as u16).collect();
        symbols.sort_by_key(|symbol| lengths[usize::from(*symbol)]);
        let (mut first, mut place) = ([0; MAX_CODE + 2], [0; MAX_CODE + 2]);
        let (mut code, mut at) = (0u32, 0);
        for length in 1..=MAX_CODE {
            let count = lengths.iter().filter(|of| usize::from(**of) == length).count();
            (first[length], place[length]) = (code, at);
            at += count;
            code = (code + count as u32) << 1;
        }
        (first[MAX_CODE + 1], place[MAX_CODE + 1]) = (u32::MAX, at);
        Self { first, place, symbols }
    }

    fn read(&self, bits: &mut Bits<'_>) -> Result<u16, Malformed> {
        let mut code = 0;
        for length in 1..=MAX_CODE {
            code = code << 1 | u32::from(bits.bit()?);
            let at = code.checked_sub(self.first[length]).map(|at| at as usize + self.place[length]);
            if let Some(at) = at.filter(|at| *at < self.place[length + 1]) {
                return self.symbols.get(at).copied().ok_or(DAMAGED);
            }
        }
        Err(DAMAGED)
    }
}

fn block(bits: &mut Bits<'_>, most: usize, output: &mut Output<'_>) -> Result<(), Malformed> {
    bits.take(32)?; // checksum of the block
    if bits.bit()? {
        return Err(Malformed("its bzip2 stream is randomized, which is obsolete"));
    }
    let origin = bits.take(24)? as usize;
    let used = used_bytes(bits)?;
    let symbols = used.len() + 2;
    let groups = bits.take(3)? as usize;
    if used.is_empty() || !(2..=6).contains(&groups) {
        return Err(DAMAGED);
    }
    let selectors = selectors(bits, groups)?;
    let codes = (0..groups).map(|_| code_lengths(bits, symbols).map(|lengths| Code::new(&lengths)));
    let codes: Vec<Code> = codes.collect::<Result<_, _>>()?;
    let transformed = transformed(bits, most, used, &selectors, &codes)?;
    restore(&transformed, origin, output)
}

/// The bytes that the block has.
fn used_bytes(bits: &mut Bits<'_>) -> Result<Vec<u8>, Malformed> {
    let ranges = bits.take(16)?;
    let mut used = Vec::new();
    for range in (0..16u8).filter(|range| ranges >> (15 - range) & 1 == 1) {
        let bytes = bits.take(16)?;
        used.extend((0..16u8).filter(|byte| bytes >> (15 - byte) & 1 == 1).map(|byte| range * 16 + byte));
    }
    Ok(used)
}

/// Which code each group of symbols uses.
fn selectors(bits: &mut Bits<'_>, groups: usize) -> Result<Vec<usize>, Malformed> {
    let count = bits.take(15)?;
    let mut recent: Vec<usize> = (0..groups).collect();
    let mut selectors = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let mut at = 0;
        while bits.bit()? {
            at += 1;
            if at >= groups {
                return Err(DAMAGED);
            }
        }
        let selector = recent.remove(at);
        recent.insert(0, selector);
        selectors.push(selector);
    }
    Ok(selectors)
}

fn code_lengths(bits: &mut Bits<'_>, symbols: usize) -> Result<Vec<u8>, Malformed> {
    let mut length = bits.take(5)? as u8;
    let mut lengths = Vec::with_capacity(MAX_SYMBOLS);
    for _ in 0..symbols {
        loop {
            if !(1..=MAX_CODE as u8).contains(&length) {
                return Err(DAMAGED);
            }
            if !bits.bit()? {
                break;
            }
            length = if bits.bit()? { length - 1 } else { length + 1 };
        }
        lengths.push(length);
    }
    Ok(lengths)
}

/// The bytes before the transform is undone.
fn transformed(
    bits: &mut Bits<'_>,
    most: usize,
    mut recent: Vec<u8>,
    selectors: &[usize],
    codes: &[Code],
) -> Result<Vec<u8>, Malformed> {
    let end = recent.len() as u16 + 1;
    let mut bytes = Vec::new();
    let (mut run, mut weight, mut read) = (0usize, 1usize, 0);
    loop {
        let selector = selectors.get(read / GROUP).ok_or(DAMAGED)?;
        let symbol = codes[*selector].read(bits)?;
        read += 1;
        if symbol < 2 {
            // Runs of the most recent byte, as a number with the digits 1 and 2.
            run += weight << symbol;
            weight <<= 1;
            if run > most - bytes.len() {
                return Err(DAMAGED);
            }
            continue;
        }
        bytes.resize(bytes.len() + run, recent[0]);
        (run, weight) = (0, 1);
        if symbol == end {
            return Ok(bytes);
        }
        if bytes.len() >= most {
            return Err(DAMAGED);
        }
        let byte = recent.remove(usize::from(symbol) - 1);
        recent.insert(0, byte);
        bytes.push(byte);
    }
}

/// Undoes the transform, and the runs of the first stage: four equal bytes, and how many more of them follow.
fn restore(transformed: &[u8], origin: usize, output: &mut Output<'_>) -> Result<(), Malformed> {
    if transformed.is_empty() || origin >= transformed.len() {
        return Err(DAMAGED);
    }
    let mut starts = [0u32; 256];
    transformed.iter().for_each(|byte| starts[usize::from(*byte)] += 1);
    let mut sum = 0;
    for start in &mut starts {
        sum += std::mem::replace(start, sum);
    }
    let mut next = vec![0u32; transformed.len()];
    for (at, byte) in transformed.iter().enumerate() {
        let start = &mut starts[usize::from(*byte)];
        next[*start as usize] = at as u32;
        *start += 1;
    }
    let mut at = next[origin] as usize;
    let (mut last, mut equal) = (None, 0);
    for _ in 0..transformed.len() {
        let byte = transformed[at];
        at = next[at] as usize;
        if equal == 4 {
            let repeated = last.unwrap_or(byte);
            output.literals(&[repeated; 255][..usize::from(byte)])?;
            (last, equal) = (None, 0);
            continue;
        }
        equal = if last == Some(byte) { equal + 1 } else { 1 };
        last = Some(byte);
        output.literals(&[byte])?;
    }
    Ok(())
}
