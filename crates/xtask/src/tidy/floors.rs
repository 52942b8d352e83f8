//! Floors: the modules of a crate lie on one another. A module imports from its own floor and from lower ones. What an import
//! names counts, also through a name that `lib.rs` exports again; the tests of a module may use every floor.

use std::collections::HashMap;

use super::Violation;
use super::source::{CodeToken, Source, is_word};

/// A floor: its name, and its modules. A module is on the floor that names it, or else the nearest module above it.
type Floor = (&'static str, &'static [&'static str]);

/// The floors of crates, the lowest first. Each module of these crates is on one.
const FLOORS: &[(&str, &[Floor])] = &[
    (
        "vfs",
        &[
            (
                "store",
                &[
                    "acl",
                    "backend",
                    "caches",
                    "caller",
                    "index",
                    "payload",
                    "permission",
                    "pool",
                    "quota",
                    "ranks",
                    "traffic",
                ],
            ),
            ("forks", &["streams"]),
            (
                "tree",
                &[
                    "access",
                    "arriving",
                    "backups",
                    "changing",
                    "described",
                    "faces",
                    "finding",
                    "homes",
                    "image_source",
                    "listing",
                    "local",
                    "open",
                    "restoring",
                    "scrub",
                    "searching",
                    "site",
                    "volume",
                ],
            ),
        ],
    ),
    (
        "afp",
        &[
            ("wire", &["darwin_acl", "ranks", "wire"]),
            ("ids", &["catalogue"]),
            ("sessions", &["server", "client"]),
            AFP_FRAMES,
        ],
    ),
    ("smb", &[("wire", &["ranks", "wire"]), ("sessions", &["server", "client"]), SMB_FRAMES]),
    ("nfs", &[("wire", &["ranks", "wire"]), ("programs", &["server"]), ("transports", NFS_TRANSPORTS)]),
    (
        "appletalk",
        &[
            ("wire", &["address", "name", "wire"]),
            ("protocols", &["aarp", "asp", "atp", "candidates", "limits", "llap", "nbp", "rtmp", "zip"]),
            ("stack", &["stack"]),
            ("edges", &["links"]),
        ],
    ),
];

/// What takes messages from connections and chooses the command. Commands and the state of connections do not know it.
const AFP_FRAMES: Floor = ("frames", &["server::dispatch", "server::frames"]);
const SMB_FRAMES: Floor = ("frames", &["server::chain", "server::dispatch", "server::frames"]);
const NFS_TRANSPORTS: &[&str] = &["server::datagram", "server::stream", "server::v4::operations"];

pub fn check(sources: &[Source]) -> Vec<Violation> {
    FLOORS.iter().flat_map(|(name, floors)| of_crate(name, floors, sources)).collect()
}

fn of_crate(name: &str, floors: &[Floor], sources: &[Source]) -> Vec<Violation> {
    let root = format!("crates/{name}/src/");
    let files = || sources.iter().filter_map(|source| Some((source, source.path.strip_prefix(&root)?)));
    let exported: HashMap<String, Vec<String>> = files()
        .filter(|(_, path)| *path == "lib.rs")
        .flat_map(|(source, _)| exports(&source.tokens))
        .collect();
    let mut findings = Vec::new();
    for (source, path) in files() {
        let module = module_of(path);
        if module.is_empty() || source.is_test() || module.last().is_some_and(|last| last == "testing") {
            continue;
        }
        let finding = |line, what| Violation { file: source.path.clone(), line, what };
        let Some(own) = floor_of(floors, &module) else {
            findings.push(finding(1, format!("{} is on no floor of {name}", module.join("::"))));
            continue;
        };
        for (mut target, line) in imports(&source.tokens, &module) {
            if let Some(meant) = target.first().and_then(|first| exported.get(first)) {
                target = meant.clone();
            }
            let is_above = floor_of(floors, &target).is_some_and(|floor| floor > own);
            if is_above && !target.starts_with(&module) {
                let above = floor_of(floors, &target).map_or("", |floor| floors[floor].0);
                let (own, target) = (floors[own].0, target.join("::"));
                findings.push(finding(line, format!("{own} imports {target} of the higher floor {above}")));
            }
        }
    }
    findings
}

/// The module of a file, by its path from `src`. Empty for the root of the crate.
fn module_of(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    parts.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
    parts
}

/// The floor of a path, as an index: that of the longest module in the table that the path begins with.
fn floor_of(floors: &[Floor], path: &[String]) -> Option<usize> {
    let named =
        floors.iter().enumerate().flat_map(|(at, (_, modules))| modules.iter().map(move |m| (at, *m)));
    let covers = |module: &str| {
        let mut parts = path.iter();
        module.split("::").all(|part| parts.next().is_some_and(|at| at == part))
    };
    named.filter(|(_, module)| covers(module)).max_by_key(|(_, module)| module.len()).map(|(at, _)| at)
}

/// The names that `lib.rs` exports again, with what they mean.
fn exports(tokens: &[CodeToken]) -> Vec<(String, Vec<String>)> {
    let mut names = Vec::new();
    for at in 0..tokens.len() {
        if tokens[at].text == "use" {
            let mut paths = Vec::new();
            path(tokens, at + 1, Vec::new(), &mut paths);
            names.extend(paths.into_iter().map(|found| (found.name, without_roots(found.path, &[]))));
        }
    }
    names
}

/// The paths that begin with `crate`, `super` or `self`, from the root of the crate, with their lines.
fn imports(tokens: &[CodeToken], module: &[String]) -> Vec<(Vec<String>, usize)> {
    let mut all = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = |by: usize| at.checked_sub(by).map_or("", |at| &tokens[at].text);
        let in_scope = if before(1) == "in" { 2 } else { 1 };
        let is_visibility = before(in_scope) == "(" && before(in_scope + 1) == "pub";
        let is_start = matches!(token.text.as_str(), "crate" | "super" | "self") && before(1) != ":";
        if is_start && !is_visibility {
            let mut paths = Vec::new();
            path(tokens, at, Vec::new(), &mut paths);
            let is_longer = |found: &NamedPath| found.path.len() > 1;
            let found = paths.into_iter().filter(is_longer);
            all.extend(found.map(|found| (without_roots(found.path, module), found.line)));
        }
    }
    all
}

/// A path as it stands in a file, and the name that it gets there.
struct NamedPath {
    path: Vec<String>,
    name: String,
    line: usize,
}

/// Reads the path or the tree of paths at `at` after `above`. Answers where it ends.
fn path(tokens: &[CodeToken], mut at: usize, mut above: Vec<String>, found: &mut Vec<NamedPath>) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let line = tokens.get(at).map_or(0, |token| token.line);
    loop {
        match text(at) {
            "{" => {
                at += 1;
                while !matches!(text(at), "}" | "") {
                    at = path(tokens, at, above.clone(), found).max(at + 1);
                    at += usize::from(text(at) == ",");
                }
                return at + 1;
            }
            word if is_word(word) || word == "*" => above.push(word.to_owned()),
            _ => return at,
        }
        at += 1;
        let goes_on = text(at) == ":" && text(at + 1) == ":" && text(at + 2) != "<";
        if !goes_on {
            break;
        }
        at += 2;
    }
    let mut name = above.last().cloned().unwrap_or_default();
    if text(at) == "as" {
        name = text(at + 1).to_owned();
        at += 2;
    }
    found.push(NamedPath { path: above, name, line });
    at
}

/// A path from the root of the crate, for one that stands in `module`.
fn without_roots(path: Vec<String>, module: &[String]) -> Vec<String> {
    let mut absolute = module.to_vec();
    for part in path {
        match part.as_str() {
            "crate" => absolute.clear(),
            "super" => _ = absolute.pop(),
            "self" | "*" => {}
            _ => absolute.push(part),
        }
    }
    absolute
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUSE: &[Floor] = &[("cellar", &["stove", "coal"]), ("hall", &["door", "stove::pipe"])];

    fn whats(files: &[(&str, &str)]) -> Vec<String> {
        let parse =
            |(path, text): &(&str, &str)| Source::parse(&format!("crates/x/src/{path}"), text).unwrap();
        let sources: Vec<_> = files.iter().map(parse).collect();
        let shown = |found: Violation| format!("{}:{}: {}", &found.file[13..], found.line, found.what);
        of_crate("x", HOUSE, &sources).into_iter().map(shown).collect()
    }

    #[test]
    fn a_module_imports_from_its_floor_and_lower_ones() {
        let door = "use crate::stove::{Fire, pipe::Smoke};\nfn a() { super::coal::burn(); }";
        let stove =
            "use super::coal::{self, Coal};\npub(in crate::door) fn b() {}\nfn c() { d(crate::coal::e()) }";
        assert_eq!(whats(&[("door.rs", door), ("stove.rs", stove)]), [""; 0]);
    }

    #[test]
    fn an_import_from_a_higher_floor_is_a_finding() {
        let higher = "cellar imports door::Bell of the higher floor hall";
        for import in
            ["use crate::door::Bell;", "use super::door::Bell as B;", "fn a() { b(crate::door::Bell) }"]
        {
            assert_eq!(whats(&[("coal.rs", import)]), [format!("coal.rs:1: {higher}")], "{import}");
        }
        let tree = "use crate::{\n    coal::Coal,\n    door::{Bell},\n};";
        assert_eq!(whats(&[("stove/mod.rs", tree)]), [format!("stove/mod.rs:3: {higher}")]);
    }

    #[test]
    fn a_name_that_the_root_exports_again_counts_as_what_it_means() {
        let root = ("lib.rs", "mod coal;\nmod door;\npub use door::{Bell as Ring, Key};");
        let higher = "cellar imports door::Bell of the higher floor hall";
        for import in ["use crate::Ring;", "use super::{Ring};"] {
            assert_eq!(whats(&[root, ("coal.rs", import)]), [format!("coal.rs:1: {higher}")], "{import}");
        }
    }

    #[test]
    fn a_part_of_a_module_can_be_on_another_floor() {
        let findings = whats(&[("coal.rs", "use crate::stove::pipe::Smoke;\nuse crate::stove::Fire;")]);
        assert_eq!(findings, ["coal.rs:1: cellar imports stove::pipe::Smoke of the higher floor hall"]);
        let own = [
            ("stove.rs", "mod pipe;\npub use self::pipe::Smoke;"),
            ("stove/pipe.rs", "use crate::door::Key;"),
        ];
        assert_eq!(whats(&own), [""; 0]);
    }

    #[test]
    fn tests_may_use_every_floor_and_each_module_has_one() {
        let tested = "#[cfg(test)]\nmod tests {\n    use crate::door::Bell;\n}";
        assert_eq!(whats(&[("coal.rs", tested), ("coal/tests.rs", "use crate::door::Bell;")]), [""; 0]);
        assert_eq!(whats(&[("attic.rs", "")]), ["attic.rs:1: attic is on no floor of x"]);
    }
}
