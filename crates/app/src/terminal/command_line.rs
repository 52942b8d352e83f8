//! Passwords that were typed as words of the command. Every user of this machine can read the words of every process
//! (`/proc/PID/cmdline`, `ps`), for as long as it runs. So the program overwrites these passwords in its own memory, before it does
//! anything else. The kernel lets a process write its memory as a file, `/proc/self/mem`, which needs no `unsafe`.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal as _};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;

use client::without_password;

use crate::terminal::out;

/// The place of `arg_start` among the words of /proc/PID/stat that follow the name of the program, proc_pid_stat(5): it is the
/// 48th of all.
const ARG_START: usize = 48 - 3;
/// What is shown in place of each byte.
const HIDDEN: u8 = b'*';

/// The words of the command. Its passwords are gone from the list of processes then. To be called before another thread begins.
pub(crate) fn words() -> Vec<OsString> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let line = words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect::<Vec<u8>>();
    if let Err(error) = hide(secrets(&line))
        && io::stderr().is_terminal()
    {
        out::error_line(format_args!(
            "note: users of this machine can read the password in the list of processes ({error}); give --password-file"
        ));
    }
    words
}

/// Overwrites these bytes of the words.
fn hide(secrets: Vec<Range<usize>>) -> io::Result<()> {
    if secrets.is_empty() {
        return Ok(());
    }
    let stat = fs::read_to_string("/proc/self/stat")?;
    let begin: u64 = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(ARG_START)?.parse().ok())
        .ok_or_else(|| io::Error::other("/proc/self/stat does not say where they are"))?;
    let memory = OpenOptions::new().write(true).open("/proc/self/mem")?;
    secrets.into_iter().try_for_each(|range| {
        let hidden = vec![HIDDEN; range.len()];
        memory.write_all_at(&hidden, begin + range.start as u64)
    })
}

/// Where the passwords are in words with a NUL behind each: those of URLs, and of `--user NAME:PASSWORD`.
fn secrets(line: &[u8]) -> Vec<Range<usize>> {
    let (mut at, mut before, mut found) = (0, &b""[..], Vec::new());
    for word in line.split(|byte| *byte == 0) {
        let secret = in_url(word).or_else(|| in_account(before, word));
        found.extend(secret.filter(|range| !range.is_empty()).map(|range| at + range.start..at + range.end));
        at += word.len() + 1;
        before = word;
    }
    found
}

/// The password in a word that has a URL. It follows the user's name and a colon.
fn in_url(word: &[u8]) -> Option<Range<usize>> {
    let text = std::str::from_utf8(word).ok()?;
    let shown = without_password(text);
    let length = text.len().checked_sub(shown.len() + 1)?;
    let (scheme, rest) = text.split_once("://")?;
    let begin = scheme.len() + "://".len() + rest.find(':')? + 1;
    Some(begin..begin + length)
}

/// The password in the value of `--user`.
fn in_account(before: &[u8], word: &[u8]) -> Option<Range<usize>> {
    const FLAG: &[u8] = b"--user";
    let value = match word.strip_prefix(FLAG).and_then(|rest| rest.strip_prefix(b"=")) {
        Some(value) => value,
        None if before == FLAG => word,
        None => return None,
    };
    let colon = value.iter().position(|byte| *byte == b':')?;
    Some(word.len() - value.len() + colon + 1..word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_found_in_urls_and_accounts() {
        for (words, hidden) in [
            ("ls smb://ada:sesame@nas/files", "ls smb://ada:******@nas/files"),
            ("mount afp://ada:a:b%40c@nas:548/Mac /mnt", "mount afp://ada:*******@nas:548/Mac /mnt"),
            ("set studio from=smb://ada:x@nas/a --yes", "set studio from=smb://ada:*@nas/a --yes"),
            ("cp smb://ada:a/b@nas/files nfs://nas/b", "cp smb://ada:***@nas/files nfs://nas/b"),
            ("ls smb://ada@nas/files smb://nas:445/a", "ls smb://ada@nas/files smb://nas:445/a"),
            ("ls smb://ada:@nas/files", "ls smb://ada:@nas/files"),
            ("serve ./share --user ada:sesame --as bob", "serve ./share --user ada:****** --as bob"),
            ("serve ./share --user=ada:se:same", "serve ./share --user=ada:*******"),
            ("domain join lab --user administrator", "domain join lab --user administrator"),
            ("ls größe://ada:pä@nas/f", "ls größe://ada:***@nas/f"),
        ] {
            let mut line = words.replace(' ', "\0").into_bytes();
            for range in secrets(&line.clone()) {
                line[range].fill(HIDDEN);
            }
            assert_eq!(String::from_utf8(line).unwrap().replace('\0', " "), hidden);
        }
    }
}
