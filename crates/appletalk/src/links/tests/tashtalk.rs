//! TashTalk at a pseudoterminal. Python makes it, and passes its bytes on; the test plays the chip.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use super::super::{Link, LinkError, TashTalkLink};
use super::{LIMIT, next};

const PSEUDOTERMINAL: &str = "import os, select
master, line = os.openpty()
print(os.ttyname(line), flush=True)
while True:
    for end in select.select([master, 0], [], [])[0]:
        data = os.read(end, 4096)
        if not data: raise SystemExit
        os.write(1 if end == master else master, data)
";
/// Nodes 12 and 9, and their frames with check sequences.
const ENQUIRY_FOR_12: &[u8] = &[12, 12, 0x81];
const ENQUIRY_FOR_9: &[u8] = &[9, 9, 0x81];
/// A short DDP header of 5 bytes, from node 12.
const DATA: &[u8] = &[255, 12, 1, 0, 5, 2, 2, 4];

/// The chip's end of the line.
struct Chip {
    python: Child,
    to_host: ChildStdin,
    from_host: Receiver<u8>,
    device: PathBuf,
}

impl Chip {
    /// `None`: Python is missing.
    fn new() -> Option<Self> {
        let python = Command::new("python3")
            .args(["-c", PSEUDOTERMINAL])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut python) = python else {
            println!("skipped: python3 is not installed");
            return None;
        };
        let mut output = BufReader::new(python.stdout.take().unwrap());
        let mut device = String::new();
        output.read_line(&mut device).unwrap();
        let (to_test, from_host) = channel();
        std::thread::spawn(move || {
            output.bytes().map_while(Result::ok).try_for_each(|byte| to_test.send(byte))
        });
        let to_host = python.stdin.take().unwrap();
        Some(Self { python, to_host, from_host, device: device.trim_end().into() })
    }

    fn hears(&self, bytes: &[u8]) {
        let heard: Vec<u8> = bytes.iter().map(|_| self.from_host.recv_timeout(LIMIT).unwrap()).collect();
        assert_eq!(heard, bytes);
    }

    /// A frame on the cable: 0 is followed by 0xFF, and the end of the frame is 0 and 0xFD.
    fn says(&mut self, frame: &[u8]) {
        let bytes: Vec<u8> = [frame, &check(frame)]
            .concat()
            .iter()
            .flat_map(|byte| if *byte == 0 { vec![0, 0xFF] } else { vec![*byte] })
            .chain([0, 0xFD])
            .collect();
        self.to_host.write_all(&bytes).unwrap();
        self.to_host.flush().unwrap();
    }
}

impl Drop for Chip {
    fn drop(&mut self) {
        let _ = self.python.kill();
        let _ = self.python.wait();
    }
}

/// CRC-16/IBM-SDLC, bit by bit.
fn check(frame: &[u8]) -> [u8; 2] {
    let mut crc = 0xFFFF_u16;
    for bit in frame.iter().flat_map(|byte| (0..8).map(move |at| u16::from(byte >> at & 1))) {
        crc = (crc >> 1) ^ if (crc & 1) ^ bit == 1 { 0x8408 } else { 0 };
    }
    (!crc).to_le_bytes()
}

/// The command that has the chip answer for these nodes.
fn nodes(nodes: &[u8]) -> Vec<u8> {
    let mut command = vec![0; 33];
    command[0] = 2;
    nodes.iter().for_each(|node| command[1 + usize::from(node / 8)] |= 1 << (node % 8));
    command
}

#[test]
fn the_chip_is_reset_and_answers_for_the_node_that_sends_data() {
    let Some(chip) = Chip::new() else { return };
    let mut link = TashTalkLink::open(&chip.device).unwrap();
    chip.hears(&[vec![0; 1024], nodes(&[])].concat());
    link.send(ENQUIRY_FOR_12).unwrap();
    chip.hears(&[&[1], ENQUIRY_FOR_12, &check(ENQUIRY_FOR_12)].concat());
    for _ in 0..2 {
        link.send(DATA).unwrap();
    }
    let sent = [&[1], DATA, &check(DATA)].concat();
    chip.hears(&[nodes(&[12]), sent.clone(), sent].concat());
    assert_eq!(link.counters().sent, 3);
}

#[test]
fn enquiries_that_the_chip_answers_are_not_for_the_host() {
    let Some(mut chip) = Chip::new() else { return };
    let mut link = TashTalkLink::open(&chip.device).unwrap();
    chip.says(ENQUIRY_FOR_12);
    assert_eq!(next(&mut link), ENQUIRY_FOR_12, "no node has sent data");
    link.send(DATA).unwrap();
    for frame in [ENQUIRY_FOR_12, &[12, 9, 0x84], ENQUIRY_FOR_9, DATA] {
        chip.says(frame);
    }
    assert_eq!([next(&mut link), next(&mut link)], [ENQUIRY_FOR_9, DATA]);
}

#[test]
fn a_frame_whose_length_is_wrong_is_not_sent() {
    let Some(chip) = Chip::new() else { return };
    let mut link = TashTalkLink::open(&chip.device).unwrap();
    for frame in [&DATA[..7], &[DATA, &[0]].concat(), &[12, 12]] {
        assert!(matches!(link.send(frame), Err(LinkError::Unsendable { .. })));
    }
}

#[test]
fn an_adapter_that_is_pulled_is_gone() {
    let Some(chip) = Chip::new() else { return };
    let mut link = TashTalkLink::open(&chip.device).unwrap();
    drop(chip);
    let error = loop {
        match link.receive() {
            Ok(frame) => assert_eq!(frame, None),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, LinkError::Gone { .. }) && error.is_lasting(), "{error}");
}

#[test]
fn a_path_that_is_no_line_says_what_to_do() {
    let why = TashTalkLink::open(Path::new("/dev/no-such-line")).unwrap_err().to_string();
    assert!(why.contains("`ls /dev/serial/by-id`"), "{why}");
    let why = TashTalkLink::open(Path::new("/dev/null")).unwrap_err();
    assert!(matches!(why, LinkError::NotSerial { .. }), "{why}");
}
