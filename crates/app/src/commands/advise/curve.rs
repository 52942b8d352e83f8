//! Load curves of a measurement, and what they carry.

use std::collections::BTreeMap;

use admin::control::LoadCurve;
use bench::record::{MeasuredRun, Record};
use bench::{Durability, Residency, Unit};

/// The most clients of a measurement that is believed.
const MOST_CLIENTS: u32 = 100_000;
/// The workload that tells best what users get, and the others in this order.
const PREFERRED: [&str; 3] = ["seq-read", "video", "small-read-1K"];

/// The speed of one target by the number of clients.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    pub(super) target: String,
    pub(super) workload: String,
    /// Numbers of clients, and bytes per second of all of them together: the medians of the repeats.
    pub(super) points: Vec<(usize, f64)>,
}

impl From<&Curve> for LoadCurve {
    fn from(curve: &Curve) -> Self {
        let point =
            |(clients, speed): &(usize, f64)| (u32::try_from(*clients).unwrap_or(u32::MAX), *speed as u64);
        Self {
            target: curve.target.clone(),
            workload: curve.workload.clone(),
            points: curve.points.iter().map(point).collect(),
        }
    }
}

impl TryFrom<LoadCurve> for Curve {
    type Error = String;

    /// The points in their order, one for each number of clients.
    fn try_from(curve: LoadCurve) -> Result<Self, String> {
        let LoadCurve { target, workload, points } = curve;
        if let Some((clients, _)) = points.iter().find(|(clients, _)| !(1..=MOST_CLIENTS).contains(clients)) {
            return Err(format!("{clients} clients of {target}: a load curve has 1 to {MOST_CLIENTS}"));
        }
        let points: BTreeMap<usize, f64> =
            points.into_iter().map(|(clients, speed)| (clients as usize, speed as f64)).collect();
        Ok(Self { target, workload, points: points.into_iter().collect() })
    }
}

/// How many users a curve carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UserCapacity {
    pub(super) users: usize,
    /// More than the largest number of clients that was measured: by the speed of that one.
    pub(super) is_extrapolated: bool,
}

/// The curves of all targets and workloads in bytes, of the first state of the cache and the first durability.
pub(super) fn curves(records: &[Record]) -> Vec<Curve> {
    let mut kinds: Vec<(&MeasuredRun, BTreeMap<usize, Vec<f64>>)> = Vec::new();
    let runs = records.iter().filter_map(|record| match record {
        Record::Run(run) if run.unit() == Unit::Bytes && !run.cut_short => Some(&**run),
        _ => None,
    });
    for run in runs {
        let same = |(first, _): &&mut (&MeasuredRun, _)| {
            (&first.target, &first.workload) == (&run.target, &run.workload)
        };
        let at = match kinds.iter_mut().find(same) {
            Some(kind) => kind,
            None => {
                kinds.push((run, BTreeMap::new()));
                let Some(last) = kinds.last_mut() else { continue };
                last
            }
        };
        let of = |run: &MeasuredRun| -> (Residency, Durability) { (run.cache, run.durability) };
        if of(at.0) == of(run) {
            at.1.entry(run.clients).or_default().push(run.rate());
        }
    }
    let curve = |(run, rates): (&MeasuredRun, BTreeMap<usize, Vec<f64>>)| Curve {
        target: run.target.clone(),
        workload: run.workload.clone(),
        points: rates.into_iter().map(|(clients, rates)| (clients, median(rates))).collect(),
    };
    kinds.into_iter().map(curve).collect()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    let middle = rates.len() / 2;
    match rates.len() % 2 {
        0 => (rates[middle - 1] + rates[middle]) / 2.0,
        _ => rates[middle],
    }
}

/// The curves of one workload, the one that tells most.
pub(super) fn most_telling(curves: &[Curve]) -> Vec<&Curve> {
    let has = |name: &&&str| curves.iter().any(|curve| curve.workload == **name);
    let workload = PREFERRED.iter().find(has).map(|name| (*name).to_owned());
    let workload = workload.or_else(|| curves.first().map(|curve| curve.workload.clone()));
    curves.iter().filter(|curve| Some(&curve.workload) == workload.as_ref()).collect()
}

impl Curve {
    /// How many users get at least so many bytes per second each.
    pub(super) fn carries(&self, floor: f64) -> UserCapacity {
        let nothing = UserCapacity { users: 0, is_extrapolated: false };
        let Some((last, speed)) = self.points.last().copied() else { return nothing };
        if speed / last as f64 >= floor {
            let users = ((speed / floor) as usize).max(last);
            return UserCapacity { users, is_extrapolated: users > last };
        }
        // The last of the measured numbers that has the floor; from there on the speed follows the line to the next one.
        let Some(at) = self.points.iter().rposition(|(clients, speed)| speed / *clients as f64 >= floor)
        else {
            return nothing;
        };
        let ((from, low), (to, high)) = (self.points[at], self.points[at + 1]);
        let on_line = |users: usize| low + (high - low) * (users - from) as f64 / (to - from) as f64;
        let users = (from..to).rev().find(|users| on_line(*users) / *users as f64 >= floor).unwrap_or(from);
        UserCapacity { users, is_extrapolated: false }
    }

    /// The best speed of all clients together.
    pub(super) fn best(&self) -> f64 {
        self.points.iter().map(|(_, speed)| *speed).fold(0.0, f64::max)
    }

    /// The number of clients from which on more of them only share the speed.
    pub(super) fn knee(&self) -> Option<usize> {
        bench::stats::knee(&self.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(usize, f64)]) -> Curve {
        Curve { target: "smb://h/s".into(), workload: "seq-read".into(), points: points.to_vec() }
    }

    /// Apple's measurement of 1993, in KB/s: 585 with one client, 850 with five and with fifty.
    #[test]
    fn apples_server_of_1993_carries_56_users_at_15_kilobytes_a_second() {
        let apple = curve(&[(1, 585e3), (5, 850e3), (50, 850e3)]);
        assert_eq!(apple.carries(15e3), UserCapacity { users: 56, is_extrapolated: true });
        assert_eq!(apple.carries(17e3), UserCapacity { users: 50, is_extrapolated: false }, "17 KB/s each");
        assert_eq!(apple.carries(170e3).users, 5);
        assert_eq!(apple.carries(100e3).users, 8, "850 / 8 = 106, 850 / 9 = 94");
        assert_eq!((apple.knee(), apple.best()), (Some(5), 850e3));
    }

    #[test]
    fn a_curve_that_is_sent_has_its_points_in_order_and_a_limit() {
        let sent = |points: &[(u32, u64)]| LoadCurve {
            target: "smb://h/s".into(),
            workload: "seq-read".into(),
            points: points.to_vec(),
        };
        let apple = curve(&[(1, 585e3), (5, 850e3), (50, 850e3)]);
        assert_eq!(LoadCurve::from(&apple), sent(&[(1, 585_000), (5, 850_000), (50, 850_000)]));
        let shuffled = Curve::try_from(sent(&[(50, 850_000), (1, 585_000), (5, 850_000), (5, 850_000)]));
        assert_eq!(shuffled, Ok(apple));
        for clients in [0, MOST_CLIENTS + 1, u32::MAX] {
            assert!(Curve::try_from(sent(&[(clients, 1)])).is_err(), "{clients}");
        }
    }

    #[test]
    fn a_floor_above_the_speed_of_one_client_carries_none() {
        assert_eq!(curve(&[(1, 585e3), (5, 850e3)]).carries(600e3).users, 0);
        assert_eq!(curve(&[]).carries(1.0).users, 0);
    }

    #[test]
    fn a_falling_curve_carries_fewer() {
        let falling = curve(&[(1, 400e3), (10, 400e3), (50, 210e3)]);
        assert_eq!(falling.carries(15e3).users, 22, "343 KB/s by the line: 15.6 each; 23 have 14.7");
    }
}
