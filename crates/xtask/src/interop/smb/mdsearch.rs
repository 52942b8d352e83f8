//! Finder's searches, by Samba's `mdsearch`: the queries that Macs send, over files in twelve languages.
//!
//! `mdsearch` has no option for a port, and waits a second for its results: the server needs a network of its own, and the queries
//! run side by side.

mod corpus;
mod queries;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use self::queries::{QUERIES, SearchCase};
use super::place::{ADA, BOB};
use crate::interop::outcome::Outcomes;
use crate::process::{self, Running};
use crate::samba::SambaUser;
use crate::{isolate, server};

/// How often a query is asked that finds nothing: on a busy machine a second may not be enough.
const MOST_TRIES: usize = 4;
const FOUND: &str = "mdsearch: queries of Macs find what they ask for";
const OTHERS: &str = "mdsearch: files that a user may not list are not found";
const SCOPE: &str = "mdsearch: a search in a folder stays in it";
const WITHOUT: &str = "mdsearch: a share without an index cannot be searched";
const ALL: [&str; 4] = [FOUND, OTHERS, SCOPE, WITHOUT];

/// How long the index may take to have all files.
const INDEXED_WITHIN: Duration = Duration::from_secs(60);
/// The limit of one query.
const LIMIT: Duration = Duration::from_secs(20);
/// Queries that run at a time.
const AT_A_TIME: usize = 16;

pub fn run(outcomes: &mut Outcomes, configuration: &Path) -> Result<()> {
    let reason = match () {
        () if !isolate::is_isolated() => Some("needs a network of its own, which root has"),
        () if process::find("mdsearch").is_none() => Some("mdsearch is not installed"),
        () => None,
    };
    if let Some(reason) = reason {
        ALL.iter().for_each(|name| outcomes.skip(name, reason));
        return Ok(());
    }
    let place = SearchPlace::new(configuration)?;
    let _server = place.serve()?;
    outcomes.run(FOUND, &[], || {
        place.wait_for_index()?;
        place.check(&QUERIES.iter().collect::<Vec<_>>())
    });
    outcomes.run(OTHERS, &[], || {
        let query = "kMDItemFSName==\"*secret*\"cd";
        let (theirs, own) =
            (place.search(ADA, "found", &[], query)?, place.search(BOB, "found", &[], query)?);
        ensure!(theirs.is_empty(), "ada finds {theirs:?}");
        ensure!(own == set(&["private/Secret plan.txt"]), "bob finds {own:?}");
        Ok(())
    });
    outcomes.run(SCOPE, &[], || {
        let query = "kMDItemContentTypeTree==\"public.text\"";
        let found = place.search(ADA, "found", &["--path", "/found/ja"], query)?;
        ensure!(found == set(&["ja/旅行計画.txt"]), "{found:?}");
        Ok(())
    });
    outcomes.run(WITHOUT, &[], || {
        let said = place.search(ADA, "plain", &[], "kMDItemFSName==\"*\"");
        ensure!(said.is_err(), "a share that has no index was searched: {said:?}");
        Ok(())
    });
    Ok(())
}

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// A share with files that are searched, and one without an index.
struct SearchPlace {
    folder: PathBuf,
    configuration: PathBuf,
}

impl SearchPlace {
    fn new(configuration: &Path) -> Result<Self> {
        let folder = process::fresh_folder("interop-mdsearch")?;
        std::fs::create_dir_all(folder.join("plain"))?;
        corpus::write(&folder.join("found"))?;
        Ok(Self { folder, configuration: configuration.to_owned() })
    }

    fn serve(&self) -> Result<Running> {
        let share = |name: &str, more: &str| {
            let path = self.folder.join(name);
            format!(
                "[[share]]\nname = \"{name}\"\npath = \"{}\"\nnfs = false\nafp = false\niscsi = false\n{more}\n",
                path.display()
            )
        };
        let settings = self.folder.join("settings.toml");
        let shares = share("found", "search = \"names\"") + &share("plain", "search = \"off\"");
        std::fs::write(&settings, shares)?;
        let state = self.folder.join("state");
        for (user, uid) in [(ADA, corpus::ADA), (BOB, corpus::BOB)] {
            server::add_user(&state, user.name, user.password, uid)?;
        }
        server::ours_with_settings(&settings, &state, &["--smb-port", "445"])
    }

    /// The index is built in the background.
    fn wait_for_index(&self) -> Result<()> {
        let (begun, case) = (Instant::now(), &QUERIES[0]);
        while self.search(ADA, "found", &[], case.query).ok() != Some(set(case.found)) {
            ensure!(
                begun.elapsed() < INDEXED_WITHIN,
                "after {INDEXED_WITHIN:?} `{}` finds nothing",
                case.query
            );
        }
        Ok(())
    }

    /// Runs these queries, several at a time.
    fn check(&self, cases: &[&SearchCase]) -> Result<()> {
        let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                let search = || self.search(ADA, "found", &[], case.query);
                let mut found = search();
                for _ in 1..MOST_TRIES {
                    if case.found.is_empty() || !found.as_ref().is_ok_and(BTreeSet::is_empty) {
                        break;
                    }
                    found = search();
                }
                if !found.as_ref().is_ok_and(|found| *found == set(case.found)) {
                    let line = format!("{}: {found:?} instead of {:?}", case.query, case.found);
                    wrong.lock().expect("no thread panicked").push(line);
                }
            }
        };
        std::thread::scope(|scope| (0..AT_A_TIME).for_each(|_| drop(scope.spawn(work))));
        let wrong = wrong.into_inner().expect("no thread panicked");
        ensure!(wrong.is_empty(), "{} of {} queries:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
        Ok(())
    }

    /// The paths that a query finds. `mdsearch` ends as if it had failed if nothing was found after its second.
    fn search(&self, user: SambaUser, share: &str, more: &[&str], query: &str) -> Result<BTreeSet<String>> {
        let login = format!("{}%{}", user.name, user.password);
        let configuration = self.configuration.to_string_lossy();
        let mut words = vec!["-s", &configuration, "-U", &login];
        words.extend(more);
        words.extend(["127.0.0.1", share, query]);
        let output = process::output("mdsearch", &words, LIMIT)?;
        let text = String::from_utf8(output.stdout).context("a path is not UTF-8")?;
        ensure!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        // Macs are told decomposed names.
        Ok(text.lines().map(composed).collect())
    }
}

/// The composed form of the names in the corpus, which have no other accents than these.
fn composed(path: &str) -> String {
    corpus::ACCENTS
        .iter()
        .fold(path.to_owned(), |path, (decomposed, composed)| path.replace(decomposed, composed))
}
