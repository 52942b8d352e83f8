//! What is fuzzed: one plain function per target, which takes any bytes and must not panic.
//!
//! To add a target: its function in a module here, a line in [`TARGETS`], a file in `fuzz/fuzz_targets/` with a
//! `[[bin]]` in fuzz/Cargo.toml, and a few seeds in `fuzz/corpus/<target>/` (see `tests/seeds/`). Inputs that once
//! failed are kept there too.
//!
//! * `mkdir -p fuzz/target/nfs_rpc && cargo +nightly fuzz run nfs_rpc fuzz/target/nfs_rpc fuzz/corpus/nfs_rpc` looks for
//!   new failures, and keeps what it learns out of the committed corpus.
//! * `cargo test -p fourfold-fuzz` replays the corpus, on stable Rust.

pub mod accounts;
pub mod acl;
pub mod afp_extras;
pub mod afp_files;
pub mod afp_forks;
pub mod afp_listing;
pub mod afp_login;
pub mod afp_session;
pub mod appletalk;
pub mod appletalk_links;
pub mod appletalk_sessions;
pub mod bench;
pub mod cluster;
pub mod dcerpc;
pub mod domain;
pub mod iscsi_blocks;
pub mod iscsi_copy;
pub mod iscsi_describe;
pub mod iscsi_login;
pub mod iscsi_pdu;
pub mod iscsi_reservations;
pub mod kerberos;
pub mod mac;
pub mod names;
pub mod namespace;
pub mod nfs;
pub mod replicate;
pub mod smb_info;
pub mod smb_login;
pub mod smb_messages;
pub mod smb_pipes;
pub mod state_archive;
pub mod web;
pub mod wsd;

/// A target: the name of its binary and of its folder in `corpus/`, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("accounts_samba", accounts::samba_databases),
    ("afp_attributes", afp_extras::attributes),
    ("afp_desktop", afp_extras::desktop),
    ("afp_forks", afp_forks::forks),
    ("afp_files", afp_files::messages),
    ("afp_frames", afp_session::frames),
    ("afp_listing", afp_listing::listing),
    ("afp_login", afp_login::messages),
    ("afp_server_info", afp_session::server_info),
    ("afp_session", afp_session::messages),
    ("appletalk_asp", appletalk_sessions::headers),
    ("appletalk_atp", appletalk_sessions::packet),
    ("appletalk_frames", appletalk::frames),
    ("appletalk_ltoudp", appletalk_links::ltoudp),
    ("appletalk_messages", appletalk::messages),
    ("appletalk_server", appletalk_sessions::server),
    ("appletalk_stack", appletalk::stack),
    ("appletalk_tashtalk", appletalk_links::tashtalk),
    ("appletalk_workstation", appletalk_sessions::workstation),
    ("bench_answers", bench::answers),
    ("bench_records", bench::records),
    ("bench_urls", bench::urls),
    ("cluster_frames", cluster::frame),
    ("dcerpc_answers", dcerpc::answers),
    ("dcerpc_endpoints", dcerpc::endpoints),
    ("domain_bind", domain::bind),
    ("domain_netlogon", domain::netlogon),
    ("iscsi_blocks", iscsi_blocks::blocks),
    ("iscsi_copy", iscsi_copy::messages),
    ("iscsi_describe", iscsi_describe::messages),
    ("iscsi_keys", iscsi_login::keys),
    ("iscsi_login", iscsi_login::messages),
    ("iscsi_pdu", iscsi_pdu::messages),
    ("iscsi_reservations", iscsi_reservations::messages),
    ("kerberos_logon_info", kerberos::logon_info),
    ("mac_apple_double", mac::apple_double),
    ("mac_archives", mac::archives),
    ("mac_model", mac::model),
    ("mac_plist", mac::plist),
    ("mac_values", mac::values),
    ("names_sent", names::sent),
    ("names_stored", names::stored),
    ("names_whole", names::whole_names),
    ("nfs_gss", nfs::gss),
    ("nfs_mount", nfs::mount),
    ("nfs_nlm", nfs::nlm),
    ("nfs_nsm", nfs::nsm),
    ("nfs_portmap", nfs::portmap),
    ("nfs_rpc", nfs::rpc),
    ("nfs_tls", nfs::tls),
    ("nfs_v3_replies", nfs::v3_replies),
    ("nfs_v3_requests", nfs::v3_requests),
    ("nfs_v4", nfs::v4),
    ("nfs_xdr", nfs::xdr),
    ("replicate_btrfs", replicate::btrfs_stream),
    ("replicate_stream", replicate::stream),
    ("smb_contexts", smb_messages::contexts),
    ("smb_fscc", smb_info::fscc),
    ("smb_fsctl", smb_info::fsctl),
    ("smb_notes", smb_info::notes),
    ("smb_ntlm", smb_login::ntlm),
    ("smb_pattern", smb_info::pattern),
    ("smb_replies", smb_messages::replies),
    ("smb_requests", smb_messages::requests),
    ("smb_security", smb_info::security),
    ("smb_spnego", smb_login::spnego),
    ("smb_pipe", smb_pipes::pipe),
    ("smb_rpc", smb_pipes::rpc),
    ("state_archive", state_archive::archive),
    ("vfs_acl", acl::stored),
    ("web_connection", web::connection),
    ("web_requests", web::requests),
    ("namespace_links", namespace::links),
    ("wsd_messages", wsd::messages),
];

/// The binary of a target: libFuzzer's entry point under `cargo fuzz`, nothing elsewhere.
#[macro_export]
macro_rules! target {
    ($body:path) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $body(data));

        #[cfg(not(fuzzing))]
        fn main() {}
    };
}
