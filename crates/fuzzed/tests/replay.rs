//! Every committed input, and every prefix of it, through its target.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fourfold_fuzz::TARGETS;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(name)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn no_committed_input_makes_its_target_panic() {
    for (target, run) in TARGETS {
        let corpus = folder("corpus").join(target);
        let inputs = names(&corpus);
        assert!(!inputs.is_empty(), "{target} has no corpus");
        for input in inputs {
            let bytes = std::fs::read(corpus.join(&input)).unwrap();
            println!("{target}/{input}"); // names the input of a failure
            (0..=bytes.len()).for_each(|len| run(&bytes[..len]));
        }
    }
}

/// A little of what `cargo fuzz` does, on any toolchain and the same in every run. `FOURFOLD_CHANGES=spotlight_queries:1000000` makes
/// so many changes of each input of one target.
#[test]
fn no_small_change_of_a_committed_input_makes_its_target_panic() {
    const CHANGES: u64 = 1_000;
    let more = std::env::var("FOURFOLD_CHANGES").ok();
    let more = more.as_deref().map(|text| text.split_once(':').expect("TARGET:NUMBER"));
    let changes = more.map_or(CHANGES, |(_, number)| number.parse().expect("a number"));
    for (target, run) in TARGETS.iter().filter(|(name, _)| more.is_none_or(|(only, _)| only == *name)) {
        let corpus = folder("corpus").join(target);
        for input in names(&corpus) {
            let bytes = std::fs::read(corpus.join(&input)).unwrap();
            for seed in 1..=changes {
                let changed = changed(&bytes, seed);
                if std::panic::catch_unwind(|| run(&changed)).is_err() {
                    panic!("{target}/{input}, change {seed}: {}", changed.escape_ascii());
                }
            }
        }
    }
}

/// `bytes` with a few bytes replaced, doubled or left out.
fn changed(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    const LIKELY: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, b'.', b'#', b':'];
    let mut changed = bytes.to_vec();
    for _ in 0..=random(3) {
        let at = random(changed.len());
        let byte = if random(2) == 0 { LIKELY[random(8)] } else { random(256) as u8 };
        match random(4) {
            0 => changed.insert(at, byte),
            1 if at < changed.len() => drop(changed.remove(at)),
            _ if at < changed.len() => changed[at] = byte,
            _ => {}
        }
    }
    changed
}

#[test]
fn each_target_has_a_function_a_binary_and_a_corpus() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names(&folder("corpus")), targets);
    let binaries = names(&folder("fuzz_targets"));
    assert_eq!(binaries, targets.iter().map(|name| format!("{name}.rs")).collect());
    let manifest = std::fs::read_to_string(folder("Cargo.toml")).unwrap();
    for name in targets {
        let binary = std::fs::read_to_string(folder("fuzz_targets").join(format!("{name}.rs"))).unwrap();
        assert!(binary.contains("\nfourfold_fuzz::target!(fourfold_fuzz::"), "{name} runs nothing");
        let entry = format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\n");
        assert!(manifest.contains(&entry), "{name} is not in fuzz/Cargo.toml");
    }
}
