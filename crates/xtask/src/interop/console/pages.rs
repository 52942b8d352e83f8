//! Pages that show who may do what, what became of metadata and snapshots, and what is told to other programs.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::fs::XattrFlags;
use serde_json::json;

use super::accounts::give_own_password;
use super::checks::{Scene, shows};
use super::place::ADMIN;
use super::webhook;
use crate::interop::nfs3_client;
use crate::process::Running;
use crate::server::{self, ExportAddress};

/// How long something outside the page may take.
const WITHIN: Duration = Duration::from_secs(45);

fn fill(scene: &mut Scene, fields: &[(&str, &str)]) -> Result<()> {
    for (field, value) in fields {
        let set = format!("document.querySelector({}).value = {}", json!(field), json!(value));
        scene.browser.evaluate(&set)?;
    }
    Ok(())
}

/// Answers the question whether it shall be done.
fn confirm(scene: &mut Scene) -> Result<()> {
    scene.browser.until("document.querySelector('#confirm').open")?;
    scene.click("#confirm-yes")
}

/// Chromium speaks HTTP/2 with the server (RFC 9113), as both offer it in the TLS handshake.
pub fn http_2(scene: &mut Scene) -> Result<()> {
    scene.open("overview")?;
    let protocol = scene.browser.evaluate(
        "fetch('/v1/overview').then(() => performance.getEntriesByType('resource').filter((one) => one.name.endsWith('/v1/overview')).at(-1).nextHopProtocol)",
    )?;
    ensure!(protocol == "h2", "the browser speaks {protocol}");
    Ok(())
}

/// The share's page says who may enter, and the accounts' page in which groups they are.
pub fn access(scene: &mut Scene) -> Result<()> {
    scene.open("shares?share=studio")?;
    scene.click("[data-share=studio] .who-may summary")?;
    let row = "[...document.querySelectorAll('[data-share=studio] .access tr')].find((one) => one.innerText.startsWith('grace'))";
    scene.browser.until(&format!("{row}?.innerText.includes('read and write')"))?;
    scene.browser.until(&format!("{row}.innerText.includes('SMB') && {row}.innerText.includes('AFP')"))?;
    scene.browser.until(&shows("Users of NFS clients"))?;
    scene.open("shares?share=archive")?;
    scene.click("[data-share=archive] .who-may summary")?;
    scene.browser.until(
        "[...document.querySelectorAll('[data-share=archive] .access tr')].some((one) => one.innerText.startsWith('grace') && !one.innerText.includes('write'))",
    )?;
    scene.open("accounts")?;
    scene.browser.until(
        "[...document.querySelectorAll('main section')].at(-1).querySelector('h2').textContent === 'Groups'",
    )?;
    scene
        .browser
        .until("[...document.querySelectorAll('main section')].at(-1).innerText.includes('grace')")?;
    scene.expect_no_errors()
}

/// A Mac that works: its session gets a message of its own, its slowest operations are explained, and it is disconnected.
pub fn one_session(scene: &mut Scene) -> Result<()> {
    let password = scene.place.folder().join("password");
    std::fs::write(&password, ADMIN.1)?;
    let (url, password) = (
        format!("afp://{}@127.0.0.1:{}/studio", ADMIN.0, scene.place.port("afp")?),
        password.display().to_string(),
    );
    let output = scene.place.folder().join("working").display().to_string();
    let words =
        ["bench", &url, "--workload", "small-read-1K", "--password-file", &password, "--output", &output];
    let how = ["--repeats", "200", "--clients", "1", "--scale", "0.05", "--time", "20"];
    let mac = Running::start(server::binary(), &[&words[..], &how].concat(), Stdio::null(), Stdio::null())?;
    scene.open("clients")?;
    scene.click("main tbody [aria-label^='Send a message to ada']")?;
    scene.browser.until("document.activeElement.matches('form.message input')")?;
    scene.browser.type_text("Look at the render.")?;
    scene.browser.press("Enter", 13)?;
    scene.browser.until(&shows("told 1 AFP client"))?;
    scene.open("slowest")?;
    scene
        .browser
        .until("document.querySelector('main tbody .parts')?.getAttribute('aria-label').length > 5")?;
    scene.open("clients")?;
    scene.click("main tbody [aria-label^='Disconnect ada']")?;
    confirm(scene)?;
    scene.browser.until(&shows("1 AFP session ended"))?;
    drop(mac);
    for entry in std::fs::read_dir(scene.place.folder().join("studio"))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("fourfold-bench-") {
            std::fs::remove_dir_all(entry.path())?; // it was killed before it could do so
        }
    }
    scene.expect_no_errors()
}

/// The list of clients has a tab for AppleTalk, as the server speaks it over the loopback, where there is no other node.
pub fn appletalk(scene: &mut Scene) -> Result<()> {
    scene.open("clients")?;
    scene.click("[data-list=appletalk]")?;
    scene.browser.until(&shows("The Chooser shows Studio:AFPServer@*."))?;
    let link =
        "[...document.querySelectorAll('main tbody tr')].find((one) => one.innerText.includes('ltoudp:lo'))";
    scene.browser.until(&format!("{link}?.innerText.includes('works')"))?;
    for text in ["No router was heard, and no network has a number.", "No other node was heard."] {
        scene.browser.until(&shows(text))?;
    }
    scene.expect_no_errors()
}

/// A file with Finder info that a client of NFS saves by putting a new one in its place.
pub fn metadata(scene: &mut Scene) -> Result<()> {
    scene.open("names")?;
    scene.browser.until("document.querySelector('#metadata')")?;
    let file = scene.place.folder().join("studio/letter");
    std::fs::write(&file, "the first")?;
    let info = [&b"TEXTttxt"[..], &[0; 24]].concat();
    rustix::fs::setxattr(&file, "user.com.apple.FinderInfo", &info, XattrFlags::empty())?;
    let address =
        ExportAddress { export: "/studio".into(), nfs_port: scene.place.nfs, mount_port: scene.place.nfs };
    nfs3_client::save_over(&address, "letter", b"the second")?;
    ensure!(std::fs::read(&file)? == b"the second", "it is not saved");
    scene
        .browser
        .until("document.querySelector('#metadata').innerText.includes('keeps its Mac metadata')")?;
    scene.browser.until("document.querySelector('#metadata tbody').innerText.includes('letter')")?;
    std::fs::remove_file(&file)?;
    scene.expect_no_errors()
}

/// A webhook that the page makes, tries and removes.
pub fn webhooks(scene: &mut Scene) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let url = format!("http://{}/changes", listener.local_addr()?);
    scene.open("webhooks")?;
    fill(scene, &[("#hook-folder", "studio/scenes"), ("#hook-url", &url)])?;
    scene.click("main form button.small")?;
    scene.browser.until("document.querySelector('#hook-secret').value.length === 48")?;
    scene.click("main form button.primary")?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until("document.querySelector('[data-hook]')")?;
    scene.click("[data-hook] button[aria-label^=Test]")?;
    let (head, message) = webhook::answer(&listener, "200 OK")?;
    ensure!(head.to_lowercase().contains("x-fourfold-signature: sha256="), "{head}");
    ensure!(message["test"] == true && message["changes"] == json!([]), "{message}");
    scene.browser.until("document.querySelector('[data-hook]').innerText.includes('1 sent, 0 failed')")?;
    scene.click("[data-hook] button[aria-label^=Test]")?;
    webhook::answer(&listener, "410 Gone")?;
    scene.browser.until("document.querySelector('.toast.bad')?.textContent.includes('410')")?;
    scene.browser.errors(); // the browser notes the refusal
    scene.click("[data-hook] button[aria-label^=Remove]")?;
    confirm(scene)?;
    scene.browser.until(&shows("No program is told of changes yet."))?;
    scene.expect_no_errors()
}

/// A LUN is made, resized and removed; a size without a unit is refused.
pub fn luns(scene: &mut Scene) -> Result<()> {
    scene.open("luns")?;
    scene.click("main .heading button")?;
    fill(scene, &[("#lun-name", "disk"), ("#lun-size", "100")])?;
    scene.click("main form button.primary")?;
    scene.browser.until("document.querySelector('.toast.bad')?.textContent.includes('no unit')")?;
    scene.browser.errors(); // the browser notes the refusal
    fill(scene, &[("#lun-size", "64M")])?;
    scene.click("main form button.primary")?;
    let card = "[data-lun='studio/disk']";
    scene.browser.until(&format!("document.querySelector(\"{card}\")?.innerText.includes('64 MiB')"))?;
    scene.click(&format!("{card} [aria-label^=Resize]"))?;
    fill(scene, &[(&format!("{card} .editor input"), "96M")])?;
    scene.click(&format!("{card} .editor button.primary"))?;
    scene.browser.until(&format!("document.querySelector(\"{card}\")?.innerText.includes('96 MiB')"))?;
    scene.click(&format!("{card} [aria-label^=Snapshot]"))?;
    fill(scene, &[(&format!("{card} .editor input:not([type=checkbox])"), "noon")])?;
    scene.click("#lun-copy")?; // the file system of the tests may not share blocks
    scene.click(&format!("{card} .editor button.primary"))?;
    let until = Instant::now() + WITHIN;
    while !scene.place.run(&["lun", "list"])?.contains("disk.noon") {
        ensure!(Instant::now() < until, "there is no snapshot");
    }
    // The page goes there by itself when the server has answered.
    scene.browser.until("document.querySelector('main').dataset.ready === 'jobs'")?;
    for lun in ["studio/disk.noon", "studio/disk"] {
        scene.open("overview")?;
        scene.open("luns")?;
        scene.click(&format!("[data-lun='{lun}'] [aria-label^=Remove]"))?;
        confirm(scene)?;
        scene.browser.until(&format!("!document.querySelector(\"[data-lun='{lun}']\")"))?;
    }
    ensure!(!scene.place.run(&["lun", "list"])?.contains("disk"), "they are not removed");
    scene.expect_no_errors()
}

/// A file is restored from the page that shows it, in place and beside.
pub fn restored(scene: &mut Scene) -> Result<()> {
    let plan = scene.place.folder().join("projects/plan");
    scene.place.run(&["snapshot", "create", "projects@for-files"])?;
    std::fs::write(&plan, "another mistake")?;
    scene.open("files?share=projects&about=plan")?;
    scene.click("[aria-label='Restore from for-files']")?;
    scene.browser.until("document.querySelector('#confirm').open")?;
    scene.click("#confirm-yes")?;
    scene.browser.until(&shows("1 restored"))?;
    ensure!(std::fs::read_to_string(&plan)? == "the first plan", "the file is not restored");
    scene.browser.until(&shows("as now"))?;
    scene.click("[aria-label='Restore beside from for-files']")?;
    scene.browser.until("document.querySelector('#confirm').open")?;
    scene.click("#confirm-yes")?;
    let beside = scene.place.folder().join("projects/plan (for-files)");
    let until = Instant::now() + WITHIN;
    while !beside.exists() {
        ensure!(Instant::now() < until, "nothing is restored beside the file");
        std::thread::sleep(Duration::from_millis(50));
    }
    scene.place.run(&["snapshot", "remove", "projects@for-files"])?;
    scene.expect_no_errors()
}

/// A snapshot is taken, a file is restored from it, and it is removed.
pub fn snapshots(scene: &mut Scene) -> Result<()> {
    let plan = scene.place.folder().join("projects/plan");
    scene.open("snapshots?share=projects")?;
    scene.browser.until("document.querySelector('#snapshot-share').value === 'projects'")?;
    scene.browser.evaluate("document.querySelector('#snapshot-name').value = 'before-noon'")?;
    scene.click("main form button")?;
    scene.browser.until(
        "[...document.querySelectorAll('tbody td')].some((cell) => cell.textContent === 'before-noon')",
    )?;
    std::fs::write(&plan, "a mistake")?;
    scene.click("[aria-label='Restore from before-noon']")?;
    scene.browser.evaluate("document.querySelector('#restore-path').value = 'plan'")?;
    scene.click("form.card .primary[type=submit]:not([disabled]):is(.end *)")?;
    scene.browser.until("document.querySelector('#confirm').open && document.querySelector('#confirm-text').textContent.includes('1 restored')")?;
    scene.click("#confirm-yes")?;
    scene.browser.until(&shows("Done: 1 restored"))?;
    ensure!(std::fs::read_to_string(&plan)? == "the first plan", "the file is not restored");
    scene.click("[aria-label='Remove before-noon']")?;
    scene.browser.until("document.querySelector('#confirm').open")?;
    scene.click("#confirm-yes")?;
    scene.browser.until(&shows("No snapshot is kept yet."))?;
    ensure!(!scene.place.run(&["snapshot", "list"])?.contains("before-noon"), "the snapshot is still there");
    scene.expect_no_errors()
}

/// The timeline: a snapshot is chosen on it, held, browsed, restored from by a job, released; the schedule is changed.
pub fn timeline(scene: &mut Scene) -> Result<()> {
    let plan = scene.place.folder().join("projects/plan");
    for name in ["early", "late"] {
        scene.place.run(&["snapshot", "create", &format!("projects@{name}")])?;
    }
    scene.open("snapshots?share=projects")?;
    scene.browser.until("document.querySelector(\"[data-snapshot='projects@late']\")")?;
    scene.click("[data-snapshot='projects@early']")?;
    scene.browser.until("document.activeElement.dataset.snapshot === 'projects@early'")?;
    scene.browser.press("ArrowRight", 39)?;
    scene.browser.until("document.activeElement.dataset.snapshot === 'projects@late'")?;
    scene.browser.until("document.querySelector('tr.chosen').innerText.includes('early')")?;
    scene.click("[aria-label='Hold early']")?;
    fill(scene, &[("#snapshot-word", "audit")])?;
    scene.click("form.card:has(#snapshot-word) .primary")?;
    scene.browser.until("document.querySelector(\"[aria-label='Release audit of early']\")")?;
    scene.click("[aria-label='Remove early']")?;
    confirm(scene)?;
    scene.browser.until("document.querySelector('.toast.bad')?.textContent.includes('audit')")?;
    scene.browser.errors(); // the browser notes the refusal
    std::fs::write(&plan, "a mistake")?;
    scene.click("[aria-label='Browse early']")?;
    scene.browser.until("document.querySelector('.past')?.innerText.includes('early')")?;
    scene.click("main tbody [aria-label='About plan']")?;
    scene.browser.until("document.querySelector('.past button').textContent.includes('plan')")?;
    scene.click(".past button")?;
    confirm(scene)?;
    scene.browser.until("document.querySelector('main').dataset.ready === 'jobs'")?;
    scene.browser.until("[...document.querySelectorAll('main tbody tr')].some((row) => row.innerText.startsWith('restore') && row.innerText.includes('done'))")?;
    ensure!(std::fs::read_to_string(&plan)? == "the first plan", "the file is not restored");
    scene.open("snapshots?share=projects")?;
    scene.click("[aria-label='Release audit of early']")?;
    scene.browser.until("document.querySelector(\"[aria-label='Hold early']\") && !document.querySelector(\"[aria-label='Release audit of early']\")")?;
    schedule(scene)?;
    for name in ["early", "late"] {
        scene.place.run(&["snapshot", "remove", &format!("projects@{name}")])?;
    }
    scene.expect_no_errors()
}

fn schedule(scene: &mut Scene) -> Result<()> {
    let before = scene.place.settings()?;
    scene.click("#schedule summary")?;
    // At once: the page draws the form anew when it learns of another change.
    scene.browser.evaluate(
        "(() => { document.querySelector('#keep-weekly').value = '4'; document.querySelector('#schedule form button').click(); })()",
    )?;
    scene.browser.until(&shows("weekly: 4 kept"))?;
    scene.browser.until("document.querySelector('.lane .right').textContent.startsWith('next')")?;
    ensure!(scene.place.settings()?.contains("snapshot-schedule = \"weekly:4\""), "it is not in the file");
    scene.open("settings")?;
    scene.click("#undo")?;
    scene.browser.until(&shows("None since the server started."))?;
    ensure!(scene.place.settings()? == before, "the file is not as it was");
    Ok(())
}

/// A share is sent to another one.
pub fn replicated(scene: &mut Scene) -> Result<()> {
    scene.open("replicate")?;
    fill(scene, &[("#replicate-source", "projects"), ("#replicate-to", "mirror")])?;
    scene.click("main form:has(#replicate-to) button")?;
    confirm(scene)?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until("document.querySelector('[data-job][data-state=done]')")?;
    let copy = scene.place.folder().join("mirror/plan");
    ensure!(std::fs::read_to_string(copy)? == "the first plan", "the file is not there");
    scene.expect_no_errors()
}

/// AppleDouble version 2 with the Finder info alone (RFC 1740, appendix A).
fn sidecar() -> Vec<u8> {
    let head = [0x0005_1607_u32, 0x0002_0000, 0, 0, 0, 0].map(u32::to_be_bytes).concat();
    let entry = [9_u32, 38, 32].map(u32::to_be_bytes).concat();
    [&head[..], &1_u16.to_be_bytes(), &entry, b"TEXTttxt", &[0; 24]].concat()
}

/// A scrub finds what a Mac has left of a file that is gone.
pub fn scrubbed(scene: &mut Scene) -> Result<()> {
    let alone = scene.place.folder().join("studio/scenes/._gone");
    std::fs::write(&alone, sidecar())?;
    scene.open("scrub")?;
    fill(scene, &[("#scrub-share", "studio"), ("#scrub-path", "scenes")])?;
    scene.click("main form button.primary")?;
    scene.browser.until("document.querySelector('[data-job][data-state=done]')")?;
    scene.browser.until("document.querySelector('[data-found] tbody').innerText.includes('._gone')")?;
    ensure!(alone.exists(), "a look has changed something");
    std::fs::remove_file(alone)?;
    scene.expect_no_errors()
}

/// The backups of each Mac, and what is wrong with them.
pub fn backups(scene: &mut Scene) -> Result<()> {
    scene.open("backups")?;
    let card = "document.querySelector('[data-mac=Ada]').innerText";
    for text in ["overdue", "8 MiB", "no backup for longer"] {
        scene.browser.until(&format!("{card}.includes({})", json!(text)))?;
    }
    scene.expect_no_errors()
}
