//! The flags of `fourfold test-alert`.

use clap::Args;

use super::Where;

pub(super) const EXAMPLES: &str = "The message goes by mail (`alert-mail`) and to the webhook (`alert-webhook`) of the settings, once, whether or not a server runs. It says that it is
a test.

Examples:
  fourfold test-alert
  fourfold test-alert --config /etc/fourfold/fourfold.toml

Exit codes:
  0  each of them was accepted
  1  one was not; the message says why
  2  the settings were refused";

/// `fourfold test-alert`
#[derive(Debug, Args)]
pub(crate) struct TestAlert {
    #[command(flatten)]
    pub(crate) place: Where,
}
