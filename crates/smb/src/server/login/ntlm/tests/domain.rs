//! Users of a domain, whose responses a domain controller verifies. `cargo xtask interop domain` has Samba's.

use auth::{LoggedOn, LogonRefused, MemberNames, NtlmResponse};

use super::super::super::exchange::Answer;
use super::*;

const PASSWORD: &str = "Alice-pw1!";

fn member() -> MemberNames {
    let text = str::to_owned;
    MemberNames {
        computer: text("FILER"),
        host: text("filer.lab.test"),
        short: text("LAB"),
        domain: text("lab.test"),
    }
}

/// A server in the domain LAB, which knows `alice` of it by an earlier ticket.
fn server(policy: LoginPolicy) -> Server {
    let mut server = Server::admitting(policy);
    server.names.member = Some(member());
    server.people.0.push(Account { secrets: vec![], ..account("alice", "", false) });
    server
}

/// The controller's part: MS-NLMP 3.3.2 with the names that it was sent.
fn verified(question: &NtlmResponse, account: &str) -> Result<LoggedOn, LogonRefused> {
    let units = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
    let key = keys::response_key(&auth::nt_hash(PASSWORD), &units(&question.user), &units(&question.domain));
    let (proof, temp) = question.nt.split_at(16);
    match proof == hmac_md5(&key, &[&question.challenge, temp]) {
        true => Ok(LoggedOn { account: account.into(), base_key: hmac_md5(&key, &[proof]) }),
        false => Err(LogonRefused::WrongPassword),
    }
}

/// The last message, and what the controller is asked about it.
fn asked(server: &mut Server, client: &Client) -> (Vec<u8>, Option<NtlmResponse>) {
    let challenge = server.step(&client.negotiate()).unwrap().token;
    let message = client.authenticate(&challenge);
    let question = server.exchange.question(&message, &server.judge());
    (message, question)
}

fn alice(domain: &'static str) -> Client {
    Client { domain, ..Client::new("alice", PASSWORD) }
}

/// MS-NLMP 3.2.5.1.1: the target is the domain; MsvAvNbComputerName is the member, as CVE-2019-1019 demands.
#[test]
fn the_challenge_of_a_member_names_the_domain_and_the_machine_account() {
    let step = server(LoginPolicy::default()).step(&alice("LAB").negotiate()).unwrap();
    let challenge = Challenge::decode(&step.token).unwrap();
    assert_eq!(challenge.target_name, utf16("LAB"));
    let kinds = flags::TARGET_TYPE_DOMAIN | flags::TARGET_TYPE_SERVER;
    assert_eq!(challenge.flags & kinds, flags::TARGET_TYPE_DOMAIN);
    let pairs: Vec<_> = av_pairs(challenge.target_info).map(Result::unwrap).collect();
    let [lab, filer, domain, host] = ["LAB", "FILER", "lab.test", "filer.lab.test"].map(utf16);
    assert_eq!(pairs[..4], [(2, &lab[..]), (1, &filer), (4, &domain), (3, &host)]);
}

#[test]
fn a_user_of_the_domain_logs_in_with_the_key_of_the_controller() {
    for domain in ["LAB", "lab.test", "", "WORKGROUP"] {
        let (mut server, client) = (server(LoginPolicy::default()), alice(domain));
        let (message, question) = asked(&mut server, &client);
        let question = question.unwrap();
        assert_eq!((&*question.user, &*question.domain, &*question.workstation), ("alice", domain, "LAPTOP"));
        let login = server.answered(&message, verified(&question, "alice")).unwrap().login.unwrap();
        assert!(matches!(&login.who, UserKind::Account(account) if account.name == "alice"));
        assert_eq!(login.session_key, client.exported);
    }
}

/// Whatever domain a client names: the password of an account of this server is never sent to a controller.
#[test]
fn accounts_of_this_server_with_a_password_count_first() {
    for domain in ["LAB", "WORKGROUP", ""] {
        let mut server = server(LoginPolicy::default());
        let ada = Client { domain, ..Client::new("ada", "Passwort ß") };
        let (message, question) = asked(&mut server, &ada);
        assert!(question.is_none() && server.step(&message).unwrap().login.is_some());
    }
    let mut server = server(LoginPolicy::default());
    assert!(asked(&mut server, &alice("FILER")).1.is_none(), "this computer is named");
}

#[test]
fn what_no_controller_can_verify_is_not_asked() {
    let old: fn(&mut Vec<u8>) = |message| {
        message[20] = 24;
        message[21] = 0;
    };
    let old = Client { damage: old, ..alice("LAB") };
    assert!(asked(&mut server(LoginPolicy::default()), &old).1.is_none(), "NTLMv1");
    assert!(asked(&mut server(LoginPolicy::default()), &Client::new("", "")).1.is_none(), "no name");
    let guest = LoginPolicy { guest: true, ..LoginPolicy::default() };
    assert!(asked(&mut server(guest), &Client::new("Guest", "")).1.is_none(), "a guest");
    assert!(asked(&mut Server::new(), &alice("LAB")).1.is_none(), "no domain");
}

#[test]
fn a_wrong_key_or_a_changed_message_is_refused() {
    let mut refusing = server(LoginPolicy::default());
    let (message, question) = asked(&mut refusing, &alice("LAB"));
    let wrong = LoggedOn { base_key: [9; 16], ..verified(&question.unwrap(), "alice").unwrap() };
    assert_eq!(refusing.answered(&message, Ok(wrong)).err(), Some(Status::INVALID_PARAMETER));
    let mut server = server(LoginPolicy::default());
    let (mut message, question) = asked(&mut server, &alice("LAB"));
    message[Authenticate::MIC_AT] ^= 1;
    let found = verified(&question.unwrap(), "alice");
    assert_eq!(server.answered(&message, found).err(), Some(Status::INVALID_PARAMETER));
}

#[test]
fn refusals_have_the_status_of_their_reason_and_are_kept_for_the_log() {
    let refused = |why: LogonRefused, expected| {
        let mut server = server(LoginPolicy::default());
        let (message, _) = asked(&mut server, &alice("LAB"));
        assert_eq!(server.answered(&message, Err(why.clone())).err(), Some(expected));
        assert_eq!(server.exchange.domain_refused(), Some(&why));
    };
    refused(LogonRefused::WrongPassword, Status::LOGON_FAILURE);
    refused(LogonRefused::Unknown, Status::LOGON_FAILURE);
    refused(LogonRefused::Disabled, Status::ACCOUNT_DISABLED);
    refused(LogonRefused::PasswordMustChange, Status::PASSWORD_MUST_CHANGE);
    refused(LogonRefused::LockedOut, Status::ACCOUNT_LOCKED_OUT);
    refused(LogonRefused::NoController("away".into()), Status::NO_LOGON_SERVERS);
    let mut disabled = server(LoginPolicy::default());
    let (message, question) =
        asked(&mut disabled, &Client { password: PASSWORD, ..Client::new("alice", "") });
    let found = verified(&question.unwrap(), "gone");
    assert_eq!(disabled.answered(&message, found).err(), Some(Status::ACCOUNT_DISABLED));
}

#[test]
fn users_that_the_domain_does_not_have_may_be_guests_and_others_not() {
    let open = LoginPolicy { guest: true, unknown_users: true, ..LoginPolicy::default() };
    let come = |domain, why: LogonRefused| {
        let mut server = server(open);
        let (message, _) = asked(&mut server, &Client { domain, ..Client::new("bob", "x") });
        server.answered(&message, Err(why)).map(|step| step.login.unwrap().who)
    };
    let away = || LogonRefused::NoController("away".into());
    assert_eq!(come("LAB", LogonRefused::Unknown), Ok(UserKind::Guest));
    assert_eq!(come("WORKGROUP", away()), Ok(UserKind::Guest));
    assert_eq!(come("LAB", away()), Err(Status::NO_LOGON_SERVERS));
    assert_eq!(come("WORKGROUP", LogonRefused::WrongPassword), Err(Status::LOGON_FAILURE));
}

impl Server {
    fn answered(
        &mut self,
        message: &[u8],
        logon: Result<LoggedOn, LogonRefused>,
    ) -> Result<LoginStep, Status> {
        let Self { people, names, policy, exchange } = self;
        exchange.step(message, &judge_of(people, names, *policy), Some(Answer::Domain(logon)))
    }
}
