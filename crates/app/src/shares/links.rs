//! The links of the namespace as a part of the program: they are placed in the shares, their targets are checked, and both are
//! reported. The table and the choice of targets are in the crate `namespace`.

pub(crate) mod account;
pub(crate) mod checks;
mod place;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use admin::control::{LinkStatus, LinkTargetStatus, Status};
use lock::Mutex;
use namespace::{Namespace, Target};

pub(crate) use self::place::share_of;
use crate::ranks;
use crate::serve::component::{Component, ResourceCounts};
use crate::serve::current::Current;

/// The links of the server.
pub(crate) struct Links {
    namespace: Arc<Namespace>,
    state: PathBuf,
    placed: Mutex<LinkPlacement, ranks::LinkPlacements>,
}

struct LinkPlacement {
    current: Arc<Current>,
    /// Why links are not in their places, by their paths.
    problems: HashMap<String, String>,
}

impl Links {
    /// Places the links of these settings, and checks their targets from now on.
    pub(crate) fn start(current: &Arc<Current>, state: &Path, namespace: Arc<Namespace>) -> Arc<Self> {
        let placed = LinkPlacement { current: current.clone(), problems: HashMap::new() };
        let links = Arc::new(Self { namespace, state: state.to_owned(), placed: Mutex::new(placed) });
        links.take_over(current);
        checks::start(&links);
        links
    }

    fn take_over(&self, current: &Arc<Current>) {
        self.namespace.set(current.settings.links.clone());
        self.placed.lock().current = current.clone();
        self.place();
    }

    /// Looks whether all links are in their places, and puts those back that are not. May wait for a disk.
    fn place(&self) {
        let current = self.placed.lock().current.clone();
        let problems = place::all(&current.settings, &self.state);
        let mut placed = self.placed.lock();
        for (path, why) in problems.iter().filter(|(path, why)| placed.problems.get(*path) != Some(why)) {
            tracing::warn!(target: "link", link = path, "clients do not see this link: {why}");
        }
        placed.problems = problems;
    }

    fn interval(&self) -> Option<Duration> {
        self.placed.lock().current.settings.server.link_check_interval
    }

    fn status(&self) -> Vec<LinkStatus> {
        let problems = self.placed.lock().problems.clone();
        let links = self.namespace.table().links;
        let status = |link: &namespace::Link| LinkStatus {
            path: link.path.clone(),
            comment: link.comment.clone(),
            problem: problems.get(&link.path).cloned(),
            targets: link.targets.iter().map(|target| of_target(&self.namespace, target)).collect(),
        };
        links.iter().map(status).collect()
    }
}

/// What is known of a target.
pub(crate) fn of_target(namespace: &Namespace, target: &Target) -> LinkTargetStatus {
    let health = namespace.health(target);
    let health = health.as_ref();
    let since = health.and_then(|health| jiff::Timestamp::try_from(health.since).ok());
    LinkTargetStatus {
        url: target.to_string(),
        up: health.map(|health| health.is_up),
        since: since.map(|since| format!("{since:.0}")),
        took_ms: health
            .filter(|health| health.is_up)
            .map(|health| u64::try_from(health.took.as_millis()).unwrap_or(u64::MAX)),
        error: health.and_then(|health| health.error.clone()),
        checks: health.map_or(0, |health| health.checks),
        failures: health.map_or(0, |health| health.failures),
    }
}

impl Component for Links {
    fn report(&self, status: &mut Status) {
        status.links = self.status();
    }

    fn count(&self, held: &mut ResourceCounts) {
        held.links = self.status();
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        self.take_over(current);
        let problems = self.placed.lock();
        let line = |(path, why): (&String, &String)| format!("clients do not see the link {path}: {why}");
        problems.problems.iter().map(line).collect()
    }
}
