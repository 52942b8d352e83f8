//! What the person who wrote LUNs into the settings gets to read: the exact lines.

use std::path::Path;

use admin::Settings;
use admin::settings::Arguments;

/// Loads `lun` below a share of the folder `a`, which has the image `x.img` of 8 KiB, a folder `d`, and the server's own
/// file of the LUN "made", of 1 MiB.
fn load(lun: &str) -> Result<Settings, Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let share = folder.path().join("a");
    std::fs::create_dir_all(share.join("d")).unwrap();
    std::fs::create_dir(share.join(".fourfold-luns")).unwrap();
    std::fs::write(share.join(".fourfold-luns/made.img"), vec![0; 1 << 20]).unwrap();
    std::fs::write(share.join("x.img"), [0; 8192]).unwrap();
    std::fs::write(
        folder.path().join("fourfold.toml"),
        format!("[[share]]\nname = \"A\"\npath = \"a\"\n{lun}\n"),
    )
    .unwrap();
    Settings::load(&Arguments::new(false, folder.path().into()))
        .map_err(|all| all.iter().map(|line| plain(&line.to_string(), folder.path())).collect())
}

fn plain(line: &str, folder: &Path) -> String {
    line.replace(&folder.canonicalize().unwrap().display().to_string(), "TMP")
}

/// `(what is written in the LUN, the lines)`.
const TABLE: &[(&str, &[&str])] = &[
    ("size = \"1 GiB\"", &["fourfold.toml:4:1: error: [[share.lun]] has no `name`; add `name = \"video\"`"]),
    (
        "name = \"My disk\"\nsize = \"1 GiB\"",
        &[
            "fourfold.toml:5:1: error: `name` must be a name of 1 to 64 letters and digits of ASCII, \"-\", \"_\" and \
             \".\", beginning with a letter or digit, not \"My disk\"; write `name = \"My-disk\"`",
        ],
    ),
    (
        "name = \"v\"",
        &[
            "fourfold.toml:5:1: error: the LUN \"v\" is not there yet, and has no `size`; add `size = \"1 TiB\"` to have it made",
        ],
    ),
    (
        "name = \"v\"\nsize = \"many\"",
        &[
            "fourfold.toml:6:1: error: `size` must be a size such as \"256 MiB\", not \"many\"; write `size = \"2 TiB\"`",
            "fourfold.toml:5:1: error: the LUN \"v\" is not there yet, and has no `size`; add `size = \"1 TiB\"` to have it made",
        ],
    ),
    (
        "name = \"v\"\nsize = 3",
        &[
            "fourfold.toml:6:1: error: the LUN \"v\" would have 4 KiB, and the smallest has 1 MiB; write the size with its \
             unit: `size = \"2 TiB\"`",
        ],
    ),
    (
        "name = \"made\"\nsize = \"512 KiB\"",
        &["fourfold.toml:6:1: error: the LUN \"made\" has 1 MiB already, and `size` is 512 KiB; write \
             `size = \"1 MiB\"`; `fourfold lun resize --shrink` makes it smaller"],
    ),
    (
        "name = \"v\"\nsize = \"1 GiB\"\nblock-size = 1024",
        &["fourfold.toml:7:1: error: `block-size` must be 512 or 4096, not 1024; write `block-size = 512`"],
    ),
    (
        "name = \"v\"\nsize = \"1 GiB\"\nblock-size = \"4 KiB\"",
        &[
            "fourfold.toml:7:1: error: `block-size` must be 512 or 4096, not \"4 KiB\"; write `block-size = 4096`",
        ],
    ),
    (
        "name = \"v\"\nfile = \"../x.img\"",
        &[
            "fourfold.toml:6:1: error: `../x.img` does not lie inside the share; write a path inside the share, from its \
             folder on",
        ],
    ),
    (
        "name = \"v\"\nfile = \".fourfold-luns/made.img\"",
        &[
            "fourfold.toml:6:1: error: `.fourfold-luns/made.img` is the server's own; write a path inside the share, from \
             its folder on",
        ],
    ),
    (
        "name = \"v\"\nfile = \"gone.img\"",
        &[
            "fourfold.toml:6:1: error: the file `TMP/a/gone.img` does not exist; write the path of a disk image, or leave \
             `file` out to have one made",
        ],
    ),
    (
        "name = \"v\"\nfile = \"d\"",
        &["fourfold.toml:6:1: error: `TMP/a/d` is not a file; write the path of a disk image"],
    ),
    (
        "name = \"v\"\nsize = \"1 GiB\"\n[[share.lun]]\nname = \"V\"\nsize = \"1 GiB\"",
        &[
            "fourfold.toml:8:1: error: there are two LUNs \"V\" in the share; the other is at fourfold.toml:5:1; give one \
             of them another name",
        ],
    ),
    (
        "name = \"v\"\nsize = \"1 GiB\"\nnumber = 3\n[[share.lun]]\nname = \"w\"\nsize = \"1 GiB\"\nnumber = 3\ntarget = \"v\"",
        &[
            "fourfold.toml:11:1: error: the LUN \"v\" has number 3 of the target already; write another number, or none \
             to get one that is free",
        ],
    ),
    (
        "name = \"v\"\nfile = \"x.img\"\n[[share.lun]]\nname = \"w\"\nfile = \"x.img\"",
        &[
            "fourfold.toml:9:1: error: the LUN \"v\" at fourfold.toml:5:1 has the same file; remove one of them: two disks \
             cannot have the same blocks",
        ],
    ),
    (
        "name = \"v\"\nsize = \"1 GiB\"\ninitiators = [\"iqn.1 \"]",
        &[
            "fourfold.toml:7:15: error: `initiators` must be a list of names of initiators, in which * matches any \
             characters, not \"iqn.1 \"; write `\"iqn.1\"`",
        ],
    ),
    (
        "name = \"v\"\nsize = \"1 GiB\"\nbacking-store = \"x.img\"",
        &[
            "fourfold.toml:7:1: error: [[share.lun]] has no setting `backing-store`; write `file = \"images/disk.img\"`",
        ],
    ),
    (
        "name = \"v\"\nsize = \"1 GiB\"\n[server]\niscsi-name = \"storage\"",
        &[
            "fourfold.toml:8:1: error: `iscsi-name` must be \"iqn.\", a year and month, and a domain from its end, of at most \
             100 characters a-z 0-9 - . :, not \"storage\"; write `iscsi-name = \"iqn.2026-11.com.example.storage\"`",
        ],
    ),
    (
        "name = \"v\"\nsize = \"1 GiB\"\n[server]\niscsi-name = \"iqn.2026-11.com.Example\"",
        &[
            "fourfold.toml:8:1: error: `iscsi-name` must be \"iqn.\", a year and month, and a domain from its end, of at most \
             100 characters a-z 0-9 - . :, not \"iqn.2026-11.com.Example\"; write `iscsi-name = \"iqn.2026-11.com.example\"`",
        ],
    ),
];

#[test]
fn every_mistake_has_its_line() {
    for (written, expected) in TABLE {
        let text = format!("[[share.lun]]\n{written}");
        let mut lines = load(&text).expect_err("must be refused");
        let mut expected: Vec<&str> = expected.to_vec();
        lines.sort();
        expected.sort_unstable();
        assert_eq!(lines, expected, "{text}");
    }
}

#[test]
fn a_lun_has_what_was_written_and_the_rest_by_default() {
    let text = "[[share.lun]]\nname = \"video\"\nsize = \"2 TB\"\n[[share.lun]]\nname = \"old\"\nfile = \"x.img\"\n\
                block-size = 4096\nread-only = true\ntarget = \"vms\"\nnumber = 7\ninitiators = [\"IQN.2000-01.a:*\"]\n\
                readers = [\"*\"]\n[server]\niscsi-name = \"iqn.2026-11.com.example\"\niscsi-account = \"storage\"";
    let settings = load(text).unwrap();
    let [video, old] = &settings.shares[0].luns[..] else { panic!("{:?}", settings.shares[0].luns) };
    assert_eq!(
        (video.size, video.block_size, video.target()),
        (Some(2_000_000_000_000_u64.next_multiple_of(4096)), 512, "video")
    );
    assert!(
        !video.read_only && video.file.is_none() && video.number.is_none() && video.initiators.is_empty()
    );
    assert_eq!((old.size, old.block_size, old.read_only, old.number), (None, 4096, true, Some(7)));
    assert_eq!(
        (old.target(), &*old.initiators, &*old.readers),
        ("vms", &["iqn.2000-01.a:*".to_owned()][..], &["*".to_owned()][..])
    );
    assert_eq!(old.file.as_deref(), Some(Path::new("x.img")));
    assert_eq!(settings.server.protocols.iscsi.name.as_deref(), Some("iqn.2026-11.com.example"));
    assert_eq!(settings.server.protocols.iscsi.account.as_deref(), Some("storage"));
}

#[test]
fn a_lun_that_is_there_needs_no_size_and_a_larger_one_lets_it_grow() {
    let size =
        |text: &str| load(&format!("[[share.lun]]\nname = \"made\"\n{text}")).unwrap().shares[0].luns[0].size;
    assert_eq!(
        (size(""), size("size = \"1 MiB\""), size("size = \"5 MiB\"")),
        (None, Some(1 << 20), Some(5 << 20))
    );
}
