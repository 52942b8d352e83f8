//! Files of real Macs and old servers, as a Mac would store them on a server: each file of the shared corpus, with the
//! Finder info, the resource fork and the attributes that are in it. Where these are comes from the corpus's manifest, which
//! another program has made.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::content::{Data, LayoutItem, finder_info, stream_of};
use crate::process;

/// The folder of the corpus, if it is there.
pub fn folder() -> Option<PathBuf> {
    let beside = || process::root().join("../shared");
    let shared = std::env::var_os("FOURFOLD_SHARED").map_or_else(beside, PathBuf::from);
    Some(shared.join("data/mac")).filter(|folder| folder.join("MANIFEST.json").exists())
}

/// All files of the corpus.
pub fn items(folder: &Path) -> Result<Vec<LayoutItem>> {
    let manifest: Value = serde_json::from_slice(&fs::read(folder.join("MANIFEST.json"))?)?;
    let files = manifest["files"].as_array().context("a manifest without files")?;
    files.iter().enumerate().map(|(number, file)| item(folder, number, file)).collect()
}

fn item(folder: &Path, number: usize, file: &Value) -> Result<LayoutItem> {
    let bytes = fs::read(folder.join(file["file"].as_str().context("a file without a name")?))?;
    let facts = &file["parsed"];
    let part = |at: &Value, length: &Value| {
        let (at, length) = (at.as_u64()? as usize, length.as_u64()? as usize);
        bytes.get(at..at.checked_add(length)?).map(<[u8]>::to_vec)
    };
    let (mut info, mut resource, mut streams) = (None, None, Vec::new());
    match facts["format"].as_str() {
        Some("AppleDouble" | "AppleSingle") => {
            let entries = facts["entries"].as_array().into_iter().flatten();
            for entry in entries {
                match entry["id"].as_u64() {
                    Some(9) => info = facts["finder_info"]["hex"].as_str().map(unhex),
                    Some(2) => resource = part(&entry["offset"], &entry["length"]),
                    _ => {}
                }
            }
            for attribute in facts["attr"]["xattrs"].as_array().into_iter().flatten() {
                let name = attribute["name"].as_str().context("an attribute without a name")?;
                let value = part(&attribute["offset"], &attribute["size"]).context("an attribute outside")?;
                streams.push((stream_of(name), value));
            }
        }
        Some("MacBinary") => {
            // MacBinary II: type, creator and flags from 65 on; the data behind 128 bytes, in blocks of as many.
            let data = facts["data_len"].as_u64().unwrap_or(0).next_multiple_of(128);
            info = bytes.get(65..74).map(|bytes| [bytes, &[0; 23]].concat());
            resource = part(&Value::from(128 + data), &facts["rsrc_len"]);
        }
        Some("raw resource fork") => resource = Some(bytes.clone()),
        Some("Finder info record") => info = Some(bytes.clone()),
        _ => {}
    }
    let blank = b"This resource fork intentionally left blank";
    let is_none = |fork: &[u8]| fork.is_empty() || fork.windows(blank.len()).any(|bytes| bytes == blank);
    if let Some(fork) = resource.filter(|fork| !is_none(fork)) {
        streams.insert(0, ("AFP_Resource".into(), fork));
    }
    // A Mac does not store Finder info that says nothing, nor attributes without a value.
    if let Some(info) = info.filter(|info| info.iter().any(|byte| *byte != 0)) {
        streams.insert(0, ("AFP_AfpInfo".into(), finder_info(&info)));
    }
    streams.retain(|(_, value)| !value.is_empty());
    Ok(LayoutItem { name: format!("mac{number:03}"), data: Data::File(bytes), streams })
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}
