//! The event loops that serve connections: how many there are, and how they wait.

use std::sync::Arc;
use std::time::Duration;

use admin::control::{LoopStatus, LoopsStatus, Status};
use admin::{PollSetting, ServerSettings};
use anyhow::Context;
use conn::{Loops, Polling, WaitCounts};

use super::component::Component;
use super::current::Current;

/// Starts the threads that serve connections; returns their number, too.
pub(super) fn start(settings: &ServerSettings) -> anyhow::Result<(Arc<Loops>, usize)> {
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let count = settings.threads.unwrap_or(processors);
    let loops = Loops::start(count, polling(settings.poll));
    Ok((loops.context("the threads for connections cannot be started")?, count))
}

/// The loops as a part of the server.
pub(super) struct LoopsView(Arc<Loops>);

impl LoopsView {
    pub(super) fn component(loops: &Arc<Loops>) -> Arc<dyn Component> {
        Arc::new(Self(loops.clone()))
    }
}

impl Component for LoopsView {
    fn report(&self, status: &mut Status) {
        let loops = self.0.waits().into_iter().map(shown).collect();
        status.loops = LoopsStatus { poll: setting(self.0.polling()).to_string(), loops };
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        self.0.set_polling(polling(current.settings.server.poll));
        Vec::new()
    }
}

fn polling(setting: PollSetting) -> Polling {
    match setting {
        PollSetting::Auto => Polling::Auto,
        PollSetting::Off => Polling::Off,
        PollSetting::UpTo(limit) => Polling::UpTo(limit),
    }
}

fn setting(polling: Polling) -> PollSetting {
    match polling {
        Polling::Auto => PollSetting::Auto,
        Polling::Off => PollSetting::Off,
        Polling::UpTo(limit) => PollSetting::UpTo(limit),
    }
}

fn shown(of: WaitCounts) -> LoopStatus {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    LoopStatus {
        polled: of.polled,
        slept: of.slept,
        vain: of.vain,
        vain_micros: micros(of.vain_time),
        limit_micros: micros(of.limit),
    }
}
