//! What a share says about its files: their modes, names, and what Macs keep beside them.

use super::values::{self, Demand};
use super::work::Work;
use crate::commands::adopt::clients::size;
use crate::commands::adopt::share::quoted;

/// The modes that clients of SMB give new files and folders here.
const FILE_MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;
/// Those that smbd begins with.
const SAMBA_FILE: u32 = 0o666;
const SAMBA_FOLDER: u32 = 0o777;
/// smbd's masks.
const CREATE_MASK: u32 = 0o744;
const DIRECTORY_MASK: u32 = 0o755;
/// The longest comment that a share has.
const LONGEST_COMMENT: usize = 256;

pub(super) fn translate(work: &mut Work<'_>) {
    let of = work.of;
    if let Some(comment) = of.value("comment").filter(|comment| comment.chars().count() <= LONGEST_COMMENT) {
        let shown = !comment.chars().any(char::is_control);
        if shown && !work.is_homes {
            work.share.set_text("comment", comment);
            work.to("comment", "comment");
        }
    }
    match of.value("server smb encrypt").map(values::demand) {
        Some(Some(Demand::Required)) => {
            work.share.set_text("encryption", "required");
            work.to("server smb encrypt", "encryption = \"required\"");
            if work.share.settings.iter().any(|(name, _)| *name == "guests") {
                work.share.settings.retain(|(name, _)| *name != "guests");
                work.kept("guest ok", "guests are not admitted: they cannot encrypt");
            }
        }
        Some(None) => work.lost("server smb encrypt", "invalid-value", "smbd does not start with this value"),
        _ => work.no_effect("server smb encrypt", "with this value it is no limit"),
    }
    if of.value("case sensitive").and_then(values::truth) == Some(true) {
        work.share.set("case-sensitive", true);
        work.to("case sensitive", "case-sensitive = true");
    }
    if of.value("map readonly").and_then(values::truth) == Some(false) {
        work.share.set("read-only-by-mode", false);
        work.to("map readonly", "read-only-by-mode = false");
    }
    if of.says("msdfs root", false) && !work.is_homes {
        work.share.set("dfs", true);
        work.to("msdfs root", "dfs = true");
    }
    veto(work);
    modes(work);
    time_machine(work);
}

/// Names that clients cannot reach there. Here listings leave them out at most.
fn veto(work: &mut Work<'_>) {
    let Some(names) = work.of.value("veto files") else {
        return work.no_effect("veto files", "with this value it is no limit");
    };
    let names: Vec<String> = names.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if names.is_empty() {
        return work.no_effect("veto files", "with this value it is no limit");
    }
    work.share.set_texts("hide", &names);
    let why = "no setting makes names unreachable; `hide` leaves them out of listings";
    work.lost("veto files", "veto-files", why);
}

/// The modes of what is made. A wider mode there is no limit; a narrower one is.
fn modes(work: &mut Work<'_>) {
    const ALL: [(&str, &str, &str, u32, u32, u32); 2] = [
        ("create mask", "force create mode", "create-mask", CREATE_MASK, SAMBA_FILE, FILE_MODE),
        (
            "directory mask",
            "force directory mode",
            "directory-mask",
            DIRECTORY_MASK,
            SAMBA_FOLDER,
            FOLDER_MODE,
        ),
    ];
    let of = work.of;
    let is_written = work.is_written();
    for (mask, force, limit, default, begin, ours) in ALL {
        let mode = |name: &str, default| of.value(name).and_then(values::mode).unwrap_or(default);
        let theirs = (begin & mode(mask, default)) | mode(force, 0);
        let wider = ours & !theirs;
        match () {
            () if !is_written => work.no_effect(mask, "the share is read-only: nothing is made in it"),
            () if wider == 0 => {
                work.no_effect(mask, format!("what is made here has the mode {ours:04o}, which is no wider"))
            }
            () => work.lost(
                mask,
                limit,
                format!("what is made there has the mode {theirs:04o} at most, and {ours:04o} here"),
            ),
        }
    }
    if of.says("inherit permissions", false) && is_written {
        let why = "new files and folders have the modes 0644 and 0755, not that of their folder";
        work.lost("inherit permissions", "inherit-permissions", why);
    }
    let inherits_owner = of.value("inherit owner").is_some_and(|value| values::truth(value) != Some(false));
    if inherits_owner && is_written {
        let why = "a file belongs to its maker, not to the owner of its folder";
        work.lost("inherit owner", "inherit-owner", why);
    }
}

fn time_machine(work: &mut Work<'_>) {
    let of = work.of;
    if of.value("fruit:time machine").and_then(values::truth) != Some(true) || work.is_homes {
        return;
    }
    work.share.set("time-machine", true);
    work.to("fruit:time machine", "time-machine = true");
    match of.value("fruit:time machine max size").map(|text| (text, size(text))) {
        Some((_, Some(size))) => {
            work.share.set("time-machine-size", quoted(&size));
            work.to("fruit:time machine max size", "time-machine-size");
        }
        Some((text, None)) => {
            work.no_effect(
                "fruit:time machine max size",
                format!("{text} is no size, and backups take all of the disk"),
            );
        }
        None => {}
    }
}
