//! Sessions: logins, their life across connections, silence, notices and replays.

mod domain_login;
pub(super) mod login;
pub(super) mod password;
pub(super) mod session;
pub(super) mod session_control;
pub(super) mod session_life;
pub(super) mod session_notices;
pub(super) mod session_pulse;
pub(super) mod session_replies;
pub(super) mod session_token;
pub(super) mod uam;
