//! Links to other servers, by RFC 7530 8.3, 8.4 and 8.7: what is answered at the root of a file system that is not here.

use std::sync::Arc;
use std::time::SystemTime;

use namespace::{Link, Namespace, Table, Target, TargetOrder};
use vfs::backend::NewKind;

use super::*;
use crate::server::testing::actor;

/// NFS4ERR_MOVED.
const MOVED: u32 = 10019;

/// The share `docs` with the links `away`, to two servers, `mine`, which has no target for NFS, and `bare`, to the root of a
/// server's exports; and the table.
fn scene() -> (Client, Arc<Namespace>) {
    let links = Arc::new(Namespace::default());
    let options = ExportOptions { links: Some(links.clone()), ..ExportOptions::default() };
    let docs = export("docs", 1, options);
    let (root, somebody) = (docs.volume.root().unwrap(), actor(&vfs::Caller::root()));
    let urls = ["nfs://filer2/export/old", "smb://filer2/old", "nfs://192.0.2.7:12049/b"];
    let link = Link {
        path: "docs/away".into(),
        targets: urls.iter().map(|url| Target::of_url(url).unwrap()).collect(),
        comment: String::new(),
        ttl: namespace::DEFAULT_TTL,
        order: TargetOrder::Listed,
        failback: true,
        checked: true,
        credentials: None,
    };
    let texts = [
        (&b"away"[..], link.text()),
        (b"mine", r"msdfs:filer2\old".into()),
        (b"bare", "msdfs:nfs://filer2".into()),
    ];
    for (name, text) in texts {
        docs.volume.create(&somebody, &root, name, NewKind::Link(text.as_bytes()), 0o777).unwrap();
    }
    links.set(Table { links: vec![link], sites: Vec::new() });
    let client = Client::new(&service_with(vec![docs]));
    client.service.set_versions(3..=4);
    (client, links)
}

fn lookup(name: &[u8]) -> Vec<u8> {
    [words(&[15]), opaque(name)].concat()
}

/// GETATTR of attributes by their numbers, below 64.
fn get(numbers: &[u32]) -> Vec<u8> {
    let bits = numbers.iter().fold(0_u64, |bits, number| bits | 1 << number);
    words(&[9, 2, bits as u32, (bits >> 32) as u32])
}

/// What follows LOOKUP of `away` with these operations.
fn at_link(client: &Client, operations: &[Vec<u8>]) -> (u32, Vec<u8>) {
    let all = [&[lookup(b"away")][..], operations].concat();
    let (status, reply) = in_docs(client, &all);
    assert_eq!(reply[..8], words(&[15, 0]), "LOOKUP of the root succeeds");
    (status, reply[8..].to_vec())
}

#[test]
fn only_the_attributes_that_lead_on_are_there() {
    let (client, _) = scene();
    // GETFH, READDIR, ACCESS, LOOKUP and READLINK: RFC 7530 13.1.2.4 and 16.
    let readdir = [words(&[26]), vec![0; 16], words(&[512, 512, 0])].concat();
    for (operation, number) in
        [(words(&[10]), 10), (readdir, 26), (words(&[3, 1]), 3), (lookup(b"x"), 15), (words(&[27]), 27)]
    {
        assert_eq!(at_link(&client, &[operation]), (MOVED, words(&[number, MOVED])));
    }
    // type (1), or type with rdattr_error (11): 8.3.1.
    assert_eq!(at_link(&client, &[get(&[1])]), (MOVED, words(&[9, MOVED])));
    assert_eq!(at_link(&client, &[get(&[1, 11])]).1, words(&[9, 0, 1, 1 << 11, 4, MOVED]));
    // fsid (8) and mounted_on_fileid (55) alone are no error, and the file system is another one.
    let (status, reply) = at_link(&client, &[get(&[8, 55])]);
    assert_eq!((status, &reply[..24]), (0, &words(&[9, 0, 2, 1 << 8, 1 << 23, 24])[..]));
    let (_, share) = in_docs(&client, &[get(&[8])]);
    assert_eq!(share[..16], words(&[9, 0, 1, 1 << 8]));
    assert_ne!(reply[24..40], share[20..36], "fsid");
}

#[test]
fn fs_locations_has_the_path_here_and_the_servers_that_are_up() {
    let (client, links) = scene();
    let text = |name: &str| opaque(name.as_bytes());
    let here = [words(&[2]), text("docs"), text("away")].concat();
    let one = |server: &str, path: &[&str]| {
        let path = [words(&[path.len() as u32]), path.iter().flat_map(|name| text(name)).collect()].concat();
        [words(&[1]), text(server), path].concat()
    };
    // A server with a port is told as a universal address, RFC 5665 5.2.3.3: 12049 is 47 * 256 + 17.
    let (first, second) = (one("filer2", &["export", "old"]), one("192.0.2.7.47.17", &["b"]));
    let both = [here.clone(), words(&[2]), first, second.clone()].concat();
    let answer = |values: &[u8]| [words(&[9, 0, 1, 1 << 24]), opaque(values)].concat();
    assert_eq!(at_link(&client, &[get(&[24])]), (0, answer(&both)));
    links.checked(
        &Target::of_url("nfs://filer2/export/old").unwrap(),
        Err("down".into()),
        SystemTime::UNIX_EPOCH,
    );
    assert_eq!(at_link(&client, &[get(&[24])]), (0, answer(&[here, words(&[1]), second].concat())));
    // A file system that is here: where it is, and no other place.
    assert_eq!(
        in_docs(&client, &[get(&[24])]),
        (0, answer(&[words(&[1]), text("docs"), words(&[0])].concat()))
    );
    // The root of a server's exports has no names.
    let (_, bare) = in_docs(&client, &[lookup(b"bare"), get(&[24])]);
    assert!(bare.ends_with(&[words(&[1, 1]), text("filer2"), words(&[0])].concat()), "{bare:?}");
}

#[test]
fn a_listing_shows_links_with_their_error_or_fails() {
    let (client, _) = scene();
    let readdir = |numbers: &[u32]| {
        let bits = numbers.iter().fold(0_u64, |bits, number| bits | 1 << number);
        [words(&[26]), vec![0; 16], words(&[4096, 4096, 2, bits as u32, (bits >> 32) as u32])].concat()
    };
    // 8.3.2: type with rdattr_error; without it the whole request fails.
    let (status, reply) = in_docs(&client, &[readdir(&[1, 11])]);
    assert_eq!(status, 0);
    let entry = |name: &[u8], values: &[u32]| [opaque(name), words(values)].concat();
    let has = |entry: &[u8]| reply.windows(entry.len()).any(|bytes| bytes == entry);
    assert!(has(&entry(b"away", &[1, 1 << 11, 4, MOVED])), "{reply:?}");
    // A link without a target of NFS is a symbolic link: NF4LNK, and no error.
    assert!(has(&entry(b"mine", &[1, 1 << 1 | 1 << 11, 8, 5, 0])), "{reply:?}");
    assert_eq!(in_docs(&client, &[readdir(&[1])]), (MOVED, words(&[26, MOVED])));
    assert_eq!(in_docs(&client, &[readdir(&[8, 55])]).0, 0);
}

#[test]
fn clients_may_keep_the_handle_and_go_back_and_remove_the_link() {
    let (client, _) = scene();
    // SAVEFH (32), RESTOREFH (31), PUTROOTFH (24): the handle itself is no error.
    assert_eq!(at_link(&client, &[words(&[32]), words(&[31]), words(&[24])]).0, 0);
    // REMOVE (28) in the folder is about the entry here.
    assert_eq!(in_docs(&client, &[[words(&[28]), opaque(b"away")].concat()]).0, 0);
}
