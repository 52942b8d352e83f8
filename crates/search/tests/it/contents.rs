//! Words of contents, with a reader that takes each file for plain text.

use std::sync::Arc;

use query::{Attribute, Facts};
use search::{ContentReader, Contents};
use vfs::Result;

use crate::scene::{BOB, EVE, Scene, user};

struct PlainText;

impl ContentReader for PlainText {
    fn is_of_interest(&self, name: &str, length: u64) -> bool {
        name.ends_with(".txt") && length < 10_000
    }

    fn read(
        &self,
        _name: &str,
        length: u64,
        read_at: &mut dyn FnMut(u64, usize) -> Result<Vec<u8>>,
    ) -> Option<Contents> {
        let text = String::from_utf8(read_at(0, length as usize).ok()?).ok()?;
        let mut facts = Facts::default();
        facts.add_text(Attribute::Title, text.lines().next().unwrap_or_default());
        Some(Contents { facts, text })
    }
}

fn scene() -> Scene {
    let mut scene = Scene::without_index();
    scene.mode("", 0o755);
    scene.contents = Some(Arc::new(PlainText));
    scene.file("one.txt", "Spring\nthe turnover of the year".as_bytes());
    scene.file("two.txt", "夏\n東京の天気予報".as_bytes());
    scene.file("three.bin", b"turnover");
    scene.file_of(BOB, 0o600, "secret.txt", b"Winter\nthe turnover of bob");
    scene.start();
    scene.settle();
    scene
}

#[test]
fn words_of_contents_are_found() {
    let scene = scene();
    for (text, expected) in [
        ("text:turnover year", &["one.txt"][..]),
        ("turnov", &["one.txt", "secret.txt"]),
        ("text:天気", &["two.txt"]),
        ("title:spring", &["one.txt"]),
        ("has:text -turnover", &["two.txt"]),
        ("text:turnove?", &["one.txt", "secret.txt"]),
        ("text:urnover", &[]),
    ] {
        scene.finds(text, expected);
    }
}

#[test]
fn the_contents_of_a_file_count_for_those_who_may_read_it() {
    let scene = scene();
    scene.finds("turnover", &["one.txt", "secret.txt"]);
    assert_eq!(scene.found_by(&user(EVE), "turnover"), ["one.txt"]);
    assert_eq!(scene.found_by(&user(EVE), "title:winter"), [""; 0]);
    assert_eq!(scene.found_by(&user(EVE), "secret"), ["secret.txt"], "its name is no secret");
    assert_eq!(scene.found_by(&user(BOB), "turnover"), ["one.txt", "secret.txt"]);
}

#[test]
fn what_a_file_said_before_is_not_found() {
    let scene = scene();
    scene.finds("text:year", &["one.txt"]);
    scene.write("one.txt", b"Summer\nthe holidays of the ...");
    assert_eq!(scene.found("text:year"), [""; 0], "also before the index has seen the change");
    scene.finds("text:holidays", &["one.txt"]);
}

#[test]
fn a_phrase_is_found_where_its_words_are_side_by_side() {
    let mut scene = Scene::without_index();
    scene.contents = Some(Arc::new(PlainText));
    scene.file("side by side.txt", b"The Annual\nreport, of 2024");
    scene.file("apart.txt", b"annual dues and a report");
    scene.file("annual report.txt", b"nothing");
    scene.start();
    scene.settle();
    let both = ["annual report.txt", "side by side.txt"];
    for _ in ["not written", "in a segment"] {
        scene.finds("annual report", &["annual report.txt", "apart.txt", "side by side.txt"]);
        scene.finds("\"annual report\"", &both);
        scene.finds("text:\"annual report\"", &["side by side.txt"]);
        scene.finds("-text:\"annual report\" has:text", &["annual report.txt", "apart.txt"]);
        scene.stop();
        scene.start();
    }
}
