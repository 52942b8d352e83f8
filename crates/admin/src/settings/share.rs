//! Shares: their names, their folders, and their nesting.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use formats::names::{FoldedKey, Folding};

use super::build::share_settings;
use super::diagnostic::{Findings, Place};
use super::flags::{self, Arguments};
use super::homes;
use super::kind::{Kind, Raw, accept, reserved};
use super::model::ShareSettings;
use super::section::Section;
use super::setting::{Table, setting};
use super::team;
use crate::shell::quote;

/// A share, with the places of its name and path.
pub(super) type LocatedShare = ((Place, Place), ShareSettings);

/// The shares of the file, then those of the command line, whose sections are added.
pub(super) fn all(
    arguments: &Arguments,
    beside: &Path,
    sections: &mut Vec<Section>,
    findings: &mut Findings,
) -> Vec<LocatedShare> {
    let mut shares = Vec::new();
    sections.iter_mut().for_each(|section| flags::every_share(arguments, section, findings));
    sections.iter_mut().for_each(Section::take_preset);
    inherit(sections, findings);
    for section in &*sections {
        let is_homes = section.text("path").is_some_and(|path| homes::folder(&path).is_some());
        team::check(section, is_homes, findings);
    }
    for section in &mut *sections {
        shares.extend(from_section(section, beside, findings));
    }
    check_names(&shares, findings);
    flags::check_only_share(arguments, findings);
    from_command_line(arguments, &mut shares, sections, findings);
    check_nesting(&shares, findings);
    shares
}

/// Gives each share what it inherits from the share above it, and its folder there.
fn inherit(sections: &mut [Section], findings: &mut Findings) {
    let mut below: Vec<(usize, String)> = sections
        .iter()
        .enumerate()
        .filter_map(|(index, section)| Some((index, section.text("name").filter(|name| name.contains('/'))?)))
        .collect();
    below.sort_by_key(|(_, name)| name.matches('/').count()); // what is above comes first
    for (index, name) in below {
        let Some((above, last)) = name.rsplit_once('/') else { continue };
        let place = sections[index].place_of("name").clone();
        let parent =
            sections.iter().find(|other| other.text("name").is_some_and(|name| name == above)).cloned();
        let Some(parent) = parent else {
            let what = format!("there is no share {above:?}, below which {name:?} would be");
            findings.error(&place, what, format!("add a `[[share]]` with `name = {above:?}`"));
            continue;
        };
        let section = &mut sections[index];
        section.inherit(&parent, above);
        if let (false, Some(folder)) = (section.is_set("path"), parent.text("path")) {
            let path = Path::new(&folder).join(last).to_string_lossy().into_owned();
            section.derive("path", path, above, &place);
        }
    }
}

fn from_section(section: &Section, beside: &Path, findings: &mut Findings) -> Option<LocatedShare> {
    let (name_place, path_place) = (section.place_of("name").clone(), section.place_of("path").clone());
    let path = match section.text("store") {
        Some(store) => in_store(section, &store, findings),
        None => section.text("path").and_then(|path| {
            homes::check_path(&path, &path_place, findings);
            let folder = homes::folder(&path).unwrap_or(Path::new(&path));
            absolute(beside, folder, &path_place, findings)
        }),
    };
    let name = section.text("name")?;
    // A share whose path is wrong still takes part in the check of names.
    let path = path.unwrap_or_default();
    let mut share = share_settings(section, name, path);
    set_from(section, &mut share, beside, findings);
    Some(((name_place, path_place), share))
}

/// The file of `from-credentials` counts from `beside`. Only folders of this machine can have a `from`.
fn set_from(section: &Section, share: &mut ShareSettings, beside: &Path, findings: &mut Findings) {
    share.from = section.secret("from");
    share.from_credentials = section.text("from-credentials").map(|file| beside.join(file));
    if let Some(file) = &share.from_credentials
        && let Err(error) = std::fs::File::open(file)
    {
        let what = format!("`from-credentials`: {} cannot be read: {error}", file.display());
        let instead =
            "write the path of a file with `username=` and `password=` that the server's user may read";
        findings.error(section.place_of("from-credentials"), what, instead);
    }
    if share.from.is_some() && (share.read_only || share.shared || share.is_in_store()) {
        let what = format!("files cannot arrive in the share {:?}", share.name);
        let instead = "remove `from`, or `read-only`, `shared` and `store`";
        findings.error(section.place_of("from"), what, instead);
    }
}

/// The folder of a share with a `store`.
fn in_store(section: &Section, store: &str, findings: &mut Findings) -> Option<PathBuf> {
    let source = match store.parse() {
        Ok(source) => source,
        Err(why) => {
            let instead = "write `cephfs:NAME` or `cephfs:USER@NAME`; `ceph fs ls` lists the names";
            findings.error(
                section.place_of("store"),
                format!("the store {store:?} is not known: {why}"),
                instead,
            );
            return None;
        }
    };
    let path = section.text("path")?;
    let folder = Path::new(&path).strip_prefix("/").ok();
    let place = folder.map(|folder| cephfs::Place { source, folder: folder.into() });
    let place = place.filter(|place| place.names().is_ok());
    if place.is_none() {
        let what = format!("{path:?} is not a path in the file system of the store");
        findings.error(section.place_of("path"), what, "write a path that begins with `/`, without `..`");
    }
    place.map(|place| place.path())
}

/// Adds the shares of the command line. A share with a name of the file changes the folder of the
/// file's share.
fn from_command_line(
    arguments: &Arguments,
    shares: &mut Vec<LocatedShare>,
    sections: &mut Vec<Section>,
    findings: &mut Findings,
) {
    let first = shares.len();
    for argument in &arguments.shares {
        let Some(typed) = flags::share(argument, findings) else { continue };
        if typed.path.to_str().and_then(homes::folder).is_some() {
            let instead = "write a `[[share]]` with this `path` in a settings file";
            findings.error(&typed.place, "homes (`%U`) cannot be given on the command line", instead);
            continue;
        }
        let makeable = makeable(arguments, &typed.path);
        let is_missing = makeable.is_some();
        let path = makeable.or_else(|| typed_folder(arguments, &typed.path, &typed.place, findings));
        let Some(path) = path else { continue };
        let Some(name) = name(typed.name, &path, &typed.place, findings) else { continue };
        let mut section = Section::new(Table::Share, typed.place.clone());
        flags::every_share(arguments, &mut section, findings);
        flags::only_share(arguments, &mut section, findings);
        let places = (typed.place.clone(), typed.place);
        section.put("name", name.clone(), &places.0);
        section.put("path", path.to_string_lossy().into_owned(), &places.1);
        let key = key_of(&name);
        match shares[..first].iter().position(|(_, share)| key_of(&share.name) == key) {
            Some(at) => {
                let written =
                    sections.iter_mut().find(|one| one.text("name").as_ref() == Some(&shares[at].1.name));
                if let Some(written) = written {
                    written.put("path", path.to_string_lossy().into_owned(), &places.1);
                }
                let ((_, place), share) = &mut shares[at];
                (*place, share.path, share.homes) = (places.1, path, false);
                if section.text("from").is_some() {
                    set_from(&section, share, &arguments.folder, findings);
                }
                share.is_missing = is_missing && !share.must_be_mounted;
            }
            None => {
                let mut share = ShareSettings { is_missing, ..share_settings(&section, name, path) };
                set_from(&section, &mut share, &arguments.folder, findings);
                shares.push((places, share));
                sections.push(section);
            }
        }
    }
    check_names(&shares[first..], findings);
}

/// The typed name, otherwise the last component of the folder.
fn name(typed: Option<String>, path: &Path, place: &Place, findings: &mut Findings) -> Option<String> {
    let last = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let derived = typed.is_none();
    let name = typed.or(last).unwrap_or_default();
    let setting = setting(Table::Share, "name")?;
    if accept(setting, &Raw::Text(name.clone())).is_ok() {
        return Some(name);
    }
    let folder = quote(&path.display().to_string());
    let (what, instead) = match (reserved(&name), derived) {
        (Some(why), _) => {
            (format!("a share cannot be called {name:?}: {why}"), format!("write `Share={folder}`"))
        }
        (None, true) => {
            (format!("the folder's name cannot be the share's: {name:?}"), format!("write `NAME={folder}`"))
        }
        (None, false) => (
            format!("the name must be {}: {name:?}", Kind::ShareName.expects()),
            format!("write `Share={folder}`"),
        ),
    };
    findings.error(place, what, instead);
    None
}

/// The absolute path of a missing folder whose parent exists.
fn makeable(arguments: &Arguments, path: &Path) -> Option<PathBuf> {
    let whole = arguments.folder.join(path);
    let is_absent = whole.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    if !arguments.may_make_folders || !is_absent || path.starts_with("~") {
        return None;
    }
    let (parent, name) = (whole.parent()?.canonicalize().ok()?, whole.file_name()?);
    parent.is_dir().then(|| parent.join(name))
}

/// A folder of the command line. At the start it is there: who typed it is still looking.
fn typed_folder(
    arguments: &Arguments,
    path: &Path,
    place: &Place,
    findings: &mut Findings,
) -> Option<PathBuf> {
    let shown = path.display();
    let whole = absolute(&arguments.folder, path, place, findings)?;
    let found = whole.metadata();
    let (what, instead) = match found {
        _ if arguments.is_running => return Some(whole),
        Ok(found) if found.is_dir() => return Some(whole),
        Ok(_) => (format!("`{shown}` is not a folder"), "write the path of a folder".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let folder = quote(&shown.to_string());
            let instead =
                format!("make it with `mkdir -p {folder}`, or write the path of a folder that exists");
            (format!("the folder `{shown}` does not exist"), instead)
        }
        Err(error) => (
            format!("the folder `{shown}` cannot be reached: {error}"),
            "write the path of a folder that the server's user may enter".to_owned(),
        ),
    };
    findings.error(place, what, instead);
    None
}

/// A path that was written, absolute and with links resolved as far as it is there, or a diagnostic.
fn absolute(from: &Path, path: &Path, place: &Place, findings: &mut Findings) -> Option<PathBuf> {
    if path.starts_with("~") {
        let what = format!("the folder `{}` does not exist", path.display());
        findings.error(place, what, "write the whole path: `~` means a home folder only to a shell");
        return None;
    }
    Some(resolve(&from.join(path)))
}

/// Notes why shares are not served now: those whose folders are missing, cannot be read, or are not mounted.
pub(super) fn find_folders(shares: &mut [LocatedShare], findings: &mut Findings) {
    let is_there = |share: &ShareSettings| !share.path.as_os_str().is_empty() && !share.is_missing;
    for ((_, place), share) in shares.iter_mut().filter(|(_, share)| is_there(share)) {
        match share.find_folder() {
            Ok(path) => share.path = path,
            Err(absence) => {
                let (path, why) = (share.path.display(), &absence.why);
                let what = format!("the share {:?} is not served: `{path}`: {why}", share.name);
                findings.note(place, what, &absence.remedy);
                share.absence = Some(absence);
            }
        }
    }
}

/// Names with the same key would be one share to an SMB or AFP client.
fn key_of(name: &str) -> FoldedKey {
    FoldedKey::new(name.replace('/', "_").as_bytes(), Folding::default())
}

fn check_names(shares: &[LocatedShare], findings: &mut Findings) {
    let mut first_of = HashMap::with_capacity(shares.len());
    for share @ ((place, _), _) in shares {
        let ((earlier_place, _), other) = *first_of.entry(key_of(&share.1.name)).or_insert(share);
        let share = &share.1;
        if std::ptr::eq(share, other) {
            continue;
        }
        let what = if other.name == share.name {
            format!("there are two shares {:?}; the other is at {earlier_place}", share.name)
        } else {
            format!(
                "the share {:?} is the same as {:?} at {earlier_place} to SMB and AFP",
                share.name, other.name
            )
        };
        let instead = match place {
            Place::CommandLine(_) => {
                format!("give it another name: `NAME={}`", quote(&share.path.display().to_string()))
            }
            _ => "give one of them another name".into(),
        };
        findings.error(place, what, instead);
    }
}

/// A share whose path is wrong has none.
fn has_path(share: &ShareSettings) -> bool {
    !share.path.as_os_str().is_empty()
}

/// A share inside another share is allowed, but a client then reaches the same files under two
/// names.
fn check_nesting(shares: &[LocatedShare], findings: &mut Findings) {
    let mut at: HashMap<&Path, Vec<usize>> = HashMap::with_capacity(shares.len());
    for (index, (_, share)) in shares.iter().enumerate().filter(|(_, (_, share))| has_path(share)) {
        at.entry(&share.path).or_default().push(index);
    }
    for (index, ((_, place), share)) in shares.iter().enumerate().filter(|(_, (_, share))| has_path(share)) {
        let around = share.path.ancestors().filter_map(|folder| at.get(folder)).flatten().copied();
        let mut around: Vec<usize> = around.collect();
        around.sort_unstable();
        for other_index in around {
            let other = &shares[other_index].1;
            let same = share.path == other.path && other_index < index;
            let is_below = share.name.strip_prefix(&other.name).is_some_and(|rest| rest.starts_with('/'));
            let inside = !is_below && share.path != other.path;
            if !(same || inside) {
                continue;
            }
            if inside && share.is_in_store() {
                let what = format!(
                    "the folder of the share {:?} lies inside that of {:?}, and both have a `store`",
                    share.name, other.name
                );
                findings.error(
                    place,
                    what,
                    "share one of them only: the rules of the inner one could be evaded",
                );
                continue;
            }
            let relation = if same { "is also" } else { "lies inside" };
            let what =
                format!("the folder of share {:?} {relation} the folder of {:?}", share.name, other.name);
            findings.note(place, what, "what the one forbids, the other may allow");
        }
    }
}

/// The state folder has secrets, which no client may read. If the settings put it inside a share,
/// they are refused. The default folder is allowed there, because a home folder can be shared; the
/// server hides it from clients (`set`: the place of the setting).
pub(super) fn check_state(
    state: &Path,
    set: Option<&Place>,
    shares: &[LocatedShare],
    findings: &mut Findings,
) {
    let resolved = resolve(state);
    for ((_, share_place), share) in shares.iter().filter(|(_, share)| !share.path.as_os_str().is_empty()) {
        let (shown, name) = (state.display(), &share.name);
        if share.path.starts_with(&resolved) {
            let what = format!("the folder of the share {name:?} is, or lies in, the state folder `{shown}`");
            findings.error(share_place, what, "share another folder: this one holds secrets");
        } else if resolved.starts_with(&share.path) {
            let what = format!("the state folder `{shown}` lies inside the share {name:?}");
            match set {
                Some(place) => findings.error(
                    place,
                    what,
                    "choose one elsewhere with `--state DIR` (or `state` in `[server]`): it holds secrets",
                ),
                None => findings.note(share_place, what, "clients can neither see nor move it"),
            }
        }
    }
}

/// Resolves the part of a path that exists.
fn resolve(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            let is_whole = rest.as_os_str().is_empty(); // joined, it would add a slash
            return if is_whole { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}
