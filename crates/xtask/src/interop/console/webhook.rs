//! Webhooks: changes in a folder, sent to a program that first refuses them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::checks::Scene;
use super::place::ADMIN;

/// How long a message may take, with its second attempt.
const WITHIN: Duration = Duration::from_secs(45);
const SECRET: &str = "a secret of the webhook";

/// A message that is refused is sent again, signed, with the same changes.
pub fn told(scene: &mut Scene) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let url = format!("http://{}/changes", listener.local_addr()?);
    let mut hook = json!({ "folder": "studio/scenes", "url": url, "secret": SECRET });
    ensure!(post(scene, "/v1/webhooks", &hook)?.0 == 403, "a session alone makes a webhook");
    hook["own_password"] = json!(ADMIN.1);
    let short = json!({ "folder": "studio/scenes", "url": url, "secret": "short", "own_password": ADMIN.1 });
    ensure!(post(scene, "/v1/webhooks", &short)?.0 == 409, "a short secret is accepted");
    let (status, made) = post(scene, "/v1/webhooks", &hook)?;
    ensure!(status == 200 && !made.to_string().contains(SECRET), "{status}: {made}");
    let scene_8 = scene.place.folder().join("studio/scenes/scene 8");
    std::fs::write(&scene_8, "text")?;
    let (_, first) = answer(&listener, "503 Service Unavailable")?;
    let (head, second) = answer(&listener, "204 No Content")?;
    ensure!(first == second, "{first} is not {second}");
    ensure!(head.to_lowercase().contains("x-fourfold-signature: sha256="), "{head}");
    let changes = second["changes"].as_array().cloned().unwrap_or_default();
    ensure!(changes.iter().any(|one| one["what"] == "created" && one["path"] == "scene 8"), "{second}");
    std::fs::remove_file(&scene_8)?;
    ensure!(post(scene, "/v1/webhooks/remove", &json!({ "id": made["id"] }))?.0 == 200, "it is not removed");
    scene.browser.errors(); // the browser notes the refusal
    Ok(())
}

fn post(scene: &mut Scene, path: &str, body: &Value) -> Result<(u64, Value)> {
    let headers = "{ 'X-Fourfold-Console': '1', 'Content-Type': 'application/json' }";
    let answer = scene.browser.evaluate(&format!(
        "fetch('{path}', {{ method: 'POST', headers: {headers}, body: {} }}).then(async (answer) => [answer.status, await answer.json()])",
        json!(body.to_string())
    ))?;
    Ok((answer[0].as_u64().unwrap_or_default(), answer[1].clone()))
}

/// The head and the body of the next request, which gets this answer.
pub fn answer(listener: &TcpListener, status: &str) -> Result<(String, Value)> {
    let mut stream = accept(listener)?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(WITHIN))?;
    let mut reader = BufReader::new(stream.try_clone()?).take(1 << 20);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = String::new();
    reader.take(length).read_to_string(&mut body)?;
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")?;
    Ok((head, serde_json::from_str(&body).with_context(|| body.clone())?))
}

fn accept(listener: &TcpListener) -> Result<TcpStream> {
    let until = Instant::now() + WITHIN;
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Ok(stream),
            Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(error).context("the webhook is not called"),
        }
    }
}
