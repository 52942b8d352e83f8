//! Random operations through the servers of all protocols at once, and one naive model of what they must answer.
//!
//! ```text
//! generate.rs ─► run.rs ─┬─► world.rs ─► smb.rs · afp.rs · nfs3.rs · nfs4.rs ─► the servers, over one tree
//!  from a seed           └─► model/                                              table.rs: statuses to classes
//! ```
//!
//! When the two disagree, the list of operations is made as short as possible, and printed as a test for `known.rs`.
//!
//! | variable | meaning |
//! |---|---|
//! | `FOURFOLD_MODEL_SEED` | the first seed; 1 by default |
//! | `FOURFOLD_MODEL_SEEDS` | how many seeds |
//! | `FOURFOLD_MODEL_OPERATIONS` | operations of each seed |
//! | `FOURFOLD_MODEL_FOLDER` | run on a folder of the host, made below this one, instead of in memory |
//! | `FOURFOLD_MODEL_SERVERS` | run on servers of one tree that run already, `HOST:SMB:AFP:NFS,...` with their ports |
//! | `FOURFOLD_MODEL_SHARE`, `FOURFOLD_MODEL_USER` | the empty share there, and `NAME:PASSWORD:UID` |
//! | `FOURFOLD_MODEL_LACKS` | `exchange`: its file system cannot exchange two names |
//! | `FOURFOLD_MODEL_TRACE` | print each operation and its outcome |

mod afp;
mod beside;
mod costs;
mod generate;
mod known;
mod link;
mod model;
mod nfs3;
mod nfs4;
mod op;
mod permissions;
mod rpc;
mod run;
mod smb;
mod table;
mod world;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use vfs::backend::Backend;
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::memory::Memory;

use generate::operations;
use op::Op;
use world::World;

/// The operations of a run of the tests, over all seeds.
const OPERATIONS: usize = 100_000;
/// The seeds that share them: each begins with an empty tree.
const SEEDS: usize = 50;
/// So many kinds of disagreement are shrunk and printed.
const MOST_FAILURES: usize = 12;

/// Whether the user may give files away.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

fn number(variable: &str, default: usize) -> usize {
    let text = std::env::var(variable).ok();
    text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// A fresh disk, and what keeps its folder.
fn disk() -> (Arc<dyn Backend>, Option<tempfile::TempDir>) {
    let Some(folder) = std::env::var_os("FOURFOLD_MODEL_FOLDER") else {
        return (Arc::new(Memory::ticking()), None);
    };
    let folder = tempfile::tempdir_in(PathBuf::from(folder)).expect("a folder");
    if is_root() {
        let uid = world::user().uid;
        std::os::unix::fs::chown(folder.path(), Some(uid), Some(100)).expect("a folder of the user");
    }
    let host = Host::open(folder.path(), &HostOptions::default()).expect("a folder of the host");
    (Arc::new(host), Some(folder))
}

#[test]
fn every_server_answers_as_the_model_says() {
    let (first, seeds) = (number("FOURFOLD_MODEL_SEED", 1), number("FOURFOLD_MODEL_SEEDS", SEEDS));
    let count = number("FOURFOLD_MODEL_OPERATIONS", OPERATIONS / SEEDS);
    let (begun, mut done, mut kinds, mut failures) = (Instant::now(), 0, HashSet::new(), Vec::new());
    for seed in first..first + seeds {
        let list = operations(seed as u64, count);
        if let Some(servers) = world::addresses() {
            match at_servers(servers, &list) {
                Ok(both) => done += both,
                Err(first) => failures.push(format!("seed {seed}: {first}")),
            }
            continue;
        }
        let (disk, _folder) = disk();
        match run::run(disk, &list) {
            Ok(both) => done += both,
            Err(first) if kinds.insert(first.signature()) => failures.push(shortened(seed, &list, first)),
            Err(_) => {}
        }
        if failures.len() == MOST_FAILURES {
            break;
        }
    }
    println!("{done} of {} operations applied, {:?}", seeds * count, begun.elapsed());
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// The operations by servers that run. They are not made fewer after a failure: a run takes too long for that.
fn at_servers(servers: Vec<world::Address>, list: &[Op]) -> Result<usize, Box<run::Disagreement>> {
    let mut world = World::at(servers);
    let done = run::run_in(&mut world, list);
    if let Err(disagreement) = &done {
        println!("{disagreement}"); // the share may not be cleared after it
    }
    world.clear();
    done
}

/// The shortest list of operations that fails in the same way.
fn shortened(seed: usize, list: &[Op], first: Box<run::Disagreement>) -> String {
    let folders = std::cell::RefCell::new(Vec::new());
    let fresh = || {
        let (disk, folder) = disk();
        folders.borrow_mut().extend(folder);
        disk
    };
    let (shortest, why) = run::shrink(fresh, list, first);
    format!("seed {seed}: {why}\n{}", run::program(&shortest))
}
