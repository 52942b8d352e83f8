use super::*;
use crate::wire::xdr::tests::{bytes_of, value_of};

const PRIVATE: Private = *b"0123456789abcdef";

fn my_id() -> MyId<'static> {
    MyId { my_name: Name::new(b"here"), my_prog: 100_021, my_vers: 4, my_proc: 16 }
}

/// my_id by hand: my_name, my_prog, my_vers, my_proc.
const MY_ID: &[u8] = b"\0\0\0\x04here\0\x01\x86\xb5\0\0\0\x04\0\0\0\x10";

#[test]
fn mon_is_who_is_watched_for_whom_and_16_private_bytes() {
    let mon_id = MonId { mon_name: Name::new(b"mac"), my_id: my_id() };
    let request = MonRequest { mon_id, private: PRIVATE };
    let bytes = [&b"\0\0\0\x03mac\0"[..], MY_ID, &PRIVATE].concat();
    assert_eq!((bytes_of(&request), value_of(&bytes)), (bytes.clone(), Ok(request)));
    let unmon = &bytes[..bytes.len() - 16];
    assert_eq!(value_of(unmon), Ok(mon_id));
    assert_eq!(value_of(MY_ID), Ok(my_id()));
    assert!(value_of::<MonRequest<'_>>(&bytes[..bytes.len() - 1]).is_err());
}

#[test]
fn stat_and_its_answer() {
    let request = StatRequest { mon_name: Name::new(b"mac") };
    assert_eq!(bytes_of(&request), *b"\0\0\0\x03mac\0");
    let res = StatRes { res: Res::STAT_FAIL, state: 5 };
    assert_eq!(bytes_of(&res), [0, 0, 0, 1, 0, 0, 0, 5]);
    assert_eq!(value_of(&[0, 0, 0, 1, 0, 0, 0, 5]), Ok(res));
    assert_eq!(bytes_of(&State { state: 5 }), [0, 0, 0, 5]);
}

#[test]
fn notify_is_the_host_and_its_new_state() {
    let bytes = *b"\0\0\0\x03mac\0\0\0\0\x09";
    let request = NotifyRequest { mon_name: Name::new(b"mac"), state: 9 };
    assert_eq!((bytes_of(&request), value_of(&bytes)), (bytes.to_vec(), Ok(request)));
    let status = Status { mon_name: Name::new(b"mac"), state: 9, private: PRIVATE };
    assert_eq!(bytes_of(&status), [&bytes[..], &PRIVATE].concat());
}

#[test]
fn name_of_1024_bytes_is_read_and_of_1028_is_not() {
    let with_len = |len: u32| [&len.to_be_bytes()[..], &vec![b'x'; len as usize]].concat();
    assert!(value_of::<StatRequest<'_>>(&with_len(1024)).is_ok()); // SM_MAXSTRLEN
    assert!(value_of::<StatRequest<'_>>(&with_len(1028)).is_err());
}

mod properties {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn mon_is_read_as_it_was_written(
            names in any::<[[u8; 20]; 2]>(), numbers in any::<[u32; 3]>(), private: [u8; 16],
        ) {
            let [my_prog, my_vers, my_proc] = numbers;
            let my_id = MyId { my_name: Name::new(&names[0]), my_prog, my_vers, my_proc };
            let request = MonRequest { mon_id: MonId { mon_name: Name::new(&names[1]), my_id }, private };
            let bytes = bytes_of(&request);
            prop_assert_eq!(value_of::<MonRequest<'_>>(&bytes), Ok(request));
        }

        #[test]
        fn no_bytes_make_the_decoders_panic(bytes in vec(0_u8..9, 0..100)) {
            let _ = value_of::<MonRequest<'_>>(&bytes);
            let _ = value_of::<NotifyRequest<'_>>(&bytes);
        }
    }
}
