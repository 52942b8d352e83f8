//! Answers of smartctl 7.1 and later, with the figures of real disks that others have published.

use serde_json::json;

use super::*;

fn judged(said: &Value) -> DiskStatus {
    disk("/dev/sdc", said, &DiskHealth::default())
}

fn attribute(id: u64, name: &str, raw: u64, when_failed: &str) -> Value {
    json!({ "id": id, "name": name, "value": 1, "thresh": 5, "when_failed": when_failed, "raw": { "value": raw } })
}

/// A disk of 65,592 hours that has replaced 1,975 sectors.
fn worn_out() -> Value {
    json!({
        "smartctl": { "version": [7, 1], "exit_status": 216 },
        "model_name": "Hitachi HDS721050DLE630",
        "serial_number": "MSK423Y20S3HBC",
        "user_capacity": { "blocks": 976_773_168, "bytes": 500_107_862_016_u64 },
        "rotation_rate": 7200,
        "smart_status": { "passed": false },
        "ata_smart_attributes": { "revision": 16, "table": [
            attribute(1, "Raw_Read_Error_Rate", 0, ""),
            attribute(5, "Reallocated_Sector_Ct", 1975, "now"),
            attribute(194, "Temperature_Celsius", 167_504_969_753, ""),
            attribute(197, "Current_Pending_Sector", 8, ""),
            attribute(198, "Offline_Uncorrectable", 0, ""),
        ] },
        "power_on_time": { "hours": 65_592 },
        "temperature": { "current": 25 },
    })
}

#[test]
fn a_disk_that_says_it_fails_is_failing() {
    let disk = judged(&worn_out());
    assert_eq!((&*disk.model, &*disk.serial), ("Hitachi HDS721050DLE630", "MSK423Y20S3HBC"));
    assert_eq!((disk.size, disk.temperature, disk.hours), (Some(500_107_862_016), Some(25), Some(65_592)));
    assert_eq!(disk.health, Health::Failing);
    let expected = [
        "the disk itself says that it fails",
        "Reallocated_Sector_Ct is below its threshold",
        "1975 sectors were replaced",
        "8 sectors cannot be read",
    ];
    assert_eq!(disk.problems, expected);
}

#[test]
fn a_disk_that_has_lost_something_is_worn() {
    let mut ata = worn_out();
    ata["smart_status"]["passed"] = true.into();
    ata["ata_smart_attributes"]["table"] = json!([
        attribute(5, "Reallocated_Sector_Ct", 0, ""),
        attribute(197, "Current_Pending_Sector", 0x0001_0000_0000 + 3, ""),
    ]);
    let disk = judged(&ata);
    assert_eq!((disk.health, &*disk.problems[0]), (Health::Worn, "3 sectors cannot be read"));
    let scsi = judged(&json!({
        "model_name": "SEAGATE ST4000NM0043", "rotation_rate": 7200, "smart_status": { "passed": true },
        "temperature": { "current": 34, "drive_trip": 68 }, "scsi_grown_defect_list": 56,
        "scsi_error_counter_log": { "read": { "total_uncorrected_errors": 0 }, "write": { "total_uncorrected_errors": 0 } },
        "power_on_time": { "hours": 43_549, "minutes": 33 },
    }));
    assert_eq!((scsi.health, scsi.problems), (Health::Worn, vec!["56 sectors were replaced".to_owned()]));
}

#[test]
fn nvme_is_judged_by_its_warnings_its_errors_and_its_writes() {
    let nvme = |warning: u64, used: u64, errors: u64| {
        judged(&json!({
            "model_name": "INTEL SSDPEKNW010T8", "smart_status": { "passed": warning == 0, "nvme": { "value": warning } },
            "nvme_smart_health_information_log": {
                "critical_warning": warning, "temperature": 36, "percentage_used": used, "media_errors": errors,
            },
            "temperature": { "current": 36 }, "power_on_time": { "hours": 2401 },
        }))
    };
    let good = nvme(0, 0, 0);
    assert_eq!((good.health, good.used_percent, good.problems.len()), (Health::Good, Some(0), 0));
    assert_eq!(nvme(0, 89, 0).health, Health::Good);
    assert_eq!(nvme(0, 105, 0).problems, ["105 % of the writes for which it is built were made"]);
    assert_eq!(nvme(0, 0, 2).health, Health::Worn);
    let failing = nvme(0b101, 0, 0);
    assert_eq!(failing.health, Health::Failing);
    assert_eq!(failing.problems[1..], ["few spare blocks are left", "it is unreliable"]);
}

#[test]
fn heat_is_told_by_the_kind_of_the_disk() {
    let hot = |rotation: u64, degrees: i64| {
        let said = json!({ "rotation_rate": rotation, "smart_status": { "passed": true }, "temperature": { "current": degrees } });
        judged(&said).health
    };
    assert_eq!(
        (hot(7200, 59), hot(7200, 60), hot(0, 60), hot(0, 75)),
        (Health::Good, Health::Worn, Health::Good, Health::Worn)
    );
}

#[test]
fn of_a_disk_that_sleeps_counts_what_was_seen_before() {
    let asleep = json!({ "smartctl": { "exit_status": 2 }, "model_name": "x" });
    assert_eq!(judged(&asleep), DiskStatus { device: "/dev/sdc".into(), ..DiskStatus::default() });
    let before = DiskHealth { disks: vec![judged(&worn_out())], ..DiskHealth::default() };
    assert_eq!(disk("/dev/sdc", &asleep, &before).health, Health::Failing);
}

#[test]
fn answers_that_mean_nothing_say_nothing() {
    for said in
        [json!(null), json!([]), json!({ "smart_status": { "passed": "yes" } }), json!({ "temperature": 7 })]
    {
        assert_eq!(judged(&said).health, Health::Unknown, "{said}");
    }
}
