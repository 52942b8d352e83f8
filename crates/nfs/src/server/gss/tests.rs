//! Logins without a socket, by RFC 2203. Kerberos is one of the tests: its checksums and ciphers are toys. `interop nfs` has logins
//! with MIT's.

mod roles;

use std::time::{Duration, SystemTime};

use auth::kerberos::{Accepting, SecurityContext, Ticket, TicketRefusal};
use auth::{Account, Refusal};

use super::*;
use crate::server::testing::{Client, RpcReply, SHARE, TAG, export, service_with};
use crate::server::{ExportOptions, Rule, Squash};
use crate::wire::gss::InitResults;
use crate::wire::rpc::{CallHeader, Credential as Any, ReplyHeader};
use crate::wire::v3::PROGRAM;
use crate::wire::xdr::{Decode, Opaque};

/// NULL, GETATTR, CREATE, REMOVE and FSINFO of version 3.
const NULL: u32 = 0;
const GETATTR: u32 = 1;
const CREATE: u32 = 8;
const REMOVE: u32 = 12;
const FSINFO: u32 = 19;

struct Toy;

/// A checksum of one side: it depends on every byte.
fn checksum(side: u8, message: &[u8]) -> Vec<u8> {
    let sum = message.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    [&[side][..], &sum.to_be_bytes()].concat()
}

fn cipher(message: &[u8]) -> Vec<u8> {
    message.iter().map(|byte| byte ^ 0x55).collect()
}

impl SecurityContext for Toy {
    fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        Some(checksum(b'S', message))
    }

    fn verifies(&self, message: &[u8], sum: &[u8]) -> bool {
        sum == checksum(b'C', message)
    }

    fn seal(&self, message: &[u8]) -> Option<Vec<u8>> {
        Some([b"sealed", &*cipher(message)].concat())
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        sealed.strip_prefix(b"sealed").map(cipher)
    }
}

struct Realm;

impl Kerberos for Realm {
    fn accept(&self, token: Vec<u8>) -> Accepting {
        let text = String::from_utf8(token).unwrap_or_default();
        let (name, lifetime) = text.split_once(' ').unwrap_or((&text, "3600"));
        let ticket = match name {
            "early" => Err(TicketRefusal::Clock),
            "broken" => Err(TicketRefusal::Other("a damaged token".into())),
            name => Ok(Ticket {
                principal: format!("{name}@LAB.TEST"),
                account: (!name.contains('/')).then(|| name.to_owned()),
                is_machine: name.starts_with("nfs/"),
                session_key: Vec::new(),
                reply: b"reply".to_vec(),
                expires: Some(SystemTime::now() + Duration::from_secs(lifetime.parse().unwrap())),
                context: Box::new(Toy),
            }),
        };
        Box::pin(std::future::ready(ticket))
    }
}

/// Accounts: `ada` with the uid 1000, and `gone`, which is disabled.
struct People {
    ada: u32,
}

impl Accounts for People {
    fn find(&self, name: &str) -> Option<Account> {
        matches!(name, "ada" | "gone").then(|| Account {
            name: name.into(),
            identity: auth::Identity::new(self.ada, 100, &[7]),
            disabled: name == "gone",
            secrets: Vec::new(),
        })
    }

    fn verify(&self, _: &str, _: &str) -> Result<Account, Refusal> {
        Err(Refusal::Unknown)
    }
}

fn tickets(ada: u32) -> Option<Tickets> {
    Some(Tickets { kerberos: Arc::new(Realm), accounts: Arc::new(People { ada }) })
}

fn client_of(rule: Rule) -> Client {
    let options = ExportOptions { rules: vec![rule], ..ExportOptions::default() };
    let service = service_with(vec![export(SHARE, TAG, options)]);
    service.set_tickets(tickets(1000));
    service.set_versions(3..=4);
    Client::new(&service)
}

fn client() -> Client {
    client_of(Rule::everybody())
}

fn sec(flavors: &[Flavor]) -> Client {
    client_of(Rule { sec: flavors.to_vec(), ..Rule::everybody() })
}

/// What a client sends.
#[derive(Clone, Copy)]
struct SentCall<'a> {
    xid: u32,
    version: u32,
    call: Credential<'a>,
    /// Of the head.
    damages_checksum: bool,
}

impl SentCall<'_> {
    fn message(&self, procedure: u32, arguments: &[u8]) -> Vec<u8> {
        let (xid, version, verifier) = (self.xid, self.version, AuthFlavor::AUTH_NONE);
        let credential = Any::Gss(self.call);
        let mut w = Writer::new();
        CallHeader { xid, program: PROGRAM, version, procedure, credential, verifier }.encode(&mut w);
        let head = w.as_bytes()[..w.len() - 8].to_vec();
        let mut w = Writer::onto(head.clone());
        if self.call.procedure == Procedure::INIT {
            w.put(&[0; 8]);
        } else {
            let mut sum = checksum(b'C', &head);
            sum[3] ^= u8::from(self.damages_checksum);
            AuthFlavor::RPCSEC_GSS.encode(&mut w);
            put_opaque(&mut w, &sum);
        }
        w.put(arguments);
        w.into_bytes()
    }
}

/// A login.
struct Session {
    client: Client,
    handle: Vec<u8>,
    protection: Protection,
    sequence: u32,
    version: u32,
}

async fn init(client: &Client, token: &[u8]) -> RpcReply {
    let call = Credential {
        procedure: Procedure::INIT,
        sequence: 0,
        protection: Protection::NONE,
        handle: Opaque::new(&[]),
    };
    let mut arguments = Writer::new();
    put_opaque(&mut arguments, token);
    let message =
        SentCall { xid: 1, version: 3, call, damages_checksum: false }.message(NULL, arguments.as_bytes());
    answered(&client.send(message.into()).await.expect("a reply"))
}

/// A reply, whose verifier may be anything.
fn answered(reply: &[u8]) -> RpcReply {
    let mut r = Reader::new(reply);
    let outcome = ReplyHeader::decode(&mut r).expect("a reply").outcome;
    RpcReply { outcome, results: r.rest().to_vec() }
}

/// The verifier of an accepted reply.
fn verifier(reply: &[u8]) -> (u32, Vec<u8>) {
    let mut r = Reader::new(&reply[12..]);
    (r.u32_be().unwrap(), Opaque::<400>::decode(&mut r).unwrap().to_vec())
}

impl Session {
    async fn of(client: &Client, token: &[u8], protection: Protection) -> Self {
        let entered = init(client, token).await;
        let results: InitResults<'_> = entered.value();
        assert_eq!((results.major, results.window, &*results.token), (0, window::WIDTH, &b"reply"[..]));
        let handle = results.handle.to_vec();
        Self { client: client.clone(), handle, protection, sequence: 0, version: 3 }
    }

    fn call(&self, procedure: Procedure) -> SentCall<'_> {
        let (sequence, protection, handle) = (self.sequence, self.protection, Opaque::new(&self.handle));
        let call = Credential { procedure, sequence, protection, handle };
        SentCall { xid: 100 + self.sequence, version: self.version, call, damages_checksum: false }
    }

    fn protected(&self, arguments: &[u8]) -> Vec<u8> {
        let body = [&self.sequence.to_be_bytes()[..], arguments].concat();
        let mut w = Writer::new();
        match self.protection {
            Protection::NONE => w.put(arguments),
            Protection::INTEGRITY => {
                put_opaque(&mut w, &body);
                put_opaque(&mut w, &checksum(b'C', &body));
            }
            _ => put_opaque(&mut w, &[b"sealed", &*cipher(&body)].concat()),
        }
        w.into_bytes()
    }

    /// The results of a call, whose protection is checked.
    async fn run(&mut self, procedure: u32, arguments: &[u8]) -> RpcReply {
        self.sequence += 1;
        let message = self.call(Procedure::DATA).message(procedure, &self.protected(arguments));
        let reply = self.client.send(message.into()).await.expect("a reply");
        let mut answered = answered(&reply);
        if matches!(answered.outcome, Outcome::AuthError(_)) {
            return answered;
        }
        assert_eq!(verifier(&reply), (6, checksum(b'S', &self.sequence.to_be_bytes())));
        if answered.outcome == Outcome::Success && self.protection != Protection::NONE {
            answered.results = self.unprotected(&answered.results);
        }
        answered
    }

    fn unprotected(&self, results: &[u8]) -> Vec<u8> {
        let r = &mut Reader::new(results);
        let body = match self.protection {
            Protection::INTEGRITY => {
                let Integrity { body, checksum: sum } = arguments(r).unwrap();
                assert_eq!(*sum, *checksum(b'S', &body));
                body.to_vec()
            }
            _ => {
                let Privacy { body } = arguments(r).unwrap();
                cipher(body.strip_prefix(b"sealed").unwrap())
            }
        };
        body.strip_prefix(&self.sequence.to_be_bytes()).expect("the sequence number").to_vec()
    }

    async fn creates(&mut self, root: &[u8], name: &[u8]) -> u32 {
        let mut w = Writer::new();
        put_opaque(&mut w, root);
        put_opaque(&mut w, name);
        w.put(&[0; 28]); // UNCHECKED, without attributes
        self.run(CREATE, w.as_bytes()).await.reader().u32_be().unwrap()
    }
}

async fn root(client: &Client) -> Vec<u8> {
    client.mount(&format!("/{SHARE}")).await.expect("a handle")
}

fn opaque(bytes: &[u8]) -> Vec<u8> {
    let mut w = Writer::new();
    put_opaque(&mut w, bytes);
    w.into_bytes()
}

/// Type, mode, links, uid and gid of a file in the share.
fn owner(client: &Client, name: &str) -> (u32, u32) {
    let export = client.service.export_named(SHARE.as_bytes()).unwrap();
    let root = export.volume.root().unwrap();
    let found = export.volume.lookup(&vfs::Caller::root(), &root.object, name.as_bytes()).unwrap();
    (found.attributes.uid, found.attributes.gid)
}

#[tokio::test]
async fn a_ticket_makes_a_context_whose_calls_are_those_of_its_user() {
    for protection in [Protection::NONE, Protection::INTEGRITY, Protection::PRIVACY] {
        let client = client();
        let root = root(&client).await;
        let mut ada = Session::of(&client, b"ada", protection).await;
        assert_eq!(ada.creates(&root, b"file").await, 0);
        assert_eq!(owner(&client, "file"), (1000, 100));
    }
}

#[tokio::test]
async fn the_reply_to_init_signs_the_width_of_the_window() {
    let client = client();
    let call = Credential {
        procedure: Procedure::INIT,
        sequence: 9,
        protection: Protection::PRIVACY,
        handle: Opaque::new(&[]),
    };
    let message =
        SentCall { xid: 1, version: 3, call, damages_checksum: false }.message(NULL, &opaque(b"ada"));
    let reply = client.send(message.into()).await.unwrap();
    assert_eq!(verifier(&reply), (6, checksum(b'S', &window::WIDTH.to_be_bytes())));
}

#[tokio::test]
async fn tickets_that_let_nobody_in_are_told_apart_and_make_no_context() {
    let client = client();
    // RFC 2744 3.9.1; KRB5KRB_AP_ERR_SKEW of MIT's library is 0x96c73a25.
    let expected = [
        (&b"early"[..], (13 << 16, 0x96c7_3a25)),
        (b"broken", (9 << 16, 0x96c7_3a3c)),
        (b"eve", (15 << 16, 0)),
        (b"gone", (15 << 16, 0)),
        (b"http/web", (15 << 16, 0)),
    ];
    for (token, codes) in expected {
        let entered = init(&client, token).await;
        let results: InitResults<'_> = entered.value();
        assert_eq!(((results.major, results.minor), results.handle.len()), (codes, 0));
    }
}

#[tokio::test]
async fn damaged_repeated_and_foreign_calls_change_nothing_for_the_context() {
    let client = client();
    let mut ada = Session::of(&client, b"ada", Protection::NONE).await;
    assert_eq!(ada.run(NULL, &[]).await.outcome, Outcome::Success);
    let refused = |why| Outcome::AuthError(why);
    ada.sequence = 7;
    let damaged = SentCall { damages_checksum: true, ..ada.call(Procedure::DATA) }.message(NULL, &[]);
    let reply = client.send(damaged.into()).await.unwrap();
    assert_eq!(answered(&reply).outcome, refused(AuthStat::RPCSEC_GSS_CREDPROBLEM));
    // The number of the damaged call is not used up; the second time it is, and the call gets no answer, RFC 2203 5.3.3.1.
    let call = ada.call(Procedure::DATA).message(NULL, &[]);
    assert!(client.send(call.clone().into()).await.is_some());
    assert!(client.send(call.into()).await.is_none());
    ada.sequence = MAX_SEQUENCE - 1;
    assert_eq!(ada.run(NULL, &[]).await.outcome, refused(AuthStat::RPCSEC_GSS_CTXPROBLEM));
    ada.sequence = 20;
    ada.handle[0] ^= 1;
    assert_eq!(ada.run(NULL, &[]).await.outcome, refused(AuthStat::RPCSEC_GSS_CREDPROBLEM));
    ada.handle[0] ^= 1;
    assert_eq!(ada.run(NULL, &[]).await.outcome, Outcome::Success);
    ada.protection = Protection(4);
    assert_eq!(ada.run(NULL, &[]).await.outcome, refused(AuthStat::AUTH_BADCRED));
}

#[tokio::test]
async fn arguments_that_are_damaged_or_of_another_call_are_garbage() {
    let client = client();
    for protection in [Protection::INTEGRITY, Protection::PRIVACY] {
        let mut ada = Session::of(&client, b"ada", protection).await;
        ada.sequence = 1;
        let right = ada.protected(&[]);
        for at in 4..right.len() - 3 {
            let mut wrong = right.clone();
            wrong[at] ^= 1;
            let message = ada.call(Procedure::DATA).message(NULL, &wrong);
            let reply = client.send(message.into()).await.unwrap();
            assert_eq!(answered(&reply).outcome, Outcome::GarbageArgs, "{protection:?} {at}");
            assert_eq!(verifier(&reply).0, 6);
            ada.sequence += 1;
            let of_another_call = ada.call(Procedure::DATA).message(NULL, &right);
            let reply = client.send(of_another_call.into()).await.unwrap();
            assert_eq!(answered(&reply).outcome, Outcome::GarbageArgs);
            ada.sequence = 1 + at as u32 * 2;
            let cut = ada.call(Procedure::DATA).message(NULL, &right[..at]);
            assert_eq!(answered(&client.send(cut.into()).await.unwrap()).outcome, Outcome::GarbageArgs);
            ada.sequence = 1;
            ada = Session::of(&client, b"ada", protection).await;
            ada.sequence = 1;
        }
    }
}

#[tokio::test]
async fn a_call_that_is_repeated_with_a_new_number_is_executed_once() {
    let client = client();
    let root = root(&client).await;
    let mut ada = Session::of(&client, b"ada", Protection::INTEGRITY).await;
    assert_eq!(ada.creates(&root, b"file").await, 0);
    let remove = [opaque(&root), opaque(b"file")].concat();
    for sequence in [10, 11] {
        ada.sequence = sequence;
        let message =
            SentCall { xid: 77, ..ada.call(Procedure::DATA) }.message(REMOVE, &ada.protected(&remove));
        let answered = answered(&client.send(message.into()).await.unwrap());
        assert_eq!(ada.unprotected(&answered.results)[..4], [0; 4]);
    }
}

#[tokio::test]
async fn a_context_ends_when_it_is_destroyed_and_when_its_ticket_ends() {
    let client = client();
    let gone = Outcome::AuthError(AuthStat::RPCSEC_GSS_CREDPROBLEM);
    let mut ada = Session::of(&client, b"ada", Protection::PRIVACY).await;
    ada.sequence = 3;
    let reply = client.send(ada.call(Procedure::DESTROY).message(NULL, &[]).into()).await.unwrap();
    assert_eq!(answered(&reply), RpcReply { outcome: Outcome::Success, results: Vec::new() });
    assert_eq!(verifier(&reply), (6, checksum(b'S', &[0, 0, 0, 3])));
    assert_eq!(ada.run(NULL, &[]).await.outcome, gone);
    let mut short = Session::of(&client, b"ada 0", Protection::NONE).await;
    assert_eq!(short.run(NULL, &[]).await.outcome, gone);
}

#[tokio::test]
async fn contexts_of_accounts_that_have_changed_end_and_others_stay() {
    let client = client();
    let mut ada = Session::of(&client, b"ada", Protection::NONE).await;
    let mut machine = Session::of(&client, b"nfs/host", Protection::NONE).await;
    client.service.set_tickets(tickets(1000));
    assert_eq!(ada.run(NULL, &[]).await.outcome, Outcome::Success);
    client.service.set_tickets(tickets(1001));
    assert_eq!(ada.run(NULL, &[]).await.outcome, Outcome::AuthError(AuthStat::RPCSEC_GSS_CREDPROBLEM));
    assert_eq!(machine.run(NULL, &[]).await.outcome, Outcome::Success);
    client.service.set_tickets(None);
    assert_eq!(machine.run(NULL, &[]).await.outcome, Outcome::AuthError(AuthStat::AUTH_TOOWEAK));
}

#[tokio::test]
async fn a_machine_is_root_where_a_rule_lets_root_be_root_and_anonymous_elsewhere() {
    for (squash, expected) in [(Squash::None, (0, 0)), (Squash::Root, (7, 8)), (Squash::All, (7, 8))] {
        let client = client_of(Rule { squash, anonymous: (7, 8), ..Rule::everybody() });
        let root = root(&client).await;
        let mut machine = Session::of(&client, b"nfs/host", Protection::INTEGRITY).await;
        assert_eq!(machine.creates(&root, b"file").await, 0);
        assert_eq!(owner(&client, "file"), expected);
    }
}

#[tokio::test]
async fn a_rule_lets_in_its_flavours_only_but_shows_the_share_before_the_login() {
    let client = sec(&[Flavor::Krb5i, Flavor::Krb5p]);
    let root = root(&client).await;
    let status = |answered: RpcReply| answered.reader().u32_be().unwrap();
    // RFC 1813 2.6: NFS3ERR_ACCES is 13. RFC 2623 2.3.2: FSINFO and GETATTR of the share's folder.
    let mut sys = Vec::new();
    for procedure in [GETATTR, FSINFO] {
        sys.push(status(client.call_raw((PROGRAM, 3, procedure), &opaque(&root)).await.unwrap()));
    }
    let lookup = [opaque(&root), opaque(b"file")].concat();
    sys.push(status(client.call_raw((PROGRAM, 3, 3), &lookup).await.unwrap()));
    assert_eq!(sys, [0, 0, 13]);
    for (protection, expected) in
        [(Protection::NONE, 13), (Protection::INTEGRITY, 2), (Protection::PRIVACY, 2)]
    {
        let mut ada = Session::of(&client, b"ada", protection).await;
        assert_eq!(status(ada.run(3, &lookup).await), expected, "{protection:?}");
    }
}

#[tokio::test]
async fn mount_and_secinfo_list_the_flavours_of_the_rule() {
    let client = sec(&[Flavor::Krb5p, Flavor::Sys, Flavor::Krb5]);
    let mnt = client.call((crate::wire::mount::PROGRAM, 3, 1), &Opaque::<64>(b"/share")).await.results;
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    assert!(mnt.ends_with(&words(&[4, 390_005, 1, 390_003, 0])), "{mnt:?}");
    // A COMPOUND of PUTROOTFH and SECINFO: RFC 7530 16.31.4.
    let secinfo = [words(&[0, 0, 2, 24, 33]), opaque(b"share")].concat();
    let reply = client.call_raw((PROGRAM, 4, 1), &secinfo).await.unwrap().results;
    let oid = opaque(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02");
    let gss = |service| [words(&[6]), oid.clone(), words(&[0, service])].concat();
    let expected = [words(&[33, 0, 4]), gss(3), words(&[1]), gss(1), words(&[0])].concat();
    assert_eq!(reply[20..], expected);
    client.service.set_tickets(None);
    let reply = client.call_raw((PROGRAM, 4, 1), &secinfo).await.unwrap().results;
    assert_eq!(reply[20..], words(&[33, 0, 2, 1, 0]));
}

#[tokio::test]
async fn version_4_says_wrongsec_to_calls_of_other_flavours() {
    let client = sec(&[Flavor::Krb5]);
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let look_up = [words(&[0, 0, 2, 24, 15]), opaque(b"share")].concat();
    let reply = client.call_raw((PROGRAM, 4, 1), &look_up).await.unwrap().results;
    assert_eq!(reply[..4], words(&[10_016])); // NFS4ERR_WRONGSEC
    let mut ada = Session::of(&client, b"ada", Protection::NONE).await;
    ada.version = 4;
    assert_eq!(ada.run(1, &look_up).await.results[..4], words(&[0]));
}

#[tokio::test]
async fn too_many_contexts_of_one_address_replace_each_other_and_those_of_others_stay() {
    let client = client();
    let mut other = Session::of(&client.clone().at([192, 0, 2, 9]), b"ada", Protection::NONE).await;
    let mut sessions = Vec::new();
    for _ in 0..contexts::CONTEXTS_OF_CLIENT {
        sessions.push(Session::of(&client, b"ada", Protection::NONE).await);
    }
    assert_eq!(sessions[0].run(NULL, &[]).await.outcome, Outcome::Success); // used last
    Session::of(&client, b"ada", Protection::NONE).await;
    assert_eq!(sessions[0].run(NULL, &[]).await.outcome, Outcome::Success);
    let gone = Outcome::AuthError(AuthStat::RPCSEC_GSS_CREDPROBLEM);
    assert_eq!(sessions[1].run(NULL, &[]).await.outcome, gone);
    assert_eq!(other.run(NULL, &[]).await.outcome, Outcome::Success);
}

#[tokio::test]
async fn without_a_keytab_the_flavour_is_too_weak_and_half_made_contexts_do_not_exist() {
    let client = client();
    let call = Credential {
        procedure: Procedure::CONTINUE_INIT,
        sequence: 0,
        protection: Protection::NONE,
        handle: Opaque::new(&[0; 16]),
    };
    let sent = SentCall { xid: 1, version: 3, call, damages_checksum: false };
    let outcome = |reply: Option<Vec<u8>>| answered(&reply.unwrap()).outcome;
    let of = |why| Outcome::AuthError(why);
    let message = sent.message(NULL, &opaque(b"ada"));
    assert_eq!(outcome(client.send(message.into()).await), of(AuthStat::RPCSEC_GSS_CREDPROBLEM));
    let message = sent.message(GETATTR, &opaque(b"ada"));
    assert_eq!(outcome(client.send(message.into()).await), of(AuthStat::AUTH_BADCRED));
    client.service.set_tickets(None);
    assert_eq!(init(&client, b"ada").await.outcome, of(AuthStat::AUTH_TOOWEAK));
}
