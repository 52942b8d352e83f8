//! The shares of a `smb.conf`.

use std::path::Path;

use vfs::names::Characters;

use super::clients::{self, size};
use super::ini::{Section, sections};
use super::share::{Share, quoted, users_and_groups, words};
use super::translated::Translated;

/// Sections that are no folders.
const NO_FOLDERS: [&str; 3] = ["printers", "print$", "ipc$"];
/// Modules that this server needs no setting for: it does what they do.
const DONE: [&str; 5] = ["catia", "fruit", "streams_xattr", "aio_pthread", "io_uring"];
/// Settings that need no translation: the server does it always, or never has to.
const IRRELEVANT: &[&str] = &[
    "aio read size",
    "aio write size",
    "available",
    "browsable",
    "browseable",
    "dos filemode",
    "ea support",
    "fruit:aapl",
    "fruit:copyfile",
    "fruit:delete_empty_adfiles",
    "fruit:locking",
    "fruit:model",
    "fruit:nfs_aces",
    "fruit:posix_rename",
    "fruit:veto_appledouble",
    "fruit:wipe_intentionally_left_blank_rfork",
    "fruit:zero_file_id",
    "kernel oplocks",
    "kernel share modes",
    "level2 oplocks",
    "locking",
    "map archive",
    "map hidden",
    "map system",
    "oplocks",
    "posix locking",
    "preserve case",
    "short preserve case",
    "spotlight",
    "store dos attributes",
    "streams_xattr:store_stream_type",
    "strict allocate",
    "strict locking",
    "strict sync",
    "sync always",
    "use sendfile",
];
/// Settings that [`share`] translates.
const TRANSLATED: &[&str] = &[
    "case sensitive",
    "casesignames",
    "catia:mappings",
    "comment",
    "fruit:encoding",
    "fruit:metadata",
    "fruit:resource",
    "fruit:time machine",
    "fruit:time machine max size",
    "guest ok",
    "hide files",
    "hosts allow",
    "allow hosts",
    "map readonly",
    "msdfs root",
    "path",
    "directory",
    "public",
    "read only",
    "server smb encrypt",
    "smb encrypt",
    "valid users",
    "vfs objects",
    "vfs object",
    "writable",
    "write ok",
    "writeable",
];

/// Translates the text of a settings file.
pub(super) fn translate(_file: &Path, text: &str) -> Translated {
    let (mut translated, mut global) = (Translated::default(), Section::default());
    for section in sections(text) {
        let name = section.name.to_lowercase();
        match &*name {
            "global" => global = section,
            "homes" => translated.notes.push(
                "smb.conf: [homes] gives each user a folder of his own: make a share with `path = \"/home/%U\"`"
                    .into(),
            ),
            _ if NO_FOLDERS.contains(&&*name) => {}
            _ if section.says(&["available"]) == Some(false) => {
                translated.notes.push(format!("smb.conf: [{}] is not available there", section.name));
            }
            _ => match with_path(&section) {
                Ok(path) => translated.shares.push(share(&section, &global, &path)),
                Err(why) => translated.notes.push(format!("smb.conf: [{}] {why}", section.name)),
            },
        }
    }
    if let Some(include) = global.value(&["include", "config backend"]) {
        translated.notes.push(format!("smb.conf: {include} is not read: translate it, too"));
    }
    translated
}

fn with_path(section: &Section) -> Result<String, String> {
    let path = section.value(&["path", "directory"]).ok_or("has no path")?;
    match path.contains('%') {
        true => Err(format!("has the path {path}, which differs by user: make a share for each")),
        false => Ok(path.to_owned()),
    }
}

fn share(section: &Section, global: &Section, path: &str) -> Share {
    let mut share = Share::new(&section.name, Path::new(path), "smb");
    let value = |names: &[&str]| section.value(names).or_else(|| global.value(names));
    let says = |names: &[&str]| value(names).and_then(super::ini::truth);
    if let Some(comment) = section.value(&["comment"]).filter(|comment| !comment.is_empty()) {
        share.set_text("comment", comment);
    }
    // Samba's default is a share that is read only.
    let writable = says(&["writable", "writeable", "write ok"]).or(says(&["read only"]).map(|on| !on));
    if writable != Some(true) {
        share.set("read-only", true);
    }
    if says(&["guest ok", "public"]) == Some(true) {
        share.set("guests", true);
    }
    let (users, groups) = users_and_groups(value(&["valid users"]).unwrap_or_default());
    if !users.is_empty() {
        share.set_texts("users", &users);
    }
    if !groups.is_empty() {
        share.set_texts("groups", &groups);
    }
    if matches!(value(&["server smb encrypt", "smb encrypt"]), Some("required" | "mandatory" | "yes")) {
        share.set_text("encryption", "required");
    }
    if says(&["case sensitive", "casesignames"]) == Some(true) {
        share.set("case-sensitive", true);
    }
    if says(&["map readonly"]) == Some(false) {
        share.set("read-only-by-mode", false);
    }
    let hidden: Vec<String> =
        value(&["hide files"]).unwrap_or_default().split('/').map(str::to_owned).collect();
    let hidden: Vec<String> = hidden.into_iter().filter(|pattern| !pattern.is_empty()).collect();
    if !hidden.is_empty() {
        share.set_texts("hide", &hidden);
    }
    if value(&["msdfs root"]).and_then(super::ini::truth) == Some(true) {
        share.set("dfs", true);
    }
    time_machine(&mut share, section, global);
    layout(&mut share, section, global);
    if let Some(hosts) = value(&["hosts allow", "allow hosts"]) {
        clients::allow(&mut share, hosts);
    }
    others(&mut share, section);
    share
}

fn time_machine(share: &mut Share, section: &Section, global: &Section) {
    let value = |name: &str| section.value(&[name]).or_else(|| global.value(&[name]));
    if value("fruit:time machine").and_then(super::ini::truth) == Some(true) {
        share.set("time-machine", true);
        match value("fruit:time machine max size").map(|text| (text, size(text))) {
            Some((_, Some(size))) => share.set("time-machine-size", quoted(&size)),
            Some((text, None)) => share.untranslated.push(format!("fruit:time machine max size = {text}")),
            None => {}
        }
    }
}

/// How Samba stores what Macs keep beside a file.
fn layout(share: &mut Share, section: &Section, global: &Section) {
    let value = |name: &str| section.value(&[name]).or_else(|| global.value(&[name]));
    let modules = value("vfs objects").or_else(|| value("vfs object")).unwrap_or_default();
    let modules = words(modules);
    let has = |name: &str| modules.iter().any(|module| module == name);
    let (metadata, resource) = (value("fruit:metadata"), value("fruit:resource"));
    match (has("streams_xattr"), has("fruit")) {
        (true, true) if metadata == Some("stream") && resource == Some("stream") => {
            share.set_text("mac-layout", "samba-streams");
        }
        (true, false) => share.set_text("mac-layout", "samba-streams"),
        (true, true) => {
            share.set_text("mac-layout", "samba");
            if metadata == Some("stream") || matches!(resource, Some("stream" | "xattr")) {
                let note = "fruit:metadata and fruit:resource: files and folders that have something keep their layout; \
                            where nothing is yet, Finder info goes to user.org.netatalk.Metadata and forks to ._name";
                share.untranslated.push(note.into());
            }
        }
        (false, _) => {}
    }
    if has("fruit") && value("fruit:encoding") != Some("native") {
        share.set_text("name-encoding", "private");
    }
    match value("catia:mappings").filter(|_| has("catia")) {
        Some(table) if Characters::parse(table).is_some() => share.set_text("catia-mappings", table),
        Some(table) => share.untranslated.push(format!("catia:mappings = {table}")),
        None => {}
    }
    let unknown = modules.iter().filter(|module| !DONE.contains(&&***module));
    share.untranslated.extend(unknown.map(|module| format!("vfs objects = {module}")));
}

/// Names what has no place in our settings.
fn others(share: &mut Share, section: &Section) {
    for (name, value) in &section.settings {
        let known = TRANSLATED.contains(&&**name) || IRRELEVANT.contains(&&**name);
        if known || value.is_empty() {
            continue;
        }
        let advice = match &**name {
            "veto files" => {
                ": there is no setting that makes names unreachable; `hide` leaves them out of listings"
            }
            "force user"
            | "force group"
            | "create mask"
            | "directory mask"
            | "force create mode"
            | "force directory mode"
            | "inherit permissions"
            | "inherit acls" => ": the modes and ACLs of the folders on the disk count",
            "write list" | "read list" | "admin users" | "invalid users" => {
                ": give these users their rights by the mode or ACL of the folder"
            }
            _ => "",
        };
        share.untranslated.push(format!("{name} = {value}{advice}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONF: &str = "[global]\n  workgroup = STUDIO\n  vfs objects = catia fruit streams_xattr\n  fruit:metadata = stream\n\
        [homes]\n  read only = no\n\
        [Films]\n  path = /srv/films\n  comment = The \"new\" films\n  writeable = yes\n  valid users = ada @staff\n\
          hosts allow = 192.168.1. 10.0.0.0/8 127.0.0.1\n  catia:mappings = 0x22:0xa8,0x3a:0xf7\n  veto files = /._*/\n  create mask = 0660\n\
        [Backup]\n  path = /srv/backup\n  read only = no\n  fruit:resource = stream\n  fruit:time machine = yes\n\
          fruit:time machine max size = 2T\n  vfs objects = catia fruit streams_xattr acl_xattr\n  fruit:encoding = native\n\
          catia:mappings = 0x3a:0x2d\n\
        [Users]\n  path = /srv/%U\n";

    #[test]
    fn a_share_is_translated_and_what_is_left_is_named() {
        let translated = translate(Path::new("file"), CONF);
        assert_eq!(translated.notes.len(), 2, "{:?}", translated.notes);
        let [films, backup] = &translated.shares[..] else { panic!("{:?}", translated.shares) };
        assert_eq!(
            films.settings,
            [
                ("comment", "\"The \\\"new\\\" films\"".into()),
                ("users", "[\"ada\"]".into()),
                ("groups", "[\"staff\"]".into()),
                ("mac-layout", "\"samba\"".into()),
                ("name-encoding", "\"private\"".into()),
                ("catia-mappings", "\"0x22:0xa8,0x3a:0xf7\"".into()),
            ]
        );
        let hosts = "[\"192.168.1.0/24\", \"10.0.0.0/8\", \"127.0.0.1\"]".to_owned();
        assert_eq!(films.clients, [vec![("match", hosts)]]);
        let left: Vec<&str> = films.untranslated.iter().map(|one| one.split(" = ").next().unwrap()).collect();
        assert!(left.contains(&"veto files") && left.contains(&"create mask"), "{left:?}");
        assert_eq!(
            backup.settings,
            [
                ("time-machine", "true".into()),
                ("time-machine-size", "\"2 TiB\"".into()),
                ("mac-layout", "\"samba-streams\"".into()),
            ]
        );
        assert_eq!(backup.untranslated, ["catia:mappings = 0x3a:0x2d", "vfs objects = acl_xattr"]);
    }
}
