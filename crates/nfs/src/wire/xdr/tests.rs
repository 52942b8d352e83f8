use super::*;

/// The encoding of `value`.
pub(crate) fn bytes_of(value: &impl Encode) -> Vec<u8> {
    let mut w = Writer::new();
    value.encode(&mut w);
    w.into_bytes()
}

/// The value that `bytes` encode, without bytes left over.
pub(crate) fn value_of<'a, T: Decode<'a>>(bytes: &'a [u8]) -> Result<T, Malformed> {
    arguments(&mut Reader::new(bytes))
}

#[test]
fn opaque_is_length_bytes_and_padding_to_four() {
    let bytes = [0, 0, 0, 5, b'h', b'e', b'l', b'l', b'o', 0, 0, 0];
    assert_eq!(bytes_of(&Opaque::<8>::new(b"hello")), bytes); // RFC 4506 4.10
    assert_eq!(value_of::<Opaque<'_, 8>>(&bytes).unwrap().0, b"hello");
    assert_eq!(opaque_size(5), 12);
    assert_eq!([0, 1, 2, 3, 4, 5].map(padding), [0, 3, 2, 1, 0, 3]);
}

#[test]
fn content_of_padding_is_tolerated_but_it_must_be_there() {
    assert_eq!(value_of::<Opaque<'_, 8>>(&[0, 0, 0, 1, b'x', 1, 2, 3]).unwrap().0, b"x");
    assert!(value_of::<Opaque<'_, 8>>(&[0, 0, 0, 1, b'x', 0, 0]).is_err());
}

#[test]
fn opaque_over_its_limit_or_past_the_message_is_malformed() {
    assert!(value_of::<Opaque<'_, 4>>(&[0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0]).is_err());
    assert!(value_of::<Opaque<'_, { usize::MAX }>>(&[0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4]).is_err());
}

#[test]
fn boolean_is_zero_or_one() {
    assert_eq!(value_of::<bool>(&[0, 0, 0, 1]), Ok(true));
    assert_eq!(value_of::<bool>(&[0, 0, 0, 0]), Ok(false));
    assert!(value_of::<bool>(&[0, 0, 0, 2]).is_err());
}

#[test]
fn optional_is_a_boolean_and_perhaps_the_value() {
    assert_eq!(bytes_of(&Some(7_u32)), [0, 0, 0, 1, 0, 0, 0, 7]);
    assert_eq!(bytes_of(&None::<u32>), [0, 0, 0, 0]);
    assert_eq!(value_of::<Option<u32>>(&[0, 0, 0, 1, 0, 0, 0, 7]), Ok(Some(7)));
}

#[test]
fn array_count_is_checked_against_the_limit_and_the_message() {
    assert_eq!(&*value_of::<Words<2>>(&[0, 0, 0, 1, 0, 0, 0, 9]).unwrap(), [9]);
    assert!(value_of::<Words<2>>(&[0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3]).is_err());
    assert!(value_of::<Words<2>>(&[0, 0, 0, 2, 0, 0, 0, 1]).is_err());
}

#[test]
fn list_marks_each_item_and_its_end() {
    let bytes = [0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0]; // RFC 4506 4.19
    let mut w = Writer::new();
    put_list(&mut w, [7_u32, 8]);
    assert_eq!(w.as_bytes(), bytes);
    assert_eq!(list::<u32>(&mut Reader::new(&bytes)).unwrap(), [7, 8]);
    assert!(list::<u32>(&mut Reader::new(&bytes[..16])).is_err());
}

#[test]
fn bytes_after_the_arguments_are_an_error() {
    assert!(value_of::<u32>(&[0, 0, 0, 1, 0]).is_err());
    assert!(value_of::<()>(&[0, 0, 0, 0]).is_err());
}
