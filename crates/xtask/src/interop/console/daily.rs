//! The jobs of an administrator's day: finding a page, files, open files, sessions, the certificate, alerts, the log.

use std::process::Stdio;

use anyhow::{Result, ensure};
use serde_json::json;

use super::accounts::{fill, give_own_password};
use super::checks::{Scene, shows};
use super::place::{ADMIN, HOSTILE};
use crate::process::{self, Running};

/// What is typed into the search, and the page that Return leads to.
const FOUND: [(&str, &str); 6] = [
    ("certific", "security"),
    ("fsck", "scrub"),
    ("move in", "adopt"),
    ("archive", "shares"),
    ("grace", "accounts"),
    ("alert-backup", "settings"),
];
/// Addresses that the console had, and words that people try.
const ADDRESSES: [(&str, &str); 4] =
    [("adopt", "adopt"), ("move-in", "adopt"), ("people", "accounts"), ("time-machine", "backups")];
/// The highest row of the table of shares in CSS pixels: twenty of them, the heading and the places fit in 860.
const ROW: u64 = 34;

/// Answers the question whether it shall be done.
fn confirm(scene: &mut Scene) -> Result<()> {
    scene.browser.until("document.querySelector('#confirm').open")?;
    scene.click("#confirm-yes")
}

/// Gives a field of files these, each with its name and text, as a choice of the person would.
fn choose_files(scene: &mut Scene, field: &str, files: &[(&str, &str)]) -> Result<()> {
    scene.browser.until(&format!("document.querySelector({})", json!(field)))?;
    let choose = format!(
        "(() => {{ const field = document.querySelector({}); const all = new DataTransfer(); \
         for (const [name, text] of {}) all.items.add(new File([text], name)); \
         field.files = all.files; field.dispatchEvent(new Event('change')); }})()",
        json!(field),
        json!(files)
    );
    scene.browser.evaluate(&choose).map(drop)
}

fn is_at(page: &str) -> String {
    format!("document.querySelector('main').dataset.ready === '{page}'")
}

/// The search finds pages, shares, people and settings; old addresses and other words lead to pages.
pub fn found(scene: &mut Scene) -> Result<()> {
    for (text, page) in FOUND {
        scene.open("overview")?;
        scene.browser.press("/", 191)?;
        scene.browser.until("document.activeElement.id === 'find'")?;
        scene.browser.type_text(text)?;
        scene.browser.until("document.querySelector('#found li a')")?;
        scene.browser.press("Enter", 13)?;
        scene.browser.until(&is_at(page))?;
    }
    scene.browser.until("document.querySelector('[data-key=alert-backup] .editor')")?;
    for (address, page) in ADDRESSES {
        scene.browser.evaluate(&format!("location.hash = '#/{address}'"))?;
        scene.browser.until(&is_at(page))?;
    }
    scene.open("shares")?;
    scene.browser.until("document.querySelectorAll('.dense tbody tr').length >= 6")?;
    let height = scene.browser.evaluate(
        "Math.max(...[...document.querySelectorAll('.dense tbody tr')].map((row) => row.offsetHeight))",
    )?;
    ensure!(height.as_u64() <= Some(ROW), "a row of the table has {height} pixels");
    scene.expect_no_errors()
}

/// Files are uploaded, replaced, renamed, moved, downloaded and removed with the rights of the account, and of no other.
pub fn files(scene: &mut Scene) -> Result<()> {
    let studio = scene.place.folder().join("studio");
    scene.open("files?share=studio")?;
    choose_files(scene, "#upload", &[("take one.txt", "first"), ("take two.txt", "second")])?;
    scene.browser.until(&shows("2 files are uploaded"))?;
    ensure!(std::fs::read(studio.join("take one.txt"))? == b"first", "the upload is not there");
    choose_files(scene, "#upload", &[("take one.txt", "anew")])?;
    confirm(scene)?;
    scene.browser.until(&shows("take one.txt is uploaded"))?;
    scene.browser.errors(); // the browser notes that the file was there
    ensure!(std::fs::read(studio.join("take one.txt"))? == b"anew", "the file is not replaced");

    scene.click("#new-folder")?;
    fill(scene, &[("#file-word", "day 1")])?;
    scene.click("main form.editor button.primary")?;
    scene.browser.until("document.querySelector(\"main tbody [aria-label='About day 1']\")")?;
    scene.click("[aria-label='Rename take two.txt']")?;
    fill(scene, &[("#file-word", "take 2.txt")])?;
    scene.click("main form.editor button.primary")?;
    scene.click("[aria-label='Move take 2.txt']")?;
    scene.click("#move-to [aria-label='Open day 1']")?;
    scene.browser.until("document.querySelector('#move-to code').textContent === 'studio/day 1'")?;
    scene.click("#move-to .primary")?;
    scene.browser.until("!document.querySelector(\"[aria-label='About take 2.txt']\")")?;
    ensure!(std::fs::read(studio.join("day 1/take 2.txt"))? == b"second", "the file is not moved");
    let text = scene.browser.evaluate(
        "fetch(document.querySelector(\"[aria-label='Download take one.txt']\").href).then((answer) => answer.text())",
    )?;
    ensure!(text == "anew", "the download has {text}");

    for name in ["day 1", "take one.txt"] {
        scene.click(&format!("[aria-label='Remove {name}']"))?;
        confirm(scene)?;
        scene.browser.until(&format!("!document.querySelector(\"[aria-label='Remove {name}']\")"))?;
        ensure!(!studio.join(name).exists(), "{name} is still there");
    }
    if !process::is_root() {
        return scene.expect_no_errors(); // all accounts act as the server's own user
    }
    // The folder belongs to root, and the account may only read it.
    scene.open("files?share=studio&path=scenes")?;
    scene.browser.until("document.querySelector('.crumbs [aria-current]').textContent === 'scenes'")?;
    choose_files(scene, "#upload", &[("mine", "text")])?;
    scene.browser.until("document.querySelector('.toast.bad')?.textContent.includes('may not do that')")?;
    scene.browser.errors(); // the browser notes the refusal
    ensure!(!studio.join("scenes/mine").exists(), "the account may not write there");
    scene.expect_no_errors()
}

/// A file that a client of SMB has open is closed for it.
pub fn open_file(scene: &mut Scene) -> Result<()> {
    let file = scene.place.folder().join("studio/long take");
    std::fs::File::create(&file)?.set_len(64 << 20)?;
    let (port, login) = (scene.place.port("smb")?.to_string(), format!("{}%{}", ADMIN.0, ADMIN.1));
    let words =
        ["//127.0.0.1/studio", "-s", "/dev/null", "-p", &port, "-U", &login, "-c", "get \"long take\" -"];
    let smbclient = process::find("smbclient").unwrap_or_default();
    // Nothing reads the pipe, so the client keeps the file open.
    let reading = Running::start(&smbclient, &words, Stdio::piped(), Stdio::null())?;
    scene.open("clients")?;
    scene.click("[data-list=opens]")?;
    scene.click("main tbody [aria-label='Close long take']")?;
    confirm(scene)?;
    scene.browser.until(&shows("1 SMB open"))?;
    scene.browser.until("!document.querySelector(\"[aria-label='Close long take']\")")?;
    drop(reading);
    std::fs::remove_file(file)?;
    scene.expect_no_errors()
}

/// Another session and a token are shown, and ended.
pub fn sign_ins(scene: &mut Scene) -> Result<()> {
    scene.place.run(&["token", "create", "backup-script", "--scope", "read"])?;
    let login = json!({ "user": ADMIN.0, "password": ADMIN.1 }).to_string();
    let headers = json!({ "X-Fourfold-Console": "1", "Content-Type": "application/json" });
    // Without its cookie it is the session of another browser.
    let status = scene.browser.evaluate(&format!(
        "fetch('/v1/login', {{ method: 'POST', credentials: 'omit', headers: {headers}, body: {} }}).then((answer) => answer.status)",
        json!(login)
    ))?;
    ensure!(status == 200, "the other login is answered with {status}");
    scene.open("security")?;
    scene.browser.until("document.querySelectorAll('#sessions tbody tr').length === 2")?;
    scene.click("#sessions [aria-label^='End the session of ada']")?;
    confirm(scene)?;
    scene.browser.until("document.querySelectorAll('#sessions tbody tr').length === 1")?;
    scene.click("[aria-label='End the token backup-script']")?;
    confirm(scene)?;
    scene.browser.until(&shows("No program has a token."))?;
    ensure!(!scene.place.run(&["token", "list"])?.contains("backup-script"), "the token is still there");
    scene.expect_no_errors()
}

/// The server makes a new certificate, and takes one that is uploaded, while it runs.
pub fn certificate(scene: &mut Scene) -> Result<()> {
    let state = scene.place.folder().join("state");
    let [chain, key] = ["api-certificate.pem", "api-key.pem"].map(|name| state.join(name));
    let (before, old_key) = (std::fs::read_to_string(&chain)?, std::fs::read_to_string(&key)?);
    scene.open("security")?;
    scene.browser.until("document.querySelector('#certificates')?.innerText.includes('localhost')")?;
    scene.browser.evaluate("document.querySelector('#certificate').dataset.before = ''")?;
    scene.browser.evaluate("[...document.querySelectorAll('#certificate button')].find((one) => one.textContent.startsWith('Make')).click()")?;
    confirm(scene)?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until(&shows("The new certificate is in force"))?;
    ensure!(std::fs::read_to_string(&chain)? != before, "it is the old certificate");
    scene.browser.until("document.querySelector('#certificate:not([data-before])')")?;
    scene.browser.evaluate("document.querySelectorAll('.toast').forEach((one) => one.remove())")?;
    choose_files(scene, "#certificate-chain", &[("chain.pem", &before)])?;
    choose_files(scene, "#certificate-key", &[("key.pem", "no key")])?;
    scene.click("#certificate button[type=submit]")?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until("document.querySelector('.toast.bad')?.textContent.includes('stays as it was')")?;
    scene.browser.errors(); // the browser notes the refusal
    choose_files(scene, "#certificate-key", &[("key.pem", &old_key)])?;
    scene.click("#certificate button[type=submit]")?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until(&shows("The new certificate is in force"))?;
    ensure!(std::fs::read_to_string(&chain)? == before, "the uploaded certificate is not there");
    scene.expect_no_errors()
}

/// An alert about space, which `server_stops` has let come, is made quiet and told again.
pub fn alerts(scene: &mut Scene) -> Result<()> {
    scene.open("alerts")?;
    scene.click("[aria-label='7 days: Space: archive']")?;
    scene.browser.until(
        "document.querySelector(\"[data-alert='space archive']\").innerText.includes('muted by ada until')",
    )?;
    let kept = std::fs::read_to_string(scene.place.folder().join("state/quiet-alerts.json"))?;
    ensure!(kept.contains("\"archive\""), "a restart would forget it: {kept}");
    scene.click("[aria-label='Tell again: Space: archive']")?;
    scene.click("[aria-label='I have seen it: Space: archive']")?;
    scene.browser.until(
        "document.querySelector(\"[data-alert='space archive']\").innerText.includes('seen by ada')",
    )?;
    scene.expect_no_errors()
}

/// The log says who did what; the page has the settings read again, and does not stop a server that nothing starts again.
pub fn log(scene: &mut Scene) -> Result<()> {
    scene.open("log")?;
    let choose = |field: &str, value: &str| {
        format!(
            "(() => {{ const field = document.querySelector('{field}'); field.value = '{value}'; field.dispatchEvent(new Event('change')); }})()"
        )
    };
    scene.browser.until("document.querySelectorAll('.log time').length > 5")?;
    scene.browser.evaluate(&choose("#log-kind", "change"))?;
    scene.browser.evaluate(&choose("#log-who", ADMIN.0))?;
    scene.browser.until("[...document.querySelectorAll('.log li')].every((line) => line.querySelector('.who-cell').textContent.startsWith('ada'))")?;
    scene.browser.until("document.querySelector('.log').innerText.includes('setting changed')")?;
    scene.browser.evaluate(&choose("#log-who", ""))?;
    scene.browser.evaluate(&choose("#log-kind", "login"))?;
    scene.browser.until("document.querySelector('.log').innerText.includes('accepted')")?;
    scene.open("settings")?;
    scene.click("#reload")?;
    scene.browser.until("document.querySelector('.toast.good')")?;
    scene.browser.until("document.querySelector('#restart').disabled")?;
    scene.browser.until(&shows("systemd has not started it"))?;
    let made = scene.browser.evaluate("document.querySelectorAll('main script').length")?;
    ensure!(made == 0, "{HOSTILE} became markup");
    scene.expect_no_errors()
}
