//! Mac metadata as streams.

use super::*;

/// Opens or makes a stream, writes it and closes it.
pub(super) async fn put(user: &mut User, name: &str, content: &[u8]) {
    let file = user.open(name, |_| ()).await.unwrap().file;
    assert_eq!(user.write(file, 0, content).await, Status::SUCCESS, "{name}");
    assert_eq!(user.close(file).await, Status::SUCCESS);
}

/// The whole content of a stream.
pub(super) async fn get(user: &mut User, name: &str) -> Result<Vec<u8>, Status> {
    let there = |create: &mut create::Request<'_>| create.disposition = Disposition::OPEN;
    let file = user.open(name, there).await?.file;
    let (mut all, step) = (Vec::new(), 65536);
    loop {
        match user.read(file, all.len() as u64, step).await {
            Ok(more) if more.is_empty() => break,
            Ok(more) => {
                let done = more.len() < step as usize;
                all.extend(more);
                if done {
                    break;
                }
            }
            Err(Status::END_OF_FILE) => break,
            Err(other) => return Err(other),
        }
    }
    user.close(file).await;
    Ok(all)
}

/// The stream `AFP_AfpInfo` of a file of this type and creator, no backup time.
pub(super) fn info(of: &[u8; 8]) -> Vec<u8> {
    let mut bytes = b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0".to_vec();
    bytes.extend(of);
    bytes.resize(60, 0);
    bytes
}

async fn names(user: &mut User, name: &str) -> Vec<(String, u64)> {
    let file = user.open(name, |create| create.disposition = Disposition::OPEN).await.unwrap().file;
    let all = stream_list(user, file).await;
    user.close(file).await;
    all
}

#[tokio::test]
async fn finder_info_is_there_once_it_says_something_and_goes_with_zeros() {
    let service = service();
    let mut ada = User::new(&service).await;
    let file = ada.make("notes", b"abc").await;
    ada.close(file).await;
    assert_eq!(get(&mut ada, "notes:AFP_AfpInfo").await, Err(Status::OBJECT_NAME_NOT_FOUND));
    put(&mut ada, "notes:AFP_AfpInfo", &info(b"TEXTttxt")).await;
    assert_eq!(get(&mut ada, "notes:afp_afpinfo:$DATA").await, Ok(info(b"TEXTttxt")));
    let both = [("::$DATA".into(), 3), (":AFP_AfpInfo:$DATA".into(), 60)];
    assert_eq!(names(&mut ada, "notes").await, both);
    put(&mut ada, "notes:AFP_AfpInfo", &info(&[0; 8])).await;
    assert_eq!(names(&mut ada, "notes").await, both[..1]);
}

#[tokio::test]
async fn finder_info_is_read_from_its_beginning_and_written_as_a_whole() {
    // smbtorture's vfs.fruit "read metadata" and "writing_afpinfo", which were made with macOS's server.
    let service = service();
    let mut ada = User::new(&service).await;
    let file = ada.open("notes:AFP_AfpInfo", |_| ()).await.unwrap().file;
    assert_eq!(ada.read(file, 0, 61).await.map(|bytes| bytes.len()), Ok(60));
    assert_eq!(ada.write(file, 1, b"AFP").await, Status::INVALID_PARAMETER);
    assert_eq!(ada.write(file, 0, &[0; 60]).await, Status::INVALID_PARAMETER);
    assert_eq!(ada.write(file, 30, &info(b"TEXTttxt")).await, Status::SUCCESS);
    assert_eq!(ada.read(file, 16, 8).await, Ok(b"AFP\0\0\0\x01\0".to_vec()));
    assert_eq!(ada.read(file, 60, 1).await, Ok(b"A".to_vec()));
    assert_eq!(ada.read(file, 61, 1).await, Err(Status::END_OF_FILE));
}

#[tokio::test]
async fn the_shares_own_folder_has_finder_info() {
    let service = service();
    let mut ada = User::new(&service).await;
    put(&mut ada, ":AFP_AfpInfo", &info(b"\0\0\0\0\0\0\0\x01")).await;
    assert_eq!(get(&mut ada, ":AFP_AfpInfo").await, Ok(info(b"\0\0\0\0\0\0\0\x01")));
}

#[tokio::test]
async fn an_empty_resource_fork_is_none() {
    let service = service();
    let mut ada = mac(&service).await;
    let fork = ada.open("notes:AFP_Resource", |_| ()).await.unwrap().file;
    assert_eq!(get(&mut ada, "notes:AFP_Resource").await, Err(Status::OBJECT_NAME_NOT_FOUND));
    assert_eq!(ada.write(fork, 10, b"fork").await, Status::SUCCESS);
    assert_eq!(get(&mut ada, "notes:AFP_Resource").await, Ok(b"\0\0\0\0\0\0\0\0\0\0fork".to_vec()));
    let both = [("::$DATA".into(), 0), (":AFP_Resource:$DATA".into(), 14)];
    assert_eq!(names(&mut ada, "notes").await, both);
}

#[tokio::test]
async fn a_mac_does_not_find_an_empty_stream_but_others_do() {
    let service = service();
    let mut other = User::new(&service).await;
    let stream = other.make("notes:com.apple.x", b"").await;
    other.close(stream).await;
    assert_eq!(get(&mut other, "notes:com.apple.x").await, Ok(Vec::new()));
    let mut mac = mac(&service).await;
    assert_eq!(get(&mut mac, "notes:com.apple.x").await, Err(Status::OBJECT_NAME_NOT_FOUND));
    put(&mut mac, "notes:com.apple.x", b"more").await;
    assert_eq!(get(&mut mac, "notes:com.apple.x").await, Ok(b"more".to_vec()));
}

#[tokio::test]
async fn streams_are_found_in_any_case_and_shown_with_private_code_points() {
    let service = service();
    let mut ada = User::new(&service).await;
    put(&mut ada, "notes:com.apple.metadata\u{f022}_kMDItemUserTags", b"tags").await;
    assert_eq!(get(&mut ada, "notes:COM.apple.metadata\u{f022}_kmditemusertags").await, Ok(b"tags".to_vec()));
    let shown = ":com.apple.metadata\u{f022}_kMDItemUserTags:$DATA".into();
    assert_eq!(names(&mut ada, "notes").await, [("::$DATA".into(), 0), (shown, 4)]);
}

const TAGS: &str = "notes:com.apple.metadata\u{f022}_kMDItemUserTags";

/// A file with streams of Macs and one of others.
async fn described(user: &mut User) {
    for (name, content) in [
        ("notes", &b"abc"[..]),
        ("notes:one", b"1"),
        ("notes:AFP_Resource", b"fork"),
        (TAGS, b"tags"),
        ("notes:AFP_AfpInfo", &info(b"TEXTttxt")),
    ] {
        put(user, name, content).await;
    }
    assert_eq!(names(user, "notes").await.len(), 5);
}

async fn overwrite(user: &mut User, disposition: Disposition) {
    let file = user.open("notes", |create| create.disposition = disposition).await.unwrap().file;
    user.close(file).await;
}

#[tokio::test]
async fn a_mac_that_overwrites_a_file_takes_its_streams_away() {
    let service = service();
    let mut ada = mac(&service).await;
    described(&mut ada).await;
    overwrite(&mut ada, Disposition::OVERWRITE).await;
    assert_eq!(names(&mut ada, "notes").await, [("::$DATA".into(), 0)]);
}

#[tokio::test]
async fn overwriting_keeps_what_only_macs_know_of() {
    // MS-FSA 2.1.5.1.2.2 removes all streams. Of these, no client but a Mac can bring the Mac's again.
    let service = service();
    for disposition in [Disposition::OVERWRITE, Disposition::OVERWRITE_IF, Disposition::SUPERSEDE] {
        let mut ada = User::new(&service).await;
        described(&mut ada).await;
        overwrite(&mut ada, disposition).await;
        assert_eq!(get(&mut ada, "notes").await, Ok(Vec::new()));
        assert_eq!(get(&mut ada, "notes:one").await, Err(Status::OBJECT_NAME_NOT_FOUND));
        assert_eq!(get(&mut ada, "notes:AFP_Resource").await.as_deref(), Ok(&b"fork"[..]));
        assert_eq!(get(&mut ada, TAGS).await.as_deref(), Ok(&b"tags"[..]));
        assert_eq!(get(&mut ada, "notes:AFP_AfpInfo").await, Ok(info(b"TEXTttxt")));
    }
}

#[tokio::test]
async fn the_folders_of_services_for_macintosh_are_nobodys() {
    let service = service();
    let mut ada = User::new(&service).await;
    for name in ["notes:AFP_DeskTop", "notes:afp_idindex"] {
        assert_eq!(ada.open(name, |_| ()).await.map(|_| ()), Err(Status::ACCESS_DENIED));
    }
}

#[tokio::test]
async fn share_modes_are_each_streams_own() {
    let service = service();
    let mut ada = User::new(&service).await;
    let alone = |create: &mut create::Request<'_>| {
        create.desired_access = (AccessMask::READ_DATA | AccessMask::WRITE_DATA).0;
        create.share_access = crate::wire::create::ShareAccess::NONE;
    };
    ada.open("notes:AFP_AfpInfo", alone).await.unwrap();
    assert_eq!(ada.open("notes:AFP_AfpInfo", alone).await.map(|_| ()), Err(Status::SHARING_VIOLATION));
    assert!(ada.open("notes:AFP_Resource", alone).await.is_ok());
    assert!(ada.open("notes", alone).await.is_ok());
}
