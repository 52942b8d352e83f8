//! What is measured, and the bar of issue 2 for each row.

/// How a row's speed is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// MB/s, and server CPU per GB.
    Bytes,
    /// Operations per second, and server CPU per operation.
    Ops,
    /// Server memory per connection.
    Memory,
}

/// What ours must reach against the peer's median.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Speed at least this many times the peer's.
    pub speed: f64,
    /// Server CPU at most this part of the peer's.
    pub cpu: Option<f64>,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: &'static str,
    pub unit: Unit,
    /// The load program's file or file prefix.
    pub file: &'static str,
    args: &'static str,
    pub bar: Option<Bar>,
}

/// Rows that one server runs one after the other, since one needs what the one before left.
#[derive(Debug)]
pub struct Group {
    pub rows: Vec<Row>,
    /// Measured on a server just started.
    pub fresh: bool,
    /// Measured after all rounds of the others: ext4 is slow to make files for minutes after many were deleted, as it
    /// passes over their inodes one by one, and both servers would mostly measure that.
    pub last: bool,
}

/// Memory per idle connection, in bytes.
pub const IDLE_LIMIT: f64 = 16.0 * 1024.0;

impl Row {
    /// Whether a run finds what it needs a second time too.
    pub fn may_repeat(&self) -> bool {
        !self.makes_files()
    }

    /// Whether it makes or removes files of its own, other ones in each run.
    pub fn makes_files(&self) -> bool {
        matches!(self.file, "new" | "kept")
    }

    /// The load program's command line, on this file or prefix; shorter when `short`.
    pub fn arguments(&self, file: &str, short: bool) -> Vec<String> {
        let mut args: Vec<String> = self.args.split(' ').map(str::to_owned).collect();
        if short {
            for i in 1..args.len() {
                let less = match (args[i - 1].as_str(), args[i].as_str()) {
                    ("--size", "1073741824") => "536870912",
                    ("--passes", "2") => "1",
                    ("--seconds", _) => "0.7",
                    ("--count", "2000") => "500",
                    ("--passes", "10") => "4",
                    _ => continue,
                };
                args[i] = less.to_owned();
            }
        }
        args.extend(["--file".to_owned(), file.to_owned()]);
        args
    }
}

const fn row(name: &'static str, unit: Unit, file: &'static str, args: &'static str, bar: Bar) -> Row {
    Row { name, unit, file, args, bar: Some(bar) }
}

/// The groups that have a row whose name contains one of `wanted`; all when that is empty.
pub fn groups(wanted: &[String]) -> Vec<Group> {
    let is_wanted = |group: &Group| {
        let matches = |row: &Row| wanted.iter().any(|word| row.name.contains(word.as_str()));
        // Nothing can be deleted that was not made.
        let made_for = |row: &Row| row.file == "new" && DELETES.iter().any(matches);
        wanted.is_empty() || group.rows.iter().any(|row| matches(row) || made_for(row))
    };
    all().into_iter().filter(is_wanted).collect()
}

fn all() -> Vec<Group> {
    let single = |row| Group { rows: vec![row], fresh: false, last: false };
    let mut groups = vec![Group { rows: vec![IDLE], fresh: true, last: false }];
    groups.extend(STREAMS.iter().cloned().map(single));
    groups.extend(SMALL.iter().cloned().map(single));
    groups.push(Group { rows: FILES.to_vec(), fresh: false, last: false });
    groups.push(Group { rows: COMMITTED.to_vec(), fresh: false, last: false });
    groups.extend(LISTS.iter().cloned().map(single));
    groups.push(Group { rows: DELETES.to_vec(), fresh: false, last: true });
    groups
}

const STREAM: Bar = Bar { speed: 1.0, cpu: Some(0.7) };
const FOUR_TIMES: Bar = Bar { speed: 4.0, cpu: None };
const THREE_TIMES: Bar = Bar { speed: 3.0, cpu: None };

const IDLE: Row =
    row("idle connection memory", Unit::Memory, "idle", "idle --count 1000", Bar { speed: 0.0, cpu: None });

/// 1 client moves 1 GiB; each of 5 and 10 moves a file of 256 MiB twice.
const STREAMS: &[Row] = &[
    row("read 1 GiB 1 client q1", Unit::Bytes, "one", "read --size 1073741824", STREAM),
    row("read 1 GiB 1 client q4", Unit::Bytes, "one", "read --size 1073741824 --depth 4", STREAM),
    row("read 5 clients q1", Unit::Bytes, "many", "read --clients 5 --size 268435456 --passes 2", STREAM),
    row(
        "read 5 clients q4",
        Unit::Bytes,
        "many",
        "read --clients 5 --size 268435456 --passes 2 --depth 4",
        STREAM,
    ),
    row("read 10 clients q1", Unit::Bytes, "many", "read --clients 10 --size 268435456 --passes 2", STREAM),
    row(
        "read 10 clients q4",
        Unit::Bytes,
        "many",
        "read --clients 10 --size 268435456 --passes 2 --depth 4",
        STREAM,
    ),
    row("write 1 GiB 1 client q1", Unit::Bytes, "one", "write --size 1073741824", STREAM),
    row("write 1 GiB 1 client q4", Unit::Bytes, "one", "write --size 1073741824 --depth 4", STREAM),
    row("write 5 clients q1", Unit::Bytes, "many", "write --clients 5 --size 268435456 --passes 2", STREAM),
    row(
        "write 5 clients q4",
        Unit::Bytes,
        "many",
        "write --clients 5 --size 268435456 --passes 2 --depth 4",
        STREAM,
    ),
    row("write 10 clients q1", Unit::Bytes, "many", "write --clients 10 --size 268435456 --passes 2", STREAM),
    row(
        "write 10 clients q4",
        Unit::Bytes,
        "many",
        "write --clients 10 --size 268435456 --passes 2 --depth 4",
        STREAM,
    ),
];

const SMALL: &[Row] = &[
    row("read 1 KiB q1", Unit::Ops, "one", "small --block 1024 --size 104857600 --seconds 1.5", FOUR_TIMES),
    row("read 4 KiB q1", Unit::Ops, "one", "small --block 4096 --size 104857600 --seconds 1.5", FOUR_TIMES),
    row(
        "random read 4 KiB q32",
        Unit::Ops,
        "one",
        "random --block 4096 --size 1073741824 --depth 32 --seconds 1.5",
        THREE_TIMES,
    ),
];

const FILES: &[Row] = &[
    row("create+write 4 KiB+close", Unit::Ops, "new", "create --block 4096 --count 2000", FOUR_TIMES),
    row("stat (LOOKUP+GETATTR)", Unit::Ops, "new", "stat --count 2000", THREE_TIMES),
];

const DELETES: &[Row] = &[row("delete", Unit::Ops, "new", "remove --count 2000", FOUR_TIMES)];

const COMMITTED: &[Row] = &[row(
    "create+write 4 KiB+COMMIT",
    Unit::Ops,
    "kept",
    "commit --block 4096 --count 2000",
    Bar { speed: 1.0, cpu: Some(0.5) },
)];

const LISTS: &[Row] = &[
    row(
        "READDIRPLUS 10000 by 8 KiB",
        Unit::Ops,
        "dir",
        "list --block 8192 --count 10000 --passes 10",
        THREE_TIMES,
    ),
    // Pages of this size leave libnfs itself most of the time: told, not judged.
    Row {
        name: "READDIRPLUS 10000 by 64 KiB",
        unit: Unit::Ops,
        file: "dir",
        args: "list --block 65536 --count 10000 --passes 10",
        bar: None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_chosen_by_part_of_their_name_with_what_they_need() {
        let groups = groups(&["stat".to_owned()]);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].rows[0].name, "create+write 4 KiB+close"); // nothing to stat without it
    }

    #[test]
    fn a_short_run_does_less_of_the_same() {
        let args = SMALL[0].arguments("one", true).join(" ");
        assert_eq!(args, "small --block 1024 --size 104857600 --seconds 0.7 --file one");
    }
}
