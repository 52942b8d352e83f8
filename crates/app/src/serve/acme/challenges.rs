//! What shows an issuer that a name is the server's own: a page (RFC 8555 8.3), or a record of its zone (8.4).

use std::collections::VecDeque;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::settings::AcmeChallenge;
use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use vfs::backend::host::as_ourselves;

use super::jws::encoded;

/// The most requests for the page at a time (a further one ends the oldest), the longest one in bytes, and how long it may take.
const MOST_REQUESTS: usize = 16;
const LONGEST_REQUEST: usize = 8 << 10;
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the program may take that changes the zone.
const HOOK: Duration = Duration::from_secs(600);
/// How often it is looked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Where the page is.
const FOLDER: &str = "/.well-known/acme-challenge/";

/// What is shown, until it is ended.
pub(super) enum ShownProof {
    Page(JoinHandle<()>),
    Record { hook: PathBuf, name: String, value: String },
}

impl ShownProof {
    /// The name of the check, RFC 8555 9.7.8.
    pub(super) fn kind(challenge: &AcmeChallenge) -> &'static str {
        match challenge {
            AcmeChallenge::Http(_) => "http-01",
            AcmeChallenge::Dns(_) => "dns-01",
        }
    }

    /// Shows a token with its authorization for a name.
    ///
    /// # Errors
    /// The port is used by another program, or the hook fails.
    pub(super) async fn begin(challenge: &AcmeChallenge, name: &str, shown: &str) -> anyhow::Result<Self> {
        match challenge {
            AcmeChallenge::Http(port) => {
                let listener = listener(*port).await.with_context(|| {
                    format!("port {port} for the issuer's check cannot be opened; is a web server there? `acme-http-port` takes another one")
                })?;
                Ok(Self::Page(tokio::spawn(serve(listener, shown.to_owned()))))
            }
            AcmeChallenge::Dns(hook) => {
                let name = format!("_acme-challenge.{}", name.trim_start_matches("*."));
                let value = encoded(Sha256::digest(shown));
                run(hook, ["add", &name, &value]).await?;
                Ok(Self::Record { hook: hook.clone(), name, value })
            }
        }
    }

    /// Shows it no more.
    pub(super) async fn end(self) {
        match self {
            Self::Page(serving) => serving.abort(),
            Self::Record { hook, name, value } => {
                if let Err(error) = run(&hook, ["remove", &name, &value]).await {
                    let error = format!("{error:#}");
                    tracing::warn!(name, error, "the record for the issuer stays in the zone");
                }
            }
        }
    }
}

/// On all addresses, by IPv6 and IPv4.
async fn listener(port: u16) -> std::io::Result<TcpListener> {
    let both = TcpListener::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).await;
    match both {
        Ok(listener) => Ok(listener),
        Err(_) => TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))).await,
    }
}

async fn serve(listener: TcpListener, shown: String) {
    let shown = Arc::new(shown);
    // They end with this task.
    let mut answers = JoinSet::new();
    let mut begun: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                while answers.try_join_next().is_some() {}
                begun.retain(|answer| !answer.is_finished());
                // The issuer's request comes as a whole, so one that is slow is of somebody else.
                if begun.len() == MOST_REQUESTS
                    && let Some(oldest) = begun.pop_front()
                {
                    oldest.abort();
                }
                let shown = shown.clone();
                begun.push_back(answers.spawn(async move {
                    let _ = tokio::time::timeout(PATIENCE, answer(stream, &shown)).await;
                }));
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await, // out of descriptors
        }
    }
}

/// Answers one request: with what is shown if it is for that, otherwise with "not found".
async fn answer(mut stream: TcpStream, shown: &str) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = [0; 1024];
        let length = stream.read(&mut part).await?;
        if length == 0 || request.len() > LONGEST_REQUEST {
            return Ok(());
        }
        request.extend_from_slice(&part[..length]);
    }
    let token = shown.split('.').next().unwrap_or_default();
    let wanted = format!("GET {FOLDER}{token} HTTP/1.");
    let (status, body) =
        if request.starts_with(wanted.as_bytes()) { ("200 OK", shown) } else { ("404 Not Found", "") };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

/// Runs the program that changes the zone.
async fn run(hook: &Path, arguments: [&str; 3]) -> anyhow::Result<()> {
    let what = format!("{} {}", hook.display(), arguments[0]);
    let mut command = Command::new(hook);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let work = move || -> anyhow::Result<()> {
        // The thread may have acted as somebody else before.
        let mut child =
            as_ourselves(|| command.spawn())?.with_context(|| format!("{what} cannot be started"))?;
        let deadline = Instant::now() + HOOK;
        loop {
            match child.try_wait()? {
                Some(status) => {
                    ensure!(status.success(), "{what} has failed: {status}");
                    return Ok(());
                }
                None if Instant::now() > deadline => {
                    let _ = child.kill();
                    let _ = child.wait();
                    bail!("{what} has not ended within {} s", HOOK.as_secs());
                }
                None => std::thread::sleep(LOOK_EVERY),
            }
        }
    };
    tokio::task::spawn_blocking(work).await?
}
