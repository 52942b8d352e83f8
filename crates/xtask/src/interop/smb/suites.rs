//! The suites of smbtorture that are run, with the kind of their share and their time limits.

/// The kind of share that a suite needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any share.
    Main,
    /// Files are locked against Netatalk, too (`fruit:locking = netatalk`).
    Netatalk,
    /// A Time Machine share of at most 32 KiB (`fruit:time machine max size = 32K`).
    TimeMachine,
    /// A share without Mac metadata, with one that has it as the second.
    Conversion,
    /// A share with a snapshot.
    Past,
    /// Security twice; the entries of lists are in any order.
    NonCanonical,
}

#[derive(Clone, Copy, Debug)]
pub struct Suite {
    pub name: &'static str,
    pub seconds: u64,
    pub kind: Kind,
    /// The peer runs it also in its other configuration. A test passes if it passes in one of them.
    pub twice: bool,
    /// Whether `--ci` runs it. Left out are suites that wait for minutes, or judge by times that a
    /// busy machine cannot keep.
    pub ci: bool,
    /// Its `torture:` options. A suite with an option that names a file finds that file.
    pub options: &'static [&'static str],
}

impl Suite {
    const fn new(name: &'static str) -> Self {
        Self { name, seconds: 60, kind: Kind::Main, twice: false, ci: true, options: &[] }
    }

    const fn told(options: &'static [&'static str], name: &'static str) -> Self {
        Self { options, ..Self::new(name) }
    }

    const fn long(name: &'static str) -> Self {
        Self { seconds: 300, ..Self::new(name) }
    }

    const fn on(kind: Kind, name: &'static str) -> Self {
        Self { kind, ..Self::new(name) }
    }

    const fn twice(name: &'static str) -> Self {
        Self { twice: true, ..Self::new(name) }
    }

    /// Whether the filter names this suite, or a test of it.
    pub fn is_meant(&self, filter: &str) -> bool {
        match filter.strip_suffix('*') {
            Some(beginning) => self.name.starts_with(beginning),
            None => self.name == filter || self.has_test(filter),
        }
    }

    /// Whether `name` is a test of the suite.
    pub fn has_test(&self, name: &str) -> bool {
        name.strip_prefix(self.name).is_some_and(|rest| rest.starts_with('.'))
    }
}

/// The long suites come first, so that parallel suites end at about the same time.
///
/// Left out are load generators and endless ones (`bench`, `scan`, `maxfid`, `hold-*`,
/// `check-sharemode`), suites that need another server configuration (`change_notify_disabled`,
/// `session-require-signing`, `create_no_streams`), suites that examine a kernel (`kernel-oplocks`,
/// `notify-inotify`) or Samba's own book-keeping (`samba3misc`, `aio_delay`, `vfs.streams_xattr`,
/// `vfs.acl_xattr`), and `vfs.unfruit`, which needs a server without Mac metadata.
pub const SUITES: &[Suite] = &[
    Suite::long("smb2.multichannel"),
    Suite::long("smb2.lease"),
    Suite::long("smb2.replay"),
    Suite::long("smb2.oplock"),
    Suite::long("smb2.notify"),
    Suite::new("smb2.compound_find"),
    Suite::new("smb2.timestamps"),
    Suite::new("smb2.dir"),
    Suite::new("smb2.durable-v2-delay"),
    Suite::twice("smb2.create"),
    Suite::new("smb2.compound_async"),
    Suite::new("smb2.rename"),
    Suite::twice("smb2.session"),
    Suite::new("smb2.durable-open"),
    Suite::new("smb2.durable-open-disconnect"),
    Suite::new("smb2.durable-v2-open"),
    Suite::new("smb2.lock"),
    Suite::new("smb2.ioctl"),
    Suite::new("smb2.ioctl-on-stream"),
    Suite::twice("smb2.compound"),
    Suite::twice("smb2.streams"),
    Suite::twice("smb2.acls"),
    Suite::on(Kind::NonCanonical, "smb2.acls_non_canonical"),
    Suite::new("smb2.async_dosmode"),
    Suite::new("smb2.charset"),
    Suite::new("smb2.connect"),
    Suite::new("smb2.credits"),
    Suite::twice("smb2.delete-on-close-perms"),
    Suite::new("smb2.deny"),
    Suite::new("smb2.dosmode"),
    Suite::twice("smb2.ea"),
    Suite::new("smb2.fileid"),
    Suite::twice("smb2.getinfo"),
    Suite::new("smb2.mangle"),
    Suite::twice("smb2.maximum_allowed"),
    Suite::new("smb2.mkdir"),
    Suite::new("smb2.openattr"),
    Suite::new("smb2.read"),
    Suite::new("smb2.rw"),
    Suite::twice("smb2.sdread"),
    Suite::new("smb2.secleak"),
    Suite::new("smb2.session-id"),
    Suite::told(&["filename=testfile"], "smb2.set-sparse-ioctl"),
    Suite::twice("smb2.setinfo"),
    Suite::new("smb2.sharemode"),
    Suite::new("smb2.tcon"),
    Suite::new("smb2.timestamp_resolution"),
    Suite::on(Kind::Past, "smb2.twrp"),
    Suite::new("smb2.winattr"),
    Suite::told(&["filename=testfile", "offset=0", "beyond_final_zero=4096"], "smb2.zero-data-ioctl"),
    Suite::new("vfs.fruit"),
    Suite { options: &["delete_empty_adfiles=true"], ..Suite::on(Kind::Conversion, "vfs.fruit_conversion") },
    Suite::new("vfs.fruit_file_id"),
    Suite::on(Kind::Netatalk, "vfs.fruit_netatalk"),
    Suite::on(Kind::TimeMachine, "vfs.fruit_timemachine"),
    Suite::new("rpc.srvsvc"),
    Suite::new("rpc.samr.accessmask"),
    Suite::new("rpc.samr.handletype"),
    Suite::new("dfs.domain"),
];

/// Tests that want a share that is continuously available. They pass without one, too, or are skipped. `interop cluster` runs them
/// in a share with `continuous`, as only a server of a cluster has one.
pub const CONTINUOUS: &[&str] = &[
    "smb2.durable-v2-open.persistent-open-oplock",
    "smb2.durable-v2-open.persistent-open-lease",
    "smb2.replay.replay5",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_names_a_suite_one_of_its_tests_or_the_beginning_of_several() {
        let meant = |filter| SUITES.iter().filter(|s| s.is_meant(filter)).map(|s| s.name).collect::<Vec<_>>();
        assert_eq!(meant("smb2.lock"), ["smb2.lock"]);
        assert_eq!(meant("smb2.session-id.x"), ["smb2.session-id"]);
        assert_eq!(meant("smb2.ioctl*"), ["smb2.ioctl", "smb2.ioctl-on-stream"]);
    }
}
