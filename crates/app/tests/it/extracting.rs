//! Files that attack the process which reads contents: each costs nothing but itself.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use extract::child::{LONGEST_CPU_SECONDS, MOST_MEMORY, WORD};
use extract::{Extractor, Failure, Source, Worker};

/// More than any of these files takes on a busy machine, where the process has the lowest priority.
const LONG: Duration = Duration::from_secs(600);

fn worker() -> Worker {
    Worker::new(env!("CARGO_BIN_EXE_fourfold"), [OsString::from(WORD)]).with_longest(LONG)
}

/// A stream of deflate, RFC 1951, of so many zeros in each of which 258 are one code of the fixed table.
fn deflated_zeros(codes: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.put(0b011, 3); // the last block, fixed codes
    bits.put_code(0x30, 8); // the literal 0
    for _ in 0..codes {
        bits.put_code(0b1100_0101, 8); // length 258
        bits.put_code(0, 5); // distance 1
    }
    bits.put_code(0, 7); // the end
    bits.bytes
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    free: u32,
}

impl Bits {
    fn put(&mut self, value: u32, count: u32) {
        for at in 0..count {
            if self.free == 0 {
                self.bytes.push(0);
                self.free = 8;
            }
            let bit = (value >> at & 1) as u8;
            *self.bytes.last_mut().unwrap() |= bit << (8 - self.free);
            self.free -= 1;
        }
    }

    /// Codes begin with their highest bit.
    fn put_code(&mut self, code: u32, count: u32) {
        self.put(code.reverse_bits() >> (32 - count), count);
    }
}

/// A ZIP archive with one file, APPNOTE 4.3.
fn zip(name: &str, packed: &[u8], unpacked: u32) -> Vec<u8> {
    let common = |w: &mut Vec<u8>| {
        w.extend(20_u16.to_le_bytes());
        w.extend([0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // deflate; no time, no checksum
        w.extend((packed.len() as u32).to_le_bytes());
        w.extend(unpacked.to_le_bytes());
        w.extend((name.len() as u16).to_le_bytes());
        w.extend([0, 0]);
    };
    let mut w = b"PK\x03\x04".to_vec();
    common(&mut w);
    w.extend(name.as_bytes());
    w.extend(packed);
    let start = w.len() as u32;
    w.extend(b"PK\x01\x02\x14\0");
    common(&mut w);
    w.extend([0; 14]);
    w.extend(name.as_bytes());
    let length = w.len() as u32 - start;
    w.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    w.extend(length.to_le_bytes());
    w.extend(start.to_le_bytes());
    w.extend([0, 0]);
    w
}

fn gzip(packed: &[u8]) -> Vec<u8> {
    [b"\x1f\x8b\x08\0\0\0\0\0\0\x03".as_slice(), packed, &[0; 8]].concat()
}

/// Entities of which each is ten of the one before, in a part of a document.
fn laughs() -> Vec<u8> {
    let mut xml = String::from("<?xml version=\"1.0\"?><!DOCTYPE d [<!ENTITY a0 \"ha\">");
    for at in 1..30 {
        xml += &format!("<!ENTITY a{at} \"{}\">", format!("&a{};", at - 1).repeat(10));
    }
    xml += "]><d><w:t>&a29;</w:t></d>";
    xml.into_bytes()
}

/// A page tree in which each node is above the other, and objects that are in streams of themselves.
fn pdf_loop() -> Vec<u8> {
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 9/Kids[3 0 R 3 0 R]/Parent 3 0 R>>endobj\n\
      3 0 obj<</Type/Pages/Count 9/Kids[2 0 R 2 0 R]/Parent 2 0 R>>endobj\n4 0 obj 4 0 R endobj\n\
      trailer<</Root 1 0 R/Size 5/Prev 0>>\nstartxref\n0\n%%EOF"
        .to_vec()
}

/// A TIFF file whose directories follow each other in a circle.
fn tiff_loop() -> Vec<u8> {
    b"II*\0\x08\0\0\0\x01\0\x69\x87\x04\0\x01\0\0\0\x08\0\0\0\x08\0\0\0".to_vec()
}

/// A mail of parts that are in parts, each with the boundary of the one above.
fn mail_of_mails() -> Vec<u8> {
    let head = "Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n";
    head.repeat(2_000).into_bytes()
}

fn attacks() -> Vec<(&'static str, Vec<u8>)> {
    let zeros = deflated_zeros(1 << 16); // 17 MB in 100 KB; the headers say 4 GiB
    vec![
        ("bomb.docx", zip("word/document.xml", &zeros, u32::MAX - 1)),
        ("bomb.zip", zip("zeros", &zeros, u32::MAX - 1)),
        ("bomb.tar.gz", gzip(&zeros)),
        ("laughs.xml", laughs()),
        ("laughs.svg", laughs()),
        ("loop.pdf", pdf_loop()),
        ("deep.pdf", [b"%PDF-1.4\n1 0 obj".as_slice(), &b"[<<".repeat(1 << 13)].concat()),
        ("loop.tif", tiff_loop()),
        ("deep.eml", mail_of_mails()),
        ("deep.html", b"<div><b>".repeat(1 << 13)),
        ("deep.rtf", [b"{\\rtf1".as_slice(), &b"{\\a".repeat(1 << 13)].concat()),
        ("boxes.mp4", b"\0\0\0\x08moov".repeat(1 << 13)),
        ("itself.mov", [b"\0\0\0\x14ftypqt  ".as_slice(), &b"\0\0\0\0moov\0\0\0\x01trak".repeat(9)].concat()),
    ]
}

#[test]
fn a_file_that_attacks_costs_nothing_but_itself() {
    let worker = worker();
    for (name, bytes) in attacks() {
        match worker.extract(name, &mut &bytes[..]) {
            Ok(_) | Err(Failure::Ended(_)) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }
    let good = worker.extract("good.txt", &mut &b"still here"[..]).unwrap();
    assert_eq!(good.text, "still here");
}

/// A file that has text without an end.
struct Endless;

impl Source for Endless {
    fn length(&self) -> u64 {
        u64::MAX
    }

    fn read_at(&mut self, _: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        buffer.fill(b'a');
        Ok(buffer.len())
    }
}

#[test]
fn a_file_without_an_end_is_cut() {
    for name in ["endless.txt", "endless.pdf", "endless.zip", "endless.mp3"] {
        assert!(matches!(worker().extract(name, &mut Endless), Ok(_) | Err(Failure::Ended(_))), "{name}");
    }
}

/// The line of a file of `/proc/PID` that begins with a word.
fn line(pid: u32, file: &str, word: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    text.lines().find(|line| line.starts_with(word)).unwrap().to_owned()
}

#[test]
fn the_process_has_given_up_its_user_and_has_limits() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    let mut child = child.arg(WORD).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 5];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    let pid = child.id();
    if rustix::process::geteuid().is_root() {
        for word in ["Uid:", "Gid:"] {
            let ids = line(pid, "status", word);
            assert!(ids.split_whitespace().skip(1).all(|id| id == "65534"), "{ids}");
        }
        assert_eq!(line(pid, "status", "Groups:").trim(), "Groups:");
        assert_eq!(line(pid, "status", "CapEff:").split_whitespace().nth(1), Some("0000000000000000"));
    }
    let limits = |word| line(pid, "limits", word);
    assert!(limits("Max address space").contains(&format!(" {MOST_MEMORY} ")));
    assert!(limits("Max cpu time").contains(&format!(" {LONGEST_CPU_SECONDS} ")));
    assert_eq!(line(pid, "status", "Seccomp:").split_whitespace().nth(1), Some("2"), "a filter");
    child.stdin.take().unwrap().write_all(&[255; 4]).unwrap(); // no message is so long
    assert!(!child.wait().unwrap().success());
}
