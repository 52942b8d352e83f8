//! Starts other programs, waits for them, and ends exactly the ones that it started.

use std::ffi::OsStr;
use std::fs::File;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// A program. Dropping it ends the program by its process id.
#[derive(Debug)]
pub struct Running {
    child: Child,
    name: String,
    /// Whether it first gets SIGTERM and only then SIGKILL.
    gently: bool,
}

impl Running {
    /// Starts `program`. If `setpriv` exists, it asks the kernel to end the program should this
    /// process die without dropping it (interrupted, killed). `setpriv` replaces itself by the
    /// program, so the process id is the program's.
    pub fn start(program: impl AsRef<OsStr>, args: &[&str], out: Stdio, err: Stdio) -> Result<Self> {
        Self::spawn(program, args, (Stdio::null(), out, err))
    }

    /// The same, with its standard input and output.
    pub fn talking(
        program: impl AsRef<OsStr>,
        args: &[&str],
        err: Stdio,
    ) -> Result<(Self, ChildStdin, ChildStdout)> {
        let mut running = Self::spawn(program, args, (Stdio::piped(), Stdio::piped(), err))?;
        let (input, output) = (running.child.stdin.take(), running.child.stdout.take());
        Ok((running, input.context("no input")?, output.context("no output")?))
    }

    fn spawn(
        program: impl AsRef<OsStr>,
        args: &[&str],
        (input, out, err): (Stdio, Stdio, Stdio),
    ) -> Result<Self> {
        let name = program.as_ref().to_string_lossy().into_owned();
        let mut command = match find("setpriv") {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                command.args(["--pdeathsig", "KILL", "--"]).arg(program.as_ref());
                command
            }
            None => Command::new(program.as_ref()),
        };
        let child = command.args(args).stdin(input).stdout(out).stderr(err).spawn();
        Ok(Self { child: child.with_context(|| format!("cannot start {name}"))?, name, gently: true })
    }

    /// For a program that ignores SIGTERM (`unshare --fork`): it gets SIGKILL at once.
    pub fn kill_at_end(&mut self) {
        self.gently = false;
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The memory that it uses (RSS), in KiB. 0 if that is unknown.
    pub fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }

    /// The bytes that it has written to files, also those that are not on the disk yet. 0 if that is unknown.
    pub fn written_bytes(&self) -> u64 {
        let counts = std::fs::read_to_string(format!("/proc/{}/io", self.pid())).unwrap_or_default();
        let line = counts.lines().find_map(|line| line.strip_prefix("write_bytes:"));
        line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
    }

    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Fails if the program has already ended.
    pub fn still_up(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("{} ended early ({status})", self.name),
            None => Ok(()),
        }
    }

    /// Waits for its end, at most `limit`. Fails unless the program succeeds.
    pub fn finish(mut self, limit: Duration) -> Result<()> {
        ensure!(self.ended_within(limit), "{} does not end within {} s", self.name, limit.as_secs());
        let status = self.child.wait()?;
        ensure!(status.success(), "{} failed ({status})", self.name);
        Ok(())
    }

    /// Asks it to end, as Ctrl-C does. Returns whether it ended in time; else it is killed.
    pub fn interrupt(mut self, limit: Duration) -> bool {
        let asked = kill_process(Pid::from_child(&self.child), Signal::INT).is_ok();
        self.gently = false;
        asked && self.ended_within(limit)
    }

    fn ended_within(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let asked = self.gently && kill_process(Pid::from_child(&self.child), Signal::TERM).is_ok();
            if !asked || !self.ended_within(Duration::from_secs(5)) {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
        }
    }
}

/// The path of `program`. Also looks where Debian keeps the administrator's programs.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin", "/sbin", "/usr/local/sbin"]);
    folders.map(|folder| Path::new(folder).join(program)).find(|candidate| candidate.is_file())
}

/// Runs a program to its end with our own standard streams.
pub fn run(program: &str, args: &[&str]) -> Result<()> {
    run_with(program, args, &[])
}

/// The same with environment variables added.
pub fn run_with(program: &str, args: &[&str], env: &[(&str, &str)]) -> Result<()> {
    let status = Command::new(program).args(args).envs(env.iter().copied()).current_dir(root()).status();
    let status = status.with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} {} failed ({status})", args.join(" "));
    }
    Ok(())
}

/// Runs a program to its end, at most `limit`, and returns its output.
pub fn output(program: impl AsRef<OsStr>, args: &[&str], limit: Duration) -> Result<Output> {
    let name = program.as_ref().to_string_lossy().into_owned();
    let found = find(&name).unwrap_or_else(|| PathBuf::from(program.as_ref()));
    let seconds = limit.as_secs().max(1).to_string();
    // coreutils' timeout also ends what the program itself started.
    let output = Command::new("timeout")
        .args(["-k", "5", &seconds])
        .arg(found)
        .args(args)
        .stdin(Stdio::null())
        .output();
    let output = output.with_context(|| format!("cannot start {name}"))?;
    if output.status.code() == Some(124) {
        bail!("{name} {} did not end within {seconds} s", args.join(" "));
    }
    Ok(output)
}

/// The output of a program, if it succeeded.
pub fn stdout_of(program: impl AsRef<OsStr>, args: &[&str], limit: Duration) -> Result<String> {
    let name = program.as_ref().to_string_lossy().into_owned();
    let output = output(program, args, limit)?;
    if !output.status.success() {
        bail!(
            "{name} {}: {}: {}",
            args.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The output of a program until it ends or its time limit is over. Both streams are in the order
/// in which they were written.
pub fn both_streams(command: &[impl AsRef<str>], limit: Duration) -> Result<String> {
    let seconds = limit.as_secs().to_string();
    let script = "timeout -k 5 \"$0\" \"$@\" 2>&1; [ $? != 124 ] || echo \"ended after $0 s\"";
    let mut args = vec!["-c", script, &seconds];
    args.extend(command.iter().map(AsRef::as_ref));
    let output = output("/bin/sh", &args, limit + Duration::from_secs(20))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The repository's root: the folder of the workspace manifest.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// An empty folder of that name under `target/`.
pub fn fresh_folder(name: &str) -> Result<PathBuf> {
    let folder = root().join("target").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Waits until a server accepts connections on `port`, or `program` has ended.
pub fn wait_for_port(program: &mut Running, port: u16, limit: Duration) -> Result<()> {
    let deadline = Instant::now() + limit;
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        program.still_up()?;
        if Instant::now() > deadline {
            bail!("{} does not listen on port {port}", program.name);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// A file for a program's messages.
pub fn log_file(path: &Path) -> Result<Stdio> {
    Ok(Stdio::from(File::create(path).with_context(|| format!("cannot write {}", path.display()))?))
}

/// Whether a continuous-integration service runs this command. Then a missing client is a failure.
pub fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finish(program: &str, args: &[&str], limit: Duration) -> Result<()> {
        Running::start(program, args, Stdio::null(), Stdio::null())?.finish(limit)
    }

    #[test]
    fn a_program_that_fails_or_does_not_end_is_an_error() {
        let limit = Duration::from_secs(20);
        assert!(finish("true", &[], limit).is_ok());
        assert!(finish("false", &[], limit).is_err());
        assert!(finish("sleep", &["60"], Duration::from_millis(50)).is_err());
    }
}
