//! What can be wrong in a tree, and what became of it.

use std::fmt;

use crate::mac::Problem;
use crate::names::long::Problem as LongNameProblem;
use crate::{DistrustReason, Error};

/// Something that is not as the server leaves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The path from the share's folder; empty for that folder.
    pub path: Vec<u8>,
    /// What is wrong.
    pub flaw: Flaw,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A scrub with `repair` mends it.
    Mendable,
    /// It was mended.
    Mended,
    /// It was mended: what was there is now in the server's own folder for lost files, by this path from the share's folder.
    Moved(Vec<u8>),
    /// It stays as it is.
    Left(Why),
}

/// Why a finding stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Only a person can decide.
    Undecided,
    /// It has changed a short time ago, so the work may go on.
    Recent,
    /// The server cannot tell whether the file that it belongs to exists.
    Unknown,
    /// It was tried, and failed.
    Failed(Error),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undecided => f.write_str("a person must decide"),
            Self::Recent => f.write_str("it changed within the last hour; look again later"),
            Self::Unknown => {
                f.write_str("whether its file exists cannot be told; scrub the whole share as root")
            }
            Self::Failed(error) => write!(f, "it could not be mended: {error}"),
        }
    }
}

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// It could not be looked at.
    Unreadable(Error),
    /// A `._name` without `name`.
    SidecarAlone,
    /// A `._name` that names a file that does not exist any more.
    SidecarOfGone,
    /// A `._name` that names another existing file.
    SidecarAway,
    /// The same, but it belongs to another user than that file.
    SidecarForged,
    /// A `._name` that names its file as it was before the tree was copied.
    SidecarOfCopy,
    /// A `._name` whose table of contents is damaged.
    SidecarDamaged(Problem),
    /// A `._name` that the server has made and that cannot be read at all.
    SidecarUnreadable,
    /// A `._name` beside `name` that is an ordinary file.
    SidecarTaken,
    /// A file whose sidecar is still where the file was before.
    SidecarBehind,
    /// A file that says that its sidecar is where none is.
    MarkStale,
    /// Metadata of a file that is damaged.
    Metadata(Problem),
    /// The whole name of a file with a shortened one is missing or damaged.
    LongName(LongNameProblem),
    /// A new file that has not got its name.
    NewUnfinished,
    /// An ACL that is sealed with no key of the share, so that it does not apply.
    AclUnsealed,
    /// The share has locked files, and no note that it has.
    LocksUnnoted,
    /// Something else is in the place of one of the server's own folders.
    FolderUntrusted(DistrustReason),
    /// One of the server's own folders where the server does not look for it.
    FolderAstray,
    /// The key of the ACLs is damaged, or others can read it.
    AclKey,
    /// Something in the store of streams that the server has not made.
    StoreStray,
    /// Streams of a file that does not exist any more.
    StreamsOfGone,
    /// A stream of which the name is lost.
    StreamNameless,
    /// A stream that is stored twice: the other one counts.
    StreamTwice,
    /// A sidecar in the store that its file does not find.
    SidecarUnmarked,
    /// A sidecar in the store of a file that has another one.
    SidecarTwice,
    /// A step that was interrupted.
    Unfinished,
    /// A restore that was interrupted.
    RestoreUnfinished,
}

impl Flaw {
    /// A word for scripts.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.words().0
    }

    /// What it means for clients.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        self.words().1
    }

    /// What mends it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        self.words().2
    }

    /// The code, the meaning, the remedy.
    fn words(&self) -> (&'static str, &'static str, &'static str) {
        const LOST: &str = "--repair moves it to .fourfold-lost";
        match self {
            Self::Unreadable(_) => ("unreadable", "it was not checked", "scrub as root, or look at the disk"),
            Self::SidecarAlone
            | Self::SidecarOfGone
            | Self::SidecarAway
            | Self::SidecarForged
            | Self::SidecarOfCopy
            | Self::SidecarDamaged(_)
            | Self::SidecarUnreadable
            | Self::SidecarTaken
            | Self::SidecarBehind
            | Self::MarkStale
            | Self::SidecarUnmarked
            | Self::SidecarTwice => self.words_of_sidecar(),
            Self::Metadata(_) => (
                "metadata-damaged",
                "Finder info, dates or attributes cannot be read",
                "--repair writes what could be read, and keeps the damaged value beside it",
            ),
            Self::LongName(LongNameProblem::NoWholeName) => (
                "long-name-missing",
                "clients see the shortened name",
                "rename it, or bring its attribute user.fourfold.name back",
            ),
            Self::LongName(_) => {
                ("long-name-stale", "the attribute has no effect", "--repair removes the attribute")
            }
            Self::NewUnfinished => (
                "new-unfinished",
                "no client sees it; its client was not told that it was made",
                "--repair removes it if it is empty, and moves it to .fourfold-lost if not",
            ),
            Self::AclUnsealed => (
                "acl-unsealed",
                "the mode applies instead of the ACL",
                "put the acl-key of the share from which the file was copied back, or set the rights again",
            ),
            Self::LocksUnnoted => (
                "locks-unnoted",
                "locked files are not refused to clients until one of them is looked at",
                "--repair makes the note",
            ),
            Self::FolderUntrusted(_) | Self::FolderAstray | Self::AclKey => self.words_of_folder(),
            Self::StoreStray => ("store-stray", "the server does not know it", LOST),
            Self::StreamsOfGone => ("streams-of-gone-file", "no client sees them", LOST),
            Self::StreamNameless => ("stream-nameless", "no client sees it", LOST),
            Self::StreamTwice => ("stream-twice", "clients see the other one, which is older", LOST),
            Self::Unfinished => {
                ("unfinished", "it is part of a copy; the original counts", "--repair removes it")
            }
            Self::RestoreUnfinished => (
                "restore-unfinished",
                "copies of files of a snapshot that were not put in their places",
                LOST,
            ),
        }
    }

    fn words_of_folder(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::FolderUntrusted(_) => (
                "folder-untrusted",
                "the server does not use it: ACLs and large streams are refused",
                "move it away, or make it root's with the mode 700",
            ),
            Self::FolderAstray => (
                "folder-astray",
                "what is in it is not found",
                "share the folder that it is in, or move it to the share that the files came from",
            ),
            _ => (
                "acl-key-damaged",
                "no ACL of the share applies",
                "make it root's with the mode 600; if it has not 16 bytes, bring it back from a copy",
            ),
        }
    }

    fn words_of_sidecar(&self) -> (&'static str, &'static str, &'static str) {
        const LOST: &str = "--repair moves it to .fourfold-lost";
        match self {
            Self::SidecarOfGone => ("sidecar-of-gone-file", "no client sees it", LOST),
            Self::SidecarAway => (
                "sidecar-away",
                "the file that it belongs to has no resource fork",
                "--repair moves it to its file",
            ),
            Self::SidecarForged => {
                ("sidecar-forged", "it claims a file of another user; no client sees it", LOST)
            }
            Self::SidecarOfCopy => (
                "sidecar-of-copy",
                "the file has lost its resource fork by the copy",
                "--repair gives it to the file beside it",
            ),
            Self::SidecarDamaged(_) => (
                "sidecar-damaged",
                "parts of it are not shown, or may be overwritten",
                "--repair writes it anew, and keeps the damaged one in .fourfold-lost",
            ),
            Self::SidecarUnreadable => ("sidecar-unreadable", "the file has no resource fork", LOST),
            Self::SidecarTaken => (
                "sidecar-taken",
                "the file cannot have a resource fork while it is there",
                "give this file another name",
            ),
            Self::SidecarBehind => (
                "sidecar-behind",
                "the file shows no resource fork until a client asks for it",
                "--repair moves it to its file",
            ),
            Self::MarkStale => ("mark-stale", "nothing", "--repair removes the mark"),
            Self::SidecarUnmarked => (
                "sidecar-unmarked",
                "the file that it belongs to has no resource fork",
                "--repair moves it to its file",
            ),
            Self::SidecarTwice => ("sidecar-twice", "clients see the other one", LOST),
            _ => ("sidecar-alone", "clients see it as a file of its own", LOST),
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable(error) => return write!(f, "it cannot be looked at: {error}"),
            Self::SidecarDamaged(problem) | Self::Metadata(problem) => return problem.fmt(f),
            Self::FolderUntrusted(why) => return why.fmt(f),
            Self::SidecarAlone => "there is no file of the name without ._",
            Self::SidecarOfGone => "it belongs to a file that does not exist any more",
            Self::SidecarAway => "it belongs to a file in another place",
            Self::SidecarForged => "it names a file of another user as its own",
            Self::SidecarOfCopy => "it belongs to the file from which the one beside it was copied",
            Self::SidecarUnreadable => "it is the server's, and is not AppleDouble any more",
            Self::SidecarTaken => {
                "it has the name of the sidecar of the file beside it, and is not AppleDouble"
            }
            Self::SidecarBehind => "its resource fork is in another place",
            Self::MarkStale => "it names a place of its resource fork where none is",
            Self::LongName(LongNameProblem::NoWholeName) => {
                "its name is a shortened one, and the whole one is missing"
            }
            Self::LongName(LongNameProblem::Malformed) => "the attribute with its whole name is damaged",
            Self::LongName(_) => "the whole name in its attribute belongs to another name of it",
            Self::NewUnfinished => "a new file whose making was interrupted",
            Self::AclUnsealed => "its ACL is not sealed with a key of this share",
            Self::LocksUnnoted => "it has locked files, and no note of that",
            Self::FolderAstray => {
                "the server's own folder for streams, in a place where the server does not look"
            }
            Self::AclKey => "the key of the ACLs has not 16 bytes, or others than its owner can read it",
            Self::StoreStray => "the server has not made this",
            Self::StreamsOfGone => "streams of a file that does not exist any more",
            Self::StreamNameless => "a stream without its name",
            Self::StreamTwice => "a stream that is also in an attribute of the file",
            Self::SidecarUnmarked => "a sidecar that its file does not find",
            Self::SidecarTwice => "a sidecar of a file that has another one",
            Self::Unfinished => "a copy that was interrupted",
            Self::RestoreUnfinished => "files of a restore that was interrupted",
        })
    }
}
