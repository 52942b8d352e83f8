//! The rows that a comparison measures, and the bars that our server must reach.

/// The unit of a row's speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowUnit {
    /// MB/s, and server CPU per GB.
    Bytes,
    /// Operations per second, and server CPU per operation.
    Ops,
    /// Server memory per connection.
    Memory,
    /// The longest wait of a paced stream in milliseconds, and server CPU per second.
    Gap,
    /// The 99th percentile of the operations' latency in milliseconds, and server CPU per second.
    Tail,
    /// The part of the speed that remains beside idle connections in percent, and server CPU per
    /// second.
    Kept,
}

/// The bar that our server must reach.
#[derive(Clone, Copy, Debug)]
pub enum Bar {
    /// Relative to the medians of the peer in its best configuration.
    Times {
        /// Speed at least this many times the peer's.
        speed: f64,
        /// Server CPU at most this part of the peer's.
        cpu: Option<f64>,
    },
    /// At most so many bytes or milliseconds, whatever the peer takes.
    AtMost(f64),
    /// No run may have a gap of more than so many milliseconds.
    NoGap(f64),
    /// At least so many percent.
    Keeps(f64),
}

impl Bar {
    pub const fn speed(speed: f64) -> Self {
        Self::Times { speed, cpu: None }
    }
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct ComparisonRow {
    pub name: &'static str,
    pub unit: RowUnit,
    /// The load program's file or file prefix.
    pub file: &'static str,
    pub args: &'static str,
    /// The peer's configurations that are measured. The best one counts.
    pub peers: &'static [&'static str],
    pub bar: Option<Bar>,
}

/// Rows that one server runs in order, because a row needs the files of the one before.
#[derive(Debug)]
pub struct RowGroup {
    pub rows: Vec<ComparisonRow>,
    /// Measured on a freshly started server.
    pub fresh: bool,
    /// Measured after all rounds of the others. After many files were deleted, ext4 is slow to make
    /// files for minutes, as it skips their inodes one by one. All servers would mostly measure
    /// that.
    pub last: bool,
    /// Measured in one round only, because it takes long.
    pub once: bool,
}

impl RowGroup {
    /// Of rows that have the same peers.
    pub const fn new(rows: Vec<ComparisonRow>) -> Self {
        Self { rows, fresh: false, last: false, once: false }
    }

    pub fn fresh(row: ComparisonRow) -> Self {
        Self { fresh: true, ..Self::new(vec![row]) }
    }

    pub fn once(row: ComparisonRow) -> Self {
        Self { once: true, ..Self::new(vec![row]) }
    }

    pub fn last(rows: &[ComparisonRow]) -> Self {
        Self { last: true, ..Self::new(rows.to_vec()) }
    }

    /// A group for each row.
    pub fn singles(rows: &[ComparisonRow]) -> impl Iterator<Item = Self> {
        rows.iter().cloned().map(|row| Self::new(vec![row]))
    }

    pub fn peers(&self) -> &'static [&'static str] {
        self.rows.first().map_or(&[], |row| row.peers)
    }

    /// Whether it has a row whose name contains one of `wanted`, or makes the files of one that does.
    fn is_wanted(&self, wanted: &[String], all: &[Self]) -> bool {
        let matches = |row: &ComparisonRow| wanted.iter().any(|word| row.name.contains(word.as_str()));
        // Files must be made before they can be deleted.
        let deletes = || all.iter().filter(|group| group.last).flat_map(|group| &group.rows);
        let made_for = |row: &ComparisonRow| row.file == "new" && deletes().any(matches);
        wanted.is_empty() || self.rows.iter().any(|row| matches(row) || made_for(row))
    }
}

impl ComparisonRow {
    /// The prefixes of the files that it uses.
    pub fn files(&self) -> impl Iterator<Item = &'static str> {
        let copies = self.args.starts_with("put "); // it copies the file of another row
        [self.file].into_iter().chain(copies.then_some("one"))
    }

    /// Whether a second run finds the files that it needs.
    pub fn may_repeat(&self) -> bool {
        !self.makes_files()
    }

    /// Whether it makes or removes files of its own. Each run then uses other files.
    pub fn makes_files(&self) -> bool {
        matches!(self.file, "new" | "kept") || self.makes_large_files()
    }

    /// Whether each run's files are removed after it, because they are large.
    pub fn makes_large_files(&self) -> bool {
        self.file == "fresh"
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
                    ("--seconds", "3") => "1.5",
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

/// The groups that have a row whose name contains one of `wanted`. All groups if `wanted` is empty.
pub fn chosen(all: Vec<RowGroup>, wanted: &[String]) -> Vec<RowGroup> {
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
    fn a_row_says_what_files_it_uses() {
        let files = |name: &str| -> Vec<&str> {
            let groups = chosen(smb::groups(), &[name.to_owned()]);
            groups[0].rows[0].files().collect()
        };
        assert_eq!(files("read 50 clients"), ["crowd"]);
        assert_eq!(files("get 1 GiB signed"), ["one"]);
        assert_eq!(files("put 1 GiB signed"), ["put", "one"]);
    }

    #[test]
    fn a_short_run_does_less_of_the_same() {
        let groups = chosen(nfs::groups(), &["read 1 KiB".to_owned()]);
        let args = groups[0].rows[0].arguments("one", true).join(" ");
        assert_eq!(args, "small --block 1024 --size 104857600 --seconds 0.7 --file one");
    }
}
