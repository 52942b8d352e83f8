//! Schedules on a real file system: numbers, holds, the floor of free space, crashes.

use std::cell::Cell;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use snapshots::{Dataset, Refusal, Report, Schedule, steps};

use crate::scene::{at, names};

/// Where snapshots cost nothing: a folder that stands in for CephFS.
fn dataset() -> (tempfile::TempDir, Dataset) {
    // In memory, if the host has such a folder: a rotation waits for the disk at each step.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    std::fs::create_dir(folder.path().join(".snap")).unwrap();
    let dataset = Dataset::ceph(folder.path());
    (folder, dataset)
}

fn hour(number: u64) -> SystemTime {
    SystemTime::from("2026-11-23T00:00:10Z".parse::<Timestamp>().unwrap())
        + Duration::from_secs(3600 * number)
}

fn keep(dataset: &Dataset, schedule: &str, now: SystemTime) -> Result<Report, Refusal> {
    dataset.keep(&schedule.parse::<Schedule>().unwrap(), now, &TimeZone::UTC)
}

#[test]
fn the_newest_is_number_0_and_the_oldest_goes() {
    let (_folder, dataset) = dataset();
    for number in 0..5 {
        let report = keep(&dataset, "hourly:3 nightly:2", hour(number)).unwrap();
        assert!(report.taken.contains(&"hourly.0".to_owned()), "{report:?}");
        assert_eq!(report.removed.len(), usize::from(number >= 3), "{report:?}");
        // The same hour again changes nothing.
        let again = keep(&dataset, "hourly:3 nightly:2", hour(number) + Duration::from_secs(60)).unwrap();
        assert_eq!(again, Report::default());
    }
    assert_eq!(names(&dataset), ["hourly.0", "hourly.1", "hourly.2", "nightly.0"]);
    let times = [4, 3, 2, 0].map(hour);
    assert_eq!(dataset.list().unwrap().iter().map(|one| one.created).collect::<Vec<_>>(), times);
    // A smaller count removes the oldest, also if nothing is due.
    let report = keep(&dataset, "hourly:1", hour(4) + Duration::from_secs(99)).unwrap();
    let removed: Vec<_> = report.removed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(removed, ["hourly.2", "hourly.1"]);
    assert_eq!(report.removed[0].1, "the schedule keeps 1 of hourly");
    assert_eq!(names(&dataset), ["hourly.0", "nightly.0"]);
}

#[test]
fn held_ones_leave_the_numbering_and_go_after_their_release() {
    let (_folder, dataset) = dataset();
    keep(&dataset, "hourly:2", hour(0)).unwrap();
    dataset.hold("hourly.0", "audit").unwrap();
    keep(&dataset, "hourly:2", hour(1)).unwrap();
    let report = keep(&dataset, "hourly:2", hour(2)).unwrap();
    let aside = "hourly-20261123T000010Z".to_owned();
    assert_eq!(report.set_aside, [("hourly.2".to_owned(), aside.clone())]);
    assert_eq!(names(&dataset), ["hourly.0", "hourly.1", &aside]);
    keep(&dataset, "hourly:2", hour(3)).unwrap();
    assert_eq!(dataset.snapshot(&aside).unwrap().held, ["audit"]);
    dataset.release(&aside, "audit").unwrap();
    let report = keep(&dataset, "hourly:2", hour(3)).unwrap();
    assert_eq!(report.removed[0].0, aside);
    assert_eq!(names(&dataset), ["hourly.0", "hourly.1"]);
}

#[test]
fn a_floor_of_free_space_removes_the_oldest_that_are_not_held() {
    let (_folder, dataset) = dataset();
    for number in 0..5 {
        dataset.create(&format!("n{number}"), at(number)).unwrap();
    }
    dataset.hold("n1", "audit").unwrap();
    let free = Cell::new(0);
    let measure = || Ok(free.replace(free.get() + 10));
    let report = dataset.make_room_by(20, measure).unwrap();
    assert_eq!(names(&dataset), ["n4", "n3", "n1"]);
    assert_eq!(report.removed[0], ("n0".into(), "0 bytes were free, less than the floor of 20".into()));
    assert_eq!((report.removed[1].0.as_str(), report.warnings.len()), ("n2", 0));
    // The newest and the held one stay, and the report says that the floor is not kept.
    let report = dataset.make_room_by(20, || Ok(5)).unwrap();
    assert_eq!(names(&dataset), ["n4", "n1"]);
    assert!(report.warnings[0].contains("no snapshot is left that may be removed"), "{report:?}");
}

/// Stops a rotation after each of its steps. No snapshot newer than the oldest is lost, numbers stay
/// in the order of age, and the next run brings about what the stopped one would have.
#[test]
fn a_crash_between_two_steps_of_a_rotation_loses_nothing() {
    let (mut stops, mut is_done) = (0, false);
    while !is_done {
        let (folder, dataset) = dataset();
        (0..4).for_each(|number| drop(keep(&dataset, "hourly:4", hour(number)).unwrap()));
        dataset.hold("hourly.3", "audit").unwrap();
        steps::stop_after(stops);
        let done = keep(&dataset, "hourly:4", hour(4));
        steps::go_on();
        is_done = done.is_ok();
        assert!(is_done || matches!(done, Err(Refusal::Stopped)), "{done:?}");

        let next = Dataset::ceph(folder.path());
        next.recover().unwrap();
        let all = next.list().unwrap();
        for number in 0..4 {
            assert!(all.iter().any(|one| one.created == hour(number)), "{stops}: {number} is lost");
        }
        let numbers: Vec<u32> =
            all.iter().filter_map(|one| one.name.strip_prefix("hourly.")?.parse().ok()).collect();
        assert!(numbers.is_sorted(), "{stops}: {numbers:?}");
        keep(&next, "hourly:4", hour(4) + Duration::from_secs(60)).unwrap();
        let want = ["hourly.0", "hourly.1", "hourly.2", "hourly.3", "hourly-20261123T000010Z"];
        assert_eq!(names(&next), want, "{stops}");
        let times: Vec<_> = next.list().unwrap().iter().map(|one| one.created).collect();
        let first = times[0];
        assert!(first == hour(4) || first == hour(4) + Duration::from_secs(60), "{stops}");
        assert_eq!(times[1..], [3, 2, 1, 0].map(hour), "{stops}");
        assert_eq!(next.snapshot(want[4]).unwrap().held, ["audit"], "{stops}");
        stops += 1;
        assert!(stops < 60);
    }
    assert!(stops > 10, "{stops}");
}
