//! Whether edit applications work on a share: two clients do with files what Final Cut Pro, Premiere Pro, DaVinci Resolve, Pro
//! Tools and Logic Pro do, and each use of a program is judged by what came of it.
//!
//! ```text
//! abilities (what a share must be able to do) ─► outcomes ─┬► uses of programs ─► verdicts, with reasons and remedies
//! rules of the makers (by protocol) ───────────────────────┘
//! ```
//!
//! All is done in a folder of its own, which is removed. No other file is looked at.

mod abilities;
mod attempts;
mod programs;
mod report;

use std::time::Duration;

use client::tree::{Kind, Tree, below};
use client::{Connector, MacService, Reach};
use serde::Serialize;

pub use abilities::Ability;
pub use programs::{PROGRAMS, Program};

use crate::{Error, Protocol, Result, Target};

/// What came of trying an ability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Outcome {
    /// The share does it.
    Works {
        /// What was seen.
        seen: String,
    },
    /// It does not.
    Fails {
        /// What was seen instead.
        why: String,
    },
    /// Clients of this protocol have no way to ask for it.
    Impossible,
}

impl Outcome {
    fn works(seen: impl Into<String>) -> Self {
        Self::Works { seen: seen.into() }
    }

    fn fails(why: impl Into<String>) -> Self {
        Self::Fails { why: why.into() }
    }

    /// Whether a program can rely on it.
    #[must_use]
    pub fn is_there(&self) -> bool {
        matches!(self, Self::Works { .. })
    }
}

/// An ability, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trial {
    /// What was tried.
    pub ability: Ability,
    /// In words.
    pub what: &'static str,
    /// What came of it.
    pub outcome: Outcome,
}

/// How well a use of a program goes on the share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing is in its way.
    Works,
    /// It works, and something is lost or must be known.
    Limited,
    /// The program refuses, or loses work.
    Refused,
}

/// What is in the way of a use, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Obstacle {
    /// What it makes of the use.
    pub verdict: Verdict,
    /// What happens, and why.
    pub why: String,
    /// What helps.
    pub instead: String,
}

/// A use of a program, judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// The program.
    pub program: Program,
    /// What it does with the share.
    pub purpose: &'static str,
    /// The worst of the obstacles.
    pub verdict: Verdict,
    /// All of them, the worst first.
    pub obstacles: Vec<Obstacle>,
}

/// All that was tried on a share, and what follows from it.
#[derive(Debug, Clone, Serialize)]
pub struct EditReport {
    /// The URL, without a password.
    pub target: String,
    /// The protocol.
    pub protocol: Protocol,
    /// What the client has agreed on with the server.
    pub agreed: String,
    /// What was tried.
    pub trials: Vec<Trial>,
    /// What follows for the programs.
    pub programs: Vec<Judgement>,
    /// What could not be removed, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

/// Two clients of a share, and the folder that they work in.
struct Stage {
    connector: Connector,
    first: Box<dyn Tree>,
    second: Box<dyn Tree>,
    folder: String,
    /// What the server has said of itself to a Mac.
    mac: Option<MacService>,
}

impl Stage {
    fn path(&self, name: &str) -> String {
        below(&self.folder, name)
    }

    fn protocol(&self) -> Protocol {
        self.connector.target().protocol
    }
}

/// Does on a share what the programs do, and judges them. `watch` is called with the progress, and answers false to end.
///
/// # Errors
/// The server cannot be reached, refuses the login, or its connection is lost; the folder cannot be made.
pub fn check(
    target: &Target,
    programs: &[Program],
    timeout: Duration,
    watch: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<EditReport> {
    let connector = Connector::new(target.clone(), Reach::direct(timeout), 1, 0);
    let (mut first, mut second) = (connector.tree()?, connector.tree()?);
    // A Mac asks this before all else, and servers treat it as a Mac from then on.
    let mac = first.mac_service()?;
    second.mac_service()?;
    let folder = work_folder()?;
    first.make_folder(&folder)?;
    let mut stage = Stage { connector, first, second, folder, mac };
    let tried = try_all(&mut stage, watch);
    let folder = stage.folder.clone();
    let left = clear(&mut *stage.first, &folder).err().map(|error| {
        format!("the folder {folder} stays on the server, because it cannot be removed: {error}")
    });
    let trials = tried?;
    let programs = programs::judge(target.protocol, &trials, programs);
    let agreed = stage.first.agreed();
    Ok(EditReport { target: target.to_string(), protocol: target.protocol, agreed, trials, programs, left })
}

fn try_all(stage: &mut Stage, watch: &mut dyn FnMut(usize, usize) -> bool) -> Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for (number, ability) in Ability::ALL.into_iter().enumerate() {
        if !watch(number, Ability::ALL.len()) {
            return Err(Error::Stopped);
        }
        let outcome = match ability.attempt(stage) {
            Ok(outcome) => outcome,
            Err(error) if error.ends_session() => return Err(error),
            Err(Error::Unsupported(_)) => Outcome::Impossible,
            Err(error) => Outcome::fails(error.to_string().replace(&format!("{}/", stage.folder), "")),
        };
        trials.push(Trial { ability, what: ability.what(), outcome });
        stage.first.abandon();
        stage.second.abandon();
    }
    Ok(trials)
}

/// A name that no file has.
fn work_folder() -> Result<String> {
    let mut random = [0; 6];
    getrandom::fill(&mut random).map_err(|error| Error::Other(error.to_string()))?;
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("fourfold-edit-{digits}"))
}

/// Removes a folder with all that is in it. Only what was made here is below it.
fn clear(tree: &mut dyn Tree, folder: &str) -> Result<()> {
    for entry in tree.entries(folder)?.entries {
        let path = below(folder, &tree.native(&entry.name));
        match entry.kind {
            Kind::Folder => clear(tree, &path)?,
            _ => tree.remove(&path)?,
        }
        tree.sweep(&path);
    }
    tree.remove_folder(folder)
}
