//! A client written from MS-NLMP 3.1.5.1.2, and messages of Windows.

mod domain;

use auth::{Accounts, Identity, Refusal};

use super::super::exchange::{Exchange, LoginPolicy, LoginState, LoginStep, ServerNames};
use super::*;
use crate::testing::hex;
use crate::wire::spnego::{MechTypes, NTLMSSP, NegState, NegTokenInit, NegTokenResp, SpnegoToken};

const CHALLENGE: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
const NOW: u64 = 0x01D0_AECB_ADF5_A1A1;
/// The flags that Windows asks for.
const FLAGS: u32 = 0xE208_8297;

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

struct People(Vec<Account>);

impl Accounts for People {
    fn find(&self, name: &str) -> Option<Account> {
        self.0.iter().find(|account| account.name == name).cloned()
    }

    fn verify(&self, _: &str, _: &str) -> Result<Account, Refusal> {
        Err(Refusal::Unknown)
    }
}

fn account(name: &str, password: &str, disabled: bool) -> Account {
    Account {
        name: name.into(),
        identity: Identity::new(1, 1, &[]),
        disabled,
        secrets: vec![auth::Secret::Nt(auth::nt_hash(password))],
    }
}

struct Server {
    people: People,
    names: ServerNames,
    policy: LoginPolicy,
    exchange: Exchange,
}

impl Server {
    fn new() -> Self {
        let people = vec![
            account("ada", "Passwort ß", false),
            account("gone", "secret", true),
            account("jürgen", "secret", false),
            Account { secrets: vec![], ..account("keyless", "", false) },
        ];
        let names = ServerNames { netbios: "FOURFOLD".into(), dns: "fourfold.example".into(), member: None };
        Self { people: People(people), names, policy: LoginPolicy::default(), exchange: Exchange::default() }
    }

    fn admitting(policy: LoginPolicy) -> Self {
        Self { policy, ..Self::new() }
    }

    fn judge(&self) -> LoginJudge<'_> {
        judge_of(&self.people, &self.names, self.policy)
    }

    fn step(&mut self, message: &[u8]) -> Result<LoginStep, Status> {
        let Self { people, names, policy, exchange } = self;
        exchange.step(message, &judge_of(people, names, *policy), None)
    }
}

fn judge_of<'a>(accounts: &'a People, names: &'a ServerNames, policy: LoginPolicy) -> LoginJudge<'a> {
    LoginJudge { has_kerberos: false, accounts, names, policy, now: NOW, challenge: CHALLENGE }
}

/// A client with an optional defect.
#[derive(Clone)]
struct Client {
    user: &'static str,
    password: &'static str,
    domain: &'static str,
    flags: u32,
    /// Its own choice of a session key.
    exported: [u8; 16],
    mic: bool,
    /// Changes the finished AUTHENTICATE message.
    damage: fn(&mut Vec<u8>),
}

impl Client {
    fn new(user: &'static str, password: &'static str) -> Self {
        let exported = *b"chosen by client";
        Self { user, password, domain: "WORKGROUP", flags: FLAGS, exported, mic: true, damage: |_| {} }
    }

    fn negotiate(&self) -> Vec<u8> {
        let mut w = Writer::new();
        let negotiate = Negotiate { flags: self.flags, domain: &[], workstation: &[], version: None };
        negotiate.encode(&mut w);
        w.into_bytes()
    }

    /// A name as this client sends it: in Unicode, or in code page 850, of which it knows one letter.
    fn name(&self, text: &str) -> Vec<u8> {
        match self.flags & flags::UNICODE {
            0 => text.chars().map(|c| if c == 'ü' { 0x81 } else { u8::try_from(c).unwrap() }).collect(),
            _ => utf16(text),
        }
    }

    fn is_anonymous(&self) -> bool {
        self.user.is_empty()
    }

    fn authenticate(&self, challenge: &[u8]) -> Vec<u8> {
        let asked = Challenge::decode(challenge).unwrap();
        let mut temp = Writer::new();
        temp.put(&[1, 1, 0, 0, 0, 0, 0, 0]);
        temp.put(&NOW.to_le_bytes());
        temp.put(&[0xAA; 8]);
        temp.zeros(4);
        let mut pairs: Vec<_> = av_pairs(asked.target_info).map(Result::unwrap).collect();
        if self.mic {
            pairs.push((av::FLAGS, &[2, 0, 0, 0]));
        }
        encode_av_pairs(&mut temp, &pairs);
        temp.zeros(4);
        let domain = utf16(self.domain);
        let upper = utf16(&self.user.to_uppercase());
        let key = hmac_md5(&auth::nt_hash(self.password), &[&upper, &domain]);
        let proof = hmac_md5(&key, &[&asked.challenge, temp.as_bytes()]);
        let response = [&proof, temp.as_bytes()].concat();
        let base = if self.is_anonymous() { [0; 16] } else { hmac_md5(&key, &[&proof]) };
        let encrypted = keys::rc4k(&base, self.exported);
        let mut w = Writer::new();
        let message = Authenticate {
            lm_response: if self.is_anonymous() { &[0] } else { &[0; 24] },
            nt_response: if self.is_anonymous() { &[] } else { &response },
            domain: &self.name(self.domain),
            user: &self.name(self.user),
            workstation: &self.name("LAPTOP"),
            session_key: if self.flags & flags::KEY_EXCH == 0 { &[] } else { &encrypted },
            flags: self.flags & asked.flags,
            mic: Some([0; 16]),
        };
        message.encode(&mut w);
        let mut message = w.into_bytes();
        let session_key = if self.flags & flags::KEY_EXCH == 0 { base } else { self.exported };
        if self.mic {
            let mic = hmac_md5(&session_key, &[&self.negotiate(), challenge, &message]);
            message[Authenticate::MIC_AT..][..16].copy_from_slice(&mic);
        }
        (self.damage)(&mut message);
        message
    }

    /// A login without SPNEGO.
    fn log_in(&self, server: &mut Server) -> Result<CompletedLogin, Status> {
        let challenge = server.step(&self.negotiate())?;
        assert!(challenge.login.is_none());
        let done = server.step(&self.authenticate(&challenge.token))?;
        assert!(done.token.is_empty());
        Ok(done.login.unwrap())
    }

    fn checksum(&self, side: Side, mech_types: &[u8]) -> [u8; 16] {
        let (sign, seal) =
            (keys::signing_key(&self.exported, side), keys::sealing_key(&self.exported, side, 16));
        keys::signature(&sign, Some(&seal), mech_types)
    }
}

fn resp(message: &[u8]) -> NegTokenResp<'_> {
    match SpnegoToken::decode(message).unwrap() {
        SpnegoToken::Resp(resp) => resp,
        other => panic!("{other:?}"),
    }
}

fn init(mech_types: &[u8], mech_token: Option<&[u8]>) -> Vec<u8> {
    let mech_types = MechTypes::of(mech_types).unwrap();
    NegTokenInit { mech_types, mech_token, hint: None, mech_list_mic: None }.encode()
}

/// "The anatomy of signing and cryptographic keys" (Microsoft Open Specifications blog, 2017): the login of the 3.1.1
/// example, whose password it gives: response, MIC, session key and the checksums of both sides.
#[test]
fn a_login_of_windows_is_verified_and_answered_as_windows_does() {
    let mut server = Server::new();
    server.people.0.push(account("Administrator", "Password01!", false));
    server.people.0.push(account("administrator", "Password01!", false));
    server.exchange.mech_types = Some(hex("300C060A2B06010401823702020A"));
    server.exchange.state = LoginState::Challenged(SentChallenge {
        negotiate: hex("4E544C4D5353500001000000978208E200000000000000000000000000000000060380250000000F"),
        message: hex("4E544C4D53535000020000000C000C003800000015828AE20D1D8BA31179D0080000000000000000
            50005000440000000A0092270000000F53005500540033003100310002000C00530055005400330031003100
            01000C0053005500540033003100310004000C0053005500540033003100310003000C00530055005400330031003100
            07000800A1A1F5ADCBAED00100000000"),
        challenge: hex("0D1D8BA31179D008").try_into().unwrap(),
        flags: 0xE28A_8215,
        charset: Charset::Unicode,
    });
    let done = server.step(&hex("A18201CB308201C7A0030A0101A28201AA048201A64E544C4D53535000030000
         001800180090000000EE00EE00A80000000C000C00580000001A001A0064000000120012007E0000
         001000100096010000158288E2060380250000000FECAC77A5F385A8BF9C38C706EEEDDCD3530055
         005400330031003100610064006D0069006E006900730074007200610074006F0072004400520049
         0056004500520033003100310000000000000000000000000000000000000000000000000063078E
         B639FE03E20A231C3AE3BF23080101000000000000A1A1F5ADCBAED001BC4AD05F223CC90F000000
         0002000C0053005500540033003100310001000C0053005500540033003100310004000C00530055
         00540033003100310003000C0053005500540033003100310007000800A1A1F5ADCBAED001060004
         00020000000800300030000000000000000000000000300000B61FEFCAA857EA57BF1EDCEBF8974B
         8E0EBA5A6DFD9D07A31D11B548F8C9D0CC0A00100000000000000000000000000000000000090016
         0063006900660073002F005300550054003300310031000000000000000000000000003B9BDFF38F
         5EE8F9663F11A0F4C03A78A31204100100000063775A9A5FD97F0600000000"));
    let done = done.unwrap();
    assert_eq!(done.token, hex("A11B3019A0030A0100A3120410010000003B453CDC3524164200000000"));
    let login = done.login.unwrap();
    assert_eq!(login.session_key[..], hex("270E1BA896585EEB7AF3472D3B4C75A7"));
    assert_eq!((login.user.as_str(), login.workstation.as_str()), ("administrator", "DRIVER311"));
}

/// MS-NLMP 3.2.5.1.1; the flags are those that Windows answers the same request with (the capture above).
#[test]
fn the_challenge_has_what_the_client_asked_for_our_names_and_the_time() {
    let step = Server::new().step(&Client::new("ada", "").negotiate()).unwrap();
    let challenge = Challenge::decode(&step.token).unwrap();
    assert_eq!((challenge.flags, challenge.challenge), (0xE28A_8215, CHALLENGE));
    assert_eq!(challenge.target_name, utf16("FOURFOLD"));
    let pairs: Vec<_> = av_pairs(challenge.target_info).map(Result::unwrap).collect();
    let (netbios, dns) = (utf16("FOURFOLD"), utf16("fourfold.example"));
    assert_eq!(pairs, [(2, &netbios[..]), (1, &netbios), (4, &[]), (3, &dns), (7, &NOW.to_le_bytes())]);
}

#[test]
fn the_right_password_logs_in_whatever_the_domain_and_the_case_of_the_name() {
    for (user, domain) in [("ada", "WORKGROUP"), ("Ada", ""), ("ADA", "elsewhere.example")] {
        let client = Client { domain, ..Client::new(user, "Passwort ß") };
        let login = client.log_in(&mut Server::new()).unwrap();
        assert!(matches!(&login.who, UserKind::Account(account) if account.name == "ada"));
        assert_eq!((login.user.as_str(), login.workstation.as_str()), (user, "LAPTOP"));
        assert_eq!(login.session_key, client.exported);
    }
    let plain = Client { flags: FLAGS & !flags::KEY_EXCH, ..Client::new("ada", "Passwort ß") };
    let login = plain.log_in(&mut Server::new()).unwrap();
    assert_ne!(login.session_key, plain.exported, "without an exchange the key is that of the response");
}

#[test]
fn a_wrong_password_and_a_name_that_nobody_has_are_refused_alike() {
    for (user, password) in [("ada", "wrong"), ("nobody", "x"), ("keyless", ""), ("gone", "wrong")] {
        let refused = Client::new(user, password).log_in(&mut Server::new());
        assert_eq!(refused.unwrap_err(), Status::LOGON_FAILURE, "{user}");
    }
    let disabled = Client::new("gone", "secret").log_in(&mut Server::new());
    assert_eq!(disabled.unwrap_err(), Status::ACCOUNT_DISABLED);
}

/// The length of the NT response is the u16 at 20, its place the u32 at 24 (MS-NLMP 2.2.1.3).
#[test]
fn responses_from_before_ntlmv2_are_refused() {
    let lengths: [fn(&mut Vec<u8>); 3] = [|m| m[20] = 24, |m| m[20] = 0, |m| m[20] = 43];
    for damage in lengths {
        let cut: fn(&mut Vec<u8>) = |message| message[21] = 0;
        let mut client = Client { mic: false, damage: cut, ..Client::new("ada", "Passwort ß") };
        client.damage = damage;
        let mut server = Server::new();
        let challenge = server.step(&client.negotiate()).unwrap().token;
        let mut message = client.authenticate(&challenge);
        message[21] = 0;
        assert_eq!(server.step(&message).err(), Some(Status::LOGON_FAILURE));
    }
}

/// MS-NLMP 2.2.2.5, 3.2.5.1.1 and 3.3.2: names are OEM in both messages, AV pairs and what is hashed stay Unicode.
#[test]
fn a_client_without_unicode_logs_in_with_names_in_oem() {
    for (user, name) in [("ada", "ada"), ("Jürgen", "jürgen")] {
        let password = if name == "ada" { "Passwort ß" } else { "secret" };
        let client = Client { flags: FLAGS & !flags::UNICODE, ..Client::new(user, password) };
        let mut server = Server::new();
        let token = server.step(&client.negotiate()).unwrap().token;
        let challenge = Challenge::decode(&token).unwrap();
        assert_eq!(challenge.flags & (flags::UNICODE | flags::OEM), flags::OEM);
        assert_eq!(challenge.target_name, b"FOURFOLD");
        let pairs: Vec<_> = av_pairs(challenge.target_info).map(Result::unwrap).collect();
        assert_eq!(pairs[1], (av::NB_COMPUTER_NAME, &utf16("FOURFOLD")[..]));
        let message = client.authenticate(&token);
        assert_eq!(server.exchange.claimed(&message).map(|claim| claim.user).as_deref(), Some(user));
        let login = server.step(&message).unwrap().login.unwrap();
        assert!(matches!(&login.who, UserKind::Account(account) if account.name == name));
        assert_eq!((login.user.as_str(), login.workstation.as_str()), (user, "LAPTOP"));
        assert_eq!(login.session_key, client.exported);
        let wrong = Client { password: "wrong", ..client };
        assert_eq!(wrong.log_in(&mut Server::new()).unwrap_err(), Status::LOGON_FAILURE);
    }
}

#[test]
fn a_client_without_any_character_set_is_refused() {
    let neither = Client { flags: FLAGS & !(flags::UNICODE | flags::OEM), ..Client::new("ada", "") };
    assert_eq!(Server::new().step(&neither.negotiate()).err(), Some(Status::INVALID_PARAMETER));
}

#[test]
fn a_message_that_was_changed_on_the_way_is_refused_when_it_promises_a_mic() {
    let changed: [fn(&mut Vec<u8>); 3] =
        [|m| m[60] ^= 0x20, |m| m[Authenticate::MIC_AT] ^= 1, |m| *m.last_mut().unwrap() ^= 1];
    for damage in changed {
        let client = Client { damage, ..Client::new("ada", "Passwort ß") };
        assert_eq!(client.log_in(&mut Server::new()).unwrap_err(), Status::INVALID_PARAMETER);
    }
    let without = Client { mic: false, ..Client::new("ada", "Passwort ß") };
    assert!(without.log_in(&mut Server::new()).is_ok());
}

#[test]
fn the_policy_decides_on_logins_without_an_account() {
    let (nobody, guest, other) = (Client::new("", ""), Client::new("GUEST", ""), Client::new("bob", "pw"));
    let come = |client: &Client, anonymous, guest, unknown_users| {
        client.log_in(&mut Server::admitting(LoginPolicy { anonymous, guest, unknown_users }))
    };
    let login = come(&nobody, true, false, false).unwrap();
    assert_eq!((login.who, login.session_key), (UserKind::Anonymous, nobody.exported.to_vec()));
    assert_eq!(come(&nobody, false, true, true).unwrap_err(), Status::LOGON_FAILURE);
    assert_eq!(come(&guest, false, true, false).unwrap().who, UserKind::Guest);
    assert_eq!(come(&guest, true, false, true).unwrap_err(), Status::LOGON_FAILURE);
    assert_eq!(come(&other, true, true, false).unwrap_err(), Status::LOGON_FAILURE);
    let login = come(&other, false, true, true).unwrap();
    assert_eq!((login.who, login.session_key), (UserKind::Guest, vec![0; 16]));
    let wrong = Client::new("ada", "wrong");
    assert_eq!(come(&wrong, true, true, true).unwrap_err(), Status::LOGON_FAILURE, "an account is no guest");
}

#[test]
fn a_client_that_prefers_another_mechanism_is_asked_for_ntlm_and_must_prove_its_list() {
    use crate::wire::spnego::{KERBEROS, MS_KERBEROS};
    let client = Client::new("ada", "Passwort ß");
    let mech_types = MechTypes::to_der(&[MS_KERBEROS, KERBEROS, NTLMSSP]);
    let mic = client.checksum(Side::Client, &mech_types);
    for (mech_list_mic, expected) in [
        (Some(&mic[..]), Ok(client.checksum(Side::Server, &mech_types))),
        (Some(&[1; 16][..]), Err(Status::LOGON_FAILURE)),
        (Some(&mic[..15]), Err(Status::LOGON_FAILURE)),
        (None, Err(Status::LOGON_FAILURE)),
    ] {
        let mut server = Server::new();
        let asked = server.step(&init(&mech_types, Some(b"a ticket"))).unwrap().token;
        let wish = NegTokenResp {
            neg_state: Some(NegState::REQUEST_MIC),
            supported_mech: Some(NTLMSSP),
            ..NegTokenResp::default()
        };
        assert_eq!(resp(&asked), wish);
        let negotiate = client.negotiate();
        let negotiate = NegTokenResp { response_token: Some(&negotiate), ..NegTokenResp::default() };
        let challenge = server.step(&negotiate.encode()).unwrap().token;
        assert_eq!(resp(&challenge).neg_state, Some(NegState::ACCEPT_INCOMPLETE));
        let message = client.authenticate(resp(&challenge).response_token.unwrap());
        let last = NegTokenResp { response_token: Some(&message), mech_list_mic, ..NegTokenResp::default() };
        let done = server.step(&last.encode());
        match (done, expected) {
            (Ok(done), Ok(ours)) => {
                assert!(matches!(done.login.unwrap().who, UserKind::Account(_)));
                let done = resp(&done.token);
                assert_eq!(done.neg_state, Some(NegState::ACCEPT_COMPLETED));
                assert_eq!(done.mech_list_mic, Some(&ours[..]));
            }
            (done, expected) => assert_eq!(done.map(|_| ()).err(), expected.err()),
        }
    }
}

#[test]
fn a_client_that_prefers_ntlm_is_challenged_at_once_and_needs_no_checksum() {
    let (client, mut server) = (Client::new("ada", "Passwort ß"), Server::new());
    let mech_types = MechTypes::to_der(&[NTLMSSP]);
    let challenge = server.step(&init(&mech_types, Some(&client.negotiate()))).unwrap().token;
    assert_eq!(resp(&challenge).supported_mech, Some(NTLMSSP));
    let message = client.authenticate(resp(&challenge).response_token.unwrap());
    let last = NegTokenResp { response_token: Some(&message), ..NegTokenResp::default() };
    let done = server.step(&last.encode()).unwrap();
    // RFC 4178 4.2.2: accept-completed and nothing else.
    assert_eq!(done.token, hex("A107 3005 A003 0A0100"));
    assert!(done.login.is_some());
    assert_eq!(server.step(&last.encode()).err(), Some(Status::INVALID_PARAMETER), "it is over");
}

#[test]
fn a_client_without_ntlm_or_out_of_turn_is_refused() {
    let kerberos = MechTypes::to_der(&[crate::wire::spnego::KERBEROS]);
    let refused = |message: &[u8]| Server::new().step(message).err();
    assert_eq!(refused(&init(&kerberos, None)), Some(Status::INVALID_PARAMETER));
    assert_eq!(refused(&NegTokenResp::default().encode()), Some(Status::INVALID_PARAMETER));
    assert_eq!(refused(b""), Some(Status::INVALID_PARAMETER));
    assert_eq!(refused(b"NTLMSSP\0\x03\0\0\0"), Some(Status::INVALID_PARAMETER));
    let mut server = Server::new();
    server.step(&Client::new("ada", "").negotiate()).unwrap();
    let wrapped = NegTokenResp { response_token: Some(b"x"), ..NegTokenResp::default() };
    assert_eq!(server.step(&wrapped.encode()).err(), Some(Status::INVALID_PARAMETER));
}
