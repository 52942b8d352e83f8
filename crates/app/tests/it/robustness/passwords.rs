//! A missing password is asked for at the terminal, without showing it; without a terminal the error says how to give it.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use crate::robustness::server::{Server, USER, folder};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fourfold");

/// A program in a terminal of its own, which script(1) makes. What is typed is shown, unless the program turns that off.
struct Terminal {
    script: Child,
    /// All that it has shown.
    shown: String,
}

impl Terminal {
    fn run(words: &[&str]) -> Self {
        let quoted: Vec<String> = [PROGRAM].iter().chain(words).map(|word| format!("'{word}'")).collect();
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--echo", "always", "--command", &quoted.join(" "), "/dev/null"]);
        let script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        Self { script, shown: String::new() }
    }

    /// Reads until the terminal has shown this; an end of the program is an error.
    fn wait_for(&mut self, text: &str) {
        let mut byte = [0];
        while !self.shown.ends_with(text) {
            match self.script.stdout.as_mut().unwrap().read(&mut byte) {
                Ok(1) => self.shown.push(char::from(byte[0])),
                _ => panic!("it ended before {text:?}: {}", self.shown),
            }
        }
    }

    fn type_line(&mut self, text: &str) {
        let keys = self.script.stdin.as_mut().unwrap();
        keys.write_all(format!("{text}\r").as_bytes()).unwrap();
        keys.flush().unwrap();
    }

    /// The rest that it shows, until it ends; and whether it succeeded.
    fn end(mut self) -> (String, bool) {
        let mut bytes = Vec::new();
        self.script.stdout.take().unwrap().read_to_end(&mut bytes).unwrap();
        self.shown.push_str(&String::from_utf8_lossy(&bytes));
        let is_well = self.script.wait().unwrap().success();
        (self.shown, is_well)
    }
}

#[test]
fn a_terminal_is_asked_for_a_missing_password_once() {
    let (top, share) = folder();
    std::fs::write(share.join("a.txt"), b"words of a file").unwrap();
    let server = Server::start_with_afp(top.path(), &share);
    let (user, password) = USER;
    let at = |port: u16, scheme: &str| format!("{scheme}://{user}@127.0.0.1:{port}/share");
    let (smb, afp) = (at(server.smb_port, "smb"), at(server.afp_port, "afp"));
    let (file, copy) = (format!("{smb}/a.txt"), top.path().join("copies"));
    let (to, cleartext) = (copy.to_str().unwrap().to_owned(), format!("{afp}?login=cleartext"));
    let removed = format!("{smb}/b.txt");
    std::fs::write(share.join("b.txt"), b"b").unwrap();
    std::fs::create_dir(&copy).unwrap();
    let commands: [&[&str]; 6] = [
        &["ls", &smb],
        &["ls", &cleartext],
        &["cat", &file],
        &["cp", &file, &file, &to],
        &["migrate", &smb, &to],
        &["rm", "--yes", &removed],
    ];
    for words in commands {
        let mut terminal = Terminal::run(words);
        terminal.wait_for(&format!("Password for {user}@127.0.0.1: "));
        terminal.type_line(password);
        let (shown, is_well) = terminal.end();
        assert!(is_well, "{words:?}: {shown}");
        assert!(!shown.contains(password), "{words:?}: {shown}");
        assert_eq!(shown.matches("Password for").count(), 1, "{words:?}: {shown}");
    }
    assert_eq!(std::fs::read(copy.join("a.txt")).unwrap(), b"words of a file");
    assert!(!share.join("b.txt").exists());
}

#[test]
fn a_wrong_password_and_an_interrupted_one_end_with_an_error() {
    let (top, share) = folder();
    let server = Server::start_with_smb(top.path(), &share);
    let url = format!("smb://{}@127.0.0.1:{}/share", USER.0, server.smb_port);
    for (typed, said) in [("wrong", "the login is refused"), ("\u{3}", "interrupted")] {
        let mut terminal = Terminal::run(&["ls", &url]);
        terminal.wait_for(": ");
        terminal.type_line(typed);
        let (shown, is_well) = terminal.end();
        assert!(!is_well && shown.contains(said), "{typed:?}: {shown}");
    }
}

#[test]
fn without_a_terminal_the_error_says_how_to_give_the_password() {
    let url = "smb://ada@127.0.0.1:9/share";
    let commands: [&[&str]; 7] = [
        &["ls", url],
        &["cat", "smb://ada@127.0.0.1:9/share/a"],
        &["cp", "smb://ada@127.0.0.1:9/share/a", "/tmp"],
        &["migrate", url, "/tmp"],
        &["mount", url, "/tmp"],
        &["verify-metadata", url],
        &["bench", url],
    ];
    for words in commands {
        let output = Command::new(PROGRAM).args(words).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{words:?}");
        assert!(
            said.contains("ada@127.0.0.1 needs a password") && said.contains("--password-file"),
            "{words:?}: {said}"
        );
    }
}

/// The list of processes does not show the password any more when the program connects.
#[test]
fn a_typed_password_is_not_in_the_list_of_processes() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap();
    let url = format!("smb://ada:open-sesame@{at}/share");
    let words = |password: &str| format!("{PROGRAM}\0ls\0smb://ada:{password}@{at}/share\0--timeout\x0030\0");
    let mut program = Command::new(PROGRAM).args(["ls", &url, "--timeout", "30"]).spawn().unwrap();
    let connection = silent.accept().unwrap();
    let shown = std::fs::read_to_string(format!("/proc/{}/cmdline", program.id())).unwrap();
    program.kill().unwrap();
    program.wait().unwrap();
    drop(connection);
    assert_eq!(shown, words("***********"), "the other words stay");
}
