//! Which server a command is about.

use std::path::PathBuf;

use admin::Arguments;
use clap::Args;

use crate::host::here;

/// Where the state folder is.
#[derive(Debug, Clone, Args)]
pub(crate) struct Where {
    /// State folder of the server; by default that of the settings
    #[arg(long, value_name = "DIR")]
    state: Option<String>,
    /// Settings file; by default ./fourfold.toml, else, for root, /etc/fourfold/fourfold.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Where {
    /// Whether no flag says where it is.
    pub(crate) fn is_default(&self) -> bool {
        self.state.is_none() && self.config.is_none()
    }

    /// The flags again, for another program.
    pub(crate) fn words(&self) -> Vec<std::ffi::OsString> {
        let state = self.state.iter().flat_map(|state| ["--state".into(), state.into()]);
        state.chain(self.config.iter().flat_map(|config| ["--config".into(), config.into()])).collect()
    }

    /// The flags of a command line, which may be incomplete.
    pub(crate) fn typed(words: &[&str]) -> Self {
        let value = |flag: &str| {
            let with = |word: &&&str| word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='));
            let joined = words.iter().find(with).map(|word| word[flag.len() + 1..].to_owned());
            let next =
                || words.iter().skip_while(|word| **word != flag).nth(1).map(|word| (*word).to_owned());
            joined.or_else(next)
        };
        Self { state: value("--state"), config: value("--config").map(PathBuf::from) }
    }

    /// The same without a settings file that does not exist yet, and this file.
    pub(crate) fn split_new_file(&self) -> (Self, Option<&std::path::Path>) {
        match self.config.as_deref() {
            Some(file) if !file.exists() => (Self { config: None, ..self.clone() }, Some(file)),
            _ => (self.clone(), None),
        }
    }

    /// What was typed, for [`admin::Settings::state_folder`].
    pub(crate) fn arguments(&self, privileged: bool, folder: PathBuf) -> Arguments {
        let flags = self.state.iter().map(|state| ("state".to_owned(), state.clone())).collect();
        let (config, state_home) = (self.config.clone(), here::state_home());
        Arguments { config, flags, state_home, ..Arguments::new(privileged, folder) }
    }
}
