//! Webhooks: changes in folders, sent to other programs by HTTP. One task for each sends them in their order.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use admin::settings::Secret;
use hmac::{Hmac, KeyInit, Mac};
use lock::Mutex;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use tokio::task::AbortHandle;
use vfs::backend::host::as_ourselves;
use web::watching::{FolderWatch, Next};
use web::webhooks::{NewWebhook, WebhookStatus};

use super::watching;
use crate::ranks;
use crate::serve::alerts::{post, with_retries};
use crate::serve::running::Running;

/// The most webhooks.
const MOST: usize = 16;
/// Changes of one message.
const MOST_CHANGES: usize = 100;
/// Changes that come within this time are one message.
const TOGETHER: Duration = Duration::from_millis(200);
/// The pauses before a message is sent again.
const PAUSES: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(15), Duration::from_secs(40)];
/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(20);
/// A folder that cannot be watched is looked for again after so long.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// The longest URL in bytes,
const LONGEST_URL: usize = 2000;
/// and the lengths of secrets.
const SECRETS: std::ops::RangeInclusive<usize> = 16..=200;
/// The longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;
/// Its name in the state folder.
const FILE: &str = "webhooks.json";

/// A webhook as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Hook {
    id: u64,
    folder: String,
    below: bool,
    #[serde(serialize_with = "revealed", deserialize_with = "hook_url")]
    url: Secret,
    #[serde(serialize_with = "revealed", deserialize_with = "signing_secret")]
    secret: Secret,
}

/// Its file is the only place that has the secrets.
fn revealed<S: serde::Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.reveal())
}

fn hook_url<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
    String::deserialize(from).map(Secret::hook)
}

fn signing_secret<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
    String::deserialize(from).map(Secret::whole)
}

#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    failed: AtomicU64,
    lost: AtomicU64,
    missed: AtomicU64,
    /// When the last message was accepted, in seconds since 1970; 0: none yet.
    last_sent: AtomicU64,
    error: Mutex<String, ranks::WebhookError>,
}

impl Counts {
    fn accepted(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.last_sent.store(now(), Ordering::Relaxed);
        self.error.lock().clear();
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A webhook that sends, until it is dropped.
#[derive(Debug)]
struct Sending {
    hook: Hook,
    counts: Arc<Counts>,
    task: AbortHandle,
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The webhooks of a server.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    all: Mutex<Vec<Sending>, ranks::Webhooks>,
}

fn file(running: &Running) -> PathBuf {
    running.current().settings.server.state.join(FILE)
}

impl Hooks {
    /// Starts those that are kept. Needs a tokio runtime.
    pub(super) fn start(&self, running: &Arc<Running>) {
        let path = file(running);
        let Ok(Some(kept)) = as_ourselves(|| read(&path)) else {
            tracing::warn!(file = %path.display(), "the webhooks cannot be read: none is sent; remove the file, or mend it");
            return;
        };
        *self.all.lock() = kept.into_iter().take(MOST).map(|hook| begin(hook, running, None)).collect();
    }

    pub(super) fn list(&self) -> Vec<WebhookStatus> {
        self.all.lock().iter().map(status).collect()
    }

    /// Makes one. Needs a tokio runtime.
    pub(super) fn add(&self, running: &Arc<Running>, new: NewWebhook) -> Result<WebhookStatus, Vec<String>> {
        check(&new)?;
        // What changes after the answer is sent.
        let watched = watching::watch(running, &new.folder, new.below)?;
        let mut all = self.all.lock();
        if all.len() >= MOST {
            return Err(vec![format!("there are {MOST} webhooks already; remove one")]);
        }
        let NewWebhook { folder, below, url, secret, .. } = new;
        let id = all.iter().map(|sending| sending.hook.id).max().unwrap_or(0) + 1;
        let hook = Hook { id, folder, below, url: Secret::hook(url), secret: Secret::whole(secret) };
        let kept = all.iter().map(|sending| &sending.hook).chain([&hook]).collect::<Vec<_>>();
        write(&file(running), &kept)?;
        let sending = begin(hook, running, Some(watched));
        let now = status(&sending);
        all.push(sending);
        Ok(now)
    }

    /// Sends a message without changes, once. Needs a tokio runtime, and blocks until there is an answer.
    pub(super) fn test(&self, id: u64) -> Result<Vec<String>, Vec<String>> {
        let found = self
            .all
            .lock()
            .iter()
            .find(|sending| sending.hook.id == id)
            .map(|sending| (sending.hook.clone(), sending.counts.clone()));
        let (hook, counts) = found.ok_or_else(|| missing(id))?;
        let lost = counts.lost.load(Ordering::Relaxed);
        let message = serde_json::json!({
            "folder": hook.folder, "changes": [], "missed": false, "gone": false, "lost": lost, "test": true,
        });
        match tokio::runtime::Handle::current().block_on(send(&hook, message.to_string(), &[])) {
            Ok(()) => {
                counts.accepted();
                Ok(vec![format!("{} has accepted a message", hook.url)])
            }
            Err(error) => Err(vec![format!("{}: {error:#}", hook.url)]),
        }
    }

    pub(super) fn remove(&self, running: &Running, id: u64) -> Result<Vec<String>, Vec<String>> {
        let mut all = self.all.lock();
        let Some(at) = all.iter().position(|sending| sending.hook.id == id) else {
            return Err(missing(id));
        };
        let rest = all.iter().map(|sending| &sending.hook).filter(|hook| hook.id != id).collect::<Vec<_>>();
        write(&file(running), &rest)?;
        all.remove(at);
        Ok(vec![format!("webhook {id} is removed")])
    }
}

fn missing(id: u64) -> Vec<String> {
    vec![format!("there is no webhook {id}; `GET /v1/webhooks` lists them")]
}

fn check(new: &NewWebhook) -> Result<(), Vec<String>> {
    let is_url = url::Url::parse(&new.url)
        .is_ok_and(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
    if !is_url || new.url.len() > LONGEST_URL {
        return Err(vec![format!(
            "`url` is the address of a program: http or https, at most {LONGEST_URL} bytes"
        )]);
    }
    if !SECRETS.contains(&new.secret.len()) {
        return Err(vec![format!("`secret` has {} to {} bytes", SECRETS.start(), SECRETS.end())]);
    }
    Ok(())
}

fn status(sending: &Sending) -> WebhookStatus {
    let Sending { hook, counts, .. } = sending;
    let number = |count: &AtomicU64| count.load(Ordering::Relaxed);
    WebhookStatus {
        id: hook.id,
        folder: hook.folder.clone(),
        below: hook.below,
        url: hook.url.to_string(),
        sent: number(&counts.sent),
        failed: number(&counts.failed),
        lost: number(&counts.lost),
        missed: number(&counts.missed),
        last_sent: Some(number(&counts.last_sent)).filter(|at| *at > 0),
        error: counts.error.lock().clone(),
    }
}

/// The webhooks that are kept; `None`: the file cannot be read.
fn read(path: &Path) -> Option<Vec<Hook>> {
    match path.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(Vec::new()),
        Ok(found) if found.len() <= LONGEST => {}
        _ => return None,
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Replaces the file, which only the server reads: it has secrets.
fn write(path: &Path, hooks: &[&Hook]) -> Result<(), Vec<String>> {
    let replace = || {
        let text = serde_json::to_vec_pretty(hooks)?;
        let new = path.with_extension("new");
        let mut file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    };
    replace().map_err(|error: std::io::Error| vec![format!("{} cannot be written: {error}", path.display())])
}

/// `watched`: the watch of the folder, if it has begun.
fn begin(hook: Hook, running: &Arc<Running>, watched: Option<FolderWatch>) -> Sending {
    let counts = Arc::<Counts>::default();
    let sending = send_all(hook.clone(), Arc::downgrade(running), counts.clone(), watched);
    let task = tokio::spawn(sending);
    Sending { hook, counts, task: task.abort_handle() }
}

/// Watches the folder whenever it is there, and sends what happens.
async fn send_all(hook: Hook, running: Weak<Running>, counts: Arc<Counts>, watched: Option<FolderWatch>) {
    if let Some(watched) = watched {
        relay(&hook, watched, &counts, &PAUSES).await;
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    loop {
        let Some(running) = running.upgrade() else { return };
        let (folder, below) = (hook.folder.clone(), hook.below);
        let watch = move || as_ourselves(|| watching::watch(&running, &folder, below));
        match tokio::task::spawn_blocking(watch).await {
            Ok(Ok(Ok(watched))) => {
                counts.error.lock().clear();
                relay(&hook, watched, &counts, &PAUSES).await;
            }
            Ok(Ok(Err(lines))) => *counts.error.lock() = lines.join("; "),
            _ => *counts.error.lock() = "the folder cannot be watched".into(),
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Sends what a watch hears until the folder goes.
async fn relay(hook: &Hook, mut watched: FolderWatch, counts: &Counts, pauses: &[Duration]) {
    loop {
        let (mut changes, mut missed, mut gone) = (Vec::new(), false, false);
        let mut wait = None;
        while changes.len() < MOST_CHANGES && !gone {
            let next = match wait {
                None => watched.next().await,
                Some(until) => match tokio::time::timeout_at(until, watched.next()).await {
                    Ok(next) => next,
                    Err(_) => break,
                },
            };
            wait.get_or_insert_with(|| tokio::time::Instant::now() + TOGETHER);
            match next {
                Next::Changed(change) => changes.push(change),
                Next::Missed => {
                    missed = true;
                    counts.missed.fetch_add(1, Ordering::Relaxed);
                }
                Next::Gone => gone = true,
            }
        }
        let lost = counts.lost.load(Ordering::Relaxed);
        let message = serde_json::json!({
            "folder": hook.folder, "changes": changes, "missed": missed, "gone": gone, "lost": lost,
        });
        match send(hook, message.to_string(), pauses).await {
            Ok(()) => counts.accepted(),
            Err(error) => {
                counts.failed.fetch_add(1, Ordering::Relaxed);
                counts.lost.fetch_add(changes.len() as u64, Ordering::Relaxed);
                tracing::warn!(
                    webhook = hook.id,
                    changes = changes.len(),
                    "changes could not be sent: {error:#}"
                );
                *counts.error.lock() = format!("{error:#}");
            }
        }
        if gone {
            return;
        }
    }
}

/// Sends a message; tries again after each pause. Meanwhile the watch keeps what happens.
async fn send(hook: &Hook, body: String, pauses: &[Duration]) -> anyhow::Result<()> {
    let attempt = || {
        let time = now().to_string();
        let signature = format!("sha256={}", signature(hook.secret.reveal(), &time, &body));
        let body = body.clone().into_bytes();
        async move {
            post(hook.url.reveal(), body, &[("x-fourfold-time", time), ("x-fourfold-signature", signature)])
                .await
        }
    };
    with_retries(ATTEMPT, pauses, attempt).await
}

/// HMAC-SHA-256 (RFC 2104) of `TIME.BODY`, in hexadecimal. The time lets the receiver refuse an old message.
fn signature(secret: &str, time: &str, body: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return String::new(); // keys of all lengths are accepted
    };
    for part in [time, ".", body] {
        mac.update(part.as_bytes());
    }
    wire::hex::encode(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(url: &str, secret: &str) -> NewWebhook {
        NewWebhook {
            folder: "studio".into(),
            below: false,
            url: url.into(),
            secret: secret.into(),
            own_password: None,
        }
    }

    #[test]
    fn only_addresses_of_programs_and_long_secrets_are_accepted() {
        let secret = "0123456789abcdef";
        check(&new("https://hooks.example/x?y=1", secret)).unwrap();
        for url in ["", "hooks.example", "file:///etc/passwd", "ftp://hooks.example", "https://"] {
            assert!(check(&new(url, secret)).is_err(), "{url}");
        }
        assert!(check(&new("http://127.0.0.1/", "short")).is_err());
        assert!(check(&new("http://127.0.0.1/", &"x".repeat(201))).is_err());
    }

    #[test]
    fn the_signature_is_that_of_other_programs() {
        // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 0123456789abcdef
        let found = signature("0123456789abcdef", "1700000000", "{\"a\":1}");
        assert_eq!(found, "9eb18f493f8ec135d9eb2dad817c369bb4e9cbfa818657897a7437c1cd8c3a23");
    }

    #[test]
    fn webhooks_are_kept_for_the_server_only() {
        use std::os::unix::fs::MetadataExt;
        let state = tempfile::tempdir().unwrap();
        let path = state.path().join(FILE);
        assert!(read(&path).unwrap().is_empty());
        let hook = Hook {
            id: 3,
            folder: "a".into(),
            below: true,
            url: Secret::hook("http://b/x"),
            secret: Secret::whole("c"),
        };
        write(&path, &[&hook]).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(read(&path).unwrap()[0].id, 3);
        std::fs::write(&path, "no JSON").unwrap();
        assert!(read(&path).is_none());
    }
}
