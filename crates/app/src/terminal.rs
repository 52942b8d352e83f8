//! What commands have in common: their output, exit codes, prompts, progress and the log.

pub(crate) mod asking;
pub(crate) mod color;
pub(crate) mod command_line;
pub(crate) mod exit;
pub(crate) mod log;
pub(crate) mod looked_at_bar;
pub(crate) mod loudness;
pub(crate) mod out;
pub(crate) mod password;
pub(crate) mod progress;
pub(crate) mod question;
