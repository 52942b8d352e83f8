//! A domain, its users and its ids.

use super::*;

fn domain(state: &std::path::Path) -> Domain {
    let (rule, range) = (IdRule::Rid, IdRange { low: 1_000_000, high: 1_999_999 });
    let trusted = vec![("S-1-5-21-7-8-9".parse().unwrap(), IdRange { low: 3_000_000, high: 3_999_999 })];
    Domain::new(DomainOptions { name: "lab.test".into(), rule, range, trusted }, state).unwrap()
}

fn sid(text: &str) -> Sid {
    text.parse().unwrap()
}

fn alice() -> DomainUser {
    DomainUser {
        sid: sid("S-1-5-21-1-2-3-1103"),
        name: "Alice".into(),
        full_name: String::new(),
        domain: "LAB".into(),
        primary_group: sid("S-1-5-21-1-2-3-513"),
        groups: ["S-1-5-21-1-2-3-513", "S-1-5-21-1-2-3-1105", "S-1-18-1", "S-1-5-21-7-8-9-1200"]
            .map(sid)
            .to_vec(),
    }
}

#[test]
fn a_user_acts_with_the_ids_of_its_sid_and_groups() {
    let state = tempfile::tempdir().unwrap();
    let domain = domain(state.path());
    assert_eq!(domain.account("alice"), None, "she has not come yet");
    assert_eq!(domain.enter("LAB.TEST", alice()).as_deref(), Ok("Alice"));
    let expected = Identity::new(1_001_103, 1_000_513, &[1_001_103, 1_001_105, 3_001_200]);
    for name in ["alice", "lab\\ALICE", "Alice@lab.test"] {
        let account = domain.account(name).unwrap();
        assert_eq!((account.name.as_str(), account.identity), ("Alice", expected.clone()), "{name}");
    }
    for other in ["bob", "OTHER\\alice", "alice@other.test", "LAB\\", ""] {
        assert_eq!(domain.account(other), None, "{other}");
    }
    let named = domain.name(&alice().sid).unwrap();
    assert_eq!((named.name.as_str(), named.domain.as_str(), named.kind), ("Alice", "LAB", NameKind::User));
    assert_eq!(domain.named("lab\\alice"), Some(named));
    assert_eq!(domain.name(&sid("S-1-5-21-1-2-3")).unwrap().kind, NameKind::Domain);
}

#[test]
fn users_of_other_domains_need_a_range_and_have_their_domain_in_their_account() {
    let state = tempfile::tempdir().unwrap();
    let domain = domain(state.path());
    domain.enter("LAB.TEST", alice()).unwrap();
    let bob = |text: &str| DomainUser {
        sid: sid(text),
        domain: "OTHER".into(),
        primary_group: sid("S-1-5-21-7-8-9-513"),
        ..alice()
    };
    assert_eq!(domain.enter("OTHER.TEST", bob("S-1-5-21-7-8-9-1103")).as_deref(), Ok("OTHER\\Alice"));
    assert_eq!(domain.account("OTHER\\alice").unwrap().identity.uid, 3_001_103);
    assert_eq!(domain.account("alice").unwrap().identity.uid, 1_001_103);
    assert!(domain.enter("OTHER.TEST", bob("S-1-5-21-6-6-6-1103")).is_err());
    // A ticket of the own realm for a user of a new domain SID: the domain was made anew, and its numbers are of others.
    assert!(domain.enter("LAB.TEST", bob("S-1-5-21-4-5-6-1103")).unwrap_err().contains("domain-ids.toml"));
}

#[test]
fn a_new_ticket_replaces_groups_and_names() {
    let state = tempfile::tempdir().unwrap();
    let domain = domain(state.path());
    domain.enter("LAB.TEST", alice()).unwrap();
    let renamed = DomainUser { name: "alicia".into(), groups: Vec::new(), ..alice() };
    domain.enter("LAB.TEST", renamed).unwrap();
    assert_eq!(domain.account("alice"), None);
    let expected = Identity::new(1_001_103, 1_000_513, &[1_001_103]);
    assert_eq!(domain.account("alicia").unwrap().identity, expected);
}

#[test]
fn what_the_directory_lists_has_names_and_disabled_users_are_disabled() {
    let state = tempfile::tempdir().unwrap();
    let entry = |rid: u32, name: &str, kind, disabled| DirectoryEntry {
        sid: sid("S-1-5-21-1-2-3").with_rid(rid).unwrap(),
        name: name.into(),
        kind,
        disabled,
        numbers: UnixIds::default(),
    };
    let listed = vec![
        entry(1103, "Alice", NameKind::User, true),
        entry(1104, "bob", NameKind::User, false),
        entry(1105, "engineers", NameKind::Group, false),
        DirectoryEntry { sid: sid("S-1-5-32-544"), ..entry(1, "Administrators", NameKind::Group, false) },
    ];
    let before = domain(state.path());
    before.learn(sid("S-1-5-21-1-2-3"), "LAB").unwrap();
    before.enter("LAB.TEST", alice()).unwrap();
    assert!(!before.account("alice").unwrap().disabled);
    let (refused, kept) = before.list(listed.clone());
    assert!(kept.is_ok() && refused == ["Alice"]);
    assert!(before.account("alice").unwrap().disabled);
    assert!(before.list(listed).0.is_empty(), "it is told once");
    let again = domain(state.path());
    again.learn(sid("S-1-5-21-1-2-3"), "LAB").unwrap();
    for domain in [&before, &again] {
        let group = domain.named("lab\\Engineers").unwrap();
        assert_eq!(
            (group.kind, group.name.as_str(), group.domain.as_str()),
            (NameKind::Group, "engineers", "LAB")
        );
        assert_eq!(domain.named("engineers"), Some(group));
        assert_eq!(domain.name(&sid("S-1-5-21-1-2-3-1104")).unwrap().name, "bob");
        assert!(domain.is_user(&sid("S-1-5-21-1-2-3-1104")) && !domain.is_user(&sid("S-1-5-21-1-2-3-1105")));
        assert_eq!((domain.account("bob"), domain.named("Administrators")), (None, None));
        assert_eq!(domain.named("OTHER\\engineers"), None);
    }
}

/// The numbers of RFC 2307 2.2: `uidNumber` and `gidNumber` are apart, and a user's `gidNumber` is its first group.
fn numbered(rule: IdRule, state: &std::path::Path) -> Domain {
    let range = IdRange { low: 1_000_000, high: 1_999_999 };
    let options = DomainOptions { name: "lab.test".into(), rule, range, trusted: Vec::new() };
    let domain = Domain::new(options, state).unwrap();
    domain.learn(sid("S-1-5-21-1-2-3"), "LAB").unwrap();
    let entry = |rid: u32, kind, own, group| DirectoryEntry {
        sid: sid("S-1-5-21-1-2-3").with_rid(rid).unwrap(),
        name: format!("n{rid}"),
        kind,
        disabled: false,
        numbers: UnixIds { own, group },
    };
    let (user, group) = (NameKind::User, NameKind::Group);
    let listed = vec![
        entry(1103, user, Some(10_001), Some(10_050)),
        entry(1104, user, Some(10_002), None),
        entry(1107, user, None, None),
        entry(1108, user, Some(0), None), // it would be root
        entry(1109, user, Some(1_000_005), None),
        entry(513, group, Some(10_000), None),
        entry(1105, group, Some(10_001), None),
        entry(1106, group, None, None),
    ];
    domain.list(listed).1.unwrap();
    domain
}

#[test]
fn numbers_of_the_directory_are_the_ids_of_users_and_groups() {
    let state = tempfile::tempdir().unwrap();
    numbered(IdRule::Rfc2307, state.path());
    // The list of the state folder has them, too, for when the directory is away.
    let options = numbered(IdRule::Rfc2307, state.path()).options().clone();
    let domain = Domain::new(options, state.path()).unwrap();
    domain.enter("LAB.TEST", alice()).unwrap();
    let expected = Identity::new(10_001, 10_050, &[10_000, 10_001]); // her groups, but not her own number
    assert_eq!(domain.account("alice").unwrap().identity, expected);
    let own = |rid| sid("S-1-5-21-1-2-3").with_rid(rid).unwrap();
    assert_eq!((domain.user(10_001), domain.group(10_001)), (Some(own(1103)), Some(own(1105))));
    assert_eq!((domain.owner_id(&own(1103)), domain.group_id(&own(1103))), (Some(10_001), None));
    assert_eq!((domain.owner_id(&own(1105)), domain.group_id(&own(1105))), (None, Some(10_001)));
    let bob = DomainUser { sid: own(1104), name: "bob".into(), ..alice() };
    domain.enter("LAB.TEST", bob).unwrap();
    assert_eq!(domain.account("bob").unwrap().identity.gid, 10_000, "the number of the first group");
    for rid in [1107, 1108, 1199] {
        let without = DomainUser { sid: own(rid), name: "eve".into(), ..alice() };
        assert!(domain.enter("LAB.TEST", without).unwrap_err().contains("uidNumber"), "{rid}");
    }
    assert!(domain.is_list_wanted() && !domain.is_list_wanted());
}

#[test]
fn users_without_numbers_have_ids_by_their_sids_if_the_settings_say_so() {
    let state = tempfile::tempdir().unwrap();
    let domain = numbered(IdRule::Rfc2307OrRid, state.path());
    let own = |rid| sid("S-1-5-21-1-2-3").with_rid(rid).unwrap();
    let ids = [1103, 1107, 1108, 1109].map(|rid| domain.id(&own(rid)).unwrap());
    assert_eq!(
        ids,
        [10_001, 1_001_107, 1_001_108, 1_001_109],
        "no number of the range, and none of the system"
    );
    assert_eq!((domain.user(1_001_107), domain.user(1_000_005)), (Some(own(1107)), Some(own(5))));
    let eve = DomainUser { sid: own(1107), name: "eve".into(), ..alice() };
    domain.enter("LAB.TEST", eve).unwrap();
    let expected = Identity::new(1_001_107, 10_000, &[10_001, 1_001_107]);
    assert_eq!(domain.account("eve").unwrap().identity, expected);
}

#[test]
fn a_user_that_the_directory_does_not_list_any_more_may_not_log_in() {
    let state = tempfile::tempdir().unwrap();
    let domain = numbered(IdRule::Rid, state.path());
    domain.enter("LAB.TEST", alice()).unwrap();
    assert!(!domain.is_list_wanted());
    let new = DomainUser { sid: sid("S-1-5-21-1-2-3-1200"), name: "new".into(), ..alice() };
    domain.enter("LAB.TEST", new).unwrap();
    assert!(domain.is_list_wanted(), "is it new, or was it removed?");
    assert!(!domain.account("new").unwrap().disabled);
    let listed = |rid: u32| DirectoryEntry {
        sid: sid("S-1-5-21-1-2-3").with_rid(rid).unwrap(),
        name: format!("n{rid}"),
        kind: NameKind::User,
        disabled: false,
        numbers: UnixIds::default(),
    };
    assert!(domain.list(Vec::new()).0.is_empty(), "an empty list says nothing");
    assert_eq!(domain.list(vec![listed(1200)]).0, ["Alice"]);
    assert!(domain.account("alice").unwrap().disabled && !domain.account("new").unwrap().disabled);
    assert!(domain.list(vec![listed(1200), listed(1103)]).0.is_empty());
    assert!(!domain.account("alice").unwrap().disabled);
}

#[test]
fn ten_thousand_groups_are_kept() {
    let state = tempfile::tempdir().unwrap();
    let domain = domain(state.path());
    let groups = (0..10_000).map(|at| sid("S-1-5-21-1-2-3").with_rid(2_000 + at).unwrap()).collect();
    domain.enter("LAB.TEST", DomainUser { groups, ..alice() }).unwrap();
    assert_eq!(domain.account("alice").unwrap().identity.groups.len(), 10_001);
}
