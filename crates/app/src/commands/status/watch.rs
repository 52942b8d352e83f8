//! `fourfold status --watch`: who uses the server now, how much, and what is slow. On a terminal a view with keys, elsewhere
//! the same as lines.

mod rates;
mod screen;

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use admin::control::{self, AskError, SlowOperation};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use self::rates::{ClientOrder, Rates};
use self::screen::ScreenView;
use crate::terminal::{exit, out};

/// How long a server that has ended is waited for.
const WAIT_FOR_SERVER: Duration = Duration::from_secs(600);
/// How often a server that has ended is asked for.
const ASK_AGAIN: Duration = Duration::from_secs(2);
/// How long slow operations are shown.
const SHOWN_FOR: Duration = Duration::from_secs(20);
/// The most slow operations that are kept.
const MOST_SLOW: usize = 64;

/// What is shown.
#[derive(Default)]
pub(super) struct DashboardState {
    rates: Rates,
    /// When each was heard of; the slowest first.
    slow: Vec<(Instant, SlowOperation)>,
    /// Since when there is no server.
    gone: Option<Instant>,
}

impl DashboardState {
    /// Asks the server. The error is one that waiting does not mend.
    fn look(&mut self, state: &Path, now: Instant) -> Result<(), AskError> {
        match control::status(state) {
            Ok(status) => {
                self.gone = None;
                self.rates.look(status, now);
            }
            Err(AskError::NoServer(_)) if self.rates.status.is_some() => {
                self.gone.get_or_insert(now);
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        // An older server does not know this request.
        self.hear(control::slowest(state).unwrap_or_default(), now);
        Ok(())
    }

    fn hear(&mut self, slow: Vec<SlowOperation>, now: Instant) {
        self.slow.retain(|(heard, _)| now.duration_since(*heard) < SHOWN_FOR);
        self.slow.extend(slow.into_iter().map(|operation| (now, operation)));
        self.slow.sort_by_key(|(_, operation)| std::cmp::Reverse(operation.micros));
        self.slow.truncate(MOST_SLOW);
    }
}

/// Shows the server of this state folder until the user has seen enough.
pub(super) fn run(state: &Path, every: Duration, json: bool) -> anyhow::Result<ExitCode> {
    let is_terminal = std::io::stdout().is_terminal()
        && std::io::stdin().is_terminal()
        && std::env::var_os("TERM").is_some_and(|name| name != "dumb");
    if json || !is_terminal {
        return lines(state, every, json);
    }
    let mut shown = DashboardState::default();
    match shown.look(state, Instant::now()) {
        Ok(()) => {}
        Err(error @ AskError::NoServer(_)) => return Ok(exit::no_server(&error)),
        Err(error) => return Err(error.into()),
    }
    restore_when_ended()?;
    let mut terminal = ratatui::try_init()?;
    let seen = see(&mut terminal, &mut shown, state, every);
    ratatui::restore();
    match seen {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => match error.downcast::<AskError>() {
            Ok(error @ AskError::NoServer(_)) => Ok(exit::no_server(&error)),
            Ok(error) => Err(error.into()),
            Err(error) => Err(error),
        },
    }
}

/// A signal that ends the program gives the terminal back first.
fn restore_when_ended() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            let (Ok(mut term), Ok(mut hup)) = (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
            else {
                return;
            };
            tokio::select! { _ = term.recv() => {}, _ = hup.recv() => {} }
            ratatui::restore();
            std::process::exit(1);
        });
    })?;
    Ok(())
}

fn see(
    terminal: &mut DefaultTerminal,
    shown: &mut DashboardState,
    state: &Path,
    every: Duration,
) -> anyhow::Result<()> {
    let mut view = ScreenView::default();
    let mut next = Instant::now() + Duration::from_secs(1).min(every);
    loop {
        terminal.draw(|frame| screen::draw(frame, shown, &mut view))?;
        let wait = next.saturating_duration_since(Instant::now());
        if event::poll(wait)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release && !press(key, &mut view) => {
                    return Ok(());
                }
                _ => {} // a new size: drawn again
            }
            continue;
        }
        let now = Instant::now();
        shown.look(state, now)?;
        match shown.gone {
            Some(gone) if now.duration_since(gone) >= WAIT_FOR_SERVER => return Ok(()),
            Some(_) => next = now + ASK_AGAIN,
            None => next = now + every,
        }
    }
}

/// Whether the view goes on after a key.
fn press(key: KeyEvent, view: &mut ScreenView) -> bool {
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        KeyCode::Char('q') | KeyCode::Esc => return false,
        KeyCode::Char('s') => view.order = view.order.next(),
        KeyCode::Char('?' | 'h') => view.is_help = !view.is_help,
        KeyCode::Down => view.first = view.first.saturating_add(1),
        KeyCode::Up => view.first = view.first.saturating_sub(1),
        KeyCode::PageDown => view.first = view.first.saturating_add(10),
        KeyCode::PageUp => view.first = view.first.saturating_sub(10),
        KeyCode::Home => view.first = 0,
        _ => {}
    }
    true
}

/// The same as lines, or as one JSON object in each line, until the reader is gone or the server ends.
fn lines(state: &Path, every: Duration, json: bool) -> anyhow::Result<ExitCode> {
    let mut shown = DashboardState::default();
    loop {
        match shown.look(state, Instant::now()) {
            Ok(()) => {}
            Err(error @ AskError::NoServer(_)) => return Ok(exit::no_server(&error)),
            Err(error) => return Err(error.into()),
        }
        if shown.gone.is_some() {
            out::error_line("fourfold: the server has ended");
            return Ok(ExitCode::SUCCESS);
        }
        if json {
            out::line(serde_json::to_string(&shown.rates.report(&shown.slow))?)?;
        } else {
            out::print(screen::text(&shown, ClientOrder::default()))?;
        }
        std::thread::sleep(every);
    }
}

#[cfg(test)]
mod tests;
