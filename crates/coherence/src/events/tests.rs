use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use super::*;

const ROOT: FileId = FileId::new(0, 1);
const TOP: FileId = FileId::new(0, 2);
const DEEP: FileId = FileId::new(0, 3);
const ASIDE: FileId = FileId::new(0, 4);
const FILE: FileId = FileId::new(0, 9);
const ME: ClientId = ClientId(7);

fn name(name: &str) -> Name {
    name.as_bytes().into()
}

/// root/top/deep and root/aside
fn above(folder: FileId) -> Above {
    match folder {
        ROOT => Above::Nothing,
        TOP => Above::Folder(ROOT, name("top")),
        DEEP => Above::Folder(TOP, name("deep")),
        ASIDE => Above::Folder(ROOT, name("aside")),
        _ => Above::Unknown,
    }
}

fn change(folder: FileId, what: ChangeKind) -> Change {
    Change { folder, name: name("file"), file: Some(FILE), of: Kind::File, what, by: None }
}

fn publish(hub: &Hub, folder: FileId, what: ChangeKind) {
    hub.publish(&above, || change(folder, what));
}

fn watch(hub: &Hub, scope: EventScope) -> Subscription {
    hub.subscribe(scope, Filter::ALL, 100).unwrap()
}

/// Where the next change happened, and where the entry was before, as paths from the watched folder.
fn places(subscription: &mut Subscription) -> Option<(Option<String>, Option<String>)> {
    let path = |names: Vec<Name>| {
        let names: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        names.join("/")
    };
    match subscription.try_next()? {
        Event::Changed(seen) => Some((seen.at.map(path), seen.was.map(path))),
        event => panic!("nothing should be lost, and the folder stays: {event:?}"),
    }
}

fn at(path: &str) -> Option<(Option<String>, Option<String>)> {
    Some((Some(path.to_owned()), None))
}

#[test]
fn while_nobody_listens_nothing_is_built() {
    let hub = Hub::default();
    let built = Cell::new(0);
    let count = || {
        built.set(built.get() + 1);
        change(TOP, ChangeKind::Created)
    };
    hub.publish(&|_| unreachable!("no subtree is watched"), count);
    assert_eq!(built.get(), 0);
    let subscription = watch(&hub, EventScope::Folder(TOP));
    hub.publish(&|_| unreachable!("no subtree is watched"), count);
    assert_eq!((built.get(), hub.listens()), (1, true));
    drop(subscription);
    hub.publish(&above, count);
    assert_eq!((built.get(), hub.listens()), (1, false));
}

#[test]
fn a_folder_hears_of_its_entries_and_a_subtree_of_all_below() {
    let hub = Hub::default();
    let (mut top, mut tree) = (watch(&hub, EventScope::Folder(TOP)), watch(&hub, EventScope::Subtree(TOP)));
    let (mut root, mut volume) = (watch(&hub, EventScope::Subtree(ROOT)), watch(&hub, EventScope::Volume));
    for folder in [TOP, DEEP, ASIDE] {
        publish(&hub, folder, ChangeKind::Created);
    }
    assert_eq!((places(&mut top), places(&mut top)), (at(""), None));
    assert_eq!((places(&mut tree), places(&mut tree), places(&mut tree)), (at(""), at("deep"), None));
    assert_eq!(
        [places(&mut root), places(&mut root), places(&mut root)],
        [at("top"), at("top/deep"), at("aside")]
    );
    assert_eq!([places(&mut volume), places(&mut volume), places(&mut volume)], [at(""), at(""), at("")]);
}

#[test]
fn a_rename_is_seen_once_from_each_side() {
    let hub = Hub::default();
    let (mut from, mut to) = (watch(&hub, EventScope::Folder(DEEP)), watch(&hub, EventScope::Folder(ASIDE)));
    let (mut both, mut neither) =
        (watch(&hub, EventScope::Subtree(ROOT)), watch(&hub, EventScope::Folder(TOP)));
    publish(&hub, ASIDE, ChangeKind::Renamed { old_folder: DEEP, old_name: name("before") });
    assert_eq!(places(&mut from), Some((None, Some(String::new()))));
    assert_eq!(places(&mut to), at(""));
    assert_eq!(places(&mut both), Some((Some("aside".to_owned()), Some("top/deep".to_owned()))));
    assert_eq!(
        [places(&mut neither), places(&mut both), places(&mut from), places(&mut to)],
        [None, None, None, None]
    );
}

#[test]
fn a_filter_passes_what_it_names_and_not_ones_own_doing() {
    let hub = Hub::default();
    let filter = Filter {
        aspects: Aspects::SIZE.union(Aspects::FOLDER_NAME),
        except: Some(ME),
        identifies_removed: false,
    };
    let mut subscription = hub.subscribe(EventScope::Folder(TOP), filter, 100).unwrap();
    let mut heard = |change: Change| {
        hub.publish(&above, || change);
        subscription.try_next().is_some()
    };
    let grown = change(TOP, ChangeKind::Modified(Aspects::SIZE.union(Aspects::MODIFIED)));
    assert!(heard(grown.clone()));
    assert!(heard(Change { by: Some(ClientId(8)), ..grown.clone() }));
    assert!(!heard(Change { by: Some(ME), ..grown }));
    assert!(!heard(change(TOP, ChangeKind::Modified(Aspects::MODIFIED))));
    assert!(!heard(change(TOP, ChangeKind::Created)));
    assert!(heard(Change { of: Kind::Folder, ..change(TOP, ChangeKind::Removed) }));
}

#[test]
fn a_full_queue_ends_in_a_marker_and_then_starts_anew() {
    let hub = Hub::default();
    let mut subscription = hub.subscribe(EventScope::Volume, Filter::ALL, 2).unwrap();
    (0..5).for_each(|_| publish(&hub, TOP, ChangeKind::Created));
    assert_eq!((places(&mut subscription), places(&mut subscription)), (at(""), at("")));
    publish(&hub, TOP, ChangeKind::Created); // lost too: the marker is not yet read
    assert_eq!((subscription.try_next(), subscription.try_next()), (Some(Event::Overflowed), None));
    publish(&hub, TOP, ChangeKind::Created);
    assert_eq!((places(&mut subscription), subscription.try_next()), (at(""), None));
}

#[test]
fn a_subtree_is_read_again_if_a_place_in_it_is_unknown() {
    let hub = Hub::default();
    let unknown = FileId::new(0, 77);
    let (mut tree, mut folder) =
        (watch(&hub, EventScope::Subtree(TOP)), watch(&hub, EventScope::Folder(unknown)));
    publish(&hub, unknown, ChangeKind::Created);
    assert_eq!(tree.try_next(), Some(Event::Overflowed));
    assert_eq!(places(&mut folder), at(""));
    // The same if the way up never ends.
    hub.publish(&|folder| Above::Folder(folder, name("loop")), || change(ASIDE, ChangeKind::Created));
    assert_eq!((tree.try_next(), folder.try_next()), (Some(Event::Overflowed), None));
}

#[test]
fn lost_notices_of_the_host_reach_everybody() {
    let hub = Hub::default();
    let (mut volume, mut folder) = (watch(&hub, EventScope::Volume), watch(&hub, EventScope::Folder(TOP)));
    hub.lost();
    assert_eq!((volume.try_next(), folder.try_next()), (Some(Event::Overflowed), Some(Event::Overflowed)));
}

#[test]
fn a_waiting_subscriber_is_woken_by_a_change_and_by_a_loss() {
    let hub = Hub::default();
    let mut subscription = watch(&hub, EventScope::Volume);
    let wake: [fn(&Hub); 2] = [|hub| publish(hub, TOP, ChangeKind::Removed), Hub::lost];
    for wake in wake {
        let mut next = pin!(subscription.next());
        let mut poll = || next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        assert!(!poll());
        wake(&hub);
        assert!(poll());
    }
}

#[test]
fn a_subscriber_that_lets_changes_gather_is_woken_at_half_a_queue() {
    let hub = Hub::default();
    let mut subscription = hub.subscribe(EventScope::Volume, Filter::ALL, 4).unwrap();
    for round in 0..2 {
        let mut crowded = Box::pin(subscription.crowded());
        let mut poll = || crowded.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        publish(&hub, TOP, ChangeKind::Removed);
        assert!(!poll(), "round {round}");
        publish(&hub, TOP, ChangeKind::Removed);
        assert!(poll(), "round {round}");
        drop(crowded);
        assert_eq!(subscription.take_all().len(), 2);
    }
}

#[test]
fn changes_of_one_file_one_after_the_other_are_told_as_one() {
    let hub = Hub::default();
    let mut subscription = watch(&hub, EventScope::Folder(TOP));
    for aspects in [Aspects::DATA, Aspects::DATA, Aspects::SIZE] {
        publish(&hub, TOP, ChangeKind::Modified(aspects));
    }
    publish(&hub, TOP, ChangeKind::Removed);
    publish(&hub, TOP, ChangeKind::Modified(Aspects::DATA));
    let told = std::iter::from_fn(|| match subscription.try_next()? {
        Event::Changed(seen) => Some(seen.change.what.clone()),
        event => panic!("{event:?}"),
    });
    let both = ChangeKind::Modified(Aspects::DATA.union(Aspects::SIZE));
    assert_eq!(told.collect::<Vec<_>>(), [both, ChangeKind::Removed, ChangeKind::Modified(Aspects::DATA)]);
}

#[test]
fn a_folders_removal_is_told_after_the_changes_in_it() {
    let hub = Hub::default();
    let (mut top, mut other) = (watch(&hub, EventScope::Folder(TOP)), watch(&hub, EventScope::Subtree(ROOT)));
    publish(&hub, TOP, ChangeKind::Created);
    hub.going(TOP);
    assert_eq!(places(&mut top), at(""));
    let _ = other.try_next();
    assert_eq!((top.try_next(), top.try_next(), other.try_next()), (Some(Event::Going), None, None));
    let gone = || Change { file: Some(TOP), of: Kind::Folder, ..change(ROOT, ChangeKind::Removed) };
    hub.publish(&above, gone);
    assert_eq!(top.try_next(), Some(Event::Going));
}

#[test]
fn subscriptions_are_limited_and_dropping_one_makes_room() {
    let hub = Hub::default();
    let mut held: Vec<_> =
        (0..MAX_SUBSCRIPTIONS).map(|n| watch(&hub, EventScope::Folder(FileId::new(0, n as u64)))).collect();
    assert_eq!(hub.subscribe(EventScope::Volume, Filter::ALL, 1).unwrap_err(), Error::TooMany);
    held.pop();
    drop(watch(&hub, EventScope::Subtree(TOP)));
    drop(held);
    assert!(!hub.listens());
    assert!(hub.shared.listeners.read().folders.is_empty());
}

#[test]
fn a_change_is_published_again_once_a_subscriber_took_it() {
    let counts = Arc::new(HubCounts::default());
    let hub = Hub::counted(counts.clone());
    let mark = PublishedMark::default();
    let mut other = watch(&hub, EventScope::Volume);
    let mut subscription = watch(&hub, EventScope::Folder(TOP));
    assert!(!mark.is_current(counts.deliveries()));
    let write = || {
        let before = counts.deliveries();
        if !mark.is_current(before) {
            publish(&hub, TOP, ChangeKind::Modified(Aspects::DATA));
            mark.set(before);
        }
    };
    (0..3).for_each(|_| write());
    assert!(mark.is_current(counts.deliveries()));
    assert_eq!((subscription.take_all().len(), subscription.take_all().len()), (1, 0));
    (0..3).for_each(|_| write());
    assert!(subscription.try_next().is_some() && other.try_next().is_some());
    // A subscriber that came since then has not been told.
    write();
    let _new = watch(&hub, EventScope::Volume);
    assert!(!mark.is_current(counts.deliveries()));
}
