//! Does what a guide says, on its blank machine.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::pipe::{PipeFlags, pipe_with};

use super::outcome::is_as_said;
use super::page::{self, Action, CommandBlock, PageStep};

/// The longest that commands take, and that they are repeated. Only a guide that fails takes so long.
const LIMIT: Duration = Duration::from_secs(120);
/// Where what is printed goes.
const PRINTED: &str = "/run/printed";

pub fn play(path: &str, page: &str, show: bool) -> Result<()> {
    for step in page::steps(page)? {
        perform(&step, show).with_context(|| format!("{path}, line {}", step.line))?;
    }
    Ok(())
}

fn perform(step: &PageStep, show: bool) -> Result<()> {
    match &step.action {
        Action::Run(run) => perform_run(run, show),
        Action::Try(command) => try_command(command, show),
        Action::Write { path, text, append } => {
            let path = Path::new(path);
            fs::create_dir_all(path.parent().context("no folder")?)?;
            let mut file =
                File::options().create(true).write(true).append(*append).truncate(!append).open(path)?;
            Ok(file.write_all(text.as_bytes())?)
        }
    }
}

fn perform_run(run: &CommandBlock, show: bool) -> Result<()> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let (code, printed) = execute(run)?;
        let succeeded = code == Some(0);
        let is_good =
            run.exit.includes(succeeded) && run.says.as_ref().is_none_or(|says| is_as_said(says, &printed));
        if is_good || !run.until || Instant::now() > deadline {
            if show {
                println!("$ {}\n{printed}", run.script);
            }
            return if is_good { Ok(()) } else { Err(difference(run, succeeded, &printed)) };
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The exit code for words that are wrong.
const USAGE: i32 = 2;

/// Runs a command that may find nothing to do here. What it asks for at a terminal is not given.
fn try_command(command: &str, show: bool) -> Result<()> {
    let run = CommandBlock { script: command.to_owned(), ..CommandBlock::default() };
    let (code, printed) = execute(&run)?;
    if show {
        println!("$ {command}\n{printed}");
    }
    if code == Some(USAGE) && !printed.contains("--yes") {
        bail!("{command}\nis refused:\n{}", printed.trim_end());
    }
    Ok(())
}

/// Runs the commands. Returns the exit code of the last one, and what all of them have printed.
fn execute(run: &CommandBlock) -> Result<(Option<i32>, String)> {
    let printed = File::create(PRINTED)?;
    // Each program reads one line at most, although it asks for more: the pipe keeps the boundaries of writes.
    let (input, typist) = pipe_with(PipeFlags::DIRECT | PipeFlags::CLOEXEC)?;
    for line in &run.typing {
        rustix::io::write(&typist, format!("{line}\n").as_bytes())?;
    }
    drop(typist);
    let status = Command::new("timeout")
        .args(["--kill-after=5", &LIMIT.as_secs().to_string(), "bash", "-euo", "pipefail", "-c", &run.script])
        .stdin(input)
        .stdout(printed.try_clone()?)
        .stderr(printed)
        .status()
        .context("cannot start a shell")?;
    if status.code() == Some(124) {
        bail!("{}\ndid not end within {} s", run.script, LIMIT.as_secs());
    }
    Ok((status.code(), String::from_utf8_lossy(&fs::read(PRINTED)?).into_owned()))
}

fn difference(run: &CommandBlock, succeeded: bool, printed: &str) -> anyhow::Error {
    let ended = match (run.exit.includes(succeeded), succeeded) {
        (false, true) => "succeeded, and the page says that it fails",
        (false, false) => "failed",
        (true, _) => "printed something else than the page says",
    };
    let said =
        run.says.as_ref().map_or(String::new(), |says| format!("\nthe page says:\n{}", says.join("\n")));
    anyhow::anyhow!("{}\n{ended}; it printed:\n{}{said}", run.script, printed.trim_end())
}
