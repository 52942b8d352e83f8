//! The server itself, for the console: what waits for its next start, and the restart.

use admin::Settings;
use admin::control::DiskHealth;
use vfs::backend::host::as_ourselves;
use web::IssuerStatus;
use web::server::{ServerControl, ServerState};

use super::Console;
use crate::serve::acme::AcmeReport;
use crate::serve::restart;

impl ServerControl for Console {
    fn server(&self) -> ServerState {
        let newer = as_ourselves(|| Settings::load(self.running.arguments()).ok()).ok().flatten();
        let waiting = newer.map(|newer| self.running.current().settings.needs_restart(&newer));
        ServerState { waiting: waiting.unwrap_or_default(), can_restart: restart::is_possible() }
    }

    fn records_slowest(&self) -> bool {
        self.running.current().settings.server.told.record_slowest
    }

    fn requires_second_factor(&self) -> bool {
        self.running.current().settings.server.api.requires_second_factor
    }

    fn issuer(&self) -> Option<IssuerStatus> {
        let AcmeReport { names, last, error } = self.acme.report()?;
        Some(IssuerStatus { names, last, error })
    }

    fn order_certificate(&self, by: &str) -> Result<Vec<String>, Vec<String>> {
        self.acme.order_now(by)
    }

    fn disks(&self) -> DiskHealth {
        self.alerts.disks()
    }

    fn restart(&self, by: &str) -> Result<Vec<String>, Vec<String>> {
        if !restart::is_possible() {
            return Err(vec![
                "no service manager has started this server, so nothing would start it again: restart it where it runs".into(),
            ]);
        }
        let refused = |all: Vec<admin::Diagnostic>| {
            let first = vec!["the server would not start with the settings as they are:".to_owned()];
            [first, all.iter().map(ToString::to_string).collect()].concat()
        };
        self.as_server(|| Settings::load(self.running.arguments()).map(drop).map_err(refused))?;
        tracing::info!(by, "the server restarts");
        restart::order();
        Ok(vec!["The server restarts. This page comes back by itself.".into()])
    }

    fn close_open(&self, share: &str, inode: u64) -> Result<Vec<String>, Vec<String>> {
        self.as_server(|| self.running.close_open(share, inode))
    }
}
