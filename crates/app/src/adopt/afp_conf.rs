//! The volumes of an `afp.conf`, of Netatalk 3 and 4.

use std::path::Path;

use super::clients;
use super::ini::{Section, sections};
use super::share::{Share, quoted, users_and_groups};
use super::translated::Translated;

/// Settings that need no translation.
const IRRELEVANT: &[&str] = &[
    "chmod request",
    "cnid dev",
    "cnid scheme",
    "cnid server",
    "convert appledouble",
    "delete veto files",
    "follow symlinks",
    "legacy icon",
    "mac charset",
    "network ids",
    "search db",
    "spotlight",
    "stat vol",
    "unix charset",
    "unix priv",
    "vol charset",
    "vol preset",
];
/// Settings that [`share`] translates.
const TRANSLATED: &[&str] = &[
    "appledouble",
    "comment",
    "ea",
    "hosts allow",
    "password",
    "path",
    "read only",
    "time machine",
    "valid users",
    "vol size limit",
    "volume name",
    "volume uuid",
];

/// Translates the text of a settings file.
pub(super) fn translate(_file: &Path, text: &str) -> Translated {
    let mut translated = Translated::default();
    let sections = sections(text);
    let find = |name: &str| sections.iter().find(|section| section.name.eq_ignore_ascii_case(name));
    for section in &sections {
        let preset = section.value(&["vol preset"]).and_then(find);
        let is_preset = sections.iter().any(|other| other.value(&["vol preset"]) == Some(&section.name));
        match section.value(&["path"]) {
            _ if section.name.eq_ignore_ascii_case("global") => {}
            _ if section.name.eq_ignore_ascii_case("homes") => translated.notes.push(
                "afp.conf: [Homes] gives each user a folder of his own: make a share with `path = \"/home/%U\"`"
                    .into(),
            ),
            Some(path) if path.contains('$') => {
                let note = format!("afp.conf: [{}] has the path {path}, which differs by user", section.name);
                translated.notes.push(note);
            }
            Some(path) => translated.shares.push(share(section, preset, path)),
            None if is_preset => {}
            None => translated.notes.push(format!("afp.conf: [{}] has no path", section.name)),
        }
    }
    if let Some(logins) = find("global").and_then(|global| global.value(&["uam list"])) {
        if logins.contains("uams_guest") {
            translated
                .notes
                .push("afp.conf: guests may log in there; `guests = true` of a share allows it".into());
        }
        if logins.contains("cleartxt") || logins.contains("randnum") {
            let note = "afp.conf: uam list has logins that old Macs need: see `afp-logins` and `fourfold user add --legacy-password`";
            translated.notes.push(note.into());
        }
    }
    if !translated.shares.is_empty() {
        translated.notes.push(
            "Netatalk: to go on with Time Machine backups, set `volume-id` from afp_voluuid.conf; for aliases of old Macs, \
             `afp-signature` from afp_signature.conf"
                .into(),
        );
    }
    translated
}

fn share(section: &Section, preset: Option<&Section>, path: &str) -> Share {
    let value = |name: &str| section.value(&[name]).or_else(|| preset?.value(&[name]));
    let says = |name: &str| value(name).and_then(super::ini::truth);
    let mut share = Share::new(value("volume name").unwrap_or(&section.name), Path::new(path), "afp");
    if says("read only") == Some(true) {
        share.set("read-only", true);
    }
    let (users, groups) = users_and_groups(value("valid users").unwrap_or_default());
    if !users.is_empty() {
        share.set_texts("users", &users);
    }
    if !groups.is_empty() {
        share.set_texts("groups", &groups);
    }
    if let Some(id) = value("volume uuid") {
        share.set_text("volume-id", id);
    }
    if let Some(password) = value("password") {
        share.set_text("afp-password", password);
    }
    let limit = value("vol size limit").and_then(|limit| limit.parse::<u64>().ok());
    let limit = limit.map(|limit| quoted(&format!("{limit} MiB")));
    match (says("time machine"), limit) {
        (Some(true), limit) => {
            share.set("time-machine", true);
            limit.into_iter().for_each(|limit| share.set("time-machine-size", limit));
        }
        (_, Some(limit)) => share.set("quota", limit),
        _ => {}
    }
    if value("ea") == Some("samba") {
        share.untranslated.push(
            "ea = samba: the zero byte that Netatalk appends is taken for its own only where an attribute of the file or of \
             its neighbours tells so"
                .into(),
        );
    }
    if let Some(hosts) = value("hosts allow") {
        clients::allow(&mut share, hosts);
    }
    for (name, value) in &section.settings {
        if !TRANSLATED.contains(&&**name) && !IRRELEVANT.contains(&&**name) && !value.is_empty() {
            share.untranslated.push(format!("{name} = {value}"));
        }
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_with_a_preset_are_translated() {
        let text = "[Global]\nuam list = uams_dhx2.so uams_guest.so\nvol preset = all\n[all]\nvalid users = @staff\nea = samba\n\
                    [Homes]\nbasedir regex = /home\n\
                    [Time Machine]\npath = /srv/tm\nvol preset = all\ntime machine = yes\nvol size limit = 512000\nfile perm = 0660\n\
                    [Old]\npath = /srv/old\nvolume name = Archive\nread only = yes\npassword = plans\n";
        let translated = translate(Path::new("file"), text);
        let [backup, old] = &translated.shares[..] else { panic!("{translated:?}") };
        assert_eq!(
            backup.settings,
            [
                ("groups", "[\"staff\"]".into()),
                ("time-machine", "true".into()),
                ("time-machine-size", "\"512000 MiB\"".to_owned()),
            ]
        );
        assert_eq!((backup.untranslated.len(), &*backup.untranslated[1]), (2, "file perm = 0660"));
        assert_eq!(
            (&*old.name, &old.settings[..]),
            ("Archive", &[("read-only", "true".to_owned()), ("afp-password", "\"plans\"".into())][..])
        );
        assert_eq!(translated.notes.len(), 3, "{:?}", translated.notes);
    }
}
