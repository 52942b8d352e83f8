//! The bridge between programs that know only TCP and a server over AppleTalk (`crates/client/tests/asp_bridge`).

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};

use anyhow::{Context, Result};

use crate::interop::compiled::{self, TestProgram};
use crate::process::{self, Running};

/// Its program.
pub const PROGRAM: TestProgram = TestProgram { folder: "client", name: "asp_bridge" };
/// The link between it and the server.
pub const LINK: &str = "ltoudp:lo";

/// The settings of a server of this name that the bridge finds.
pub fn settings(name: &str) -> String {
    format!("\n[appletalk]\nlinks = [\"{LINK}\"]\nname = \"{name}\"\n")
}

/// A bridge, which ends with its standard input.
pub struct Bridge {
    output: BufReader<ChildStdout>,
    _input: ChildStdin,
    _running: Running,
}

impl Bridge {
    /// A bridge to the server of this name, with this log.
    pub fn start(name: &str, log: &Path) -> Result<Self> {
        let log = process::log_file(log)?;
        let (running, input, output) = Running::talking(compiled::program(&PROGRAM)?, &[LINK, name], log)?;
        Ok(Self { output: BufReader::new(output), _input: input, _running: running })
    }

    /// Its port, once it has found the server.
    pub fn port(&mut self) -> Result<u16> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        line.trim().parse().context("the bridge does not find the server")
    }
}
