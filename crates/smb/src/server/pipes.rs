//! Named pipes, and the services behind them.

pub mod pipe;
pub(super) mod pipe_end;
