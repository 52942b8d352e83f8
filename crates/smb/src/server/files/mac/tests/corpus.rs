//! The shared corpus of real `._` files. A client that does not use AAPL writes them beside an
//! ordinary file, and a client that uses AAPL reads them. The expected results are those of an
//! independent parser (the corpus's manifest). The test prints a line and is skipped where the
//! corpus is missing.

#![allow(clippy::print_stdout, reason = "a word")]

use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::streams::{get, put};
use super::*;

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

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    wire::hex::decode_any(text).unwrap()
}

#[tokio::test]
async fn sidecars_of_the_corpus_are_streams_with_the_facts_of_the_manifest() {
    let Some(corpus) = corpus() else { return };
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(corpus.join("MANIFEST.json")).unwrap()).unwrap();
    let service = service();
    let (mut plain, mut mac) = (User::new(&service).await, mac(&service).await);
    let mut looked_at = 0;
    for (at, file) in manifest["files"].as_array().unwrap().iter().enumerate() {
        let facts = &file["parsed"];
        if facts["format"] != "AppleDouble" || facts["endian"] == "little" || !file["damaged"].is_null() {
            continue;
        }
        let sample = file["file"].as_str().unwrap();
        let name = format!("file{at}");
        put(&mut plain, &name, b"data").await;
        let bytes = std::fs::read(corpus.join(sample)).unwrap();
        write_sidecar(&mut plain, &name, &bytes).await;
        check(&mut mac, &name, sample, facts).await;
        looked_at += 1;
    }
    assert!(looked_at >= 60, "{looked_at} samples");
}

async fn write_sidecar(user: &mut User, name: &str, bytes: &[u8]) {
    let file = user.open(&format!("._{name}"), |_| ()).await.unwrap().file;
    for (at, piece) in bytes.chunks(65536).enumerate() {
        assert_eq!(user.write(file, at as u64 * 65536, piece).await, Status::SUCCESS);
    }
    let request = flush::Request { reserved: 0, file };
    assert_eq!(user.call(Command::FLUSH, |w| request.encode(w)).await.status(), Status::SUCCESS);
    user.close(file).await;
}

async fn check(mac: &mut User, name: &str, sample: &str, facts: &Value) {
    let info = facts["finder_info"]["hex"].as_str().map_or(vec![0; 32], unhex);
    // The date added does not belong to the file. Without it the Finder info shows whether the file
    // has any.
    let says_something = info.iter().enumerate().any(|(at, byte)| *byte != 0 && !(20..24).contains(&at));
    match get(mac, &format!("{name}:AFP_AfpInfo")).await {
        Ok(stream) => assert_eq!((stream.len(), &stream[16..48]), (60, &info[..]), "{sample}"),
        Err(status) => assert!(!says_something, "{sample}: {status:?}"),
    }
    let blank = facts["rsrc"]["blank_filler"].as_bool().unwrap_or(false);
    let fork_len = if blank { 0 } else { facts["rsrc_len"].as_u64().unwrap_or(0) };
    match get(mac, &format!("{name}:AFP_Resource")).await {
        Ok(fork) => {
            assert_eq!(fork.len() as u64, fork_len, "{sample}");
            assert_eq!(Some(sha256(&fork).as_str()), facts["rsrc_sha256"].as_str(), "{sample}");
        }
        Err(status) => assert_eq!((status, fork_len), (Status::OBJECT_NAME_NOT_FOUND, 0), "{sample}"),
    }
    assert_eq!(entry(mac, name).await.mac.unwrap().resource_fork_len, fork_len, "{sample}");
    for xattr in facts["attr"]["xattrs"].as_array().into_iter().flatten() {
        let stream = xattr["name"].as_str().unwrap().replace(':', "\u{f022}");
        let size = xattr["size"].as_u64().unwrap();
        match get(mac, &format!("{name}:{stream}")).await {
            Ok(value) => {
                assert_eq!(
                    Some(sha256(&value).as_str()),
                    xattr["value_sha256"].as_str(),
                    "{sample}: {stream}"
                )
            }
            Err(status) => {
                assert_eq!((status, size), (Status::OBJECT_NAME_NOT_FOUND, 0), "{sample}: {stream}")
            }
        }
    }
}
