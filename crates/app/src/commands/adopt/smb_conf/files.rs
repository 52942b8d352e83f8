//! What a share says about its files: their modes, names, and what Macs keep beside them.

use super::values::{self, Demand};
use super::work::Work;
use crate::commands::adopt::clients::size;
use crate::commands::adopt::share::quoted;

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

/// The modes and the owner of what is made, and whom users act as. smbd's defaults give the modes that there are here, too.
fn modes(work: &mut Work<'_>) {
    const MODES: [(&str, &str); 4] = [
        ("create mask", "create-mask"),
        ("directory mask", "directory-mask"),
        ("force create mode", "force-create-mode"),
        ("force directory mode", "force-directory-mode"),
    ];
    let of = work.of;
    let is_written = work.is_written();
    for (name, ours) in MODES {
        match of.value(name).and_then(values::mode) {
            _ if !is_written => work.no_effect(name, "the share is read-only: nothing is made in it"),
            None => {}
            Some(0) if name.starts_with("force") => work.no_effect(name, "it sets no bit"),
            Some(mode) => {
                work.share.set_text(ours, &format!("{mode:04o}"));
                work.to(name, format!("{ours} = \"{mode:04o}\""));
            }
        }
    }
    if of.says("inherit permissions", false) && is_written {
        let why = "new files and folders have the modes that the masks give, not that of their folder";
        work.lost("inherit permissions", "inherit-permissions", why);
    }
    let inherits_owner = of.value("inherit owner").is_some_and(|value| values::truth(value) != Some(false));
    if inherits_owner && is_written {
        work.share.set("inherit-owner", true);
        work.to("inherit owner", "inherit-owner = true");
    }
    forced(work, "force user", "force-user", "root");
    forced(work, "force group", "force-group", "");
}

/// Whom users act as. What smbd would put into the name is another one for each client.
fn forced(work: &mut Work<'_>, name: &'static str, ours: &'static str, refused: &str) {
    let Some(value) = work.of.value(name).filter(|value| !value.is_empty()) else {
        return work.no_effect(name, "it names nobody");
    };
    let bare = value.strip_prefix('+').unwrap_or(value);
    if work.is_homes || bare == refused || value.contains(['%', '\\', '@', '&', ',']) || bare.is_empty() {
        return work.lost(
            name,
            ours,
            "here it can be one user or group of the host, not root, and not in homes",
        );
    }
    work.share.set_text(ours, value);
    work.to(name, format!("{ours} = {}", quoted(value)));
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
