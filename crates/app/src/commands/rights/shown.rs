//! What `fourfold rights` says: rights and findings.

use admin::control::{PersonAnswer, RightsFinding, RightsReport, RightsStatus};

use crate::terminal::out;

fn place(share: &str, path: &str) -> String {
    if path.is_empty() { share.to_owned() } else { format!("{share}/{path}") }
}

/// Who may do what.
pub(super) fn status(status: &RightsStatus) -> String {
    let mut text = format!("{}, a {} of {}\n", place(&status.share, &status.path), status.kind, status.owner);
    match status.is_team_folder {
        false => text
            .push_str("\nThe share has no roles: its settings, and the mode and list of the file, decide.\n"),
        true => {
            text.push_str(&format!("\nRoles of {}\n", status.share));
            let roles = status.roles.iter().map(|role| [role.role.clone(), role.who.clone()]);
            text.push_str(&indented(&out::table(roles)));
        }
    }
    if status.is_cut_off {
        text.push_str("\nIts list is protected: the roles of the share do not count here.\n");
    }
    if !status.entries.is_empty() {
        text.push_str("\nSet on the way\n");
        let rows = status.entries.iter().map(|entry| {
            let place = if entry.inherited { "above" } else { "here" };
            let said = match &entry.role {
                Some(role) => role.clone(),
                None => format!("gives {}; takes {}", listed(&entry.gives), listed(&entry.takes)),
            };
            [entry.who.clone(), said, format!("set {place}")]
        });
        text.push_str(&indented(&out::table(rows)));
    }
    text.push_str("\nMay do\n");
    if status.people.is_empty() {
        text.push_str("  no account, and no guest, may do anything\n");
    }
    let rows =
        status.people.iter().map(|one| [one.who.clone(), one.summary.clone(), format!("({})", one.why)]);
    text.push_str(&indented(&out::table(rows)));
    text
}

fn listed(words: &[String]) -> String {
    if words.is_empty() { "nothing".into() } else { words.join(", ") }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// What one person may do.
pub(super) fn person(answer: &PersonAnswer) -> String {
    let place = place(&answer.share, &answer.path);
    let mut text = format!("{} may do with the {} {place}: {}\n", answer.person, answer.kind, answer.summary);
    for operation in &answer.operations {
        text.push_str(&format!("  {:<4}{}\n", if operation.may { "yes" } else { "no" }, operation.what));
    }
    for (at, why) in answer.why.iter().enumerate() {
        text.push_str(&format!("{:<9}{why}\n", if at == 0 { "because" } else { "" }));
    }
    text
}

/// What a reset has changed, or would.
pub(super) fn changes(report: &RightsReport, dry_run: bool) -> String {
    let RightsReport { looked, changed, failed, .. } = report;
    let place = place(&report.share, &report.path);
    let mut text = match dry_run {
        true => format!("{place}: {looked} looked at, {changed} would change; nothing was changed\n"),
        false => format!("{place}: {looked} looked at, {changed} changed\n"),
    };
    if report.ended {
        text.push_str("  it was ended before all was looked at; the same command goes on with the rest\n");
    }
    if *failed > 0 {
        text.push_str(&format!("  {failed} could not be looked at or changed:\n"));
        let failed = report.findings.iter().filter(|finding| finding.kind == "failed");
        failed
            .for_each(|finding| text.push_str(&format!("    {}: {}\n", named(&finding.path), finding.what)));
    }
    report.notes.iter().for_each(|note| text.push_str(&format!("  note: {note}\n")));
    if let Some(record) = &report.record {
        text.push_str(&format!("  `fourfold rights reset {} --undo {record}` takes it back\n", report.share));
    }
    text
}

/// What a check has found.
pub(super) fn findings(report: &RightsReport) -> String {
    let place = place(&report.share, &report.path);
    let mut text = format!("{place}: {} looked at, {} not as the roles say", report.looked, report.found);
    if report.too_wide > 0 {
        text.push_str(&format!(", of which {} let somebody do more", report.too_wide));
    }
    text.push('\n');
    let mut last = None;
    for RightsFinding { path, what, remedy, .. } in &report.findings {
        if last != Some(path) {
            text.push_str(&format!("  {}\n", named(path)));
            last = Some(path);
        }
        text.push_str(&format!("    {what}; {remedy}\n"));
    }
    let shown = report.findings.len();
    if shown as u64 >= 1000 {
        text.push_str(&format!("  the first {shown} are shown\n"));
    }
    if report.ended {
        text.push_str("  it was ended before all was looked at\n");
    }
    report.notes.iter().for_each(|note| text.push_str(&format!("  note: {note}\n")));
    if report.found > 0 {
        text.push_str(&format!(
            "  `fourfold rights reset {place} --recursive --dry-run` counts what it would mend\n"
        ));
    }
    text
}

fn named(path: &str) -> &str {
    if path.is_empty() { "its folder" } else { path }
}
