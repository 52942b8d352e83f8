//! The first page of help: the commands by job, common ones first, on one screen.

use clap::Command;

/// Commands of one job: those that are explained, and the names of the others.
struct Group {
    title: &'static str,
    common: &'static [&'static str],
    others: &'static [&'static str],
}

const GROUPS: [Group; 6] = [
    Group {
        title: "Begin, and look",
        common: &["setup", "serve", "status", "doctor"],
        others: &["check", "explain", "find", "disks", "test-alert", "completions", "man"],
    },
    Group {
        title: "Shares and people",
        common: &["create", "share", "user"],
        others: &["list", "set", "get", "inherit", "rename", "destroy", "rights", "group", "domain", "token"],
    },
    Group {
        title: "Snapshots and backups",
        common: &["snapshot", "backups", "replicate"],
        others: &["backup-state", "restore-state", "scrub", "pool"],
    },
    Group {
        title: "Disks, and files of any server",
        common: &["lun", "cp", "mount"],
        others: &["ls", "cat", "rm", "names", "fork"],
    },
    Group {
        title: "Move in from another server",
        common: &["adopt", "migrate"],
        others: &["verify-metadata"],
    },
    Group {
        title: "Clients, speed, several servers",
        common: &["advise", "bench"],
        others: &["stream", "verify-edit", "say", "disconnect", "caches", "namespace", "cluster"],
    },
];

const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n";

const ENDING: &str = "
Everywhere:
  -h, --help     Explain a command, with examples: `fourfold cp --help`
  -q, --quiet    Say only what was asked for, and what went wrong
  -v, --verbose  Say more; twice: still more
  -V, --version  Print the version

Exit codes: 0 done, 1 not done (the message says why and what to do), 2 the settings or the command line were refused, 3 no server runs";

/// The command line with its first page.
pub(super) fn with_first_page(command: Command) -> Command {
    let mut text = String::new();
    for group in &GROUPS {
        text.push_str(&format!("{}:\n", group.title));
        for name in group.common {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            text.push_str(&format!("  {name}  {}\n", about.map(ToString::to_string).unwrap_or_default()));
        }
        text.push_str(&format!("  also  {}\n", group.others.join(", ")));
    }
    text.push_str(ENDING);
    command.help_template(TEMPLATE).after_help(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group() {
        let grouped = GROUPS.iter().flat_map(|group| group.common.iter().chain(group.others));
        let mut grouped: Vec<&str> = grouped.copied().collect();
        grouped.sort_unstable();
        let command = super::super::command();
        let mut all: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(Command::get_name).collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn the_first_page_fits_on_a_screen() {
        let page = super::super::command_for(80).render_help().to_string();
        assert!(page.lines().count() <= 48, "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    }
}
