use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use admin::settings::Secret;
use serde_json::Value;

use super::*;

fn message() -> Message {
    let alert = AlertStatus {
        name: "space".into(),
        about: "video".into(),
        severity: Severity::Warning,
        since: "2026-11-22T10:44:01Z".into(),
        text: "Delete files.".into(),
    };
    Message { server: "studio".into(), event: "raised", alert }
}

/// A server that takes so many connections; what `answer` returns for each.
fn server<T: Send + 'static>(
    connections: usize,
    answer: impl Fn(usize, TcpStream) -> T + Send + 'static,
) -> (u16, JoinHandle<Vec<T>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let work = move || {
        let one = |number| {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            answer(number, stream)
        };
        (0..connections).map(one).collect()
    };
    (port, std::thread::spawn(work))
}

/// Reads a request; the first one is refused.
fn http(number: usize, mut stream: TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let status = if number == 0 { "503 Service Unavailable" } else { "204 No Content" };
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").unwrap();
    (head, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn a_webhook_that_refuses_gets_the_alert_again() {
    let (port, served) = server(2, http);
    let way = Way::Webhook(Secret::hook(format!("http://127.0.0.1:{port}/hooks/a?key=1")));
    send(&way, &message(), &[Duration::from_millis(1)]).await.unwrap();
    let requests = served.join().unwrap();
    let (head, json) = &requests[1];
    assert!(head.starts_with("POST /hooks/a?key=1 HTTP/1.1\r\n"), "{head}");
    assert!(head.to_lowercase().contains(&format!("host: 127.0.0.1:{port}\r\n")), "{head}");
    assert_eq!((&json["event"], &json["server"]), (&"raised".into(), &"studio".into()));
    assert_eq!((&json["alert"]["name"], &json["alert"]["severity"]), (&"space".into(), &"warning".into()));
    assert_eq!(requests[0].1, *json);
}

#[tokio::test]
async fn attempts_end_with_the_reason() {
    let (port, served) = server(1, http);
    let way = Way::Webhook(Secret::hook(format!("http://127.0.0.1:{port}/")));
    let refused = send(&way, &message(), &[]).await.unwrap_err();
    assert_eq!(refused.to_string(), "the server answered 503 Service Unavailable");
    served.join().unwrap();
    let gone = send(&way, &message(), &[Duration::from_millis(1); 2]).await.unwrap_err();
    assert_eq!(gone.to_string(), format!("127.0.0.1:{port} cannot be reached"));
    let (port, served) = server(1, |_, stream| drop(stream));
    let way = Way::Webhook(Secret::hook(format!("https://127.0.0.1:{port}/")));
    assert!(send(&way, &message(), &[]).await.is_err(), "there is no TLS");
    drop(served);
}

/// The part of SMTP that a client needs.
fn smtp(_: usize, mut stream: TcpStream) -> Vec<String> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut lines, mut is_data) = (Vec::new(), false);
    stream.write_all(b"220 test\r\n").unwrap();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 {
            return lines;
        }
        let line = line.trim_end().to_owned();
        let answer = match line.as_str() {
            "." => "250 taken",
            _ if is_data => "",
            "DATA" => "354 go on",
            "QUIT" => "221 bye",
            _ => "250 ok",
        };
        is_data = if is_data { line != "." } else { line == "DATA" };
        lines.push(line);
        if !answer.is_empty() {
            stream.write_all(format!("{answer}\r\n").as_bytes()).unwrap();
        }
    }
}

#[tokio::test]
async fn a_mail_goes_to_all_receivers() {
    let (port, served) = server(1, smtp);
    let settings = MailSettings {
        server: Secret::url(format!("smtp://127.0.0.1:{port}")),
        from: "Storage <storage@example.com>".into(),
        to: vec!["ada@example.com".into(), "grace@example.com".into()],
    };
    send(&Way::Mail(settings.clone()), &message(), &[]).await.unwrap();
    let lines = served.join().unwrap().remove(0);
    for expected in [
        "MAIL FROM:<storage@example.com>",
        "RCPT TO:<ada@example.com>",
        "RCPT TO:<grace@example.com>",
        "Subject: [studio] space (video): raised",
        "Delete files.",
        "Severity: warning",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(expected)), "{expected}: {lines:#?}");
    }
    let wrong = MailSettings { to: vec!["ada".into()], ..settings };
    let error = send(&Way::Mail(wrong), &message(), &[]).await.unwrap_err();
    assert_eq!(error.to_string(), "ada is no address of mail");
}

#[tokio::test]
async fn a_test_message_says_which_way_accepts_it() {
    let (mail, served) = server(1, smtp);
    let (hook, refusing) = server(1, http);
    let set = ToldSettings {
        webhook: Some(Secret::hook(format!("http://127.0.0.1:{hook}/"))),
        mail: Some(MailSettings {
            server: Secret::url(format!("smtp://127.0.0.1:{mail}")),
            from: "storage@example.com".into(),
            to: vec!["ada@example.com".into()],
        }),
        ..unset()
    };
    let (accepted, failed) = test(&set).await;
    assert_eq!(accepted, ["the mail server, for ada@example.com: accepted"]);
    assert_eq!(failed, ["the webhook: the server answered 503 Service Unavailable"]);
    assert_eq!(refusing.join().unwrap()[0].1["event"], "test");
    let lines = served.join().unwrap().remove(0);
    assert!(
        lines.iter().any(|line| line.starts_with("Subject:") && line.ends_with("test message")),
        "{lines:#?}"
    );
    let (accepted, failed) = test(&unset()).await;
    assert!(accepted.is_empty() && failed[0].contains("`alert-mail`"), "{failed:?}");
}

/// Settings without a way.
fn unset() -> ToldSettings {
    ToldSettings {
        audit_log: "/audit.log".into(),
        audit_log_size: 1,
        audit_log_files: 1,
        slow_operation: None,
        record_slowest: false,
        doctor_interval: None,
        space: 5,
        backup: None,
        webhook: None,
        mail: None,
    }
}

#[tokio::test]
async fn alerts_above_the_limit_are_counted() {
    let (sender, _queue) = mpsc::channel(1);
    let sender = Sender { webhooks: sender.clone(), mails: sender, counts: Arc::default() };
    let told = ToldSettings { webhook: Some(Secret::hook("http://127.0.0.1:1/")), ..unset() };
    let news = News { alert: message().alert, is_raised: true };
    (0..3).for_each(|_| sender.send(&news, &told));
    assert_eq!(sender.counts(), (0, 2));
}
