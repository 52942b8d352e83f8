//! The slowest operations of the last minutes, for all who ask; with `record-slowest` of the last day, also over a restart.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use admin::control::SlowOperation;
use auth::durable;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use lock::Mutex;
use serde::{Deserialize, Serialize};
use vfs::backend::host::as_ourselves;

use crate::Api;
use crate::answer::{Failure, blocking};
use crate::ranks;

/// Operations that are kept.
const MOST: usize = 100;
/// How many seconds they are kept, and with a recording.
const KEPT_FOR: u64 = 600;
const RECORDED_FOR: u64 = 86_400;
/// The file of a recording in the state folder, and the largest that is read.
const FILE: &str = "slowest.json";
const LARGEST: u64 = 1 << 20;
/// Seconds between two looks of a recording, and between two writes of its file.
const LOOK_EVERY: u64 = 5;
const WRITE_EVERY: u64 = 60;

/// The slowest operations that were told.
#[derive(Debug, Default)]
pub(crate) struct Slowest(Mutex<SlowestKept, ranks::ApiSlowest>);

#[derive(Debug, Default)]
struct SlowestKept {
    /// The slowest first.
    all: VecDeque<KeptOperation>,
    /// When a recording has looked, and has written, in seconds since 1970; 0: never.
    looked: u64,
    wrote: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptOperation {
    /// When it was told, in seconds since 1970.
    at: u64,
    operation: SlowOperation,
}

impl Slowest {
    /// Adds operations, and answers with all that are kept, the slowest first.
    fn with(&self, new: Vec<SlowOperation>, now: u64, kept_for: u64) -> Vec<SlowOperation> {
        let mut kept = self.0.lock();
        kept.all.retain(|one| now.saturating_sub(one.at) < kept_for);
        for operation in new {
            let place = kept.all.partition_point(|other| other.operation.micros >= operation.micros);
            kept.all.insert(place, KeptOperation { at: now, operation });
        }
        kept.all.truncate(MOST);
        kept.all.iter().map(|one| one.operation.clone()).collect()
    }

    /// Whether a recording looks now, and whether it writes; the first look reads what an earlier server has written.
    fn due(&self, state: &Path, now: u64) -> (bool, bool) {
        let mut kept = self.0.lock();
        if now.abs_diff(kept.looked) < LOOK_EVERY {
            return (false, false);
        }
        if kept.looked == 0 {
            kept.all.extend(read(state));
            kept.all.make_contiguous().sort_by_key(|one| std::cmp::Reverse(one.operation.micros));
            kept.wrote = now;
        }
        kept.looked = now;
        let writes = now.abs_diff(kept.wrote) >= WRITE_EVERY;
        if writes {
            kept.wrote = now;
        }
        (true, writes)
    }

    fn write(&self, state: &Path) {
        let all = self.0.lock().all.clone();
        let wrote = durable::replace(&state.join(FILE), &serde_json::to_vec(&all).unwrap_or_default());
        if let Err(error) = wrote {
            tracing::warn!(%error, "the slowest operations are not kept over a restart");
        }
    }
}

fn read(state: &Path) -> Vec<KeptOperation> {
    let path = state.join(FILE);
    if path.metadata().is_ok_and(|found| found.len() > LARGEST) {
        return Vec::new();
    }
    std::fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Records, if it is time. It blocks. `ends`: the server stops.
pub(crate) fn record(api: &Api, ends: bool) {
    let state = api.guard.state().to_owned();
    let work = || {
        let now = now();
        let (looks, writes) = api.slowest.due(&state, now);
        if looks || ends {
            api.slowest.with(api.report.slowest(), now, RECORDED_FOR);
        }
        if writes || ends {
            api.slowest.write(&state);
        }
    };
    if let Err(error) = as_ourselves(work) {
        tracing::warn!(%error, "the slowest operations are not recorded");
    }
}

/// The slowest operations of the last ten minutes in which somebody asked, with where their time went. The first request
/// begins to keep them, and they are kept while requests come at least every ten seconds. With `record-slowest` they are those of the
/// last day, whether somebody asks or not.
#[utoipa::path(get, path = "/v1/slowest", security(("token" = ["read"])), responses((status = 200, description = "The operations, the slowest first", body = Vec<SlowOperation>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn slowest(State(api): State<Api>) -> Result<Response, Failure> {
    let work = move || {
        let kept_for = if api.manage.records_slowest() { RECORDED_FOR } else { KEPT_FOR };
        api.slowest.with(api.report.slowest(), now(), kept_for)
    };
    Ok(Json(blocking(work).await?).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taking(micros: u64) -> SlowOperation {
        SlowOperation {
            protocol: "nfs".into(),
            client: "192.0.2.7:700".parse().unwrap(),
            user: String::new(),
            share: String::new(),
            command: "READ".into(),
            path: String::new(),
            result: "OK".into(),
            micros,
            leases_micros: 0,
            permits_micros: 0,
            queue_micros: 0,
            disk_micros: 0,
            other_micros: micros,
        }
    }

    fn micros(all: Vec<SlowOperation>) -> Vec<u64> {
        all.iter().map(|one| one.micros).collect()
    }

    #[test]
    fn the_slowest_come_first_and_old_ones_go() {
        let (slowest, start) = (Slowest::default(), 1_000);
        assert_eq!(micros(slowest.with(vec![taking(5), taking(9)], start, KEPT_FOR)), [9, 5]);
        let later = start + KEPT_FOR / 2;
        let all = micros(slowest.with(vec![taking(7)], later, KEPT_FOR));
        assert_eq!(all, [9, 7, 5], "another one who asks sees all");
        assert_eq!(micros(slowest.with(Vec::new(), start + KEPT_FOR, KEPT_FOR)), [7]);
        let many = (0..3 * MOST as u64).map(taking).collect();
        let all = slowest.with(many, later, KEPT_FOR);
        assert_eq!((all.len(), all[0].micros), (MOST, 299));
    }

    #[test]
    fn a_recording_goes_on_after_a_restart() {
        let (state, now) = (tempfile::tempdir().unwrap(), 10_000);
        let first = Slowest::default();
        assert_eq!(first.due(state.path(), now), (true, false));
        assert_eq!(first.due(state.path(), now + LOOK_EVERY - 1), (false, false));
        first.with(vec![taking(5), taking(9)], now, RECORDED_FOR);
        assert_eq!(first.due(state.path(), now + WRITE_EVERY), (true, true));
        first.write(state.path());
        let second = Slowest::default();
        second.with(vec![taking(7)], now + 3_600, RECORDED_FOR);
        assert!(second.due(state.path(), now + 3_600).0);
        assert_eq!(micros(second.with(Vec::new(), now + 3_600, RECORDED_FOR)), [9, 7, 5]);
        assert_eq!(micros(second.with(Vec::new(), now + RECORDED_FOR, RECORDED_FOR)), [7]);
        std::fs::write(state.path().join(FILE), "[{").unwrap();
        assert!(read(state.path()).is_empty(), "a file that is damaged says nothing");
    }
}
