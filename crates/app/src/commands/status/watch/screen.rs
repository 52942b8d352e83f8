//! The view, drawn on a terminal or written as lines.

use admin::control::{Severity, SlowOperation};
use admin::settings::units::format_size;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Row, Table, Wrap};
use wire::ClientAddress;

use super::DashboardState;
use super::rates::{ClientOrder, ClientRate};
use crate::terminal::out;

const HELP: &str = "q  end      s  order of the clients      ↑ ↓ PgUp PgDn Home  scroll      ?  this help

Rates are those of the last seconds. A client of NFS over UDP is its address.
Of a slow operation the largest part of its time is named: waiting for other clients' leases, for a permit of a busy
file, for a free thread, for the disk; or something else.";
/// The most alerts that are shown.
const MOST_ALERTS: usize = 4;

/// What the user has chosen.
#[derive(Debug, Default)]
pub(super) struct ScreenView {
    pub(super) order: ClientOrder,
    /// The first client that is shown.
    pub(super) first: usize,
    pub(super) is_help: bool,
}

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, shown: &DashboardState, view: &mut ScreenView) {
    let alerts = alerts(shown);
    let protocols = protocols(shown);
    let [head, warned, sums, clients, slow, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(alerts.len() as u16),
        Constraint::Length(protocols.len() as u16 + 2),
        Constraint::Min(3),
        Constraint::Length((shown.slow.len() as u16 + 2).clamp(3, 8)),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let style = if shown.gone.is_some() {
        Style::new().fg(Color::Red)
    } else {
        Style::new().add_modifier(Modifier::BOLD)
    };
    frame.render_widget(Paragraph::new(headline(shown)).style(style), head);
    let lines: Vec<Line<'_>> = alerts
        .iter()
        .map(|(severity, text)| {
            let color = if *severity == Severity::Critical { Color::Red } else { Color::Yellow };
            Line::styled(text.as_str(), Style::new().fg(color))
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), warned);
    table(frame, sums, " protocols ", PROTOCOLS, protocols);
    let rows = clients_rows(shown, view.order);
    let visible = usize::from(clients.height.saturating_sub(2));
    view.first = view.first.min(rows.len().saturating_sub(visible));
    let title = format!(" {} clients by {} ", rows.len(), view.order.word());
    table(frame, clients, &title, CLIENTS, rows.into_iter().skip(view.first).take(visible).collect());
    table(frame, slow, " slowest operations of the last seconds ", SLOW, slow_rows(shown));
    frame.render_widget(
        Paragraph::new("q end · s order · ↑↓ scroll · ? help").style(Style::new().fg(Color::DarkGray)),
        foot,
    );
    if view.is_help {
        let area = frame.area().inner(ratatui::layout::Margin { horizontal: 4, vertical: 3 });
        let help = Paragraph::new(HELP).wrap(Wrap { trim: false });
        frame.render_widget(Clear, area);
        frame.render_widget(help.block(Block::new().borders(Borders::ALL).title(" help ")), area);
    }
}

fn table<const N: usize>(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    columns: [(&'static str, Constraint); N],
    rows: Vec<[String; N]>,
) {
    let head = Row::new(columns.map(|(name, _)| name)).style(Style::new().add_modifier(Modifier::DIM));
    let table = Table::new(rows.into_iter().map(Row::new), columns.map(|(_, width)| width))
        .header(head)
        .block(Block::new().borders(Borders::TOP).title(title.to_owned()));
    frame.render_widget(table, area);
}

const NUMBER: Constraint = Constraint::Length(12);
const PROTOCOLS: [(&str, Constraint); 5] = [
    ("protocol", Constraint::Length(10)),
    ("clients", Constraint::Length(8)),
    ("operations/s", NUMBER),
    ("received/s", NUMBER),
    ("sent/s", NUMBER),
];
const CLIENTS: [(&str, Constraint); 6] = [
    ("protocol", Constraint::Length(10)),
    ("client", Constraint::Length(28)),
    ("user", Constraint::Min(8)),
    ("operations/s", NUMBER),
    ("received/s", NUMBER),
    ("sent/s", NUMBER),
];
const SLOW: [(&str, Constraint); 5] = [
    ("ms", Constraint::Length(9)),
    ("operation", Constraint::Length(24)),
    ("user", Constraint::Length(12)),
    ("most of it", Constraint::Length(12)),
    ("file", Constraint::Min(8)),
];

fn headline(shown: &DashboardState) -> String {
    let Some(status) = &shown.rates.status else { return String::new() };
    if shown.gone.is_some() {
        return "The server has ended. Waiting for it to start again; q ends.".into();
    }
    let (minutes, hours) = (status.uptime_s / 60, status.uptime_s / 3600);
    let up =
        if hours < 48 { format!("{hours} h {} min", minutes % 60) } else { format!("{} days", hours / 24) };
    format!(
        "fourfold {} · up {up} · shares {} · files open {} · locks {} · leases {}",
        clean(&status.version),
        status.shares.len(),
        status.opens.len(),
        status.locks.len(),
        status.leases.len()
    )
}

fn alerts(shown: &DashboardState) -> Vec<(Severity, String)> {
    let alerts = shown.rates.status.iter().flat_map(|status| &status.alerts);
    alerts
        .take(MOST_ALERTS)
        .map(|alert| (alert.severity, clean(&format!("{}: {}", alert.name, alert.text))))
        .collect()
}

fn protocols(shown: &DashboardState) -> Vec<[String; 5]> {
    let protocols = shown.rates.protocols().into_iter();
    let row = |(name, (count, rate)): (&str, (usize, ClientRate))| {
        let [operations, bytes_in, bytes_out] = numbers(rate);
        [name.to_owned(), count.to_string(), operations, bytes_in, bytes_out]
    };
    protocols.map(row).collect()
}

fn clients_rows(shown: &DashboardState, order: ClientOrder) -> Vec<[String; 6]> {
    let clients = shown.rates.clients(order).into_iter();
    let row = |client: &super::rates::Client| {
        let [operations, bytes_in, bytes_out] = numbers(client.rate);
        let user = clean(client.user.as_deref().unwrap_or("-"));
        [
            client.protocol.title().to_owned(),
            ClientAddress(client.peer).to_string(),
            user,
            operations,
            bytes_in,
            bytes_out,
        ]
    };
    clients.map(row).collect()
}

fn slow_rows(shown: &DashboardState) -> Vec<[String; 5]> {
    let row = |(_, slow): &(std::time::Instant, SlowOperation)| {
        let name = format!("{} {}", slow.protocol, slow.command);
        let file = match (&*slow.share, &*slow.path) {
            (share, "") => share.to_owned(),
            (share, path) => format!("{share}/{path}"),
        };
        let milliseconds = format!("{:.1}", slow.micros as f64 / 1000.0);
        [milliseconds, clean(&name), clean(&slow.user), largest_part(slow).to_owned(), clean(&file)]
    };
    shown.slow.iter().map(row).collect()
}

/// What most of the time was spent on.
fn largest_part(slow: &SlowOperation) -> &'static str {
    let parts = [
        (slow.other_micros, "other"),
        (slow.leases_micros, "leases"),
        (slow.permits_micros, "permits"),
        (slow.queue_micros, "queue"),
        (slow.disk_micros, "disk"),
    ];
    parts.into_iter().max_by_key(|(micros, _)| *micros).map_or("other", |(_, name)| name)
}

fn numbers(rate: ClientRate) -> [String; 3] {
    let size = |bytes: f64| if bytes < 1.0 { "-".to_owned() } else { format_size(bytes as u64) };
    let operations = if rate.operations < 0.05 { "-".to_owned() } else { format!("{:.1}", rate.operations) };
    [operations, size(rate.bytes_in), size(rate.bytes_out)]
}

/// Names come from clients: nothing in them controls the terminal.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The view as lines, for a reader that is no terminal.
pub(super) fn text(shown: &DashboardState, order: ClientOrder) -> String {
    fn lines<const N: usize>(columns: [(&str, Constraint); N], rows: Vec<[String; N]>) -> String {
        out::table(std::iter::once(columns.map(|(name, _)| name.to_owned())).chain(rows))
    }
    let alerts: String = alerts(shown).into_iter().map(|(_, text)| format!("{text}\n")).collect();
    format!(
        "{}\n{alerts}\n{}\n{}\n{}\n",
        headline(shown),
        lines(PROTOCOLS, protocols(shown)),
        lines(CLIENTS, clients_rows(shown, order)),
        lines(SLOW, slow_rows(shown)),
    )
}
