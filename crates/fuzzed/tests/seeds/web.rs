//! The requests of the API: each has a seed that passes its decoder.

use std::path::Path;

use web::testing::{Fixture, job_kinds, requests};

/// The seeds for what an administrator sends.
fn seeds() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/web_requests");
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let text = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path()).ok();
    entries.filter_map(|entry| Some((entry.file_name().into_string().unwrap(), text(entry)?))).collect()
}

/// Whether a path is one of the document, which has `{id}` for a part.
fn is_of(path: &str, pattern: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let (parts, wanted): (Vec<_>, Vec<_>) = (path.split('/').collect(), pattern.split('/').collect());
    parts.len() == wanted.len()
        && parts.iter().zip(&wanted).all(|(part, wanted)| wanted.starts_with('{') || part == wanted)
}

#[test]
fn each_request_of_the_api_has_a_seed_that_passes_its_decoder() {
    let seeds = seeds();
    for (method, pattern) in requests() {
        let has = |(_, text): &(String, String)| {
            let first = text.lines().next().and_then(|line| line.split_once(' '));
            first.is_some_and(|(word, path)| word == method && is_of(path, &pattern))
        };
        assert!(seeds.iter().any(has), "no file of fuzz/corpus/web_requests is a {method} {pattern}");
    }
    for kind in job_kinds() {
        let word = format!("\"kind\": \"{kind}\"");
        assert!(seeds.iter().any(|(_, text)| text.contains(&word)), "no seed starts a job {kind}");
    }
}

#[test]
fn seeds_of_requests_are_not_refused_by_their_form() {
    for (name, text) in seeds() {
        // Found by the fuzzer, or refused on purpose.
        if text.lines().next().is_none_or(|line| !line.ends_with(char::is_alphanumeric)) || name == "site" {
            continue;
        }
        let status = Fixture::new().request(&text).map(|status| status.as_u16());
        assert!(
            status.is_some_and(|status| ![400, 405, 415, 422].contains(&status)),
            "{name}: {status:?} {text}"
        );
    }
}
