//! The flags of `fourfold completions`, `fourfold man` and `fourfold complete`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(super) const COMPLETIONS: &str = "The packages install them. In bash, zsh and fish they ask the program: names of shares, snapshots, accounts, groups and LUNs are
completed as far as you may read the settings and the state of the server.

Examples:
  fourfold completions bash > ~/.local/share/bash-completion/completions/fourfold
  fourfold completions zsh > ~/.zfunc/_fourfold       with `fpath+=~/.zfunc` before compinit in ~/.zshrc
  fourfold completions fish > ~/.config/fish/completions/fourfold.fish";

pub(super) const MAN: &str = "The packages install them.

Examples:
  fourfold man ~/.local/share/man/man1
  man fourfold-snapshot-create";

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: ShellName,
}

/// A shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellName {
    Bash,
    Elvish,
    Fish,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder; it is made if it is not there
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// `fourfold complete`: what the scripts of `fourfold completions` ask.
#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// The words behind `fourfold`, up to the one that is being typed, which may be empty
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}
