use super::*;

#[test]
fn what_was_typed_ends_at_the_first_zero_and_may_be_macroman() {
    assert_eq!(typed(b"abc\0def"), "abc");
    assert_eq!(typed("a\u{308}".as_bytes()), "\u{e4}");
    assert_eq!(typed(&[b'k', 0x8a, b's', b'e']), "k\u{e4}se"); // Inside Macintosh, "Roman Character Set"
    assert_eq!(typed(b""), "");
}
