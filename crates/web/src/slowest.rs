//! The slowest operations of the last minutes, for all who ask.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use admin::control::SlowOperation;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use lock::Mutex;

use crate::Api;
use crate::api::{Failure, blocking};
use crate::ranks;

/// Operations that are kept.
const MOST: usize = 100;
/// How long they are kept.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// The slowest operations that were told.
#[derive(Debug, Default)]
pub(crate) struct Slowest(Mutex<VecDeque<(Instant, SlowOperation)>, ranks::ApiSlowest>);

impl Slowest {
    /// Adds operations, and answers with all that are kept, the slowest first.
    fn with(&self, new: Vec<SlowOperation>, now: Instant) -> Vec<SlowOperation> {
        let mut kept = self.0.lock();
        kept.retain(|(at, _)| now.duration_since(*at) < KEPT_FOR);
        for operation in new {
            let place = kept.partition_point(|(_, other)| other.micros >= operation.micros);
            kept.insert(place, (now, operation));
        }
        kept.truncate(MOST);
        kept.iter().map(|(_, operation)| operation.clone()).collect()
    }
}

/// The slowest operations of the last ten minutes in which somebody asked, with where their time went. The first request
/// begins to keep them, and they are kept while requests come at least every ten seconds.
#[utoipa::path(get, path = "/v1/slowest", security(("token" = ["read"])), responses((status = 200, description = "The operations, the slowest first", body = Vec<SlowOperation>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn slowest(State(api): State<Api>) -> Result<Response, Failure> {
    let all = blocking(move || api.slowest.with(api.report.slowest(), Instant::now())).await?;
    Ok(Json(all).into_response())
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

    #[test]
    fn the_slowest_come_first_and_old_ones_go() {
        let (slowest, start) = (Slowest::default(), Instant::now());
        let micros = |all: Vec<SlowOperation>| all.iter().map(|one| one.micros).collect::<Vec<_>>();
        assert_eq!(micros(slowest.with(vec![taking(5), taking(9)], start)), [9, 5]);
        let later = start + KEPT_FOR / 2;
        assert_eq!(micros(slowest.with(vec![taking(7)], later)), [9, 7, 5], "another one who asks sees all");
        assert_eq!(micros(slowest.with(Vec::new(), start + KEPT_FOR)), [7]);
        let many = (0..3 * MOST as u64).map(taking).collect();
        let all = slowest.with(many, later);
        assert_eq!((all.len(), all[0].micros), (MOST, 299));
    }
}
