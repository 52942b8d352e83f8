use super::*;
use crate::wire::xdr::tests::{bytes_of, value_of};

/// The words of a message, big-endian.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn cookie() -> NetObj<'static> {
    NetObj::new(&[0xc0, 0x0c, 0x1e])
}

/// The cookie by hand: netobj, an opaque of 3 bytes and its padding.
const COOKIE: &[u8] = &[0, 0, 0, 3, 0xc0, 0x0c, 0x1e, 0];

fn lock() -> NlmLock<'static> {
    let (handle, owner) = (NetObj::new(&[9; 8]), NetObj::new(b"17@mac"));
    NlmLock { caller_name: Name::new(b"mac"), handle, owner, svid: -2, offset: 1 << 32 | 2, len: 0 }
}

/// nlm4_lock, RFC 1813 6.2.
fn lock_by_hand() -> Vec<u8> {
    [
        b"\0\0\0\x03mac\0".to_vec(),        // caller_name
        [words(&[8]), vec![9; 8]].concat(), // fh
        b"\0\0\0\x0617@mac\0\0".to_vec(),   // oh
        words(&[0xffff_fffe]),              // svid
        words(&[1, 2]),                     // l_offset
        words(&[0, 0]),                     // l_len
    ]
    .concat()
}

#[test]
fn requests_are_laid_out_as_in_the_rfc() {
    let (cookie, lock) = (cookie(), lock());
    let test = TestRequest { cookie, exclusive: true, lock };
    let bytes = [COOKIE, &words(&[1]), &lock_by_hand()].concat();
    assert_eq!((bytes_of(&test), value_of(&bytes)), (bytes.clone(), Ok(test)));

    let request = LockRequest { cookie, block: true, exclusive: false, lock, reclaim: true, state: 7 };
    let bytes = [COOKIE, &words(&[1, 0]), &lock_by_hand(), &words(&[1, 7])].concat();
    assert_eq!((bytes_of(&request), value_of(&bytes)), (bytes.clone(), Ok(request)));

    let cancel = CancelRequest { cookie, block: false, exclusive: true, lock };
    let bytes = [COOKIE, &words(&[0, 1]), &lock_by_hand()].concat();
    assert_eq!((bytes_of(&cancel), value_of(&bytes)), (bytes.clone(), Ok(cancel)));

    let unlock = UnlockRequest { cookie, lock };
    let bytes = [COOKIE, &lock_by_hand()].concat();
    assert_eq!((bytes_of(&unlock), value_of(&bytes)), (bytes.clone(), Ok(unlock)));
}

#[test]
fn every_cut_of_a_lock_request_is_malformed() {
    let bytes = [COOKIE, &words(&[1, 0]), &lock_by_hand(), &words(&[1, 7])].concat();
    for len in 0..bytes.len() {
        assert!(value_of::<LockRequest<'_>>(&bytes[..len]).is_err(), "cut at {len}");
    }
    assert!(value_of::<LockRequest<'_>>(&[&bytes[..], &[0; 4]].concat()).is_err());
}

#[test]
fn result_is_cookie_and_status() {
    let res = Res { cookie: cookie(), stat: NlmStat::DENIED_GRACE_PERIOD };
    let bytes = [COOKIE, &words(&[4])].concat();
    assert_eq!((bytes_of(&res), value_of(&bytes)), (bytes.clone(), Ok(res)));
}

#[test]
fn only_a_denied_test_names_the_holder() {
    let holder = Holder { exclusive: true, svid: 5, owner: NetObj::new(b"pc#1"), offset: 3, len: 1 << 32 };
    let denied = TestRes { cookie: cookie(), reply: TestReply::Denied(holder) };
    let by_hand = [
        words(&[1, 1, 5, 4]), // LCK_DENIED, exclusive, svid, length of oh
        b"pc#1".to_vec(),
        words(&[0, 3, 1, 0]), // l_offset, l_len
    ];
    let bytes = [COOKIE, &by_hand.concat()].concat();
    assert_eq!((bytes_of(&denied), value_of(&bytes)), (bytes.clone(), Ok(denied)));

    let granted = TestRes { cookie: cookie(), reply: TestReply::Other(NlmStat::GRANTED) };
    let bytes = [COOKIE, &words(&[0])].concat();
    assert_eq!((bytes_of(&granted), value_of(&bytes)), (bytes.clone(), Ok(granted)));
}

#[test]
fn share_reservations_are_laid_out_as_in_the_rfc() {
    let share = Share {
        caller_name: Name::new(b"mac"),
        handle: NetObj::new(&[9; 8]),
        owner: NetObj::new(b"17@mac"),
        mode: ShareMode::DENY_WRITE,
        access: ShareAccess::READ_WRITE,
    };
    let request = ShareRequest { cookie: cookie(), share, reclaim: false };
    let names = &lock_by_hand()[..8 + 12 + 12];
    let bytes = [COOKIE, names, &words(&[2, 3, 0])].concat(); // mode, access, reclaim
    assert_eq!((bytes_of(&request), value_of(&bytes)), (bytes.clone(), Ok(request)));

    let res = ShareRes { cookie: cookie(), stat: NlmStat::DENIED, sequence: 1 };
    let bytes = [COOKIE, &words(&[1, 1])].concat();
    assert_eq!((bytes_of(&res), value_of(&bytes)), (bytes.clone(), Ok(res)));
}

#[test]
fn free_all_names_the_host_and_its_state() {
    let request = FreeAllRequest { name: Name::new(b"mac"), state: 9 };
    let bytes = *b"\0\0\0\x03mac\0\0\0\0\x09";
    assert_eq!((bytes_of(&request), value_of(&bytes)), (bytes.to_vec(), Ok(request)));
}

#[test]
fn netobj_of_1024_bytes_is_read_and_of_1028_is_not() {
    let with_len = |len: u32| [words(&[len]), vec![1; len as usize]].concat();
    assert!(value_of::<NetObj<'_>>(&with_len(1024)).is_ok()); // MAXNETOBJ_SZ, RFC 1813 6.1.4
    assert!(value_of::<NetObj<'_>>(&with_len(1028)).is_err());
}

mod properties {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_lock_is_read_as_it_was_written(
            objects in any::<[[u8; 32]; 3]>(), name in vec(any::<u8>(), 0..=NAME_LIMIT),
            (svid, state) in any::<(i32, i32)>(), (offset, len) in any::<(u64, u64)>(),
            (block, exclusive, reclaim) in any::<(bool, bool, bool)>(),
        ) {
            let [cookie, handle, owner] = objects.each_ref().map(|bytes| NetObj::new(bytes));
            let lock = NlmLock { caller_name: Name::new(&name), handle, owner, svid, offset, len };
            let request = LockRequest { cookie, block, exclusive, lock, reclaim, state };
            let bytes = bytes_of(&request);
            prop_assert_eq!(value_of::<LockRequest<'_>>(&bytes), Ok(request));
        }

        #[test]
        fn no_words_make_the_decoders_panic(numbers in vec(0_u32..9, 0..40)) {
            let bytes = words(&numbers);
            let _ = value_of::<TestRequest<'_>>(&bytes);
            let _ = value_of::<LockRequest<'_>>(&bytes);
            let _ = value_of::<ShareRequest<'_>>(&bytes);
            let _ = value_of::<TestRes<'_>>(&bytes);
        }
    }
}
