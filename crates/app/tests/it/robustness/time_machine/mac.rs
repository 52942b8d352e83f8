//! A Mac's file operations on a share, over SMB or AFP: as few as Time Machine needs.

use std::collections::HashMap;

use ::afp::client::{Error as AfpError, ForkId, ROOT};
use ::afp::wire::fork::{AccessMode, OneFork};
use ::afp::wire::{ResultCode, command};
use ::smb::client::Error as SmbError;
use ::smb::wire::create::{self, Disposition, Options, ShareAccess};
use ::smb::wire::create_context::RawContext;
use ::smb::wire::fscc::FileClass;
use ::smb::wire::fscc::file_name::Target;
use ::smb::wire::security::AccessMask;
use ::smb::wire::write::Flags;
use ::smb::wire::{Command, FileKey, OplockLevel, Status, flush};

use crate::robustness::afp::Afp;
use crate::robustness::smb::{Smb, ok};

/// Why an operation was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The connection is over.
    Lost,
    /// Another client has the file open, and denies this.
    InUse,
    /// Anything else.
    Refused,
}

pub(super) type Done<T> = Result<T, Stopped>;

/// How a file is opened for reading and writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// It is made.
    New,
    /// It is there.
    Old,
    /// It is there, and others may neither read nor write it: O_EXLOCK.
    Exclusive,
}

/// A Mac in a session. Paths have slashes.
pub(super) trait Mac: Send {
    /// An open file.
    type File: Copy;

    fn make_folder(&mut self, path: &str) -> Done<()>;
    fn open(&mut self, path: &str, how: How) -> Done<Self::File>;
    fn write(&mut self, file: Self::File, offset: u64, data: &[u8]) -> Done<()>;
    /// F_FULLFSYNC.
    fn full_sync(&mut self, file: Self::File) -> Done<()>;
    fn close(&mut self, file: Self::File) -> Done<()>;
    /// Nothing has the new name.
    fn rename(&mut self, from: &str, to: &str) -> Done<()>;
    fn remove(&mut self, path: &str) -> Done<()>;
}

/// Over SMB. Files have batch oplocks and are durable, so that they survive a lost connection.
pub(super) struct OverSmb {
    smb: Smb,
    port: u16,
    opens: HashMap<FileKey, [u8; 16]>,
    next: u64,
}

impl OverSmb {
    /// The machine of this number.
    pub(super) fn enter(port: u16, machine: u8) -> Self {
        Self { smb: Smb::enter_as_machine(port, machine), port, opens: HashMap::new(), next: 0 }
    }

    /// The connection is lost, and the machine comes back: it claims its durable open again.
    pub(super) fn sleep_and_wake(mut self, machine: u8, file: FileKey, path: &str) -> Done<(Self, FileKey)> {
        let id = self.opens.remove(&file).ok_or(Stopped::Refused)?;
        let port = self.port;
        drop(self); // no LOGOFF: the connection is only gone
        let mut back = Self::enter(port, machine);
        let data = [&file.persistent.to_le_bytes()[..], &file.volatile.to_le_bytes(), &id, &[0; 4]].concat();
        let again = back.smb.try_open(&in_smb(path), |request| {
            request.disposition = Disposition::OPEN;
            request.oplock_level = OplockLevel::BATCH;
            request.contexts = vec![RawContext { tag: b"DH2C".into(), data: data.into() }];
        });
        let file = said(again)?;
        back.opens.insert(file, id);
        Ok((back, file))
    }

    /// The id of another durable open.
    fn durable(&mut self) -> [u8; 16] {
        self.next += 1;
        let mut id = [7; 16];
        id[..8].copy_from_slice(&self.next.to_le_bytes());
        id
    }
}

fn in_smb(path: &str) -> String {
    path.replace('/', "\\")
}

fn said<T>(answer: Result<Result<T, Status>, SmbError>) -> Done<T> {
    answer.map_err(|_| Stopped::Lost)?.map_err(|status| match status {
        Status::SHARING_VIOLATION => Stopped::InUse,
        _ => Stopped::Refused,
    })
}

impl Mac for OverSmb {
    type File = FileKey;

    fn make_folder(&mut self, path: &str) -> Done<()> {
        let made = self.smb.try_open(&in_smb(path), |request| {
            request.disposition = Disposition::CREATE;
            request.options = Options::DIRECTORY_FILE;
            request.desired_access = AccessMask::READ_ATTRIBUTES.0;
        });
        let folder = said(made)?;
        self.close(folder)
    }

    fn open(&mut self, path: &str, how: How) -> Done<FileKey> {
        let id = self.durable();
        let data = [&[0; 16][..], &id].concat(); // no wish for the time, MS-SMB2 2.2.13.2.11
        let opened = self.smb.try_open(&in_smb(path), |request| {
            request.disposition = if how == How::New { Disposition::CREATE } else { Disposition::OPEN };
            request.share_access = match how {
                How::Exclusive => ShareAccess::DELETE,
                How::New | How::Old => ShareAccess::READ | ShareAccess::WRITE | ShareAccess::DELETE,
            };
            // What is open for one client only needs no cache, and a client that waits for an answer gives none back.
            if how != How::Exclusive {
                request.oplock_level = OplockLevel::BATCH;
                request.contexts = vec![RawContext { tag: b"DH2Q".into(), data: data.into() }];
            }
        });
        let file = said(opened)?;
        self.opens.insert(file, id);
        Ok(file)
    }

    fn write(&mut self, file: FileKey, offset: u64, data: &[u8]) -> Done<()> {
        said(self.smb.try_write(file, offset, data, Flags::NONE))
    }

    fn full_sync(&mut self, file: FileKey) -> Done<()> {
        let request = flush::Request { reserved: flush::Request::FULL_SYNC, file };
        said(self.smb.try_call(Command::FLUSH, |w| request.encode(w)).map(|answer| ok(&answer)))
    }

    fn close(&mut self, file: FileKey) -> Done<()> {
        self.opens.remove(&file);
        let request = ::smb::wire::close::Request { flags: ::smb::wire::close::Flags::NONE, file };
        said(self.smb.try_call(Command::CLOSE, |w| request.encode(w)).map(|answer| ok(&answer)))
    }

    fn rename(&mut self, from: &str, to: &str) -> Done<()> {
        let opened = self.smb.try_open(&in_smb(from), |request: &mut create::Request<'_>| {
            request.desired_access = AccessMask::DELETE.0;
            request.disposition = Disposition::OPEN;
        });
        let file = said(opened)?;
        let name = in_smb(to).encode_utf16().collect();
        let target = Target { replace_if_exists: false, root_directory: 0, name };
        let renamed = self.smb.try_set(file, FileClass::RENAME, |w| target.encode(w));
        self.close(file)?;
        said(renamed)
    }

    fn remove(&mut self, path: &str) -> Done<()> {
        let opened = self.smb.try_open(&in_smb(path), |request| {
            request.desired_access = AccessMask::DELETE.0;
            request.disposition = Disposition::OPEN;
            request.options = Options::DELETE_ON_CLOSE;
        });
        let file = said(opened)?;
        self.close(file)
    }
}

/// Over AFP.
pub(super) struct OverAfp {
    afp: Afp,
    /// The numbers of folders, by their paths.
    folders: HashMap<String, u32>,
}

impl OverAfp {
    pub(super) fn enter(port: u16) -> Self {
        Self { afp: Afp::enter(port), folders: HashMap::from([(String::new(), ROOT)]) }
    }

    /// The folder of a path, and the name in it.
    fn place<'a>(&mut self, path: &'a str) -> Done<(u32, &'a str)> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if let Some(number) = self.folders.get(folder) {
            return Ok((*number, name));
        }
        let (above, own) = self.place(folder)?;
        let number = answered(self.afp.client.file_number(self.afp.volume, above, own))?;
        self.folders.insert(folder.to_owned(), number);
        Ok((number, name))
    }
}

fn answered<T>(answer: Result<T, AfpError>) -> Done<T> {
    answer.map_err(|error| match error.code() {
        None => Stopped::Lost,
        Some(ResultCode::DENY_CONFLICT | ResultCode::FILE_BUSY) => Stopped::InUse,
        Some(_) => Stopped::Refused,
    })
}

impl Mac for OverAfp {
    type File = ForkId;

    fn make_folder(&mut self, path: &str) -> Done<()> {
        let (folder, name) = self.place(path)?;
        let number = answered(self.afp.client.create_folder(self.afp.volume, folder, name))?;
        self.folders.insert(path.to_owned(), number);
        Ok(())
    }

    fn open(&mut self, path: &str, how: How) -> Done<ForkId> {
        let (folder, name) = self.place(path)?;
        if how == How::New {
            answered(self.afp.client.create_in(self.afp.volume, folder, name))?;
        }
        let denied =
            if how == How::Exclusive { AccessMode::DENY_READ.0 | AccessMode::DENY_WRITE.0 } else { 0 };
        let access = AccessMode(AccessMode::READ.0 | AccessMode::WRITE.0 | denied);
        answered(self.afp.client.open_fork((self.afp.volume, folder, name), false, access))
    }

    fn write(&mut self, file: ForkId, offset: u64, data: &[u8]) -> Done<()> {
        answered(self.afp.client.write(file, offset as i64, data))
    }

    fn full_sync(&mut self, file: ForkId) -> Done<()> {
        let done = self.afp.client.call(command::SYNC_FORK, |w| OneFork { fork: file.0 }.encode(w));
        answered(done.and_then(|frame| frame.well()).map(drop))
    }

    fn close(&mut self, file: ForkId) -> Done<()> {
        answered(self.afp.client.close(file))
    }

    fn rename(&mut self, from: &str, to: &str) -> Done<()> {
        let (folder, name) = self.place(from)?;
        let new_name = to.rsplit_once('/').map_or(to, |(_, name)| name);
        answered(self.afp.client.rename(self.afp.volume, folder, name, new_name))?;
        self.folders.retain(|path, _| path != from && !path.starts_with(&format!("{from}/")));
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Done<()> {
        let (folder, name) = self.place(path)?;
        answered(self.afp.client.delete(self.afp.volume, folder, name))
    }
}
