//! Clients of both services, without sockets. They sign with the code of the server, which has the vectors of MS-NLMP; other
//! projects' clients are in `interop/cluster`.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use auth::kerberos::{Accepting, Beginning, Kerberos, LoginProgress, SecurityContext, Ticket};
use wire::{Reader, Writer};

use super::association::{Answers, Association};
use super::{ClusterNode, Interface, Rpc, RpcPorts};
use crate::client::Credentials;
use crate::client::login::{FLAGS, authenticate};
use crate::server::login::ntlm::protection::{NtlmProtection, SIGNATURE};
use crate::server::testing::{ADA, service, service_with};
use crate::wire::ntlm::Negotiate;
use crate::wire::rpc::Syntax;
use crate::wire::rpc::ndr::{Decoder, Encoder};
use crate::wire::rpc::pdu::{
    AuthVerifier, Bind, Fault, Header, PresentationContext, Request, Trailer, auth_level, auth_service,
    flags, kind,
};
use crate::wire::spnego::{
    MS_KERBEROS, MechTypes, NTLMSSP, NegState, NegTokenInit, NegTokenResp, SpnegoToken,
};

const PORTS: RpcPorts = RpcPorts { mapper: 135, witness: 49_153 };

fn rpc() -> Arc<Rpc> {
    let rpc = Rpc::new(service(), PORTS, "gate2".into());
    rpc.adopt(vec![node("gate1", 1, "192.0.2.1"), node("gate2", 2, "192.0.2.2")]);
    rpc
}

fn node(name: &str, number: u16, address: &str) -> ClusterNode {
    let addresses = vec![address.parse().unwrap()];
    ClusterNode { name: name.into(), number, addresses, is_witness: true, is_leaving: false }
}

/// A client.
struct Client {
    association: Association,
    protection: Option<NtlmProtection>,
    level: u8,
    now: Instant,
}

/// What a call returns.
type Result = std::result::Result<Vec<u8>, Fault>;

impl Client {
    fn new(rpc: &Arc<Rpc>, serves: Interface) -> Self {
        let now = Instant::now();
        let peer = "192.0.2.7:50000".parse().unwrap();
        let association = Association::new(rpc.clone(), serves, peer, now);
        Self { association, protection: None, level: 0, now }
    }

    async fn receive(&mut self, message: Vec<u8>) -> Answers {
        self.association.receive(message, self.now).await
    }

    async fn bound(rpc: &Arc<Rpc>, serves: Interface) -> Self {
        let mut client = Self::new(rpc, serves);
        let interface = if serves == Interface::Mapper { Syntax::EPMAPPER } else { Syntax::WITNESS };
        let answers = client.receive(bind(kind::BIND, interface, None)).await.unwrap();
        assert_eq!(answers[0][2], kind::BIND_ACK);
        client
    }

    /// Logs in by NTLM, as MS-RPCE 3.3.1.5.2.1 says: three messages, of which the last has no answer.
    async fn logged_in(rpc: &Arc<Rpc>, (user, password): (&str, &str), level: u8) -> Self {
        let mut client = Self::new(rpc, Interface::Witness);
        let mut negotiate = Writer::new();
        Negotiate { flags: FLAGS, domain: &[], workstation: &[], version: None }.encode(&mut negotiate);
        let negotiate = negotiate.into_bytes();
        let trailer = Trailer { service: auth_service::NTLM, level, padding: 0, context: 7 };
        let first = bind(kind::BIND, Syntax::WITNESS, Some((trailer, &negotiate)));
        let ack = client.receive(first).await.unwrap().remove(0);
        let header = Header::decode(&mut Reader::new(&ack)).unwrap();
        assert_eq!((header.kind, header.flags), (kind::BIND_ACK, flags::WHOLE | flags::SUPPORT_HEADER_SIGN));
        let protected = AuthVerifier::decode(&header, &ack).unwrap().unwrap();
        assert_eq!(protected.trailer, trailer);
        let who = Credentials::new(user, password);
        let (last, key) = authenticate(&who, &negotiate, protected.token).unwrap();
        let header = Header { auth_length: last.len() as u16, ..Header::new(kind::AUTH3, 1) };
        let auth3 = header.message(|w| {
            w.zeros(4);
            trailer.encode(w);
            w.put(&last);
        });
        assert_eq!(client.receive(auth3).await, Ok(Vec::new()));
        client.protection = Some(NtlmProtection::of_client(&key));
        client.level = level;
        client
    }

    fn request(&mut self, operation: u16, stub: &[u8]) -> Vec<u8> {
        let request =
            Request { allocation_hint: stub.len() as u32, context: 0, operation, object: None, stub };
        let header = Header::new(kind::REQUEST, 9);
        let Some(protection) = &mut self.protection else { return header.message(|w| request.encode(w)) };
        let padding = stub.len().next_multiple_of(16) - stub.len();
        let trailer =
            Trailer { service: auth_service::NTLM, level: self.level, padding: padding as u8, context: 7 };
        let mut message = Header { auth_length: SIGNATURE as u16, ..header }.message(|w| {
            request.encode(w);
            w.zeros(padding);
            trailer.encode(w);
            w.zeros(SIGNATURE);
        });
        let end = message.len() - SIGNATURE;
        let sealed = (self.level == auth_level::PRIVACY).then_some(24..end - Trailer::LEN);
        let signature = protection.protect(&mut message[..end], sealed);
        message[end..].copy_from_slice(&signature);
        message
    }

    async fn call(&mut self, operation: u16, stub: &[u8]) -> Result {
        let request = self.request(operation, stub);
        let (Ok(answers) | Err(answers)) = self.receive(request).await;
        self.results(answers)
    }

    /// The results in all fragments of an answer.
    fn results(&mut self, answers: Vec<Vec<u8>>) -> Result {
        assert!(!answers.is_empty(), "there is no answer");
        let mut all = Vec::new();
        for mut message in answers {
            let header = Header::decode(&mut Reader::new(&message)).unwrap();
            assert_eq!((header.call, usize::from(header.length)), (9, message.len()));
            assert!(message.len() <= 5_840);
            if header.kind == kind::FAULT {
                return Err(Fault(u32::from_le_bytes(message[24..28].try_into().unwrap())));
            }
            assert_eq!(header.kind, kind::RESPONSE);
            let mut end = message.len();
            if let Some(protection) = &mut self.protection {
                let AuthVerifier { at, trailer, token } =
                    AuthVerifier::decode(&header, &message).unwrap().unwrap();
                let token = token.to_vec();
                let sealed = (self.level == auth_level::PRIVACY).then_some(24..at);
                assert!(protection.open(&mut message[..at + Trailer::LEN], sealed, &token));
                end = at - usize::from(trailer.padding);
            }
            all.extend_from_slice(&message[24..end]);
        }
        Ok(all)
    }

    async fn register(&mut self, address: &str) -> [u8; 20] {
        let answer = self.call(4, &registration(address, None, 0)).await.unwrap();
        assert_eq!((answer.len(), &answer[20..]), (24, &[0; 4][..]));
        answer[..20].try_into().unwrap()
    }

    /// Waits for notices: an answer, or none yet.
    async fn notify(&mut self, handle: &[u8; 20]) -> Option<Vec<u8>> {
        let request = self.request(3, handle);
        let answers = self.receive(request).await.unwrap();
        (!answers.is_empty()).then(|| self.results(answers).unwrap())
    }

    /// What has come meanwhile.
    fn later(&mut self, after: Duration) -> Option<Vec<u8>> {
        self.now += after;
        let answers = self.association.notices(self.now);
        (!answers.is_empty()).then(|| self.results(answers).unwrap())
    }
}

fn bind(kind: u8, interface: Syntax, token: Option<(Trailer, &[u8])>) -> Vec<u8> {
    let context = PresentationContext { id: 0, interface, transfers: vec![Syntax::NDR] };
    let bind = Bind { max_transmit: 5_840, max_receive: 5_840, group: 0, contexts: vec![context] };
    let auth_length = token.map_or(0, |(_, token)| token.len() as u16);
    let flags = flags::WHOLE | flags::SUPPORT_HEADER_SIGN;
    Header { flags, auth_length, ..Header::new(kind, 1) }.message(|w| {
        bind.encode(w);
        if let Some((trailer, token)) = token {
            trailer.encode(w);
            w.put(token);
        }
    })
}

/// The arguments of WitnessrRegisterEx.
fn registration(address: &str, share: Option<&str>, flags: u32) -> Vec<u8> {
    let mut e = Encoder::new();
    e.u32(0x0002_0000);
    for text in [Some("files"), share, Some(address), Some("CLIENT")] {
        e.optional_string(text);
        e.flush();
    }
    e.u32(flags);
    e.u32(120);
    e.into_stub()
}

/// The kind of a notice, and its messages; or the error.
fn notice(answer: &[u8]) -> std::result::Result<(u32, Vec<u8>), u32> {
    let mut d = Decoder::new(answer);
    if !d.pointer().unwrap() {
        return Err(d.u32().unwrap());
    }
    let kind = d.u32().unwrap();
    Ok((kind, answer[24..answer.len() - 4].to_vec()))
}

/// The states in a RESOURCE_CHANGE of an address with nine characters.
fn states(answer: &[u8]) -> Vec<u8> {
    let (kind, messages) = notice(answer).unwrap();
    assert_eq!(kind, 1);
    messages.chunks_exact(28).map(|change| change[4]).collect()
}

#[tokio::test]
async fn the_mapper_says_without_a_login_at_which_port_the_witness_is() {
    let mut client = Client::bound(&rpc(), Interface::Mapper).await;
    let mut tower = vec![5, 0];
    for syntax in [Syntax::WITNESS, Syntax::NDR] {
        tower.extend([19, 0, 0x0d]);
        tower.extend(syntax.uuid.0);
        tower.extend(syntax.major.to_le_bytes());
        tower.extend([2, 0, 0, 0]);
    }
    tower.extend([1, 0, 0x0b, 2, 0, 0, 0, 1, 0, 0x07, 2, 0, 0, 0, 1, 0, 0x09, 4, 0, 0, 0, 0, 0]);
    let mut e = Encoder::new();
    e.null();
    e.pointer();
    e.count(tower.len());
    e.count(tower.len());
    e.put(&tower);
    e.handle(&[0; 20]);
    e.u32(4);
    let answer = client.call(3, &e.into_stub()).await.unwrap();
    assert_eq!(answer[..24], [&[0; 20][..], &[1, 0, 0, 0]].concat());
    let found = &answer[48..123];
    assert_eq!(found[64..66], 49_153u16.to_be_bytes());
    assert_eq!(client.call(0, &[]).await, Err(Fault(5)), "nothing may be added");
    assert_eq!(client.call(99, &[]).await, Err(Fault(0x1c01_0002))); // nca_s_op_rng_error
}

#[tokio::test]
async fn a_lookup_goes_on_where_its_handle_has_ended() {
    let mut client = Client::bound(&rpc(), Interface::Mapper).await;
    let lookup = |handle: &[u8], max: u32| {
        let mut e = Encoder::new();
        e.u32(0);
        e.null();
        e.null();
        e.u32(1);
        e.put(handle);
        e.u32(max);
        e.into_stub()
    };
    let first = client.call(2, &lookup(&[0; 20], 1)).await.unwrap();
    assert_eq!(first[20], 1);
    assert_ne!(first[..20], [0; 20]);
    let second = client.call(2, &lookup(&first[..20], 1)).await.unwrap();
    assert_eq!(second[20], 1);
    assert_ne!(first[56..72], second[56..72]);
    let last = client.call(2, &lookup(&second[..20], 1)).await.unwrap();
    assert_eq!(last[..24], [0; 24]);
    assert_eq!(last[last.len() - 4..], 0x16c9_a0d6u32.to_le_bytes()); // ept_s_not_registered
    let all = client.call(2, &lookup(&[0; 20], 100)).await.unwrap();
    assert_eq!((all[20], &all[all.len() - 4..]), (2, &[0; 4][..]));
    assert_eq!(client.call(2, &lookup(&[7; 20], 1)).await, Err(Fault(0x1c00_001a))); // context mismatch
    assert_eq!(client.call(4, &first[..20]).await.unwrap(), [0; 24]);
}

#[tokio::test]
async fn the_witness_wants_a_login_and_signatures() {
    let rpc = rpc();
    let mut unknown = Client::bound(&rpc, Interface::Witness).await;
    assert_eq!(unknown.call(0, &[]).await, Err(Fault(5)));
    let mut unsigned = Client::logged_in(&rpc, ADA, auth_level::CONNECT).await;
    unsigned.protection = None;
    assert_eq!(unsigned.call(0, &[]).await, Err(Fault(5)));
    let mut wrong = Client::logged_in(&rpc, ("ada", "wrong"), auth_level::INTEGRITY).await;
    assert_eq!(wrong.call(0, &[]).await, Err(Fault(5)));
    let mut changed = Client::logged_in(&rpc, ADA, auth_level::INTEGRITY).await;
    let mut request = changed.request(0, &[0; 4]);
    request[24] = 1;
    let answers = changed.receive(request).await.unwrap_err();
    assert_eq!(changed.results(answers), Err(Fault(0x721))); // RPC_S_SEC_PKG_ERROR
}

#[tokio::test]
async fn clients_of_one_server_are_told_by_the_other_one() {
    for level in [auth_level::INTEGRITY, auth_level::PRIVACY] {
        let rpc = rpc();
        let mut client = Client::logged_in(&rpc, ADA, level).await;
        let list = client.call(0, &[]).await.unwrap();
        assert_eq!((list.len(), list[4]), (16 + 2 * 552 + 4, 2));
        // The flags: an address of IPv4; gate1 is a witness for the clients of gate2, which was asked.
        assert_eq!((list[16 + 548], list[16 + 552 + 548]), (1 + 4, 1));
        let handle = client.register("192.0.2.1").await;
        assert_eq!((rpc.registered(), client.notify(&handle).await), (1, None));
        rpc.adopt(vec![node("gate2", 2, "192.0.2.2")]);
        let told = client.later(Duration::ZERO).unwrap();
        assert_eq!(states(&told), [0xff]);
        assert_eq!(client.notify(&handle).await, None);
        // The server is back, with another number.
        rpc.adopt(vec![node("gate1", 3, "192.0.2.1"), node("gate2", 2, "192.0.2.2")]);
        assert_eq!(states(&client.later(Duration::from_secs(1)).unwrap()), [1]);
        // The registration ends, so that the client makes another one with its next server.
        assert_eq!(client.notify(&handle).await, None);
        assert_eq!(notice(&client.later(Duration::from_secs(5)).unwrap()), Err(1168)); // ERROR_NOT_FOUND
        assert_eq!(rpc.registered(), 0);
    }
}

#[tokio::test]
async fn an_address_that_another_server_has_taken_was_away() {
    let rpc = rpc();
    let mut client = Client::logged_in(&rpc, ADA, auth_level::PRIVACY).await;
    let handle = client.register("192.0.2.1").await;
    let mut taker = node("gate2", 2, "192.0.2.2");
    taker.addresses.push("192.0.2.1".parse().unwrap());
    rpc.adopt(vec![taker]);
    assert_eq!(states(&client.notify(&handle).await.unwrap()), [0xff, 1]);
    // From a living server it moves only if no client uses it.
    let mut moves = node("gate1", 4, "192.0.2.3");
    moves.addresses.push("192.0.2.1".parse().unwrap());
    rpc.adopt(vec![moves, node("gate2", 2, "192.0.2.2")]);
    assert_eq!(client.notify(&handle).await, None);
}

#[tokio::test]
async fn clients_of_a_server_that_is_drained_are_told_where_to_go() {
    let rpc = rpc();
    let mut client = Client::logged_in(&rpc, ADA, auth_level::INTEGRITY).await;
    let handle = client.register("192.0.2.1").await;
    assert_eq!(client.notify(&handle).await, None);
    let leaving = ClusterNode { is_leaving: true, ..node("gate1", 1, "192.0.2.1") };
    // gate2 takes over its durable opens: it is the next one by number.
    let stay = [node("gate3", 3, "192.0.2.3"), node("gate2", 2, "192.0.2.2"), node("gate4", 4, "192.0.2.4")];
    rpc.adopt([vec![leaving.clone()], stay.to_vec()].concat());
    let (kind, to) = notice(&client.later(Duration::ZERO).unwrap()).unwrap();
    assert_eq!((kind, &to[8..20]), (2, &[1, 0, 0, 0, 9, 0, 0, 0, 192, 0, 2, 2][..])); // online, IPv4
    rpc.adopt(vec![leaving, node("gate2", 2, "192.0.2.2")]);
    assert_eq!(client.notify(&handle).await, None, "it is told once");
    let list = client.call(0, &[]).await.unwrap();
    assert_eq!((list[16 + 524], list[16 + 548]), (0xff, 1)); // gate1: not available, no witness
}

#[tokio::test]
async fn a_client_that_asks_for_all_addresses_hears_of_them() {
    let rpc = rpc();
    let mut client = Client::logged_in(&rpc, ADA, auth_level::INTEGRITY).await;
    let answer = client.call(4, &registration("192.0.2.2", None, 1)).await.unwrap();
    let handle = answer[..20].try_into().unwrap();
    assert_eq!(client.notify(&handle).await, None);
    rpc.adopt(vec![node("gate2", 2, "192.0.2.2")]);
    let (kind, list) = notice(&client.later(Duration::ZERO).unwrap()).unwrap();
    assert_eq!((kind, &list[8..20]), (4, &[1, 0, 0, 0, 0x11, 0, 0, 0, 192, 0, 2, 1][..])); // offline, IPv4
}

#[tokio::test]
async fn a_request_for_notices_ends_with_the_time_of_its_registration() {
    let rpc = rpc();
    let mut client = Client::logged_in(&rpc, ADA, auth_level::INTEGRITY).await;
    let handle = client.register("192.0.2.1").await;
    assert_eq!(client.notify(&handle).await, None);
    let request = client.request(3, &handle);
    let second = client.receive(request).await.unwrap();
    assert_eq!(notice(&client.results(second).unwrap()), Err(1450)); // ERROR_NO_SYSTEM_RESOURCES
    assert_eq!(client.later(Duration::from_secs(119)), None);
    assert_eq!(notice(&client.later(Duration::from_secs(1)).unwrap()), Err(1460)); // ERROR_TIMEOUT
    assert_eq!(client.notify(&handle).await, None, "and can be sent again");
}

/// C706 12.6.4.2: a cancelled call is answered, an orphaned one is not.
#[tokio::test]
async fn a_client_can_stop_waiting() {
    let rpc = rpc();
    let mut client = Client::logged_in(&rpc, ADA, auth_level::INTEGRITY).await;
    let handle = client.register("192.0.2.1").await;
    for (kind, answers) in [(kind::CO_CANCEL, 1), (kind::ORPHANED, 0)] {
        assert_eq!(client.notify(&handle).await, None);
        let answer = client.receive(Header::new(kind, 9).message(|_| ())).await.unwrap();
        assert_eq!(answer.len(), answers);
        assert!(answer.iter().all(|fault| fault[24..28] == 0x1c00_000du32.to_le_bytes()));
        assert!(answer.iter().all(|fault| fault[3] == 0x03), "no PFC_DID_NOT_EXECUTE: it has begun");
    }
    assert_eq!(client.notify(&handle).await, None, "and can wait again");
}

#[tokio::test]
async fn registrations_are_checked_and_end_with_their_client() {
    let rpc = rpc();
    let mut client = Client::logged_in(&rpc, ADA, auth_level::INTEGRITY).await;
    let error = |answer: Vec<u8>| u32::from_le_bytes(answer[20..24].try_into().unwrap());
    for (address, share, expected) in [
        ("192.0.2.9", None, 5023), // ERROR_INVALID_STATE: it is no server's
        ("gate1", None, 5023),
        ("", None, 87), // ERROR_INVALID_PARAMETER
        ("192.0.2.1", Some("other"), 5023),
        ("192.0.2.1", Some("share"), 0),
    ] {
        let answer = client.call(4, &registration(address, share, 0)).await.unwrap();
        assert_eq!(error(answer), expected, "{address} {share:?}");
    }
    let mut version_1 = registration("192.0.2.1", None, 0);
    version_1[..4].copy_from_slice(&0x0001_0001u32.to_le_bytes());
    assert_eq!(error(client.call(4, &version_1).await.unwrap()), 1306); // ERROR_REVISION_MISMATCH
    let handle = client.register("192.0.2.1").await;
    let mut other = Client::logged_in(&rpc, ("bob", "hidden"), auth_level::INTEGRITY).await;
    assert_eq!(other.call(2, &handle).await.unwrap(), [87, 0, 0, 0], "the handle of another user");
    assert_eq!(client.call(2, &handle).await.unwrap(), [0; 4]);
    assert_eq!(client.call(2, &handle).await.unwrap(), [87, 0, 0, 0]);
    assert_eq!(rpc.registered(), 1);
    drop(client);
    assert_eq!(rpc.registered(), 0);
}

#[tokio::test]
async fn what_breaks_the_protocol_ends_the_connection() {
    let rpc = rpc();
    let request = Client::new(&rpc, Interface::Mapper).request(3, &[]);
    let unbound = Client::new(&rpc, Interface::Mapper).receive(request).await;
    assert_eq!(unbound.unwrap_err()[0][24..28], 0x1c01_000bu32.to_le_bytes()); // nca_s_proto_error
    let mut client = Client::bound(&rpc, Interface::Mapper).await;
    assert_eq!(
        client.receive(bind(kind::BIND, Syntax::EPMAPPER, None)).await,
        Err(Vec::new()),
        "a second bind"
    );
    let trailer = Trailer { service: 68, level: 6, padding: 0, context: 0 }; // Netlogon
    let other = bind(kind::BIND, Syntax::WITNESS, Some((trailer, b"token")));
    let refused = Client::new(&rpc, Interface::Witness).receive(other).await.unwrap_err();
    assert_eq!((refused[0][2], refused[0][16]), (kind::BIND_NAK, 8));
    let mut all = Client::bound(&rpc, Interface::Witness).await;
    let ack = all.receive(bind(kind::ALTER_CONTEXT, Syntax::EPMAPPER, None)).await.unwrap();
    assert_eq!(ack[0][2], kind::ALTER_CONTEXT_RESP);
    assert_eq!(ack[0][ack[0].len() - 24], 2, "the mapper is at its own port");
}

#[test]
fn an_idle_connection_ends_and_one_that_waits_does_not() {
    let rpc = rpc();
    let client = Client::new(&rpc, Interface::Mapper);
    assert!(!client.association.is_idle(client.now + Duration::from_secs(59)));
    assert!(client.association.is_idle(client.now + Duration::from_secs(60)));
}

/// A realm whose tickets are good, and whose checksums are the length of a message.
struct Realm;

struct Checksums;

impl SecurityContext for Checksums {
    fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        Some(vec![message.len() as u8; 28])
    }

    fn verifies(&self, message: &[u8], checksum: &[u8]) -> bool {
        checksum == [message.len() as u8; 28]
    }

    fn seal(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn open(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

impl Kerberos for Realm {
    fn accept(&self, _: Vec<u8>) -> Accepting {
        panic!("a login of one token")
    }

    fn begin(&self, token: Vec<u8>) -> Beginning {
        assert_eq!(token, b"first");
        let (reply, state) = (b"second".to_vec(), Box::new(7u8));
        Box::pin(std::future::ready(Ok(LoginProgress::Half { reply, state })))
    }

    fn finish(&self, begun: Box<dyn Any + Send>, token: Vec<u8>) -> Accepting {
        assert_eq!((begun.downcast_ref::<u8>(), &token[..]), (Some(&7), &b"third"[..]));
        Box::pin(std::future::ready(Ok(Ticket {
            principal: "CLIENT$@LAB.TEST".into(),
            account: None,
            is_machine: true,
            session_key: vec![1; 16],
            reply: Vec::new(),
            expires: None,
            context: Box::new(Checksums),
        })))
    }
}

/// MS-KILE 3.4.5.1: three tokens. Checksums cover the arguments only, as the server offers no header signing.
#[tokio::test]
async fn a_machine_logs_in_with_its_ticket() {
    let service = service_with(|config| config.kerberos = Some(Arc::new(Realm)));
    let rpc = Rpc::new(service, PORTS, "gate2".into());
    rpc.adopt(vec![node("gate1", 1, "192.0.2.1"), node("gate2", 2, "192.0.2.2")]);
    let mut client = Client::new(&rpc, Interface::Witness);
    let list = MechTypes::to_der(&[MS_KERBEROS, NTLMSSP]);
    let mech_types = MechTypes::of(&list).unwrap();
    let init = NegTokenInit { mech_types, mech_token: Some(b"first"), hint: None, mech_list_mic: None };
    let trailer = Trailer { service: auth_service::NEGOTIATE, level: 5, padding: 0, context: 7 };
    let first = bind(kind::BIND, Syntax::WITNESS, Some((trailer, &init.encode())));
    let ack = client.receive(first).await.unwrap().remove(0);
    let header = Header::decode(&mut Reader::new(&ack)).unwrap();
    assert_eq!((header.kind, header.flags), (kind::BIND_ACK, flags::WHOLE));
    let token = AuthVerifier::decode(&header, &ack).unwrap().unwrap().token;
    let Ok(SpnegoToken::Resp(resp)) = SpnegoToken::decode(token) else { panic!() };
    assert_eq!(
        (resp.neg_state, resp.response_token),
        (Some(NegState::ACCEPT_INCOMPLETE), Some(&b"second"[..]))
    );
    let third = NegTokenResp { response_token: Some(b"third"), ..NegTokenResp::default() }.encode();
    let altered = bind(kind::ALTER_CONTEXT, Syntax::WITNESS, Some((trailer, &third)));
    let answer = client.receive(altered).await.unwrap().remove(0);
    let header = Header::decode(&mut Reader::new(&answer)).unwrap();
    let token = AuthVerifier::decode(&header, &answer).unwrap().unwrap().token;
    let Ok(SpnegoToken::Resp(resp)) = SpnegoToken::decode(token) else { panic!() };
    assert_eq!((header.kind, resp.neg_state), (kind::ALTER_CONTEXT_RESP, Some(NegState::ACCEPT_COMPLETED)));
    let call = |checksum: [u8; 28]| {
        let request = Request { allocation_hint: 0, context: 0, operation: 0, object: None, stub: &[0; 16] };
        Header { auth_length: 28, ..Header::new(kind::REQUEST, 9) }.message(|w| {
            request.encode(w);
            trailer.encode(w);
            w.put(&checksum);
        })
    };
    let list = client.receive(call([16; 28])).await.unwrap().remove(0);
    let header = Header::decode(&mut Reader::new(&list)).unwrap();
    let AuthVerifier { at, token, trailer } = AuthVerifier::decode(&header, &list).unwrap().unwrap();
    assert_eq!(token, [(at - 24) as u8; 28]);
    assert_eq!((at - 24 - usize::from(trailer.padding), list[28]), (16 + 2 * 552 + 4, 2));
    let refused = client.receive(call([17; 28])).await.unwrap_err();
    assert_eq!(refused[0][24..28], 0x721u32.to_le_bytes());
}
