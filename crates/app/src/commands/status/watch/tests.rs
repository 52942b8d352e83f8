use admin::Protocol;
use admin::control::{AlertStatus, SessionStatus, Severity, Status};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;

fn session(port: u16, user: &str, (requests, bytes_out): (u64, u64)) -> SessionStatus {
    let peer = ([192, 0, 2, 7], port).into();
    let user = Some(user.to_owned());
    SessionStatus {
        protocol: Protocol::Smb,
        peer,
        appletalk: None,
        user,
        since_s: 60,
        requests,
        bytes_in: 0,
        bytes_out,
        tls: false,
        asleep: false,
    }
}

fn slow(micros: u64, path: &str) -> SlowOperation {
    SlowOperation {
        protocol: "smb".into(),
        client: ([192, 0, 2, 7], 1).into(),
        user: "ada".into(),
        share: "films".into(),
        command: "READ".into(),
        path: path.into(),
        result: "SUCCESS".into(),
        micros,
        leases_micros: 0,
        permits_micros: 0,
        queue_micros: 0,
        disk_micros: micros - 1,
        other_micros: 1,
    }
}

/// Two looks, two seconds apart.
fn shown() -> DashboardState {
    let (mut shown, start) = (DashboardState::default(), Instant::now());
    let alert = AlertStatus {
        name: "space".into(),
        about: "films".into(),
        severity: Severity::Critical,
        since: String::new(),
        text: "The disk is full.".into(),
    };
    let look = |ada: (u64, u64), grace: (u64, u64)| Status {
        version: "1.0".into(),
        uptime_s: 3700,
        sessions: vec![session(1, "ada", ada), session(2, "grace\x1b[2J", grace)],
        alerts: vec![alert.clone()],
        ..Status::default()
    };
    shown.rates.look(look((100, 1 << 20), (0, 0)), start);
    shown.rates.look(look((300, 1 << 20), (2, 8 << 20)), start + Duration::from_secs(2));
    shown.hear(vec![slow(70_000, "a\nb"), slow(90_000, "c")], start + Duration::from_secs(2));
    shown
}

fn drawn(shown: &DashboardState, view: &mut ScreenView, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen::draw(frame, shown, view)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn clients_are_shown_with_their_rates_in_the_chosen_order() {
    let (shown, mut view) = (shown(), ScreenView::default());
    let text = drawn(&shown, &mut view, (110, 24));
    for part in [
        "up 1 h 1 min",
        "space: The disk is full.",
        "2 clients by bytes",
        "SMB",
        "101.0",
        "4 MiB",
        "90.0",
        "disk",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(
        text.contains("grace?[2J") && text.contains("films/a?b"),
        "names do nothing to the terminal\n{text}"
    );
    let at = |text: &str, user: &str| text.find(user).unwrap();
    assert!(at(&text, "grace") < at(&text, "192.0.2.7:1 "), "{text}");
    press(KeyEvent::from(KeyCode::Char('s')), &mut view);
    let text = drawn(&shown, &mut view, (110, 24));
    assert!(text.contains("by operations") && at(&text, "192.0.2.7:1 ") < at(&text, "grace"), "{text}");
    press(KeyEvent::from(KeyCode::Char('?')), &mut view);
    assert!(drawn(&shown, &mut view, (110, 24)).contains("order of the clients"));
    assert!(!press(KeyEvent::from(KeyCode::Char('q')), &mut view));
}

#[test]
fn every_size_of_a_terminal_is_drawn_and_scrolling_ends() {
    let (shown, mut view) = (shown(), ScreenView::default());
    for size in [(1, 1), (2, 3), (10, 5), (300, 2), (3, 100), (80, 24)] {
        for help in [false, true] {
            (view.is_help, view.first) = (help, usize::MAX);
            drawn(&shown, &mut view, size);
        }
    }
    press(KeyEvent::from(KeyCode::PageDown), &mut view);
    drawn(&shown, &mut view, (80, 24));
    assert_eq!(view.first, 0, "both fit");
}

#[test]
fn a_server_that_has_ended_is_said() {
    let (mut shown, mut view) = (shown(), ScreenView::default());
    shown.gone = Some(Instant::now());
    assert!(drawn(&shown, &mut view, (100, 20)).contains("The server has ended"));
}

#[test]
fn slow_operations_are_sorted_and_forgotten() {
    let mut shown = shown();
    let micros = |shown: &DashboardState| shown.slow.iter().map(|(_, slow)| slow.micros).collect::<Vec<_>>();
    assert_eq!(micros(&shown), [90_000, 70_000]);
    shown.hear(vec![], Instant::now() + SHOWN_FOR + Duration::from_secs(5));
    assert_eq!(micros(&shown), [0; 0]);
}

#[test]
fn the_lines_have_the_same_as_the_view() {
    let shown = shown();
    let text = screen::text(&shown, ClientOrder::default());
    assert!(text.contains("operations/s") && text.contains("SMB") && text.contains("films/c"), "{text}");
    let json = serde_json::to_value(shown.rates.report(&shown.slow)).unwrap();
    assert_eq!(json["protocols"]["SMB"]["operations"], 101.0);
    assert_eq!(
        (&json["clients"][0]["bytes_out"], &json["slowest"][0]["micros"]),
        (&4_194_304.0.into(), &90_000.into())
    );
}
