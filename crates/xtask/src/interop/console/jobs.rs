//! Long jobs in the console: looks at names, benchmarks, clones; and their end. New shares; changes in folders.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::accounts::{self, give_own_password};
use super::checks::{Scene, shows, type_login};
use super::place::ADMIN;

/// How long a job may take to end.
const WITHIN: Duration = Duration::from_secs(45);
/// What Windows shows as another name.
const TRAILING: &str = "notes.";

/// The jobs as the page gets them, the newest first.
pub fn all(scene: &mut Scene) -> Result<Vec<Value>> {
    let jobs = scene.browser.evaluate("fetch('/v1/jobs').then((answer) => answer.json())")?;
    Ok(jobs.as_array().cloned().unwrap_or_default())
}

/// Waits until the newest job of a kind has this state.
fn until(scene: &mut Scene, kind: &str, state: &str) -> Result<()> {
    let until = Instant::now() + WITHIN;
    loop {
        let jobs = all(scene)?;
        let found = jobs.iter().find(|job| job["kind"] == kind);
        if found.is_some_and(|job| job["state"] == state) {
            return Ok(());
        }
        ensure!(Instant::now() < until, "the job is not {state}: {found:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn fill(scene: &mut Scene, fields: &[(&str, &str)]) -> Result<()> {
    for (field, value) in fields {
        let set = format!("document.querySelector({}).value = {}", json!(field), json!(value));
        scene.browser.evaluate(&set)?;
    }
    Ok(())
}

/// A look at the names changes nothing; the fix renames, and is taken back.
pub fn names(scene: &mut Scene) -> Result<()> {
    let folder = scene.place.folder().join("studio/scenes");
    std::fs::write(folder.join(TRAILING), "text")?;
    scene.open("names")?;
    fill(scene, &[("#names-share", "studio")])?;
    scene.click("main form button[type=submit]")?;
    scene.browser.until("document.querySelector('[data-found]')")?;
    scene.browser.until(&shows(TRAILING))?;
    ensure!(folder.join(TRAILING).exists(), "a look has renamed a file");
    scene.click("[data-found] button.danger")?;
    scene.click("#confirm-yes")?;
    scene.browser.until(&shows("have new names."))?;
    ensure!(!folder.join(TRAILING).exists(), "the file is not renamed");
    scene.click("[data-found] button:not(.danger)")?;
    until(scene, "names-undo", "done")?;
    ensure!(std::fs::read(folder.join(TRAILING))? == b"text", "the name is not taken back");
    std::fs::remove_file(folder.join(TRAILING))?;
    scene.expect_no_errors()
}

/// Two benchmarks of the share over NFS, their comparison, and a report.
pub fn benchmark(scene: &mut Scene) -> Result<()> {
    scene.open("benchmarks")?;
    for number in 1..=2 {
        let fields = [
            ("#bench-share", "studio"),
            ("#bench-workloads", "create-stat-delete"),
            ("#bench-repeats", "3"),
            ("#bench-seconds", "2"),
            ("#bench-scale", "0.01"),
        ];
        fill(scene, &fields)?;
        scene.click("main form button.primary")?;
        scene.browser.until("document.querySelector('[data-job][data-state=done]')")?;
        scene.browser.until(&format!("document.querySelectorAll('main tbody tr').length === {number}"))?;
        scene.browser.evaluate("document.querySelector('[data-job]').remove()")?;
    }
    scene.click("main form:not(:has(.primary)) button")?;
    scene.browser.until("document.querySelector('pre')?.textContent.includes('create-stat-delete')")?;
    let report = scene.browser.evaluate(
        "fetch(document.querySelector('main tbody a').href).then(async (answer) => [answer.headers.get('content-security-policy'), await answer.text()])",
    )?;
    let (policy, text) = (report[0].as_str().unwrap_or_default(), report[1].as_str().unwrap_or_default());
    ensure!(policy.starts_with("sandbox; default-src 'none'"), "{policy}");
    ensure!(text.contains("create-stat-delete"), "the report has {} bytes", text.len());
    // Without the password that SMB needs.
    scene.browser.evaluate("document.querySelector('#bench-smb').click()")?;
    scene.click("main form button.primary")?;
    scene.browser.until(&shows("SMB and AFP need an account"))?;
    scene.browser.errors(); // the browser notes the refusal
    Ok(())
}

/// The advice follows from a benchmark with a load curve, and from the speed that each user needs.
pub fn advice(scene: &mut Scene) -> Result<()> {
    let topic = |name: &str| format!("document.querySelector('[data-topic={name}]')?.textContent ?? ''");
    scene.open("overview")?; // what was typed into the form before is gone
    scene.open("benchmarks")?;
    scene.browser.until(&format!("({}).includes('load curve')", topic("users")))?;
    let fields = [
        ("#bench-share", "studio"),
        ("#bench-workloads", "small-read-1K"),
        ("#bench-repeats", "1"),
        ("#bench-clients", "2"),
        ("#bench-seconds", "1"),
        ("#bench-scale", "0.01"),
    ];
    fill(scene, &fields)?;
    scene.click("#bench-curve")?;
    scene.click("main form button.primary")?;
    scene.browser.until("document.querySelector('[data-job][data-state=done]')")?;
    scene
        .browser
        .until(&format!("/ carries \\d+ active users who have 1.0 MB\\/s each/.test({})", topic("users")))?;
    fill(scene, &[("#advice-floor", "15K")])?;
    scene.click("#advice button")?;
    scene.browser.until(&format!("({}).includes('active users who have 15 KB/s each')", topic("users")))?;
    fill(scene, &[("#advice-floor", "fast")])?;
    scene.click("#advice button")?;
    scene.browser.until(&shows("`fast` is no speed"))?;
    scene.browser.errors(); // the browser notes the refusal
    Ok(())
}

/// A measurement that would take minutes ends soon, and leaves nothing in the share.
pub fn cancelled(scene: &mut Scene) -> Result<()> {
    let request = json!({
        "kind": "bench", "share": "studio", "protocols": ["smb"], "user": "ada", "password": ADMIN.1,
        "workloads": ["seq-write"], "repeats": 10, "seconds": 60, "scale": 1.0
    });
    let headers = "{ 'X-Fourfold-Console': '1', 'Content-Type': 'application/json' }";
    let start = format!(
        "fetch('/v1/jobs', {{ method: 'POST', headers: {headers}, body: {} }}).then((answer) => answer.status)",
        json!(request.to_string())
    );
    ensure!(scene.browser.evaluate(&start)? == 200, "the job is not started");
    ensure!(scene.browser.evaluate(&start)? == 409, "two benchmarks run at the same time");
    scene.open("jobs")?;
    scene.click("main tbody button[aria-label^=Cancel]")?;
    scene.click("#confirm-yes")?;
    until(scene, "bench", "cancelled")?;
    let left = std::fs::read_dir(scene.place.folder().join("studio"))?.flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    ensure!(!left.iter().any(|name| name.starts_with("fourfold-bench-")), "it left {left:?}");
    let jobs = all(scene)?;
    ensure!(jobs.iter().all(|job| job["by"] == "ada"), "{jobs:?}");
    let state = scene.place.folder().join("state/benchmarks");
    let mode = std::fs::metadata(state)?.permissions().mode();
    ensure!(mode & 0o022 == 0, "others may write in the folder of benchmarks: {mode:o}");
    scene.browser.errors(); // the browser notes the refusal
    Ok(())
}

/// A LUN is cloned, by a job.
pub fn lun(scene: &mut Scene) -> Result<()> {
    scene.open("luns")?;
    let card = "[data-lun='studio/scratch']";
    scene.click(&format!("{card} [aria-label^=Clone]"))?;
    fill(scene, &[(&format!("{card} .editor input:not([type=checkbox])"), "second")])?;
    scene.click(&format!("{card} .editor button.primary"))?;
    until(scene, "clone-lun", "done")?;
    let luns = scene.place.run(&["lun", "list"])?;
    ensure!(luns.contains("second"), "{luns}");
    scene.place.run(&["lun", "remove", "--yes", "studio/second"])?;
    scene.browser.until("document.querySelector('main').dataset.ready === 'jobs'")?;
    scene.expect_no_errors()
}

/// An expression that is true if the table of shares has this one.
fn listed(name: &str) -> String {
    format!(
        "[...document.querySelectorAll('.dense a[data-share]')].some((one) => one.textContent === '{name}')"
    )
}

/// A folder is shared by the page, and the change is taken back.
pub fn share(scene: &mut Scene) -> Result<()> {
    let folder = scene.place.folder().join("reels");
    std::fs::create_dir_all(&folder)?;
    let before = scene.place.settings()?;
    scene.open("shares")?;
    scene.click("main .heading button")?;
    fill(scene, &[("#new-path", "reels"), ("#new-name", "reels")])?;
    scene.click("main form button.primary")?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until(&shows("write the whole path"))?;
    fill(scene, &[("#new-path", &folder.to_string_lossy())])?;
    scene.click("main form button.primary")?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until(&listed("reels"))?;
    ensure!(scene.place.settings()?.starts_with(before.trim_end()), "the rest of the file has changed");
    scene.browser.evaluate("document.querySelector('a[data-share=reels]').click()")?;
    scene.click("article[data-share=reels] details details summary")?;
    scene.browser.until("document.querySelector('img.qr')?.naturalWidth > 100")?;
    scene.click("[aria-label='Rename: reels']")?;
    fill(scene, &[("[aria-label='New name of reels']", "rushes")])?;
    scene.click("[data-share=reels] form.editor button.primary")?;
    give_own_password(scene, ADMIN.1)?;
    scene.click("[aria-label='Stop sharing: rushes']")?;
    scene.click("#confirm-yes")?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until(&format!("document.querySelector('.dense') && !{}", listed("rushes")))?;
    ensure!(folder.is_dir(), "the folder is gone");
    let undo = |scene: &mut Scene| -> Result<()> {
        scene.open("overview")?;
        scene.open("settings")?;
        scene.click("#undo")?;
        give_own_password(scene, ADMIN.1)?;
        scene.browser.until("document.querySelector('.toast.good')")?;
        scene.browser.evaluate("document.querySelectorAll('.toast').forEach((one) => one.remove())")?;
        Ok(())
    };
    undo(scene)?;
    undo(scene)?;
    scene.open("shares")?;
    scene.browser.until(&listed("reels"))?;
    undo(scene)?;
    scene.open("shares")?;
    scene.browser.until(&format!("document.querySelector('.dense') && !{}", listed("reels")))?;
    ensure!(scene.place.settings()? == before, "the file is not as it was");
    scene.browser.errors(); // the browser notes the refusal
    Ok(())
}

/// A server that shares nothing leads from its name over people to a share that is served. It is the last check.
pub fn first_run(scene: &mut Scene) -> Result<()> {
    scene.open("overview")?;
    scene.place.stop();
    let folder = scene.place.folder().join("first films");
    scene.place.forget_shares()?;
    scene.place.start_again()?;
    scene.browser.until("!document.querySelector('#login').hidden")?;
    scene.browser.errors(); // the browser notes that nothing answered
    type_login(&mut scene.browser, ADMIN.1)?;
    let next = |scene: &mut Scene, step: &str| -> Result<()> {
        scene.click("#setup-next")?;
        scene.browser.until(&format!("document.querySelector('#setup').dataset.step === '{step}'"))
    };
    // The overview of a new server leads there by itself.
    scene.browser.until("document.querySelector('#setup')?.dataset.step === 'Name'")?;
    accounts::fill(scene, &[("#setup-name", "Cutting room")])?;
    next(scene, "Your password")?;
    scene.click("#setup-skip")?;
    scene.browser.until("document.querySelector('#setup').dataset.step === 'Folder'")?;
    scene.browser.evaluate("[...document.querySelectorAll('#setup button')].find((one) => one.textContent === 'Browse…').click()")?;
    give_own_password(scene, ADMIN.1)?;
    let root = scene.place.folder().canonicalize()?;
    scene.click(&format!("#browser [aria-label={}]", json!(format!("Open {}", root.display()))))?;
    scene.browser.until("document.querySelector('#browser input')")?;
    accounts::fill(scene, &[("#browser input", "first films")])?;
    scene.browser.evaluate("[...document.querySelectorAll('#browser button')].find((one) => one.textContent === 'Make it here').click()")?;
    scene.browser.until("document.querySelector('#new-name').value === 'first films'")?;
    next(scene, "People")?;
    let password = "a table for two";
    let person = [("#setup-person", "lois"), ("#setup-secret", password), ("#setup-secret-again", password)];
    accounts::fill(scene, &person)?;
    // Whoever is typed in is added by the next step, too, and the own password is remembered.
    next(scene, "What for")?;
    scene.browser.until(&shows("ada, lois: changes all files"))?;
    next(scene, "Connect")?;
    scene.browser.until(&shows("smb://"))?;
    scene.browser.until("[...document.querySelectorAll('.access tr')].some((row) => row.innerText.startsWith('lois') && row.innerText.includes('read and write'))")?;
    let status: Value = serde_json::from_str(&scene.place.run(&["status", "--json"])?)?;
    ensure!(status["shares"][0]["name"] == "first films", "it is not served: {}", status["shares"]);
    ensure!(
        folder.is_dir() && scene.place.settings()?.contains("bonjour-name = \"Cutting room\""),
        "{}",
        scene.place.settings()?
    );
    scene.click("#setup-end")?;
    scene.browser.until(
        "document.querySelector('main').dataset.ready === 'overview' && !document.querySelector('.first')",
    )?;
    scene.expect_no_errors()
}

/// A listener to a folder hears what a program of the host does there, and not what happens elsewhere.
pub fn changes(scene: &mut Scene) -> Result<()> {
    scene.browser.evaluate(
        "new Promise((resolve) => { window.heard = []; window.source = new EventSource('/v1/events?folder=studio/scenes'); \
         source.addEventListener('change', (event) => heard.push(JSON.parse(event.data))); source.addEventListener('open', resolve); })",
    )?;
    let studio = scene.place.folder().join("studio");
    std::fs::write(studio.join("elsewhere"), "text")?;
    std::fs::write(studio.join("scenes/new scene"), "text")?;
    std::fs::rename(studio.join("scenes/new scene"), studio.join("scenes/scene 7"))?;
    scene.browser.until("heard.some((one) => one.what === 'renamed')")?;
    let heard = scene.browser.evaluate("source.close(); heard")?;
    let heard = heard.as_array().cloned().unwrap_or_default();
    let has = |what: &str, path: &str| heard.iter().any(|one| one["what"] == what && one["path"] == path);
    ensure!(has("created", "new scene") && has("renamed", "scene 7"), "{heard:?}");
    ensure!(!has("created", "elsewhere"), "{heard:?}");
    std::fs::remove_file(studio.join("scenes/scene 7"))?;
    std::fs::remove_file(studio.join("elsewhere"))?;
    for (folder, status) in [("studio/../archive", 400), ("nothing/here", 409), ("studio/nothing", 409)] {
        let ask = format!("fetch('/v1/events?folder={folder}').then((answer) => answer.status)");
        let found = scene.browser.evaluate(&ask)?;
        ensure!(found == status, "{folder}: {found}");
    }
    scene.browser.errors(); // the browser notes the refusals
    Ok(())
}
