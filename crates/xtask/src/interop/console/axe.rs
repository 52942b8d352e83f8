//! axe-core, which looks whether people who see or move otherwise can use a page: by npm, at a version that is named here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::browser::Appearance;
use super::checks::{PAGES, Scene};
use crate::process;

/// The package, and the SHA-256 of what it is used for.
const PACKAGE: &str = "axe-core@4.11.0";
const SCRIPT: &str = "package/axe.min.js";
const SUM: &str = "e9e5863c33a874f09bc01acd9234b7e3c871479f5eef8802fa582544465e6d01";
/// How long npm may take.
const LIMIT: Duration = Duration::from_secs(120);
/// What each page is looked at in, with the rules that count there; none: all of them. What is in a page does not depend on its colours
/// and its size.
const LOOKS: [(Appearance, &[&str]); 4] = [
    (Appearance { width: 1280, height: 860, dark: false }, &[]),
    (Appearance { width: 1280, height: 860, dark: true }, &["color-contrast"]),
    (Appearance { width: 390, height: 844, dark: true }, &["color-contrast"]),
    (Appearance { width: 390, height: 844, dark: false }, &["color-contrast"]),
];

fn place() -> PathBuf {
    process::root().join("target/axe").join(PACKAGE)
}

/// Fetches the script, once. That needs the outside network.
pub fn fetch() -> Result<()> {
    let folder = place();
    if folder.join(SCRIPT).is_file() {
        return Ok(());
    }
    let npm = process::find("npm").context("npm is not installed")?;
    std::fs::create_dir_all(&folder)?;
    let place = folder.display().to_string();
    process::stdout_of(npm, &["pack", "--silent", "--pack-destination", &place, PACKAGE], LIMIT)?;
    let packed = folder.join(format!("{}.tgz", PACKAGE.replace('@', "-"))).display().to_string();
    process::stdout_of("tar", &["-xf", &packed, "-C", &place, SCRIPT], LIMIT)?;
    Ok(())
}

/// The script that was fetched.
fn script() -> Result<PathBuf> {
    let file = place().join(SCRIPT);
    ensure!(file.is_file(), "npm has not fetched it: see above");
    check(&file)?;
    Ok(file)
}

fn check(file: &Path) -> Result<()> {
    let sum: String = Sha256::digest(std::fs::read(file)?).iter().map(|byte| format!("{byte:02x}")).collect();
    ensure!(sum == SUM, "{} is another file than expected: remove it", file.display());
    Ok(())
}

/// Each page in both schemes and sizes.
pub fn each_page(scene: &mut Scene) -> Result<()> {
    let script = std::fs::read_to_string(script()?)?;
    scene.browser.evaluate(&format!("{script}; typeof axe.run"))?;
    let mut found = Vec::new();
    for page in PAGES {
        scene.open(page)?;
        for (look, rules) in LOOKS {
            scene.browser.look(look)?;
            for violation in violations(scene, rules)? {
                let scheme = if look.dark { "dark" } else { "light" };
                found.push(format!("{page} ({} pixels, {scheme}): {violation}", look.width));
            }
        }
    }
    scene.browser.look(LOOKS[0].0)?;
    ensure!(found.is_empty(), "axe finds {}:\n{}", found.len(), found.join("\n"));
    scene.expect_no_errors()
}

fn violations(scene: &mut Scene, rules: &[&str]) -> Result<Vec<String>> {
    let only = if rules.is_empty() { Value::Null } else { json!({ "type": "rule", "values": rules }) };
    let options = match only {
        Value::Null => json!({ "resultTypes": ["violations"] }),
        only => json!({ "resultTypes": ["violations"], "runOnly": only }),
    };
    let found = scene.browser.evaluate(&format!(
        "axe.run(document, {options}).then(({{ violations }}) => violations.map((one) => `${{one.id}}: ${{one.nodes.slice(0, 3).map((node) => node.target.join(' ')).join(', ')}}`))"
    ))?;
    Ok(serde_json::from_value(found)?)
}
