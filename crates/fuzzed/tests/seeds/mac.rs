//! Mac metadata in each layout. The selectors are those of `src/mac.rs`.

use formats::mac::binary::{MacBinary, Variant};
use formats::mac::binhex::BinHex;
use formats::mac::samba::DosAttrib;
use formats::mac::{DosAttributes, FinderInfo, Metadata, Time, Times, resource, sidecar, tags};

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    [sidecars(), models(), values(), lists(), archives()].into_iter().flatten().collect()
}

fn seed(target: &'static str, name: &'static str, bytes: impl Into<Vec<u8>>) -> Seed {
    Seed { target, name, bytes: bytes.into() }
}

fn info() -> FinderInfo {
    let mut info = FinderInfo::default();
    info.set_type(*b"TEXT", *b"ttxt");
    info.set_label(3);
    info
}

fn metadata() -> Metadata {
    let at = |secs| Some(Time { secs, nanos: 0 });
    let mut metadata = Metadata::default();
    metadata.comment = b"by hand".to_vec();
    metadata.times = Times { created: at(900_000_000), backup: None, added: at(1_000_000_000) };
    metadata.set_finder_info(info());
    metadata.set_hidden(true);
    metadata.set_locked(true);
    metadata
}

fn sidecars() -> Vec<Seed> {
    let xattrs = [(&b"com.apple.quarantine"[..], &b"0081;5f000000;Safari;"[..]), (b"com.example", b"")];
    let (mut whole, _) = sidecar::synthesize(&info(), &xattrs, resource::blank().len() as u64);
    whole.extend(resource::blank());
    vec![
        seed("mac_apple_double", "sidecar", whole),
        seed("mac_apple_double", "stored-header", sidecar::stored_header(&info(), 0)),
        seed("mac_apple_double", "netatalk", metadata().to_netatalk()),
        seed("mac_apple_double", "netatalk2", metadata().to_netatalk2(b"notes", 0)),
    ]
}

fn models() -> Vec<Seed> {
    let model = metadata();
    let chosen =
        |name, selector: u8, bytes: Vec<u8>| seed("mac_model", name, [&[selector][..], &bytes].concat());
    vec![
        chosen("netatalk", 0, model.to_netatalk()),
        chosen("netatalk2", 1, model.to_netatalk2(b"notes", 0)),
        chosen("info-stream", 2, model.to_info_stream()),
        chosen("sidecar", 3, model.to_sidecar(&[(b"com.example", b"value")], 0).0),
        chosen("dosattrib", 4, model.to_dosattrib()),
        chosen("all", 6, model.to_netatalk()),
    ]
}

fn values() -> Vec<Seed> {
    let created = Some(Time { secs: 900_000_000, nanos: 0 });
    let dos = DosAttrib { attributes: DosAttributes(0x22), created, itime: None };
    vec![
        seed("mac_values", "dosattrib", dos.build()),
        seed("mac_values", "info-stream", metadata().to_info_stream()),
        seed("mac_values", "blank-fork", resource::blank()),
        seed("mac_values", "stream-name", b"user.DosStream.AFP_Resource:$DATA"),
        seed("mac_values", "netatalk-list", b"adEA\0\x01\0\x01\0\0\0\x05com.apple.quarantine\0"),
    ]
}

fn lists() -> Vec<Seed> {
    let all = ["Red\n6".to_owned(), "wichtig: größer\n4".to_owned(), "plain".to_owned()];
    vec![
        seed("mac_plist", "tags", [&[6][..], &tags::write(&all)].concat()),
        seed("mac_plist", "comment", [&[0][..], &tags::write_comment(b"by hand, and long")].concat()),
    ]
}

fn archives() -> Vec<Seed> {
    let file = BinHex {
        name: b"notes".to_vec(),
        finder_info: info(),
        data: b"hello hello hello\x90\x90".to_vec(),
        resource: resource::blank().to_vec(),
    };
    let binary = MacBinary {
        variant: Variant::Three,
        name: b"notes".to_vec(),
        finder_info: info(),
        protected: false,
        data_len: 5,
        resource_len: 0,
        created: None,
        modified: None,
        comment_len: 0,
        secondary_len: 0,
    };
    let mut whole = binary.build().unwrap();
    whole.extend(b"hello");
    whole.resize(256, 0);
    vec![seed("mac_archives", "binhex", file.encode().unwrap()), seed("mac_archives", "macbinary", whole)]
}
