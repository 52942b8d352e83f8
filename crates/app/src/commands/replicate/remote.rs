//! The other host, over ssh.

use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};
use replicate::{Failure, Link};

use crate::cli::Replicate;

/// A dataset of another host.
pub(super) struct Remote {
    /// `ada@host`
    host: String,
    port: Option<u16>,
    dataset: String,
}

/// The running ssh.
pub(super) struct RunningSsh {
    child: Child,
    host: String,
}

impl Remote {
    /// `rest` is what follows ssh://.
    pub(super) fn new(typed: &str, rest: &str) -> anyhow::Result<Self> {
        let wrong = || {
            format!(
                "{typed:?} names no dataset of another host: write ssh://HOST/SHARE or ssh://USER@HOST:PORT/SHARE"
            )
        };
        let (host, dataset) =
            rest.split_once('/').filter(|(_, dataset)| !dataset.is_empty()).with_context(wrong)?;
        // An address of IPv6 is in brackets.
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port.parse().ok().with_context(wrong)?)),
            _ => (host, None),
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:[]%".contains(c);
        // ssh would take a word with a hyphen before it for a flag.
        if host.is_empty() || host.starts_with('-') || !host.chars().all(is_plain) {
            bail!(wrong());
        }
        let host = host.replace(['[', ']'], "");
        Ok(Self { host, port, dataset: dataset.to_owned() })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Starts the other side.
    pub(super) fn start(
        &self,
        side: &str,
        until: Option<&str>,
        asked: &Replicate,
    ) -> anyhow::Result<(RunningSsh, Link)> {
        let dataset = match until {
            Some(until) => format!("{}@{until}", self.dataset),
            None => self.dataset.clone(),
        };
        let mut command = Command::new("ssh");
        if let Some(port) = self.port {
            command.args(["-p", &port.to_string()]);
        }
        command.args(["--", &self.host, "fourfold", "replicate", side, &quoted(&dataset)]);
        command.args(asked.verify.then_some("--verify")).args(asked.keep.then_some("--keep"));
        command.args(["--method", asked.method.word()]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.context("ssh cannot be started; install the package openssh-client")?;
        let (Some(input), Some(output)) = (child.stdout.take(), child.stdin.take()) else {
            bail!("ssh has no pipes");
        };
        Ok((RunningSsh { child, host: self.host.clone() }, Link::new(input, output)))
    }
}

impl RunningSsh {
    /// Waits for the end of ssh, which says why the connection ended.
    pub(super) fn end<T>(mut self, done: anyhow::Result<T>) -> anyhow::Result<T> {
        let is_ended = |error: &anyhow::Error| matches!(error.downcast_ref(), Some(Failure::Ended(_)));
        let status = self.child.wait().context("ssh is not waited for")?;
        match done {
            Err(error) if is_ended(&error) && !status.success() => Err(error.context(format!(
                "ssh to {} ended ({status}); `fourfold` must be installed there, and ssh must need no password",
                self.host
            ))),
            done => done,
        }
    }
}

/// A word for the shell of the other host.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_users_ports_and_addresses() {
        let parts = |typed: &str| {
            let remote = Remote::new(typed, typed.strip_prefix("ssh://").unwrap()).ok()?;
            Some((remote.host, remote.port, remote.dataset))
        };
        let some = |host: &str, port, dataset: &str| Some((host.to_owned(), port, dataset.to_owned()));
        assert_eq!(parts("ssh://vault/studio/video"), some("vault", None, "studio/video"));
        assert_eq!(parts("ssh://ada@vault:2222//srv/x"), some("ada@vault", Some(2222), "/srv/x"));
        assert_eq!(parts("ssh://[fe80::1%eth0]:22/a b"), some("fe80::1%eth0", Some(22), "a b"));
        for wrong in [
            "ssh://vault",
            "ssh://vault/",
            "ssh:///x",
            "ssh://-oProxyCommand=x/y",
            "ssh://v:x/y",
            "ssh://a;b/c",
        ] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
