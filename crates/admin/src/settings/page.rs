//! The page `docs/settings.md`, generated from the table.

use std::fmt::Write as _;

use super::authority::Authority;
use super::setting::{Live, Setting, Table};
use super::subject::SUBJECTS;
use super::table::SETTINGS;

/// The page's title.
pub const PAGE_TITLE: &str = "# Settings";

const INTRODUCTION: &str = "
The settings file is TOML. `fourfold serve` and `fourfold check` read the one named with `--config`, else `fourfold.toml`
in the current folder, else, for root, `/etc/fourfold/fourfold.toml`. Without any, the command line is enough:
`fourfold serve ~/Share`. What stands on the command line wins over the file. A share on the command line is added to
those of the file; one with the same name replaces the folder of that share.

`fourfold check` says everything that is wrong, with file, line and column, and what to write instead. SIGHUP makes a
running server read its settings again; it keeps the old ones if the new ones are refused. `fourfold set`, `get`,
`inherit`, `create`, `rename`, `destroy` and `list` change and show the settings of shares in this file, whose comments
stay, and have a running server apply them.

```toml
[server]
listen = [\"192.168.1.10\"]
cache-size = \"1 GiB\"

[[share]]
name = \"Projects\"
path = \"/srv/projects\"

[[share.client]]                 # the first rule that matches counts
match = [\"192.168.1.0/24\", \"fd00::/8\"]

[[share.client]]
match = \"*\"
access = \"ro\"
squash = \"all\"

[[share]]
name = \"Projects/Films\"          # below `Projects`: it has its folder in it, and inherits its settings
read-only = true

[[user]]
name = \"ada\"                     # the password: fourfold user passwd ada
```
";

/// The whole page.
#[must_use]
pub fn page() -> String {
    let mut page = format!("{PAGE_TITLE}\n{INTRODUCTION}\n{}", by_subject());
    for table in Table::ALL {
        let _ = write!(page, "\n## `{}`\n\n{}\n", table.header(), about(table));
        for setting in SETTINGS.iter().filter(|s| s.table == table) {
            page.push_str(&entry(setting));
        }
    }
    page
}

/// A table that leads from a job to its settings.
fn by_subject() -> String {
    let mut table = String::from("## By subject\n\n| subject | settings |\n|---|---|\n");
    let mut left: Vec<&Setting> = SETTINGS.iter().collect();
    for subject in SUBJECTS {
        let of_it = |path: &&str| SETTINGS.iter().find(|setting| setting.path() == **path);
        let settings: Vec<&Setting> = subject.settings.iter().filter_map(of_it).collect();
        left.retain(|setting| !settings.iter().any(|other| other.path() == setting.path()));
        let _ = writeln!(table, "| {} | {} |", subject.title, links(&settings));
    }
    if !left.is_empty() {
        let _ = writeln!(table, "| Others | {} |", links(&left));
    }
    table
}

fn links(settings: &[&Setting]) -> String {
    let link = |setting: &&Setting| format!("[`{}`](#{})", setting.key, setting.path().replace('.', ""));
    settings.iter().map(link).collect::<Vec<_>>().join(", ")
}

fn about(table: Table) -> &'static str {
    match table {
        Table::Server => "The server as a whole. Stands once.",
        Table::AppleTalk => {
            "AppleTalk, for Macs and Apple IIs without TCP. Stands once. [The page](appletalk.md) has examples."
        }
        Table::Share => "A shared folder. Stands once for each.",
        Table::Client => {
            "What some hosts may do in the share above it, over every protocol. Stands any number of times below its `[[share]]`."
        }
        Table::Lun => {
            "A disk that the share has for iSCSI, in addition to those made with `fourfold lun create`. Stands any number \
             of times below its `[[share]]`. The share decides which initiators may log in: see `guests`, `users` and \
             `groups`."
        }
        Table::User => {
            "An account, in addition to those made with `fourfold user add`, or what to change about one of them. \
             Stands once for each."
        }
        Table::Link => {
            "A place in a share that leads clients to other servers. Stands once for each. [The namespace](namespace.md) has more."
        }
        Table::Site => {
            "Clients and servers that are near each other: clients prefer the targets of links there. Stands once for each."
        }
    }
}

fn entry(setting: &Setting) -> String {
    let mut entry = format!("\n### `{}`\n\n{}", setting.path(), setting.brief);
    if !setting.detail.is_empty() {
        let _ = write!(entry, " {}", setting.detail);
    }
    let _ = write!(entry, "\n\n* Value: {}", setting.kind.expects());
    let _ = match setting.default {
        Some(default) => write!(entry, "\n* Default: `{default}`"),
        None if setting.required() => {
            write!(entry, "\n* Must be set, for example `{} = {}`", setting.key, setting.example)
        }
        None => write!(entry, "\n* Default: {}", setting.unset),
    };
    if let Some((flag, value)) = setting.flag {
        let space = if value.is_empty() { "" } else { " " };
        let _ = write!(entry, "\n* Flag: `--{flag}{space}{value}`");
    }
    if setting.table == Table::Share {
        let inherits = if setting.inherits { "yes, by shares below it" } else { "no" };
        let _ = write!(entry, "\n* Inherited: {inherits}");
    }
    if matches!(setting.table, Table::Server | Table::AppleTalk) {
        let whose =
            if setting.is_of_one_server() { "each server has its own" } else { "the same at all servers" };
        let _ = write!(entry, "\n* In a cluster: {whose}");
    }
    let reloads = match setting.live {
        Live::Reload => "yes",
        Live::Restart => "no, from the next start",
    };
    let authority = match setting.authority {
        Authority::Operator => "a token with the scope `write`, or a session of the console".to_owned(),
        Authority::Limit(limit) => {
            format!(
                "`{limit}`: a token with the scope `write`, or a session; other values: an administrator in the console, who types the password again"
            )
        }
        Authority::Administrator => {
            "an administrator in the console, who types the password again".to_owned()
        }
        Authority::Host => "never; only a command on the server changes it".to_owned(),
    };
    let _ = writeln!(entry, "\n* Reloads: {reloads}\n* Over the API: {authority}");
    entry
}
