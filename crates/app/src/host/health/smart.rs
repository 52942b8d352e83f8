//! Disks, by smartmontools: `smartctl --json`.

use std::io::{ErrorKind, Read as _};
use std::process::{Command, Stdio};

use admin::control::{DiskHealth, DiskStatus, Health};
use serde_json::Value;

/// The longest answer of `smartctl`.
const LONGEST: u64 = 1 << 20;
/// The most disks that are asked.
const MOST_DISKS: usize = 128;
/// The bit of its exit status for a device that was not opened, or that sleeps with `-n standby`: smartctl(8).
const NOT_OPENED: i64 = 2;
/// Attributes of ATA whose raw value should be 0, and what they count.
const COUNTS: [(u64, &str); 3] = [
    (5, "sectors were replaced"),
    (197, "sectors cannot be read"),
    (198, "sectors could not be read in a test"),
];
/// A disk that has made so many percent of its writes is worn.
const WORN: u64 = 90;
/// Degrees Celsius at which disks with and without moving parts are too hot.
const HOT: (i64, i64) = (60, 75);

/// The disks of the machine.
pub(super) fn look(before: &DiskHealth) -> Result<Vec<DiskStatus>, String> {
    let found = ask(&["--scan"])?;
    let devices = found["devices"].as_array().cloned().unwrap_or_default();
    let disks = devices.iter().take(MOST_DISKS).filter_map(|device| {
        let (name, kind) = (text(&device["name"]), text(&device["type"]));
        let said = ask(&["-n", "standby", "-i", "-H", "-A", "-l", "error", "-d", &kind, &name]);
        Some(disk(&text(&device["info_name"]), &said.ok()?, before))
    });
    let disks: Vec<DiskStatus> = disks.collect();
    if !devices.is_empty() && disks.iter().all(|disk| disk.model.is_empty() && disk.health == Health::Unknown)
    {
        return Err("The disks do not answer to `smartctl`: only root may ask them. Enable the timer fourfold-disks.timer of the \
                    package, or run `sudo fourfold disks --keep` from time to time."
            .into());
    }
    Ok(disks)
}

/// What `smartctl` says, as JSON.
fn ask(arguments: &[&str]) -> Result<Value, String> {
    let mut command = Command::new("smartctl");
    command.arg("--json").args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            "The health of disks is not known: install the package smartmontools, which has `smartctl`."
                .to_owned()
        }
        _ => format!("`smartctl` cannot be started: {error}"),
    })?;
    let mut said = Vec::new();
    let read = child.stdout.take().map(|output| output.take(LONGEST).read_to_end(&mut said));
    let _ = child.kill(); // one that says more than that
    let _ = child.wait();
    match read {
        Some(Ok(_)) => serde_json::from_slice(&said)
            .map_err(|_| "`smartctl` gives no JSON: it is older than 7.0.".into()),
        _ => Err("`smartctl` gives no answer.".into()),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A disk, by what `smartctl` says of it.
fn disk(device: &str, said: &Value, before: &DiskHealth) -> DiskStatus {
    let known = before.disks.iter().find(|disk| disk.device == device);
    let exit = said.pointer("/smartctl/exit_status").and_then(Value::as_i64).unwrap_or_default();
    if exit & NOT_OPENED != 0 {
        return known
            .cloned()
            .unwrap_or_else(|| DiskStatus { device: device.into(), ..DiskStatus::default() });
    }
    let number = |path: &str| said.pointer(path).and_then(Value::as_u64);
    let temperature = said.pointer("/temperature/current").and_then(Value::as_i64);
    let used_percent = number("/nvme_smart_health_information_log/percentage_used")
        .or_else(|| number("/endurance_used/current_percent"));
    let mut verdict = DiskVerdict::default();
    failing(said, &mut verdict);
    worn(said, &mut verdict);
    if let Some(used) = used_percent.filter(|used| *used >= WORN) {
        verdict.add(Health::Worn, format!("{used} % of the writes for which it is built were made"));
    }
    let hottest = if number("/rotation_rate").is_some_and(|rate| rate > 0) { HOT.0 } else { HOT.1 };
    if let Some(degrees) = temperature.filter(|degrees| *degrees >= hottest) {
        verdict.add(Health::Worn, format!("it is {degrees} °C hot"));
    }
    if said.pointer("/smart_status/passed").is_some_and(Value::is_boolean) {
        verdict.health = verdict.health.max(Health::Good);
    }
    DiskStatus {
        device: device.into(),
        model: said.get("model_name").or(said.get("scsi_model_name")).map(text).unwrap_or_default(),
        serial: text(&said["serial_number"]),
        size: number("/user_capacity/bytes"),
        temperature,
        hours: number("/power_on_time/hours"),
        used_percent,
        health: verdict.health,
        problems: verdict.problems,
    }
}

#[derive(Default)]
struct DiskVerdict {
    health: Health,
    problems: Vec<String>,
}

impl DiskVerdict {
    fn add(&mut self, health: Health, problem: String) {
        self.health = self.health.max(health);
        self.problems.push(problem);
    }
}

/// What the disk itself says of its end.
fn failing(said: &Value, verdict: &mut DiskVerdict) {
    if said.pointer("/smart_status/passed") == Some(&Value::Bool(false)) {
        verdict.add(Health::Failing, "the disk itself says that it fails".into());
    }
    let warning = said.pointer("/nvme_smart_health_information_log/critical_warning").and_then(Value::as_u64);
    // NVM Express Base Specification, SMART / Health Information: bits of Critical Warning.
    let bits = [
        "few spare blocks are left",
        "it is too hot or too cold",
        "it is unreliable",
        "it is read-only",
        "its buffer has no power",
    ];
    for (bit, what) in
        bits.into_iter().enumerate().filter(|(bit, _)| warning.is_some_and(|bits| bits >> bit & 1 == 1))
    {
        let health = if bit == 1 { Health::Worn } else { Health::Failing };
        verdict.add(health, what.into());
    }
    for attribute in attributes(said).filter(|one| one["when_failed"] == "now") {
        verdict.add(Health::Failing, format!("{} is below its threshold", text(&attribute["name"])));
    }
}

/// What the disk has lost.
fn worn(said: &Value, verdict: &mut DiskVerdict) {
    for (id, what) in COUNTS {
        let found =
            attributes(said).find(|one| one["id"] == id).and_then(|one| one.pointer("/raw/value")?.as_u64());
        // Makers put other counts into the upper bytes of raw values.
        if let Some(count) = found.map(|raw| raw & 0xffff_ffff).filter(|count| *count > 0) {
            verdict.add(Health::Worn, format!("{count} {what}"));
        }
    }
    for (path, what) in [
        ("/nvme_smart_health_information_log/media_errors", "times data could not be read"),
        ("/scsi_grown_defect_list", "sectors were replaced"),
        ("/scsi_error_counter_log/read/total_uncorrected_errors", "times data could not be read"),
        ("/scsi_error_counter_log/write/total_uncorrected_errors", "times data could not be written"),
    ] {
        if let Some(count) = said.pointer(path).and_then(Value::as_u64).filter(|count| *count > 0) {
            verdict.add(Health::Worn, format!("{count} {what}"));
        }
    }
}

fn attributes(said: &Value) -> impl Iterator<Item = &Value> {
    said.pointer("/ata_smart_attributes/table").and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests;
