//! The flags of `fourfold bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

pub(super) const EXAMPLES: &str =
    "A target is afp://USER@HOST/SHARE, smb://USER@HOST/SHARE, nfs://HOST/EXPORT, iscsi://HOST/TARGET/LUN or
file:///FOLDER. The measurement works in a folder of its own, which it removes; a LUN must be empty.

Examples:
  fourfold bench smb://ada@server/share nfs://server/share --password-file secret
  fourfold bench --all ada@server/share --clients 1,5,10 --output monday
  fourfold bench file:///srv/share afp://ada@localhost/share --workload seq-read,enumerate
  fourfold bench smb://ada@server/share --suite readynas --scale 0.1
  fourfold bench smb://ada@localhost/share --link 100M,1G --workload seq-read,enumerate
  fourfold bench nfs://server/share --sweep nfs
  fourfold bench iscsi://server/disk --bisect --server-folder /tank
  fourfold bench compare monday.jsonl tuesday.jsonl
  fourfold bench --list                               the workloads and suites, and where they come from

Exit codes:
  0  everything was measured
  1  something was not; the report has what was measured
  2  the command line was refused";

/// `fourfold bench …`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct BenchArguments {
    #[command(subcommand)]
    pub(crate) command: Option<BenchCommand>,
    /// What to measure
    #[arg(value_name = "URL", required_unless_present_any = ["all", "list"])]
    pub(crate) targets: Vec<String>,
    /// AFP, SMB and NFS of this host and share, and its first empty iSCSI disk, at their standard ports
    #[arg(long, value_name = "[USER@]HOST/SHARE")]
    pub(crate) all: Vec<String>,
    /// Workloads; by default the six that answer most questions
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) workload: Vec<String>,
    /// Repeat a published measurement, and show its figures beside yours
    #[arg(long, value_name = "NAME", value_parser = ["ballstate", "readynas", "macbook", "aws95", "zfs-iscsi"])]
    pub(crate) suite: Option<String>,
    /// Print the workloads and the suites
    #[arg(long)]
    pub(crate) list: bool,
    /// Numbers of clients at the same time; by default 1, or those of the suite
    #[arg(long, value_name = "NUMBER", value_delimiter = ',')]
    pub(crate) clients: Vec<usize>,
    /// State of the server's page cache before reads; cold needs --server-folder
    #[arg(long, value_delimiter = ',', default_value = "warm")]
    pub(crate) cache: Vec<CacheFlag>,
    /// What writes promise: nothing, on the disk at the end of each file, or after each write
    #[arg(long, value_delimiter = ',', default_value = "none")]
    pub(crate) durability: Vec<DurabilityFlag>,
    /// Slow networks between the clients and a server on this machine, made of a network namespace (as root)
    #[arg(long, value_name = "RATE", value_delimiter = ',', value_enum)]
    pub(crate) link: Vec<LinkFlag>,
    /// Try the options of NFS mounts one after the other, and print the fastest mount command
    #[arg(long, value_name = "PROTOCOL", conflicts_with_all = ["workload", "suite", "clients", "durability", "cache", "all"])]
    pub(crate) sweep: Option<SweepFlag>,
    /// Measure the same data at each stage: disk, file system, loopback, raw TCP, network; and say where the speed is lost
    #[arg(long, requires = "server_folder", conflicts_with_all = ["workload", "suite", "clients", "durability", "cache", "all", "sweep"])]
    pub(crate) bisect: bool,
    /// Repeats of each measurement
    #[arg(long, value_name = "NUMBER", default_value = "3")]
    pub(crate) repeats: usize,
    /// Transfers in flight of each client
    #[arg(long, value_name = "NUMBER", default_value = "4")]
    pub(crate) depth: usize,
    /// Factor for the sizes of files and their number
    #[arg(long, value_name = "FACTOR", default_value = "1")]
    pub(crate) scale: f64,
    /// Longest time of a repeat; by default 30, and 3600 for the suite ballstate, whose files are whole
    #[arg(long, value_name = "SECONDS")]
    pub(crate) time: Option<u64>,
    /// Longest wait for an answer of the server
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    pub(crate) timeout: u64,
    /// Number that data and random places depend on; by default a random one, which the report has
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Write NAME.jsonl (raw data) and NAME.html (the report with charts)
    #[arg(long, value_name = "NAME")]
    pub(crate) output: Option<PathBuf>,
    /// Account of targets whose URL names none
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// File with the password; its first line
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Served folder, if the server is on this machine: for its disk, and for cold runs
    #[arg(long, value_name = "FOLDER")]
    pub(crate) server_folder: Option<PathBuf>,
    /// Folder with real images: the workload open-155-images takes their lengths
    #[arg(long, value_name = "FOLDER")]
    pub(crate) images: Option<PathBuf>,
    /// Process of a server on this machine, if it is not the one that listens on the port
    #[arg(long, value_name = "PID")]
    pub(crate) server_pid: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Compare two measurements
    #[command(after_help = "Differences count if Welch's test gives them a probability below 5 % by chance.

Examples:
  fourfold bench compare monday.jsonl tuesday.jsonl

Exit codes: 0 compared, 1 they measured different things")]
    Compare {
        /// Raw data of the first measurement
        before: PathBuf,
        /// Raw data of the second
        after: PathBuf,
        /// One JSON object, for scripts
        #[arg(long)]
        json: bool,
    },
    /// Answer raw TCP on a server's machine, so that a measurement knows what the link carries
    #[command(
        after_help = "It receives and sends meaningless bytes for everybody who connects, until it is stopped.
A target with ?raw=PORT is then compared with it.

Examples:
  fourfold bench answer                               on the server
  fourfold bench smb://ada@server/share?raw=5480      on the client

Exit codes: 1 the port cannot be used"
    )]
    Answer {
        /// Address and port to listen on
        #[arg(default_value = "[::]:5480")]
        address: String,
    },
    /// Make the report again from raw data
    #[command(after_help = "Examples:
  fourfold bench report monday.jsonl                  as text
  fourfold bench report monday.jsonl --html new.html

Exit codes: 0 made, 1 the data cannot be read")]
    Report {
        /// Raw data
        data: PathBuf,
        /// Write the report with charts to this file
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum CacheFlag {
    Warm,
    Cold,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DurabilityFlag {
    None,
    End,
    Each,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LinkFlag {
    #[value(name = "none", help = "the network as it is")]
    None,
    #[value(name = "100M", help = "Fast Ethernet")]
    Fast,
    #[value(name = "1G", help = "Gigabit Ethernet")]
    Gigabit,
    #[value(name = "10G", help = "10 Gigabit Ethernet")]
    TenGigabit,
    #[value(name = "wifi-g", help = "IEEE 802.11g, 22 Mbit/s for TCP")]
    WifiG,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SweepFlag {
    Nfs,
}
