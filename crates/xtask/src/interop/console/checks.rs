//! What a person does with the console, and what the page must do then.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::browser::{Appearance, Browser};
use super::place::{ADMIN, ConsolePlace, HOSTILE, ODD};
use super::{accounts, adopt, axe, cost, daily, guarded, images, jobs, pages, studio, webhook};
use crate::interop::outcome::{Outcome, Outcomes};
use crate::process;

pub const PAGES: &[&str] = &[
    "overview",
    "setup",
    "shares",
    "files",
    "rights",
    "names",
    "adopt",
    "accounts",
    "clients",
    "snapshots",
    "backups",
    "replicate",
    "luns",
    "slowest",
    "caches",
    "streams",
    "benchmarks",
    "settings",
    "alerts",
    "health",
    "log",
    "scrub",
    "jobs",
    "webhooks",
    "security",
];
/// The places that lead to the pages.
const PLACES: usize = 7;
const DESK: Appearance = Appearance { width: 1280, height: 860, dark: false };
const PHONE: Appearance = Appearance { width: 390, height: 844, dark: true };
/// A list of a hundred thousand files may keep the page busy for so long, also on a busy machine.
const BUSY: Duration = Duration::from_secs(10);

/// What all others need.
const LOGIN: &str = "a person logs in by the keyboard";

/// Needs npm and its registry.
const AXE: &str = "axe finds nothing on any page, in both schemes and sizes";

/// Needs a file system that can have snapshots.
const SNAPSHOTS: &str = "a snapshot is taken, a file restored, the snapshot removed";

/// These need it, too.
const RESTORED: &str = "a file is restored from the page that shows it";
const TIMELINE: &str = "a snapshot is held, browsed, restored from by a job, and scheduled";
const REPLICATED: &str = "a share is replicated by a job";

/// These need smbclient.
const CLOSED: &str = "an open file is closed";
const STUDIO: &str = "in a new studio, each edits what another made";
const RIGHTS: &str = "the page says who may do what, and a role counts at once";
const FOLDER: &str = "one of a team may only read one folder, until it is reset";

/// A browser at a server.
pub struct Scene {
    pub place: ConsolePlace,
    pub browser: Browser,
}

type Check = fn(&mut Scene) -> Result<()>;

const CHECKS: &[(&str, Check)] = &[
    ("nothing is shown before the login", nothing_before_login),
    ("a wrong password is told", wrong_password),
    (LOGIN, log_in),
    ("each page loads without an error, and its controls have names", each_page),
    ("each page fits a phone", phone),
    (AXE, axe::each_page),
    ("the search and old addresses lead to pages", daily::found),
    ("a setting is changed and taken back", setting),
    ("a setting that is refused says why", refused_setting),
    ("a cache's limit is changed and taken back", cache),
    ("a client that comes is shown by itself", client_comes),
    ("a file is shown as each protocol sees it", files),
    ("files are uploaded, moved, downloaded and removed", daily::files),
    ("a removed file is put back from the bin", guarded::bin),
    (CLOSED, daily::open_file),
    ("sessions and tokens are listed and ended", daily::sign_ins),
    ("a login needs a code of an app after a second factor was set", guarded::second_factor),
    ("the console leads to a second factor that is required", guarded::required_factor),
    ("the health of the disks is shown", guarded::disks),
    ("the certificate is replaced while the server runs", daily::certificate),
    ("the log says who did what, and settings are read again", daily::log),
    (RESTORED, pages::restored),
    (SNAPSHOTS, pages::snapshots),
    (TIMELINE, pages::timeline),
    (REPLICATED, pages::replicated),
    ("the browser speaks HTTP/2 with the server", pages::http_2),
    ("a share's page says who may enter", pages::access),
    ("one session gets a message, is explained, and is disconnected", pages::one_session),
    ("links, networks and nodes of AppleTalk are shown", pages::appletalk),
    ("what became of metadata is shown", pages::metadata),
    ("a scrub finds what a Mac has left behind", pages::scrubbed),
    ("an account is made, changed and removed", accounts::changed),
    ("an administrator is made with the own password only", accounts::administrators),
    ("what other servers have left is shown, converted, and taken back", adopt::converted),
    ("a conversion that was cut goes on", adopt::goes_on),
    ("a webhook is made, tried and removed", pages::webhooks),
    ("a LUN is made, resized, copied and removed", pages::luns),
    ("the backups of Macs are shown", pages::backups),
    ("a disk image is opened, and a file comes out of it", images::opened),
    ("1,000 sessions and 100,000 opens do not freeze the page", long_lists),
    ("names that hurt are found, fixed, and taken back", jobs::names),
    ("a benchmark runs, is compared, and its report opens", jobs::benchmark),
    ("the advice follows from a benchmark", jobs::advice),
    ("a job is cancelled", jobs::cancelled),
    ("a LUN is cloned by a job", jobs::lun),
    ("a folder is shared, shown with a QR code, and taken back", jobs::share),
    ("a new studio is made by the page alone", studio::made),
    ("a share of each purpose is made and served", studio::purposes),
    (STUDIO, studio::used),
    (RIGHTS, studio::rights),
    (FOLDER, studio::folder),
    ("changes in a folder are told", jobs::changes),
    ("changes are sent to a webhook, again if it refuses", webhook::told),
    ("an idle API costs at most 2 threads and 4 MiB", cost::idle),
    ("hostile names stay text", hostile_names),
    ("a message is sent", message),
    ("a server that stops is told, and comes back", server_stops),
    ("an alert is made quiet and told again", daily::alerts),
    ("a session that ends asks for the login", session_ends),
    ("a new server is led to a working share", jobs::first_run),
];

/// Skips all checks.
pub fn skip(outcomes: &mut Outcomes, why: &str) {
    for (name, _) in CHECKS {
        outcomes.skip(name, why);
    }
}

/// Executes all checks with one server and one browser, or the login and those whose names have one of these texts in them.
pub fn run(outcomes: &mut Outcomes, only: &[String]) -> Result<()> {
    let place = ConsolePlace::start(process::fresh_folder("interop-console")?)?;
    let mut browser = Browser::start(place.folder())?;
    browser.look(DESK)?;
    browser.go(&place.url())?;
    let mut scene = Scene { place, browser };
    let is_meant =
        |name: &str| only.is_empty() || name == LOGIN || only.iter().any(|text| name.contains(text.as_str()));
    for (name, check) in CHECKS.iter().filter(|(name, _)| is_meant(name)) {
        if [SNAPSHOTS, RESTORED, TIMELINE, REPLICATED].contains(name) && !scene.place.has_snapshots {
            outcomes.skip(name, "no XFS can be mounted here");
            continue;
        }
        if [CLOSED, STUDIO, RIGHTS, FOLDER].contains(name) && process::find("smbclient").is_none() {
            outcomes.skip(name, "smbclient is not installed");
            continue;
        }
        let outcome = check(&mut scene);
        outcomes
            .add(*name, outcome.map_or_else(|error| Outcome::Fail(format!("{error:#}")), |()| Outcome::Pass));
    }
    Ok(())
}

/// Types the name and the password, and presses Return.
pub fn type_login(browser: &mut Browser, password: &str) -> Result<()> {
    browser.until("document.activeElement.matches('#login-user, #login-password')")?;
    browser.evaluate(
        "document.querySelector('#login-user').value = ''; document.querySelector('#login-user').focus()",
    )?;
    browser.type_text(ADMIN.0)?;
    browser.press("Tab", 9)?;
    browser.type_text(password)?;
    browser.press("Enter", 13)
}

/// Shows a page and waits until it has its data.
pub fn open(browser: &mut Browser, page: &str) -> Result<()> {
    browser.evaluate(&format!("location.hash = '#/{page}'"))?;
    let name = page.split('?').next().unwrap_or(page);
    browser.until(&format!("document.querySelector('main').dataset.ready === '{name}'"))
}

/// An expression that is true if the page shows this text.
pub fn shows(text: &str) -> String {
    format!("document.body.innerText.includes({})", json!(text))
}

impl Scene {
    pub fn open(&mut self, page: &str) -> Result<()> {
        open(&mut self.browser, page)
    }

    pub fn expect_no_errors(&mut self) -> Result<()> {
        let errors = self.browser.errors();
        ensure!(errors.is_empty(), "the browser's console has {errors:?}");
        Ok(())
    }

    pub fn click(&mut self, selector: &str) -> Result<()> {
        let selector = json!(selector);
        self.browser.until(&format!("document.querySelector({selector})"))?;
        self.browser.evaluate(&format!("document.querySelector({selector}).click()")).map(drop)
    }
}

fn nothing_before_login(scene: &mut Scene) -> Result<()> {
    scene.browser.until("!document.querySelector('#login').hidden")?;
    scene.browser.until(
        "document.querySelector('#shell').hidden && document.querySelector('main').children.length === 0",
    )?;
    scene.expect_no_errors()
}

fn wrong_password(scene: &mut Scene) -> Result<()> {
    type_login(&mut scene.browser, "wrong")?;
    scene
        .browser
        .until("document.querySelector('#login-error').textContent.includes('password is wrong')")?;
    scene.browser.until("document.querySelector('#shell').hidden")?;
    let errors = scene.browser.errors();
    ensure!(errors.iter().all(|error| error.contains("401")), "{errors:?}");
    Ok(())
}

fn log_in(scene: &mut Scene) -> Result<()> {
    type_login(&mut scene.browser, ADMIN.1)?;
    scene.browser.until("document.querySelector('main').dataset.ready === 'overview'")?;
    scene.browser.until("document.activeElement.tagName === 'H1'")?;
    scene.browser.until(&shows("All shares are served"))?;
    let cookies = scene.browser.evaluate("document.cookie")?;
    ensure!(cookies == json!(""), "scripts see the cookie: {cookies}");
    scene.expect_no_errors()
}

/// Controls that a screen reader has no name for.
const NAMELESS: &str = "[...document.querySelectorAll('input, select, button, a, svg[role=img], [role=region]')].filter((one) => one.checkVisibility() && \
                        !(one.labels?.length || one.getAttribute('aria-label') || one.textContent.trim() || one.querySelector?.('img[alt]'))\
                        ).map((one) => one.outerHTML)";

fn each_page(scene: &mut Scene) -> Result<()> {
    for page in PAGES {
        scene.open(page)?;
        let title = scene.browser.evaluate("document.querySelector('main h1').textContent")?;
        scene.browser.until(&format!("document.title.startsWith({title})"))?;
        // The first run is in no place: the overview of a new server leads to it.
        let marked = usize::from(*page != "setup");
        let links = format!("document.querySelectorAll('nav a[aria-current=page]').length === {marked}");
        scene.browser.until(&links)?;
        scene.browser.until("document.querySelectorAll('main .error').length === 0")?;
        // A chart has its name with its first values.
        let are_named = scene.browser.until(&format!("({NAMELESS}).length === 0"));
        let nameless = scene.browser.evaluate(NAMELESS)?;
        are_named.with_context(|| format!("{page}: without a name: {nameless}"))?;
        scene.expect_no_errors()?;
    }
    scene.browser.until(&format!("document.querySelectorAll('#nav a').length === {PLACES}"))?;
    scene.open("shares?share=studio")?;
    scene.browser.until(&shows("smb://"))?;
    scene.open("luns")?;
    scene.browser.until(&shows("studio/scratch"))
}

fn phone(scene: &mut Scene) -> Result<()> {
    scene.browser.look(PHONE)?;
    let mut wide = Vec::new();
    for page in PAGES {
        scene.open(page)?;
        let width = scene.browser.evaluate("document.documentElement.scrollWidth")?;
        if width.as_u64() > Some(390) {
            wide.push(format!("{page}: {width}"));
        }
    }
    scene.browser.look(DESK)?;
    ensure!(wide.is_empty(), "wider than the screen: {wide:?}");
    Ok(())
}

fn setting(scene: &mut Scene) -> Result<()> {
    let before = scene.place.settings()?;
    scene.open("settings?share=studio")?;
    scene.click("[data-key=read-only] button")?;
    scene.browser.evaluate("document.querySelector('#edit-read-only').value = 'true'")?;
    scene.click("[data-key=read-only] button.primary")?;
    scene.browser.until("document.querySelector('[data-key=read-only] .value').textContent === 'on'")?;
    let after = scene.place.settings()?;
    ensure!(after.contains("read-only = true\n\n[[share]]\nname = \"studio/video\""), "{after}");
    ensure!(after.contains("This comment stays."), "{after}");
    let shares = scene.place.run(&["status", "--json"])?;
    let status: serde_json::Value = serde_json::from_str(&shares)?;
    let studio = status["shares"].as_array().and_then(|all| all.iter().find(|one| one["name"] == "studio"));
    ensure!(studio.is_some_and(|share| share["read_only"] == true), "it is not in force");
    scene.click("#undo")?;
    accounts::give_own_password(scene, ADMIN.1)?; // what was read-only becomes writable
    scene.browser.until("document.querySelector('[data-key=read-only] .value').textContent === 'off'")?;
    ensure!(scene.place.settings()? == before, "the file is not as it was");
    scene.expect_no_errors()
}

fn refused_setting(scene: &mut Scene) -> Result<()> {
    let before = scene.place.settings()?;
    scene.open("settings?share=studio")?;
    scene.click("[data-key=quota] button")?;
    scene.browser.evaluate("document.querySelector('#edit-quota').value = 'plenty'")?;
    scene.click("[data-key=quota] button.primary")?;
    scene
        .browser
        .until("document.querySelector('[data-key=quota] .error').textContent.includes('plenty')")?;
    ensure!(scene.place.settings()? == before, "the file was changed");
    scene.browser.press("Escape", 27)?;
    scene.browser.errors(); // the browser notes the refusal
    Ok(())
}

fn cache(scene: &mut Scene) -> Result<()> {
    scene.open("caches")?;
    scene.browser.until("document.querySelectorAll('#classic dd').length === 3")?;
    let limit = |scene: &Scene| -> Result<u64> {
        let status: serde_json::Value = serde_json::from_str(&scene.place.run(&["caches", "--json"])?)?;
        let caches = status["caches"].as_array().cloned().unwrap_or_default();
        let found = caches.iter().find(|cache| cache["name"] == "directory");
        Ok(found.and_then(|cache| cache["wanted"].as_u64()).unwrap_or_default())
    };
    let before = limit(scene)?;
    scene.browser.evaluate(
        "(() => { const slider = document.querySelector('#limit-directory'); slider.value = 20; \
         slider.dispatchEvent(new Event('input')); slider.dispatchEvent(new Event('change')); })()",
    )?;
    scene.browser.until("!document.querySelector('[data-cache=directory] button').disabled")?;
    ensure!(limit(scene)? == 32 << 20, "the limit is {}", limit(scene)?);
    scene.click("[data-cache=directory] button")?;
    scene.browser.until("document.querySelector('[data-cache=directory] button').disabled")?;
    ensure!(limit(scene)? == before, "the limit is {}, not {before}", limit(scene)?);
    scene.expect_no_errors()
}

fn client_comes(scene: &mut Scene) -> Result<()> {
    scene.open("clients")?;
    scene.browser.until(&shows("No client is connected."))?;
    let client = scene.place.connect(1)?;
    scene.browser.until("document.querySelectorAll('tbody tr').length === 1")?;
    drop(client);
    scene.browser.until(&shows("No client is connected."))?;
    scene.expect_no_errors()
}

fn files(scene: &mut Scene) -> Result<()> {
    scene.open("files?share=studio")?;
    scene.click("tbody a[href*='path=scenes']")?;
    scene.browser.until("document.querySelector('.crumbs [aria-current]').textContent === 'scenes'")?;
    scene.click(&format!("[aria-label={}]", json!(format!("About {ODD}"))))?;
    scene.browser.until("document.querySelector('#about')")?;
    let codes = scene
        .browser
        .evaluate("[...document.querySelectorAll('#about td code')].map((one) => one.textContent)")?;
    ensure!(codes[0] == ODD && codes[2] == ODD.replace(':', "/"), "{codes}");
    ensure!(
        codes[1] == ODD.replace(':', "\u{f022}").replace('<', "\u{f023}").replace('>', "\u{f024}"),
        "{codes}"
    );
    for text in ["Owner, group, mode", "It is not open, locked or cached."] {
        scene.browser.until(&shows(text))?;
    }
    let made = scene.browser.evaluate("document.querySelectorAll('main b, main img').length")?;
    ensure!(made == 0, "the name became markup");
    scene.click("#about a[href^='#']")?;
    scene.browser.until("!document.querySelector('#about') && document.querySelector('tbody')")?;
    scene.expect_no_errors()?;
    // A name that is not there says so, and the page goes on.
    scene.open("files?share=studio&path=scenes&about=nothing")?;
    scene
        .browser
        .until("document.querySelector('main .error').textContent.includes('nothing of that name')")?;
    scene.browser.errors(); // the browser notes the refusal
    Ok(())
}

fn long_lists(scene: &mut Scene) -> Result<()> {
    let clients = scene.place.connect(1000)?;
    scene.open("overview")?;
    scene.open("clients")?;
    scene.browser.until(&shows("1–100 of 1,000"))?;
    scene.browser.evaluate("[...document.querySelectorAll('.toolbar button')].at(-1).click()")?;
    scene.browser.until(&shows("101–200 of 1,000"))?;
    // The server's own list of that length is tested without a browser.
    scene.browser.evaluate(
        "(() => { const real = window.fetch; window.restore = () => { window.fetch = real; }; \
         window.fetch = async (path, options) => { const url = new URL(path, location); \
         if (url.pathname !== '/v1/opens') return real(path, options); \
         const [offset, limit] = ['offset', 'limit'].map((key) => Number(url.searchParams.get(key))); \
         const rows = Array.from({ length: Math.min(limit, 100000 - offset) }, (_, index) => ({ share: 'studio', \
         file: `file ${offset + index} <script>hit=3</script><img src=x onerror=hit=4>`, inode: 1, owner: 'ada', access: 'rw', deny: '' })); \
         return new Response(JSON.stringify({ total: 100000, rows })); }; })()",
    )?;
    scene.click("[data-list=opens]")?;
    scene.browser.until(&shows("1–100 of 100,000"))?;
    for page in 1..20 {
        let began = Instant::now();
        scene.browser.evaluate("[...document.querySelectorAll('.toolbar button')].at(-1).click()")?;
        scene.browser.until(&shows(&format!("file {} <script>", page * 100)))?;
        ensure!(began.elapsed() < BUSY, "page {page} took {:?}", began.elapsed());
    }
    let hit = scene.browser.evaluate("String(window.hit)")?;
    ensure!(hit == "undefined", "a name of a file was executed: {hit}");
    let images = scene.browser.evaluate("document.querySelectorAll('main img, main script').length")?;
    ensure!(images == 0, "names became {images} elements");
    scene.browser.evaluate("restore()")?;
    drop(clients);
    scene.expect_no_errors()
}

fn hostile_names(scene: &mut Scene) -> Result<()> {
    scene.open("accounts")?;
    scene.browser.until(&shows(HOSTILE))?;
    let (hit, elements) = (
        scene.browser.evaluate("String(window.hit)")?,
        scene.browser.evaluate("document.querySelectorAll('main img, main script').length")?,
    );
    ensure!(hit == "undefined" && elements == 0, "the name became {elements} elements, {hit}");
    // Should the page ever make markup of a text, the browser refuses it.
    let refused = scene.browser.evaluate(
        "(() => { try { document.querySelector('main').innerHTML = '<b>x</b>'; return false; } catch { return true; } })()",
    )?;
    ensure!(refused == true, "the browser makes markup of texts");
    scene.browser.errors(); // of this attempt
    Ok(())
}

fn message(scene: &mut Scene) -> Result<()> {
    scene.open("clients")?;
    scene.browser.evaluate("document.querySelector('#message').value = 'Noon.'")?;
    scene.click("form.message button")?;
    scene
        .browser
        .until("document.querySelector('.toast') && document.querySelector('#message').value === ''")?;
    scene.expect_no_errors()
}

fn server_stops(scene: &mut Scene) -> Result<()> {
    scene.open("overview")?;
    scene.place.stop();
    scene.browser.until("!document.querySelector('#banner').hidden")?;
    scene.browser.until("document.querySelector('#banner').textContent.includes('does not answer')")?;
    scene.browser.until("document.querySelector('.tile b')")?; // the last state stays
    scene.place.want_space()?; // for `daily::alerts`
    scene.place.start_again()?;
    scene.browser.until("document.querySelector('#banner').hidden")?;
    // Sessions are in the server's memory only.
    scene.browser.until("!document.querySelector('#login').hidden")?;
    scene.browser.errors(); // the browser notes that nothing answered
    type_login(&mut scene.browser, ADMIN.1)?;
    scene.browser.until("document.querySelector('main').dataset.ready === 'overview'")
}

fn session_ends(scene: &mut Scene) -> Result<()> {
    scene.open("shares")?;
    scene.place.run(&["user", "modify", ADMIN.0, "--admin", "off"])?;
    scene.browser.evaluate("location.hash = '#/accounts'")?;
    scene.browser.until("!document.querySelector('#login').hidden")?;
    scene
        .browser
        .until("document.querySelector('#login-error').textContent.includes('session has ended')")?;
    scene.browser.until("document.querySelector('main').children.length === 0")?;
    scene.place.run(&["user", "modify", ADMIN.0, "--admin", "on"])?;
    type_login(&mut scene.browser, ADMIN.1)?;
    scene.browser.until("document.querySelector('main').dataset.ready === 'accounts'")
}
