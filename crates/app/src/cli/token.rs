//! The flags of `fourfold token`.

use clap::{Subcommand, ValueEnum};

use super::{Caution, Where};

/// `fourfold token …`
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it; it is shown this once
    #[command(after_help = "Examples:
  fourfold token create grafana --scope metrics         may read /metrics only
  fourfold token create backup-script --scope read      may read the state of the server
  fourfold token create deploy --scope write            may do everything

A running server accepts it at once. `admin-port` of the settings turns the API on.
Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Create {
        /// Name of the token: letters, digits, dots, hyphens and underscores
        name: String,
        /// What the token permits; can be given several times
        #[arg(long = "scope", value_name = "SCOPE", default_value = "read")]
        scopes: Vec<ScopeFlag>,
        #[command(flatten)]
        state: Where,
    },
    /// Remove a token; it is refused from the next request on
    #[command(after_help = "Examples:
  fourfold token remove grafana

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Remove {
        /// Name of the token
        name: String,
        #[command(flatten)]
        caution: Caution,
        #[command(flatten)]
        state: Where,
    },
    /// List the tokens, without their secrets
    #[command(after_help = "Examples:
  fourfold token list
  fourfold token list --json | jq '.[].name'

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    List {
        /// Output for scripts
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        state: Where,
    },
}

/// What a token permits.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScopeFlag {
    /// The metrics, for Prometheus
    Metrics,
    /// The state of the server
    Read,
    /// Everything
    Write,
}

impl ScopeFlag {
    /// The scope.
    pub(crate) fn scope(self) -> web::Scope {
        match self {
            Self::Metrics => web::Scope::Metrics,
            Self::Read => web::Scope::Read,
            Self::Write => web::Scope::Write,
        }
    }
}
