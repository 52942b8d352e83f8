//! The flags of `fourfold fork`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

const PACK: &str = "The files are read on this machine, in whatever layout the folder has. Their forks, Finder info, dates, comment, Mac
attributes and extended attributes go into the new file; the file itself stays. A folder is packed with everything below it. A form that
cannot hold something of a file is refused, unless --lossy is given: MacBinary and BinHex have no extended attributes.

Examples:
  fourfold fork pack Letter                           Letter.as, an AppleSingle file
  fourfold fork pack Fonts --form macbinary --into out  a tree of .bin files
  fourfold fork pack Fonts --form appledouble --into out  data files, each with its ._name
  fourfold fork pack Letter --form binhex --lossy      Letter.hqx, without dates and tags

Exit codes:
  0  all files were packed
  1  a file could not be packed; the message says why, and the others were packed
  2  the command line was refused";

const UNPACK: &str = "The form of each file is recognized by its content. A folder is unpacked with everything below it; files of no
such form are passed over. `._name` beside `name` becomes a part of it. No file is replaced.

Examples:
  fourfold fork unpack Letter.hqx                     Letter, with its resource fork, in this folder
  fourfold fork unpack Archive --into /srv/studio     a tree

Exit codes:
  0  all files were unpacked
  1  a file could not be unpacked; the message says why, and the others were unpacked
  2  the command line was refused";

/// `fourfold fork`
#[derive(Debug, Subcommand)]
pub(crate) enum ForkCommand {
    /// Put a file with its forks and Finder info into one file that any system can carry
    #[command(after_help = PACK)]
    Pack(Pack),
    /// Make files with forks and Finder info out of AppleSingle, AppleDouble, MacBinary and BinHex
    #[command(after_help = UNPACK)]
    Unpack(Unpack),
}

/// `fourfold fork pack`
#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The form
    #[arg(long, value_enum, value_name = "FORM", default_value = "applesingle")]
    pub(crate) form: PortableForm,
    /// Folder of the packed files; it must exist
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) into: PathBuf,
    /// Leave out what the form cannot hold, and say what
    #[arg(long)]
    pub(crate) lossy: bool,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
}

/// `fourfold fork unpack`
#[derive(Debug, Args)]
pub(crate) struct Unpack {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Folder of the unpacked files; it must exist
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) into: PathBuf,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
}

/// A portable form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(clippy::doc_markdown, reason = "texts of the help")]
pub(crate) enum PortableForm {
    /// one file with everything: .as
    #[value(name = "applesingle")]
    AppleSingle,
    /// the data file, and ._name with everything else
    #[value(name = "appledouble")]
    AppleDouble,
    /// both forks, Finder info, two dates, comment: .bin
    #[value(name = "macbinary")]
    MacBinary,
    /// both forks, type, creator and flags, as text: .hqx
    #[value(name = "binhex")]
    BinHex,
}
