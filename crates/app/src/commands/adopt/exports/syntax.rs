//! The syntax of `/etc/exports`: lines of a path and clients with options. Blanks in quotes, or written as three octal digits, belong
//! to a word; a line goes on behind a backslash; a comment begins where a word could.

/// A word, and whether it was written apart from the one before.
type Word = String;

/// A line: its number, and its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Where it begins, counted from 1.
    pub(super) number: usize,
    pub(super) words: Vec<Word>,
}

/// The lines that have words.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut reader = LineReader { bytes: text.as_bytes(), at: 0, number: 1 };
    let mut lines = Vec::new();
    while reader.at < reader.bytes.len() {
        let number = reader.number;
        let words = reader.line();
        if !words.is_empty() {
            lines.push(Line { number, words });
        }
    }
    lines
}

struct LineReader<'a> {
    bytes: &'a [u8],
    at: usize,
    number: usize,
}

impl LineReader<'_> {
    /// The next character. A backslash at the end of a line is a blank, with the blanks that follow.
    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        if byte == b'\n' {
            self.number += 1;
        }
        if byte != b'\\' || self.bytes.get(self.at) != Some(&b'\n') {
            return Some(byte);
        }
        self.number += 1;
        self.at += 1;
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        Some(b' ')
    }

    /// The words up to the end of the line.
    fn line(&mut self) -> Vec<Word> {
        let (mut words, mut word, mut is_word, mut is_quoted) = (Vec::new(), Vec::new(), false, false);
        while let Some(byte) = self.next() {
            match byte {
                b'\n' => break,
                b'#' if !is_word => {
                    self.comment();
                    break;
                }
                b'"' => (is_quoted, is_word) = (!is_quoted, true),
                b' ' | b'\t' | b'\r' if !is_quoted => {
                    if std::mem::take(&mut is_word) {
                        words.push(text(&mut word));
                    }
                }
                b'\\' => {
                    is_word = true;
                    let octal = self.octal();
                    word.push(octal.unwrap_or(b'\\'));
                }
                byte => {
                    is_word = true;
                    word.push(byte);
                }
            }
        }
        if is_word {
            words.push(text(&mut word));
        }
        words
    }

    fn comment(&mut self) {
        while self.next().is_some_and(|byte| byte != b'\n') {}
    }

    /// The byte of three octal digits.
    fn octal(&mut self) -> Option<u8> {
        let digits = self.bytes.get(self.at..self.at + 3)?;
        let value = digits.iter().try_fold(0_u32, |value, digit| {
            matches!(digit, b'0'..=b'7').then(|| value * 8 + u32::from(digit - b'0'))
        })?;
        let byte = u8::try_from(value).ok()?;
        self.at += 3;
        Some(byte)
    }
}

fn text(word: &mut Vec<u8>) -> Word {
    String::from_utf8_lossy(&std::mem::take(word)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_quotes_octal_digits_continuations_and_comments() {
        // exports(5): the format of the file.
        let text = "# a comment\n\n\"/srv/my films\" a(rw) \\\n   b(ro) # the rest\n/srv/with\\040blank *(ro)\n/srv/#1 c\n\
                    /srv/tab\\011x\n   \n/last d(rw,\\\nsync)";
        let found = lines(text);
        let words =
            |at: usize| (found[at].number, found[at].words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(words(0), (3, vec!["/srv/my films", "a(rw)", "b(ro)"]));
        assert_eq!(words(1), (5, vec!["/srv/with blank", "*(ro)"]));
        assert_eq!(words(2), (6, vec!["/srv/#1", "c"]));
        assert_eq!(words(3), (7, vec!["/srv/tab\tx"]));
        assert_eq!(words(4), (9, vec!["/last", "d(rw,", "sync)"]));
        assert_eq!(found.len(), 5);
    }

    #[test]
    fn any_text_has_an_end() {
        for text in ["\\", "\"", "\\\n", "\\9", "a\\", "\\777", "\"\n\\040"] {
            let _ = lines(text);
        }
    }
}
