//! `fourfold adopt` on the folders: what it finds, one layout for all, and everything back as it was.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Layout;
use super::place::{LayoutsPlace, attributes, value};
use crate::{process, server};

/// The time limit of one run.
const LIMIT: Duration = Duration::from_secs(60);
/// The folders that this server has for itself.
const OWN: &str = ".fourfold";

/// The bytes of a file and its attributes for users.
type FileContents = (Option<Vec<u8>>, BTreeMap<OsString, Vec<u8>>);

/// All that is on the disk below a folder, by path.
type Snapshot = BTreeMap<PathBuf, FileContents>;

/// Finds the layout, no damage and no copies that differ.
pub fn survey(place: &LayoutsPlace, layout: &Layout) -> Result<()> {
    let report = adopt(place, &[&place.share(layout.name), "--json"])?;
    let found = &report["folders"][0];
    let layouts = found["layouts"].as_object().context("no layouts")?;
    for name in layout.survey {
        ensure!(layouts.contains_key(*name), "{name} is not among {layouts:?}");
    }
    for kind in ["damaged", "conflicts", "orphans", "unreadable"] {
        ensure!(found[kind]["count"].as_u64() == Some(0), "{kind}: {}", found[kind]);
    }
    Ok(())
}

/// Takes over smbd's accounts, with the hashes and SIDs that pdbedit prints.
pub fn accounts(place: &LayoutsPlace) -> Result<()> {
    let (smbd, state) = (place.state("smbd"), place.state("accounts"));
    let passdb = smbd.join("private/passdb.tdb");
    let words = ["--passdb", &passdb.to_string_lossy(), "--import-accounts", "--json", "--state"];
    let report = adopt(place, &[&words[..], &[&*state.to_string_lossy()]].concat())?;
    let account = &report["accounts"]["accounts"][0];
    ensure!(account["fate"] == "made", "{report}");
    let configuration = smbd.join("smb.conf").to_string_lossy().into_owned();
    let printed = |form| process::stdout_of("pdbedit", &["-s", &configuration, "-L", form], LIMIT);
    let name = account["name"].as_str().context("no name")?;
    let hashes = printed("-w")?;
    let line = hashes.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let hash = line.and_then(|line| line.split(':').nth(2)).context("pdbedit prints no hash")?;
    let made = fs::read_to_string(state.join("accounts.toml"))?;
    ensure!(made.contains(&hash.to_lowercase()), "{name} has another hash than {hash}");
    let facts = printed("-v")?;
    let sid =
        facts.lines().find_map(|line| line.strip_prefix("User SID:")).context("pdbedit prints no SID")?;
    ensure!(account["sid"] == sid.trim(), "the SID is {}, not {sid}", account["sid"]);
    Ok(())
}

/// Gives everything the layout that Samba has with other settings. `read` looks at the result. Then takes it back.
pub fn convert_and_undo(
    place: &LayoutsPlace,
    layout: &Layout,
    read: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let share = place.share(layout.name);
    let before = snapshot(Path::new(&share))?;
    let state = place.state("adopt");
    fs::create_dir_all(&state)?;
    let state = state.to_string_lossy();
    let words = [&*share, "--convert", "--to", layout.converted().0, "--json", "--state", &state];
    let report = adopt(place, &words)?;
    ensure!(report["converted"].as_u64() > Some(0), "nothing was converted: {report}");
    let journal = report["journal"].as_str().context("no journal")?;
    let result = read().context("converted");
    let undone = adopt(place, &["--undo", journal, "--json", "--state", &state])?;
    result?;
    ensure!(undone["left"].as_array().is_some_and(Vec::is_empty), "not taken back: {undone}");
    let after = snapshot(Path::new(&share))?;
    for path in before.keys().chain(after.keys()) {
        let (was, is) = (before.get(path), after.get(path));
        let parts = |of: Option<&FileContents>| {
            of.map(|(bytes, values)| {
                (bytes.as_ref().map(Vec::len), values.keys().cloned().collect::<Vec<_>>())
            })
        };
        ensure!(was == is, "{} had {:?}, and has {:?}", path.display(), parts(was), parts(is));
    }
    Ok(())
}

/// What `fourfold adopt` makes of smbd's configuration. It may refuse shares that need more than is translated.
pub fn settings_of(configuration: &Path) -> Result<String> {
    let words = ["adopt", "--smb-conf", &*configuration.to_string_lossy()];
    let output = process::output(server::binary(), &words, LIMIT)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn adopt(place: &LayoutsPlace, words: &[&str]) -> Result<Value> {
    let output = process::output(server::binary(), &[&["adopt"], words].concat(), LIMIT)?;
    let said = [&output.stdout[..], &output.stderr].concat();
    ensure!(output.status.success(), "adopt {}: {}", words.join(" "), String::from_utf8_lossy(&said));
    serde_json::from_slice(&output.stdout).with_context(|| format!("{}: no JSON", place.name()))
}

/// Whether an attribute is of users, and not a note of this server for itself.
fn is_kept(name: &str) -> bool {
    name.starts_with("user.") && !name.starts_with("user.fourfold.")
}

fn snapshot(folder: &Path) -> Result<Snapshot> {
    let mut found = Snapshot::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let (entry, path) = (entry.as_ref(), entry.as_ref().map(fs::DirEntry::path));
            let path = path.map_err(|error| anyhow::anyhow!("{}: {error}", folder.display()))?;
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(OWN)) {
                continue;
            }
            let is_folder = entry.is_ok_and(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            let bytes = if is_folder { None } else { Some(fs::read(&path)?) };
            let mut values = BTreeMap::new();
            for name in attributes(&path)?.into_iter().filter(|name| is_kept(name)) {
                values.insert(OsString::from(&name), value(&path, &name)?);
            }
            if is_folder {
                folders.push(path.clone());
            }
            found.insert(path, (bytes, values));
        }
    }
    Ok(found)
}
