//! What the requests of one chain tell of a file, and how often the host is asked for it.

use std::sync::Arc;

use vfs::backend::faulty::Faulty;
use vfs::backend::memory::Memory;
use vfs::backend::{Backend as _, Call, NewKind, Stability};
use vfs::mac::{DosAttributes, Metadata};
use vfs::{Caller, Volume, VolumeOptions};
use wire::Reader;

use super::*;
use crate::server::testing::{open_request, service_with, write_request};
use crate::server::{Service, Share, ShareKind, ShareOptions};
use crate::wire::fscc::ea::{self, FullEa};
use crate::wire::fscc::file_info as info;
use crate::wire::fscc::{FileAttributes, FileClass};
use crate::wire::values::{InfoType, NetworkOpen, OplockLevel};
use crate::wire::{FileKey, close, create, query_info, set_info};

/// The file of the request before.
const SAME: FileKey = FileKey { persistent: u64::MAX, volatile: u64::MAX };

fn create(ada: &User, change: impl FnOnce(&mut create::Request<'static>)) -> Request {
    let mut request = open_request("notes");
    change(&mut request);
    ada.request(Command::CREATE, |w| request.encode(w))
}

fn query(class: FileClass) -> Request {
    let request = query_info::Request {
        info_type: InfoType::FILE,
        information_class: class.0,
        output_buffer_length: 4096,
        additional_information: 0,
        flags: query_info::Flags::NONE,
        file: SAME,
        input: &[],
    };
    Request::new(Command::QUERY_INFO, |w| request.encode(w)).related()
}

fn write(bytes: &[u8]) -> Request {
    Request::new(Command::WRITE, |w| write_request(SAME, 0).encode(bytes, w)).related()
}

/// CLOSE that asks for the attributes.
fn close() -> Request {
    let request = close::Request { flags: close::Flags::POSTQUERY_ATTRIB, file: SAME };
    Request::new(Command::CLOSE, |w| request.encode(w)).related()
}

fn data(answer: &Answer) -> Vec<u8> {
    assert_eq!(answer.status(), Status::SUCCESS);
    query_info::Response::decode(&answer.message).unwrap().data
}

fn size_queried(answer: &Answer) -> u64 {
    info::Standard::decode(&mut Reader::new(&data(answer))).unwrap().end_of_file
}

fn created(answer: &Answer) -> NetworkOpen {
    assert_eq!(answer.status(), Status::SUCCESS);
    create::Response::decode(&answer.message).unwrap().info
}

fn closed(answer: &Answer) -> NetworkOpen {
    assert_eq!(answer.status(), Status::SUCCESS);
    close::Response::decode(&answer.message).unwrap().info
}

/// A share whose backend counts its calls.
fn counting() -> (Arc<Service>, Arc<Faulty>) {
    counting_of(Memory::ticking())
}

fn counting_of(memory: Memory) -> (Arc<Service>, Arc<Faulty>) {
    let faulty = Arc::new(Faulty::new(memory));
    let volume = Arc::new(Volume::new(faulty.clone(), VolumeOptions::default()));
    let kind = ShareKind::Disk { volume, serial: 1, created: vfs::Time { secs: 1_500_000_000, nanos: 0 } };
    let counted =
        Share { name: "share".into(), comment: String::new(), kind, options: ShareOptions::default() };
    let service = service_with(|config| {
        config.shares.retain(|share| &share.name[..] != "share");
        config.shares.push(Arc::new(counted));
    });
    (service, faulty)
}

#[tokio::test]
async fn a_chain_asks_once_for_what_it_tells_of_a_file() {
    let (service, faulty) = counting();
    let mut ada = User::new(&service).await;
    let file = ada.make("notes", b"abc").await;
    assert_eq!(ada.close(file).await, Status::SUCCESS);
    let asked = |call| faulty.plan().calls(Some(call));
    let chain = vec![create(&ada, |_| ()), query(FileClass::ALL), close()];
    let before = [Call::ListXattrs, Call::Attributes].map(asked);
    let answers = ada.call_chain(chain).await;
    let after = [Call::ListXattrs, Call::Attributes].map(asked);
    assert_eq!(after[0] - before[0], 1);
    assert!(after[1] - before[1] <= 1, "{}", after[1] - before[1]); // those of the share's folder
    assert_eq!(created(&answers[0]).end_of_file, 3);
    assert_eq!(created(&answers[0]), closed(&answers[2]));
    data(&answers[1]);
}

#[tokio::test]
async fn after_a_change_in_a_chain_the_rest_of_it_tells_what_is_true() {
    let (service, _) = counting();
    let mut ada = User::new(&service).await;
    let chain = vec![create(&ada, |_| ()), query(FileClass::STANDARD), write(b"abc"), close()];
    let answers = ada.call_chain(chain).await;
    assert_eq!((created(&answers[0]).end_of_file, size_queried(&answers[1])), (0, 0));
    assert_eq!(closed(&answers[3]).end_of_file, 3);
    let read_only = info::Basic { attributes: FileAttributes::READONLY, ..info::Basic::default() };
    let mut bytes = wire::Writer::new();
    read_only.encode(&mut bytes);
    let bytes = bytes.into_bytes();
    let request = set_info::Request {
        info_type: InfoType::FILE,
        information_class: FileClass::BASIC.0,
        additional_information: 0,
        file: SAME,
        data: &bytes,
    };
    let set = Request::new(Command::SET_INFO, |w| request.encode(w)).related();
    let chain = vec![create(&ada, |_| ()), set, query(FileClass::BASIC), close()];
    let answers = ada.call_chain(chain).await;
    let basic = info::Basic::decode(&mut Reader::new(&data(&answers[2]))).unwrap();
    assert!(!FileAttributes(created(&answers[0]).file_attributes).contains(FileAttributes::READONLY));
    assert!(basic.attributes.contains(FileAttributes::READONLY));
    assert!(FileAttributes(closed(&answers[3]).file_attributes).contains(FileAttributes::READONLY));
}

/// Netatalk keeps dates and bits of a file in `.AppleDouble`, where a file needs no extended attribute.
#[tokio::test]
async fn a_header_of_netatalk_dates_and_hides_an_open_file() {
    let (memory, caller) = (Memory::ticking(), Caller::root());
    let root = memory.root().unwrap().object;
    root.create(&caller, b"notes", NewKind::File, 0o666).unwrap();
    let folder = root.create(&caller, b".AppleDouble", NewKind::Folder, 0o777).unwrap().object;
    let header = folder.create(&caller, b"notes", NewKind::File, 0o666).unwrap().object;
    let mut metadata = Metadata::default();
    let made = vfs::Time { secs: 1_000_000_000, nanos: 0 };
    metadata.times.created = Some(made);
    metadata.set_dos(DosAttributes::HIDDEN);
    header.write_at(&caller, 0, &metadata.to_netatalk2(b"notes", 0), Stability::File).unwrap();
    let (service, _) = counting_of(memory);
    let mut ada = User::new(&service).await;
    let answers = ada.call_chain(vec![create(&ada, |_| ()), query(FileClass::BASIC), close()]).await;
    let basic = info::Basic::decode(&mut Reader::new(&data(&answers[1]))).unwrap();
    assert_eq!(basic.creation_time, made.into());
    assert!(basic.attributes.contains(FileAttributes::HIDDEN));
    assert_eq!(created(&answers[0]).creation_time, basic.creation_time.0);
}

/// The facts of an open are told as of the time from which its client may cache them.
#[tokio::test]
async fn a_client_that_may_cache_gets_what_was_asked_for_after_that() {
    let (service, faulty) = counting();
    let mut ada = User::new(&service).await;
    let file = ada.make("notes", b"abc").await;
    assert_eq!(ada.close(file).await, Status::SUCCESS);
    let asked = || faulty.plan().calls(Some(Call::Attributes));
    let mut costs = Vec::new();
    for level in [OplockLevel::NONE, OplockLevel::BATCH] {
        let before = asked();
        let chain = vec![create(&ada, |request| request.oplock_level = level), close()];
        let answers = ada.call_chain(chain).await;
        assert_eq!((created(&answers[0]).end_of_file, closed(&answers[1]).end_of_file), (3, 3));
        costs.push(asked() - before);
    }
    assert_eq!(costs[1], costs[0] + 1);
}

/// MS-FSCC 2.4.13.
#[tokio::test]
async fn a_chain_tells_the_length_of_extended_attributes() {
    let (service, _) = counting();
    let mut ada = User::new(&service).await;
    let file = ada.make("notes", b"abc").await;
    let mut bytes = wire::Writer::new();
    ea::encode(&[FullEa { name: "Year".into(), value: "1843".into(), ..FullEa::default() }], &mut bytes);
    let request = set_info::Request {
        info_type: InfoType::FILE,
        information_class: FileClass::FULL_EA.0,
        additional_information: 0,
        file,
        data: &bytes.into_bytes(),
    };
    assert_eq!(ada.call(Command::SET_INFO, |w| request.encode(w)).await.status(), Status::SUCCESS);
    let chain = vec![create(&ada, |_| ()), query(FileClass::EA), close()];
    let answers = ada.call_chain(chain).await;
    let size = info::Ea::decode(&mut Reader::new(&data(&answers[1]))).unwrap().ea_size;
    assert_eq!(size, 4 + 5 + 4 + 4); // the list's length; flags, two lengths and NUL; name; value
}
