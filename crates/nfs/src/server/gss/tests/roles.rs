//! Users that log in have their own roles in a team folder, also where all others are guests.

use auth::{Grantee, Role, RoleEntry, Roles};

use super::*;

/// Status NFS3_OK and NFS3ERR_ACCES, RFC 1813 2.6.
const OK: u32 = 0;
const ACCES: u32 = 13;

fn team(client: &Client, entries: Vec<RoleEntry>) {
    let export = client.service.export_named(SHARE.as_bytes()).unwrap();
    export.volume.set_roles(Some(Arc::new(Roles::new(entries))));
}

fn entry(role: Role, grantee: Grantee) -> RoleEntry {
    RoleEntry { role, grantee }
}

/// Whether the user 1000 makes a file by AUTH_SYS.
async fn creates_by_number(client: Client, root: &[u8]) -> u32 {
    let arguments = [opaque(root), opaque(b"by number"), vec![0; 28]].concat();
    let reply = client.user(1000).call_raw((PROGRAM, 3, CREATE), &arguments).await.unwrap();
    reply.reader().u32_be().unwrap()
}

#[tokio::test]
async fn a_ticket_gives_the_role_of_its_account_and_a_number_that_of_guests() {
    let client = client_of(Rule { squash: Squash::Unproven, ..Rule::everybody() });
    let ada = Grantee::User { name: "ada".into(), uid: Some(1000) };
    team(&client, vec![entry(Role::Editor, ada), entry(Role::Reader, Grantee::Guests)]);
    let root = root(&client).await;
    let mut session = Session::of(&client, b"ada", Protection::INTEGRITY).await;
    assert_eq!(session.creates(&root, b"file").await, OK);
    let mut machine = Session::of(&client, b"nfs/host", Protection::INTEGRITY).await;
    assert_eq!(machine.creates(&root, b"by machine").await, ACCES);
    assert_eq!(creates_by_number(client, &root).await, ACCES);
}

#[tokio::test]
async fn an_account_without_a_number_of_its_own_has_its_role_by_its_ticket() {
    let client = client_of(Rule::everybody());
    team(&client, vec![entry(Role::Editor, Grantee::User { name: "ADA".into(), uid: None })]);
    let root = root(&client).await;
    let mut session = Session::of(&client, b"ada", Protection::INTEGRITY).await;
    assert_eq!(session.creates(&root, b"file").await, OK);
    assert_eq!(creates_by_number(client, &root).await, ACCES);
}

#[tokio::test]
async fn a_rule_that_replaces_all_users_makes_tickets_guests_too() {
    let client = client_of(Rule { squash: Squash::All, anonymous: (1000, 100), ..Rule::everybody() });
    let ada = Grantee::User { name: "ada".into(), uid: None };
    team(&client, vec![entry(Role::Editor, ada), entry(Role::Reader, Grantee::Guests)]);
    let root = root(&client).await;
    let mut session = Session::of(&client, b"ada", Protection::INTEGRITY).await;
    assert_eq!(session.creates(&root, b"file").await, ACCES);
}
