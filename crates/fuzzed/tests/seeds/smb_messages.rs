//! The messages of SMB2, and the contexts inside them.

use ::wire::Writer;
use smb::wire::create_context::values::{DurableFlags, Lease, LeaseFlags, LeaseV2};
use smb::wire::create_context::{RawContext, request, response, tag};
use smb::wire::negotiate_context::{Cipher, Context, POSIX, SHA_512, Signing};
use smb::wire::*;

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    [
        beginnings(),
        first_requests(),
        file_requests(),
        data_requests(),
        first_replies(),
        file_replies(),
        data_replies(),
        contexts(),
        lists(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

const FILE: FileKey = FileKey { persistent: 0x17, volatile: 0x0000_0001_0000_0002 };
const LEASE: LeaseKey = LeaseKey(*b"a lease's key...");

fn bytes(target: &'static str, name: &'static str, encode: impl FnOnce(&mut Writer)) -> Seed {
    let mut w = Writer::new();
    encode(&mut w);
    Seed { target, name, bytes: w.into_bytes() }
}

fn asked(name: &'static str, command: Command, body: impl FnOnce(&mut Writer)) -> Seed {
    bytes("smb_requests", name, |w| {
        Header { session_id: 7, ..Header::request(command, 3) }.encode(w);
        body(w);
    })
}

fn answered(name: &'static str, command: Command, body: impl FnOnce(&mut Writer)) -> Seed {
    failed(name, command, Status::SUCCESS, body)
}

fn failed(name: &'static str, command: Command, status: Status, body: impl FnOnce(&mut Writer)) -> Seed {
    bytes("smb_replies", name, |w| {
        Header::request(command, 3).response(status, 1).encode(w);
        body(w);
    })
}

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// What does not begin like SMB2.
fn beginnings() -> Vec<Seed> {
    let dialects = vec![&b"NT LM 0.12"[..], b"SMB 2.002", b"SMB 2.???"];
    let (signature, nonce) = ([1; 16], [2; 16]);
    let sealed =
        transform::Transform { signature, nonce, original_message_size: 64, flags: 1, session_id: 7 };
    let (original_compressed_segment_size, algorithm) = (256, 2);
    let compressed =
        compression::Compression { original_compressed_segment_size, algorithm, flags: 1, offset: 16 };
    vec![
        bytes("smb_requests", "smb1-negotiate", |w| smb1::Negotiate { dialects }.encode(w)),
        bytes("smb_requests", "encrypted", |w| sealed.encode(w)),
        bytes("smb_requests", "compressed", |w| compressed.encode(w)),
        bytes("smb_requests", "frame", |w| frame::encode(0x1234, w)),
    ]
}

fn offers() -> Vec<Context> {
    vec![
        Context::PreauthIntegrity { hashes: vec![SHA_512], salt: vec![3; 32] },
        Context::Encryption(vec![Cipher::AES_256_GCM, Cipher::AES_128_GCM]),
        Context::Compression { flags: 1, algorithms: vec![1, 4] },
        Context::Netname(units("server")),
        Context::Transport(1),
        Context::RdmaTransform(vec![1, 2]),
        Context::Signing(vec![Signing::AES_GMAC, Signing::AES_CMAC]),
        Context::Posix(POSIX.to_vec()),
        Context::Unknown { kind: 0x1234, data: vec![5] },
    ]
}

fn first_requests() -> Vec<Seed> {
    let (security_mode, capabilities) = (SecurityMode::SIGNING_ENABLED, Capabilities(0x7F));
    let dialects = vec![Dialect::SMB_2_1, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1];
    let client_guid = *b"a client's guid.";
    let negotiate =
        negotiate::Request { security_mode, capabilities, client_guid, dialects, contexts: offers() };
    let (flags, previous_session_id) = (session_setup::RequestFlags::BINDING, 9);
    let security_buffer = b"\x60\x48\x06\x06\x2b\x06\x01\x05\x05\x02";
    let setup =
        session_setup::Request { flags, security_mode, capabilities, previous_session_id, security_buffer };
    let tree = |flags| tree_connect::Request { flags, path: units(r"\\server\share") };
    let extended = tree(tree_connect::RequestFlags::EXTENSION_PRESENT);
    vec![
        asked("negotiate", Command::NEGOTIATE, |w| negotiate.encode(w)),
        asked("session-setup", Command::SESSION_SETUP, |w| setup.encode(w)),
        asked("logoff", Command::LOGOFF, |w| logoff::Request.encode(w)),
        asked("tree-connect", Command::TREE_CONNECT, |w| tree(Default::default()).encode(w)),
        asked("tree-connect-extension", Command::TREE_CONNECT, |w| extended.encode(w)),
        asked("tree-disconnect", Command::TREE_DISCONNECT, |w| tree_disconnect::Request.encode(w)),
        asked("cancel", Command::CANCEL, |w| cancel::Request.encode(w)),
        asked("echo", Command::ECHO, |w| echo::Request.encode(w)),
    ]
}

fn file_requests() -> Vec<Seed> {
    let create = create::Request {
        oplock_level: OplockLevel::LEASE,
        impersonation: create::Impersonation::IMPERSONATION,
        desired_access: 0x0012_0089,
        file_attributes: 0x80,
        share_access: create::ShareAccess(7),
        disposition: create::Disposition::OPEN_IF,
        options: create::Options::NON_DIRECTORY_FILE,
        name: units(r"folder\file:stream"),
        contexts: asked_contexts().iter().map(|(_, context)| context.encode()).collect(),
    };
    let root = create::Request { name: Vec::new(), contexts: Vec::new(), ..create.clone() };
    let listing = query_directory::Request {
        information_class: 37,
        flags: query_directory::Flags::RESTART_SCANS,
        file_index: 0,
        file: FILE,
        output_buffer_length: 65_536,
        pattern: units("*.txt"),
    };
    let notify = change_notify::Request {
        flags: change_notify::Flags::WATCH_TREE,
        output_buffer_length: 4096,
        file: FILE,
        completion_filter: change_notify::CompletionFilter(0xFFF),
    };
    let close = close::Request { flags: close::Flags::POSTQUERY_ATTRIB, file: FileKey::ALL_ONES };
    vec![
        asked("create", Command::CREATE, |w| create.encode(w)),
        asked("create-root", Command::CREATE, |w| root.encode(w)),
        asked("close", Command::CLOSE, |w| close.encode(w)),
        asked("query-directory", Command::QUERY_DIRECTORY, |w| listing.encode(w)),
        asked("change-notify", Command::CHANGE_NOTIFY, |w| notify.encode(w)),
    ]
}

fn data_requests() -> Vec<Seed> {
    let (offset, channel, remaining_bytes) = (1 << 33, 0, 0);
    let flags = read::Flags::UNBUFFERED;
    let read = read::Request {
        flags,
        length: 65_536,
        offset,
        file: FILE,
        minimum_count: 1,
        channel,
        remaining_bytes,
    };
    let flags = write::Flags::WRITE_THROUGH;
    let write = write::Request { data: 0..0, offset, file: FILE, channel, remaining_bytes, flags };
    let element = lock::Element { offset, length: 1, flags: lock::Flags::EXCLUSIVE };
    let locks = vec![element, element];
    let lock = lock::Request { sequence_number: 1, sequence_index: 2, file: FILE, locks };
    let ioctl = ioctl::Request {
        control_code: fsctl::Code::PIPE_TRANSCEIVE,
        file: FILE,
        input: 0..0,
        max_input_response: 0,
        max_output_response: 1024,
        flags: ioctl::Request::IS_FSCTL,
    };
    let query = query_info::Request {
        info_type: InfoType::FILE,
        information_class: 15,
        output_buffer_length: 8192,
        additional_information: 0,
        flags: query_info::Flags::RESTART_SCAN,
        file: FILE,
        input: b"\0\0\0\0\x04name\0",
    };
    let (info_type, data) = (InfoType::FILE, b"\x01".as_slice());
    let set =
        set_info::Request { info_type, information_class: 13, additional_information: 0, file: FILE, data };
    let oplock = oplock_break::Oplock { level: OplockLevel::II, file: FILE };
    let lease = oplock_break::LeaseBreak { key: LEASE, state: LeaseState::READ };
    vec![
        asked("read", Command::READ, |w| read.encode(w)),
        asked("write", Command::WRITE, |w| write.encode(b"data", w)),
        asked("flush", Command::FLUSH, |w| flush::Request { reserved: 0xFFFF, file: FILE }.encode(w)),
        asked("lock", Command::LOCK, |w| lock.encode(w)),
        asked("ioctl", Command::IOCTL, |w| ioctl.encode(b"input", w)),
        asked("query-info", Command::QUERY_INFO, |w| query.encode(w)),
        asked("set-info", Command::SET_INFO, |w| set.encode(w)),
        asked("oplock-break", Command::OPLOCK_BREAK, |w| oplock_break::Request::Oplock(oplock).encode(w)),
        asked("lease-break", Command::OPLOCK_BREAK, |w| oplock_break::Request::Lease(lease).encode(w)),
    ]
}

fn first_replies() -> Vec<Seed> {
    let negotiate = negotiate::Response {
        security_mode: SecurityMode::SIGNING_REQUIRED,
        dialect: Dialect::SMB_3_1_1,
        server_guid: *b"a server's guid.",
        capabilities: Capabilities::LEASING,
        max_transact_size: 1 << 23,
        max_read_size: 1 << 23,
        max_write_size: 1 << 23,
        system_time: 133_000_000_000_000_000,
        server_start_time: 0,
        security_buffer: b"token".to_vec(),
        contexts: offers(),
    };
    let flags = session_setup::SessionFlags::ENCRYPT_DATA;
    let setup = session_setup::Response { flags, security_buffer: b"token".to_vec() };
    let tree = tree_connect::Response {
        share_type: tree_connect::ShareType::DISK,
        share_flags: tree_connect::ShareFlags::DFS,
        capabilities: tree_connect::ShareCapabilities::DFS,
        maximal_access: 0x001F_01FF,
    };
    let symlink = error::Symlink {
        unparsed_path_length: 8,
        relative: true,
        substitute_name: units("elsewhere"),
        print_name: units("elsewhere"),
    };
    let mut w = Writer::new();
    symlink.encode(&mut w);
    let (link, stopped) = (w.into_bytes(), Status::STOPPED_ON_SYMLINK);
    let error = |data: Vec<u8>, contexts| error::Response::of(data, contexts);
    vec![
        answered("negotiate", Command::NEGOTIATE, |w| negotiate.encode(w)),
        answered("session-setup", Command::SESSION_SETUP, |w| setup.encode(w)),
        answered("logoff", Command::LOGOFF, |w| logoff::Response.encode(w)),
        answered("tree-connect", Command::TREE_CONNECT, |w| tree.encode(w)),
        answered("tree-disconnect", Command::TREE_DISCONNECT, |w| tree_disconnect::Response.encode(w)),
        answered("echo", Command::ECHO, |w| echo::Response.encode(w)),
        failed("error", Command::ECHO, Status::ACCESS_DENIED, |w| error::Response::Empty.encode(w)),
        failed("symlink", Command::CREATE, stopped, |w| error(link.clone(), false).encode(w)),
        failed("symlink-context", Command::CREATE, stopped, |w| error(link.clone(), true).encode(w)),
    ]
}

fn file_replies() -> Vec<Seed> {
    let info =
        NetworkOpen { end_of_file: 5, allocation_size: 4096, file_attributes: 0x20, ..Default::default() };
    let create = create::Response {
        oplock_level: OplockLevel::LEASE,
        flags: 0,
        action: create::Action::CREATED,
        info,
        file: FILE,
        contexts: given_contexts().iter().map(|(_, context)| context.encode()).collect(),
    };
    let close = close::Response { flags: close::Flags::POSTQUERY_ATTRIB, info };
    let output = BufferResponse { data: b"entries".to_vec() };
    vec![
        answered("create", Command::CREATE, |w| create.encode(w)),
        answered("close", Command::CLOSE, |w| close.encode(w)),
        answered("query-directory", Command::QUERY_DIRECTORY, |w| output.encode(w)),
        answered("change-notify", Command::CHANGE_NOTIFY, |w| output.encode(w)),
        answered("query-info", Command::QUERY_INFO, |w| output.encode(w)),
    ]
}

fn data_replies() -> Vec<Seed> {
    let read = read::Response { data_remaining: 0, flags: 0, data: b"data".to_vec() };
    let control_code = fsctl::Code::PIPE_TRANSCEIVE;
    let ioctl = ioctl::Response { control_code, file: FILE, output: b"output".to_vec() };
    let oplock = oplock_break::Oplock { level: OplockLevel::NONE, file: FILE };
    let lease = oplock_break::LeaseNotification {
        new_epoch: 2,
        flags: oplock_break::NotificationFlags::ACK_REQUIRED,
        key: LEASE,
        current_state: LeaseState(7),
        new_state: LeaseState::READ,
    };
    let notification = |name, command, body: &dyn Fn(&mut Writer)| {
        bytes("smb_replies", name, |w| {
            let id = oplock_break::Notification::MESSAGE_ID;
            Header::request(command, id).response(Status::SUCCESS, 0).encode(w);
            body(w);
        })
    };
    let closed = Command::SERVER_TO_CLIENT_NOTIFICATION;
    vec![
        answered("read", Command::READ, |w| read.encode(w)),
        answered("write", Command::WRITE, |w| write::Response { count: 4 }.encode(w)),
        answered("flush", Command::FLUSH, |w| flush::Response.encode(w)),
        answered("lock", Command::LOCK, |w| lock::Response.encode(w)),
        answered("ioctl", Command::IOCTL, |w| ioctl.encode(w)),
        answered("set-info", Command::SET_INFO, |w| set_info::Response.encode(w)),
        answered("oplock-break", Command::OPLOCK_BREAK, |w| oplock.encode(w)),
        notification("oplock-notification", Command::OPLOCK_BREAK, &|w| oplock.encode(w)),
        notification("lease-notification", Command::OPLOCK_BREAK, &|w| lease.encode(w)),
        notification("session-closed", closed, &|w| server_to_client::SessionClosed.encode(w)),
    ]
}

fn lease(v2: Option<LeaseV2>) -> Lease {
    Lease { key: LEASE, state: LeaseState(3), flags: LeaseFlags::PARENT_KEY_SET, v2 }
}

const V2: Option<LeaseV2> = Some(LeaseV2 { parent_key: LeaseKey(*b"a parent's key.."), epoch: 1 });

/// The contexts of a request, with the names of their seeds.
fn asked_contexts() -> Vec<(&'static str, request::Context<'static>)> {
    use request::Context;
    let (create_guid, flags) = (*b"an open's guid..", DurableFlags::PERSISTENT);
    vec![
        ("ea-buffer", Context::EaBuffer(b"\0\0\0\0\0\x04\x05\0name\0value")),
        ("security-descriptor", Context::SecurityDescriptor(b"\x01\0\x04\x80")),
        ("durable", Context::DurableRequest),
        ("durable-reconnect", Context::DurableReconnect(FILE)),
        ("durable-v2", Context::DurableRequestV2 { timeout_ms: 60_000, flags, create_guid }),
        ("durable-v2-reconnect", Context::DurableReconnectV2 { file: FILE, create_guid, flags }),
        ("allocation-size", Context::AllocationSize(4096)),
        ("maximal-access", Context::MaximalAccess(None)),
        ("maximal-access-since", Context::MaximalAccess(Some(133_000_000_000_000_000))),
        ("timewarp", Context::Timewarp(133_000_000_000_000_000)),
        ("disk-id", Context::DiskId),
        ("lease", Context::Lease(lease(None))),
        ("lease-v2", Context::Lease(lease(V2))),
        ("app-instance", Context::AppInstanceId(create_guid)),
        ("app-instance-version", Context::AppInstanceVersion { high: 1, low: 2 }),
        ("apple", Context::Apple(b"\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x3f\0\0\0\0\0\0\0")),
        ("posix", Context::Posix(0o644)),
        ("open-device", Context::Unknown { tag: tag::OPEN_DEVICE, data: b"\x01\0\0\0" }),
    ]
}

/// The contexts of a response, with the names of their seeds.
fn given_contexts() -> Vec<(&'static str, response::Context)> {
    use response::Context;
    let mut w = Writer::new();
    let model = Some(units("MacSamba"));
    let (server_caps, volume_caps) = (Some(aapl::Caps(7)), Some(aapl::VolumeCaps::FULL_SYNC));
    aapl::Response::ServerQuery(aapl::ServerQuery { server_caps, volume_caps, model }).encode(&mut w);
    vec![
        ("durable-given", Context::Durable),
        ("durable-v2-given", Context::DurableV2 { timeout_ms: 60_000, flags: DurableFlags::NONE }),
        ("access-given", Context::MaximalAccess { status: Status::SUCCESS, access: 0x001F_01FF }),
        ("disk-id-given", Context::DiskId { file: 1, volume: 2 }),
        ("lease-given", Context::Lease(lease(V2))),
        ("apple-given", Context::Apple(w.into_bytes())),
        ("posix-given", Context::Posix { links: 1, reparse_tag: 0, mode: 0o644, sids: vec![1, 0] }),
    ]
}

fn contexts() -> Vec<Seed> {
    let asked = asked_contexts().into_iter().map(|(name, context)| inside(name, &context.encode()));
    let given = given_contexts().into_iter().map(|(name, context)| inside(name, &context.encode()));
    asked.chain(given).collect()
}

fn inside(name: &'static str, raw: &RawContext<'_>) -> Seed {
    let tags = fourfold_fuzz::smb_messages::CONTEXTS;
    let selector = tags.iter().position(|tag| **tag == *raw.tag).expect("a known context") as u8;
    Seed { target: "smb_contexts", name, bytes: [&[selector], &*raw.data].concat() }
}

fn lists() -> Vec<Seed> {
    let quota = query_info::QuotaQuery {
        return_single: true,
        restart_scan: true,
        sid_list: b"list",
        start_sid: b"sid",
    };
    let path = units("folder/file");
    let resolved = aapl::Response::ResolveId { status: Status::SUCCESS, path };
    let apple = |name, encode: &dyn Fn(&mut Writer)| {
        let mut w = Writer::new();
        encode(&mut w);
        inside(name, &RawContext { tag: tag::APPLE.into(), data: w.into_bytes().into() })
    };
    vec![
        bytes("smb_contexts", "ea-names", |w| {
            w.u8(0xFE);
            query_info::put_ea_names(&[b"ONE", b"another"], w);
        }),
        bytes("smb_contexts", "quota", |w| {
            w.u8(0xFF);
            quota.encode(w);
        }),
        apple("apple-resolve", &|w| aapl::Request::ResolveId { file: 9 }.encode(w)),
        apple("apple-resolved", &|w| resolved.encode(w)),
    ]
}
