//! Filters of streams, ISO 32000-1 7.4, as far as text needs them.

use std::io::Read;

use flate2::read::ZlibDecoder;

use super::file::{MOST_OF_STREAM, PdfFile};
use super::object::{Dictionary, Object};

/// The most filters of a stream.
const MOST_FILTERS: usize = 4;

/// The data of a stream; none if a filter is not supported.
pub(super) fn unpacked(file: &PdfFile<'_>, head: &Dictionary, data: &[u8]) -> Option<Vec<u8>> {
    let listed = |name: &str| match file.resolved(&head.object(name)) {
        Object::Array(all) => all,
        Object::Null => Vec::new(),
        one => vec![one],
    };
    let (filters, parameters) = (listed("Filter"), listed("DecodeParms"));
    let mut data = data.to_vec();
    for (at, filter) in filters.iter().enumerate().take(MOST_FILTERS) {
        data = match file.resolved(filter).name()? {
            "FlateDecode" | "Fl" => flate(&data),
            "ASCIIHexDecode" | "AHx" => hexadecimal(&data),
            "ASCII85Decode" | "A85" => ascii85(&data),
            "LZWDecode" | "LZW" => lzw(&data),
            _ => return None,
        };
        if let Some(Object::Dictionary(parameters)) = parameters.get(at).map(|object| file.resolved(object)) {
            data = predicted(file, &parameters, data);
        }
    }
    Some(data)
}

fn flate(data: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    // What comes before a damaged place is of use.
    let _ = ZlibDecoder::new(data).take(MOST_OF_STREAM as u64).read_to_end(&mut unpacked);
    unpacked
}

fn hexadecimal(data: &[u8]) -> Vec<u8> {
    let digits =
        data.iter().take_while(|byte| **byte != b'>').filter_map(|byte| char::from(*byte).to_digit(16));
    let digits: Vec<u8> = digits.map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)).collect()
}

/// 7.4.3: five characters for four bytes.
fn ascii85(data: &[u8]) -> Vec<u8> {
    let (mut unpacked, mut group) = (Vec::new(), Vec::new());
    for byte in data {
        match byte {
            b'~' => break,
            b'z' if group.is_empty() => unpacked.extend_from_slice(&[0; 4]),
            b'!'..=b'u' => group.push(byte - b'!'),
            _ => continue,
        }
        if group.len() == 5 {
            unpacked.extend_from_slice(&group_of(&group));
            group.clear();
        }
    }
    if group.len() > 1 {
        let bytes = group.len() - 1;
        group.resize(5, 84);
        unpacked.extend_from_slice(&group_of(&group)[..bytes]);
    }
    unpacked
}

fn group_of(digits: &[u8]) -> [u8; 4] {
    let number =
        digits.iter().fold(0u32, |number, digit| number.wrapping_mul(85).wrapping_add((*digit).into()));
    number.to_be_bytes()
}

/// 7.4.4, with early change.
fn lzw(data: &[u8]) -> Vec<u8> {
    const CLEAR: usize = 256;
    const END: usize = 257;
    let mut unpacked: Vec<u8> = Vec::new();
    // Each entry is a place and a length in what was unpacked.
    let mut entries: Vec<(usize, usize)> = Vec::new();
    let (mut bits, mut count, mut width) = (0u32, 0, 9);
    let mut previous: Option<(usize, usize)> = None;
    for byte in data {
        bits = bits << 8 | u32::from(*byte);
        count += 8;
        if count < width {
            continue;
        }
        count -= width;
        let code = (bits >> count) as usize & ((1 << width) - 1);
        let begin = unpacked.len();
        match code {
            CLEAR => {
                entries.clear();
                (width, previous) = (9, None);
                continue;
            }
            END => break,
            code if code < CLEAR => unpacked.push(code as u8),
            code => match (entries.get(code - 258).copied(), previous) {
                (Some((from, length)), _) => unpacked.extend_from_within(from..from + length),
                (None, Some((from, length))) if code - 258 == entries.len() => {
                    unpacked.extend_from_within(from..from + length);
                    unpacked.push(unpacked[begin]);
                }
                _ => break,
            },
        }
        if let Some((from, length)) = previous.filter(|_| entries.len() < 4096 - 258) {
            entries.push((from, length + 1)); // what follows it in the data is its last byte
        }
        previous = Some((begin, unpacked.len() - begin));
        width = match entries.len() + 259 {
            0..=511 => 9,
            512..=1023 => 10,
            1024..=2047 => 11,
            _ => 12,
        };
        if unpacked.len() > MOST_OF_STREAM {
            break;
        }
    }
    unpacked
}

/// Predictors of PNG, 7.4.4.4.
fn predicted(file: &PdfFile<'_>, parameters: &Dictionary, data: Vec<u8>) -> Vec<u8> {
    let number = |name: &str, otherwise| file.resolved(&parameters.object(name)).count().unwrap_or(otherwise);
    if number("Predictor", 1) < 10 {
        return data;
    }
    let bits = number("Colors", 1).min(32) * number("BitsPerComponent", 8).min(32);
    let of_pixel = bits.div_ceil(8).max(1);
    let of_row = (bits * number("Columns", 1).min(1 << 20)).div_ceil(8).max(1);
    let mut unpacked: Vec<u8> = Vec::with_capacity(data.len());
    let mut above = vec![0; of_row];
    for row in data.chunks(of_row + 1) {
        let mut current = vec![0; of_row];
        for (at, byte) in row[1..].iter().enumerate() {
            let left = at.checked_sub(of_pixel).map_or(0, |at| current[at]);
            let corner = at.checked_sub(of_pixel).map_or(0, |at| above[at]);
            let guess = match row[0] {
                1 => left,
                2 => above[at],
                3 => ((u16::from(left) + u16::from(above[at])) / 2) as u8,
                4 => paeth(left, above[at], corner),
                _ => 0,
            };
            current[at] = byte.wrapping_add(guess);
        }
        unpacked.extend_from_slice(&current[..row.len() - 1]);
        above = current;
    }
    unpacked
}

fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let guess = i16::from(left) + i16::from(above) - i16::from(corner);
    let distance = |value: u8| (guess - i16::from(value)).abs();
    if distance(left) <= distance(above) && distance(left) <= distance(corner) {
        left
    } else if distance(above) <= distance(corner) {
        above
    } else {
        corner
    }
}
