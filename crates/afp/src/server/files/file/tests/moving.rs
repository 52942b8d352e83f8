use super::*;
use vfs::backend::NewKind;
use vfs::mac::FileBits;
use vfs::names::Folding;

#[tokio::test]
async fn what_is_renamed_keeps_its_number() {
    let (_server, mut ada, v) = volume();
    ada.create_file(v, ROOT, "a", false).await;
    ada.create_file(v, ROOT, "b", false).await;
    let id = ada.id(v, ROOT, "a").await.unwrap();
    assert_eq!(ada.rename(v, ROOT, "a", "B").await, -5017);
    assert_eq!(ada.rename(v, ROOT, "a", "a").await, 0);
    assert_eq!(ada.rename(v, ROOT, "a", "A").await, 0, "another case is another name for the same file");
    assert_eq!(ada.rename(v, ROOT, "a", "c").await, 0);
    assert_eq!(ada.id(v, ROOT, "c").await, Ok(id));
    assert_eq!(ada.id(v, ROOT, "a").await, Err(-5018));
    assert_eq!(ada.rename(v, ROOT, "a", "d").await, -5018);
    assert_eq!(ada.rename(v, ROOT, "", "volume").await, -5028);
    assert_eq!(ada.rename(v, ROOT, "c", "").await, -5019);
    assert_eq!(ada.rename(v, ROOT, "c", "x\0y").await, -5019);
}

#[tokio::test]
async fn a_new_case_is_what_the_name_is_from_then_on() {
    let (server, mut ada, v) = volume();
    ada.create_file(v, ROOT, "readme", false).await;
    ada.rename(v, ROOT, "readme", "ReadMe").await;
    let tree = server.volume("share");
    let root = tree.root().unwrap();
    assert!(tree.lookup(&vfs::Caller::root(), &root.object, b"ReadMe").is_ok());
    assert!(tree.lookup(&vfs::Caller::root(), &root.object, b"readme").is_err());
}

#[tokio::test]
async fn what_is_moved_keeps_its_number_and_its_name_unless_it_gets_another() {
    let (_server, mut ada, v) = volume();
    let (one, two) =
        (ada.create_dir(v, ROOT, "one").await.unwrap(), ada.create_dir(v, ROOT, "two").await.unwrap());
    ada.create_file(v, one, "a", false).await;
    let id = ada.id(v, one, "a").await.unwrap();
    assert_eq!(ada.move_to(v, (one, "a"), (two, ""), "").await, 0);
    assert_eq!(ada.id(v, two, "a").await, Ok(id));
    assert_eq!(ada.move_to(v, (two, "a"), (ROOT, "one"), "b").await, 0);
    assert_eq!(ada.id(v, one, "b").await, Ok(id));
    // A folder with its contents.
    assert_eq!(ada.move_to(v, (one, ""), (two, ""), "").await, 0);
    assert_eq!(ada.id(v, two, "one").await, Ok(one));
    assert_eq!(ada.get(at(v, one, ""), 0, 2).await.unwrap().1, two.to_be_bytes());
    assert_eq!(ada.id(v, two, "one\0b").await, Ok(id));
}

#[tokio::test]
async fn what_cannot_be_moved_is_told_as_the_reference_says() {
    let (_server, mut ada, v) = volume();
    let one = ada.create_dir(v, ROOT, "one").await.unwrap();
    let two = ada.create_dir(v, one, "two").await.unwrap();
    ada.create_file(v, ROOT, "a", false).await;
    ada.create_file(v, two, "a", false).await;
    for (from, to, name, expected) in [
        ((ROOT, "one"), (two, ""), "", -5005),
        ((ROOT, "one"), (one, ""), "", -5005),
        ((ROOT, ""), (one, ""), "", -5005),
        ((ROOT, "a"), (two, ""), "", -5017),
        ((ROOT, "a"), (two, ""), "A", -5017),
        ((ROOT, "a"), (two, "x"), "b", -5018),
        ((ROOT, "a"), (two, "a"), "b", -5025),
        ((ROOT, "x"), (two, ""), "b", -5018),
    ] {
        assert_eq!(ada.move_to(v, from, to, name).await, expected, "{from:?} {to:?} {name}");
    }
}

#[tokio::test]
async fn inhibited_things_are_locked() {
    let (server, mut ada, v) = volume();
    let dir = ada.create_dir(v, ROOT, "d").await.unwrap();
    ada.create_file(v, ROOT, "a", false).await;
    let tree = server.volume("share");
    let root = tree.root().unwrap();
    for (name, bits) in [("a", FileBits::RENAME_INHIBIT | FileBits::DELETE_INHIBIT), ("d", FileBits::LOCKED)]
    {
        let found = tree.lookup(&vfs::Caller::root(), &root.object, name.as_bytes()).unwrap();
        let place = vfs::Beside { folder: &root.object, name: name.as_bytes() };
        tree.change_metadata(&ada.session().actor(), &found, Some(place), |metadata| metadata.bits = bits)
            .unwrap();
        assert_eq!(ada.delete(v, ROOT, name).await, -5032);
        assert_eq!(ada.rename(v, ROOT, name, "new").await, -5032);
        assert_eq!(ada.move_to(v, (ROOT, name), (dir, ""), "").await, -5032);
    }
}

#[tokio::test]
async fn a_link_is_moved_and_removed_and_not_what_it_leads_to() {
    let (server, mut ada, v) = volume();
    let dir = ada.create_dir(v, ROOT, "dir").await.unwrap();
    assert_eq!(ada.create_file(v, dir, "file", false).await, 0);
    let (tree, root) = (server.volume("share"), vfs::Caller::root());
    for target in [&b"dir"[..], b"dir/file", b"nothing", b"link", b"/etc"] {
        let actor = vfs::Actor::new(root.clone(), ada.session().actor().party);
        tree.create(&actor, &tree.root().unwrap(), b"link", NewKind::Link(target), 0o777).unwrap();
        let (from, to) = (super::at(v, ROOT, "link"), super::at(v, ROOT, ""));
        assert_eq!(ada.copy_file(from, to, "copy").await, -5025, "neither it nor its target is copied");
        assert_eq!(ada.rename(v, ROOT, "link", "named").await, 0);
        assert_eq!(ada.move_to(v, (ROOT, "named"), (dir, ""), "moved").await, 0);
        let there = |folder: &str, name: &str| {
            let names: Vec<&[u8]> =
                [folder, name].into_iter().filter(|n| !n.is_empty()).map(str::as_bytes).collect();
            let found = tree.lookup_path(&root, &tree.root().unwrap(), &names, Folding::default());
            found.ok().and_then(|resolved| resolved.found)
        };
        assert_eq!(there("dir", "moved").unwrap().object.read_link().unwrap(), target);
        assert_eq!(ada.delete(v, dir, "moved").await, 0);
        assert!(there("dir", "moved").is_none() && there("dir", "file").is_some());
    }
}
