//! LZMA as UDIF has it: the container of xz with LZMA2. "The .xz File Format" (xz project) and "LZMA specification" (Igor
//! Pavlov), both in the public domain. What was decompressed is the dictionary, so that no other memory is needed.

use wire::{Malformed, Reader};

use super::Output;

const MAGIC: &[u8] = b"\xFD7zXZ\0";
const LZMA2: u64 = 0x21;
const HAS_PACKED_SIZE: u8 = 0x40;
const HAS_SIZE: u8 = 0x80;
/// A probability of one half, and the precision of probabilities.
const HALF: u16 = 1024;
const PRECISION: u32 = 11;
const STATES: usize = 12;
/// The most states of a position.
const POSITIONS: usize = 16;
/// The first state after a match.
const AFTER_MATCH: usize = 7;
const DAMAGED: Malformed = Malformed("its LZMA stream is damaged");

/// Decompresses the blocks of a stream. Its index and checksums are not read.
pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> Result<usize, Malformed> {
    let mut input = Reader::new(input);
    let mut output = Output::new(output);
    if input.take(6)? != MAGIC {
        return Err(Malformed("it is no stream of xz"));
    }
    let check = match input.array::<6>()? {
        [0, 0, ..] => 0,
        [0, 1, ..] => 4,
        [0, 4, ..] => 8,
        [0, 10, ..] => 32,
        _ => return Err(Malformed("its stream of xz has a checksum that is not known")),
    };
    // An index, which begins with a zero, follows the last block.
    loop {
        let size = input.u8()?;
        if size == 0 {
            return Ok(output.written);
        }
        block_header(input.take(usize::from(size) * 4 + 3)?)?;
        let start = input.position();
        chunks(&mut input, &mut output)?;
        input.skip((input.position() - start).wrapping_neg() % 4 + check)?;
    }
}

/// A block has one filter: LZMA2.
fn block_header(header: &[u8]) -> Result<(), Malformed> {
    let mut r = Reader::new(header);
    let flags = r.u8()?;
    if flags & 3 != 0 {
        return Err(Malformed("its stream of xz has more than one filter"));
    }
    for flag in [HAS_PACKED_SIZE, HAS_SIZE] {
        if flags & flag != 0 {
            number(&mut r)?;
        }
    }
    match number(&mut r)? {
        LZMA2 => Ok(()),
        _ => Err(Malformed("its stream of xz has a filter that is not known")),
    }
}

/// A number of seven bits a byte, the lowest ones first.
fn number(r: &mut Reader<'_>) -> Result<u64, Malformed> {
    let mut value = 0;
    for at in 0..9 {
        let byte = r.u8()?;
        value |= u64::from(byte & 0x7F) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(DAMAGED)
}

/// The chunks of LZMA2, up to their end.
fn chunks(input: &mut Reader<'_>, output: &mut Output<'_>) -> Result<(), Malformed> {
    let mut decoder: Option<Decoder> = None;
    let mut start = output.written;
    loop {
        let control = input.u8()?;
        match control {
            0 => return Ok(()),
            1 | 2 => {
                if control == 1 {
                    start = output.written;
                }
                let count = usize::from(input.u16_be()?) + 1;
                output.literals(input.take(count)?)?;
            }
            3..=0x7F => return Err(DAMAGED),
            _ => {
                let size = (usize::from(control & 0x1F) << 16) + usize::from(input.u16_be()?) + 1;
                let packed = usize::from(input.u16_be()?) + 1;
                let resets = control >> 5 & 3;
                if resets == 3 {
                    start = output.written;
                }
                if resets >= 2 {
                    decoder = Some(Decoder::new(input.u8()?, start)?);
                } else if resets == 1 {
                    decoder.as_mut().ok_or(DAMAGED)?.reset();
                }
                let decoder = decoder.as_mut().ok_or(DAMAGED)?;
                decoder.start = start;
                decoder.chunk(input.take(packed)?, size, output)?;
            }
        }
    }
}

/// The range coder.
struct Range<'a> {
    input: Reader<'a>,
    range: u32,
    code: u32,
}

impl<'a> Range<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut input = Reader::new(bytes);
        input.skip(1)?; // always zero
        let code = input.u32_be()?;
        Ok(Self { input, range: u32::MAX, code })
    }

    fn normalize(&mut self) -> Result<(), Malformed> {
        if self.range < 1 << 24 {
            self.range <<= 8;
            self.code = self.code << 8 | u32::from(self.input.u8()?);
        }
        Ok(())
    }

    fn bit(&mut self, probability: &mut u16) -> Result<usize, Malformed> {
        self.normalize()?;
        let bound = (self.range >> PRECISION) * u32::from(*probability);
        if self.code < bound {
            self.range = bound;
            *probability += ((1 << PRECISION) - *probability) >> 5;
            Ok(0)
        } else {
            self.range -= bound;
            self.code -= bound;
            *probability -= *probability >> 5;
            Ok(1)
        }
    }

    /// Bits of which each value is as likely.
    fn direct(&mut self, count: u32) -> Result<u32, Malformed> {
        let mut value = 0;
        for _ in 0..count {
            self.normalize()?;
            self.range >>= 1;
            let bit = u32::from(self.code >= self.range);
            self.code -= self.range * bit;
            value = value << 1 | bit;
        }
        Ok(value)
    }

    /// A number of so many bits, the highest one first, by a tree of probabilities.
    fn tree(&mut self, tree: &mut [u16], bits: u32) -> Result<usize, Malformed> {
        let mut at = 1;
        for _ in 0..bits {
            at = at << 1 | self.bit(&mut tree[at])?;
        }
        Ok(at - (1 << bits))
    }

    /// The same with the lowest bit first. The tree begins at `base`.
    fn reverse_tree(&mut self, tree: &mut [u16], base: usize, bits: u32) -> Result<u32, Malformed> {
        let (mut at, mut value) = (1, 0);
        for index in 0..bits {
            let bit = self.bit(&mut tree[base + at])?;
            at = at << 1 | bit;
            value |= (bit as u32) << index;
        }
        Ok(value)
    }
}

/// The probabilities of lengths.
#[derive(Clone)]
struct Lengths {
    choice: [u16; 2],
    low: [[u16; 8]; POSITIONS],
    middle: [[u16; 8]; POSITIONS],
    high: [u16; 256],
}

impl Lengths {
    fn new() -> Self {
        let short = [[HALF; 8]; POSITIONS];
        Self { choice: [HALF; 2], low: short, middle: short, high: [HALF; 256] }
    }

    fn read(&mut self, range: &mut Range<'_>, position: usize) -> Result<usize, Malformed> {
        Ok(2 + if range.bit(&mut self.choice[0])? == 0 {
            range.tree(&mut self.low[position], 3)?
        } else if range.bit(&mut self.choice[1])? == 0 {
            8 + range.tree(&mut self.middle[position], 3)?
        } else {
            16 + range.tree(&mut self.high, 8)?
        })
    }
}

/// The state of LZMA between chunks.
struct Decoder {
    literal_context: u32,
    literal_position: u32,
    positions: usize,
    /// Where the dictionary begins in the output.
    start: usize,
    state: usize,
    /// The last four distances, less one.
    distances: [u32; 4],
    literals: Vec<u16>,
    is_match: [[u16; POSITIONS]; STATES],
    is_repeated: [u16; STATES],
    /// Whether it is another one than the last distance, the second, the third.
    is_other: [[u16; STATES]; 3],
    is_long: [[u16; POSITIONS]; STATES],
    slots: [[u16; 64]; 4],
    special: [u16; 115],
    align: [u16; 16],
    match_lengths: Lengths,
    repeated_lengths: Lengths,
}

impl Decoder {
    fn new(properties: u8, start: usize) -> Result<Self, Malformed> {
        let (context, rest) = (u32::from(properties % 9), u32::from(properties / 9));
        let (position, positions) = (rest % 5, rest / 5);
        if context + position > 4 || positions > 4 {
            return Err(DAMAGED);
        }
        Ok(Self {
            literal_context: context,
            literal_position: position,
            positions: (1 << positions) - 1,
            start,
            state: 0,
            distances: [0; 4],
            literals: vec![HALF; 0x300 << (context + position)],
            is_match: [[HALF; POSITIONS]; STATES],
            is_repeated: [HALF; STATES],
            is_other: [[HALF; STATES]; 3],
            is_long: [[HALF; POSITIONS]; STATES],
            slots: [[HALF; 64]; 4],
            special: [HALF; 115],
            align: [HALF; 16],
            match_lengths: Lengths::new(),
            repeated_lengths: Lengths::new(),
        })
    }

    /// Begins anew with the same properties.
    fn reset(&mut self) {
        let properties =
            9 * (5 * (self.positions + 1).trailing_zeros() + self.literal_position) + self.literal_context;
        if let Ok(new) = Self::new(properties as u8, self.start) {
            *self = new;
        }
    }

    /// Decompresses a chunk, which has `size` bytes.
    fn chunk(&mut self, packed: &[u8], size: usize, output: &mut Output<'_>) -> Result<(), Malformed> {
        let mut range = Range::new(packed)?;
        let end = output.written + size;
        while output.written < end {
            let position = (output.written - self.start) & self.positions;
            if range.bit(&mut self.is_match[self.state][position])? == 0 {
                self.literal(&mut range, output)?;
                continue;
            }
            let count = if range.bit(&mut self.is_repeated[self.state])? == 0 {
                self.new_match(&mut range, position)?
            } else {
                self.repeated(&mut range, position)?
            };
            let distance = self.distances[0] as usize + 1;
            if count > end - output.written || distance > output.written - self.start {
                return Err(DAMAGED);
            }
            output.copy(distance, count)?;
        }
        Ok(())
    }

    fn literal(&mut self, range: &mut Range<'_>, output: &mut Output<'_>) -> Result<(), Malformed> {
        let position = output.written - self.start;
        let before = |distance: usize| match distance <= position {
            true => Ok(output.bytes[output.written - distance]),
            false => Err(DAMAGED),
        };
        let last = if position == 0 { 0 } else { before(1)? };
        let low = position & ((1 << self.literal_position) - 1);
        let context = (low << self.literal_context) + (usize::from(last) >> (8 - self.literal_context));
        let tree = &mut self.literals[0x300 * context..0x300 * (context + 1)];
        let mut symbol = 1;
        if self.state >= AFTER_MATCH {
            // As long as the bits are those of the byte at the last distance, they have trees of their own.
            let mut matched = usize::from(before(self.distances[0] as usize + 1)?);
            while symbol < 0x100 {
                let expected = matched >> 7 & 1;
                matched <<= 1;
                let bit = range.bit(&mut tree[((1 + expected) << 8) + symbol])?;
                symbol = symbol << 1 | bit;
                if bit != expected {
                    break;
                }
            }
        }
        while symbol < 0x100 {
            symbol = symbol << 1 | range.bit(&mut tree[symbol])?;
        }
        self.state = match self.state {
            0..4 => 0,
            4..10 => self.state - 3,
            _ => self.state - 6,
        };
        output.literals(&[symbol as u8])
    }

    /// A match with a distance of its own. Returns its length.
    fn new_match(&mut self, range: &mut Range<'_>, position: usize) -> Result<usize, Malformed> {
        let count = self.match_lengths.read(range, position)?;
        self.state = if self.state < AFTER_MATCH { 7 } else { 10 };
        let slot = range.tree(&mut self.slots[(count - 2).min(3)], 6)?;
        let distance = if slot < 4 {
            slot as u32
        } else {
            let bits = (slot as u32 >> 1) - 1;
            let high = (2 | slot as u32 & 1) << bits;
            match slot {
                ..14 => high + range.reverse_tree(&mut self.special, high as usize - slot, bits)?,
                _ => {
                    let middle = range.direct(bits - 4)? << 4;
                    high.wrapping_add(middle).wrapping_add(range.reverse_tree(&mut self.align, 0, 4)?)
                }
            }
        };
        let [first, second, third, _] = self.distances;
        self.distances = [distance, first, second, third];
        Ok(count)
    }

    /// A match with one of the last distances. Returns its length.
    fn repeated(&mut self, range: &mut Range<'_>, position: usize) -> Result<usize, Malformed> {
        let state = self.state;
        if range.bit(&mut self.is_other[0][state])? == 0 {
            if range.bit(&mut self.is_long[state][position])? == 0 {
                self.state = if state < AFTER_MATCH { 9 } else { 11 };
                return Ok(1);
            }
        } else {
            let which = match range.bit(&mut self.is_other[1][state])? {
                0 => 1,
                _ => 2 + range.bit(&mut self.is_other[2][state])?,
            };
            self.distances[..=which].rotate_right(1);
        }
        self.state = if state < AFTER_MATCH { 8 } else { 11 };
        self.repeated_lengths.read(range, position)
    }
}
