//! The pictures of the documentation: the console in light and dark, with clients at work.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::browser::{Appearance, Browser};
use super::checks::{open, type_login};
use super::place::{ADMIN, ConsolePlace};
use crate::process::{self, Running};
use crate::{isolate, server};

/// How long clients work before the pictures are taken.
const WORK: Duration = Duration::from_secs(150);
/// What a command may take.
const SOON: Duration = Duration::from_secs(20);
/// What a benchmark may take.
const LONGEST: Duration = Duration::from_secs(60);
/// The largest picture in bytes.
const LARGEST: usize = 150 * 1024;

const WIDE: Appearance = Appearance { width: 1240, height: 800, dark: false };
const LOW: Appearance = Appearance { height: 560, ..WIDE };
const TALL: Appearance = Appearance { width: 390, height: 780, dark: false };
/// The folder of the server in the pictures: they show no paths of this machine.
const FOLDER: &str = "/srv";

/// The pages, each with its picture's name and size.
const PICTURES: &[(&str, &str, Appearance)] = &[
    ("overview", "console-overview", WIDE),
    ("overview", "console-overview-dark", Appearance { dark: true, ..WIDE }),
    ("overview", "console-phone", TALL),
    ("shares", "console-shares", Appearance { height: 700, ..WIDE }),
    ("shares?new", "console-new-share", Appearance { height: 940, ..WIDE }),
    ("rights?share=projects", "console-rights", Appearance { height: 860, ..WIDE }),
    ("rights?share=projects", "console-rights-phone", TALL),
    (
        "files?share=studio&path=scenes&about=take%201%3A%20%3Cb%3Eready",
        "console-files",
        Appearance { height: 1100, ..WIDE },
    ),
    ("clients", "console-clients", LOW),
    ("luns", "console-luns", LOW),
    ("snapshots?share=projects", "console-snapshots", Appearance { height: 760, ..WIDE }),
    ("backups", "console-backups", LOW),
    ("caches", "console-caches-dark", Appearance { dark: true, ..WIDE }),
    ("accounts", "console-accounts", LOW),
    ("accounts?new", "console-new-account", Appearance { height: 760, ..WIDE }),
    ("names", "console-names", LOW),
    ("scrub", "console-scrub", LOW),
    ("webhooks", "console-webhooks", Appearance { height: 860, ..WIDE }),
    ("snapshots?share=projects", "console-snapshots-dark", Appearance { dark: true, height: 760, ..WIDE }),
    ("snapshots?share=projects", "console-snapshots-phone", Appearance { height: 780, ..TALL }),
    ("clients", "console-clients-phone", TALL),
    ("benchmarks", "console-benchmarks", Appearance { height: 900, ..WIDE }),
    ("jobs", "console-jobs", LOW),
    ("settings?share=backups", "console-settings", Appearance { height: 700, ..WIDE }),
    ("log", "console-log", LOW),
];

/// The snapshots, and how many hours ago they were taken.
const SNAPSHOTS: &[(&str, i64)] = &[
    ("weekly.1", 24 * 15),
    ("weekly.0", 24 * 8),
    ("nightly.4", 24 * 5),
    ("nightly.3", 24 * 4),
    ("nightly.2", 24 * 3),
    ("before-the-upgrade", 60),
    ("nightly.1", 24 * 2),
    ("nightly.0", 24),
    ("hourly.2", 3),
    ("hourly.1", 2),
    ("hourly.0", 1),
];

/// Writes other times of the snapshots of an XFS into the server's table of them.
fn age_snapshots(share: &Path) -> Result<()> {
    let tables = std::fs::read_dir(share)?.flatten().map(|entry| entry.path().join(".table"));
    let table = tables.into_iter().find(|table| table.is_file()).context("there is no table of snapshots")?;
    let mut text: toml_edit::DocumentMut = std::fs::read_to_string(&table)?.parse()?;
    let rows = text["snapshot"].as_array_mut().context("it has no snapshots")?;
    for row in rows.iter_mut().filter_map(toml_edit::Value::as_inline_table_mut) {
        let name = row.get("name").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
        let Some((_, hours)) = SNAPSHOTS.iter().find(|(known, _)| *known == name) else { continue };
        let created = row.get("created").and_then(|at| at.as_integer()).context("it has no time")?;
        row.insert("created", (created - hours * 3_600_000_000_000).into());
    }
    Ok(std::fs::write(table, text.to_string())?)
}

/// Writes the pictures to a folder.
pub fn take(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    ensure!(isolate::is_isolated(), "pictures are taken as root, where namespaces may be made");
    let real = process::fresh_folder("interop-console")?;
    process::stdout_of("mount", &["--bind", &real.to_string_lossy(), FOLDER], SOON)?;
    let place = ConsolePlace::start(FOLDER.into())?;
    let clients = clients(&place)?;
    place.run(&["set", "owners=ada", "editors=grace", "readers=everyone", "projects"])?;
    if place.has_snapshots {
        for (name, _) in SNAPSHOTS {
            place.run(&["snapshot", "create", &format!("projects@{name}")])?;
        }
        place.run(&["snapshot", "hold", "cut-2", "projects@before-the-upgrade"])?;
        age_snapshots(&place.folder().join("projects"))?;
    }
    let mut browser = Browser::start(place.folder())?;
    browser.look(WIDE)?;
    browser.go(&place.url())?;
    browser.until("!document.querySelector('#login').hidden")?;
    write(&mut browser, folder, "console-login")?;
    type_login(&mut browser, ADMIN.1)?;
    browser.until("document.querySelector('main').dataset.ready === 'overview'")?;
    let hook = json!({
        "folder": "studio/scenes", "url": "http://127.0.0.1:9/changes", "secret": "a secret of the pictures",
        "own_password": ADMIN.1,
    });
    let headers = "{ 'X-Fourfold-Console': '1', 'Content-Type': 'application/json' }";
    browser.evaluate(&format!(
        "fetch('/v1/webhooks', {{ method: 'POST', headers: {headers}, body: JSON.stringify({hook}) }}).then((answer) => answer.status)"
    ))?;
    measure(&mut browser)?;
    std::thread::sleep(WORK);
    for (page, name, look) in PICTURES {
        browser.look(*look)?;
        open(&mut browser, page)?;
        std::thread::sleep(Duration::from_secs(2)); // lists and curves come
        write(&mut browser, folder, name)?;
    }
    drop(clients);
    Ok(())
}

/// Two benchmarks that the page shows as kept.
fn measure(browser: &mut Browser) -> Result<()> {
    for workloads in ["small-read-1K", "create-stat-delete"] {
        let job = json!({
            "kind": "bench", "share": "studio", "protocols": ["nfs"], "workloads": [workloads],
            "repeats": 3, "clients": 1, "seconds": 2, "scale": 0.01,
        });
        let post = json!({
            "method": "POST", "body": job.to_string(),
            "headers": { "X-Fourfold-Console": "1", "Content-Type": "application/json" },
        });
        browser.evaluate(&format!("fetch('/v1/jobs', {post}).then((answer) => answer.status)"))?;
        let jobs = "fetch('/v1/jobs').then((answer) => answer.json())";
        let until = Instant::now() + LONGEST;
        while browser.evaluate(jobs)?[0]["state"] != "done" {
            ensure!(
                Instant::now() < until,
                "the benchmark {workloads} did not end: {}",
                browser.evaluate(jobs)?
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    Ok(())
}

fn write(browser: &mut Browser, folder: &Path, name: &str) -> Result<()> {
    let picture = browser.screenshot()?;
    ensure!(picture.len() <= LARGEST, "{name} has {} bytes", picture.len());
    let path = folder.join(format!("{name}.png"));
    std::fs::write(&path, &picture)?;
    println!("{}: {} bytes", path.display(), picture.len());
    Ok(())
}

/// Clients of all protocols that do something all the time.
fn clients(place: &ConsolePlace) -> Result<Vec<Running>> {
    let password = place.folder().join("password");
    std::fs::write(&password, ADMIN.1)?;
    let password = password.display().to_string();
    let output = |name: &str| place.folder().join(name).display().to_string();
    let (user, smb, afp) = (ADMIN.0, place.port("smb")?, place.port("afp")?);
    let urls = [
        ("smb", format!("smb://{user}@127.0.0.1:{smb}/studio")),
        ("afp", format!("afp://{user}@127.0.0.1:{afp}/backups")),
        ("nfs", format!("nfs://127.0.0.1:{}/studio/video", place.nfs)),
    ];
    let start = |(name, url): &(&str, String)| {
        let output = output(name);
        let what = [
            "bench",
            url,
            "--workload",
            "read-write-25-1,small-read-1K,copy-tree",
            "--password-file",
            &password,
        ];
        let how =
            ["--output", &output, "--repeats", "200", "--clients", "1", "--scale", "0.2", "--time", "30"];
        let words = [&what[..], &how].concat();
        Running::start(server::binary(), &words, Stdio::null(), Stdio::null())
    };
    urls.iter().map(start).collect()
}
