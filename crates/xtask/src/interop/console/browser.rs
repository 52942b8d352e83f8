//! A real browser, driven over the DevTools protocol (chromedevtools.github.io/devtools-protocol) through a pair of pipes:
//! messages are JSON, each with a zero byte at its end.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::process;

/// How long the browser may take for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a page may take to become what a check waits for.
const WITHIN: Duration = Duration::from_secs(45);
/// Errors that are kept.
const MOST_ERRORS: usize = 100;

/// A browser with one page. Dropping it ends the browser.
pub struct Browser {
    child: Child,
    commands: Option<ChildStdin>,
    messages: Receiver<Value>,
    last: u64,
    session: Option<String>,
    errors: VecDeque<String>,
}

/// A size of the window, and whether the colours are dark.
#[derive(Clone, Copy)]
pub struct Appearance {
    pub width: u32,
    pub height: u32,
    pub dark: bool,
}

impl Browser {
    /// Starts Debian's chromium without a window, with its files in `folder`.
    pub fn start(folder: &Path) -> Result<Self> {
        let program = process::find("chromium").context("chromium is not installed")?;
        // The protocol's pipes are the descriptors 3 and 4.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >&2";
        let mut command = match process::find("setpriv") {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                command.args(["--pdeathsig", "KILL", "--", "sh"]);
                command
            }
            None => Command::new("sh"),
        };
        command.args(["-c", script]).arg(program).args([
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-first-run",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-extensions",
            "--disable-component-update",
            "--disable-background-networking",
            "--ignore-certificate-errors",
            "--hide-scrollbars",
            "--lang=en",
        ]);
        if process::is_root() {
            command.arg("--no-sandbox"); // its sandbox does not work as root
        }
        let log = std::fs::File::create(folder.join("chromium.log"))?;
        let mut child = command
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg("about:blank")
            .env("HOME", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("cannot start chromium")?;
        let commands = child.stdin.take();
        let messages = read_on(child.stdout.take().context("chromium has no output")?);
        let (last, session, errors) = (0, None, VecDeque::new());
        let mut browser = Self { child, commands, messages, last, session, errors };
        browser.open_page()?;
        Ok(browser)
    }

    fn open_page(&mut self) -> Result<()> {
        let target = self.ask("Target.createTarget", json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.ask("Target.attachToTarget", attach)?;
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            self.ask(domain, json!({}))?;
        }
        Ok(())
    }

    /// Sends a command and waits for its result.
    pub fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let commands = self.commands.as_mut().context("chromium was closed")?;
        commands.write_all(&[message.to_string().as_bytes(), b"\0"].concat())?;
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let answer = self
                .messages
                .recv_timeout(left)
                .with_context(|| format!("{method}: chromium says nothing"))?;
            if answer["id"] != json!(self.last) {
                self.note(&answer);
                continue;
            }
            if let Some(error) = answer["error"]["message"].as_str() {
                bail!("{method}: {error}");
            }
            return Ok(answer["result"].clone());
        }
    }

    /// Keeps what the console of the browser shows as an error.
    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        let error = match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                let details = &params["exceptionDetails"];
                Some(format!("{} {}", details["text"], details["exception"]["description"]))
            }
            Some("Runtime.consoleAPICalled") if params["type"] == "error" => Some(params["args"].to_string()),
            Some("Log.entryAdded") if params["entry"]["level"] == "error" => {
                Some(format!("{} {}", params["entry"]["text"], params["entry"]["url"]))
            }
            _ => None,
        };
        if self.errors.len() < MOST_ERRORS {
            self.errors.extend(error);
        }
    }

    /// The errors since the last call.
    pub fn errors(&mut self) -> Vec<String> {
        // Events come in order: those before this answer have been seen.
        let _ = self.evaluate("1");
        self.errors.drain(..).collect()
    }

    /// Goes to an address.
    pub fn go(&mut self, url: &str) -> Result<()> {
        let gone = self.ask("Page.navigate", json!({ "url": url }))?;
        ensure!(gone.get("errorText").is_none(), "{url}: {}", gone["errorText"]);
        Ok(())
    }

    /// The value of an expression in the page. A promise is waited for.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value> {
        let params = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true
        });
        let result = self.ask("Runtime.evaluate", params)?;
        if let Some(details) = result.get("exceptionDetails") {
            bail!("{expression}: {} {}", details["text"], details["exception"]["description"]);
        }
        Ok(result["result"]["value"].clone())
    }

    /// Waits until an expression is true in the page.
    pub fn until(&mut self, expression: &str) -> Result<()> {
        let until = Instant::now() + WITHIN;
        let wanted = format!("Boolean({expression})");
        loop {
            // While the page is loaded, there may be no context to ask in.
            if self.evaluate(&wanted).is_ok_and(|value| value == json!(true)) {
                return Ok(());
            }
            if Instant::now() > until {
                let text = self.evaluate("document.body.innerText.slice(0, 1500)").unwrap_or_default();
                bail!("this does not become true: {expression}; the page shows {text}");
            }
            std::thread::sleep(Duration::from_millis(40));
        }
    }

    /// Presses a key as a person does.
    pub fn press(&mut self, key: &str, code: u32) -> Result<()> {
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let params = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text
            });
            self.ask("Input.dispatchKeyEvent", params)?;
        }
        Ok(())
    }

    /// Types into the element that has the focus.
    pub fn type_text(&mut self, text: &str) -> Result<()> {
        self.ask("Input.insertText", json!({ "text": text })).map(drop)
    }

    /// Sets the size of the window and the colours.
    pub fn look(&mut self, look: Appearance) -> Result<()> {
        let Appearance { width, height, dark } = look;
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600
        });
        self.ask("Emulation.setDeviceMetricsOverride", size)?;
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.ask("Emulation.setEmulatedMedia", json!({ "features": features })).map(drop)
    }

    /// A picture of the window, PNG.
    pub fn screenshot(&mut self) -> Result<Vec<u8>> {
        let picture =
            self.ask("Page.captureScreenshot", json!({ "format": "png", "optimizeForSpeed": false }))?;
        decoded(picture["data"].as_str().context("no picture")?)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        let _ = self.ask("Browser.close", json!({}));
        self.commands = None;
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads messages until the browser ends.
fn read_on(output: std::process::ChildStdout) -> Receiver<Value> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for message in BufReader::new(output).split(0).map_while(Result::ok) {
            let Ok(message) = serde_json::from_slice(&message) else { continue };
            if send.send(message).is_err() {
                return;
            }
        }
    });
    receive
}

/// Base64 with padding, RFC 4648 4.
fn decoded(text: &str) -> Result<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Ok(byte - b'A'),
        b'a'..=b'z' => Ok(byte - b'a' + 26),
        b'0'..=b'9' => Ok(byte - b'0' + 52),
        b'+' => Ok(62),
        b'/' => Ok(63),
        other => bail!("{other} is no digit of base64"),
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for byte in group {
            bits = bits << 6 | u32::from(digit(*byte)?);
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_as_rfc_4648_10_has_it() {
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(decoded(text).unwrap(), bytes.as_bytes());
        }
        assert!(decoded("Zm9*").is_err());
    }
}
