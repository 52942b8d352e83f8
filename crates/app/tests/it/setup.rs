//! `fourfold setup` at a pseudo terminal, which `script` of util-linux makes.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::waiting::until;

/// A program at a terminal: what it has shown, and its keyboard.
struct Terminal {
    child: Child,
    keys: Option<ChildStdin>,
    shown: Arc<Mutex<String>>,
    /// How much of it was looked at.
    seen: usize,
}

impl Terminal {
    /// `None`: this machine has no `script`.
    fn start(folder: &Path, words: &str) -> Option<Self> {
        let line = format!("{} {words}", env!("CARGO_BIN_EXE_fourfold"));
        let child = Command::new("script")
            .args(["--quiet", "--return", "--echo", "never", "--command", &line, "/dev/null"])
            .current_dir(folder)
            .env("TERM", "dumb")
            .env("HOME", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            println!("skipped: there is no `script`");
            return None;
        };
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut screen, text) = (child.stdout.take().unwrap(), shown.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = screen.read(&mut bytes) {
                text.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        });
        let keys = child.stdin.take();
        Some(Self { child, keys, shown, seen: 0 })
    }

    /// Waits until the program shows a question, and answers it.
    fn answer(&mut self, question: &str, answer: &str) {
        let shown = self.shown.clone();
        let at = || shown.lock().unwrap()[self.seen..].find(question);
        until(&format!("it does not ask {question:?}"), || at().is_some());
        self.seen += at().unwrap() + question.len();
        self.keys.as_mut().unwrap().write_all(format!("{answer}\n").as_bytes()).unwrap();
    }

    /// Everything that was shown, and the exit code.
    fn end(mut self) -> (String, Option<i32>) {
        let code = self.child.wait().unwrap().code();
        drop(self.keys.take());
        let shown = self.shown.lock().unwrap().clone();
        (shown, code)
    }
}

#[test]
fn without_a_terminal_setup_says_what_to_type_instead() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    let output = command.arg("setup").current_dir(folder.path()).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("fourfold user add") && said.contains("fourfold create"), "{said}");
}

#[test]
fn setup_leads_to_accounts_a_share_and_settings() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut terminal) = Terminal::start(folder.path(), "setup --config fourfold.toml --state state")
    else {
        return;
    };
    let share = folder.path().join("films");
    terminal.answer("Name of this server", "Studio");
    terminal.answer("Folder to share", "/etc");
    terminal.answer("Folder to share", share.to_str().unwrap());
    terminal.answer("Name of the share", "");
    terminal.answer("People who use it", "t-ada, t-grace");
    terminal.answer("Number", "2");
    terminal.answer("Do this?", "");
    for name in ["t-ada", "t-grace"] {
        terminal.answer(&format!("Password for {name}: "), "a password");
        terminal.answer("Retype the password: ", "a password");
    }
    let (shown, code) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("`fourfold serve --config "), "{shown}");
    assert!(share.is_dir());
    let accounts = auth::AccountFile::read(&folder.path().join("state")).unwrap().accounts;
    assert_eq!(
        accounts.iter().map(|account| account.name.as_str()).collect::<Vec<_>>(),
        ["t-ada", "t-grace"]
    );
    assert_eq!(accounts[0].secrets[0].verifies("a password"), Some(true));
    let settings = std::fs::read_to_string(folder.path().join("fourfold.toml")).unwrap();
    for line in
        ["bonjour-name = \"Studio\"", "name = \"films\"", "owners = [\"t-ada\"]", "readers = [\"t-grace\"]"]
    {
        assert!(settings.contains(line), "{settings}");
    }
}

#[test]
fn an_answer_of_no_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut terminal) = Terminal::start(folder.path(), "setup --config fourfold.toml --state state")
    else {
        return;
    };
    terminal.answer("Name of this server", "");
    terminal.answer("Folder to share", folder.path().join("films").to_str().unwrap());
    terminal.answer("Name of the share", "");
    terminal.answer("People who use it", "t-ada");
    terminal.answer("Number", "1");
    terminal.answer("Do this?", "no");
    let (shown, code) = terminal.end();
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("nothing was changed"), "{shown}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
