//! What a comparison measures, and the bars ours must reach.

/// How a row's speed is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// MB/s, and server CPU per GB.
    Bytes,
    /// Operations per second, and server CPU per operation.
    Ops,
    /// Server memory per connection.
    Memory,
    /// How long a stream on a clock had to wait, in milliseconds, and server CPU per second.
    Gap,
}

/// What ours must reach.
#[derive(Clone, Copy, Debug)]
pub enum Bar {
    /// Against the medians of the peer in its best configuration.
    Times {
        /// Speed at least this many times the peer's.
        speed: f64,
        /// Server CPU at most this part of the peer's.
        cpu: Option<f64>,
    },
    /// So many bytes, whatever the peer takes.
    AtMost(f64),
    /// In no run a gap of more than so many milliseconds.
    NoGap(f64),
}

impl Bar {
    pub const fn speed(speed: f64) -> Self {
        Self::Times { speed, cpu: None }
    }
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: &'static str,
    pub unit: Unit,
    /// The load program's file or file prefix.
    pub file: &'static str,
    pub args: &'static str,
    /// The peer's configurations that are measured; the best counts.
    pub peers: &'static [&'static str],
    pub bar: Option<Bar>,
}

/// Rows that one server runs one after the other, since one needs what the one before left.
#[derive(Debug)]
pub struct Group {
    pub rows: Vec<Row>,
    /// Measured on a server just started.
    pub fresh: bool,
    /// Measured after all rounds of the others: ext4 is slow to make files for minutes after many were deleted, as it
    /// passes over their inodes one by one, and all servers would mostly measure that.
    pub last: bool,
    /// Measured in one round only, as it takes long.
    pub once: bool,
}

impl Group {
    /// Of rows that have the same peers.
    pub const fn new(rows: Vec<Row>) -> Self {
        Self { rows, fresh: false, last: false, once: false }
    }

    pub fn fresh(row: Row) -> Self {
        Self { fresh: true, ..Self::new(vec![row]) }
    }

    pub fn once(row: Row) -> Self {
        Self { once: true, ..Self::new(vec![row]) }
    }

    pub fn last(rows: &[Row]) -> Self {
        Self { last: true, ..Self::new(rows.to_vec()) }
    }

    /// A group for each row.
    pub fn singles(rows: &[Row]) -> impl Iterator<Item = Self> {
        rows.iter().cloned().map(|row| Self::new(vec![row]))
    }

    pub fn peers(&self) -> &'static [&'static str] {
        self.rows.first().map_or(&[], |row| row.peers)
    }

    /// Whether it has a row whose name contains one of `wanted`, or makes the files of one that does.
    fn is_wanted(&self, wanted: &[String], all: &[Self]) -> bool {
        let matches = |row: &Row| wanted.iter().any(|word| row.name.contains(word.as_str()));
        // Nothing can be deleted that was not made.
        let deletes = || all.iter().filter(|group| group.last).flat_map(|group| &group.rows);
        let made_for = |row: &Row| row.file == "new" && deletes().any(matches);
        wanted.is_empty() || self.rows.iter().any(|row| matches(row) || made_for(row))
    }
}

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
                    ("--seconds", "60") => "10",
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

/// The groups that have a row whose name contains one of `wanted`; all when that is empty.
pub fn chosen(all: Vec<Group>, wanted: &[String]) -> Vec<Group> {
    let keep: Vec<bool> = all.iter().map(|group| group.is_wanted(wanted, &all)).collect();
    all.into_iter().zip(keep).filter_map(|(group, keep)| keep.then_some(group)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{iscsi, nfs, smb};

    #[test]
    fn rows_are_chosen_by_part_of_their_name_with_what_they_need() {
        let groups = chosen(nfs::groups(), &["stat".to_owned()]);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].rows[0].name, "create+write 4 KiB+close"); // nothing to stat without it
        let groups = chosen(smb::groups(), &["delete".to_owned()]);
        assert_eq!(groups.len(), 2); // nothing to delete without the one that makes files
        assert!(groups[1].last);
    }

    #[test]
    fn rows_of_a_group_have_the_same_peers() {
        for group in nfs::groups().iter().chain(&smb::groups()).chain(&iscsi::groups()) {
            assert!(group.rows.iter().all(|row| row.peers == group.peers()), "{group:?}");
        }
    }

    #[test]
    fn a_short_run_does_less_of_the_same() {
        let groups = chosen(nfs::groups(), &["read 1 KiB".to_owned()]);
        let args = groups[0].rows[0].arguments("one", true).join(" ");
        assert_eq!(args, "small --block 1024 --size 104857600 --seconds 0.7 --file one");
    }
}
