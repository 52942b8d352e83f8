//! The flags of `fourfold setup`.

use clap::Args;

use super::Where;

pub(super) const EXAMPLES: &str = "It asks for the server's name, a folder to share, the people who use it and what it is for; then it shows what it will do, and
asks. It makes the accounts and the folder, writes the settings file, and offers to start the service of systemd. An empty
line takes what stands in brackets; Ctrl-C leaves everything as it is.

`fourfold user add` and `fourfold create` do the same without questions, and `fourfold share access` changes who may do what.

Examples:
  sudo fourfold setup                        for this machine
  fourfold setup --config fourfold.toml      for a server of your own, in this folder

Exit codes: 0 done, 1 not done, 2 there is no terminal to ask at, or the settings were refused";

/// `fourfold setup`
#[derive(Debug, Args)]
pub(crate) struct Setup {
    #[command(flatten)]
    pub(crate) place: Where,
}
