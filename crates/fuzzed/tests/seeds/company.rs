//! NFS's company: XDR, RPC, MOUNT, NLM, NSM and portmap. The selectors are those of `src/nfs.rs`.

use nfs::wire::v3::types::FileHandle;
use nfs::wire::xdr::{Opaque, Words};
use nfs::wire::{gss, mount, nlm, nsm, portmap, rpc};

use super::{Seed, chosen, whole};

pub fn seeds() -> Vec<Seed> {
    [xdr(), calls(), logins(), replies(), mounts(), locks(), monitors(), mappings()]
        .into_iter()
        .flatten()
        .collect()
}

fn xdr() -> Vec<Seed> {
    vec![
        chosen("nfs_xdr", "opaque", 0, &Opaque::<8>::new(b"hello")),
        chosen("nfs_xdr", "words", 2, &Words::<16>::new(&[20, 80, 501])),
        chosen("nfs_xdr", "optional", 3, &Some(Some(7_u64))),
        chosen("nfs_xdr", "fixed", 4, b"0123456789abcdef"),
        Seed { target: "nfs_xdr", name: "count-that-lies", bytes: b"\x01\xff\xff\xff\xfdabcd".to_vec() },
        Seed { target: "nfs_xdr", name: "list", bytes: b"\0\0\0\x01\0\0\0\x03abc\0\0\0\0\0".to_vec() },
    ]
}

fn call(credential: rpc::Credential<'_>) -> rpc::CallHeader<'_> {
    let verifier = rpc::AuthFlavor::AUTH_NONE;
    rpc::CallHeader { xid: 0x1234_5678, program: 100_003, version: 3, procedure: 1, credential, verifier }
}

fn calls() -> Vec<Seed> {
    let machine_name = Opaque::new(b"studio-mac");
    let sys = rpc::AuthSys { stamp: 1, machine_name, uid: 501, gid: 20, gids: Words::new(&[20, 80]) };
    vec![
        whole("nfs_rpc", "call-none", &call(rpc::Credential::None)),
        whole("nfs_rpc", "call-sys", &call(rpc::Credential::Sys(sys))),
        whole("nfs_rpc", "call-sys-malformed", &call(rpc::Credential::Malformed)),
        whole("nfs_rpc", "call-gss", &call(rpc::Credential::Unknown(rpc::AuthFlavor::RPCSEC_GSS))),
        Seed { target: "nfs_rpc", name: "call-version-3", bytes: b"\0\0\0\x01\0\0\0\0\0\0\0\x03".to_vec() },
    ]
}

/// RFC 2203.
fn logins() -> Vec<Seed> {
    let (handle, token) = (Opaque::new(b"0123456789abcdef"), Opaque::new(b"a token of Kerberos"));
    let (procedure, protection) = (gss::Procedure::DATA, gss::Protection::INTEGRITY);
    let credential = gss::Credential { procedure, sequence: 7, protection, handle };
    let (body, checksum) = (Opaque::new(b"\0\0\0\x07arguments"), Opaque::new(b"a checksum"));
    vec![
        chosen("nfs_gss", "credential", 0, &credential),
        chosen("nfs_gss", "init", 1, &gss::InitArguments { token }),
        chosen("nfs_gss", "entered", 2, &gss::InitResults { handle, major: 0, minor: 0, window: 128, token }),
        chosen("nfs_gss", "integrity", 3, &gss::Integrity { body, checksum }),
        chosen("nfs_gss", "privacy", 4, &gss::Privacy { body }),
        whole("nfs_gss", "signed", &call(rpc::Credential::Gss(credential))),
        whole("nfs_rpc", "call-gss-data", &call(rpc::Credential::Gss(credential))),
    ]
}

fn replies() -> Vec<Seed> {
    use rpc::{AuthStat, Outcome};
    let reply = |name, outcome| whole("nfs_rpc", name, &rpc::ReplyHeader { xid: 7, outcome });
    vec![
        reply("reply-success", Outcome::Success),
        reply("reply-prog-mismatch", Outcome::ProgMismatch { low: 2, high: 4 }),
        reply("reply-garbage-args", Outcome::GarbageArgs),
        reply("reply-rpc-mismatch", Outcome::RpcMismatch { low: 2, high: 2 }),
        reply("reply-auth-error", Outcome::AuthError(AuthStat::AUTH_TOOWEAK)),
    ]
}

fn mounts() -> Vec<Seed> {
    let ok = mount::MountOk { handle: FileHandle::new(&[0x42; 32]), flavors: Words::new(&[1, 0]) };
    let path = mount::DirPath::new(b"/share");
    let mounted = mount::MountBody { host: Opaque::new(b"studio-mac"), path };
    let export =
        mount::Export { path, groups: vec![Opaque::new(b"192.0.2.0/24"), Opaque::new(b"studio-mac")] };
    vec![
        chosen("nfs_mount", "mnt", 1, &mount::Request { path }),
        chosen("nfs_mount", "mnt-ok", 2, &mount::MountRes(Ok(ok))),
        chosen("nfs_mount", "mnt-refused", 2, &mount::MountRes::<[u8; 32]>(Err(mount::Status::ACCES))),
        chosen("nfs_mount", "mnt-ok-v1", 3, &mount::MountRes(Ok([7_u8; mount::FHSIZE]))),
        chosen("nfs_mount", "mounted", 4, &mounted),
        chosen("nfs_mount", "export", 5, &export),
        whole("nfs_mount", "exports", &Some(SingletonList(export))),
    ]
}

/// The one item of a list, and the list's end.
struct SingletonList<T>(T);

impl<T: nfs::wire::xdr::Encode> nfs::wire::xdr::Encode for SingletonList<T> {
    fn encode(&self, w: &mut wire::Writer) {
        self.0.encode(w);
        false.encode(w);
    }
}

fn locks() -> Vec<Seed> {
    let (cookie, handle, owner) =
        (nlm::NetObj::new(&[1; 4]), nlm::NetObj::new(&[0x42; 32]), nlm::NetObj::new(b"17@mac"));
    let (caller_name, exclusive, block, reclaim) = (nlm::Name::new(b"studio-mac"), true, true, false);
    let lock = nlm::NlmLock { caller_name, handle, owner, svid: 17, offset: 4096, len: 0 };
    let holder = nlm::Holder { exclusive, svid: 3, owner, offset: 0, len: 1 << 33 };
    let (mode, access) = (nlm::ShareMode::DENY_WRITE, nlm::ShareAccess::READ);
    let share = nlm::Share { caller_name, handle, owner, mode, access };
    let stat = nlm::NlmStat::BLOCKED;
    vec![
        chosen("nfs_nlm", "test", 1, &nlm::TestRequest { cookie, exclusive, lock }),
        chosen("nfs_nlm", "lock", 2, &nlm::LockRequest { cookie, block, exclusive, lock, reclaim, state: 3 }),
        chosen("nfs_nlm", "cancel", 3, &nlm::CancelRequest { cookie, block, exclusive, lock }),
        chosen("nfs_nlm", "unlock", 4, &nlm::UnlockRequest { cookie, lock }),
        chosen("nfs_nlm", "share", 5, &nlm::ShareRequest { cookie, share, reclaim }),
        chosen("nfs_nlm", "free-all", 6, &nlm::FreeAllRequest { name: caller_name, state: 3 }),
        chosen("nfs_nlm", "test-denied", 7, &nlm::TestRes { cookie, reply: nlm::TestReply::Denied(holder) }),
        chosen("nfs_nlm", "test-granted", 7, &nlm::TestRes { cookie, reply: nlm::TestReply::Other(stat) }),
        chosen("nfs_nlm", "blocked", 8, &nlm::Res { cookie, stat }),
        chosen("nfs_nlm", "shared", 9, &nlm::ShareRes { cookie, stat, sequence: 0 }),
    ]
}

fn monitors() -> Vec<Seed> {
    let mon_name = nsm::Name::new(b"studio-mac");
    let my_id = nsm::MyId { my_name: nsm::Name::new(b"server"), my_prog: 100_021, my_vers: 4, my_proc: 16 };
    let (mon_id, private) = (nsm::MonId { mon_name, my_id }, *b"0123456789abcdef");
    vec![
        chosen("nfs_nsm", "stat", 1, &nsm::StatRequest { mon_name }),
        chosen("nfs_nsm", "mon", 2, &nsm::MonRequest { mon_id, private }),
        chosen("nfs_nsm", "unmon", 3, &mon_id),
        chosen("nfs_nsm", "unmon-all", 4, &my_id),
        chosen("nfs_nsm", "notify", 5, &nsm::NotifyRequest { mon_name, state: 5 }),
        chosen("nfs_nsm", "status", 6, &nsm::Status { mon_name, state: 5, private }),
        chosen("nfs_nsm", "stat-answer", 7, &nsm::StatRes { res: nsm::Res::STAT_SUCC, state: 5 }),
        chosen("nfs_nsm", "state", 8, &nsm::State { state: 5 }),
    ]
}

fn mappings() -> Vec<Seed> {
    let mapping =
        portmap::PortMapping { program: 100_003, version: 3, protocol: portmap::Protocol::TCP, port: 2049 };
    let text = portmap::Text::new;
    let (netid, address, owner) = (text(b"tcp6"), text(b"::.8.1"), text(b"superuser"));
    let rpcb = portmap::Rpcb { program: 100_003, version: 3, netid, address, owner };
    let arguments = Opaque::new(b"arguments");
    let call = portmap::CallRequest { program: 100_003, version: 3, procedure: 0, arguments };
    vec![
        chosen("nfs_portmap", "mapping", 1, &mapping),
        chosen("nfs_portmap", "callit", 2, &call),
        chosen("nfs_portmap", "rpcb", 3, &rpcb),
        whole("nfs_portmap", "mappings", &Some(SingletonList(mapping))),
        whole("nfs_portmap", "rpcbs", &Some(SingletonList(rpcb))),
        Seed { target: "nfs_portmap", name: "address", bytes: b"192.0.2.1.8.1".to_vec() },
        Seed { target: "nfs_portmap", name: "address-v6", bytes: b"2001:db8::1.8.1".to_vec() },
    ]
}
