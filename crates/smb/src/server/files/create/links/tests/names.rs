//! What clients do to the name of a link: they remove and move it. No request here has
//! FILE_OPEN_REPARSE_POINT.

use super::*;
use crate::wire::fscc::FileClass;
use crate::wire::fscc::file_info::{Basic, Disposition as Disposal};
use crate::wire::fscc::file_name::Target;
use crate::wire::{FileKey, InfoType, set_info};

const LINKS: [&str; 6] = ["near", "folder", "round", "up", "far", "nowhere"];
/// Links that the server follows, so that clients can open them for more than their names.
const FOLLOWED: [&str; 2] = ["near", "folder"];

/// How clients open what they remove or rename: access and options.
const WAYS: [(&str, u32, Options); 5] = [
    ("smbclient, jcifs-ng: DELETE", 0x0001_0000, Options::NONE),
    ("pysmb, impacket: and READ_ATTRIBUTES", 0x0001_0080, Options::NON_DIRECTORY_FILE),
    ("Windows before it asks for links: and SYNCHRONIZE", 0x0011_0080, Options::NONE),
    ("jcifs-ng: and WRITE_ATTRIBUTES", 0x0001_0100, Options::NONE),
    ("MAXIMUM_ALLOWED", 0x0200_0000, Options::NONE),
];
/// The same with access to the data behind the link.
const GREEDY: [(&str, u32, Options); 3] = [
    ("smbj: GENERIC_ALL", 0x1000_0000, Options::NONE),
    ("DELETE and GENERIC_READ", 0x8001_0000, Options::NONE),
    ("DELETE and WRITE_DATA", 0x0001_0002, Options::NONE),
];

fn ways() -> impl Iterator<Item = (&'static str, &'static str, u32, Options)> {
    let plain =
        LINKS.iter().flat_map(|link| WAYS.map(|(way, access, options)| (*link, way, access, options)));
    let greedy =
        FOLLOWED.iter().flat_map(|link| GREEDY.map(|(way, access, options)| (*link, way, access, options)));
    plain.chain(greedy)
}

async fn set(user: &mut User, file: FileKey, class: FileClass, encode: impl FnOnce(&mut Writer)) -> Status {
    let mut w = Writer::new();
    encode(&mut w);
    let request = set_info::Request {
        info_type: InfoType::FILE,
        information_class: class.0,
        additional_information: 0,
        file,
        data: w.as_bytes(),
    };
    user.call(Command::SET_INFO, |w| request.encode(w)).await.status()
}

async fn opens(user: &mut User, name: &str, access: u32, options: Options) -> FileKey {
    let change = |create: &mut create::Request<'_>| {
        (create.desired_access, create.options) = (access, options);
        create.disposition = Disposition::OPEN;
    };
    user.open(name, change).await.unwrap().file
}

async fn renames(user: &mut User, file: FileKey, name: &str) -> Status {
    let target = Target { replace_if_exists: false, root_directory: 0, name: name.encode_utf16().collect() };
    set(user, file, FileClass::RENAME, |w| target.encode(w)).await
}

fn target_of(service: &Arc<Service>, name: &str) -> Option<Vec<u8>> {
    let volume = volume(service, "share");
    let root = volume.root().unwrap();
    let found = volume.lookup(&Caller::root(), &root.object, name.as_bytes()).ok()?;
    Some(found.object.read_link().unwrap())
}

#[tokio::test]
async fn a_link_is_removed_and_not_what_it_leads_to() {
    for (name, way, access, options) in ways() {
        for on_close in [true, false] {
            let (service, mut ada) = scene().await;
            let mut more = options;
            if on_close {
                more |= Options::DELETE_ON_CLOSE;
            }
            let file = opens(&mut ada, name, access, more).await;
            if !on_close {
                let gone = Disposal { delete_pending: true };
                let status = set(&mut ada, file, FileClass::DISPOSITION, |w| gone.encode(w)).await;
                assert_eq!(status, Status::SUCCESS, "{name}, {way}");
            }
            assert_eq!(ada.close(file).await, Status::SUCCESS);
            assert_eq!(target_of(&service, name), None, "{name}, {way}: it is still there");
            assert_eq!(reads(&mut ada, "in\\file").await, Ok(b"abc".to_vec()), "{name}, {way}");
        }
    }
}

#[tokio::test]
async fn a_link_is_renamed_and_not_what_it_leads_to() {
    for (name, way, access, options) in ways() {
        let (service, mut ada) = scene().await;
        let target = target_of(&service, name);
        let file = opens(&mut ada, name, access, options).await;
        assert_eq!(renames(&mut ada, file, "moved").await, Status::SUCCESS, "{name}, {way}");
        assert_eq!(ada.close(file).await, Status::SUCCESS);
        assert_eq!(
            (target_of(&service, name), target_of(&service, "moved")),
            (None, target),
            "{name}, {way}"
        );
        assert_eq!(reads(&mut ada, "in\\file").await, Ok(b"abc".to_vec()), "{name}, {way}");
    }
}

#[tokio::test]
async fn linux_removes_and_renames_links_without_following_them() {
    let (service, _ada) = scene().await;
    let mut linux = linux(&service).await;
    for name in LINKS {
        let file = opens(&mut linux, name, AccessMask::DELETE.0, Options::NONE).await;
        assert_eq!(renames(&mut linux, file, "moved").await, Status::SUCCESS, "{name}");
        linux.close(file).await;
        let options = Options::DELETE_ON_CLOSE | Options::OPEN_REPARSE_POINT;
        let file = opens(&mut linux, "moved", AccessMask::DELETE.0, options).await;
        linux.close(file).await;
        assert_eq!(target_of(&service, "moved"), None, "{name}");
    }
    assert_eq!(reads(&mut linux, "in\\file").await, Ok(b"abc".to_vec()));
}

#[tokio::test]
async fn a_link_to_a_folder_is_removed_as_a_folder_and_another_is_not() {
    let (service, mut ada) = scene().await;
    let options = Options::DIRECTORY_FILE | Options::DELETE_ON_CLOSE;
    let file = opens(&mut ada, "folder", AccessMask::DELETE.0, options).await;
    ada.close(file).await;
    assert_eq!(target_of(&service, "folder"), None);
    assert_eq!(reads(&mut ada, "in\\file").await, Ok(b"abc".to_vec()));
    for name in ["near", "nowhere", "far"] {
        let rmdir = |create: &mut create::Request<'_>| {
            (create.desired_access, create.options) = (AccessMask::DELETE.0, options);
            create.disposition = Disposition::OPEN;
        };
        assert_eq!(ada.open(name, rmdir).await.err(), Some(Status::NOT_A_DIRECTORY), "{name}");
    }
}

/// The client asked for data: it gets the target's data, while the link's name changes.
#[tokio::test]
async fn data_are_read_and_written_through_a_link_whose_name_moves() {
    let (service, mut ada) = scene().await;
    let file = opens(&mut ada, "near", 0x1000_0000, Options::NONE).await;
    assert_eq!(renames(&mut ada, file, "moved").await, Status::SUCCESS);
    assert_eq!(ada.write(file, 0, b"ABC").await, Status::SUCCESS);
    assert_eq!(ada.read(file, 0, 10).await, Ok(b"ABC".to_vec()));
    assert_eq!(ada.close(file).await, Status::SUCCESS);
    assert_eq!(target_of(&service, "moved"), Some(b"in/file".to_vec()));
    assert_eq!(reads(&mut ada, "in\\file").await, Ok(b"ABC".to_vec()));
}

#[tokio::test]
async fn a_file_is_moved_into_the_folder_that_a_link_leads_to_and_over_a_link() {
    let (service, mut ada) = scene().await;
    let file = ada.make("new", b"new").await;
    assert_eq!(renames(&mut ada, file, "folder\\new").await, Status::SUCCESS);
    assert_eq!(reads(&mut ada, "in\\new").await, Ok(b"new".to_vec()));
    let name = "near".encode_utf16().collect();
    let over = Target { replace_if_exists: true, root_directory: 0, name };
    assert_eq!(set(&mut ada, file, FileClass::RENAME, |w| over.encode(w)).await, Status::SUCCESS);
    assert_eq!(reads(&mut ada, "near").await, Ok(b"new".to_vec()));
    assert_eq!(
        reads(&mut ada, "in\\file").await,
        Ok(b"abc".to_vec()),
        "the link was replaced, not its target"
    );
    let out = renames(&mut ada, file, "up\\new").await;
    assert_eq!(out, Status::STOPPED_ON_SYMLINK, "out of the share");
    drop(service);
}

/// How smbprotocol removes a file: it clears "read-only" first.
#[tokio::test]
async fn a_link_whose_attributes_are_set_to_normal_before_is_removed() {
    let (service, mut ada) = scene().await;
    let access = AccessMask::DELETE.0 | AccessMask::WRITE_ATTRIBUTES.0;
    for name in LINKS {
        let file = opens(&mut ada, name, access, Options::OPEN_REPARSE_POINT).await;
        let normal = Basic { attributes: FileAttributes::NORMAL, ..Basic::default() };
        assert_eq!(
            set(&mut ada, file, FileClass::BASIC, |w| normal.encode(w)).await,
            Status::SUCCESS,
            "{name}"
        );
        let gone = Disposal { delete_pending: true };
        assert_eq!(set(&mut ada, file, FileClass::DISPOSITION, |w| gone.encode(w)).await, Status::SUCCESS);
        ada.close(file).await;
        assert_eq!(target_of(&service, name), None, "{name}");
    }
}
