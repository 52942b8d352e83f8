//! Measurements of a share of this server, as jobs; and those that are kept.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use admin::control::{Listener, LoadCurve, Report};
use admin::{Protocol, ShareSettings};
use bench::record::Record;
use bench::{Suite, Workload};
use serde_json::json;
use web::jobs::{BenchRequest, BenchmarkStatus, NewJob};

use super::child::{self, ChildOutput};
use super::{as_server, file, files, made, make_room, named};
use crate::serve::running::Running;

/// Benchmarks that are kept.
const MOST_KEPT: usize = 50;
/// The longest first line of raw data.
const LONGEST_START: u64 = 64 * 1024;
/// The longest raw data of which a report is made, in bytes.
const LONGEST_DATA: u64 = 64 << 20;
/// Workloads of one job.
const MOST_WORKLOADS: usize = 16;

fn folder(running: &Running) -> PathBuf {
    running.current().settings.server.state.join("benchmarks")
}

/// Measures a share over the protocols that are asked for.
pub(super) fn job(
    running: &Running,
    share: &ShareSettings,
    asked: BenchRequest,
) -> Result<NewJob, Vec<String>> {
    check(&asked)?;
    let folder = made(folder(running))?;
    let name = named(share, &folder, "jsonl");
    let output = folder.join(&name);
    let mut words: Vec<OsString> = vec!["bench".into()];
    for protocol in &asked.protocols {
        words.push(url(running, share, protocol, &asked.user)?.into());
    }
    let number = |flag: &str, value: String| [OsString::from(flag), value.into()];
    words.extend(number("--repeats", asked.repeats.to_string()));
    words.extend(number("--clients", clients(&asked)));
    words.extend(number("--time", asked.seconds.to_string()));
    words.extend(number("--scale", asked.scale.to_string()));
    if !asked.workloads.is_empty() {
        words.extend(number("--workload", asked.workloads.join(",")));
    }
    if !asked.password.is_empty() {
        words.extend(number("--password-file", "/dev/stdin".into()));
    }
    words.extend(["--output".into(), output.clone().into_os_string()]);
    let what = format!("measure {} over {}", share.name, asked.protocols.join(", "));
    let work = as_server(move |handle| {
        make_room(&folder, "jsonl", MOST_KEPT);
        make_room(&folder, "html", MOST_KEPT);
        let data = output.with_added_extension("jsonl");
        let (mut runs, mut length) = (0, 0);
        let ended = child::run(handle, &words, &asked.password, |said| match said {
            ChildOutput::Output(line) | ChildOutput::Error(line) => {
                if let Some((number, _)) = line.split_once(" runs, ") {
                    runs = number.parse().unwrap_or(runs);
                }
                handle.say(&line);
            }
            ChildOutput::Nothing => {
                let now = std::fs::metadata(&data).map_or(0, |found| found.len());
                if now != length && now <= LONGEST_DATA {
                    length = now;
                    let (done, doing) = progress(&data);
                    handle.progress(done.min(runs), runs);
                    handle.doing(&doing);
                }
            }
        })?;
        match (ended.success(), handle.is_cancelled()) {
            (true, _) => Ok(json!({ "benchmark": name })),
            (false, true) => Err(vec!["cancelled; what was measured is kept".into()]),
            (false, false) => Err(vec![format!("not all was measured ({ended})")]),
        }
    });
    Ok(NewJob { kind: "bench", what, unit: "runs", key: "bench".into(), work })
}

/// The numbers of clients: one, or the powers of two up to it.
fn clients(asked: &BenchRequest) -> String {
    let fewer = [1, 2, 4].into_iter().filter(|fewer| asked.curve && *fewer < asked.clients);
    let all: Vec<String> = fewer.chain([asked.clients]).map(|clients| clients.to_string()).collect();
    all.join(",")
}

/// The load of a measurement is limited: the server has clients.
fn check(asked: &BenchRequest) -> Result<(), Vec<String>> {
    let refused = |why: &str| Err(vec![why.to_owned()]);
    if asked.protocols.is_empty() || asked.protocols.len() > 3 {
        return refused("choose one to three of the protocols smb, afp and nfs");
    }
    if !(1..=10).contains(&asked.repeats)
        || !(1..=8).contains(&asked.clients)
        || !(1..=60).contains(&asked.seconds)
    {
        return refused(
            "a measurement has 1 to 10 repeats, 1 to 8 clients, and 1 to 60 seconds for each repeat",
        );
    }
    if !(0.01..=1.0).contains(&asked.scale) {
        return refused("`scale` is 0.01 to 1");
    }
    if asked.workloads.len() > MOST_WORKLOADS {
        return Err(vec![format!("choose at most {MOST_WORKLOADS} workloads")]);
    }
    if let Some(name) =
        asked.workloads.iter().find(|name| Workload::of(name).is_none() || Suite::of(name).is_some())
    {
        return Err(vec![format!("there is no workload {name:?}; `fourfold bench --list` names all")]);
    }
    let needs_account = asked.protocols.iter().any(|protocol| protocol != "nfs");
    if needs_account && (asked.user.is_empty() || asked.password.is_empty()) {
        return refused("SMB and AFP need an account and its password");
    }
    Ok(())
}

/// The address of a share of this server.
fn url(running: &Running, share: &ShareSettings, protocol: &str, user: &str) -> Result<String, Vec<String>> {
    let Some(wanted) = Protocol::OF_FILES.into_iter().find(|one| one.word() == protocol) else {
        return Err(vec![format!("{protocol:?} is not smb, afp or nfs")]);
    };
    let wanted = Listener::Protocol(wanted);
    let listeners = running.status().listeners;
    let is_wanted = |one: &&admin::control::ListenerStatus| one.protocol == wanted && one.transport == "tcp";
    let Some(address) = listeners.iter().find(is_wanted).map(|one| one.address) else {
        return Err(vec![format!("this server does not serve {protocol}")]);
    };
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let at = SocketAddr::new(host, address.port());
    let path: Vec<String> = share.name.split('/').map(encoded).collect();
    Ok(match (protocol, user) {
        ("nfs", _) => format!("nfs://{at}/{}", path.join("/")),
        (_, user) => format!("{protocol}://{}@{at}/{}", encoded(user), encoded(&share.flat_name())),
    })
}

/// A part of a URL (RFC 3986 2.1).
fn encoded(text: &str) -> String {
    let letter = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(letter).collect()
}

/// How many runs the raw data have, and the last one's measurement.
fn progress(data: &Path) -> (u64, String) {
    let Ok(file) = std::fs::File::open(data) else { return (0, String::new()) };
    let (mut runs, mut doing) = (0, String::new());
    for line in BufReader::new(file.take(LONGEST_DATA)).lines().map_while(Result::ok) {
        if let Ok(Record::Run(run)) = serde_json::from_str(&line) {
            runs += 1;
            doing = format!("measured: {}, {}", run.target, run.workload);
        }
    }
    (runs, doing)
}

/// The benchmarks that are kept, the newest first.
pub(in super::super) fn kept(running: &Running) -> Vec<BenchmarkStatus> {
    let mut found: Vec<BenchmarkStatus> =
        files(&folder(running), "jsonl").iter().filter_map(|path| status(path)).collect();
    found.sort_by(|one, other| other.name.cmp(&one.name));
    found.truncate(MOST_KEPT);
    found
}

fn status(path: &Path) -> Option<BenchmarkStatus> {
    let about = std::fs::metadata(path).ok()?;
    let mut first = String::new();
    let file = std::fs::File::open(path).ok()?;
    BufReader::new(file.take(LONGEST_START)).read_line(&mut first).ok()?;
    let targets = match serde_json::from_str(&first) {
        Ok(Record::Start(start)) => start.targets.clone(),
        _ => return None,
    };
    Some(BenchmarkStatus {
        name: path.file_stem()?.to_str()?.to_owned(),
        at: about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs(),
        size: about.len(),
        targets,
    })
}

/// The raw data of a benchmark that is kept.
fn data(running: &Running, name: &str) -> Result<PathBuf, Vec<String>> {
    let path = file(&folder(running), name, "jsonl", "benchmark")?;
    if std::fs::metadata(&path).is_ok_and(|found| found.len() > LONGEST_DATA) {
        return Err(vec![format!(
            "the raw data of {name} are too long for the page: `fourfold bench report` reads them"
        )]);
    }
    Ok(path)
}

fn read(running: &Running, name: &str) -> Result<bench::report::Report, Vec<String>> {
    crate::commands::bench::read(&data(running, name)?).map_err(|error| super::lines(&error))
}

/// The load curves of a benchmark: its speeds in bytes by the number of clients.
pub(in super::super) fn curves(running: &Running, name: &str) -> Result<Vec<LoadCurve>, Vec<String>> {
    let data = std::fs::File::open(data(running, name)?).and_then(crate::commands::advise::curves);
    data.map_err(|error| vec![format!("the benchmark {name} cannot be read: {error}")])
}

/// The report of a benchmark with its charts.
pub(in super::super) fn report(running: &Running, name: &str) -> Result<String, Vec<String>> {
    Ok(bench::report::html(&read(running, name)?))
}

/// The lines of the comparison of two benchmarks.
pub(in super::super) fn compare(
    running: &Running,
    before: &str,
    after: &str,
) -> Result<Vec<String>, Vec<String>> {
    let compared = bench::compare::compare(&read(running, before)?, &read(running, after)?);
    compared.map(|compared| compared.lines()).map_err(|error| vec![error.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> BenchRequest {
        serde_json::from_str(r#"{"share": "a", "protocols": ["nfs"]}"#).unwrap()
    }

    #[test]
    fn the_load_of_a_measurement_is_limited() {
        check(&asked()).unwrap();
        let changes: [fn(&mut BenchRequest); 7] = [
            |asked| asked.protocols.clear(),
            |asked| asked.repeats = 11,
            |asked| asked.clients = 9,
            |asked| asked.seconds = 61,
            |asked| asked.scale = f64::NAN,
            |asked| asked.workloads = vec!["--server-folder".into()],
            |asked| asked.protocols = vec!["smb".into()],
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut asked = asked();
            change(&mut asked);
            assert!(check(&asked).is_err(), "{number}");
        }
    }

    #[test]
    fn a_load_curve_has_fewer_clients_too() {
        let of = |most, curve| clients(&BenchRequest { clients: most, curve, ..asked() });
        assert_eq!((of(8, false), of(8, true)), ("8".into(), "1,2,4,8".into()));
        assert_eq!((of(1, true), of(4, true), of(5, true)), ("1".into(), "1,2,4".into(), "1,2,4,5".into()));
    }

    #[test]
    fn names_are_encoded_in_addresses() {
        assert_eq!(encoded("ada & Ä/x@y"), "ada%20%26%20%C3%84%2Fx%40y");
    }
}
