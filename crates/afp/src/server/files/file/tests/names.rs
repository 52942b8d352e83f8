//! Names of entries whose normal form another client chose, and the server's own names.

use vfs::backend::NewKind;
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller};

use super::*;

const NFC: &str = "caf\u{e9}";
const NFD: &str = "cafe\u{301}";

fn stored(server: &Server) -> Vec<String> {
    let tree = server.volume("share");
    let page = tree.list(&Caller::root(), &tree.root().unwrap(), 0).unwrap();
    let mut names: Vec<String> =
        page.named().map(|entry| String::from_utf8(entry.name().to_vec()).unwrap()).collect();
    names.sort();
    names
}

/// Makes a file as a client of another protocol does.
fn make(server: &Server, name: &str) {
    let tree = server.volume("share");
    let actor = Actor::new(Caller::root(), Party::client(ClientId(1)));
    tree.create(&actor, &tree.root().unwrap(), name.as_bytes(), NewKind::File, 0o666).unwrap();
}

#[tokio::test]
async fn what_macs_send_is_stored_composed_and_finds_any_form() {
    let (server, mut ada, v) = volume();
    assert_eq!(ada.create_file(v, ROOT, NFD, false).await, 0);
    assert_eq!(stored(&server), [NFC]);
    assert_eq!(ada.rename(v, ROOT, NFD, "no\u{308}te").await, 0);
    assert_eq!(stored(&server), ["n\u{f6}te"]);
    assert_eq!(ada.delete(v, ROOT, "no\u{308}te").await, 0);
    make(&server, NFD);
    assert_eq!(ada.create_file(v, ROOT, NFD, false).await, -5017);
    assert_eq!(ada.create_file(v, ROOT, NFC, false).await, -5017);
    assert_eq!(ada.create_dir(v, ROOT, "Cafe\u{301}").await, Err(-5017));
    assert_eq!(ada.id(v, ROOT, NFD).await, ada.id(v, ROOT, NFC).await);
    assert_eq!(stored(&server), [NFD]);
    let dir = ada.create_dir(v, ROOT, "folder").await.unwrap();
    assert_eq!(ada.move_to(v, (ROOT, NFD), (dir, ""), "").await, 0);
    assert_eq!(ada.move_to(v, (dir, NFD), (ROOT, ""), "").await, 0);
    assert_eq!(stored(&server), [NFD, "folder"], "a move does not change the name");
    assert_eq!(ada.rename(v, ROOT, NFD, NFD).await, 0);
    assert_eq!(stored(&server), [NFC, "folder"], "a new name is composed");
    assert_eq!(ada.delete(v, ROOT, NFD).await, 0);
    assert_eq!(stored(&server), ["folder"]);
}

#[tokio::test]
async fn the_names_of_the_servers_own_folders_are_refused() {
    let (server, mut ada, v) = volume();
    assert_eq!(ada.create_file(v, ROOT, "file", false).await, 0);
    let dir = ada.create_dir(v, ROOT, "folder").await.unwrap();
    for name in [".fourfold-streams", ".fourfold-luns", ".Fourfold-Streams", "._.fourfold-streams"] {
        for folder in [ROOT, dir] {
            assert_eq!(ada.create_file(v, folder, name, false).await, -5000, "{name}");
            assert_eq!(ada.create_file(v, folder, name, true).await, -5000);
            assert_eq!(ada.create_dir(v, folder, name).await, Err(-5000));
            assert_eq!(ada.move_to(v, (ROOT, "file"), (folder, ""), name).await, -5000);
            let copied = ada.copy_file(at(v, ROOT, "file"), at(v, folder, ""), name).await;
            assert_eq!(copied, -5000);
            assert_eq!(ada.delete(v, folder, name).await, -5000);
            assert_eq!(ada.id(v, folder, name).await, Err(-5000));
        }
        assert_eq!(ada.rename(v, ROOT, "file", name).await, -5000);
        assert_eq!(ada.rename(v, ROOT, name, "other").await, -5000);
    }
    assert_eq!(stored(&server), ["file", "folder"]);
}
