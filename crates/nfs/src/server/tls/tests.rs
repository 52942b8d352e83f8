//! The probe byte for byte as RFC 9289 4.1 has it, and what a share that requires TLS answers without it.

use crate::server::export::{ExportOptions, Rule, TlsRule};
use crate::server::gss::Flavor;
use crate::server::testing::{Client, SHARE, TAG, export, service, service_with};
use crate::server::tls::Protection;
use crate::wire::rpc::{AuthStat, Outcome};
use crate::wire::{mount, v3};

/// A call: xid, CALL, RPC 2, program, version, procedure; a credential; a verifier.
fn call(program: [u32; 3], credential: &[u32], verifier: &[u32]) -> Vec<u8> {
    let words = [&[7, 0, 2][..], &program, credential, verifier].concat();
    words.into_iter().flat_map(u32::to_be_bytes).collect()
}

fn reply(words: &[u32]) -> Option<Vec<u8>> {
    Some(words.iter().flat_map(|word| word.to_be_bytes()).collect())
}

const NFS_NULL: [u32; 3] = [100_003, 3, 0];
const AUTH_TLS: [u32; 2] = [7, 0];
const AUTH_NONE: [u32; 2] = [0, 0];
/// xid, REPLY, MSG_DENIED, AUTH_ERROR, AUTH_BADCRED.
const BADCRED: [u32; 5] = [7, 1, 1, 1, 1];

fn client(protection: Protection) -> Client {
    let mut client = Client::new(&service());
    client.service.set_versions(3..=4);
    client.origin.protection = protection;
    client
}

#[tokio::test]
async fn a_probe_gets_the_token_in_its_verifier() {
    let client = client(Protection::Offered);
    let (start, tls) = (u32::from_be_bytes(*b"STAR"), u32::from_be_bytes(*b"TTLS"));
    for program in [NFS_NULL, [100_003, 4, 0], [100_005, 3, 0], [100_021, 4, 0]] {
        let answer = client.send(call(program, &AUTH_TLS, &AUTH_NONE).into()).await;
        // xid, REPLY, MSG_ACCEPTED, AUTH_NONE, 8 bytes, SUCCESS.
        assert_eq!(answer, reply(&[7, 1, 0, 0, 8, start, tls, 0]), "{program:?}");
    }
    // PROG_UNAVAIL is no reason to go on in clear.
    let answer = client.send(call([200_000, 1, 0], &AUTH_TLS, &AUTH_NONE).into()).await;
    assert_eq!(answer, reply(&[7, 1, 0, 0, 8, start, tls, 1]));
}

#[tokio::test]
async fn a_probe_that_is_none_is_refused_with_badcred() {
    for protection in [Protection::None, Protection::Tls, Protection::Certified] {
        let answer = client(protection).send(call(NFS_NULL, &AUTH_TLS, &AUTH_NONE).into()).await;
        assert_eq!(answer, reply(&BADCRED), "{protection:?}");
    }
    let client = client(Protection::Offered);
    let getattr = call([100_003, 3, 1], &AUTH_TLS, &AUTH_NONE);
    assert_eq!(client.send(getattr.into()).await, reply(&BADCRED));
    let with_body = call(NFS_NULL, &[7, 4, 0], &AUTH_NONE);
    assert_eq!(client.send(with_body.into()).await, reply(&BADCRED));
    let with_verifier = call(NFS_NULL, &AUTH_TLS, &[1, 0]);
    assert_eq!(client.send(with_verifier.into()).await, reply(&BADCRED));
    let mut by_datagram = client.datagram();
    by_datagram.origin.protection = Protection::None; // as datagrams always are
    assert_eq!(by_datagram.send(call(NFS_NULL, &AUTH_TLS, &AUTH_NONE).into()).await, reply(&BADCRED));
}

/// A client of a share whose only rule demands this, protected by that.
fn client_of(tls: TlsRule, protection: Protection) -> Client {
    ruled(Rule { tls, ..Rule::everybody() }, protection)
}

fn ruled(rule: Rule, protection: Protection) -> Client {
    let rules = vec![rule];
    let options = ExportOptions { rules, ..ExportOptions::default() };
    let mut client = Client::new(&service_with(vec![export(SHARE, TAG, options)]));
    client.service.set_versions(3..=4);
    client.origin.protection = protection;
    client
}

#[tokio::test]
async fn a_share_that_requires_tls_refuses_what_comes_in_clear() {
    // NFS3ERR_ACCES, as knfsd answers. MOUNT itself is answered: Linux sends it in clear with `xprtsec=tls`, too.
    let cases = [
        (TlsRule::Optional, Protection::None, 0),
        (TlsRule::Required, Protection::None, 13),
        (TlsRule::Required, Protection::Offered, 13),
        (TlsRule::Required, Protection::Tls, 0),
        (TlsRule::Required, Protection::Certified, 0),
        (TlsRule::Mutual, Protection::Tls, 13),
        (TlsRule::Mutual, Protection::Certified, 0),
    ];
    for (tls, protection, status) in cases {
        let client = client_of(tls, protection);
        let handle = client.mount("/share").await.unwrap();
        let arguments = [&(handle.len() as u32).to_be_bytes()[..], &handle].concat();
        let answer = client.call_raw((v3::PROGRAM, 3, 1), &arguments).await.unwrap();
        assert_eq!(answer.reader().u32_be(), Ok(status), "{tls:?} {protection:?}");
    }
}

#[tokio::test]
async fn a_certificate_is_a_login_and_tls_alone_is_none() {
    let lookup = operations(&[24, 15], b"share", &[]);
    for (protection, status) in [(Protection::None, 13), (Protection::Tls, 13), (Protection::Certified, 0)] {
        let client = ruled(Rule { login: true, sec: vec![Flavor::Sys], ..Rule::everybody() }, protection);
        let handle = client.mount("/share").await.unwrap();
        let arguments = [&(handle.len() as u32).to_be_bytes()[..], &handle].concat();
        // ACCESS: GETATTR and FSINFO of the share's folder are shown before the login, RFC 2623 2.3.2.
        let asked = [&arguments[..], &[0, 0, 0, 1]].concat();
        let answer = client.call_raw((v3::PROGRAM, 3, 4), &asked).await.unwrap();
        assert_eq!(answer.reader().u32_be(), Ok(status), "{protection:?}");
        assert_eq!(compound(&client, 2, &lookup).await[0], status, "{protection:?}");
    }
}

#[tokio::test]
async fn a_share_without_a_way_to_log_in_is_closed_to_hosts_that_are_not_named() {
    const ACCESS: u32 = 13; // RFC 7530 13.1.6.1; RFC 1813 2.6
    let client = ruled(Rule { login: true, allowed: false, ..Rule::everybody() }, Protection::None);
    assert_eq!(client.mount("/share").await, Err(mount::Status::ACCES));
    let lookup = operations(&[24, 15], b"share", &[]);
    assert_eq!(compound(&client, 2, &lookup).await, [ACCESS, 0, 2, 24, 0, 15, ACCESS]);
    let readdir: Vec<u8> =
        [24, 26, 0, 0, 0, 0, 4096, 4096, 1, 2].into_iter().flat_map(u32::to_be_bytes).collect();
    let listed = compound(&client, 2, &readdir).await;
    assert_eq!(listed[listed.len() - 2..], [0, 1], "the root lists no entry");
    let exports = client.call((mount::PROGRAM, 3, 5), &()).await;
    assert_eq!(
        exports.reader().u32_be(),
        Ok(0),
        "EXPORT lists nothing: an export without clients would be for all"
    );
}

#[tokio::test]
async fn without_credentials_there_is_no_more_than_before() {
    let client = client_of(TlsRule::Required, Protection::Offered);
    let answer = client.call((mount::PROGRAM, 3, 9), &()).await;
    assert_eq!(answer.outcome, Outcome::ProcUnavail);
    let unknown = client.send(call(NFS_NULL, &[9, 0], &AUTH_NONE).into()).await;
    assert_eq!(unknown, reply(&[7, 1, 1, 1, AuthStat::AUTH_TOOWEAK.0]));
}

/// A compound of minor version 1 needs a session; these are of minor version 0: an empty tag, PUTROOTFH, then more.
async fn compound(client: &Client, count: u32, operations: &[u8]) -> Vec<u32> {
    let head: Vec<u8> = [0, 0, count].into_iter().flat_map(u32::to_be_bytes).collect();
    let answer = client.call_raw((v3::PROGRAM, 4, 1), &[&head[..], operations].concat()).await.unwrap();
    assert_eq!(answer.outcome, Outcome::Success);
    answer.results.chunks_exact(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect()
}

fn operations(words: &[u32], name: &[u8], rest: &[u32]) -> Vec<u8> {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    bytes.extend((name.len() as u32).to_be_bytes());
    bytes.extend(name);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend(rest.iter().flat_map(|word| word.to_be_bytes()));
    bytes
}

#[tokio::test]
async fn version_4_says_wrongsec_and_which_flavours_there_are() {
    const WRONGSEC: u32 = 10016; // RFC 7530 13.1.6.2
    let in_clear = client_of(TlsRule::Required, Protection::Offered);
    let lookup = operations(&[24, 15], b"share", &[]);
    assert_eq!(compound(&in_clear, 2, &lookup).await, [WRONGSEC, 0, 2, 24, 0, 15, WRONGSEC]);
    // SECINFO says AUTH_SYS and AUTH_NONE, as over TLS: there is no flavour for TLS.
    let secinfo = operations(&[24, 33], b"share", &[]);
    assert_eq!(compound(&in_clear, 2, &secinfo).await, [0, 0, 2, 24, 0, 33, 0, 2, 1, 0]);
    let over_tls = client_of(TlsRule::Required, Protection::Tls);
    assert_eq!(compound(&over_tls, 2, &lookup).await, [0, 0, 2, 24, 0, 15, 0]);
    // READDIR of the root, with its type (attribute 1): the share is there, as a folder (2), and the listing does not fail.
    let words = [24, 26, 0, 0, 0, 0, 4096, 4096, 1, 2];
    let readdir: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
    let listed = compound(&in_clear, 2, &readdir).await;
    assert_eq!(listed[..3], [0, 0, 2]);
    assert_eq!(
        listed[listed.len() - 6..],
        [1, 2, 4, 2, 0, 1],
        "bitmap, length, NF4DIR, no further entry, the end"
    );
}
