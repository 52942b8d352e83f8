//! LZFSE: blocks of Lempel-Ziv triples (literals, match, distance), coded by finite state entropy. The format is that of
//! Apple's public decoder (github.com/lzfse).

use wire::{Malformed, Reader};

use super::{Output, lzvn};

const END: &[u8; 4] = b"bvx$";
const PLAIN: &[u8; 4] = b"bvx-";
const LZVN: &[u8; 4] = b"bvxn";
const COMPRESSED: &[u8; 4] = b"bvx2";

/// Symbols and states of the lengths of literals and of matches, of the distances, and of the literals.
const LENGTHS: usize = 20;
const LENGTH_STATES: usize = 64;
const DISTANCES: usize = 64;
const DISTANCE_STATES: usize = 256;
const LITERALS: usize = 256;
const LITERAL_STATES: usize = 1024;
/// Bytes of the header of a block before its frequencies.
const FIXED_HEADER: usize = 32;
const MAX_LITERALS: usize = 40_000;
const MAX_MATCHES: usize = 10_000;

const LITERAL_EXTRA: [u8; LENGTHS] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 5, 8];
const MATCH_EXTRA: [u8; LENGTHS] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 5, 8, 11];

pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> Result<usize, Malformed> {
    let mut input = Reader::new(input);
    let mut output = Output::new(output);
    loop {
        match &input.array()? {
            END => return Ok(output.written),
            PLAIN => {
                let count = input.u32_le()? as usize;
                output.literals(input.take(count)?)?;
            }
            LZVN => {
                let (count, payload) = (input.u32_le()? as usize, input.u32_le()? as usize);
                let payload = input.take(payload)?;
                let place = output.bytes[output.written..].get_mut(..count);
                let place = place.ok_or(Malformed("it has more bytes than the image says"))?;
                if lzvn::decompress(payload, place)?.0 != count {
                    return Err(Malformed("a block of LZVN has another length than it says"));
                }
                output.written += count;
            }
            COMPRESSED => block(&mut input, &mut output)?,
            _ => return Err(Malformed("it has a block of LZFSE that is not known")),
        }
    }
}

/// The header of a block.
struct Header {
    raw: usize,
    literals: usize,
    literal_bytes: usize,
    literal_bits: i32,
    literal_states: [usize; 4],
    matches: usize,
    triple_bytes: usize,
    triple_bits: i32,
    /// The first states of literal lengths, match lengths, distances.
    states: [usize; 3],
    frequencies: Vec<u16>,
}

impl Header {
    fn read(input: &mut Reader<'_>) -> Result<Self, Malformed> {
        let raw = input.u32_le()? as usize;
        let (first, second, third) = (input.u64_le()?, input.u64_le()?, input.u64_le()?);
        let field = |word: u64, at: u32, bits: u32| (word >> at & ((1 << bits) - 1)) as usize;
        let size = field(third, 0, 32);
        let packed = size.checked_sub(FIXED_HEADER).ok_or(Malformed("the header of a block is too short"))?;
        let header = Self {
            raw,
            literals: field(first, 0, 20),
            literal_bytes: field(first, 20, 20),
            matches: field(first, 40, 20),
            literal_bits: field(first, 60, 3) as i32 - 7,
            literal_states: [0, 10, 20, 30].map(|at| field(second, at, 10)),
            triple_bytes: field(second, 40, 20),
            triple_bits: field(second, 60, 3) as i32 - 7,
            states: [32, 42, 52].map(|at| field(third, at, 10)),
            frequencies: frequencies(input.take(packed)?)?,
        };
        let [literal, matched, distance] = header.states;
        let are_states = literal < LENGTH_STATES && matched < LENGTH_STATES && distance < DISTANCE_STATES;
        let is_sound = header.literals <= MAX_LITERALS && header.literals.is_multiple_of(4);
        if !are_states || !is_sound || header.matches > MAX_MATCHES {
            return Err(Malformed("the header of a block has a number that is too large"));
        }
        Ok(header)
    }
}

/// The 360 frequencies of all symbols, in a code of 2 to 14 bits each. No bytes are zeros only.
fn frequencies(packed: &[u8]) -> Result<Vec<u16>, Malformed> {
    const COUNT: usize = 2 * LENGTHS + DISTANCES + LITERALS;
    if packed.is_empty() {
        return Ok(vec![0; COUNT]);
    }
    let mut bytes = packed.iter();
    let (mut bits, mut count) = (0u32, 0);
    let mut all = Vec::with_capacity(COUNT);
    for _ in 0..COUNT {
        while count + 8 <= 32 {
            let Some(byte) = bytes.next() else { break };
            bits |= u32::from(*byte) << count;
            count += 8;
        }
        let (value, used) = frequency(bits);
        if used > count {
            return Err(Malformed("the frequencies of a block end too early"));
        }
        bits >>= used;
        count -= used;
        all.push(value);
    }
    match count < 8 && bytes.next().is_none() {
        true => Ok(all),
        false => Err(Malformed("the frequencies of a block end too late")),
    }
}

/// A frequency, and the bits of its code.
fn frequency(bits: u32) -> (u16, u32) {
    match bits & 0b11 {
        0b00 => (0, 2),
        0b10 => (1, 2),
        0b01 => (if bits & 0b100 == 0 { 2 } else { 3 }, 3),
        _ => match bits >> 2 & 0b111 {
            0b000 | 0b010 | 0b100 | 0b110 => (4 + (bits >> 3 & 0b11) as u16, 5),
            0b001 | 0b101 => (8 + (bits >> 4 & 0xF) as u16, 8),
            _ => (24 + (bits >> 4 & 0x3FF) as u16, 14),
        },
    }
}

/// A state of a decoder: the symbol's value, and how the next state follows.
#[derive(Clone, Copy)]
struct State {
    /// Bits of the next state, and extra bits of the value below them.
    bits: u8,
    extra: u8,
    delta: i32,
    base: u32,
}

/// The table of a decoder. `value` gives the base and the number of extra bits of a symbol.
fn table(
    frequencies: &[u16],
    states: usize,
    value: impl Fn(usize) -> (u32, u8),
) -> Result<Vec<State>, Malformed> {
    let mut table = Vec::with_capacity(states);
    for (symbol, &frequency) in frequencies.iter().enumerate().filter(|(_, frequency)| **frequency > 0) {
        let frequency = usize::from(frequency);
        if table.len() + frequency > states {
            return Err(Malformed("the frequencies of a block are more than its states"));
        }
        let (base, extra) = value(symbol);
        // The fewest bits with which the symbol's states reach all states.
        let bits = (frequency as u32).leading_zeros() - (states as u32).leading_zeros();
        let first = ((2 * states) >> bits) - frequency;
        for at in 0..frequency {
            let (bits, delta) = match at < first {
                true => (bits, ((frequency + at) << bits) as i32 - states as i32),
                false => (bits - 1, ((at - first) << (bits - 1)) as i32),
            };
            table.push(State { bits: bits as u8, extra, delta, base });
        }
    }
    Ok(table)
}

/// Bits that are read from the end of their bytes to the beginning.
struct BackwardBits<'a> {
    bytes: &'a [u8],
    left: usize,
}

impl<'a> BackwardBits<'a> {
    /// `unused` is how many bits at the end count: 0 or less.
    fn new(bytes: &'a [u8], unused: i32) -> Result<Self, Malformed> {
        let left = (bytes.len() * 8).checked_add_signed(unused as isize);
        Ok(Self { bytes, left: left.ok_or(Malformed("a block has fewer bits than it says"))? })
    }

    fn pull(&mut self, count: u8) -> Result<u32, Malformed> {
        let left = self.left.checked_sub(usize::from(count));
        self.left = left.ok_or(Malformed("a block has fewer bits than it needs"))?;
        let rest = &self.bytes[self.left / 8..];
        let mut word = [0; 8];
        let known = rest.len().min(8);
        word[..known].copy_from_slice(&rest[..known]);
        Ok((u64::from_le_bytes(word) >> (self.left % 8)) as u32 & ((1u64 << count) - 1) as u32)
    }

    /// The value of the current state; `state` becomes the next one.
    fn symbol(&mut self, table: &[State], state: &mut usize) -> Result<u32, Malformed> {
        let entry = *table.get(*state).ok_or(Malformed("a block has a state that is not in its table"))?;
        let bits = self.pull(entry.bits + entry.extra)?;
        let next = entry.delta + (bits >> entry.extra) as i32;
        *state = usize::try_from(next).map_err(|_| Malformed("a block has a state below zero"))?;
        Ok(entry.base + (bits & ((1 << entry.extra) - 1)))
    }
}

fn block(input: &mut Reader<'_>, output: &mut Output<'_>) -> Result<(), Malformed> {
    let header = Header::read(input)?;
    let (lengths, rest) = header.frequencies.split_at(LENGTHS);
    let (matches, rest) = rest.split_at(LENGTHS);
    let (distances, literals) = rest.split_at(DISTANCES);
    let literal_table = table(literals, LITERAL_STATES, |symbol| (symbol as u32, 0))?;
    let lengths = table(lengths, LENGTH_STATES, |symbol| base(&LITERAL_EXTRA, symbol))?;
    let matches = table(matches, LENGTH_STATES, |symbol| base(&MATCH_EXTRA, symbol))?;
    let distance_extra: [u8; DISTANCES] = std::array::from_fn(|symbol| (symbol / 4) as u8);
    let distances = table(distances, DISTANCE_STATES, |symbol| base(&distance_extra, symbol))?;

    let mut bits = BackwardBits::new(input.take(header.literal_bytes)?, header.literal_bits)?;
    let mut literals = Vec::with_capacity(header.literals);
    let mut states = header.literal_states;
    for at in 0..header.literals {
        literals.push(bits.symbol(&literal_table, &mut states[at % 4])? as u8);
    }

    let mut bits = BackwardBits::new(input.take(header.triple_bytes)?, header.triple_bits)?;
    let [mut literal, mut matched, mut distance_state] = header.states;
    let (mut literals, mut distance) = (Reader::new(&literals), 0);
    let before = output.written;
    for _ in 0..header.matches {
        let count = bits.symbol(&lengths, &mut literal)? as usize;
        let repeated = bits.symbol(&matches, &mut matched)? as usize;
        let new = bits.symbol(&distances, &mut distance_state)? as usize;
        distance = if new == 0 { distance } else { new };
        output.literals(literals.take(count)?)?;
        if repeated > 0 {
            output.copy(distance, repeated)?;
        }
    }
    match output.written - before == header.raw {
        true => Ok(()),
        false => Err(Malformed("a block has another length than it says")),
    }
}

/// The first value of a symbol, and its extra bits: each symbol's values follow those of the symbol before.
fn base(extra: &[u8], symbol: usize) -> (u32, u8) {
    (extra[..symbol].iter().map(|bits| 1u32 << bits).sum(), extra[symbol])
}
