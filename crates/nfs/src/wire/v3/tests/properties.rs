//! Properties of all values and all bytes.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;

/// If these bytes are a message, it stays the same when it is written and read again.
macro_rules! stable {
    ($bytes:expr, $($type:ty),* $(,)?) => {$(
        if let Ok(value) = value_of::<$type>($bytes) {
            let again = bytes_of(&value);
            prop_assert_eq!(value_of::<$type>(&again), Ok(value));
        }
    )*};
}

fn time() -> impl Strategy<Value = NfsTime> {
    any::<(u32, u32)>().prop_map(|(seconds, nanoseconds)| NfsTime { seconds, nanoseconds })
}

fn set_time() -> impl Strategy<Value = SetTime> {
    prop_oneof![
        Just(SetTime::DontChange),
        Just(SetTime::ToServerTime),
        time().prop_map(SetTime::ToClientTime)
    ]
}

fn settings() -> impl Strategy<Value = Sattr3> {
    let numbers = any::<(Option<u32>, Option<u32>, Option<u32>, Option<u64>)>();
    (numbers, set_time(), set_time()).prop_map(|((mode, uid, gid, size), atime, mtime)| Sattr3 {
        mode,
        uid,
        gid,
        size,
        atime,
        mtime,
    })
}

fn fattr() -> impl Strategy<Value = Fattr3> {
    (any::<[u32; 7]>(), any::<[u64; 4]>(), time(), time(), time()).prop_map(|(n, w, atime, mtime, ctime)| {
        Fattr3 {
            file_type: FileType(n[0]),
            mode: n[1],
            nlink: n[2],
            uid: n[3],
            gid: n[4],
            size: w[0],
            used: w[1],
            rdev: SpecData { major: n[5], minor: n[6] },
            fsid: w[2],
            fileid: w[3],
            atime,
            mtime,
            ctime,
        }
    })
}

fn handle() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..=FILE_HANDLE_LIMIT)
}

proptest! {
    #[test]
    fn attributes_are_read_as_they_were_written(before in option::of(fattr()), after in option::of(fattr())) {
        let wcc = Wcc { before: before.map(|before| before.wcc()), after };
        prop_assert_eq!(value_of::<Wcc>(&bytes_of(&wcc)), Ok(wcc));
    }

    #[test]
    fn setattr_is_read_as_it_was_written(
        object in handle(), new_attributes in settings(), guard in option::of(time()),
    ) {
        let request = setattr::Request { object: FileHandle::new(&object), new_attributes, guard };
        let bytes = bytes_of(&request);
        prop_assert_eq!(value_of::<setattr::Request<'_>>(&bytes), Ok(request));
    }

    #[test]
    fn write_is_read_as_it_was_written(
        file in handle(), offset: u64, count: u32, stable: u32, data in vec(any::<u8>(), 0..2000),
    ) {
        let (file, stable) = (FileHandle::new(&file), write::StableHow(stable));
        let request = write::Request { file, offset, count, stable, data: Data::new(&data) };
        let bytes = bytes_of(&request);
        prop_assert_eq!(value_of::<write::Request<'_>>(&bytes), Ok(request));
    }

    #[test]
    fn listing_keeps_its_limit_and_every_entry_it_took(
        names in vec(vec(any::<u8>(), 1..60), 0..40),
        attributes in option::of(fattr()), object in option::of(handle()), maxcount in 0_u32..4000,
    ) {
        let entries: Vec<_> = names.iter().map(|name| readdirplus::Entry {
            fileid: 1, name: Name::new(name), cookie: 2, attributes,
            handle: object.as_deref().map(FileHandle::new),
        }).collect();
        let mut w = Writer::new();
        let mut list = readdirplus::begin(&mut w, &attributes, &[0; 8], u32::MAX, maxcount);
        let taken = entries.iter().take_while(|entry| list.push(*entry)).count();
        list.finish(taken == entries.len());
        prop_assert!(taken == 0 || w.len() <= 4 + maxcount as usize);
        let listing = value_of::<readdirplus::Res<'_>>(w.as_bytes()).unwrap().unwrap();
        prop_assert_eq!(&listing.entries, &entries[..taken]);
        if let Some(next) = entries.get(taken) {
            // It would not have fitted.
            prop_assert!(w.len() + bytes_of(next).len() + 4 > 4 + maxcount as usize);
        }
    }

    #[test]
    fn requests_of_any_words_are_stable(numbers in vec(0_u32..10, 0..60)) {
        let bytes = words(&numbers);
        stable!(&bytes, getattr::Request<'_>, setattr::Request<'_>, lookup::Request<'_>, access::Request<'_>);
        stable!(&bytes, read::Request<'_>, write::Request<'_>, create::Request<'_>, mkdir::Request<'_>);
        stable!(&bytes, symlink::Request<'_>, mknod::Request<'_>, rename::Request<'_>, link::Request<'_>);
        stable!(&bytes, readdir::Request<'_>, readdirplus::Request<'_>, commit::Request<'_>);
    }

    #[test]
    fn replies_of_any_words_are_stable(numbers in vec(0_u32..3, 0..120)) {
        let bytes = words(&numbers);
        stable!(&bytes, getattr::Res, setattr::Res, lookup::Res<'_>, access::Res, readlink::Res<'_>);
        stable!(&bytes, read::ResData<'_>, write::Res, create::Res<'_>, remove::Res, rename::Res, link::Res);
        stable!(&bytes, readdir::Res<'_>, readdirplus::Res<'_>, fsstat::Res, fsinfo::Res, pathconf::Res);
        stable!(&bytes, commit::Res);
    }

    #[test]
    fn no_bytes_make_the_decoders_panic(bytes in vec(any::<u8>(), 0..300)) {
        let _ = value_of::<setattr::Request<'_>>(&bytes);
        let _ = value_of::<write::Request<'_>>(&bytes);
        let _ = value_of::<create::Request<'_>>(&bytes);
        let _ = value_of::<readdirplus::Res<'_>>(&bytes);
    }
}
