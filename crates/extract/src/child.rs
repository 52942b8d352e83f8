//! The process without rights: it reads the contents of one file, whose bytes the server sends.

mod confinement;

use std::io::{Error, ErrorKind, Read, Result, Write};

use crate::contents;
use crate::messages::{LONGEST_MESSAGE, MOST_BYTES, Saying, Task, parts};
use crate::source::Source;

pub use confinement::{LONGEST_CPU_SECONDS, MOST_MEMORY};

/// The word after the program's name that starts this process.
pub const WORD: &str = "extract-child";
/// How many bytes are asked for at least: formats read many small places, one after the other.
const WINDOW: usize = 128 << 10;

/// Gives up everything, and reads one file by messages on standard input and output.
///
/// # Errors
/// The kernel cannot confine the process, or the server has gone.
pub fn run() -> Result<()> {
    confinement::confine()?;
    serve(&mut std::io::stdin().lock(), &mut std::io::stdout().lock())
}

/// The conversation about one file.
fn serve(input: &mut dyn Read, output: &mut dyn Write) -> Result<()> {
    output.write_all(&Saying::Ready.encode())?;
    output.flush()?;
    let task = Task::decode(&message(input, LONGEST_MESSAGE)?)
        .map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
    let mut source = RemoteSource { input, output, length: task.length, place: 0, window: Vec::new() };
    let (found, problem) = contents::extract(&task.name, &mut source);
    let output = source.output;
    for (attribute, value) in found.facts {
        output.write_all(&Saying::Fact(attribute, value).encode())?;
    }
    for part in parts(&found.text) {
        output.write_all(&Saying::Text(part.to_owned()).encode())?;
    }
    let reason = match problem {
        None => String::new(),
        Some(contents::Problem::Damaged(why)) => why.to_owned(),
        Some(contents::Problem::Read(error)) => error.to_string(),
    };
    output.write_all(&Saying::End { is_cut: found.is_cut, reason }.encode())?;
    output.flush()
}

/// The next message.
fn message(input: &mut dyn Read, longest: usize) -> Result<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > longest {
        return Err(Error::from(ErrorKind::InvalidData));
    }
    let mut message = vec![0; length];
    input.read_exact(&mut message)?;
    Ok(message)
}

/// The file, whose bytes the server sends.
struct RemoteSource<'a> {
    input: &'a mut dyn Read,
    output: &'a mut dyn Write,
    length: u64,
    /// Where the bytes in the window begin.
    place: u64,
    window: Vec<u8>,
}

impl Source for RemoteSource<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&mut self, place: u64, buffer: &mut [u8]) -> Result<usize> {
        let left = self.length.saturating_sub(place);
        if buffer.is_empty() || left == 0 {
            return Ok(0);
        }
        let is_there = place >= self.place && place < self.place + self.window.len() as u64;
        if !is_there {
            let count = buffer.len().clamp(WINDOW, MOST_BYTES) as u64;
            let needs = Saying::Needs { place, count: count.min(left) as u32 };
            self.output.write_all(&needs.encode())?;
            self.output.flush()?;
            self.window = message(self.input, MOST_BYTES)?;
            self.place = place;
        }
        let from = &self.window[(place - self.place) as usize..];
        let count = from.len().min(buffer.len());
        buffer[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use query::{Attribute, Value};

    use super::*;
    use crate::messages::with_length;

    /// What the process says about a file that the server sends as `answers`.
    fn conversation(name: &str, length: u64, answers: &[&[u8]]) -> Vec<Saying> {
        let mut input = Task { name: name.into(), length }.encode();
        answers.iter().for_each(|answer| input.extend(with_length(answer)));
        let mut output = Vec::new();
        serve(&mut &input[..], &mut output).unwrap();
        let (mut said, mut rest) = (Vec::new(), &output[..]);
        while !rest.is_empty() {
            let message = message(&mut rest, LONGEST_MESSAGE).unwrap();
            said.push(Saying::decode(&message).unwrap());
        }
        said
    }

    #[test]
    fn a_file_is_read_by_places_and_told_in_parts() {
        let text = b"# Plan\nnaive";
        let said = conversation("notes.md", 12, &[text]);
        let expected = [
            Saying::Ready,
            Saying::Needs { place: 0, count: 12 },
            Saying::Fact(Attribute::Title, Value::Text("Plan".into())),
            Saying::Text("# Plan\nnaive".into()),
            Saying::End { is_cut: false, reason: String::new() },
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn a_file_that_became_shorter_ends_the_search_and_not_the_process() {
        let said = conversation("a.pdf", 1000, &[b"%PDF-1.4", b"", b""]);
        assert!(matches!(said.last(), Some(Saying::End { is_cut: true, .. })), "{said:?}");
    }
}
