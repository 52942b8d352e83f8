//! NFS version 3, RFC 1813. One file per command, each with
//!
//! * `Request`, its arguments,
//! * `ResOk`, its results, and `ResFail`, what goes with a failure: [`Fail`](types::Fail) and the attributes the
//!   procedure's failure carries,
//! * `Res`, one or the other.

pub mod access;
pub mod commit;
pub mod create;
pub mod fsinfo;
pub mod fsstat;
pub mod getattr;
pub mod link;
pub mod lookup;
pub mod mkdir;
pub mod mknod;
pub mod pathconf;
pub mod read;
pub mod readdir;
pub mod readdirplus;
pub mod readlink;
pub mod remove;
pub mod rename;
pub mod rmdir;
pub mod setattr;
pub mod symlink;
pub mod types;
pub mod write;

pub mod entries;
#[cfg(test)]
mod tests;

use super::rpc::Outcome;
use super::xdr::{Encode, arguments, enumeration};
use types::{DirOpArgs, FileHandle, Name};
use wire::{Reader, Writer};

/// The program's number, RFC 1813 2.1.
pub const PROGRAM: u32 = 100_003;
/// The version spoken here.
pub const VERSION: u32 = 3;

/// A file that a call names: by its handle, or by its name in the folder of the handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedFile<'a> {
    pub handle: FileHandle<'a>,
    pub name: Option<Name<'a>>,
}

impl<'a> From<FileHandle<'a>> for NamedFile<'a> {
    fn from(handle: FileHandle<'a>) -> Self {
        Self { handle, name: None }
    }
}

impl<'a> From<DirOpArgs<'a>> for NamedFile<'a> {
    fn from(at: DirOpArgs<'a>) -> Self {
        Self { handle: at.dir, name: Some(at.name) }
    }
}

/// The files of one or two arguments.
fn pair<const N: usize>(files: [NamedFile<'_>; N]) -> [Option<NamedFile<'_>>; 2] {
    let mut files = files.into_iter();
    [files.next(), files.next()]
}

/// Declares [`Procedure`] and [`Arguments`] from one table. Its columns: number and name; arguments; those of them that name the
/// files that a call reads or changes; `repeatable`, or `once` if a call that comes again must not be executed again.
macro_rules! procedures {
    (@is_once once) => { true };
    (@is_once repeatable) => { false };
    ($($number:literal $constant:ident: $name:ident($type:ty), names [$($file:ident),*], $once:ident;)*) => {
        enumeration! {
            /// The procedures, RFC 1813 3.
            pub struct Procedure;
            $($constant = $number,)*
        }

        impl Procedure {
            /// Whether a repeated call gets the first reply again, because executing it twice would do harm.
            pub fn is_executed_once(self) -> bool {
                match self {
                    $(Self::$constant => procedures!(@is_once $once),)*
                    _ => false,
                }
            }
        }

        /// The arguments of a call.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Arguments<'a> {
            $($name($type),)*
        }

        impl<'a> Arguments<'a> {
            /// Decodes the arguments of a call of this procedure. The error is what the call is answered.
            pub fn of(procedure: Procedure, bytes: &'a [u8]) -> Result<Self, Outcome> {
                let r = &mut Reader::new(bytes);
                let decoded = match procedure {
                    $(Procedure::$constant => arguments(r).map(Self::$name),)*
                    _ => return Err(Outcome::ProcUnavail),
                };
                decoded.map_err(|_| Outcome::GarbageArgs)
            }

            /// The files that the call reads or changes.
            pub fn files(&self) -> [Option<NamedFile<'a>>; 2] {
                match self {
                    $(Self::$name(_arguments) => pair([$(_arguments.$file.into()),*]),)*
                }
            }
        }

        impl Encode for Arguments<'_> {
            fn encode(&self, w: &mut Writer) {
                match self {
                    $(Self::$name(arguments) => arguments.encode(w),)*
                }
            }
        }
    };
}

procedures! {
    0 NULL: Null(()), names [], repeatable;
    1 GETATTR: GetAttr(getattr::Request<'a>), names [object], repeatable;
    2 SETATTR: SetAttr(setattr::Request<'a>), names [object], once;
    3 LOOKUP: LookUp(lookup::Request<'a>), names [what], repeatable;
    4 ACCESS: Access(access::Request<'a>), names [object], repeatable;
    5 READLINK: ReadLink(readlink::Request<'a>), names [symlink], repeatable;
    6 READ: Read(read::Request<'a>), names [file], repeatable;
    7 WRITE: Write(write::Request<'a>), names [file], repeatable;
    8 CREATE: Create(create::Request<'a>), names [place], once;
    9 MKDIR: MkDir(mkdir::Request<'a>), names [place], once;
    10 SYMLINK: SymLink(symlink::Request<'a>), names [place], once;
    11 MKNOD: MkNod(mknod::Request<'a>), names [place], once;
    12 REMOVE: Remove(remove::Request<'a>), names [object], once;
    13 RMDIR: RmDir(rmdir::Request<'a>), names [object], once;
    14 RENAME: Rename(rename::Request<'a>), names [from, to], once;
    15 LINK: Link(link::Request<'a>), names [file], once;
    16 READDIR: ReadDir(readdir::Request<'a>), names [dir], repeatable;
    17 READDIRPLUS: ReadDirPlus(readdirplus::Request<'a>), names [dir], repeatable;
    18 FSSTAT: FsStat(fsstat::Request<'a>), names [root], repeatable;
    19 FSINFO: FsInfo(fsinfo::Request<'a>), names [root], repeatable;
    20 PATHCONF: PathConf(pathconf::Request<'a>), names [object], repeatable;
    21 COMMIT: Commit(commit::Request<'a>), names [file], repeatable;
}
