//! The seeds of the corpus: valid messages of every kind, so that fuzzing starts deep inside each decoder. They are
//! committed; `WRITE_SEEDS=1 cargo test --test seeds` writes them anew when a layout or a selector has changed.

use std::path::Path;

use fourfold_fuzz::TARGETS;
use nfs::wire::xdr::Encode;
use wire::Writer;

mod acl;
mod afp_extras;
mod afp_files;
mod afp_forks;
mod afp_listing;
mod afp_login;
mod afp_session;
mod appletalk;
mod cluster;
mod company;
mod iscsi_blocks;
mod iscsi_copy;
mod iscsi_describe;
mod iscsi_login;
mod iscsi_pdu;
mod iscsi_reservations;
mod mac;
mod names;
mod replicate;
mod searches;
mod smb_info;
mod smb_login;
mod smb_messages;
mod smb_pipes;
mod v3;
mod v4_acls;
mod v4_sessions;
mod web;

/// An input: its target, its file name, its bytes.
struct Seed {
    target: &'static str,
    name: &'static str,
    bytes: Vec<u8>,
}

/// The seed that `selector` and `message` make.
fn chosen(target: &'static str, name: &'static str, selector: u8, message: &impl Encode) -> Seed {
    let mut w = Writer::onto(vec![selector]);
    message.encode(&mut w);
    Seed { target, name, bytes: w.into_bytes() }
}

/// The seed that `message` alone makes.
fn whole(target: &'static str, name: &'static str, message: &impl Encode) -> Seed {
    let mut w = Writer::new();
    message.encode(&mut w);
    Seed { target, name, bytes: w.into_bytes() }
}

#[test]
fn seeds_are_committed_as_the_encoders_write_them() {
    let nfs = [company::seeds(), v3::requests(), v3::replies(), v4_acls::seeds(), v4_sessions::seeds()];
    let smb = [smb_info::seeds(), smb_login::seeds(), smb_pipes::seeds(), smb_messages::seeds()];
    let afp = [
        afp_extras::seeds(),
        afp_files::seeds(),
        afp_forks::seeds(),
        afp_listing::seeds(),
        afp_login::seeds(),
        afp_session::seeds(),
    ];
    let iscsi = [
        iscsi_blocks::seeds(),
        iscsi_copy::seeds(),
        iscsi_describe::seeds(),
        iscsi_login::seeds(),
        iscsi_pdu::seeds(),
        iscsi_reservations::seeds(),
    ];
    let all = nfs.into_iter().chain(smb).chain(afp).chain(iscsi).chain([
        mac::seeds(),
        searches::seeds(),
        names::seeds(),
        appletalk::seeds(),
        acl::seeds(),
        cluster::seeds(),
        replicate::seeds(),
    ]);
    for seed in all.flatten() {
        assert!(TARGETS.iter().any(|(target, _)| *target == seed.target), "{} is no target", seed.target);
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(seed.target).join(seed.name);
        if std::env::var_os("WRITE_SEEDS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &seed.bytes).unwrap();
        }
        let committed = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(committed, seed.bytes, "{}", path.display());
    }
}
