//! Mails about alerts.

use admin::MailSettings;
use admin::control::AlertStatus;
use anyhow::Context;
use lettre::message::header::ContentType;
use lettre::message::{Mailbox, Message as Mail};
use lettre::{SmtpTransport, Transport};

use super::{ATTEMPT, Message, TEST};

/// Sends a mail to all receivers.
///
/// # Errors
/// An address is not valid, or the server does not take the mail.
pub(super) async fn send(settings: &MailSettings, message: &Message) -> anyhow::Result<()> {
    let mail = mail(settings, message)?;
    let builder = SmtpTransport::from_url(settings.server.reveal());
    // The error could repeat the password.
    let builder = builder.map_err(|_| anyhow::anyhow!("the URL of `alert-mail` is not valid"))?;
    let transport = builder.timeout(Some(ATTEMPT / 2)).build();
    let sending = move || transport.send(&mail).map(drop);
    tokio::task::spawn_blocking(sending).await?.context("the mail server did not take the mail")
}

fn mail(settings: &MailSettings, message: &Message) -> anyhow::Result<Mail> {
    let mailbox = |address: &str| {
        address.parse::<Mailbox>().with_context(|| format!("{address} is no address of mail"))
    };
    let AlertStatus { name, about, severity, since, text } = &message.alert;
    let about = if about.is_empty() { String::new() } else { format!(" ({})", one_line(about)) };
    let what = if message.event == TEST {
        "test message".into()
    } else {
        format!("{name}{about}: {}", message.event)
    };
    let subject = format!("[{}] {what}", message.server);
    let mut builder = Mail::builder().from(mailbox(&settings.from)?).subject(subject);
    for address in &settings.to {
        builder = builder.to(mailbox(address)?);
    }
    let body = format!(
        "{text}\n\nAlert: {name}{about}\nSeverity: {}\nSince: {since}\nServer: {}\nEvent: {}\n",
        severity.word(),
        message.server,
        message.event
    );
    Ok(builder.header(ContentType::TEXT_PLAIN).body(body)?)
}

/// Names of files come from clients.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
