//! `fourfold bench`: measures file servers.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use bench::record::Record;
use bench::report::{self, Report};
use bench::{
    Console, DEFAULT, Durability, Error, Plan, Rate, Residency, SUITES, Suite, Target, WORKLOADS, Workload,
};

use crate::cli::{BenchArguments, BenchCommand, CacheFlag, DurabilityFlag, LinkFlag, SweepFlag};
use crate::terminal::{exit, out, password};

/// The longest time of a repeat.
const USUAL_LIMIT: Duration = Duration::from_secs(30);
/// What a shell reports for a program that SIGINT has ended.
const INTERRUPTED: i32 = 128 + 2;

/// Measures, compares, or lists.
pub(crate) fn run(arguments: &BenchArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        Some(BenchCommand::Compare { before, after, json }) => {
            let compared = bench::compare::compare(&read(before)?, &read(after)?)?;
            if *json {
                out::json(&compared)?
            } else {
                out::lines(compared.lines())?
            }
            return Ok(ExitCode::SUCCESS);
        }
        Some(BenchCommand::Report { data, html }) => return again(data, html.as_deref()),
        Some(BenchCommand::Answer { address }) => return answer(address),
        None if arguments.list => return list(),
        None => {}
    }
    match plan(arguments) {
        Ok(plan) => measure(arguments, &plan),
        Err(error) => match error.downcast_ref() {
            Some(Error::Address(why)) => {
                out::error_line(format_args!("fourfold: {why}"));
                Ok(ExitCode::from(exit::REFUSED))
            }
            _ => Err(error),
        },
    }
}

fn measure(arguments: &BenchArguments, plan: &Plan) -> anyhow::Result<ExitCode> {
    let with = |extension: &str| arguments.output.as_ref().map(|name| added(name, extension));
    let is_sweep = arguments.sweep.is_some();
    let runs = if is_sweep { bench::sweep::runs(plan) } else { plan.runs() };
    let seconds = (plan.limit * runs as u32).as_secs();
    let megabytes = plan.bytes().div_ceil(1_000_000);
    out::error_line(format_args!(
        "{runs} runs, at most {} min {} s besides preparations, up to {megabytes} MB on a server. Ctrl-C ends \
         it with what there is.",
        seconds / 60,
        seconds % 60
    ));
    let mut console = Console::new(runs, with("jsonl").as_deref())?;
    let stop = stop_at_ctrl_c(STOPPING)?;
    let complete = match is_sweep {
        true => bench::sweep::sweep(plan, &stop, &mut console),
        false => bench::run(plan, &stop, &mut console),
    };
    console.end();
    let complete = complete?;
    let report = Report::of(&console.records);
    out::print(report::text(&report))?;
    if arguments.bisect {
        out::print(format_args!("\n{}", bench::bisect::text(&console.records)))?;
    }
    if let Some(path) = with("html") {
        std::fs::write(&path, report::html(&report))
            .with_context(|| format!("{} cannot be written", path.display()))?;
        out::error_line(format_args!("charts: {}", path.display()));
    }
    Ok(if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn added(name: &Path, extension: &str) -> PathBuf {
    let mut name = name.as_os_str().to_owned();
    name.push(format!(".{extension}"));
    name.into()
}

/// What is said at the first Ctrl-C, and at the second.
const STOPPING: [&str; 2] = [
    "stopping, and removing files; Ctrl-C again leaves them on the server",
    "folders whose names begin with fourfold-bench- are left on the server",
];

/// A flag that the first Ctrl-C sets. The second ends the program at once.
pub(crate) fn stop_at_ctrl_c(said: [&'static str; 2]) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            let wait = async || tokio::signal::ctrl_c().await.is_ok();
            if wait().await {
                flag.store(true, Ordering::Relaxed);
                out::error_line(said[0]);
            }
            if wait().await {
                out::error_line(said[1]);
                std::process::exit(INTERRUPTED);
            }
        });
    });
    Ok(stop)
}

fn plan(arguments: &BenchArguments) -> anyhow::Result<Plan> {
    let mut targets = Vec::new();
    for url in &arguments.targets {
        targets.push(Target::parse(url)?);
    }
    for place in &arguments.all {
        targets.extend(Target::all(place)?);
    }
    let read = |file| password::read("the measurement", password::Source::File(file));
    let secret = arguments.password_file.as_deref().map(read).transpose()?;
    for target in &mut targets {
        if let (true, Some(user)) = (target.user.is_empty(), &arguments.user) {
            target.user.clone_from(user);
        }
        if let (true, false, Some(secret)) = (target.password.is_empty(), target.user.is_empty(), &secret) {
            target.password.clone_from(secret);
        }
    }
    password::complete(&mut targets)?;
    for place in &arguments.all {
        match disk_of(place, arguments, secret.as_deref()) {
            Ok(disk) => targets.push(disk),
            Err(error) => out::error_line(format_args!("{place}: iSCSI is left out: {error}")),
        }
    }
    let suite = arguments.suite.as_deref().and_then(Suite::of);
    let names: Vec<&str> = match (arguments.workload.is_empty(), suite) {
        (true, None) => DEFAULT.to_vec(),
        (true, Some(suite)) => suite.workloads.to_vec(),
        _ => arguments.workload.iter().map(String::as_str).collect(),
    };
    let clients = match (arguments.clients.is_empty(), suite) {
        (true, None) => vec![1],
        (true, Some(suite)) => suite.clients.to_vec(),
        _ => arguments.clients.clone(),
    };
    let workload = |name: &str| {
        let text = || format!("there is no workload {name}; `fourfold bench --list` names all");
        Workload::of(name).ok_or_else(|| Error::Address(text()))
    };
    let seed = arguments.seed.unwrap_or_else(random);
    let plan = Plan {
        targets,
        workloads: names.into_iter().map(workload).collect::<Result<_, _>>()?,
        clients,
        caches: arguments.cache.iter().map(|cache| (*cache).into()).collect(),
        durabilities: arguments.durability.iter().map(|durability| (*durability).into()).collect(),
        links: match arguments.link.is_empty() {
            true => vec![None],
            false => arguments.link.iter().map(|link| (*link).into()).collect(),
        },
        repeats: arguments.repeats,
        depth: arguments.depth,
        scale: arguments.scale,
        limit: arguments.time.map_or_else(|| suite.map_or(USUAL_LIMIT, Suite::limit), Duration::from_secs),
        timeout: Duration::from_secs(arguments.timeout),
        seed,
        server_folder: arguments.server_folder.clone(),
        server_pid: arguments.server_pid,
        images: arguments.images.as_deref().map(lengths).transpose()?.unwrap_or_default(),
        suite,
        command: command(seed),
    };
    let plan = if arguments.bisect { bench::bisect::plan(&plan)? } else { plan };
    match arguments.sweep {
        Some(SweepFlag::Nfs) => bench::sweep::check(&plan)?,
        None => plan.check()?,
    }
    Ok(plan)
}

/// The lengths of the files in a folder, in the order of their names.
fn lengths(folder: &Path) -> anyhow::Result<Vec<u64>> {
    const MOST: usize = 100_000;
    let read = || format!("{} cannot be read", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(read)?.take(MOST) {
        let entry = entry.with_context(read)?;
        let about = std::fs::metadata(entry.path()).with_context(read)?;
        if about.is_file() && about.len() > 0 {
            files.push((entry.file_name(), about.len()));
        }
    }
    anyhow::ensure!(!files.is_empty(), "{} has no files", folder.display());
    files.sort();
    Ok(files.into_iter().map(|(_, length)| length).collect())
}

/// An empty disk of the host of `--all`.
fn disk_of(place: &str, arguments: &BenchArguments, secret: Option<&str>) -> bench::Result<Target> {
    let mut host = Target::parse(&format!("iscsi://{place}"))?;
    host.user = match (&arguments.user, secret) {
        (Some(user), _) if host.user.is_empty() => user.clone(),
        _ => host.user,
    };
    if let (true, Some(secret)) = (host.password.is_empty(), secret) {
        host.password = secret.to_owned();
    }
    let timeout = Duration::from_secs(arguments.timeout.max(1));
    // Most targets know no users: then the disk is open to all.
    let open = Target { user: String::new(), password: String::new(), ..host.clone() };
    bench::discover::empty_disk(&host, timeout).or_else(|error| match host.user.is_empty() {
        true => Err(error),
        false => bench::discover::empty_disk(&open, timeout),
    })
}

/// The command line with the seed, and without passwords.
fn command(seed: u64) -> String {
    let words = std::env::args().skip(1).map(|word| match Target::parse(&word) {
        Ok(target) if !target.password.is_empty() => target.to_string(),
        _ => word,
    });
    let mut words: Vec<String> = words.collect();
    if !words.iter().any(|word| word.starts_with("--seed")) {
        words.push(format!("--seed {seed}"));
    }
    format!("fourfold {}", words.join(" "))
}

fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish() >> 32
}

pub(crate) fn read(path: &Path) -> anyhow::Result<Report> {
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let records: Vec<Record> = bench::record::read(file).with_context(|| path.display().to_string())?;
    Ok(Report::of(&records))
}

fn again(data: &Path, html: Option<&Path>) -> anyhow::Result<ExitCode> {
    let report = read(data)?;
    match html {
        None => out::print(report::text(&report))?,
        Some(path) => std::fs::write(path, report::html(&report))
            .with_context(|| format!("{} cannot be written", path.display()))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(address: &str) -> anyhow::Result<ExitCode> {
    let listen = || format!("cannot listen on {address}");
    let listener = std::net::TcpListener::bind(address).with_context(listen)?;
    out::line(format_args!("answering on {}", listener.local_addr()?))?;
    bench::raw::answer(&listener)?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> anyhow::Result<ExitCode> {
    for workload in WORKLOADS {
        out::line(format_args!("{}\n    {}\n    from: {}", workload.name, workload.about, workload.origin))?;
    }
    for suite in SUITES {
        let workloads = suite.workloads.join(", ");
        out::line(format_args!("suite {}\n    {}\n    {workloads}", suite.name, suite.about))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl From<CacheFlag> for Residency {
    fn from(flag: CacheFlag) -> Self {
        match flag {
            CacheFlag::Warm => Self::Warm,
            CacheFlag::Cold => Self::Cold,
        }
    }
}

impl From<LinkFlag> for Option<Rate> {
    fn from(flag: LinkFlag) -> Self {
        match flag {
            LinkFlag::None => None,
            LinkFlag::Fast => Some(Rate::Fast),
            LinkFlag::Gigabit => Some(Rate::Gigabit),
            LinkFlag::TenGigabit => Some(Rate::TenGigabit),
            LinkFlag::WifiG => Some(Rate::WifiG),
        }
    }
}

impl From<DurabilityFlag> for Durability {
    fn from(flag: DurabilityFlag) -> Self {
        match flag {
            DurabilityFlag::None => Self::None,
            DurabilityFlag::End => Self::End,
            DurabilityFlag::Each => Self::Each,
        }
    }
}
