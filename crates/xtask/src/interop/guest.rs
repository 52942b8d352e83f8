//! A small virtual machine with a Linux kernel. Its clients connect to a server on this machine:
//! qemu without KVM. It runs `interop/guest/init.sh` and then a script of checks. The script prints
//! `pass NAME` and `fail NAME: why` on a serial line, and sends requests for what only this side
//! can do.

mod archive;
mod disk;
mod initial;

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::process::{self, Running};
pub use disk::fetch as fetch_disk;
pub use disk::image as disk_image;
pub use initial::{Kernel, fetch_kernel};

/// The parts of a machine.
#[derive(Debug)]
pub struct Guest<'a> {
    pub kernel: Kernel,
    /// Modules of the kernel. Names that are no module are built in.
    pub modules: &'a [&'a str],
    /// Programs of this machine, by their names; or of `system`, by their paths in it.
    pub programs: &'a [&'a str],
    /// The folder of an unpacked system that the programs come from.
    pub system: Option<PathBuf>,
    /// A disk with the programs that run the checks. It is not changed.
    pub disk: Option<PathBuf>,
    /// Variables of the script.
    pub settings: String,
    /// The script `main.sh`, and the files beside it.
    pub checks: Vec<(&'a str, Vec<u8>)>,
    pub memory_mib: u32,
    /// qemu's options for network devices. The first is `eth0` with the address 10.0.2.15, the second `eth1` with 10.0.3.15.
    pub network: &'a [&'a str],
}

impl Guest<'_> {
    /// The reason if no such machine can be started here.
    pub fn why_not(&self) -> Result<()> {
        if cfg!(not(target_arch = "x86_64")) {
            bail!("the virtual machine is for x86-64 only");
        }
        let is_here = |program: &str| match &self.system {
            Some(system) if self.programs.contains(&program) => system.join(program).exists(),
            _ => process::find(program).is_some(),
        };
        for program in self.programs.iter().chain(&["busybox", "depmod", "qemu-system-x86_64"]) {
            ensure!(is_here(program), "{program} is not installed");
        }
        if let Some(disk) = &self.disk {
            ensure!(disk.exists(), "the programs of the virtual machine were not fetched");
        }
        initial::kernel(self.kernel).map(drop)
    }

    /// Starts the machine and answers its requests until it reports its end. Adds the results of
    /// its checks to `heard`.
    pub fn run(
        &self,
        work: &Path,
        limit: Duration,
        heard: &mut String,
        mut answer: impl FnMut(&str) -> Result<String>,
    ) -> Result<()> {
        let deadline = Instant::now() + limit;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let mut machine = self.start(work, &listener)?;
        let stream = accept(&listener, &mut machine)?;
        talk(&stream, deadline, heard, &mut answer)
            .with_context(|| format!("see {}", work.join("console.log").display()))
    }

    fn start(&self, work: &Path, listener: &TcpListener) -> Result<Running> {
        let (kernel, initial) = initial::make(self, work)?;
        let (kernel, initial) = (kernel.to_string_lossy(), initial.to_string_lossy());
        let memory = self.memory_mib.to_string();
        let console = format!("file:{}", work.join("console.log").display());
        let talk = format!("socket,id=talk,host=127.0.0.1,port={}", listener.local_addr()?.port());
        let drive = self
            .disk
            .as_ref()
            .map(|disk| format!("file={},if=virtio,format=raw,snapshot=on,cache=unsafe", disk.display()));
        let mut args = vec![
            "-M",
            "q35",
            "-smp",
            "2",
            "-accel",
            "tcg,thread=multi",
            "-cpu",
            "max",
            "-m",
            &memory,
            "-nodefaults",
            "-display",
            "none",
        ];
        args.extend(["-no-reboot", "-kernel", &kernel, "-initrd", &initial]);
        args.extend(["-append", "console=ttyS0 panic=-1 quiet", "-device", "virtio-rng-pci"]);
        args.extend(["-serial", &console, "-chardev", &talk, "-serial", "chardev:talk"]);
        args.extend(drive.iter().flat_map(|drive| ["-drive", drive]));
        args.extend(self.network);
        let log = process::log_file(&work.join("qemu.log"))?;
        Running::start("qemu-system-x86_64", &args, Stdio::null(), log)
    }
}

/// Accepts the machine's connection, which it makes before it starts.
fn accept(listener: &TcpListener, machine: &mut Running) -> Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(false)?;
            return Ok(stream);
        }
        machine.still_up()?;
        if Instant::now() > deadline {
            bail!("qemu does not connect");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn talk(
    mut stream: &TcpStream,
    deadline: Instant,
    heard: &mut String,
    answer: &mut dyn FnMut(&str) -> Result<String>,
) -> Result<()> {
    let mut lines = BufReader::new(stream);
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left))?;
        let mut line = String::new();
        let length = lines.read_line(&mut line).context("the machine takes too long")?;
        match line.trim_end() {
            "done" => return Ok(()),
            _ if length == 0 => bail!("the machine has ended"),
            line => match line.strip_prefix("ask ") {
                Some(what) => writeln!(stream, "{}", answer(what)?)?,
                None => heard.push_str(&format!("{line}\n")),
            },
        }
    }
}
