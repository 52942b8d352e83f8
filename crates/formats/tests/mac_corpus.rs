//! Reads the shared corpus of real Mac files and compares with the facts in its manifest, which an
//! independent parser found. If the corpus is missing, the test is skipped with a message.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::path::{Path, PathBuf};

use formats::mac::apple_double::{AppleDouble, ByteOrder, Container, EntryId};
use formats::mac::binary::{MacBinary, Variant};
use formats::mac::binhex::BinHex;
use formats::mac::fields::Fields;
use formats::mac::portable::{Format, Portable};
use formats::mac::resource::{self, Shape};
use formats::mac::{FinderInfo, Metadata, Problem, StoredParts, netatalk, sidecar, time};
use serde_json::Value;
use sha2::{Digest, Sha256};

struct Sample {
    name: String,
    bytes: Vec<u8>,
    facts: Value,
}

impl Sample {
    fn total(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn number(&self, key: &str) -> u64 {
        self.facts[key].as_u64().unwrap_or_else(|| panic!("{}: no {key}", self.name))
    }
}

fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("FOURFOLD_SHARED").map_or_else(beside, PathBuf::from);
    let corpus = shared.join("data/mac");
    if !corpus.join("MANIFEST.json").exists() {
        println!("skipped: no corpus at {}", corpus.display());
        return None;
    }
    Some(corpus)
}

/// All samples whose parsed format is one of these.
fn samples(formats: &[&str]) -> Vec<Sample> {
    let Some(corpus) = corpus() else { return Vec::new() };
    let manifest = std::fs::read(corpus.join("MANIFEST.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let files = manifest["files"].as_array().unwrap().iter();
    let of_format =
        files.filter(|file| formats.contains(&file["parsed"]["format"].as_str().unwrap_or_default()));
    let samples: Vec<Sample> = of_format
        .map(|file| {
            let name = file["file"].as_str().unwrap().to_owned();
            let bytes = std::fs::read(corpus.join(&name)).unwrap();
            Sample { name, bytes, facts: file["parsed"].clone() }
        })
        .collect();
    assert!(!samples.is_empty(), "the manifest knows none of {formats:?}");
    samples
}

fn sha256(bytes: &[u8]) -> String {
    wire::hex::encode(&Sha256::digest(bytes))
}

fn prefixed(text: &str) -> u32 {
    u32::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap()
}

/// The four characters the manifest gives for a type, which leaves out NULs at the end.
fn code(text: &Value) -> [u8; 4] {
    let mut code = [0; 4];
    let text = text.as_str().unwrap().as_bytes();
    code[..text.len()].copy_from_slice(text);
    code
}

#[test]
fn tables_are_as_the_manifest_says() {
    for sample in samples(&["AppleDouble", "AppleSingle"]) {
        let (name, facts) = (&sample.name, &sample.facts);
        let file = AppleDouble::parse(&sample.bytes, sample.total()).unwrap();
        let container = if facts["format"] == "AppleSingle" { Container::Single } else { Container::Double };
        let order = if facts["endian"] == "little" { ByteOrder::Little } else { ByteOrder::Big };
        assert_eq!((file.container, file.order), (container, order), "{name}");
        assert_eq!(file.version, prefixed(facts["version"].as_str().unwrap()), "{name}");
        let filler = String::from_utf8_lossy(&file.filler).trim_end_matches(['\0', ' ']).to_owned();
        assert_eq!(filler, facts["home_fs"].as_str().unwrap(), "{name}");
        let entry = |entry: &Value| ["id", "offset", "length"].map(|key| entry[key].as_u64().unwrap() as u32);
        let expected: Vec<[u32; 3]> = facts["entries"].as_array().unwrap().iter().map(entry).collect();
        let found: Vec<[u32; 3]> = file.entries.iter().map(|e| [e.id.0, e.offset, e.length]).collect();
        assert_eq!(found, expected, "{name}");
        for (id, key) in [(EntryId::DATA_FORK, "data_sha256"), (EntryId::RESOURCE_FORK, "rsrc_sha256")] {
            assert_eq!(file.bytes(id).map(sha256).as_deref(), facts[key].as_str(), "{name}: {key}");
        }
    }
}

#[test]
fn the_only_problem_of_a_table_is_the_newline_some_tool_appended() {
    for sample in samples(&["AppleDouble", "AppleSingle"]) {
        let file = AppleDouble::parse(&sample.bytes, sample.total()).unwrap();
        let expected = match sample.facts["trailing_bytes"].as_u64() {
            Some(count) => vec![Problem::TrailingBytes(count)],
            None => vec![],
        };
        assert_eq!(file.problems, expected, "{}", sample.name);
    }
}

#[test]
fn entries_mean_what_the_manifest_says() {
    for sample in samples(&["AppleDouble", "AppleSingle"]) {
        let (name, facts) = (&sample.name, &sample.facts);
        let file = AppleDouble::parse(&sample.bytes, sample.total()).unwrap();
        let fields = Fields::read(&file, &mut Vec::new());
        let info = fields.finder_info.map(|info| wire::hex::encode(info.as_bytes()));
        assert_eq!(info.as_deref(), facts["finder_info"]["hex"].as_str(), "{name}");
        assert_eq!(
            fields.real_name.as_deref().map(wire::hex::encode).as_deref(),
            facts["real_name_hex"].as_str(),
            "{name}"
        );
        if let Some(info) = fields.finder_info {
            let flags = u32::from(info.flags().0);
            assert_eq!(flags, prefixed(facts["finder_info"]["flags"].as_str().unwrap()), "{name}");
        }
        if let Some(dates) = facts["dates_raw"].as_array() {
            let date = |at: usize| time::from_2000(prefixed(dates[at].as_str().unwrap()) as i32);
            let found = fields.dates.unwrap();
            assert_eq!(
                [found.created, found.modified, found.backup, found.accessed],
                [0, 1, 2, 3].map(date),
                "{name}"
            );
        }
        for (id, key) in [
            (EntryId::NETATALK_DEV, "netatalk-dev"),
            (EntryId::NETATALK_INO, "netatalk-ino"),
            (EntryId::NETATALK_SYN, "netatalk-syn"),
            (EntryId::NETATALK_ID, "netatalk-id(8053567E)"),
            (EntryId::SERVER_FILE_INFO, "afpinfo"),
            (EntryId::DIRECTORY_ID, "dirid"),
            (EntryId::MAC_FILE_INFO, "macinfo"),
        ] {
            if let Some(expected) = facts[key].as_str() {
                assert_eq!(file.bytes(id).map(wire::hex::encode).as_deref(), Some(expected), "{name}: {key}");
            }
        }
    }
}

#[test]
fn sidecars_give_finder_info_attributes_and_fork() {
    for sample in samples(&["AppleDouble"]) {
        let (name, facts) = (&sample.name, &sample.facts);
        assert!(sidecar::is_sidecar(&sample.bytes), "{name}");
        let head = sidecar::parse(&sample.bytes, sample.total()).unwrap();
        let info = facts["finder_info"]["hex"].as_str().map_or_else(|| "00".repeat(32), str::to_owned);
        assert_eq!(wire::hex::encode(head.finder_info.as_bytes()), info, "{name}");
        let none = Vec::new();
        let expected = facts["attr"]["xattrs"].as_array().unwrap_or(&none);
        assert_eq!(head.xattrs.len(), expected.len(), "{name}");
        for (found, expected) in head.xattrs.iter().zip(expected) {
            let value = found.value.unwrap();
            assert_eq!(found.name, expected["name"].as_str().unwrap().as_bytes(), "{name}");
            assert_eq!((u64::from(found.length), value.len() as u64), {
                let size = expected["size"].as_u64().unwrap();
                (size, size)
            });
            assert_eq!(Some(u64::from(found.offset)), expected["offset"].as_u64(), "{name}");
            assert_eq!(Some(sha256(value).as_str()), expected["value_sha256"].as_str(), "{name}");
            if let Some(value_hex) = expected["value_hex"].as_str() {
                assert_eq!(wire::hex::encode(value), value_hex, "{name}");
            }
        }
        let blank = facts["rsrc"]["blank_filler"].as_bool().unwrap_or(false);
        let fork_len = if blank { 0 } else { facts["rsrc_len"].as_u64().unwrap_or(0) };
        let found = &head.resource_range;
        assert_eq!((head.blank_resource, found.end - found.start), (blank, fork_len), "{name}");
    }
}

/// macOS's own bytes are the model for what is written, but for the debug tag (a file id) and the 4096-byte form.
#[test]
fn sidecars_are_written_byte_for_byte_as_macos_writes_them() {
    let mut compared = 0;
    for sample in samples(&["AppleDouble"]) {
        let head = sidecar::parse(&sample.bytes, sample.total()).unwrap();
        let fork_start = head.resource_range.start as usize;
        let attributes_end = sample.facts["attr"]["total_size"].as_u64();
        let padded = fork_start > 82
            && head
                .xattrs
                .last()
                .is_none_or(|last| u64::from(last.offset + last.length) != fork_start as u64);
        if sample.facts["home_fs"] != "Mac OS X"
            || sample.facts["num_entries"] != 2
            || padded
            || fork_start < 82
        {
            continue;
        }
        let xattrs: Vec<_> = head.xattrs.iter().map(|attr| (attr.name, attr.value.unwrap())).collect();
        let fork_len = sample.number("rsrc_len");
        let (written, problems) = sidecar::synthesize(&head.finder_info, &xattrs, fork_len);
        assert_eq!(problems, [], "{}", sample.name);
        let mut expected = sample.bytes[..fork_start].to_vec();
        if attributes_end.is_some() {
            expected[88..92].fill(0); // debug tag
        }
        assert_eq!(wire::hex::encode(&written), wire::hex::encode(&expected), "{}", sample.name);
        compared += 1;
    }
    assert!(compared >= 20 || corpus().is_none(), "only {compared} samples have this form");
}

/// Netatalk's bytes are the model for what is put on the disk.
#[test]
fn stored_sidecars_are_written_byte_for_byte_as_netatalk_writes_them() {
    for sample in samples(&["AppleDouble"]) {
        if sample.facts["home_fs"] == "Netatalk" && sample.facts["num_entries"] == 2 {
            let head = sidecar::parse(&sample.bytes, sample.total()).unwrap();
            let written = sidecar::stored_header(&head.finder_info, sample.number("rsrc_len"));
            assert_eq!(
                wire::hex::encode(&written),
                wire::hex::encode(&sample.bytes[..82]),
                "{}",
                sample.name
            );
            assert_eq!(head.resource_range, 82..sample.total(), "{}", sample.name);
        }
    }
}

#[test]
fn a_text_in_a_file_called_like_a_sidecar_is_no_sidecar() {
    for sample in samples(&["?"]) {
        assert!(!sidecar::is_sidecar(&sample.bytes), "{}", sample.name);
        assert!(sidecar::parse(&sample.bytes, sample.total()).is_err());
    }
}

#[test]
fn resource_forks_look_as_the_manifest_says() {
    for sample in samples(&["AppleDouble", "AppleSingle", "MacBinary", "raw resource fork"]) {
        let facts = &sample.facts["rsrc"];
        let fork = match sample.facts["format"].as_str().unwrap() {
            "raw resource fork" => sample.bytes.clone(),
            "MacBinary" => {
                cut(&sample.bytes, MacBinary::parse(&sample.bytes, sample.total()).unwrap().resource_range())
            }
            _ => AppleDouble::parse(&sample.bytes, sample.total())
                .unwrap()
                .bytes(EntryId::RESOURCE_FORK)
                .unwrap_or_default()
                .to_vec(),
        };
        let expected = if fork.is_empty() {
            Shape::Empty
        } else if facts["blank_filler"] == true {
            Shape::Blank
        } else if facts["error"].is_string() || facts["apple_iigs_fork"] == true {
            Shape::Foreign
        } else {
            Shape::Whole
        };
        assert_eq!(
            resource::look(&fork[..fork.len().min(286)], fork.len() as u64),
            expected,
            "{}",
            sample.name
        );
        if expected == Shape::Whole {
            assert_eq!(resource::look(&fork, fork.len() as u64 - 1), Shape::Truncated, "{}", sample.name);
        }
    }
}

fn cut(bytes: &[u8], range: std::ops::Range<u64>) -> Vec<u8> {
    bytes[range.start as usize..range.end as usize].to_vec()
}

#[test]
fn netatalk_2_headers_become_the_model_and_can_be_written_again() {
    let mut rewritten = 0;
    for sample in samples(&["AppleDouble"]) {
        if !sample.name.starts_with("netatalk2/") {
            continue;
        }
        let (name, total) = (&sample.name, sample.total());
        let (fields, problems) = netatalk::parse(&sample.bytes).unwrap();
        assert_eq!(problems, [], "{name}");
        let mut written = netatalk::build_header_file(&fields, sample.number("rsrc_len") as u32);
        written.extend_from_slice(&sample.bytes[741..]);
        assert_eq!(netatalk::parse(&written), Ok((fields.clone(), vec![])), "{name}");
        // Rows of entries without bytes have them or not, by version; the bytes themselves are Netatalk's own.
        assert_eq!(wire::hex::encode(&written[182..]), wire::hex::encode(&sample.bytes[182..]), "{name}");
        let parts = StoredParts { netatalk2: Some((&sample.bytes, total)), ..StoredParts::default() };
        let (metadata, problems) = Metadata::from_parts(&parts);
        assert_eq!(problems, [], "{name}");
        assert_eq!(metadata.times.created, fields.dates.unwrap().created, "{name}");
        let (again, _) = Metadata::from_netatalk(&metadata.to_netatalk());
        assert_eq!((again.finder_info, again.times), (metadata.finder_info, metadata.times), "{name}");
        rewritten += 1;
    }
    assert!(rewritten >= 10 || corpus().is_none());
}

#[test]
fn macbinary_headers_and_forks_are_as_the_manifest_says() {
    for sample in samples(&["MacBinary"]) {
        let (name, facts) = (&sample.name, &sample.facts);
        let file = MacBinary::parse(&sample.bytes, sample.total()).unwrap();
        let variant = match facts["variant"].as_str().unwrap() {
            "MacBinary I" => Variant::One,
            "MacBinary II" => Variant::Two,
            _ => Variant::Three,
        };
        assert_eq!(file.variant, variant, "{name}");
        assert_eq!(file.name, facts["name"].as_str().unwrap().as_bytes(), "{name}");
        check_finder(&file.finder_info, facts, name);
        assert_eq!(
            sha256(&cut(&sample.bytes, file.data_range())),
            facts["data_sha256"].as_str().unwrap(),
            "{name}"
        );
        assert_eq!(u64::from(file.resource_len), sample.number("rsrc_len"), "{name}");
        if let Some(expected) = facts["rsrc_sha256"].as_str() {
            assert_eq!(sha256(&cut(&sample.bytes, file.resource_range())), expected, "{name}");
        }
        let again = MacBinary::parse(&file.build().unwrap(), sample.total()).unwrap();
        assert_eq!(again, MacBinary { variant: Variant::Three, ..file }, "{name}");
    }
}

#[test]
fn binhex_texts_decode_and_encode() {
    for sample in samples(&["BinHex4"]) {
        let (name, facts) = (&sample.name, &sample.facts);
        let file = BinHex::decode(&sample.bytes, 1 << 20).unwrap();
        assert_eq!(file.name, facts["name"].as_str().unwrap().as_bytes(), "{name}");
        check_finder(&file.finder_info, facts, name);
        assert_eq!(file.data.len() as u64, sample.number("data_len"), "{name}");
        assert_eq!(sha256(&file.data), facts["data_sha256"].as_str().unwrap(), "{name}");
        assert_eq!(file.resource.len() as u64, sample.number("rsrc_len"), "{name}");
        if let Some(expected) = facts["rsrc_sha256"].as_str() {
            assert_eq!(sha256(&file.resource), expected, "{name}");
        }
        assert_eq!(BinHex::decode(&file.encode().unwrap(), 1 << 20), Ok(file), "{name}");
    }
}

fn check_finder(info: &FinderInfo, facts: &Value, name: &str) {
    let expected = &facts["finder_info"];
    assert_eq!(info.file_type(), code(&expected["type"]), "{name}");
    assert_eq!(info.creator(), code(&expected["creator"]), "{name}");
    assert_eq!(u32::from(info.flags().0), prefixed(expected["flags"].as_str().unwrap()), "{name}");
}

/// Every file of the corpus, cut at every length up to a page, goes through every reader.
#[test]
fn nothing_in_the_corpus_panics_at_any_length() {
    let Some(corpus) = corpus() else { return };
    let folders = std::fs::read_dir(corpus).unwrap().flatten().filter(|entry| entry.path().is_dir());
    for folder in folders {
        for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
            let bytes = std::fs::read(file.path()).unwrap();
            for len in (0..bytes.len().min(200)).chain((200..bytes.len().min(4200)).step_by(61)) {
                let head = &bytes[..len];
                let total = bytes.len() as u64;
                let _ = MacBinary::parse(head, total).map(|file| file.resource_range());
                let _ = BinHex::decode(head, 1 << 16);
                let parts = StoredParts {
                    netatalk: Some(head),
                    netatalk2: Some((head, total)),
                    info_stream: Some(head),
                    finder_info: Some(head),
                    sidecar: Some((head, total)),
                    dosattrib: Some(head),
                    kept: Some(head),
                };
                let (metadata, _) = Metadata::from_parts(&parts);
                assert_eq!(metadata.to_netatalk().len(), netatalk::METADATA_LEN);
            }
        }
    }
}

/// What is read from a file of the corpus and written again in the same form says the same.
#[test]
fn every_portable_file_is_packed_as_it_was_unpacked() {
    let mut counted = std::collections::BTreeMap::new();
    for sample in samples(&["AppleSingle", "AppleDouble", "MacBinary", "BinHex4"]) {
        let Ok((format, file)) = Portable::decode(&sample.bytes, 64 << 20) else { continue };
        *counted.entry(format!("{format:?}")).or_insert(0) += 1;
        let named =
            Portable { name: if file.name.is_empty() { "name".into() } else { file.name.clone() }, ..file };
        let again = Portable::decode(&named.encode(format).unwrap(), 64 << 20).unwrap();
        assert_eq!(again, (format, named.clone()), "{}", sample.name);
        // AppleSingle holds everything.
        assert_eq!(named.lost(Format::AppleSingle), Vec::<&str>::new(), "{}", sample.name);
        let single = Portable::decode(&named.encode(Format::AppleSingle).unwrap(), 0).unwrap();
        assert_eq!(single, (Format::AppleSingle, named), "{}", sample.name);
    }
    println!("packed again: {counted:?}");
    if corpus().is_some() {
        assert!(counted.len() == 4 && counted.values().sum::<i32>() > 60, "{counted:?}");
    }
}
