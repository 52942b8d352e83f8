//! The decoders of crates/nfs/src/wire. Where a file has several, the first byte of the input says which.
//!
//! Whatever decodes must encode to the same value again.

use nfs::wire::gss as sec;
use nfs::wire::xdr::{self, Encode, Opaque, Words};
use nfs::wire::{mount as mnt, nlm as lm, nsm as sm, portmap as pmap, rpc as onc};
use nfs::wire::{v3, v4};
use wire::{Reader, Writer};

/// Decodes `bytes` as `$type`; when that works, encodes it and decodes it again.
macro_rules! stable {
    ($bytes:expr, $type:ty) => {
        if let Ok(value) = xdr::arguments::<$type>(&mut Reader::new($bytes)) {
            let again = encoded(&value);
            assert_eq!(xdr::arguments::<$type>(&mut Reader::new(&again)), Ok(value));
        }
    };
}

/// One decoder per number, the first byte of `$data`.
macro_rules! choose {
    ($data:expr, $($number:literal => $type:ty,)*) => {
        match $data.split_first() {
            $(Some(($number, bytes)) => stable!(bytes, $type),)*
            _ => {}
        }
    };
}

fn encoded(value: &impl Encode) -> Vec<u8> {
    let mut w = Writer::new();
    value.encode(&mut w);
    w.into_bytes()
}

/// wire/xdr.rs: the forms that have a length.
pub fn xdr(data: &[u8]) {
    choose!(data,
        0 => Opaque<'_, 8>,
        1 => Opaque<'_, { usize::MAX }>,
        2 => Words<16>,
        3 => Option<Option<u64>>,
        4 => [u8; 16],
    );
    let _ = xdr::list::<Opaque<'_, 64>>(&mut Reader::new(data));
}

/// wire/gss.rs: logins, and what they protect.
pub fn gss(data: &[u8]) {
    choose!(data,
        0 => sec::Credential<'_>,
        1 => sec::InitArguments<'_>,
        2 => sec::InitResults<'_>,
        3 => sec::Integrity<'_>,
        4 => sec::Privacy<'_>,
    );
    if let Ok(Some(credential)) = sec::Credential::of(data) {
        let mut w = Writer::new();
        credential.put(&mut w);
        assert_eq!(sec::Credential::of(w.as_bytes()), Ok(Some(credential)));
    }
    if let Ok(signed) = sec::SignedHeader::of(data) {
        assert!(data.starts_with(&signed.header));
    }
}

/// wire/rpc.rs: the head of any message.
pub fn rpc(data: &[u8]) {
    let mut r = Reader::new(data);
    match xdr::Decode::decode(&mut r) {
        Ok(onc::Message::Call(header)) => {
            let again = encoded(&header);
            let again =
                xdr::arguments::<onc::CallHeader<'_>>(&mut Reader::new(&again)).expect("what was written");
            if header.credential == onc::Credential::Malformed {
                return; // its body is not kept
            }
            assert_eq!(again, header);
        }
        Ok(onc::Message::Reply(header)) => {
            let again = encoded(&header);
            assert_eq!(xdr::arguments(&mut Reader::new(&again)), Ok(header));
        }
        Ok(onc::Message::OtherVersion { version, .. }) => assert_ne!(version, onc::RPC_VERSION),
        Err(_) => {}
    }
    if let Some(mark) = data.first_chunk() {
        assert_eq!(onc::RecordMark::from_bytes(*mark).to_bytes(), *mark);
    }
}

/// wire/v3: arguments, the first byte is the procedure.
pub fn v3_requests(data: &[u8]) {
    let Some((number, bytes)) = data.split_first() else { return };
    let procedure = v3::Procedure((*number).into());
    if let Ok(value) = v3::Arguments::of(procedure, bytes) {
        assert_eq!(v3::Arguments::of(procedure, &encoded(&value)), Ok(value));
    }
    if let Ok(v3::Arguments::Write(request)) = v3::Arguments::of(procedure, bytes) {
        // A message that arrives slowly says the same before its data are there.
        let mut r = Reader::new(bytes);
        let beginning: v3::write::Beginning<'_> = xdr::Decode::decode(&mut r).expect("it is the beginning");
        assert_eq!((beginning.file, beginning.offset), (request.file, request.offset));
        assert_eq!((beginning.count, beginning.stable), (request.count, request.stable));
        assert_eq!(bytes[r.position()..][..beginning.length as usize], *request.data);
    }
}

/// wire/v3: results, the first byte is the procedure.
pub fn v3_replies(data: &[u8]) {
    choose!(data,
        1 => v3::getattr::Res,
        2 => v3::setattr::Res,
        3 => v3::lookup::Res<'_>,
        4 => v3::access::Res,
        5 => v3::readlink::Res<'_>,
        6 => v3::read::ResData<'_>,
        7 => v3::write::Res,
        8 => v3::create::Res<'_>,
        9 => v3::mkdir::Res<'_>,
        10 => v3::symlink::Res<'_>,
        11 => v3::mknod::Res<'_>,
        12 => v3::remove::Res,
        13 => v3::rmdir::Res,
        14 => v3::rename::Res,
        15 => v3::link::Res,
        16 => v3::readdir::Res<'_>,
        17 => v3::readdirplus::Res<'_>,
        18 => v3::fsstat::Res,
        19 => v3::fsinfo::Res,
        20 => v3::pathconf::Res,
        21 => v3::commit::Res,
    );
}

/// wire/v4: the first byte says which.
pub fn v4(data: &[u8]) {
    choose!(data,
        1 => v4::Head<'_>,
        2 => v4::ReplyHead<'_>,
        3 => v4::CompoundOperation<'_>,
        4 => v4::attributes::Values<'_>,
        5 => v4::sessions::ExchangedId<'_>,
        6 => v4::sessions::CreatedSession,
        7 => v4::sessions::SequenceReply,
        8 => v4::sessions::StateIds<'_>,
        9 => v4::ranges::CopyReply,
        10 => v4::ranges::Sought,
        11 => v4::callbacks::CallbackReply,
    );
}

/// wire/mount.rs.
pub fn mount(data: &[u8]) {
    choose!(data,
        1 => mnt::Request<'_>,
        2 => mnt::MountRes<mnt::MountOk<'_>>,
        3 => mnt::MountRes<[u8; mnt::FHSIZE]>,
        4 => mnt::MountBody<'_>,
        5 => mnt::Export<'_>,
    );
    let _ = mnt::exports(&mut Reader::new(data));
    let _ = mnt::mounted(&mut Reader::new(data));
}

/// wire/nlm.rs.
pub fn nlm(data: &[u8]) {
    choose!(data,
        1 => lm::TestRequest<'_>,
        2 => lm::LockRequest<'_>,
        3 => lm::CancelRequest<'_>,
        4 => lm::UnlockRequest<'_>,
        5 => lm::ShareRequest<'_>,
        6 => lm::FreeAllRequest<'_>,
        7 => lm::TestRes<'_>,
        8 => lm::Res<'_>,
        9 => lm::ShareRes<'_>,
    );
}

/// wire/nsm.rs.
pub fn nsm(data: &[u8]) {
    choose!(data,
        1 => sm::StatRequest<'_>,
        2 => sm::MonRequest<'_>,
        3 => sm::MonId<'_>,
        4 => sm::MyId<'_>,
        5 => sm::NotifyRequest<'_>,
        6 => sm::Status<'_>,
        7 => sm::StatRes,
        8 => sm::State,
    );
}

/// wire/portmap.rs.
pub fn portmap(data: &[u8]) {
    choose!(data,
        1 => pmap::PortMapping,
        2 => pmap::CallRequest<'_>,
        3 => pmap::Rpcb<'_>,
    );
    let _ = pmap::mappings(&mut Reader::new(data));
    let _ = pmap::rpcbs(&mut Reader::new(data));
    if let Some(address) = pmap::UniversalAddress::parse(data) {
        assert_eq!(pmap::UniversalAddress::parse(address.to_string().as_bytes()), Some(address));
    }
}

/// What follows a probe for TLS: a handshake, of a client that has no part in the keys. Nothing of it is ever a message. The
/// first byte says in pieces of which length it comes.
pub fn tls(data: &[u8]) {
    thread_local! {
        static CONFIG: std::sync::Arc<rustls::ServerConfig> = tls_config();
    }
    let Some((length, bytes)) = data.split_first() else { return };
    let config = CONFIG.with(Clone::clone);
    let (opened, _) = conn::tls_without_socket(config, bytes, usize::from(*length) * 16 + 1);
    assert!(opened.is_empty(), "{}", opened.escape_ascii());
}

fn tls_config() -> std::sync::Arc<rustls::ServerConfig> {
    let folder = std::env::temp_dir().join(format!("fourfold-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let certificate = web::own_certificate(&folder, &[]).expect("a certificate");
    let config = web::tls_of_rpc(&certificate, Some(&certificate.chain)).expect("a configuration");
    let _ = std::fs::remove_dir_all(folder);
    config
}
