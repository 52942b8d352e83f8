//! What listings and opens say of links.

use wire::Reader;

use super::*;
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::create_context::response::Context as ResponseContext;
use crate::wire::fscc::FileClass;
use crate::wire::fscc::directory::{self, Form, OwnedEntry};
use crate::wire::fscc::file_info::{AttributeTag, Internal, Standard};
use crate::wire::{FileKey, InfoType, query_directory, query_info};

const SYMLINK: u32 = 0xA000_000C;

async fn listed(user: &mut User, name: &str) -> OwnedEntry {
    let file = user.open("", |create| create.disposition = Disposition::OPEN).await.unwrap().file;
    let request = query_directory::Request {
        information_class: FileClass::ID_BOTH_DIRECTORY.0,
        flags: query_directory::Flags::NONE,
        file_index: 0,
        file,
        output_buffer_length: 65536,
        pattern: name.encode_utf16().collect(),
    };
    let answer = user.call(Command::QUERY_DIRECTORY, |w| request.encode(w)).await;
    assert_eq!(answer.status(), Status::SUCCESS);
    user.close(file).await;
    let data = query_directory::Response::decode(&answer.message).unwrap().data;
    directory::decode(Form::IdBoth, &data).unwrap().remove(0)
}

async fn ask<T>(user: &mut User, file: FileKey, class: FileClass, decode: fn(&mut Reader<'_>) -> T) -> T {
    let request = query_info::Request {
        info_type: InfoType::FILE,
        information_class: class.0,
        output_buffer_length: 4096,
        additional_information: 0,
        flags: query_info::Flags::NONE,
        file,
        input: &[],
    };
    let answer = user.call(Command::QUERY_INFO, |w| request.encode(w)).await;
    assert_eq!(answer.status(), Status::SUCCESS);
    let response = query_info::Response::decode(&answer.message).unwrap();
    decode(&mut Reader::new(&response.data))
}

fn looks(create: &mut create::Request<'_>) {
    create.desired_access = AccessMask::READ_ATTRIBUTES.0;
    create.disposition = Disposition::OPEN;
}

/// MS-FSCC 2.6: a reparse point, and a directory if its target is one. Dangling, looping and other links that are not
/// followed can be looked at, too.
#[tokio::test]
async fn a_link_is_listed_as_a_reparse_point_and_one_to_a_folder_as_a_directory_too() {
    let (service, mut ada) = scene().await;
    link(&service, "twice", b"folder");
    let link = FileAttributes::REPARSE_POINT;
    for (name, attributes) in [
        ("near", link),
        ("folder", link | FileAttributes::DIRECTORY),
        ("twice", link | FileAttributes::DIRECTORY),
        ("round", link),
        ("up", link),
        ("far", link),
        ("nowhere", link),
    ] {
        let entry = listed(&mut ada, name).await;
        assert_eq!((entry.facts.attributes, entry.facts.reparse_tag), (attributes, SYMLINK), "{name}");
        let itself = |create: &mut create::Request<'_>| {
            looks(create);
            create.options = Options::OPEN_REPARSE_POINT;
        };
        let opened = ada.open(name, itself).await.unwrap();
        assert_eq!(opened.info.file_attributes, attributes.0, "{name}");
        assert_eq!(opened.flags, create::Response::REPARSE_POINT);
        let tag = ask(&mut ada, opened.file, FileClass::ATTRIBUTE_TAG, AttributeTag::decode).await.unwrap();
        assert_eq!((tag.attributes, tag.reparse_tag), (attributes, SYMLINK), "{name}");
        let standard = ask(&mut ada, opened.file, FileClass::STANDARD, Standard::decode).await.unwrap();
        assert_eq!(standard.directory, attributes.contains(FileAttributes::DIRECTORY), "{name}");
    }
}

#[tokio::test]
async fn a_link_that_leads_nowhere_can_be_looked_at_by_clients_that_know_no_links() {
    let (_service, mut ada) = scene().await;
    for name in ["round", "up", "far", "nowhere"] {
        let attributes = ada.open(name, looks).await.unwrap().info.file_attributes;
        assert_eq!(attributes, FileAttributes::REPARSE_POINT.0, "{name}");
    }
    let attributes = ada.open("near", looks).await.unwrap().info.file_attributes;
    assert_eq!(attributes, FileAttributes::ARCHIVE.0, "one that leads somewhere is followed");
    let attributes = ada.open("folder", looks).await.unwrap().info.file_attributes;
    assert_eq!(attributes, FileAttributes::DIRECTORY.0);
}

/// Linux stops using the server's numbers when they differ.
#[tokio::test]
async fn listings_and_opens_agree_on_the_number_of_a_link() {
    let (_service, mut ada) = scene().await;
    for name in ["near", "folder", "round", "up", "far", "nowhere", "in"] {
        let expected = listed(&mut ada, name).await.facts.file_id;
        for options in [Options::NONE, Options::OPEN_REPARSE_POINT] {
            let with_id = |create: &mut create::Request<'_>| {
                looks(create);
                create.options = options;
                create.contexts = vec![CreateContext::DiskId.encode()];
            };
            let opened = ada.open(name, with_id).await.unwrap();
            let ResponseContext::DiskId { file, .. } = ResponseContext::decode(&opened.contexts[0]).unwrap()
            else {
                panic!("no QFid")
            };
            let internal = ask(&mut ada, opened.file, FileClass::INTERNAL, Internal::decode).await.unwrap();
            assert_eq!((file, internal.index_number), (expected, expected), "{name}");
        }
    }
}
