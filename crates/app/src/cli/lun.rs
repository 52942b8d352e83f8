//! The flags of `fourfold lun`.

use clap::{Args, Subcommand};

use super::{Caution, Where};

/// `fourfold lun …`
#[derive(Debug, Subcommand)]
pub(crate) enum LunCommand {
    /// Make a LUN, or take over a disk image of the share
    #[command(after_help = "Examples:
  fourfold lun create Studio/video 2T                        thin: takes room as it is written to
  fourfold lun create Studio/vm1 40G --target vms            LUNs with the same word share a target
  fourfold lun create Studio/old --file images/old.img       take over an image of tgt or LIO as it is
  fourfold lun create Studio/video 2T --initiator 'iqn.1991-05.com.microsoft:*'

A running server offers it at once. Sizes are rounded up to whole blocks of 4096 bytes.
Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Create(Box<Create>),
    /// List the LUNs
    #[command(after_help = "Examples:
  fourfold lun list
  fourfold lun list --json | jq '.[] | select(.sessions != [])'

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    List {
        /// One JSON array, for scripts
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        state: Where,
    },
    /// Show all about a LUN, and how initiators reach it
    #[command(after_help = "Examples:
  fourfold lun show Studio/video
  fourfold lun show Studio/video --json | jq -r .target

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Show {
        #[command(flatten)]
        named: NamedLun,
        /// One JSON object, for scripts
        #[arg(long)]
        json: bool,
    },
    /// Give a LUN another size; initiators are told
    #[command(after_help = "Examples:
  fourfold lun resize Studio/video 3T
  fourfold lun resize Studio/video 500G --shrink             asks: what is behind the new end is lost

A LUN is made smaller only while no initiator is logged in. What is on it must be told of its new size, too, or must have been
made to fit before.
Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Resize {
        #[command(flatten)]
        named: NamedLun,
        /// Its new size
        size: String,
        /// It may become smaller; what is behind the new end is lost
        #[arg(long)]
        shrink: bool,
        #[command(flatten)]
        caution: Caution,
    },
    /// Remove a LUN, and its file
    #[command(after_help = "Examples:
  fourfold lun remove Studio/video                           asks first
  fourfold lun remove Studio/video --keep-file               its file stays in the share
  fourfold lun remove Studio/video --yes --force             even while an initiator is logged in

An image that was taken over with --file always stays.
Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Remove {
        #[command(flatten)]
        named: NamedLun,
        /// Leave its file in the share
        #[arg(long)]
        keep_file: bool,
        /// Even while an initiator is logged in
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        caution: Caution,
    },
    /// Take, list and remove snapshots of LUNs
    #[command(subcommand)]
    Snapshot(LunSnapshot),
    /// Make another LUN with the same contents
    #[command(after_help = "Examples:
  fourfold lun clone Studio/video before-update              takes no time and no room on btrfs and XFS
  fourfold lun clone Studio/video apart --copy               shares no blocks
  fourfold lun clone Studio/video@monday trial               of a snapshot; the clone can be written to

Where the file system cannot share blocks everything is copied, and no initiator may be logged in meanwhile. Else the LUN may
be in use: the clone is what a power cut would have left.
Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Clone {
        #[command(flatten)]
        named: NamedLun,
        /// Name of the other one, in the same share
        new: String,
        /// Copy everything, even where the file system could share blocks
        #[arg(long)]
        copy: bool,
    },
}

/// `fourfold lun snapshot …`
#[derive(Debug, Subcommand)]
pub(crate) enum LunSnapshot {
    /// Keep a LUN as it is now, as a read-only LUN
    #[command(after_help = "Examples:
  fourfold lun snapshot create Studio/video@monday           takes no time and no room on btrfs and XFS
  fourfold lun snapshot create Studio/video@monday --copy    where the file system cannot share blocks

What the initiator has synchronized (SYNCHRONIZE CACHE) is in it. The LUN may be in use: the snapshot is what a power cut would
have left. Initiators see it as the LUN Studio/video.monday.
Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Create {
        #[command(flatten)]
        named: NamedLunSnapshot,
        /// Copy everything, even where the file system could share blocks; no initiator may be logged in
        #[arg(long)]
        copy: bool,
    },
    /// List the snapshots of LUNs
    #[command(after_help = "Examples:
  fourfold lun snapshot list                                 of every LUN
  fourfold lun snapshot list Studio/video --json             of one LUN, for scripts

Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    List {
        /// Share and name of a LUN; by default all of them
        #[arg(value_name = "SHARE/NAME")]
        lun: Option<String>,
        /// One JSON array, for scripts
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        state: Where,
    },
    /// Remove a snapshot of a LUN
    #[command(after_help = "Examples:
  fourfold lun snapshot remove Studio/video@monday

Clones of it stay: they have their own blocks.
Exit codes: 0 done, 1 not done, 2 the settings were refused")]
    Remove {
        #[command(flatten)]
        named: NamedLunSnapshot,
        /// Even while an initiator is logged in
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        caution: Caution,
    },
}

/// A snapshot of a LUN.
#[derive(Debug, Args)]
pub(crate) struct NamedLunSnapshot {
    /// Share and name of the LUN, and the name of the snapshot
    #[arg(value_name = "SHARE/NAME@SNAPSHOT")]
    pub(crate) snapshot: String,
    #[command(flatten)]
    pub(crate) state: Where,
}

/// A LUN of a share.
#[derive(Debug, Args)]
pub(crate) struct NamedLun {
    /// Share and name of the LUN
    #[arg(value_name = "SHARE/NAME")]
    pub(crate) lun: String,
    #[command(flatten)]
    pub(crate) state: Where,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    #[command(flatten)]
    pub(crate) named: NamedLun,
    /// Its size, such as 500G or "1.5 TiB"; of a file that is there already it need not be said
    pub(crate) size: Option<String>,
    /// Bytes of a block: 512, or 4096 for initiators that support no other size
    #[arg(long, value_name = "BYTES", default_value = "512", value_parser = ["512", "4096"])]
    pub(crate) block_size: String,
    /// Disk image inside the share, to serve as it is
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<String>,
    /// Initiators cannot write to it
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Name of an initiator that sees it, with * for any characters; can be given several times. By default all do
    #[arg(long = "initiator", value_name = "PATTERN")]
    pub(crate) initiators: Vec<String>,
    /// Name of an initiator that may only read, with * for any characters; can be given several times
    #[arg(long = "reader", value_name = "PATTERN")]
    pub(crate) readers: Vec<String>,
    /// What its target is called; LUNs of a share with the same word share one. By default the LUN's name
    #[arg(long, value_name = "WORD")]
    pub(crate) target: Option<String>,
    /// Its number in the target; by default the lowest that is free
    #[arg(long, value_name = "0-255", value_parser = clap::value_parser!(u16).range(0..=255))]
    pub(crate) number: Option<u16>,
}
