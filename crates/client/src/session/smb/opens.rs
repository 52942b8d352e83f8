//! Opens, and what is asked of them.

use ::smb::client::open_request;
use ::smb::wire::fscc::FileClass;
use ::smb::wire::fscc::directory::Form;
use ::smb::wire::query_directory::{self, Flags as ListFlags};
use ::smb::wire::{Command, FileKey, InfoType, NetworkOpen, Status, close, create, flush, query_info};

use super::{LIST_BYTES, Smb, malformed, refused};
use crate::Result;
use crate::session::OpenFileId;

impl Smb {
    pub(super) fn create(
        &mut self,
        path: &str,
        change: impl FnOnce(&mut create::Request<'_>),
    ) -> Result<FileKey> {
        self.opened(path, change).map(|(file, _)| file)
    }

    /// CREATE: the open, and what the answer says of the file.
    pub(super) fn opened(
        &mut self,
        path: &str,
        change: impl FnOnce(&mut create::Request<'_>),
    ) -> Result<(FileKey, NetworkOpen)> {
        self.answered(path, change, |made| (made.file, made.info))
    }

    /// CREATE, and what `read` takes from the answer.
    pub(super) fn answered<T>(
        &mut self,
        path: &str,
        change: impl FnOnce(&mut create::Request<'_>),
        read: impl FnOnce(&create::Response<'_>) -> T,
    ) -> Result<T> {
        let name = format!("{}{}", self.base, path.replace('/', "\\"));
        let mut request = open_request(name.trim_end_matches('\\'));
        change(&mut request);
        let id = self.send(self.request(Command::CREATE, |w| request.encode(w)), &[])?;
        let answer = self.answer(Some(id))?;
        match answer.status() {
            Status::SUCCESS => Ok(read(&create::Response::decode(&answer.message).map_err(malformed)?)),
            status => Err(refused(status, path)),
        }
    }

    pub(super) fn close_key(&mut self, file: FileKey) -> Result<()> {
        let request = close::Request { flags: close::Flags::NONE, file };
        self.call(Command::CLOSE, |w| request.encode(w)).map(drop)
    }

    /// FLUSH, with the reserved field, which Macs use.
    pub(super) fn flush_with(&mut self, file: OpenFileId, reserved: u16) -> Result<()> {
        let file = *self.files.get(file)?;
        self.call(Command::FLUSH, |w| flush::Request { reserved, file }.encode(w)).map(drop)
    }

    /// Opens, does something, and closes.
    pub(super) fn with<T>(
        &mut self,
        path: &str,
        change: impl FnOnce(&mut create::Request<'_>),
        act: impl FnOnce(&mut Self, FileKey) -> Result<T>,
    ) -> Result<T> {
        let file = self.create(path, change)?;
        let done = act(self, file);
        self.close_key(file)?;
        done
    }

    /// The form of listings. A server that speaks to a Mac writes other things in place of the short names of `IdBoth`.
    pub(super) fn form(&self) -> Form {
        if self.is_mac { Form::IdFull } else { Form::IdBoth }
    }

    pub(super) fn next_page(&mut self, file: FileKey, flags: ListFlags) -> Result<Option<Vec<u8>>> {
        let class = match self.form() {
            Form::IdBoth => FileClass::ID_BOTH_DIRECTORY,
            _ => FileClass::ID_FULL_DIRECTORY,
        };
        let request = query_directory::Request {
            information_class: class.0,
            flags,
            file_index: 0,
            file,
            output_buffer_length: LIST_BYTES,
            pattern: vec![u16::from(b'*')],
        };
        let id = self.send(self.request(Command::QUERY_DIRECTORY, |w| request.encode(w)), &[])?;
        let answer = self.answer(Some(id))?;
        match answer.status() {
            Status::SUCCESS => {
                Ok(Some(query_directory::Response::decode(&answer.message).map_err(malformed)?.data))
            }
            Status::NO_MORE_FILES => Ok(None),
            status => Err(refused(status, "the listing")),
        }
    }

    pub(super) fn query(&mut self, file: FileKey, class: FileClass, input: &[u8]) -> Result<Vec<u8>> {
        self.query_any(file, (InfoType::FILE, class.0), input)
    }

    pub(super) fn query_any(&mut self, file: FileKey, of: (InfoType, u8), input: &[u8]) -> Result<Vec<u8>> {
        let request = query_info::Request {
            info_type: of.0,
            information_class: of.1,
            output_buffer_length: LIST_BYTES,
            additional_information: 0,
            flags: query_info::Flags::NONE,
            file,
            input,
        };
        let answer = self.call(Command::QUERY_INFO, |w| request.encode(w))?;
        Ok(query_info::Response::decode(&answer.message).map_err(malformed)?.data)
    }
}
