//! The pictures of the documentation: the console in light and dark, with clients at work.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::browser::{Browser, Look};
use super::checks::{open, type_login};
use super::place::{ADMIN, Place};
use crate::process::{self, Running};
use crate::{isolate, server};

/// How long clients work before the pictures are taken.
const WORK: Duration = Duration::from_secs(150);
/// What a command may take.
const SOON: Duration = Duration::from_secs(20);
/// The largest picture in bytes.
const LARGEST: usize = 150 * 1024;

const WIDE: Look = Look { width: 1240, height: 800, dark: false };
const LOW: Look = Look { height: 560, ..WIDE };
const TALL: Look = Look { width: 390, height: 780, dark: false };
/// The folder of the server in the pictures: they show no paths of this machine.
const FOLDER: &str = "/srv";

/// The pages, each with its picture's name and size.
const PICTURES: &[(&str, &str, Look)] = &[
    ("overview", "console-overview", WIDE),
    ("overview", "console-overview-dark", Look { dark: true, ..WIDE }),
    ("overview", "console-phone", TALL),
    ("shares", "console-shares", Look { height: 700, ..WIDE }),
    (
        "files?share=studio&path=scenes&about=take%201%3A%20%3Cb%3Eready",
        "console-files",
        Look { height: 1100, ..WIDE },
    ),
    ("clients", "console-clients", LOW),
    ("luns", "console-luns", LOW),
    ("snapshots", "console-snapshots", LOW),
    ("backups", "console-backups", LOW),
    ("caches", "console-caches-dark", Look { dark: true, ..WIDE }),
    ("accounts", "console-accounts", LOW),
    ("names", "console-names", LOW),
    ("benchmarks", "console-benchmarks", Look { height: 900, ..WIDE }),
    ("jobs", "console-jobs", LOW),
    ("settings?share=backups", "console-settings", Look { height: 700, ..WIDE }),
    ("log", "console-log", LOW),
];

/// Writes the pictures to a folder.
pub fn take(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    ensure!(isolate::is_isolated(), "pictures are taken as root, where namespaces may be made");
    let real = process::fresh_folder("interop-console")?;
    process::stdout_of("mount", &["--bind", &real.to_string_lossy(), FOLDER], SOON)?;
    let place = Place::start(FOLDER.into())?;
    let clients = clients(&place)?;
    if place.has_snapshots {
        for name in ["weekly-2026-11-16", "nightly-2026-11-22", "before-the-upgrade"] {
            place.run(&["snapshot", "create", &format!("projects@{name}")])?;
        }
    }
    let mut browser = Browser::start(place.folder())?;
    browser.look(WIDE)?;
    browser.go(&place.url())?;
    browser.until("!document.querySelector('#login').hidden")?;
    write(&mut browser, folder, "console-login")?;
    type_login(&mut browser, ADMIN.1)?;
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

fn write(browser: &mut Browser, folder: &Path, name: &str) -> Result<()> {
    let picture = browser.screenshot()?;
    ensure!(picture.len() <= LARGEST, "{name} has {} bytes", picture.len());
    let path = folder.join(format!("{name}.png"));
    std::fs::write(&path, &picture)?;
    println!("{}: {} bytes", path.display(), picture.len());
    Ok(())
}

/// Clients of all protocols that do something all the time.
fn clients(place: &Place) -> Result<Vec<Running>> {
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
