use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;
use vfs::backend::faulty::{Call, Faulty};
use vfs::backend::memory::Memory;
use vfs::state::{LeaseId, OpenGuard, OpenId, Replicas};
use wire::Writer;

use crate::client::{Answer, Offer};
use crate::server::clients::replay::{Creations, ReplayCheck};
use crate::server::testing::{ADA, BOB, User, open_request, service_with, share, share_of};
use crate::server::{Service, Share, ShareOptions};
use crate::wire::create::{self, Action, Request, Response, ShareAccess};
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::create_context::response::Context as ResponseContext;
use crate::wire::create_context::values::{DurableFlags, Lease, LeaseFlags, LeaseV2};
use crate::wire::fscc::FileClass;
use crate::wire::fscc::file_info::EndOfFile;
use crate::wire::fsctl::Code;
use crate::wire::fsctl::ranges::ZeroData;
use crate::wire::header::{Command, Flags};
use crate::wire::oplock_break::{LeaseBreak as LeaseAcknowledgment, Notification, Request as Break};
use crate::wire::tree_connect::{self, ShareCapabilities};
use crate::wire::values::{Capabilities, FileKey, InfoType, LeaseKey, LeaseState, OplockLevel};
use crate::wire::{Dialect, Status, cancel, ioctl, set_info};

/// The number of this server.
const SERVER: u16 = 1;
const GUID: [u8; 16] = *b"a client's guid ";

/// The successor of a server, which hears of opens at once, or when the test says so.
struct Next {
    is_there: AtomicBool,
    is_silent: AtomicBool,
    opens: Mutex<Vec<OpenId>>,
    asked: Mutex<Vec<oneshot::Sender<bool>>>,
    waiting: Mutex<Vec<oneshot::Sender<Infallible>>>,
}

impl Replicas for Next {
    fn server(&self) -> u16 {
        SERVER
    }

    fn keep(&self, guard: &OpenGuard, _: Option<LeaseId>, _: [u8; 16], _: Vec<u8>, _: bool) {
        self.opens.lock().unwrap().push(guard.id());
    }

    fn forget(&self, open: OpenId) {
        self.opens.lock().unwrap().retain(|kept| *kept != open);
    }

    fn arrived(&self) -> oneshot::Receiver<Infallible> {
        let (waiter, arrived) = oneshot::channel();
        if self.is_silent.load(Ordering::Relaxed) {
            self.waiting.lock().unwrap().push(waiter);
        }
        arrived
    }

    fn kept(&self, open: OpenId) -> oneshot::Receiver<bool> {
        let (waiter, kept) = oneshot::channel();
        match self.is_silent.load(Ordering::Relaxed) {
            true => self.asked.lock().unwrap().push(waiter),
            false => {
                let has = self.is_there.load(Ordering::Relaxed) && self.opens.lock().unwrap().contains(&open);
                waiter.send(has).unwrap();
            }
        }
        kept
    }

    fn has_others(&self) -> bool {
        self.is_there.load(Ordering::Relaxed)
    }

    fn is_alive(&self, _: u16) -> bool {
        true
    }
}

impl Next {
    fn hears(&self) {
        self.is_silent.store(false, Ordering::Relaxed);
        self.asked.lock().unwrap().drain(..).for_each(|waiter| _ = waiter.send(true));
        self.waiting.lock().unwrap().clear();
    }
}

/// A server of a cluster with the shares "continuous" and "share".
fn service() -> (Arc<Service>, Arc<Next>) {
    service_of(|options| share("continuous", options))
}

fn service_of(continuous: impl Fn(ShareOptions) -> Arc<Share>) -> (Arc<Service>, Arc<Next>) {
    let service = service_with(|config| {
        let options = ShareOptions { continuous: true, ..ShareOptions::default() };
        config.shares.push(continuous(options));
    });
    let next = Arc::new(Next {
        is_there: AtomicBool::new(true),
        is_silent: AtomicBool::new(false),
        opens: Mutex::default(),
        asked: Mutex::default(),
        waiting: Mutex::default(),
    });
    let _successor = service.share_with(next.clone());
    (service, next)
}

async fn user(service: &Arc<Service>) -> User {
    User::with(service, &Offer::default(), ADA, "continuous").await
}

/// A client on another machine.
async fn other(service: &Arc<Service>, dialect: Dialect) -> User {
    User::with(service, &Offer { guid: [9; 16], ..Offer::of(dialect) }, ADA, "continuous").await
}

fn asked(number: u8) -> CreateContext<'static> {
    CreateContext::DurableRequestV2 {
        timeout_ms: 0,
        flags: DurableFlags::PERSISTENT,
        create_guid: [number; 16],
    }
}

/// A CREATE for a persistent open that shares nothing.
fn alone(number: u8) -> Request<'static> {
    let share_access = ShareAccess::NONE;
    Request { share_access, contexts: vec![asked(number).encode()], ..open_request("notes") }
}

fn back(file: FileKey, number: u8, flags: DurableFlags) -> CreateContext<'static> {
    CreateContext::DurableReconnectV2 { file, create_guid: [number; 16], flags }
}

async fn open(user: &mut User, wanted: Request<'static>) -> Result<Response<'static>, Status> {
    user.open("", |request| *request = wanted).await
}

async fn reconnect(user: &mut User, asked: CreateContext<'static>) -> Result<Response<'static>, Status> {
    user.open("notes", |request| request.contexts = vec![asked.encode()]).await
}

fn answers(response: &Response<'_>) -> Vec<ResponseContext> {
    response.contexts.iter().map(|raw| ResponseContext::decode(raw).unwrap()).collect()
}

fn granted(timeout_ms: u32) -> Vec<ResponseContext> {
    vec![ResponseContext::DurableV2 { timeout_ms, flags: DurableFlags::PERSISTENT }]
}

// MS-SMB2 3.3.5.9, 3.3.5.9.10, 3.3.5.9.12, 3.3.7.1.
#[tokio::test]
async fn a_persistent_open_needs_no_cache_and_binds_others_until_its_client_is_back() {
    let (service, _next) = service();
    let mut ada = user(&service).await;
    let file = open(&mut ada, alone(1)).await.unwrap();
    assert_eq!(answers(&file), granted(60_000));
    assert_eq!(ada.write(file.file, 0, b"abc").await, Status::SUCCESS);
    drop(ada);
    assert_eq!(service.durables.len(), 1);
    let mut third = other(&service, Dialect::SMB_3_1_1).await;
    assert_eq!(third.open("notes", |_| ()).await.unwrap_err(), Status::FILE_NOT_AVAILABLE);
    assert!(third.open("others", |_| ()).await.is_ok());
    let mut old = other(&service, Dialect::SMB_2_1).await;
    assert_eq!(old.open("notes", |_| ()).await.unwrap_err(), Status::SHARING_VIOLATION);
    let mut ada = user(&service).await;
    let unflagged = reconnect(&mut ada, back(file.file, 1, DurableFlags::NONE)).await;
    assert_eq!(unflagged.unwrap_err(), Status::OBJECT_NAME_NOT_FOUND);
    let misnumbered = reconnect(&mut ada, back(file.file, 2, DurableFlags::PERSISTENT)).await;
    assert_eq!(misnumbered.unwrap_err(), Status::OBJECT_NAME_NOT_FOUND);
    let mut bob = User::with(&service, &Offer::default(), BOB, "continuous").await;
    let foreign = reconnect(&mut bob, back(file.file, 1, DurableFlags::PERSISTENT)).await;
    assert_eq!(foreign.unwrap_err(), Status::ACCESS_DENIED);
    let again = reconnect(&mut ada, back(file.file, 1, DurableFlags::PERSISTENT)).await.unwrap();
    assert_eq!(again.file.persistent, file.file.persistent);
    assert_eq!(ada.read(again.file, 0, 9).await.unwrap(), b"abc");
    assert_eq!(third.open("notes", |_| ()).await.unwrap_err(), Status::SHARING_VIOLATION);
    assert_eq!(ada.close(again.file).await, Status::SUCCESS);
    assert!(third.open("notes", |_| ()).await.is_ok());
}

// MS-SMB2 3.3.5.9.12: if the id is not known, the number of the CREATE is looked up.
#[tokio::test]
async fn a_persistent_open_is_found_by_the_number_of_its_create() {
    let (service, _next) = service();
    let mut ada = user(&service).await;
    let file = open(&mut ada, alone(1)).await.unwrap().file;
    drop(ada);
    let mut ada = user(&service).await;
    let unknown = FileKey { persistent: (u64::from(SERVER) << 48) + 999, volatile: 0 };
    let unflagged = reconnect(&mut ada, back(unknown, 1, DurableFlags::NONE)).await;
    assert_eq!(unflagged.unwrap_err(), Status::OBJECT_NAME_NOT_FOUND);
    let again = reconnect(&mut ada, back(unknown, 1, DurableFlags::PERSISTENT)).await.unwrap();
    assert_eq!(again.file.persistent, file.persistent);
}

#[tokio::test(start_paused = true)]
async fn a_persistent_open_waits_as_long_as_it_was_promised() {
    let (service, _next) = service();
    let mut ada = user(&service).await;
    let flags = DurableFlags::PERSISTENT;
    let long = CreateContext::DurableRequestV2 { timeout_ms: u32::MAX, flags, create_guid: [1; 16] };
    let wanted = Request { contexts: vec![long.encode()], ..alone(1) };
    assert_eq!(answers(&open(&mut ada, wanted).await.unwrap()), granted(300_000));
    drop(ada);
    tokio::time::sleep(std::time::Duration::from_secs(299)).await;
    assert_eq!(service.durables.len(), 1);
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert_eq!(service.durables.len(), 0);
    let mut third = other(&service, Dialect::SMB_3_1_1).await;
    assert!(third.open("notes", |_| ()).await.is_ok());
}

#[tokio::test]
async fn without_a_successor_an_open_is_durable_at_most() {
    let (service, next) = service();
    next.is_there.store(false, Ordering::Relaxed);
    let mut ada = user(&service).await;
    let first = open(&mut ada, alone(1)).await.unwrap();
    assert!(answers(&first).is_empty());
    assert!(next.opens.lock().unwrap().is_empty(), "no server is to take it over");
    assert_eq!(ada.close(first.file).await, Status::SUCCESS);
    let batch = open(&mut ada, Request { oplock_level: OplockLevel::BATCH, ..alone(2) }).await.unwrap();
    let durable = ResponseContext::DurableV2 { timeout_ms: 60_000, flags: DurableFlags::NONE };
    assert_eq!(answers(&batch), [durable]);
    drop(ada);
    let mut third = other(&service, Dialect::SMB_3_1_1).await;
    assert!(third.open("notes", |_| ()).await.is_ok(), "a durable one yields");
}

// MS-SMB2 3.3.5.4, 3.3.5.7, 3.3.5.9.10: the client must know it, the share must have it, and the dialect.
#[tokio::test]
async fn persistence_is_told_and_given_where_share_client_and_dialect_have_it() {
    let (service, _next) = service();
    let both = Capabilities(0x7F);
    let without = Capabilities(0x7F & !Capabilities::PERSISTENT_HANDLES.0);
    for (dialect, capabilities, share, told, given) in [
        (Dialect::SMB_3_1_1, both, "continuous", true, true),
        (Dialect::SMB_3_0, both, "continuous", true, true),
        (Dialect::SMB_3_1_1, without, "continuous", true, false),
        (Dialect::SMB_3_1_1, both, "share", false, false),
        (Dialect::SMB_2_1, both, "continuous", false, false),
    ] {
        let offer = Offer { capabilities, ..Offer::of(dialect) };
        let mut ada = User::with(&service, &offer, ADA, share).await;
        let agreed = ada.client.agreed.as_ref().unwrap().capabilities;
        let knows = dialect != Dialect::SMB_2_1 && capabilities == both;
        assert_eq!(agreed.contains(Capabilities::PERSISTENT_HANDLES), knows, "{dialect:?} {capabilities:?}");
        let path = format!("\\\\fourfold\\{share}").encode_utf16().collect();
        let tree = tree_connect::Request { flags: tree_connect::RequestFlags::NONE, path };
        let tree = ada.call(Command::TREE_CONNECT, |w| tree.encode(w)).await;
        let tree = tree_connect::Response::decode(&tree.message).unwrap();
        let says = tree.capabilities.contains(ShareCapabilities::CONTINUOUS_AVAILABILITY);
        assert_eq!(says, told, "{dialect:?} {share}");
        let file = open(&mut ada, alone(1)).await.unwrap();
        assert_eq!(!answers(&file).is_empty(), given, "{dialect:?} {capabilities:?} {share}");
        assert_eq!(ada.close(file.file).await, Status::SUCCESS);
    }
    let mut ada = User::with(&service_with(|_| ()), &Offer::default(), ADA, "share").await;
    assert!(!ada.client.agreed.take().unwrap().capabilities.contains(Capabilities::PERSISTENT_HANDLES));
}

#[tokio::test]
async fn create_and_close_are_answered_when_the_successor_knows() {
    let (service, next) = service();
    let mut ada = user(&service).await;
    next.is_silent.store(true, Ordering::Relaxed);
    let opening = ada.start(Command::CREATE, |w| alone(1).encode(w)).await;
    ada.told_to_wait(opening).await;
    next.hears();
    let answer = ada.answer(opening).await;
    let response = Response::decode(&answer.message).unwrap();
    assert_eq!(answers(&response), granted(60_000));
    next.is_silent.store(true, Ordering::Relaxed);
    let request = crate::wire::close::Request { flags: crate::wire::close::Flags::NONE, file: response.file };
    let closing = ada.start(Command::CLOSE, |w| request.encode(w)).await;
    ada.told_to_wait(closing).await;
    assert!(next.opens.lock().unwrap().is_empty(), "it is told");
    next.hears();
    assert_eq!(ada.answer(closing).await.status(), Status::SUCCESS);
}

#[tokio::test]
async fn a_create_that_is_cancelled_while_it_waits_leaves_no_open() {
    let (service, next) = service();
    let mut ada = user(&service).await;
    next.is_silent.store(true, Ordering::Relaxed);
    let opening = ada.start(Command::CREATE, |w| alone(1).encode(w)).await;
    let interim = ada.told_to_wait(opening).await;
    let mut request = ada.request(Command::CANCEL, |w| cancel::Request.encode(w));
    (request.header.message_id, request.header.credits, request.header.id) = (opening, 0, interim.header.id);
    ada.start_chain(vec![request]).await;
    assert_eq!(ada.answer(opening).await.status(), Status::CANCELLED);
    assert!(next.opens.lock().unwrap().is_empty());
    let mut third = other(&service, Dialect::SMB_3_1_1).await;
    assert!(third.open("notes", |_| ()).await.is_ok());
}

async fn repeat(user: &mut User, wanted: &Request<'_>) -> Answer {
    let mut request = user.request(Command::CREATE, |w| wanted.encode(w));
    request.header.flags |= Flags::REPLAY;
    let id = user.start_chain(vec![request]).await[0];
    user.answer(id).await
}

// MS-SMB2 3.3.5.9.10.
#[tokio::test]
async fn a_repeated_create_gives_a_persistent_open_back() {
    let (service, _next) = service();
    let mut ada = user(&service).await;
    let file = open(&mut ada, alone(1)).await.unwrap();
    assert_eq!(file.action, Action::CREATED);
    drop(ada);
    let mut ada = user(&service).await;
    assert_eq!(open(&mut ada, alone(1)).await.unwrap_err(), Status::DUPLICATE_OBJECTID);
    assert_eq!(open(&mut ada, alone(2)).await.unwrap_err(), Status::FILE_NOT_AVAILABLE);
    let answer = repeat(&mut ada, &alone(1)).await;
    assert_eq!(answer.status(), Status::SUCCESS);
    let again = Response::decode(&answer.message).unwrap();
    assert_eq!((again.action, again.file.persistent), (Action::CREATED, file.file.persistent));
    assert_eq!(answers(&again), granted(60_000));
    assert_eq!(service.durables.len(), 0);
    assert_eq!(ada.write(again.file, 0, b"abc").await, Status::SUCCESS);
}

// A server inherits an open while its client repeats the CREATE that has made it.
#[tokio::test]
async fn a_repeated_create_that_waits_finds_the_open_that_is_inherited_meanwhile() {
    let (service, _next) = service();
    let mut ada = user(&service).await;
    let files = [open(&mut ada, alone(1)).await.unwrap(), ada.open("other", |_| ()).await.unwrap()];
    let client = service.client_of(GUID);
    let session = client.sessions()[0].clone();
    let [inherited, made] = files.map(|file| session.opens.find(file.file).unwrap());
    let begin = |number: u8| match ReplayCheck::new(&client, [number; 16], true) {
        Ok(ReplayCheck::New(numbered)) => numbered,
        Ok(ReplayCheck::Again(_)) => panic!("it has an open"),
        Err(status) => panic!("{status:?}"),
    };
    // It collides with the inherited open: the client gets that.
    let waits = begin(7);
    Creations::restore(&client, [7; 16], &inherited, Action::CREATED).unwrap();
    drop(waits);
    let again = ReplayCheck::new(&client, [7; 16], true);
    assert!(matches!(again, Ok(ReplayCheck::Again(open)) if Arc::ptr_eq(&open, &inherited)));
    let other = Creations::restore(&client, [7; 16], &made, Action::CREATED);
    assert_eq!(other, Err(Status::DUPLICATE_OBJECTID), "the client has one");
    // It does not collide: the client gets the new open, and the inherited one is closed.
    let waits = begin(8);
    Creations::restore(&client, [8; 16], &inherited, Action::CREATED).unwrap();
    let closed = waits.done(&made, Action::OPENED);
    assert!(closed.is_some_and(|open| Arc::ptr_eq(&open, &inherited)));
    let again = ReplayCheck::new(&client, [8; 16], true);
    assert!(matches!(again, Ok(ReplayCheck::Again(open)) if Arc::ptr_eq(&open, &made)));
}

// As with FILE_WRITE_THROUGH, MS-FSA 2.1.5.4: of what was answered nothing is lost with the server.
#[tokio::test]
async fn what_changes_the_data_of_a_persistent_open_is_on_the_disk_when_it_is_answered() {
    let faulty = Arc::new(Faulty::new(Memory::ticking()));
    let backend = faulty.clone();
    let (service, _next) = service_of(move |options| share_of("continuous", backend.clone(), options));
    let mut ada = user(&service).await;
    let plain = ada.open("plain", |_| ()).await.unwrap().file;
    let kept = open(&mut ada, alone(1)).await.unwrap().file;
    let zero = ZeroData { file_offset: 0, beyond_final_zero: 100 };
    for (file, flushes) in [(plain, 0), (kept, 1)] {
        let flushed = || faulty.plan().calls(Some(Call::Sync));
        let before = flushed();
        let end = encoded(|w| EndOfFile { end_of_file: 4096 }.encode(w));
        let request = set_info::Request {
            info_type: InfoType::FILE,
            information_class: FileClass::END_OF_FILE.0,
            additional_information: 0,
            file,
            data: &end,
        };
        let set = ada.call(Command::SET_INFO, |w| request.encode(w)).await;
        assert_eq!((set.status(), flushed() - before), (Status::SUCCESS, flushes));
        let request = ioctl::Request {
            control_code: Code::SET_ZERO_DATA,
            file,
            input: 0..0,
            max_input_response: 0,
            max_output_response: 0,
            flags: ioctl::Request::IS_FSCTL,
        };
        let input = encoded(|w| zero.encode(w));
        let zeroed = ada.call(Command::IOCTL, |w| request.encode(&input, w)).await;
        assert_eq!((zeroed.status(), flushed() - before), (Status::SUCCESS, 2 * flushes));
    }
}

fn encoded(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut w = Writer::new();
    encode(&mut w);
    w.into_bytes()
}

// MS-SMB2 3.3.4.7: a lease of a persistent open is recalled when its client is back.
#[tokio::test]
async fn a_recall_waits_for_the_client_of_a_persistent_open() {
    let (service, _next) = service();
    let mut ada = user(&service).await;
    let v2 = Some(LeaseV2 { parent_key: LeaseKey::default(), epoch: 7 });
    let lease = Lease { key: LeaseKey([5; 16]), state: LeaseState(7), flags: LeaseFlags::NONE, v2 };
    let leased = |context: CreateContext<'static>| create::Request {
        oplock_level: OplockLevel::LEASE,
        contexts: vec![CreateContext::Lease(lease).encode(), context.encode()],
        ..open_request("notes")
    };
    let file = open(&mut ada, leased(asked(1))).await.unwrap();
    drop(ada);
    let mut old = other(&service, Dialect::SMB_2_1).await;
    let opening = old.start(Command::CREATE, |w| open_request("notes").encode(w)).await;
    old.told_to_wait(opening).await;
    assert_eq!(service.durables.len(), 1, "it is not closed");
    let mut ada = user(&service).await;
    let again = open(&mut ada, leased(back(file.file, 1, DurableFlags::PERSISTENT))).await.unwrap();
    let known = answers(&again).into_iter().find_map(|answer| match answer {
        ResponseContext::Lease(lease) => Some(lease),
        _ => None,
    });
    let known = known.unwrap();
    assert!(known.flags.contains(LeaseFlags::BREAK_IN_PROGRESS), "{known:?}");
    let Notification::Lease(told) = Notification::decode(&ada.notified().await.message).unwrap() else {
        panic!("not of a lease");
    };
    assert_eq!((told.current_state, told.new_state), (LeaseState(7), LeaseState(3)));
    assert_eq!(Some(told.new_epoch), known.v2.map(|v2| v2.epoch), "it is the same recall");
    let answer = Break::Lease(LeaseAcknowledgment { key: lease.key, state: LeaseState(3) });
    assert_eq!(ada.call(Command::OPLOCK_BREAK, |w| answer.encode(w)).await.status(), Status::SUCCESS);
    assert_eq!(old.answer(opening).await.status(), Status::SUCCESS);
}

#[tokio::test]
async fn the_client_of_a_persistent_open_is_known_as_long_as_that_waits() {
    let (service, _next) = service();
    let mut ada = user(&service).await;
    open(&mut ada, alone(1)).await.unwrap();
    let before = service.client_of(GUID).id;
    drop(ada);
    assert_eq!(service.client_of(GUID).id, before);
}
