//! The flags of the commands on shares as a tree.

use std::path::PathBuf;

use clap::Args;

use super::share::RoleFlags;
use super::{Caution, Where};

pub(super) const CREATE: &str = "The share above it must be there. With roles (--editor and the like) the share is a team folder, whose folder is made so
that these people can use it; `fourfold share access` changes the roles later. WHO is an account, a group such as @studio,
`everyone` with an account, or `guests` with and without one. Without roles the folder is made with the owner and the mode
of the folder above, and it is an error if accounts that may enter the share cannot write there.

Examples:
  fourfold create studio --path /srv/studio --editor ada,grace   both change all files, also those of others
  fourfold create plans --path /srv/plans --owner ada --reader everyone
  fourfold create inbox --path /srv/inbox --editor @office --drop guests
  fourfold create studio/video                         the folder `video` in it, with the properties and roles of `studio`
  fourfold create studio/video/raw -o read-only=on

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused";

pub(super) const DESTROY: &str = "Without --keep-files and --delete-files the folder must be empty. It is removed if the server chose its place,
which it did if the share has no `path` in the settings file.

Examples:
  fourfold destroy studio/video/raw                    an empty one
  fourfold destroy studio/video --keep-files           the share goes, its folder stays
  fourfold destroy studio --recursive --delete-files   with all shares below it and all files; asks before
  fourfold destroy studio -r --delete-files --dry-run  what would go?

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused";

pub(super) const RENAME: &str =
    "Shares below it are renamed, too. A folder whose place follows from the name is moved.

Examples:
  fourfold rename studio/video studio/film
  fourfold rename studio/video archive/video           below another share, whose properties it inherits then

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused";

pub(super) const SET: &str = "Every setting of a share (docs/settings.md) is a property. The settings file is changed, its comments stay, and a
running server applies it at once. Lists have commas between their elements.

Examples:
  fourfold set read-only=on studio
  fourfold set users=ada,grace smb=off studio/video
  fourfold set 'comment=Plans and photographs' studio
  fourfold set quota=200G studio/video                 none removes it

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused";

pub(super) const GET: &str = "Examples:
  fourfold get all studio/video                        each property, its value, and where it comes from
  fourfold get read-only,users                         two properties of every share
  fourfold get all studio --json                       for scripts

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused";

pub(super) const INHERIT: &str = "Examples:
  fourfold inherit read-only studio/video              from now on that of `studio`
  fourfold inherit read-only studio --recursive        of `studio`, and of every share below it

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused";

pub(super) const LIST: &str = "USED is what a share takes with its snapshots and the shares below it, REFER what its files take as they are now, QUOTA
what they may take. They are known where the host accounts for them (ZFS, btrfs with a quota), or the server counts for a
quota; ~ marks an estimate until all files are counted. AVAIL is what files in it may still take.

Examples:
  fourfold list                                        every share
  fourfold list studio                                 this share and those below it
  fourfold list --json | jq '.[].name'                 for scripts

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused";

#[derive(Debug, Args)]
pub(crate) struct CreateShare {
    /// Name of the share, with a slash before its last part if it is to lie below another share
    pub(crate) name: String,
    /// Folder of the share; by default the last part of its name, in the folder of the share above
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
    /// A property with its value; can be given several times
    #[arg(short = 'o', long = "set", value_name = "PROPERTY=VALUE")]
    pub(crate) properties: Vec<String>,
    #[command(flatten)]
    pub(crate) roles: RoleFlags,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct DestroyShare {
    /// Name of the share
    pub(crate) name: String,
    /// Also the shares below it
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// Leave the folder and its files as they are
    #[arg(long)]
    pub(crate) keep_files: bool,
    /// Delete the folder and all files in it
    #[arg(long, conflicts_with = "keep_files")]
    pub(crate) delete_files: bool,
    #[command(flatten)]
    pub(crate) caution: Caution,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct RenameShare {
    /// Name of the share
    pub(crate) name: String,
    /// Its new name
    pub(crate) new: String,
    /// Change nothing, and say what would be done
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct SetProperties {
    /// Properties with their values, and the name of the share; without a name, settings of the server
    #[arg(required = true, value_name = "PROPERTY=VALUE|SHARE")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) place: Where,
}

impl SetProperties {
    /// The properties, and the share if they are not of the server. The name of a share has no `=`.
    pub(crate) fn split(&self) -> (&[String], Option<&str>) {
        match self.words.split_last() {
            Some((name, properties)) if !name.contains('=') => (properties, Some(name)),
            _ => (&self.words, None),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct GetProperties {
    /// Properties, with commas between them, or `all`
    pub(crate) properties: String,
    /// Names of shares; by default all of them
    pub(crate) names: Vec<String>,
    /// One JSON array, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct InheritProperty {
    /// The property
    pub(crate) property: String,
    /// Name of the share
    pub(crate) name: String,
    /// Also of the shares below it
    #[arg(long, short)]
    pub(crate) recursive: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct ListShares {
    /// A share, which is listed with those below it; by default all shares
    pub(crate) name: Option<String>,
    /// One JSON array, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
