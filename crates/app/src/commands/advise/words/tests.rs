use admin::control::{HostMemory, PredictedRatios, TrafficStatus};

use super::*;

fn directory(same: f64, double: f64) -> CacheStatus {
    CacheStatus {
        name: "directory".into(),
        unit: "bytes".into(),
        limit: 64 << 20,
        bytes: 60 << 20,
        entries: 250_000,
        hits: 800,
        misses: 200,
        hit_ratio: Some(0.8),
        saved_ms: 4_000,
        predicted: Some(PredictedRatios { half: same / 2.0, same, double, four_times: double }),
        ..CacheStatus::default()
    }
}

fn facts(caches: Vec<CacheStatus>) -> Facts {
    let host = HostMemory {
        usable: 16 << 30,
        total: 16 << 30,
        available: 8 << 30,
        page_cache: 4 << 30,
        ..HostMemory::default()
    };
    let status = CachesStatus { caches, host, part: 1.0, budget: 2 << 30, ..CachesStatus::default() };
    Facts { status, users: 0, files: None, curves: Vec::new(), floor: 1e6 }
}

fn of(facts: &Facts, topic: &str) -> String {
    all(facts).into_iter().find(|advice| advice.topic == topic).unwrap().text.join("\n")
}

#[test]
fn a_directory_cache_that_is_too_small_is_named_with_its_gain() {
    let facts = facts(vec![directory(0.8, 0.9)]);
    let said = of(&facts, "memory");
    assert!(said.contains("with twice the limit (128 MiB) it would answer 90.0 %, not 80.0 %"), "{said}");
    assert!(said.contains("saved 0.5 s more") && said.contains("no memory must be bought"), "{said}");
    let next = of(&facts, "next");
    assert!(next.starts_with("fourfold caches set directory=128M --keep: 10.0 % of its look-ups"), "{next}");
}

#[test]
fn where_the_machine_is_full_memory_comes_first() {
    let mut facts = facts(vec![directory(0.8, 0.9)]);
    facts.status.host.available = 100 << 20;
    let said = of(&facts, "memory");
    assert!(said.contains("has only 100 MiB available, so it needs more memory first"), "{said}");
}

#[test]
fn caches_that_gain_nothing_need_no_memory() {
    let said = of(&facts(vec![directory(0.8, 0.81)]), "memory");
    assert!(said.starts_with("More memory would not help"), "{said}");
}

#[test]
fn a_server_without_traffic_is_not_judged() {
    let facts = facts(Vec::new());
    assert!(of(&facts, "memory").starts_with("It cannot be told yet"), "{}", of(&facts, "memory"));
    assert!(of(&facts, "read-write").starts_with("Too little traffic"));
    assert!(of(&facts, "users").contains("no load curve was given"));
    assert!(of(&facts, "next").contains("Measure a load curve"));
}

#[test]
fn files_that_come_back_from_the_disk_need_memory() {
    let mut facts = facts(vec![directory(0.8, 0.8)]);
    facts.status.host.refaults_per_s = 10_000.0;
    let said = of(&facts, "memory");
    assert!(said.contains("41.0 MB/s of files are read from the disk again"), "{said}");
    assert!(of(&facts, "next").contains("up to 41.0 MB/s of reads"));
    facts.status.host.pressure_some = Some(0.2);
    assert!(of(&facts, "memory").starts_with("More memory would not help"), "nothing waits for them");
}

#[test]
fn pressure_comes_before_larger_caches() {
    let mut facts = facts(vec![directory(0.5, 0.9)]);
    facts.status.host.pressure_some = Some(25.0);
    facts.status.part = 0.25;
    let said = of(&facts, "memory");
    assert!(said.starts_with("More memory would help: tasks waited for memory in 25.0 %"), "{said}");
    let next = of(&facts, "next");
    assert!(
        next.starts_with("Take other programs off the machine") && !next.contains("caches set"),
        "{next}"
    );
}

#[test]
fn the_ratio_of_reads_to_writes_is_the_sites_own() {
    let mut facts = facts(Vec::new());
    facts.status.traffic = TrafficStatus {
        reads: 500,
        read_bytes: 25 << 30,
        writes: 100,
        written_bytes: 1 << 30,
        ..TrafficStatus::default()
    };
    let said = of(&facts, "read-write");
    assert!(said.contains("25.0:1 by bytes (25 GiB read, 1 GiB written), 5.0:1 by operations"), "{said}");
    assert!(said.contains("The site reads: memory for the page cache"), "{said}");
    facts.status.traffic = TrafficStatus {
        reads: 50,
        read_bytes: 1 << 20,
        writes: 100,
        written_bytes: 4 << 20,
        ..TrafficStatus::default()
    };
    let said = of(&facts, "read-write");
    assert!(said.contains("1:4.0 by bytes") && said.contains("The site writes"), "{said}");
}

#[test]
fn users_and_video_follow_from_the_load_curve() {
    let mut facts = facts(Vec::new());
    let points = vec![(1, 100e6), (5, 300e6), (10, 300e6), (50, 300e6)];
    facts.curves = vec![Curve { target: "smb://h/s".into(), workload: "seq-read".into(), points }];
    facts.users = 3;
    let said = of(&facts, "users");
    let expected = "smb://h/s carries 300 active users who have 1.0 MB/s each (measured with 50, the rest by their speed); all \
                    together have 300.0 MB/s at most, and from 5 on more of them only share it (seq-read).";
    assert!(said.starts_with(expected) && said.ends_with("3 users are connected now."), "{said}");
    let video = of(&facts, "video");
    assert!(
        video.contains("SD uncompressed (720×576, 8 bits RGB), 31.1 MB/s: 7"),
        "300 / (31.1 × 1.25): {video}"
    );
    assert!(video.contains("4K uncompressed (3840×2160, 10 bits 4:2:2), 553.0 MB/s: none"), "{video}");
}

#[test]
fn the_rules_of_1993_are_computed_for_this_machine() {
    let mut facts = facts(vec![directory(0.8, 0.8)]);
    (facts.users, facts.files) = (50, Some(10_000));
    let said = of(&facts, "rules of 1993");
    assert!(said.contains("3 MiB for 50"), "3.2 MB: a KB of the guide has 1,000 bytes: {said}");
    assert!(said.contains("1.9 MiB for the 10000 files and folders"), "the guide says 2 MB: {said}");
    assert!(said.contains("251 bytes for each of the 250000 entries"), "{said}");
    assert!(said.contains("16 GiB are usable"), "{said}");
}
