//! Each compression against streams of other programs (tests/data/MANIFEST.md), and against damage.

use super::*;

fn decompressed(method: Method, input: &[u8], most: usize) -> Result<Vec<u8>, Malformed> {
    let mut output = vec![0; most];
    let count = method.decompress(input, &mut output)?;
    output.truncate(count);
    Ok(output)
}

/// What the streams have.
fn text() -> Vec<u8> {
    (0..3000u64)
        .flat_map(|i| format!("line {i} of the test, and line {} of it\n", i * i).into_bytes())
        .collect()
}

const BZIP2: &[u8] = include_bytes!("../../tests/data/lines.bz2");
const XZ: &[u8] = include_bytes!("../../tests/data/lines.xz");
const LZFSE: &[u8] = include_bytes!("../../tests/data/lines.lzfse");
/// Python's bz2 of 100,000 zeros, 259 "a", 4 "b", 1 "c".
const BZIP2_RUNS: &str = "425a6839314159265359587cc5f00000c45100c000040038000008200030c002954f53c9c2176510b7b2\
2165bd96da90b3c2ee48a70a120b0f98be00";
/// Apple's library codes short input as a block of LZVN.
const SHORT: &[u8] = include_bytes!("../../tests/data/lines-2000.lzfse");

/// The bytes of the block of LZVN in a stream of LZFSE: behind its signature and two lengths.
fn lzvn() -> &'static [u8] {
    assert_eq!(&SHORT[..4], b"bvxn");
    &SHORT[12..SHORT.len() - 4]
}

fn zlib_of(text: &[u8]) -> Vec<u8> {
    let mut stream = flate2::Compress::new(flate2::Compression::best(), true);
    let mut output = vec![0; text.len() + 1024];
    let status = stream.compress(text, &mut output, flate2::FlushCompress::Finish).unwrap();
    assert_eq!(status, flate2::Status::StreamEnd);
    output.truncate(stream.total_out() as usize);
    output
}

#[test]
fn streams_of_other_programs_are_decompressed() {
    let text = text();
    assert_eq!(decompressed(Method::Bzip2, BZIP2, text.len()).unwrap(), text);
    assert_eq!(decompressed(Method::Lzfse, LZFSE, text.len()).unwrap(), text);
    assert_eq!(decompressed(Method::Xz, XZ, text.len()).unwrap(), text);
    assert_eq!(decompressed(Method::Lzfse, SHORT, 2000).unwrap(), text[..2000]);
    assert_eq!(decompressed(Method::Lzvn, lzvn(), 2000).unwrap(), text[..2000]);
    assert_eq!(decompressed(Method::Zlib, &zlib_of(&text), text.len()).unwrap(), text);
}

#[test]
fn runs_of_equal_bytes_are_repeated_in_bzip2() {
    let stream: Vec<u8> = BZIP2_RUNS
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    let whole = [vec![0; 100_000], vec![b'a'; 259], b"bbbbc".to_vec()].concat();
    assert_eq!(decompressed(Method::Bzip2, &stream, 200_000).unwrap(), whole);
}

#[test]
fn adc_has_literals_and_two_kinds_of_copies() {
    // 3 literals; a copy of 4 from 3 before (two bytes); a copy of 5 from 1 before (three bytes).
    let stream = [0x82, b'a', b'b', b'c', 1 << 2, 2, 0x41, 0, 0];
    assert_eq!(decompressed(Method::Adc, &stream, 12).unwrap(), b"abcabcaaaaaa");
    assert!(decompressed(Method::Adc, &[0x82, b'a'], 12).is_err());
    assert!(decompressed(Method::Adc, &[1 << 2, 2], 12).is_err());
}

#[test]
fn input_that_has_more_bytes_than_the_image_says_is_malformed() {
    let text = text();
    for (method, stream) in [
        (Method::Bzip2, BZIP2),
        (Method::Xz, XZ),
        (Method::Lzfse, LZFSE),
        (Method::Zlib, &zlib_of(&text)[..]),
    ] {
        assert!(decompressed(method, stream, text.len() - 1).is_err(), "{method:?}");
    }
    assert!(decompressed(Method::Lzvn, lzvn(), 1999).is_err());
}

#[test]
fn shortened_and_changed_streams_end() {
    for (method, stream) in
        [(Method::Bzip2, BZIP2), (Method::Lzfse, LZFSE), (Method::Lzfse, SHORT), (Method::Lzvn, lzvn())]
    {
        for step in 0..24 {
            let at = step * stream.len() / 24;
            let _ = decompressed(method, &stream[..at], 140_000);
            let mut changed = stream.to_vec();
            changed[at] ^= 1 << (step % 8);
            let _ = decompressed(method, &changed, 140_000);
        }
    }
}
