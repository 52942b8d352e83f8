//! Folders of the main tree that are shares of their own. Their rules bind clients that come through the share above, too.
//!
//! A gate is found by its path, so it does not matter how the folder is stored, and it counts in snapshots as well. An object
//! inherits the gate of the folder in which it was looked up. That of an object that was reached by its key is found by
//! the path that the host tells. The rules are looked up at each use: a new setting counts at once.

use std::collections::HashSet;
use std::sync::Arc;

use auth::{Grant, Roles};

use crate::acl::team::TeamFolder;
use crate::backend::{Backend, Object};
use crate::caller::server;
use crate::names::Hiding;
use crate::{Caller, FileId, Kind, Result};

/// Decides who may pass a gate.
pub trait Admission: Send + Sync {
    /// What a caller may do behind the gate; `None`: it may not pass.
    fn grant(&self, caller: &Caller) -> Option<Grant>;
}

/// The rules of a folder of the main tree that is a share of its own.
#[derive(Clone)]
pub struct Gate {
    /// The stored names from the root of the main tree.
    pub path: Vec<Vec<u8>>,
    /// Every change is refused, whoever asks for it.
    pub read_only: bool,
    /// Names that listings of its folders leave out.
    pub hidden: Arc<Hidden>,
    /// Who may pass.
    pub rules: Arc<dyn Admission>,
    /// Its roles, if it is a team folder. Those of the share above do not count in it.
    pub roles: Option<Arc<Roles>>,
}

/// The names that listings of a share leave out.
#[derive(Debug, Default)]
pub struct Hidden {
    /// Over every protocol.
    pub hiding: Arc<Hiding>,
}

/// The path of a gate, by which objects refer to it.
pub(super) type GatePath = Arc<[Vec<u8>]>;

/// The share inside another one that an object belongs to.
#[derive(Clone)]
pub struct TeamGate {
    /// Its roles, if it is a team folder.
    pub(crate) team: Option<Arc<TeamFolder>>,
    /// The object is the share's own folder.
    pub(crate) is_root: bool,
}

struct PlacedGate {
    path: GatePath,
    gate: Gate,
    team: Option<Arc<TeamFolder>>,
    /// The share's own folder, unless that was not there.
    root: Option<FileId>,
    /// The host does not distinguish `a` and `A` there.
    folds: bool,
}

/// All gates of a forest.
#[derive(Default)]
pub(super) struct Gates {
    /// Those inside others first.
    all: Vec<PlacedGate>,
    /// The last names of their paths, folded: lookups of other names need no search.
    names: HashSet<String>,
}

fn folded(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_lowercase()
}

impl Gates {
    pub(super) fn new(main: &dyn Backend, mut gates: Vec<Gate>) -> Self {
        gates.retain(|gate| !gate.path.is_empty());
        gates.sort_by_key(|gate| std::cmp::Reverse(gate.path.len()));
        let names = gates.iter().filter_map(|gate| gate.path.last()).map(|name| folded(name)).collect();
        let placed = |gate: Gate| PlacedGate {
            path: gate.path.clone().into(),
            folds: folds(main, &gate.path).unwrap_or(false),
            team: gate.roles.clone().map(|roles| Arc::new(TeamFolder::new(roles, main.own_user() == 0))),
            root: gate.roles.as_ref().and_then(|_| id_of(main, &gate.path).ok()),
            gate,
        };
        Self { all: gates.into_iter().map(placed).collect(), names }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether any of them is a team folder.
    pub(super) fn have_teams(&self) -> bool {
        self.all.iter().any(|placed| placed.team.is_some())
    }

    /// The roles behind a gate, for an object there.
    pub(super) fn team_at(&self, path: &GatePath, object: FileId) -> Option<TeamGate> {
        let placed = self.all.iter().find(|placed| placed.path == *path)?;
        Some(TeamGate { team: placed.team.clone(), is_root: placed.root == Some(object) })
    }

    /// Whether a gate can have this name.
    pub(super) fn may_be(&self, name: &[u8]) -> bool {
        self.names.contains(&folded(name))
    }

    /// The innermost gate that a path leads through.
    pub(super) fn of_path(&self, path: &[Vec<u8>]) -> Option<GatePath> {
        self.all.iter().find(|placed| placed.holds(path)).map(|placed| placed.path.clone())
    }

    /// Whether a gate is at a path, or below it.
    pub(super) fn is_at_or_below(&self, path: &[Vec<u8>]) -> bool {
        self.all.iter().any(|placed| {
            let begin = placed.path.get(..path.len());
            begin.is_some_and(|begin| placed.is_same(begin, path))
        })
    }

    /// The gate that an object of a backend is behind.
    pub(super) fn of_object(&self, backend: &dyn Backend, object: &Arc<dyn Object>) -> Option<GatePath> {
        self.of_path(&path_of(backend, object)?)
    }

    /// The rules of a gate, if it is still there.
    pub(super) fn at(&self, path: &GatePath) -> Option<&Gate> {
        self.all.iter().find(|placed| placed.path == *path).map(|placed| &placed.gate)
    }
}

impl PlacedGate {
    fn holds(&self, path: &[Vec<u8>]) -> bool {
        path.get(..self.path.len()).is_some_and(|begin| self.is_same(&self.path, begin))
    }

    fn is_same(&self, one: &[Vec<u8>], other: &[Vec<u8>]) -> bool {
        let is_same = |(one, other): (&Vec<u8>, &Vec<u8>)| match self.folds {
            true => folded(one) == folded(other),
            false => one == other,
        };
        one.len() == other.len() && one.iter().zip(other).all(is_same)
    }
}

/// The names down to an object. `None` for a file of which the host knows no name.
fn path_of(backend: &dyn Backend, object: &Arc<dyn Object>) -> Option<Vec<Vec<u8>>> {
    if let Some(path) = backend.path_hint(&**object) {
        return Some(path);
    }
    let root = backend.root().ok()?.object.key();
    super::table::climbed(object, &root).ok().filter(|_| object.kind() == Kind::Folder)
}

/// Whether the host finds the folder under its name in other letters, too.
fn folds(main: &dyn Backend, path: &[Vec<u8>]) -> Result<bool> {
    let Some((last, above)) = path.split_last() else { return Ok(false) };
    let swap = |byte: &u8| match byte.is_ascii_lowercase() {
        true => byte.to_ascii_uppercase(),
        false => byte.to_ascii_lowercase(),
    };
    let other: Vec<u8> = last.iter().map(swap).collect();
    if other == *last {
        return Ok(false);
    }
    let of = |last: &[u8]| id_of(main, &above.iter().cloned().chain([last.to_vec()]).collect::<Vec<_>>());
    Ok(of(&other)? == of(last)?)
}

fn id_of(main: &dyn Backend, path: &[Vec<u8>]) -> Result<FileId> {
    let names: Vec<&[u8]> = path.iter().map(Vec::as_slice).collect();
    Ok(main.root()?.object.lookup_path(server(), &names)?.object.id())
}
