//! The accounts of the servers of a cluster: one text that they have in common. Each server keeps a copy, `accounts.toml`, which
//! every change is made in, and the text that both had last, `accounts.toml.cluster`. So it is known what has changed where.
//!
//! ```text
//! last (accounts.toml.cluster) ─┬─► changed here (accounts.toml)
//!                               └─► changed by others (the text in common) ─► both, account by account
//! ```
//!
//! If one account was changed here and by others, that of the others counts: it was there first.

use std::path::{Path, PathBuf};

use crate::common_text::{CommonText, Last, TRIES};
use crate::durable;
use crate::file::{AccountFile, Error, GroupRecord, Record, lock};
use crate::state_file::FileError;

/// The text that both had last, in the state folder.
const LAST: &str = "accounts.toml.cluster";
/// The accounts that a server had before it joined.
const BEFORE: &str = "accounts.toml.before-cluster";
/// The accounts before others have removed some. If etcd has lost its data, the first server that starts may have been away
/// for long.
const PREVIOUS: &str = "accounts.toml.previous";
/// How many files with earlier accounts are kept.
const MOST_BEFORE: usize = 9;

/// What was done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// The accounts here have changed.
    pub is_changed: bool,
    /// Sentences about changes that do not count.
    pub lines: Vec<String>,
}

/// Brings changes here to the others, and those of others here. The first server of a cluster gives its own accounts.
///
/// # Errors
/// The accounts here or those in common cannot be read or written. Changes here stay, and the next call brings them.
pub fn sync(state: &Path, common: &dyn CommonText) -> Result<SyncReport, Error> {
    let _lock = lock(state)?;
    let file = state.join("accounts.toml");
    let own = AccountFile::read(state)?;
    let last = read_last(state, common.cluster());
    for _ in 0..TRIES {
        let mut synced = SyncReport::default();
        let (next, revision, is_known) = match common.read().map_err(Error::Cluster)? {
            // A new server, beside an etcd that has lost its data, would have all others remove their accounts.
            None if own.accounts.is_empty() && own.groups.is_empty() => {
                if last.is_none() {
                    write_last(state, common.cluster(), own.text()?)?;
                }
                return Ok(synced);
            }
            None => (own.clone(), 0, false),
            Some((text, revision)) => {
                let others = AccountFile::parse(PathBuf::from("the accounts of the cluster"), &text)?;
                let both = match &last {
                    // A copy that was removed has changed nothing.
                    Some(last) if file.exists() => merged(last, &own, &others, &mut synced.lines),
                    _ => others.clone(),
                };
                let is_known = both.is_same(&others);
                (both, revision, is_known)
            }
        };
        let next = AccountFile::of(file.clone(), next.accounts, next.groups);
        let text = next.text()?;
        if !is_known && !common.swap(revision, &text).map_err(Error::Cluster)? {
            continue; // another server was faster
        }
        if !next.is_same(&own) || !file.exists() {
            if last.is_none() && own.accounts.iter().any(|account| !next.accounts.contains(account)) {
                synced.lines.push(keep_before(state, &own)?);
            } else if own.accounts.iter().any(|account| next.find(&account.name).is_none()) {
                let path = state.join(PREVIOUS);
                durable::replace(&path, own.text()?.as_bytes()).map_err(FileError::io(&path))?;
            }
            next.write()?;
            synced.is_changed = !next.is_same(&own);
        }
        // Last: after a crash before this, what has changed here is what others have already.
        write_last(state, common.cluster(), text)?;
        return Ok(synced);
    }
    Err(Error::Cluster("other servers change them all the time".to_owned()))
}

/// What servers have in common, by its name.
trait Named: Clone + PartialEq {
    /// What it is.
    const WHAT: &'static str;

    fn name(&self) -> &str;
}

impl Named for Record {
    const WHAT: &'static str = "account";

    fn name(&self) -> &str {
        &self.name
    }
}

impl Named for GroupRecord {
    const WHAT: &'static str = "group";

    fn name(&self) -> &str {
        &self.name
    }
}

/// The accounts and groups of the others, with what has changed here only. `lines`: sentences about those that both have changed.
fn merged(
    last: &AccountFile,
    own: &AccountFile,
    others: &AccountFile,
    lines: &mut Vec<String>,
) -> AccountFile {
    let accounts = merged_list(&last.accounts, &own.accounts, &others.accounts, lines);
    let groups = merged_list(&last.groups, &own.groups, &others.groups, lines);
    AccountFile::of(PathBuf::new(), accounts, groups)
}

fn merged_list<T: Named>(last: &[T], own: &[T], others: &[T], lines: &mut Vec<String>) -> Vec<T> {
    fn find<'a, T: Named>(all: &'a [T], name: &str) -> Option<&'a T> {
        all.iter().find(|one| one.name() == name)
    }
    let mut result = others.to_vec();
    let is_new = |one: &&T| find(last, one.name()).is_none();
    for name in last.iter().chain(own.iter().filter(is_new)).map(T::name) {
        let (before, here, there) = (find(last, name), find(own, name), find(others, name));
        if here == before || here == there {
            continue;
        }
        if there != before {
            lines.push(format!(
                "the {} {name:?} was changed here and at another server: the change at the other server counts",
                T::WHAT
            ));
            continue;
        }
        match (here, result.iter().position(|one| one.name() == name)) {
            (Some(here), Some(at)) => result[at] = here.clone(),
            (Some(here), None) => result.push(here.clone()),
            (None, Some(at)) => drop(result.remove(at)),
            (None, None) => {}
        }
    }
    result
}

/// What this server and its cluster had last. Accounts that cannot be read are as none.
fn read_last(state: &Path, cluster: &str) -> Option<AccountFile> {
    let path = state.join(LAST);
    let last = Last::read(&path, cluster)?;
    AccountFile::parse(path, last.there()).ok()
}

fn write_last(state: &Path, cluster: &str, text: String) -> Result<(), Error> {
    let path = state.join(LAST);
    Ok(Last::new(cluster, text.clone(), text).write(&path).map_err(FileError::io(&path))?)
}

/// Keeps the accounts that a server had before it joined. Returns the sentence about it.
fn keep_before(state: &Path, own: &AccountFile) -> Result<String, Error> {
    let numbered = (2..=MOST_BEFORE).map(|number| format!("{BEFORE}-{number}"));
    let names = std::iter::once(BEFORE.to_owned()).chain(numbered);
    let mut paths = names.map(|name| state.join(name));
    let path = paths.find(|path| !path.exists()).unwrap_or_else(|| state.join(BEFORE));
    let text = own.text()?;
    durable::replace(&path, text.as_bytes()).map_err(FileError::io(&path))?;
    Ok(format!("the accounts of the cluster count; those that this server had are in {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::identity::Ids;

    /// A text in common, and what other servers do between a look and a change.
    #[derive(Default)]
    struct Etcd {
        text: Mutex<Option<(String, u64)>>,
        meanwhile: Mutex<Vec<(String, u64)>>,
    }

    impl CommonText for Etcd {
        fn cluster(&self) -> &'static str {
            "home"
        }

        fn read(&self) -> Result<Option<(String, u64)>, String> {
            Ok(self.text.lock().unwrap().clone())
        }

        fn swap(&self, revision: u64, text: &str) -> Result<bool, String> {
            if let Some(other) = self.meanwhile.lock().unwrap().pop() {
                *self.text.lock().unwrap() = Some(other);
            }
            let mut now = self.text.lock().unwrap();
            let is_same = now.as_ref().map_or(0, |(_, revision)| *revision) == revision;
            if is_same {
                *now = Some((text.to_owned(), revision + 1));
            }
            Ok(is_same)
        }
    }

    fn add(state: &Path, name: &str) {
        AccountFile::edit(state, |file| file.add(name, Ids::default(), "secret")).unwrap();
    }

    fn names(state: &Path) -> Vec<String> {
        AccountFile::read(state).unwrap().accounts.into_iter().map(|account| account.name).collect()
    }

    fn folders() -> (tempfile::TempDir, tempfile::TempDir, Etcd) {
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), Etcd::default())
    }

    #[test]
    fn the_first_server_gives_its_accounts_and_others_keep_theirs_beside() {
        let (one, two, etcd) = folders();
        add(one.path(), "ada");
        add(two.path(), "bob");
        assert_eq!(sync(one.path(), &etcd).unwrap(), SyncReport::default());
        let joined = sync(two.path(), &etcd).unwrap();
        assert!(joined.is_changed && joined.lines[0].contains("accounts.toml.before-cluster"), "{joined:?}");
        assert_eq!(names(two.path()), ["ada"]);
        let text = std::fs::read_to_string(two.path().join(BEFORE)).unwrap();
        assert!(text.contains("\"bob\""));
        assert_eq!(sync(two.path(), &etcd).unwrap(), SyncReport::default());
    }

    #[test]
    fn a_server_without_accounts_takes_none_from_others() {
        let (one, two, etcd) = folders();
        add(one.path(), "ada");
        sync(one.path(), &etcd).unwrap();
        *etcd.text.lock().unwrap() = None; // etcd has lost its data, and a new server is the first one
        for state in [&two, &one, &two] {
            sync(state.path(), &etcd).unwrap();
        }
        assert_eq!((names(one.path()), names(two.path())), (vec!["ada".to_owned()], vec!["ada".to_owned()]));
    }

    #[test]
    fn changes_of_different_accounts_at_two_servers_both_stay() {
        let (one, two, etcd) = folders();
        add(one.path(), "ada");
        add(one.path(), "bob");
        for state in [&one, &two, &one] {
            sync(state.path(), &etcd).unwrap();
        }
        AccountFile::edit(one.path(), |file| file.set_password("ada", "new")).unwrap();
        AccountFile::edit(one.path(), |file| file.add("eve", Ids::default(), "x")).unwrap();
        AccountFile::edit(two.path(), |file| file.remove("bob")).unwrap();
        for state in [&one, &two, &one] {
            assert!(sync(state.path(), &etcd).unwrap().lines.is_empty());
        }
        assert!(std::fs::read_to_string(one.path().join(PREVIOUS)).unwrap().contains("\"bob\""));
        for state in [&one, &two] {
            assert_eq!(names(state.path()), ["ada", "eve"]);
            let file = AccountFile::read(state.path()).unwrap();
            assert_eq!(file.find("ada").unwrap().secrets[0].verifies("new"), Some(true));
        }
    }

    #[test]
    fn of_two_changes_of_one_account_the_first_counts_and_the_other_server_says_so() {
        let (one, two, etcd) = folders();
        add(one.path(), "ada");
        for state in [&one, &two] {
            sync(state.path(), &etcd).unwrap();
        }
        AccountFile::edit(one.path(), |file| file.set_password("ada", "first")).unwrap();
        AccountFile::edit(two.path(), |file| file.remove("ada")).unwrap();
        assert!(sync(one.path(), &etcd).unwrap().lines.is_empty());
        assert_eq!(sync(two.path(), &etcd).unwrap().lines.len(), 1);
        assert_eq!(names(two.path()), ["ada"]);
    }

    #[test]
    fn a_change_that_another_server_overtakes_is_made_upon_that_of_the_other() {
        let (one, two, etcd) = folders();
        for state in [&one, &two] {
            sync(state.path(), &etcd).unwrap();
        }
        add(one.path(), "ada");
        sync(one.path(), &etcd).unwrap();
        let (text, revision) = etcd.text.lock().unwrap().clone().unwrap();
        *etcd.text.lock().unwrap() = Some((String::from("format = 1\n"), revision - 1));
        etcd.meanwhile.lock().unwrap().push((text, revision));
        add(two.path(), "bob");
        sync(two.path(), &etcd).unwrap();
        assert_eq!(names(two.path()), ["ada", "bob"]);
    }

    #[test]
    fn a_copy_that_is_lost_removes_no_accounts_and_one_of_another_cluster_is_a_new_start() {
        let (one, two, etcd) = folders();
        add(one.path(), "ada");
        sync(one.path(), &etcd).unwrap();
        std::fs::remove_file(one.path().join("accounts.toml")).unwrap();
        assert!(sync(one.path(), &etcd).unwrap().is_changed);
        assert_eq!(names(one.path()), ["ada"]);
        add(two.path(), "bob");
        write_last(two.path(), "other", "format = 1\n".into()).unwrap();
        assert_eq!(sync(two.path(), &etcd).unwrap().lines.len(), 1);
        assert_eq!(names(two.path()), ["ada"]);
    }

    #[test]
    fn groups_are_in_common_like_accounts() {
        let (one, two, etcd) = folders();
        add(one.path(), "ada");
        let group = |state: &Path, name: &str| {
            AccountFile::edit(state, |file| file.add_group(name, vec!["ada".into()])).unwrap()
        };
        group(one.path(), "studio");
        for state in [&one, &two] {
            sync(state.path(), &etcd).unwrap();
        }
        group(two.path(), "office");
        AccountFile::edit(one.path(), |file| file.change_members("studio", &["bob".into()], &[])).unwrap();
        for state in [&one, &two, &one] {
            assert!(sync(state.path(), &etcd).unwrap().lines.is_empty());
        }
        let groups = |state: &Path| AccountFile::read(state).unwrap().groups;
        assert_eq!(groups(one.path()), groups(two.path()));
        let all: Vec<(String, usize)> =
            groups(one.path()).into_iter().map(|group| (group.name, group.members.len())).collect();
        assert_eq!(all, [("studio".to_owned(), 2), ("office".to_owned(), 1)]);
    }

    #[test]
    fn accounts_of_a_later_version_are_refused_and_those_here_stay() {
        let (one, _, etcd) = folders();
        add(one.path(), "ada");
        *etcd.text.lock().unwrap() = Some(("format = 3\n".into(), 7));
        assert!(matches!(sync(one.path(), &etcd), Err(Error::File(FileError::Newer { found: 3, .. }))));
        assert_eq!(names(one.path()), ["ada"]);
    }
}
