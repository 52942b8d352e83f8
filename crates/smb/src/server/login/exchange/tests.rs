//! Logins by tickets, with a Kerberos of the test's own. `app/tests/kerberos.rs` has logins with MIT's.

use auth::kerberos::Ticket;
use auth::{Identity, Refusal};

use super::*;

/// An object identifier of a mechanism that the server does not know (NEGOEX).
const OTHER: &[u8] = &[0x2B, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 0x1E];

struct Sums;

/// What Kerberos says of a token.
fn accept(token: &[u8]) -> Result<Ticket, TicketRefusal> {
    let account = match token {
        b"a ticket of ada" => Some("ada".to_owned()),
        b"a ticket of eve" => Some("eve".to_owned()),
        b"a ticket of gone" => Some("gone".to_owned()),
        b"a ticket of another realm" => None,
        b"an early ticket" => return Err(TicketRefusal::Clock),
        _ => return Err(TicketRefusal::Other("no ticket".into())),
    };
    let principal = format!("{}@LAB.TEST", account.as_deref().unwrap_or("zoe"));
    let (session_key, reply) = (vec![5; 32], b"the reply".to_vec());
    let context = Box::new(Sums);
    Ok(Ticket { principal, account, is_machine: false, session_key, reply, expires: None, context })
}

impl SecurityContext for Sums {
    fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        Some([b"server", message].concat())
    }

    fn verifies(&self, message: &[u8], checksum: &[u8]) -> bool {
        checksum == [b"client", message].concat()
    }

    fn seal(&self, _: &[u8]) -> Option<Vec<u8>> {
        None // SMB encrypts by itself
    }

    fn open(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

struct People;

impl Accounts for People {
    fn find(&self, name: &str) -> Option<Account> {
        matches!(name, "ada" | "gone").then(|| Account {
            name: name.into(),
            identity: Identity::new(1, 1, &[]),
            disabled: name == "gone",
            secrets: Vec::new(),
        })
    }

    fn verify(&self, _: &str, _: &str) -> Result<Account, Refusal> {
        Err(Refusal::Unknown)
    }
}

fn step(exchange: &mut Exchange, message: &[u8], has_keytab: bool) -> Result<LoginStep, Status> {
    let judge = LoginJudge {
        accounts: &People,
        names: &ServerNames { netbios: "FOURFOLD".into(), dns: "fourfold.example".into(), member: None },
        policy: LoginPolicy::default(),
        has_kerberos: has_keytab,
        now: 0,
        challenge: [0; 8],
    };
    let token = exchange.token_for_kerberos(message).filter(|_| has_keytab);
    exchange.step(message, &judge, token.map(|token| Answer::Ticket(accept(&token))))
}

fn init(mechanisms: &[&[u8]], token: Option<&[u8]>) -> Vec<u8> {
    let der = MechTypes::to_der(mechanisms);
    let mech_types = MechTypes::of(&der).unwrap();
    NegTokenInit { mech_types, mech_token: token, hint: None, mech_list_mic: None }.encode()
}

fn resp(token: &[u8]) -> NegTokenResp<'_> {
    let Ok(SpnegoToken::Resp(resp)) = SpnegoToken::decode(token) else { panic!("{token:x?}") };
    resp
}

#[test]
fn a_ticket_of_the_preferred_mechanism_logs_in_at_once() {
    for oid in [KERBEROS, MS_KERBEROS] {
        let mut exchange = Exchange::default();
        let first = init(&[oid, NTLMSSP], Some(b"a ticket of ada"));
        let answer = step(&mut exchange, &first, true).unwrap();
        let login = answer.login.unwrap();
        assert_eq!((&*login.user, login.session_key.len(), login.method), ("ada@LAB.TEST", 32, "Kerberos"));
        assert!(matches!(login.who, UserKind::Account(account) if account.name == "ada"));
        let sent = resp(&answer.token);
        assert_eq!(sent.neg_state, Some(NegState::ACCEPT_COMPLETED));
        assert_eq!(sent.supported_mech, Some(oid));
        assert_eq!(sent.response_token, Some(&b"the reply"[..]));
        assert!(step(&mut exchange, &first, true).is_err(), "the exchange is over");
    }
}

#[test]
fn a_mechanism_that_is_not_preferred_wants_a_proof_of_the_list() {
    let mechanisms = [OTHER, KERBEROS, NTLMSSP];
    let list = MechTypes::to_der(&mechanisms);
    for (checksum, is_right) in [([b"client", &list[..]].concat(), true), (b"wrong".to_vec(), false)] {
        let mut exchange = Exchange::default();
        let asked = step(&mut exchange, &init(&mechanisms, Some(b"of the other")), true).unwrap();
        assert_eq!(resp(&asked.token).supported_mech, Some(KERBEROS));
        assert_eq!(resp(&asked.token).neg_state, Some(NegState::REQUEST_MIC));
        let ticket = NegTokenResp { response_token: Some(b"a ticket of ada"), ..NegTokenResp::default() };
        let answer = step(&mut exchange, &ticket.encode(), true).unwrap();
        assert!(answer.login.is_none());
        assert_eq!(resp(&answer.token).mech_list_mic, Some(&*[b"server", &list[..]].concat()));
        let proof = NegTokenResp { mech_list_mic: Some(&checksum), ..NegTokenResp::default() };
        let answer = step(&mut exchange, &proof.encode(), true);
        assert_eq!(answer.is_ok_and(|answer| answer.login.is_some()), is_right);
    }
}

#[test]
fn tickets_are_refused_with_their_reasons() {
    for (ticket, status, why) in [
        (&b"a ticket of eve"[..], Status::LOGON_FAILURE, "eve@LAB.TEST: "),
        (b"a ticket of gone", Status::ACCOUNT_DISABLED, "gone@LAB.TEST: "),
        (b"a ticket of another realm", Status::LOGON_FAILURE, "kerberos-realms"),
        (b"an early ticket", Status::TIME_DIFFERENCE_AT_DC, "clocks"),
        (b"garbage", Status::LOGON_FAILURE, "no ticket"),
    ] {
        let mut exchange = Exchange::default();
        let answer = step(&mut exchange, &init(&[KERBEROS], Some(ticket)), true);
        assert_eq!(answer.err(), Some(status));
        let refused = exchange.ticket_refused().unwrap();
        let told = format!("{}: {}", refused.principal, refused.why);
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn without_a_keytab_kerberos_is_neither_offered_nor_taken() {
    assert!(!hint(false).windows(KERBEROS.len()).any(|part| part == KERBEROS));
    let offered = hint(true);
    let Ok(SpnegoToken::Init(init_token)) = SpnegoToken::decode(&offered) else { panic!() };
    assert_eq!(init_token.mech_types.iter().collect::<Vec<_>>(), [MS_KERBEROS, KERBEROS, NTLMSSP]);
    let first = init(&[KERBEROS], Some(b"a ticket of ada"));
    assert_eq!(step(&mut Exchange::default(), &first, false).err(), Some(Status::INVALID_PARAMETER));
    // A client that prefers Kerberos goes on with NTLM.
    let both = init(&[KERBEROS, NTLMSSP], Some(b"a ticket of ada"));
    let answer = step(&mut Exchange::default(), &both, false).unwrap();
    assert_eq!(resp(&answer.token).supported_mech, Some(NTLMSSP));
}
