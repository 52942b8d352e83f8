//! The control socket, both ends, over a real socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use admin::control::{
    self, Advice, AdviceRequest, AskError, CachesAnswer, CachesRequest, CachesStatus, Disconnect, LoadCurve,
    LunAnswer, LunRequest, LunStatus, Progress, Report, RestoreReport, RestoreRequest, Status,
};

struct Server;

impl Report for Server {
    fn status(&self) -> Status {
        Status { version: "1".into(), pid: 42, ..Status::default() }
    }

    fn reload(&self) -> Result<Vec<String>, Vec<String>> {
        Err(vec!["fourfold.toml:1:1: error: no".into()])
    }

    fn say(&self, text: &str, to: &Disconnect) -> Result<Vec<String>, Vec<String>> {
        let clients = if to.is_all() { 2 } else { 1 };
        Ok(vec![format!("told {clients} clients: {text}")])
    }

    fn disconnect(&self, what: &Disconnect) -> Result<Vec<String>, Vec<String>> {
        what.user.clone().map(|user| vec![user]).ok_or_else(|| vec!["nobody".into()])
    }

    fn lun(
        &self,
        request: LunRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> Result<LunAnswer, Vec<String>> {
        match request {
            LunRequest::List => {
                Ok(LunAnswer::Luns(vec![LunStatus { name: "video".into(), ..LunStatus::default() }]))
            }
            LunRequest::Clone { new, .. } => {
                std::thread::sleep(std::time::Duration::from_millis(2500)); // as a disk that is slow
                (1..3).for_each(|done| assert!(progress(Progress { done, total: 3 })));
                Ok(LunAnswer::Done(vec![new]))
            }
            other => Err(vec![format!("{other:?}")]),
        }
    }

    fn restore(
        &self,
        request: RestoreRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> Result<RestoreReport, Vec<String>> {
        assert!(progress(Progress { done: 7, total: 0 }));
        let unchanged = request.path.len() as u64;
        Ok(RestoreReport { unchanged, dry_run: request.dry_run, ..RestoreReport::default() })
    }

    fn look_at_snapshots(&self) -> Result<Vec<String>, Vec<String>> {
        Ok(vec!["looked".into()])
    }

    fn caches(&self, request: CachesRequest) -> Result<CachesAnswer, Vec<String>> {
        match request {
            CachesRequest::Show => Ok(CachesAnswer::Shown(Box::new(CachesStatus {
                budget: 5,
                part: 0.5,
                ..CachesStatus::default()
            }))),
            CachesRequest::Set { limits } => Err(vec![format!("{limits:?}")]),
            CachesRequest::Mounts => Ok(CachesAnswer::Mounts(Vec::new())),
            CachesRequest::Advise(asked) => Ok(CachesAnswer::Advice(vec![Advice {
                topic: "users".into(),
                text: vec![format!("{asked:?}")],
            }])),
        }
    }
}

#[test]
fn a_change_of_snapshots_is_passed_on() {
    let state = tempfile::tempdir().unwrap();
    let lines = with_server(state.path(), |path| control::snapshots(path).unwrap());
    assert_eq!(lines, ["looked"]);
    assert!(matches!(control::snapshots(&state.path().join("none")), Err(AskError::NoServer(_))));
}

#[test]
fn caches_are_shown_and_a_limit_is_refused_with_its_reason() {
    let state = tempfile::tempdir().unwrap();
    let curve = LoadCurve { target: "nfs://h/s".into(), workload: "seq-read".into(), points: vec![(1, 2)] };
    let wanted = AdviceRequest { floor: 15_000, curves: vec![curve] };
    let expected = format!("{wanted:?}");
    let (shown, set, (mounts, advice)) = with_server(state.path(), move |state| {
        let advise = CachesRequest::Advise(wanted);
        let set = CachesRequest::Set { limits: vec![("directory".into(), "64M".into())] };
        (
            control::caches(state, CachesRequest::Show),
            control::caches(state, set),
            (control::caches(state, CachesRequest::Mounts), control::caches(state, advise)),
        )
    });
    let CachesAnswer::Shown(shown) = shown.unwrap() else { panic!("not shown") };
    assert_eq!((shown.budget, shown.part), (5, 0.5));
    assert_eq!(set.unwrap_err().to_string(), "[(\"directory\", \"64M\")]");
    assert_eq!(mounts.unwrap(), CachesAnswer::Mounts(Vec::new()));
    let CachesAnswer::Advice(advice) = advice.unwrap() else { panic!("no advice") };
    assert_eq!(advice[0].text, [expected]);
}

#[test]
fn a_restore_is_asked_for_and_reports() {
    let state = tempfile::tempdir().unwrap();
    let long = vec![0xff; 4095];
    let request = RestoreRequest {
        share: "studio".into(),
        snapshot: "monday".into(),
        path: long.clone(),
        to: long,
        keep: false,
        delete: true,
        dry_run: true,
    };
    let (asked, bytes) = with_server(state.path(), move |state| {
        let mut bytes = 0;
        (control::restore(state, request, &mut |now| bytes = now.done.max(bytes)), bytes)
    });
    let report = asked.unwrap();
    assert_eq!((report.unchanged, report.dry_run, bytes), (4095, true, 7));
}

/// Runs `ask` on a thread while a server answers in `state`.
fn with_server<T: Send + 'static>(state: &Path, ask: impl FnOnce(&Path) -> T + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let path = state.to_owned();
    runtime.block_on(async move {
        let listener = control::listen(&path).unwrap();
        let server = tokio::spawn(control::serve(listener, Arc::new(Server)));
        let answer = tokio::task::spawn_blocking(move || ask(&path)).await.unwrap();
        server.abort();
        answer
    })
}

/// Sends raw bytes and reads the line that comes back.
fn raw(state: &Path, request: &[u8]) -> String {
    let mut stream = UnixStream::connect(state.join(control::SOCKET)).unwrap();
    let _ = stream.write_all(request); // the server may hang up on a long one
    let mut line = String::new();
    let _ = BufReader::new(stream).read_line(&mut line);
    line
}

#[test]
fn a_status_arrives_as_it_was_reported() {
    let state = tempfile::tempdir().unwrap();
    let status = with_server(state.path(), |path| control::status(path).unwrap());
    assert_eq!(status, Server.status());
    let text = with_server(state.path(), |path| raw(path, b"{\"ask\":\"status\"}\n"));
    assert!(text.starts_with("{\"status\":{\"version\":\"1\",\"pid\":42,"), "{text}");
}

#[test]
fn a_message_is_passed_on_as_it_is() {
    let state = tempfile::tempdir().unwrap();
    let lines = with_server(state.path(), |path| {
        control::say(path, "\"Zoë\"\nis back", &Disconnect::default()).unwrap()
    });
    assert_eq!(lines, ["told 2 clients: \"Zoë\"\nis back"]);
    let ada = Disconnect { user: Some("ada".into()), ..Disconnect::default() };
    let lines = with_server(state.path(), move |path| control::say(path, "now", &ada).unwrap());
    assert_eq!(lines, ["told 1 clients: now"]);
    let earlier = with_server(state.path(), |path| raw(path, b"{\"ask\":\"say\",\"text\":\"now\"}\n"));
    assert_eq!(
        earlier, "{\"done\":[\"told 2 clients: now\"]}\n",
        "programs that know no conditions mean all"
    );
}

#[test]
fn sessions_to_end_are_named_and_none_is_a_refusal() {
    let state = tempfile::tempdir().unwrap();
    let ada = Disconnect { user: Some("ada".into()), ..Disconnect::default() };
    assert_eq!(with_server(state.path(), move |path| control::disconnect(path, &ada).unwrap()), ["ada"]);
    let refused = with_server(state.path(), |path| control::disconnect(path, &Disconnect::default()));
    assert!(matches!(refused, Err(AskError::Refused(lines)) if lines == ["nobody"]));
}

#[test]
fn a_refused_reload_says_why() {
    let state = tempfile::tempdir().unwrap();
    let error = with_server(state.path(), |path| control::reload(path).unwrap_err());
    assert!(matches!(error, AskError::Refused(lines) if lines == ["fourfold.toml:1:1: error: no"]));
}

#[test]
fn waiting_callers_are_told_the_progress() {
    let state = tempfile::tempdir().unwrap();
    let request = LunRequest::Clone { share: "A".into(), name: "b".into(), new: "c".into(), copy: false };
    let (answer, heard) = with_server(state.path(), |path| {
        let mut heard = Vec::new();
        let answer = control::lun(path, request, &mut |now| heard.push(now.done)).unwrap();
        (answer, heard)
    });
    assert_eq!((answer, heard), (LunAnswer::Done(vec!["c".into()]), vec![0, 0, 1, 2]));
    let list = with_server(state.path(), |path| control::lun(path, LunRequest::List, &mut |_| {}).unwrap());
    assert!(matches!(list, LunAnswer::Luns(luns) if luns[0].name == "video"));
    let line = with_server(state.path(), |path| {
        raw(path, b"{\"ask\":\"lun\",\"do\":\"remove\",\"share\":\"A\",\"name\":\"b\"}\n")
    });
    assert!(line.starts_with("{\"refused\":[\"Remove {"), "{line}");
}

#[test]
fn nonsense_and_endless_requests_are_refused() {
    let state = tempfile::tempdir().unwrap();
    for request in [&b"hello\n"[..], b"{\"ask\":\"shutdown\"}\n", b"\n", &[b'x'; 65536]] {
        let request = request.to_vec();
        let shown = String::from_utf8_lossy(&request[..8.min(request.len())]).into_owned();
        let answer = with_server(state.path(), move |path| raw(path, &request));
        assert!(answer.starts_with("{\"refused\":["), "{shown}: {answer}");
    }
}

#[test]
fn the_socket_is_private_and_replaces_one_left_by_a_killed_server() {
    let state = tempfile::tempdir().unwrap();
    drop(std::os::unix::net::UnixListener::bind(state.path().join(control::SOCKET)).unwrap());
    assert!(matches!(control::status(state.path()), Err(AskError::NoServer(_))));
    let mode = with_server(state.path(), |path| {
        control::status(path).unwrap();
        std::fs::metadata(path.join(control::SOCKET)).unwrap().permissions().mode() & 0o777
    });
    assert_eq!(mode, 0o600);
}

#[test]
fn a_state_folder_with_a_long_path_has_a_socket_too() {
    let parent = tempfile::tempdir().unwrap();
    let state = parent.path().join("long".repeat(40));
    std::fs::create_dir(&state).unwrap();
    assert_eq!(with_server(&state, |path| control::status(path).unwrap()).pid, 42);
}

#[test]
fn without_a_server_the_asker_is_told_what_to_do() {
    let state = tempfile::tempdir().unwrap();
    let error = control::status(state.path()).unwrap_err().to_string();
    assert!(
        error.contains("start one with `fourfold serve`, or name its folder with --state DIR"),
        "{error}"
    );
}
