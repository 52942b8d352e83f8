//! Sending of alerts: by a webhook and by mail, in the order in which they were raised.

mod mail;
mod webhook;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use admin::control::{AlertStatus, Severity};
use admin::settings::Secret;
use admin::{MailSettings, ToldSettings};
use serde::Serialize;
use tokio::sync::mpsc;

use super::raised::News;
pub(crate) use webhook::post;

/// The event and the name of a message without an alert.
const TEST: &str = "test";
/// The most alerts that wait to be sent.
const MOST_WAITING: usize = 64;
/// The pauses before a message is sent again.
const PAUSES: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(15), Duration::from_secs(40)];
/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(20);

/// An alert as a webhook gets it. Fields may be added, and are never renamed or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Message {
    /// The name of the host.
    server: String,
    /// `raised` or `cleared`; `test` for a message without an alert.
    event: &'static str,
    alert: AlertStatus,
}

/// Where a message goes.
#[derive(Debug, Clone)]
enum Way {
    Webhook(Secret),
    Mail(MailSettings),
}

/// Counters of messages.
#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    failed: AtomicU64,
}

/// Sends alerts. A task sends them one after the other for each way.
pub(super) struct Sender {
    webhooks: mpsc::Sender<(Way, Message)>,
    mails: mpsc::Sender<(Way, Message)>,
    counts: Arc<Counts>,
}

impl Sender {
    pub(super) fn start() -> Self {
        let counts = Arc::<Counts>::default();
        let start = || {
            let (sender, queue) = mpsc::channel(MOST_WAITING);
            tokio::spawn(send_all(queue, counts.clone(), PAUSES));
            sender
        };
        Self { webhooks: start(), mails: start(), counts }
    }

    pub(super) fn send(&self, news: &News, told: &ToldSettings) {
        let event = if news.is_raised { "raised" } else { "cleared" };
        let message = Message { server: server(), event, alert: news.alert.clone() };
        for way in ways(told) {
            let queue = if matches!(way, Way::Webhook(_)) { &self.webhooks } else { &self.mails };
            if queue.try_send((way, message.clone())).is_err() {
                self.counts.failed.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(alert = message.alert.name, "an alert is not sent: too many wait");
            }
        }
    }

    /// Messages that were sent, and those that could not be sent.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.counts.sent.load(Ordering::Relaxed), self.counts.failed.load(Ordering::Relaxed))
    }
}

fn server() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The ways of these settings.
fn ways(told: &ToldSettings) -> impl Iterator<Item = Way> {
    told.webhook.clone().map(Way::Webhook).into_iter().chain(told.mail.clone().map(Way::Mail))
}

/// Sends a message without an alert by each way, once: what was accepted, and what was not.
pub(crate) async fn test(told: &ToldSettings) -> (Vec<String>, Vec<String>) {
    let alert = AlertStatus {
        name: TEST.into(),
        about: String::new(),
        severity: Severity::Warning,
        since: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        text: "This is a test: alerts of this server arrive here.".into(),
    };
    let message = Message { server: server(), event: TEST, alert };
    let (mut accepted, mut failed) = (Vec::new(), Vec::new());
    for way in ways(told) {
        let to = match &way {
            Way::Webhook(_) => "the webhook".to_owned(),
            Way::Mail(mail) => format!("the mail server, for {}", mail.to.join(", ")),
        };
        match send(&way, &message, &[]).await {
            Ok(()) => accepted.push(format!("{to}: accepted")),
            Err(error) => failed.push(format!("{to}: {error:#}")),
        }
    }
    if accepted.is_empty() && failed.is_empty() {
        failed.push("no way for alerts is set: see `alert-mail` and `alert-webhook`".into());
    }
    (accepted, failed)
}

async fn send_all<const N: usize>(
    mut queue: mpsc::Receiver<(Way, Message)>,
    counts: Arc<Counts>,
    pauses: [Duration; N],
) {
    while let Some((way, message)) = queue.recv().await {
        match send(&way, &message, &pauses).await {
            Ok(()) => _ = counts.sent.fetch_add(1, Ordering::Relaxed),
            Err(error) => {
                counts.failed.fetch_add(1, Ordering::Relaxed);
                let by = if matches!(way, Way::Webhook(_)) { "webhook" } else { "mail" };
                let error = format!("{error:#}");
                tracing::warn!(by, alert = message.alert.name, error, "an alert could not be sent");
            }
        }
    }
}

/// Sends a message; tries again after each pause.
async fn send(way: &Way, message: &Message, pauses: &[Duration]) -> anyhow::Result<()> {
    let attempt = || async {
        match way {
            Way::Webhook(url) => post(url.reveal(), serde_json::to_vec(message)?, &[]).await,
            Way::Mail(settings) => mail::send(settings, message).await,
        }
    };
    with_retries(ATTEMPT, pauses, attempt).await
}

/// Makes an attempt, and again after each pause as long as it fails. `limit` is the time limit of one attempt.
pub(crate) async fn with_retries<A: Future<Output = anyhow::Result<()>>>(
    limit: Duration,
    pauses: &[Duration],
    attempt: impl Fn() -> A,
) -> anyhow::Result<()> {
    let mut pauses = pauses.iter();
    loop {
        let result = match tokio::time::timeout(limit, attempt()).await {
            Ok(result) => result,
            Err(_) => Err(anyhow::anyhow!("no answer within {} s", limit.as_secs())),
        };
        match (result, pauses.next()) {
            (Err(_), Some(pause)) => tokio::time::sleep(*pause).await,
            (result, _) => return result,
        }
    }
}

#[cfg(test)]
mod tests;
