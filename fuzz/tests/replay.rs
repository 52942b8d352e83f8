//! Every committed input, and every prefix of it, through its target.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fourfold_fuzz::TARGETS;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
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

#[test]
fn each_target_has_a_function_a_binary_and_a_corpus() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names(&folder("corpus")), targets);
    let binaries = names(&folder("fuzz_targets"));
    assert_eq!(binaries, targets.iter().map(|name| format!("{name}.rs")).collect());
}
