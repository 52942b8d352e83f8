use crate::client::Offer;
use crate::server::testing::{ADA, User, open_request, service, service_with};
use crate::wire::Status;
use crate::wire::create::{Options, Response};
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::create_context::response::Context as ResponseContext;
use crate::wire::create_context::values::{Lease, LeaseFlags, LeaseV2};
use crate::wire::header::Command;
use crate::wire::oplock_break::{
    LeaseBreak as LeaseAcknowledgment, LeaseNotification, Notification, NotificationFlags,
};
use crate::wire::oplock_break::{Oplock, Request};
use crate::wire::values::{LeaseKey, LeaseState, OplockLevel};

const R: LeaseState = LeaseState::READ;
const RH: LeaseState = LeaseState(3);
const RWH: LeaseState = LeaseState(7);

fn key(of: u8) -> LeaseKey {
    LeaseKey([of; 16])
}

async fn lease(user: &mut User, name: &str, of: u8, state: LeaseState) -> Result<Response<'static>, Status> {
    let v2 = Some(LeaseV2 { parent_key: LeaseKey::default(), epoch: 7 });
    let lease = Lease { key: key(of), state, flags: LeaseFlags::NONE, v2 };
    let ask = |request: &mut crate::wire::create::Request<'_>| {
        request.oplock_level = OplockLevel::LEASE;
        request.contexts = vec![CreateContext::Lease(lease).encode()];
    };
    user.open(name, ask).await
}

fn granted(response: &Response<'_>) -> Lease {
    let answers = response.contexts.iter().map(|raw| ResponseContext::decode(raw).unwrap());
    let lease = |answer| if let ResponseContext::Lease(lease) = answer { Some(lease) } else { None };
    answers.filter_map(lease).next().unwrap()
}

async fn acknowledge(user: &mut User, request: Request) -> Status {
    user.call(Command::OPLOCK_BREAK, |w| request.encode(w)).await.status()
}

async fn told(user: &mut User) -> Notification {
    Notification::decode(&user.notified().await.message).unwrap()
}

/// A client on another machine.
async fn another(service: &std::sync::Arc<crate::server::Service>) -> User {
    User::with(service, &Offer { guid: [9; 16], ..Offer::default() }, ADA, "share").await
}

// MS-SMB2 3.3.4.6 and 3.3.5.22.1.
#[tokio::test]
async fn an_open_waits_for_the_break_of_an_oplock() {
    let service = service();
    let (mut holder, mut other) = (User::new(&service).await, another(&service).await);
    let held = holder.open("notes", |request| request.oplock_level = OplockLevel::BATCH).await.unwrap();
    assert_eq!(held.oplock_level, OplockLevel::BATCH);
    let opening = other.start(Command::CREATE, |w| open_request("notes").encode(w)).await;
    other.told_to_wait(opening).await;
    let broken = Oplock { level: OplockLevel::II, file: held.file };
    assert_eq!(told(&mut holder).await, Notification::Oplock(broken));
    assert_eq!(acknowledge(&mut holder, Request::Oplock(broken)).await, Status::SUCCESS);
    assert_eq!(other.answer(opening).await.status(), Status::SUCCESS);
    assert_ne!(acknowledge(&mut holder, Request::Oplock(broken)).await, Status::SUCCESS);
}

// MS-SMB2 3.3.4.7 and 3.3.5.22.2.
#[tokio::test]
async fn a_lease_is_broken_with_its_epoch_and_acknowledged_once_and_not_for_more() {
    let service = service();
    let (mut holder, mut other) = (User::new(&service).await, another(&service).await);
    let held = granted(&lease(&mut holder, "notes", 1, RWH).await.unwrap());
    assert_eq!((held.state, held.v2.unwrap().epoch), (RWH, 8));
    let opening = other.start(Command::CREATE, |w| open_request("notes").encode(w)).await;
    let notification = LeaseNotification {
        new_epoch: 9,
        flags: NotificationFlags::ACK_REQUIRED,
        key: key(1),
        current_state: RWH,
        new_state: RH,
    };
    assert_eq!(told(&mut holder).await, Notification::Lease(notification));
    let answer = |state| Request::Lease(LeaseAcknowledgment { key: key(1), state });
    assert_eq!(acknowledge(&mut holder, answer(RWH)).await, Status::REQUEST_NOT_ACCEPTED);
    let again = granted(&lease(&mut holder, "notes", 1, R).await.unwrap());
    assert_eq!((again.state, again.flags), (RWH, LeaseFlags::BREAK_IN_PROGRESS));
    assert_eq!(acknowledge(&mut holder, answer(RH)).await, Status::SUCCESS);
    assert_eq!(other.answer(opening).await.status(), Status::SUCCESS);
    assert_eq!(acknowledge(&mut holder, answer(RH)).await, Status::UNSUCCESSFUL);
    let nobodys = Request::Lease(LeaseAcknowledgment { key: key(2), state: RH });
    assert_eq!(acknowledge(&mut holder, nobodys).await, Status::OBJECT_NAME_NOT_FOUND);
}

// MS-SMB2 3.3.5.9.8.
#[tokio::test]
async fn a_lease_key_is_one_files() {
    let service = service();
    let mut user = User::new(&service).await;
    lease(&mut user, "notes", 1, RWH).await.unwrap();
    assert_eq!(lease(&mut user, "others", 1, RWH).await.unwrap_err(), Status::INVALID_PARAMETER);
    assert_eq!(granted(&lease(&mut user, "others", 2, RWH).await.unwrap()).state, RWH);
    let mut other = another(&service).await;
    assert_eq!(granted(&lease(&mut other, "more", 1, RWH).await.unwrap()).state, RWH);
}

#[tokio::test]
async fn what_a_client_does_with_the_key_of_its_lease_does_not_break_it() {
    let service = service();
    let mut user = User::new(&service).await;
    let first = lease(&mut user, "notes", 1, RWH).await.unwrap();
    let second = lease(&mut user, "notes", 1, RWH).await.unwrap();
    assert_eq!(user.write(second.file, 0, b"abc").await, Status::SUCCESS);
    assert_eq!(granted(&second).state, RWH);
    assert_eq!(user.close(first.file).await, Status::SUCCESS);
    assert_eq!(granted(&lease(&mut user, "notes", 1, R).await.unwrap()).state, RWH);
}

/// A folder with a lease for reading it and keeping it open.
async fn lease_folder(user: &mut User) -> Response<'static> {
    let v2 = Some(LeaseV2 { parent_key: LeaseKey::default(), epoch: 0 });
    let lease = Lease { key: key(3), state: RH, flags: LeaseFlags::NONE, v2 };
    let ask = |request: &mut crate::wire::create::Request<'_>| {
        request.options = Options::DIRECTORY_FILE;
        request.oplock_level = OplockLevel::LEASE;
        request.contexts = vec![CreateContext::Lease(lease).encode()];
    };
    user.open("folder", ask).await.unwrap()
}

#[tokio::test]
async fn a_folder_gets_a_lease_only_where_directory_leasing_was_agreed_on() {
    let usual = service();
    let mut user = User::new(&usual).await;
    assert_eq!(granted(&lease_folder(&mut user).await).state, RH);
    for (posix, is_on) in [(true, true), (false, false)] {
        let service = service_with(|config| config.directory_leases = is_on);
        let mut user = User::with(&service, &Offer { posix, ..Offer::default() }, ADA, "share").await;
        let opened = lease_folder(&mut user).await;
        assert_eq!((opened.oplock_level, opened.contexts.len()), (OplockLevel::NONE, 0), "{posix}");
        assert_eq!(granted(&lease(&mut user, "notes", 1, RWH).await.unwrap()).state, RWH);
    }
}

// Linux 6.1 lists from its cache until the break arrives, also what it has made itself.
#[tokio::test]
async fn a_client_is_told_of_its_folder_before_it_has_the_answer_to_its_own_change() {
    for _ in 0..20 {
        let mut user = User::new(&service()).await;
        lease_folder(&mut user).await;
        let made = user.start(Command::CREATE, |w| open_request("folder\\new").encode(w)).await;
        let notification = Notification::decode(&user.next().await.message).unwrap();
        assert!(
            matches!(notification, Notification::Lease(lease) if lease.key == key(3)),
            "{notification:?}"
        );
        assert_eq!(user.answer(made).await.status(), Status::SUCCESS);
    }
}
