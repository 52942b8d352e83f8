//! Requests of every command that are truncated, or have wrong sizes or wrong bits, in a valid
//! session.

use ::smb::client::{Error, Offer, Request};
use ::smb::wire::fsctl::Code;
use ::smb::wire::query_directory::Flags as ListFlags;
use ::smb::wire::{
    Command, Dialect, FileKey, Flags, InfoType, OplockLevel, Status, cancel, change_notify, close, create,
    echo, flush, ioctl, lock, oplock_break, query_directory, query_info, session_setup, set_info,
    tree_connect, write,
};
use wire::Writer;

use super::client::{Smb, now, open_request, read_request};
use super::{MIB, beside_a_neighbour};
use crate::robustness::random::Random;
use crate::robustness::server::USER;

/// A request of each command for this file and folder, with the length of its fixed part (its
/// structure size without the byte that stands for the buffer).
fn one_of_each(smb: &Smb, file: FileKey, folder: FileKey) -> Vec<(Request, usize)> {
    let mut all = Vec::new();
    let mut add = |command, fixed, encode: &dyn Fn(&mut Writer)| {
        all.push((smb.request(command, |w| encode(w)), fixed));
    };
    let path: Vec<u16> = "\\\\127.0.0.1\\share".encode_utf16().collect();
    let lock = lock::Element { offset: 5, length: 10, flags: lock::Flags::SHARED };
    let locks = lock::Request { sequence_number: 0, sequence_index: 0, file, locks: vec![lock] };
    let list = query_directory::Request {
        information_class: 37,
        flags: ListFlags::NONE,
        file_index: 0,
        file: folder,
        output_buffer_length: 4096,
        pattern: vec![u16::from(b'*')],
    };
    let ask = query_info::Request {
        info_type: InfoType::FILE,
        information_class: 18,
        output_buffer_length: 1024,
        additional_information: 0,
        flags: query_info::Flags::NONE,
        file,
        input: &[],
    };
    let set = set_info::Request {
        info_type: InfoType::FILE,
        information_class: 20,
        additional_information: 0,
        file,
        data: &[9, 0, 0, 0, 0, 0, 0, 0],
    };
    let code = Code(0x0014_0078);
    let control = ioctl::Request {
        control_code: code,
        file,
        input: 0..0,
        max_input_response: 0,
        max_output_response: 64,
        flags: ioctl::Request::IS_FSCTL,
    };
    let write = write::Request {
        data: 0..0,
        offset: 3,
        file,
        channel: 0,
        remaining_bytes: 0,
        flags: write::Flags::NONE,
    };
    let watch = change_notify::Request {
        flags: change_notify::Flags::NONE,
        output_buffer_length: 0,
        file,
        completion_filter: change_notify::CompletionFilter(0x17),
    };
    let broken = oplock_break::Oplock { level: OplockLevel::NONE, file };
    let setup = session_setup::Request {
        flags: session_setup::RequestFlags::NONE,
        security_mode: ::smb::wire::SecurityMode::SIGNING_ENABLED,
        capabilities: ::smb::wire::Capabilities::DFS,
        previous_session_id: 0,
        security_buffer: b"no token at all",
    };
    let connect = tree_connect::Request { flags: tree_connect::RequestFlags::NONE, path };
    add(Command::SESSION_SETUP, 24, &|w| setup.encode(w));
    add(Command::TREE_CONNECT, 8, &|w| connect.encode(w));
    add(Command::CREATE, 56, &|w| open_request("notes").encode(w));
    add(Command::CLOSE, 24, &|w| {
        close::Request { flags: close::Flags::NONE, file: FileKey::ALL_ONES }.encode(w)
    });
    add(Command::FLUSH, 24, &|w| flush::Request { reserved: 0, file }.encode(w));
    add(Command::READ, 48, &|w| read_request(file, 0, 100).encode(w));
    add(Command::WRITE, 48, &|w| write.encode(b"some data", w));
    add(Command::LOCK, 48, &|w| locks.encode(w));
    add(Command::IOCTL, 56, &|w| control.encode(&[], w));
    add(Command::ECHO, 4, &|w| echo::Request.encode(w));
    add(Command::QUERY_DIRECTORY, 32, &|w| list.encode(w));
    add(Command::CHANGE_NOTIFY, 32, &|w| watch.encode(w));
    add(Command::QUERY_INFO, 40, &|w| ask.encode(w));
    add(Command::SET_INFO, 32, &|w| set.encode(w));
    add(Command::OPLOCK_BREAK, 24, &|w| broken.encode(w));
    all
}

/// A client with an open file and an open folder.
struct PreparedClient {
    smb: Smb,
    file: FileKey,
    folder: FileKey,
}

impl PreparedClient {
    fn new(port: u16, dialect: Dialect) -> Self {
        let mut smb = Smb::enter_with(port, &Offer::of(dialect), "share", USER).unwrap();
        let file = smb.make("notes", b"some content");
        let folder = smb.open("folder", |request| request.options = create::Options::DIRECTORY_FILE);
        Self { smb, file, folder: folder.unwrap() }
    }

    fn all(&self) -> Vec<(Request, usize)> {
        one_of_each(&self.smb, self.file, self.folder)
    }

    /// The status of a request; a waiting one is cancelled. No request ends the connection.
    fn status(&mut self, request: Request) -> Status {
        let what = request.clone();
        self.try_status(request).unwrap_or_else(|error| panic!("{error} after {what:?}"))
    }

    fn try_status(&mut self, request: Request) -> Result<Status, Error> {
        let id = self.smb.start(request)?;
        let first = now(self.smb.client.wait_for(|answer| answer.header.message_id == id))?;
        if first.status() != Status::PENDING {
            return Ok(first.status());
        }
        let mut cancel = self.smb.request(Command::CANCEL, |w| cancel::Request.encode(w));
        cancel.header.id = first.header.id;
        cancel.header.flags = Flags::ASYNC;
        cancel.header.message_id = id;
        self.smb.start(cancel)?;
        Ok(self.smb.answer(id)?.status())
    }
}

#[test]
fn requests_cut_short_are_invalid() {
    // MS-SMB2 3.3.5.2.6 and the "StructureSize" of each request.
    beside_a_neighbour("requests cut short", 16 * MIB, |port| {
        let mut client = PreparedClient::new(port, Dialect::SMB_3_1_1);
        for (request, fixed) in client.all() {
            for length in 0..request.body.len() {
                let mut cut = request.clone();
                cut.body.truncate(length);
                let (what, status) = (request.header.command, client.status(cut));
                assert!(
                    length >= fixed || status == Status::INVALID_PARAMETER,
                    "{what:?}, {length}: {status:?}"
                );
            }
        }
    });
}

#[test]
fn wrong_structure_sizes_are_invalid() {
    beside_a_neighbour("wrong structure sizes", 16 * MIB, |port| {
        let mut client = PreparedClient::new(port, Dialect::SMB_3_1_1);
        for (request, _) in client.all() {
            let right = u16::from_le_bytes([request.body[0], request.body[1]]);
            for size in [0, 1, right - 1, right ^ 2, right + 1, u16::MAX] {
                let mut wrong = request.clone();
                wrong.body[..2].copy_from_slice(&size.to_le_bytes());
                let status = client.status(wrong);
                assert_eq!(status, Status::INVALID_PARAMETER, "{:?}, {size}", request.header.command);
            }
        }
    });
}

#[test]
fn numbers_at_their_limits_are_answered() {
    beside_a_neighbour("numbers at their limits", 32 * MIB, |port| {
        let mut client = PreparedClient::new(port, Dialect::SMB_3_1_1);
        for (request, _) in client.all() {
            for at in (2..request.body.len()).step_by(2) {
                for bytes in [&[0xFF; 2][..], &[0xFF; 4], &[0xFF; 8], &[0, 0, 0, 0x80], &[0; 4]] {
                    let mut extreme = request.clone();
                    let end = (at + bytes.len()).min(extreme.body.len());
                    extreme.body[at..end].copy_from_slice(&bytes[..end - at]);
                    client.status(extreme);
                }
            }
        }
    });
}

#[test]
fn requests_with_wrong_bits_are_answered_in_every_dialect() {
    use Dialect as D;
    beside_a_neighbour("requests with wrong bits", 32 * MIB, |port| {
        let mut random = Random::new(0x5eed_0012);
        for dialect in [D::SMB_2_0_2, D::SMB_2_1, D::SMB_3_0, D::SMB_3_0_2, D::SMB_3_1_1] {
            let mut client = PreparedClient::new(port, dialect);
            for _ in 0..40 {
                for (mut request, _) in client.all() {
                    for _ in 0..=random.below(3) {
                        let at = random.below(request.body.len());
                        request.body[at] ^= 1 << random.below(8);
                    }
                    client.status(request);
                }
            }
        }
    });
}

#[test]
fn unknown_commands_are_invalid() {
    // MS-SMB2 3.3.5.2.6: INVALID_PARAMETER for an unknown command.
    beside_a_neighbour("unknown commands", 8 * MIB, |port| {
        let mut client = PreparedClient::new(port, Dialect::SMB_3_1_1);
        for command in [0x14, 0x15, 0xFF, 0x100, u16::MAX] {
            let request = client.smb.request(Command(command), |w| w.zeros(64));
            assert_eq!(client.status(request), Status::INVALID_PARAMETER, "{command:#x}");
        }
    });
}
