//! Prompts for a password, without showing it.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use client::Target;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Longest password in bytes.
const LONGEST: usize = 1024;
/// How often a new password may be typed wrong before the command ends: a person would lose what was answered before.
const MOST_ATTEMPTS: usize = 3;

/// The source of a password.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    /// Typed twice at the terminal, or the first line of standard input if that is not a terminal.
    Asked,
    /// The first line of standard input.
    Stdin,
    /// The first line of a file.
    File(&'a Path),
}

impl<'a> Source<'a> {
    /// The source that the flags select.
    pub(crate) fn new(stdin: bool, file: Option<&'a Path>) -> Self {
        match file {
            Some(path) => Self::File(path),
            None if stdin => Self::Stdin,
            None => Self::Asked,
        }
    }
}

/// The password for the account `name`.
pub(crate) fn read(name: &str, from: Source<'_>) -> anyhow::Result<String> {
    match from {
        Source::File(path) => {
            let file = || format!("the password file {} cannot be read", path.display());
            let mut file = BufReader::new(File::open(path).with_context(file)?);
            return first_line(&mut file, &path.display().to_string());
        }
        Source::Asked if std::io::stdin().is_terminal() => {}
        _ => return first_line(&mut std::io::stdin().lock(), "standard input"),
    }
    let mut terminal = NoEchoTerminal::open()?;
    agreed(name, |question| terminal.line(question))
}

/// A password that was typed twice the same. `ask` shows a question, and returns what is typed.
fn agreed(name: &str, mut ask: impl FnMut(&str) -> anyhow::Result<Vec<u8>>) -> anyhow::Result<String> {
    let mut wrong = "";
    for _ in 0..MOST_ATTEMPTS {
        let first = ask(&format!("{wrong}Password for {name}: "))?;
        if first.is_empty() {
            wrong = "  it is empty\n";
        } else if first == ask("Retype the password: ")? {
            return checked(first);
        } else {
            wrong = "  the two passwords differ; type both again\n";
        }
    }
    bail!("{name} gets no password: {}", wrong.trim().trim_end_matches("; type both again"))
}

/// The password of a user of another system: it is asked for once.
pub(crate) fn once(name: &str, from: Source<'_>) -> anyhow::Result<String> {
    match from {
        Source::Asked if std::io::stdin().is_terminal() => {
            Ok(NoEchoTerminal::open()?.ask(&format!("Password for {name}: "))?)
        }
        from => read(name, from),
    }
}

/// Asks for the passwords that targets lack, each user of a server once.
///
/// # Errors
/// There is no terminal, or the password is no text.
pub(crate) fn complete<'a>(targets: impl IntoIterator<Item = &'a mut Target>) -> anyhow::Result<()> {
    for target in targets.into_iter().filter(|target| lacks(target)) {
        target.password = typed_once(&format!("{}@{}", target.user, target.host))?;
    }
    Ok(())
}

/// Whether a server may want a password that is not known. NFS has no login; a guest has no password.
fn lacks(target: &Target) -> bool {
    let is_guest = target.user.is_empty() || target.user.eq_ignore_ascii_case("guest");
    target.protocol.has_secrets() && !is_guest && target.password.is_empty()
}

thread_local! {
    /// Passwords that were typed: a command with several URLs asks once for each user of a server.
    static TYPED: RefCell<Vec<(String, String)>> = const { RefCell::new(Vec::new()) };
}

fn typed_once(name: &str) -> anyhow::Result<String> {
    let known =
        TYPED.with_borrow(|all| all.iter().find(|(other, _)| other == name).map(|(_, typed)| typed.clone()));
    if let Some(password) = known {
        return Ok(password);
    }
    if !std::io::stdin().is_terminal() {
        bail!(
            "{name} needs a password, and standard input is no terminal to ask at: write it on the first line of a file that \
             only you can read, and give --password-file FILE"
        );
    }
    let password = NoEchoTerminal::open()?.ask(&format!("Password for {name}: "))?;
    TYPED.with_borrow_mut(|all| all.push((name.to_owned(), password.clone())));
    Ok(password)
}

fn first_line(input: &mut impl BufRead, called: &str) -> anyhow::Result<String> {
    let mut line = Vec::new();
    let read = input.take(LONGEST as u64 + 2).read_until(b'\n', &mut line);
    read.with_context(|| format!("{called} cannot be read"))?;
    while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        line.pop();
    }
    checked(line)
}

fn checked(line: Vec<u8>) -> anyhow::Result<String> {
    if line.is_empty() {
        bail!(
            "the password is empty; type it at a terminal, or write it on the first line of standard input or a file"
        );
    }
    if line.len() > LONGEST {
        bail!("the password is longer than {LONGEST} bytes; choose a shorter one");
    }
    String::from_utf8(line).context("the password is not UTF-8 text; type it in a UTF-8 terminal")
}

/// The terminal. It shows no typed characters until this is dropped.
struct NoEchoTerminal {
    terminal: File,
    before: Termios,
}

impl NoEchoTerminal {
    /// Keys arrive one by one and unprocessed: so Ctrl-C returns an error here, and the terminal's
    /// mode is restored.
    fn open() -> anyhow::Result<Self> {
        let hint = "there is no terminal to ask at; use --password-stdin";
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").context(hint)?;
        let before = tcgetattr(&terminal).context(hint)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(&terminal, OptionalActions::Flush, &hidden).context(hint)?;
        Ok(Self { terminal, before })
    }

    fn ask(&mut self, question: &str) -> anyhow::Result<String> {
        checked(self.line(question)?)
    }

    fn line(&mut self, question: &str) -> anyhow::Result<Vec<u8>> {
        self.terminal.write_all(question.as_bytes())?;
        let typed = typed(&mut self.terminal);
        self.terminal.write_all(b"\n")?;
        typed
    }
}

impl Drop for NoEchoTerminal {
    fn drop(&mut self) {
        // An error has no remedy, and the program ends soon anyway.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

/// Keys up to Return, with the usual editing keys.
fn typed(keys: &mut impl Read) -> anyhow::Result<Vec<u8>> {
    const CTRL_C: u8 = 0x03;
    const CTRL_D: u8 = 0x04;
    const CTRL_U: u8 = 0x15;
    let mut line: Vec<u8> = Vec::new();
    let mut key = [0];
    while keys.read(&mut key).context("the terminal cannot be read")? == 1 {
        match key[0] {
            b'\r' | b'\n' | CTRL_D => break,
            CTRL_C => bail!("interrupted; nothing was changed"),
            CTRL_U => line.clear(),
            0x08 | 0x7f => {
                // A character of several bytes is removed as a whole.
                while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            byte if line.len() <= LONGEST => line.push(byte),
            _ => {}
        }
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_line_of_standard_input_counts() {
        assert_eq!(first_line(&mut &b"secret word\r\nmore\n"[..], "test").unwrap(), "secret word");
        assert_eq!(first_line(&mut &b"no newline"[..], "test").unwrap(), "no newline");
        assert!(first_line(&mut &b"\n"[..], "test").is_err());
        assert!(first_line(&mut &b"\xff\n"[..], "test").is_err());
        assert!(first_line(&mut &[b'x'; 5000][..], "test").is_err());
    }

    /// The result of these lines, and how many of them were asked for.
    fn agreed_by(lines: &[&str]) -> (Option<String>, usize) {
        let mut asked = 0;
        let next = |_: &str| {
            asked += 1;
            lines.get(asked - 1).map(|line| line.as_bytes().to_vec()).context("no more lines")
        };
        (agreed("ada", next).ok(), asked)
    }

    #[test]
    fn a_new_password_that_is_typed_wrong_is_asked_for_again() {
        assert_eq!(agreed_by(&["secret", "secret"]), (Some("secret".into()), 2));
        assert_eq!(agreed_by(&["", "secret", "sceret", "secret", "secret"]), (Some("secret".into()), 5));
        assert_eq!(agreed_by(&["", "", ""]), (None, 3));
        assert_eq!(agreed_by(&["a", "b", "a", "b", "a", "b", "a", "a"]), (None, 6));
    }

    #[test]
    fn a_password_is_missing_where_a_user_logs_in_without_one() {
        for (url, is_missing) in [
            ("smb://ada@h/s", true),
            ("afp://ada@h/s", true),
            ("iscsi://ada@h/t/0", true),
            ("smb://ada:secret@h/s", false),
            ("smb://h/s", false),
            ("smb://guest@h/s", false),
            ("nfs://ada@h/s", false),
            ("file:///s", false),
        ] {
            assert_eq!(lacks(&Target::parse(url).unwrap()), is_missing, "{url}");
        }
    }

    #[test]
    fn keys_edit_the_line_as_a_person_expects() {
        assert_eq!(typed(&mut &b"wrong\x15ab\xc3\xa4\x7fc\r"[..]).unwrap(), b"abc");
        assert!(typed(&mut &b"abc\x03"[..]).is_err());
    }
}
