//! What a program answers to a call.

use vfs::Payload;

use crate::wire::rpc::Outcome;
use crate::wire::{mount, nlm, v3, v4};

/// A program's answer, or why the call was not executed.
pub(crate) type CallResult = Result<Answer, Outcome>;

/// The answer to a call that was executed. Its results are encoded already.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The status in the results. `None`: they have none, as the call cannot fail.
    pub(crate) status: Option<AnswerStatus>,
    /// The data that follow the results.
    pub(crate) data: Option<Payload>,
}

/// A status in the terms of its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerStatus {
    V3(v3::types::Status),
    V4(v4::types::Status),
    Mount(mount::Status),
    Nlm(nlm::NlmStat),
}

impl Answer {
    /// An answer without data.
    pub(crate) fn of(status: AnswerStatus) -> Self {
        Self { status: Some(status), data: None }
    }

    /// Whether a client of version 3 would have to send the call again later.
    pub(super) fn is_jukebox(&self) -> bool {
        self.status == Some(AnswerStatus::V3(v3::types::Status::JUKEBOX))
    }
}

impl AnswerStatus {
    /// The specification's name of the status, and whether it is an error.
    pub(super) fn name(self) -> (String, bool) {
        match self {
            Self::V3(status) => (format!("{status:?}"), status != v3::types::Status::OK),
            Self::V4(status) => (format!("{status:?}"), status != v4::types::Status::OK),
            Self::Mount(status) => (format!("{status:?}"), status != mount::Status::OK),
            Self::Nlm(stat) => {
                (format!("{stat:?}"), !matches!(stat, nlm::NlmStat::GRANTED | nlm::NlmStat::BLOCKED))
            }
        }
    }
}
