use std::sync::Arc;

use vfs::backend::NewKind;
use vfs::{Caller, Kind};

use crate::server::export::Rule;
use crate::server::testing::{self, Client, SHARE, TAG, actor, export, service, service_with};
use crate::server::{Export, ExportOptions, Service};
use crate::wire::mount::{self, MountOk, MountRes, Procedure, Request, Status};
use crate::wire::rpc::Outcome;
use crate::wire::xdr::Opaque;

fn v(version: u32, procedure: Procedure) -> (u32, u32, u32) {
    (mount::PROGRAM, version, procedure.0)
}

fn path(path: &str) -> Request<'_> {
    Request { path: Opaque::new(path.as_bytes()) }
}

/// Makes `kind` at the end of a path of folders.
fn put(service: &Arc<Service>, folders: &[&str], name: &str, kind: NewKind<'_>, mode: u32) {
    let export = service.export_named(SHARE.as_bytes()).unwrap();
    let (volume, root) = (&export.volume, Caller::root());
    let mut folder = volume.root().unwrap();
    for name in folders {
        folder = volume.lookup(&root, &folder.object, name.as_bytes()).unwrap();
    }
    volume.create(&actor(&root), &folder, name.as_bytes(), kind, mode).unwrap();
}

#[tokio::test]
async fn mounts_the_share_and_any_folder_below_it() {
    let service = service();
    put(&service, &[], "sub", NewKind::Folder, 0o755);
    put(&service, &["sub"], "deep", NewKind::Folder, 0o755);
    let client = Client::new(&service);
    let root = client.mount("/share").await.unwrap();
    for same in ["/share/", "//share", "share", "/share/."] {
        assert_eq!(client.mount(same).await.as_ref(), Ok(&root), "{same}");
    }
    let deep = client.mount("/share/sub/deep").await.unwrap();
    assert_ne!(deep, root);
    assert!(deep.len() <= 64); // FHSIZE3, RFC 1813 5.1.4
}

#[tokio::test]
async fn says_both_flavours_it_understands() {
    let client = Client::new(&service());
    let answer = client.call(v(3, Procedure::MNT), &path("/share")).await;
    let ok = answer.value::<MountRes<MountOk<'_>>>().0.unwrap();
    assert_eq!(&ok.flavors[..], [1, 0]); // RFC 5531 8.2: AUTH_SYS, AUTH_NONE
}

#[tokio::test]
async fn refuses_what_is_no_folder_of_a_share() {
    let service = service();
    put(&service, &[], "file", NewKind::File, 0o644);
    put(&service, &[], "link", NewKind::Link(b"sub"), 0o777);
    put(&service, &[], "sub", NewKind::Folder, 0o755);
    put(&service, &[], "locked", NewKind::Folder, 0o700);
    put(&service, &["locked"], "in", NewKind::Folder, 0o755);
    let client = Client::new(&service);
    for (path, status) in [
        ("", Status::NOENT),
        ("/", Status::NOENT),
        ("/other", Status::NOENT),
        ("/share/none", Status::NOENT),
        ("/share/file", Status::NOTDIR),
        ("/share/file/x", Status::NOTDIR),
        ("/share/link", Status::NOTDIR),
        ("/share/link/x", Status::NOTDIR),
        ("/share/sub/..", Status::ACCES),
        ("/share/..", Status::ACCES),
        ("/../share", Status::NOENT),
        ("/share/locked/in", Status::ACCES),
        ("/share/a\0b", Status::NOENT),
    ] {
        assert_eq!(client.mount(path).await, Err(status), "{path:?}");
    }
    let long = format!("/share/{}", "n".repeat(256));
    assert_eq!(client.mount(&long).await, Err(Status::NAMETOOLONG));
}

#[tokio::test]
async fn a_path_beyond_its_limit_is_too_long_not_garbage() {
    let client = Client::new(&service());
    let long = format!("/share/{}", "n/".repeat(600));
    let long = Opaque::<'_, 4096>::new(long.as_bytes());
    let answer = client.call(v(3, Procedure::MNT), &long).await;
    assert_eq!(answer.value::<MountRes<MountOk<'_>>>().0, Err(Status::NAMETOOLONG));
    let answer = client.call_raw(v(3, Procedure::MNT), &[0, 0, 0, 9, b'/']).await.unwrap();
    assert_eq!(answer.outcome, Outcome::GarbageArgs);
}

fn ruled(rules: Vec<Rule>) -> Arc<Service> {
    service_with(vec![export(SHARE, TAG, ExportOptions { rules, ..ExportOptions::default() })])
}

fn for_clients(clients: &str) -> Rule {
    Rule { clients: auth::HostSet::Net(clients.parse().unwrap()), ..Rule::everybody() }
}

#[tokio::test]
async fn the_first_rule_that_fits_the_client_counts() {
    let refused = Rule { allowed: false, ..for_clients("192.0.2.64/26") };
    let service = ruled(vec![refused, for_clients("192.0.2.0/24")]);
    let client = Client::new(&service);
    assert!(client.clone().at([192, 0, 2, 63]).mount("/share").await.is_ok());
    assert_eq!(client.clone().at([192, 0, 2, 65]).mount("/share").await, Err(Status::ACCES));
    assert_eq!(client.clone().at([198, 51, 100, 1]).mount("/share").await, Err(Status::ACCES));
}

#[tokio::test]
async fn a_reserved_port_is_asked_for_where_the_rule_says_so() {
    let service = ruled(vec![Rule { reserved_port: true, ..Rule::everybody() }]);
    assert!(Client::new(&service).on_port(1023).mount("/share").await.is_ok());
    assert_eq!(Client::new(&service).on_port(1024).mount("/share").await, Err(Status::ACCES));
}

#[tokio::test]
async fn an_anonymous_credential_walks_as_the_anonymous_user() {
    let service = ruled(vec![Rule { anonymous: (7, 7), ..Rule::everybody() }]);
    put(&service, &[], "theirs", NewKind::Folder, 0o700);
    put(&service, &["theirs"], "in", NewKind::Folder, 0o755);
    let export = service.export_named(SHARE.as_bytes()).unwrap();
    let root = export.volume.root().unwrap();
    let theirs = export.volume.lookup(&Caller::root(), &root.object, b"theirs").unwrap();
    assert_eq!(theirs.attributes.kind, Kind::Folder);
    let owner = vfs::SetAttributes { uid: Some(7), ..Default::default() };
    export.volume.set_attributes(&actor(&Caller::root()), &theirs, &owner).unwrap();
    assert!(Client::new(&service).nobody().mount("/share/theirs/in").await.is_ok());
    assert!(Client::new(&service).user(7).mount("/share/theirs/in").await.is_ok());
    assert_eq!(Client::new(&service).user(8).mount("/share/theirs/in").await, Err(Status::ACCES));
    // The superuser of a client is squashed.
    assert!(Client::new(&service).user(0).mount("/share/theirs/in").await.is_ok());
}

#[tokio::test]
async fn versions_1_and_2_list_but_give_no_handles() {
    let client = Client::new(&service());
    for version in [1, 2] {
        let answer = client.call(v(version, Procedure::MNT), &path("/share")).await;
        assert_eq!(answer.value::<MountRes<[u8; 32]>>().0, Err(Status::ACCES));
        for procedure in [Procedure::EXPORT, Procedure::EXPORTALL] {
            let answer = client.call_raw(v(version, procedure), &[]).await.unwrap();
            assert_eq!(mount::exports(&mut answer.reader()).unwrap().len(), 1);
        }
    }
    let answer = client.call_raw(v(3, Procedure::EXPORTALL), &[]).await.unwrap();
    assert_eq!(answer.outcome, Outcome::ProcUnavail);
    let answer = client.call_raw(v(4, Procedure::NULL), &[]).await.unwrap();
    assert_eq!(answer.outcome, Outcome::ProgMismatch { low: 1, high: 3 });
}

#[tokio::test]
async fn export_names_the_clients_of_a_share_and_nobody_where_everybody_may() {
    let rules = vec![
        Rule { allowed: false, ..for_clients("10.9.0.0/16") },
        for_clients("10.0.0.0/8"),
        for_clients("2001:db8::/32"),
    ];
    let ruled = export("inner", 2, ExportOptions { rules, ..ExportOptions::default() });
    let service = service_with(vec![export(SHARE, TAG, ExportOptions::default()), ruled]);
    let answer = Client::new(&service).call_raw(v(3, Procedure::EXPORT), &[]).await.unwrap();
    let exports = mount::exports(&mut answer.reader()).unwrap();
    assert_eq!(&exports[0].path[..], b"/share");
    assert_eq!(exports[0].groups, []);
    assert_eq!(&exports[1].path[..], b"/inner");
    let groups: Vec<&[u8]> = exports[1].groups.iter().map(|group| group.0).collect();
    assert_eq!(groups, [&b"10.0.0.0/8"[..], b"2001:db8::/32"]);
}

async fn dumped(client: &Client) -> Vec<(String, String)> {
    let answer = client.call_raw(v(3, Procedure::DUMP), &[]).await.unwrap();
    let mounted = mount::mounted(&mut answer.reader()).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    mounted.iter().map(|item| (text(&item.host), text(&item.path))).collect()
}

#[tokio::test]
async fn dump_shows_each_mount_once_until_it_is_unmounted() {
    let service = service();
    put(&service, &[], "sub", NewKind::Folder, 0o755);
    let (one, two) = (Client::new(&service), Client::new(&service).at([192, 0, 2, 2]));
    one.mount("/share").await.unwrap();
    one.mount("/share/").await.unwrap();
    one.mount("/share/sub").await.unwrap();
    two.mount("/share").await.unwrap();
    let line = |host: &str, path: &str| (host.to_string(), path.to_string());
    let all = [line("192.0.2.1", "/share"), line("192.0.2.1", "/share/sub"), line("192.0.2.2", "/share")];
    assert_eq!(dumped(&one).await, all);
    assert_eq!(one.call(v(3, Procedure::UMNT), &path("/share")).await.results, []);
    assert_eq!(dumped(&one).await, all[1..]);
    one.call_raw(v(3, Procedure::UMNTALL), &[]).await.unwrap();
    assert_eq!(dumped(&two).await, all[2..]);
}

#[tokio::test]
async fn the_log_says_who_mounts_what_and_who_is_refused() {
    let (guard, lines) = auth::LoginGuard::keeping_lines();
    let company = crate::server::Company {
        network: crate::server::testing::Fake::silent(),
        login_guard: guard,
        ..crate::server::Company::default()
    };
    let exports = vec![export("share", 1, ExportOptions::default())];
    let started = std::time::SystemTime::UNIX_EPOCH;
    let service = Service::in_company(exports, crate::server::HandleSecret::new([7; 16]), started, company);
    let client = Client::new(&service);
    client.mount("/share").await.unwrap();
    client.mount("/other\n").await.unwrap_err();
    client.call(v(3, Procedure::UMNT), &path("/share")).await;
    let by = format!(
        "protocol=\"nfs\" address=192.0.2.1 port={} user=\"uid 1000\" method=\"AUTH_SYS\"",
        client.origin.port
    );
    let expected = [
        format!("accepted {by} to=\"/share\""),
        format!("failed {by} reason=\"NOENT: /other\\\\n\""),
        format!("ended {by} to=\"/share\""),
    ];
    assert_eq!(lines.take(), expected);
}

#[tokio::test]
async fn lists_fit_their_datagram() {
    let shares: Vec<Export> = (0..1000)
        .map(|at| testing::export(&format!("{at:0>200}"), at + 1, ExportOptions::default()))
        .collect();
    let service = service_with(shares);
    let count = |answer: testing::RpcReply| mount::exports(&mut answer.reader()).unwrap().len();
    let whole = Client::new(&service).call_raw(v(3, Procedure::EXPORT), &[]).await.unwrap();
    assert_eq!(count(whole), 1000);
    let short = Client::new(&service).datagram().call_raw(v(3, Procedure::EXPORT), &[]).await.unwrap();
    assert!(short.results.len() <= 33_000);
    assert!(count(short) > 100);
}

#[tokio::test]
async fn the_export_with_the_longest_name_is_mounted() {
    let exports =
        [("studio", 1), ("studio/video", 2)].map(|(name, tag)| export(name, tag, ExportOptions::default()));
    let service = service_with(exports.into());
    for (export, folder) in [("studio", "video"), ("studio", "videos"), ("studio/video", "raw")] {
        let volume = &service.export_named(export.as_bytes()).unwrap().volume;
        let root = volume.root().unwrap();
        volume.create(&actor(&Caller::root()), &root, folder.as_bytes(), NewKind::Folder, 0o755).unwrap();
    }
    let client = Client::new(&service);
    let mounted = async |path: &str| client.mount(path).await;
    let (studio, video) = (mounted("/studio").await.unwrap(), mounted("/studio/video").await.unwrap());
    assert_ne!(studio, video);
    assert!(mounted("/studio/video/raw").await.is_ok(), "it is in the inner export");
    assert!(mounted("/studio/videos").await.is_ok(), "it is a folder of the outer one");
    assert_eq!(mounted("/studio/videos/raw").await, Err(Status::NOENT));
}
