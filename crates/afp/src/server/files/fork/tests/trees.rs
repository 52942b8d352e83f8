//! Forks of files in a tree that is attached to the share.

use std::num::NonZeroU64;

use vfs::backend::forest::{Forest, Offer, Tree};
use vfs::backend::memory::Memory;

use super::*;

#[tokio::test]
async fn both_forks_of_a_file_in_a_snapshot_are_read_and_not_written() {
    let then = Memory::ticking();
    let live = Server::on(Arc::new(then.clone()));
    make(&live.volume("share"), "notes", b"then").await;
    let mut ada = User::of(&live, Version::V3_4);
    let fork = ada.open_resource("notes", BOTH).await;
    assert_eq!(ada.write_at(fork, 0, b"its resources").await, Ok(13));
    drop((ada, live));

    let offer = Offer { hidden: Vec::new(), listed: Some(b"Snapshots".to_vec()) };
    let forest = Forest::new(Arc::new(Memory::ticking()), offer).unwrap();
    let tree = Tree::new(NonZeroU64::MIN, Arc::new(then)).read_only().with_own_device();
    forest.offer(b"one", Arc::new(tree), vfs::Time::default()).unwrap();
    let server = Server::on(Arc::new(forest));
    let mut ada = User::of(&server, Version::V3_4);
    let path = "Snapshots\0one\0notes";
    let fork = ada.open(path, READ).await.unwrap();
    assert_eq!(ada.read_ext(fork, 0, 4).await.1, b"then");
    let fork = ada.open_resource(path, READ).await;
    assert_eq!(ada.read_ext(fork, 0, 13).await.1, b"its resources");
    for resource in [false, true] {
        let open = OpenFork { resource, ..ada.request(path, WRITE) };
        assert_eq!(ada.open_as(open).await, Err(ResultCode::VOLUME_LOCKED), "resource: {resource}");
    }
}
