//! The compiler of `cargo xtask test`. One pass over a crate compiles it, finds what clippy finds, and builds its documentation.
//!
//! `cargo clippy` and `cargo doc` check each crate once more, those of other projects, too. Here, cargo starts xtask instead of rustc
//! for the crates of the workspace (`RUSTC_WORKSPACE_WRAPPER`). Clippy's own compiler writes the machine code as well, and rustdoc then
//! reads the same libraries. What either finds ends the compilation with an error.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::process;

/// What clippy's compiler expects between and after the words of `CLIPPY_ARGS`.
const SEPARATOR: &str = "__CLIPPY_HACKERY__";

/// The variables with which cargo compiles by this program. Each call of cargo needs the same ones: cargo compiles anew what was
/// compiled with others.
pub fn env() -> Result<[(&'static str, String); 2]> {
    let xtask = std::env::current_exe()?;
    let denied = format!("-D{SEPARATOR}warnings{SEPARATOR}");
    Ok([("RUSTC_WORKSPACE_WRAPPER", xtask.display().to_string()), ("CLIPPY_ARGS", denied)])
}

/// The words of a compilation, rustc's path first, if cargo has started this program for one.
pub fn asked(words: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let words: Vec<OsString> = words.skip(1).collect();
    let is_rustc = Path::new(words.first()?).file_stem() == Some(OsStr::new("rustc"));
    is_rustc.then_some(words)
}

/// Compiles a crate, and documents it if it is a library or a program. The compilers say themselves what is wrong.
pub fn run(words: &[OsString]) -> Result<ExitCode> {
    let rustc = Path::new(words.first().context("rustc is not named")?);
    if !ends_well(Command::new(neighbour(rustc, "clippy-driver")?).args(words))? {
        return Ok(ExitCode::FAILURE);
    }
    let words: Option<Vec<&str>> = words[1..].iter().map(|word| word.to_str()).collect();
    let Some(words) = documented(&words.context("a word is not UTF-8")?) else {
        return Ok(ExitCode::SUCCESS);
    };
    let mut rustdoc = Command::new(neighbour(rustc, "rustdoc")?);
    rustdoc.args(words).args(["-Dwarnings", "--out-dir"]).arg(process::root().join("target/doc"));
    Ok(if ends_well(&mut rustdoc)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A program of the toolchain that rustc is of.
fn neighbour(rustc: &Path, name: &str) -> Result<PathBuf> {
    let rustc = process::find(&rustc.to_string_lossy()).context("there is no rustc")?;
    let toolchain = rustc.with_file_name(name);
    ensure!(
        toolchain.exists(),
        "there is no {name} beside {}: run `rustup component add clippy`",
        rustc.display()
    );
    Ok(toolchain)
}

fn ends_well(command: &mut Command) -> Result<bool> {
    let status =
        command.status().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    Ok(status.success())
}

/// The words for rustdoc, of those for rustc. Tests, examples and questions of cargo have no documentation.
fn documented(words: &[&str]) -> Option<Vec<String>> {
    let is_source = |word: &&str| word.ends_with("/src/lib.rs") || word.ends_with("/src/main.rs");
    if words.contains(&"--test") || !words.iter().any(is_source) {
        return None;
    }
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--out-dir" | "-C" => _ = words.next(),
            _ if word.starts_with("--emit=") => {}
            _ if word.starts_with("--json=") => kept.push("--json=diagnostic-rendered-ansi".to_owned()),
            _ => kept.push((*word).to_owned()),
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cargo 1.95 passes on for a library, shortened.
    const LIBRARY: [&str; 16] = [
        "--crate-name",
        "wire",
        "--edition=2024",
        "crates/wire/src/lib.rs",
        "--error-format=json",
        "--json=diagnostic-rendered-ansi,artifacts,future-incompat",
        "--crate-type",
        "lib",
        "--emit=dep-info,metadata,link",
        "-C",
        "embed-bitcode=no",
        "--warn=missing_docs",
        "--out-dir",
        "/w/target/debug/deps",
        "--extern",
        "bytes=/w/target/debug/deps/libbytes-3f.rmeta",
    ];

    #[test]
    fn rustdoc_gets_what_it_understands() {
        let expected = "--crate-name wire --edition=2024 crates/wire/src/lib.rs --error-format=json --json=diagnostic-rendered-ansi \
                        --crate-type lib --warn=missing_docs --extern bytes=/w/target/debug/deps/libbytes-3f.rmeta";
        assert_eq!(documented(&LIBRARY).map(|words| words.join(" ")).as_deref(), Some(expected));
    }

    #[test]
    fn only_libraries_and_programs_are_documented() {
        assert_eq!(documented(&[&LIBRARY[..], &["--test"]].concat()), None);
        assert_eq!(documented(&["--crate-name", "small", "crates/conn/examples/small.rs"]), None);
        assert_eq!(documented(&["-vV"]), None);
    }

    #[test]
    fn a_compilation_begins_with_rustc() {
        let words = |line: &str| asked(line.split(' ').map(OsString::from));
        assert_eq!(words("xtask /usr/bin/rustc -vV"), Some(vec!["/usr/bin/rustc".into(), "-vV".into()]));
        assert_eq!(words("xtask test"), None);
        assert_eq!(words("xtask"), None);
    }
}
