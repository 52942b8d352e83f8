//! The messages of crates/smb/src/wire. An input is a whole message, whose header says what is decoded; of the contexts
//! inside them its first byte says which.
//!
//! Whatever decodes must encode to the same value again.

use ::wire::Writer;
use smb::wire::create_context::{RawContext, request, response, tag};
use smb::wire::oplock_break::Notification;
use smb::wire::*;

/// Decodes `$message` as `$type`; when that works, encodes it and decodes it again.
macro_rules! stable {
    ($message:expr, $type:ty) => {
        stable!($message, $type, Header::LEN)
    };
    ($message:expr, $type:ty, $before:expr) => {
        if let Ok(value) = <$type>::decode($message) {
            let mut w = Writer::onto(vec![0; $before]);
            value.encode(&mut w);
            assert_eq!(<$type>::decode(w.as_bytes()), Ok(value));
        }
    };
}

/// Requests, the header's command says which; and what else a client sends.
pub fn requests(message: &[u8]) {
    if let Some(prefix) = message.first_chunk() {
        let _ = frame::decode(*prefix);
    }
    match frame::Kind::of(message) {
        Some(frame::Kind::Smb1) => stable!(message, smb1::Negotiate<'_>, 0),
        Some(frame::Kind::Smb2) => request(message),
        Some(frame::Kind::Transform) => stable!(message, transform::Transform, 0),
        Some(frame::Kind::Compressed) => stable!(message, compression::Compression, 0),
        None => {}
    }
}

fn request(message: &[u8]) {
    stable!(message, Header, 0);
    let Ok(header) = Header::decode(message) else { return };
    match header.command {
        Command::NEGOTIATE => stable!(message, negotiate::Request),
        Command::SESSION_SETUP => stable!(message, session_setup::Request<'_>),
        Command::LOGOFF => stable!(message, logoff::Request),
        Command::TREE_CONNECT => stable!(message, tree_connect::Request),
        Command::TREE_DISCONNECT => stable!(message, tree_disconnect::Request),
        Command::CREATE => create_request(message),
        Command::CLOSE => stable!(message, close::Request),
        Command::FLUSH => stable!(message, flush::Request),
        Command::READ => stable!(message, read::Request),
        Command::WRITE => write_request(message),
        Command::LOCK => stable!(message, lock::Request),
        Command::IOCTL => ioctl_request(message),
        Command::CANCEL => stable!(message, cancel::Request),
        Command::ECHO => stable!(message, echo::Request),
        Command::QUERY_DIRECTORY => stable!(message, query_directory::Request),
        Command::CHANGE_NOTIFY => stable!(message, change_notify::Request),
        Command::QUERY_INFO => stable!(message, query_info::Request<'_>),
        Command::SET_INFO => stable!(message, set_info::Request<'_>),
        Command::OPLOCK_BREAK => stable!(message, oplock_break::Request),
        _ => {}
    }
}

fn create_request(message: &[u8]) {
    stable!(message, create::Request<'_>);
    if let Ok(request) = create::Request::decode(message) {
        request.contexts.iter().for_each(context);
    }
}

/// Its data are a range, which must lie in the message.
fn write_request(message: &[u8]) {
    if let Ok(value) = write::Request::decode(message) {
        let data = &message[value.data.clone()];
        // A message that arrives slowly says the same before its data are there.
        let beginning = &message[..write::Request::DATA_OFFSET.min(message.len())];
        assert_eq!(write::Request::decode_beginning(beginning, message.len()), Ok(value.clone()));
        let mut w = Writer::onto(vec![0; Header::LEN]);
        value.encode(data, &mut w);
        let again = write::Request::decode(w.as_bytes()).expect("what was written");
        assert_eq!(&w.as_bytes()[again.data.clone()], data);
        assert_eq!(write::Request { data: value.data.clone(), ..again }, value);
    }
}

/// As of [`write_request`].
fn ioctl_request(message: &[u8]) {
    if let Ok(value) = ioctl::Request::decode(message) {
        let input = &message[value.input.clone()];
        let mut w = Writer::onto(vec![0; Header::LEN]);
        value.encode(input, &mut w);
        let again = ioctl::Request::decode(w.as_bytes()).expect("what was written");
        assert_eq!(&w.as_bytes()[again.input.clone()], input);
        assert_eq!(ioctl::Request { input: value.input.clone(), ..again }, value);
    }
}

/// What a server sends, the header's command says which. Any may be an error.
pub fn replies(message: &[u8]) {
    stable!(message, Header, 0);
    let Ok(header) = Header::decode(message) else { return };
    let _ = (format!("{:?}", header.status), header.status.is_error());
    error(message);
    match header.command {
        Command::NEGOTIATE => stable!(message, negotiate::Response),
        Command::SESSION_SETUP => stable!(message, session_setup::Response),
        Command::LOGOFF => stable!(message, logoff::Response),
        Command::TREE_CONNECT => stable!(message, tree_connect::Response),
        Command::TREE_DISCONNECT => stable!(message, tree_disconnect::Response),
        Command::CREATE => stable!(message, create::Response<'_>),
        Command::CLOSE => stable!(message, close::Response),
        Command::FLUSH => stable!(message, flush::Response),
        Command::READ => stable!(message, read::Response),
        Command::WRITE => stable!(message, write::Response),
        Command::LOCK => stable!(message, lock::Response),
        Command::IOCTL => stable!(message, ioctl::Response),
        Command::ECHO => stable!(message, echo::Response),
        Command::QUERY_DIRECTORY => stable!(message, query_directory::Response),
        Command::CHANGE_NOTIFY => stable!(message, change_notify::Response),
        Command::QUERY_INFO => stable!(message, query_info::Response),
        Command::SET_INFO => stable!(message, set_info::Response),
        Command::OPLOCK_BREAK if header.message_id == Notification::MESSAGE_ID => {
            stable!(message, Notification)
        }
        Command::OPLOCK_BREAK => stable!(message, oplock_break::Response),
        Command::SERVER_TO_CLIENT_NOTIFICATION => stable!(message, server_to_client::SessionClosed),
        _ => {}
    }
}

fn error(message: &[u8]) {
    stable!(message, error::Response);
    match error::Response::decode(message) {
        Ok(error::Response::Data(data)) => stable!(&data, error::Symlink, 0),
        Ok(error::Response::Contexts(contexts)) => {
            contexts.iter().for_each(|context| stable!(&context.data, error::Symlink, 0));
        }
        _ => {}
    }
}

/// The contexts of CREATE, and the lists inside a QUERY_INFO request.
pub const CONTEXTS: &[&[u8]] = &[
    tag::EA_BUFFER,
    tag::SECURITY_DESCRIPTOR,
    tag::DURABLE_REQUEST,
    tag::DURABLE_RECONNECT,
    tag::DURABLE_REQUEST_V2,
    tag::DURABLE_RECONNECT_V2,
    tag::ALLOCATION_SIZE,
    tag::MAXIMAL_ACCESS,
    tag::TIMEWARP,
    tag::DISK_ID,
    tag::LEASE,
    tag::APPLE,
    tag::APP_INSTANCE_ID,
    tag::APP_INSTANCE_VERSION,
    tag::OPEN_DEVICE,
    tag::POSIX,
];

/// The first byte says which, an index of [`CONTEXTS`] or 0xFE and 0xFF for the lists.
pub fn contexts(data: &[u8]) {
    let Some((&selector, data)) = data.split_first() else { return };
    match selector {
        0xFE => ea_names(data),
        0xFF => stable!(data, query_info::QuotaQuery<'_>, 0),
        _ => {
            let Some(tag) = CONTEXTS.get(usize::from(selector)) else { return };
            context(&RawContext { tag: (*tag).into(), data: data.into() });
        }
    }
}

fn context(raw: &RawContext<'_>) {
    if let Ok(value) = request::Context::decode(raw) {
        assert_eq!(request::Context::decode(&value.encode()), Ok(value));
    }
    if let Ok(value) = response::Context::decode(raw) {
        assert_eq!(response::Context::decode(&value.encode()), Ok(value));
    }
    if *raw.tag == *tag::APPLE {
        stable!(&raw.data, aapl::Request, 0);
        stable!(&raw.data, aapl::Response, 0);
    }
}

fn ea_names(input: &[u8]) {
    if let Ok(names) = query_info::ea_names(input) {
        let mut w = Writer::new();
        query_info::put_ea_names(&names, &mut w);
        assert_eq!(query_info::ea_names(w.as_bytes()), Ok(names));
    }
}
