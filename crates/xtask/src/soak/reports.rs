//! The pages of docs/reports, made anew. Each report has a time limit: what is not measured until then is missing in it, and it says so.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::server::{LUNS, SoakProtocol, SoakServer};
use crate::process::{self, Running};
use crate::{isolate, server};
use ReportTarget::{Local, Served};
use SoakProtocol::{Afp, Iscsi, Nfs, Smb};

/// Where the reports are in the repository.
const PAGES: &str = "docs/reports";
/// Where the share, its neighbour on the same disk and the raw data are while reports are made: the reports name these paths.
const PLACE: &str = "/srv";
const LOCAL: &str = "local";
const SHARE: &str = "share";
/// GiB of the LUN.
const LUN: u64 = 8;
/// How long a measurement may take to remove its files after it was interrupted.
const ENDED_WITHIN: Duration = Duration::from_secs(600);
/// Bytes that ten clients of the suite ballstate need at full scale, and the part of the free space that a report may use.
const LARGEST_SUITE: f64 = 100e9;
const USABLE: f64 = 0.6;

/// A report.
struct Report {
    name: &'static str,
    targets: &'static [ReportTarget],
    words: &'static str,
    scale: f64,
    /// It needs as many bytes at full scale as the largest suite.
    is_large: bool,
}

#[derive(Clone, Copy)]
enum ReportTarget {
    Local,
    Served(SoakProtocol),
}

impl ReportTarget {
    fn url(self, soak: &SoakServer) -> String {
        match self {
            Local => format!("file://{PLACE}/{LOCAL}"),
            Served(protocol) => soak.url(protocol, LUNS[0]),
        }
    }

    /// Its URL for the list of reports.
    fn form(self) -> String {
        match self {
            Local => "file:///…".to_owned(),
            Served(protocol) => format!("{}://…", protocol.name()),
        }
    }
}

const FILES: &[ReportTarget] = &[Local, Served(Smb), Served(Afp), Served(Nfs)];
const ALL: &[ReportTarget] = &[Local, Served(Smb), Served(Afp), Served(Nfs), Served(Iscsi)];

const REPORTS: [Report; 8] = [
    report("side-by-side", ALL, "--clients 1,5,10", 1.0),
    Report { is_large: true, ..report("ballstate", FILES, "--suite ballstate", 1.0) },
    report("readynas", FILES, "--suite readynas", 1.0),
    report("macbook", FILES, "--suite macbook", 1.0),
    report("aws95", FILES, "--suite aws95", 1.0),
    report("zfs-iscsi", &[Local, Served(Iscsi)], "--suite zfs-iscsi", 1.0),
    report(
        "links",
        &[Served(Smb), Served(Nfs)],
        "--link none,100M,1G,wifi-g --workload seq-read,enumerate",
        0.05,
    ),
    report("mount-options", &[Served(Nfs)], "--sweep nfs", 0.3),
];

const fn report(
    name: &'static str,
    targets: &'static [ReportTarget],
    words: &'static str,
    scale: f64,
) -> Report {
    Report { name, targets, words, scale, is_large: false }
}

#[derive(clap::Args)]
pub struct ReportsArgs {
    /// Only these, such as `ballstate`
    only: Vec<String>,
    /// A factor for the scale of each report
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// The longest time of each report
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=1440))]
    minutes: u64,
    /// The folder for the files that are measured: on the disk that is meant, and empty
    #[arg(long, value_name = "DIR")]
    folder: Option<std::path::PathBuf>,
    /// Write the pages here instead of docs/reports
    #[arg(long, value_name = "DIR")]
    pages: Option<std::path::PathBuf>,
}

pub fn run(args: &ReportsArgs) -> Result<()> {
    ensure!(isolate::is_isolated(), "as root only, and where namespaces may be made");
    let is_meant =
        |report: &&Report| args.only.is_empty() || args.only.iter().any(|name| name == report.name);
    if let Some(unknown) = args.only.iter().find(|name| REPORTS.iter().all(|report| report.name != **name)) {
        let names: Vec<&str> = REPORTS.iter().map(|report| report.name).collect();
        bail!("there is no report {unknown:?}; there are: {}", names.join(", "));
    }
    let place = match &args.folder {
        Some(folder) => folder.clone(),
        None => process::fresh_folder("soak-reports")?,
    };
    process::stdout_of("mount", &["--bind", &place.to_string_lossy(), PLACE], Duration::from_secs(10))?;
    let place = Path::new(PLACE);
    for folder in [LOCAL, SHARE] {
        std::fs::create_dir_all(place.join(folder))?;
    }
    let soak = SoakServer::start(place, place.join(SHARE), LUN, "")?;
    let pages = args.pages.clone().unwrap_or_else(|| process::root().join(PAGES));
    std::fs::create_dir_all(&pages)?;
    for report in REPORTS.iter().filter(is_meant) {
        let (scale, begun) = (scale_of(report, args.scale, place)?, Instant::now());
        let is_whole = report.make(&soak, scale, Duration::from_secs(60 * args.minutes))?;
        let page = format!("{}.html", report.name);
        std::fs::copy(place.join(&page), pages.join(&page))
            .with_context(|| format!("{} was not written", page))?;
        let line = report.line(scale);
        let list = pages.join("README.md");
        if let Ok(text) = std::fs::read_to_string(&list) {
            std::fs::write(&list, with_line(&text, report.name, &line))?;
        }
        let note = if is_whole { "" } else { "; the time was over, and it is not whole" };
        println!("{line}\n    {} s{note}", begun.elapsed().as_secs());
    }
    Ok(())
}

/// The scale of a report: as wanted, and so that its files fit on the disk.
fn scale_of(report: &Report, factor: f64, place: &Path) -> Result<f64> {
    let wanted = report.scale * factor;
    if !report.is_large {
        return Ok(wanted);
    }
    let space = rustix::fs::statvfs(place)?;
    let free = space.f_bavail as f64 * space.f_frsize as f64;
    Ok(wanted.min((USABLE * free / LARGEST_SUITE * 100.0).floor() / 100.0))
}

impl Report {
    /// Measures. Returns whether all of it was measured in time.
    fn make(&self, soak: &SoakServer, scale: f64, limit: Duration) -> Result<bool> {
        let urls: Vec<String> = self.targets.iter().map(|target| target.url(soak)).collect();
        let scale = scale.to_string();
        let program = server::binary().to_string_lossy().into_owned();
        let mut words = vec!["-C", PLACE, &program, "bench"];
        words.extend(urls.iter().map(String::as_str));
        words.extend(self.words.split(' '));
        words.extend(["--scale", &scale, "--password-file", "password", "--server-folder", SHARE]);
        words.extend(["--seed", "7", "--timeout", "300", "--output", self.name]);
        let log = std::fs::File::create(Path::new(PLACE).join(self.name).with_extension("log"))?;
        let mut running = Running::start("env", &words, Stdio::from(log.try_clone()?), Stdio::from(log))?;
        let end = Instant::now() + limit;
        while running.still_up().is_ok() {
            if Instant::now() > end {
                ensure!(running.interrupt(ENDED_WITHIN), "{} does not end", self.name);
                return Ok(false);
            }
            std::thread::sleep(Duration::from_secs(1));
        }
        Ok(true)
    }

    /// Its line in the list of reports.
    fn line(&self, scale: f64) -> String {
        let targets: Vec<String> = self.targets.iter().map(|target| target.form()).collect();
        let (name, words) = (self.name, self.words);
        format!("| [{name}.html]({name}.html) | `{} {words} --scale {scale}` |", targets.join(" "))
    }
}

/// The list of reports with another line for one of them.
fn with_line(list: &str, name: &str, line: &str) -> String {
    let start = format!("| [{name}.html]");
    let lines = list.lines().map(|old| if old.starts_with(&start) { line } else { old });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_report_of_the_list_can_be_made() {
        let list = std::fs::read_to_string(process::root().join(PAGES).join("README.md")).unwrap();
        let listed = list.lines().filter_map(|line| line.strip_prefix("| [")?.split_once(".html]"));
        let listed: Vec<&str> = listed.map(|(name, _)| name).collect();
        assert_eq!(listed, REPORTS.map(|report| report.name));
    }

    #[test]
    fn the_line_of_a_report_is_replaced_and_no_other() {
        let list = "# Reports\n| [a.html](a.html) | `old` |\n| [b.html](b.html) | `old` |\n";
        let text = with_line(list, "b", "| [b.html](b.html) | `new` |");
        assert_eq!(text, "# Reports\n| [a.html](a.html) | `old` |\n| [b.html](b.html) | `new` |\n");
    }
}
