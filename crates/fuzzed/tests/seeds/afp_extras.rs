//! The desktop database, extended attributes and ACLs. The selectors are those of `src/afp_extras.rs`.

use afp::wire::desktop::*;
use afp::wire::{FileBitmap, Path, acl, attribute};
use wire::Writer;

use super::Seed;

type Encode<'a> = &'a dyn Fn(&mut Writer);

fn seed(target: &'static str, name: &'static str, selector: u8, encode: Encode<'_>) -> Seed {
    let mut w = Writer::onto(vec![selector]);
    encode(&mut w);
    Seed { target, name, bytes: w.into_bytes() }
}

pub fn seeds() -> Vec<Seed> {
    [desktop(), attributes(), acls()].into_iter().flatten().collect()
}

fn desktop() -> Vec<Seed> {
    let seed = |name, selector, encode: Encode<'_>| seed("afp_desktop", name, selector, encode);
    let (desktop, directory, creator, kind) = (1, 2, *b"ttxt", *b"TEXT");
    let (utf8, long) = (Path::utf8("caf\u{e9}".as_bytes()), Path::long(b"TeachText"));
    vec![
        seed("open", 0, &|w| OpenDt { volume: 1 }.encode(w)),
        seed("opened", 1, &|w| OpenDtReply { desktop }.encode(w)),
        seed("close", 2, &|w| CloseDt { desktop }.encode(w)),
        seed("add-icon", 3, &|w| AddIcon { desktop, creator, kind, icon: 1, tag: 9, size: 256 }.encode(w)),
        seed("get-icon", 4, &|w| GetIcon { desktop, creator, kind, icon: 1, length: 256 }.encode(w)),
        seed("get-icon-info", 5, &|w| GetIconInfo { desktop, creator, index: 1 }.encode(w)),
        seed("icon-info", 6, &|w| IconInfo { tag: 9, kind, icon: 1, size: 256 }.encode(w)),
        seed("add-appl", 7, &|w| AddAppl { desktop, directory, creator, tag: 9, path: long }.encode(w)),
        seed("remove-appl", 8, &|w| RemoveAppl { desktop, directory, creator, path: utf8 }.encode(w)),
        seed("get-appl", 9, &|w| {
            GetAppl { desktop, creator, index: 1, bitmap: FileBitmap(0x42) }.encode(w);
        }),
        seed("appl", 10, &|w| Appl { bitmap: FileBitmap(0x42), tag: 9 }.encode(w)),
        seed("add-comment", 11, &|w| {
            AddComment { desktop, directory, path: long, comment: b"a note" }.encode(w);
        }),
        seed("add-comment-padded", 11, &|w| {
            AddComment { desktop, directory, path: utf8, comment: &[b'x'; 199] }.encode(w);
        }),
        seed("get-comment", 12, &|w| OfFile { desktop, directory, path: utf8 }.encode(w)),
        seed("comment", 13, &|w| Comment(b"a note").encode(w)),
    ]
}

fn attributes() -> Vec<Seed> {
    use attribute::*;
    let seed = |name, selector, encode: Encode<'_>| seed("afp_attributes", name, selector, encode);
    let (volume, directory, bitmap, path) = (1, 2, Bitmap::NO_FOLLOW, Path::utf8(b"notes"));
    let name = "com.apple.caf\u{e9}".as_bytes();
    let get = Get { volume, directory, bitmap, offset: 0, count: u64::MAX, max_reply: 4096, path, name };
    let set = Set { volume, directory, bitmap: Bitmap::CREATE, offset: 0, path, name, bytes: b"value" };
    vec![
        seed("get", 0, &|w| get.encode(w)),
        seed("get-padded", 0, &|w| Get { path: Path::long(b"n"), max_reply: 0, ..get }.encode(w)),
        seed("set", 1, &|w| set.encode(w)),
        seed("set-empty", 1, &|w| Set { bitmap: Bitmap::REPLACE, bytes: b"", ..set }.encode(w)),
        seed("remove", 2, &|w| Remove { volume, directory, bitmap, path, name }.encode(w)),
        seed("list", 3, &|w| {
            List { volume, directory, bitmap, count: 0, index: 0, max_reply: 4096, path }.encode(w);
        }),
        seed("length", 4, &|w| Reply { bitmap, length: 5, bytes: None }.encode(w)),
        seed("value", 4, &|w| Reply { bitmap, length: 5, bytes: Some(b"value") }.encode(w)),
    ]
}

fn acls() -> Vec<Seed> {
    use acl::*;
    let seed = |name, selector, encode: Encode<'_>| seed("afp_attributes", name, selector, encode);
    let (volume, directory, path, who) = (1, 2, Path::utf8(b"notes"), *b"0123456789abcdef");
    let entries = vec![
        KauthAce {
            who,
            flags: KauthAce::PERMIT | KauthAce::FILE_INHERIT | KauthAce::ONLY_INHERIT,
            rights: 0x3ffe,
        },
        KauthAce { who, flags: KauthAce::DENY | KauthAce::INHERITED, rights: 4 },
    ];
    let acl = KauthAcl { flags: KauthAcl::NO_INHERIT, entries };
    let security = Security { owner: Some(who), group: Some(who), acl: Some(acl) };
    let set = Set { volume, directory, bitmap: Bitmap(0x17), path, security: security.clone() };
    let removed = Security::default();
    vec![
        seed("get-acl", 5, &|w| {
            Get { volume, directory, bitmap: Bitmap(7), max_reply: 0, path }.encode(w);
        }),
        seed("acl", 6, &|w| Reply(security.clone()).encode(w)),
        seed("set-acl", 7, &|w| set.encode(w)),
        seed("remove-acl", 7, &|w| {
            Set { bitmap: Bitmap::REMOVE_ACL, security: removed.clone(), ..set.clone() }.encode(w);
        }),
        seed("access", 8, &|w| Access { volume, directory, who, rights: 6, path }.encode(w)),
    ]
}
