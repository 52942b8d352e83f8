//! Messages of others, and messages that are wrong.

use super::*;

/// A request for the path of a file, as Samba's client sends it (`mdsearch`, in the tests of its server).
const PATH_OF_A_FILE: &str = "343332313330646d1d00000016000000\
    010000020100000001000002020000000100000203000000\
    0600000704000000\
    6665746368417474726962757465733a666f724f494441727261793a636f6e746578743a000000ea\
    03000084020000000a500000000000000000000000000000\
    01000002040000000100000205000000\
    03000007030000006b4d444974656d506174680000000000\
    0100000206000000\
    03000087080000000100dd0a2000006b0100000000000000\
    0700008800000000\
    0200000a030000000300000a030000000400000c04000000\
    0e00000a010000000f00000c030000001300001a00000000";

fn bytes(hex: &str) -> Vec<u8> {
    wire::hex::decode_any(hex).unwrap()
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

#[test]
fn a_request_of_another_client_is_read() {
    let head = vec![text("fetchAttributes:forOIDArray:context:"), Value::Integer(0x500a), Value::Integer(0)];
    let path = Value::Array(vec![text("kMDItemPath")]);
    let files = FileNumbers { purpose: FileNumbers::FOUND, context: 0x6b00_0020, numbers: vec![1] };
    let expected = Value::Array(vec![Value::Array(head), path, Value::Files(files)]);
    assert_eq!(decode(&bytes(PATH_OF_A_FILE)), Ok(expected));
}

#[test]
fn what_is_written_is_read_again() {
    let files = FileNumbers { purpose: 1, context: 2, numbers: vec![3, u64::MAX] };
    let all = vec![
        Value::Nil,
        Value::Bool(true),
        Value::Bool(false),
        Value::Integer(u64::MAX),
        Value::Float(-1.5),
        Value::Date(0.25),
        Value::Uuid(*b"0123456789abcdef"),
        text(""),
        text("12345678"),
        text("naïve 日本語"),
        Value::WideText("日本語 😀".into()),
        Value::WideText(String::new()),
        Value::Files(files),
        Value::Files(FileNumbers::default()),
        Value::Metadata(None),
        Value::Metadata(Some(Box::new(Value::Array(vec![Value::Nil, text("inside")])))),
        Value::Dictionary(vec![("name".into(), Value::Array(Vec::new())), ("other".into(), Value::Nil)]),
    ];
    let message = Value::Array(all);
    assert_eq!(decode(&encode(&message)), Ok(message));
}

/// The head of the table is one unit, each value of variable length another one; places count from the message's beginning.
#[test]
fn a_message_has_the_layout_of_captures() {
    let message = Value::Array(vec![Value::Integer(0)]);
    let expected = "343332313330646d0600000004000000\
        0100000201000000020000840100000000000000000000000200008800000000\
        0200000a01000000";
    assert_eq!(wire::hex::encode(&encode(&message)), expected.replace(' ', ""));
}

#[test]
fn numbers_may_be_big_endian() {
    let little = encode(&Value::Array(vec![Value::Integer(0x0102), Value::Bool(true)]));
    let mut big = BIG_ENDIAN.to_vec();
    big.extend(little[8..].chunks(8).flat_map(|unit| unit.iter().rev().copied().collect::<Vec<_>>()));
    assert_eq!(decode(&big), decode(&little));
}

#[test]
fn no_part_of_a_message_is_a_message() {
    let whole = bytes(PATH_OF_A_FILE);
    for length in 0..whole.len() {
        assert!(decode(&whole[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn depth_and_counts_are_limited() {
    let mut deep = Value::Nil;
    for _ in 0..20 {
        deep = Value::Array(vec![deep]);
    }
    assert!(decode(&encode(&deep)).is_err());
    let mut inner = Value::Nil;
    for _ in 0..12 {
        inner = Value::Metadata(Some(Box::new(inner)));
    }
    assert!(decode(&encode(&inner)).is_err());
    // A tag that claims four thousand million nothings.
    let mut many = encode(&Value::Array(vec![Value::Nil]));
    let count = many.len() - 4;
    many[count..].fill(0xff);
    assert!(decode(&many).is_err());
    many[28..32].fill(0xff);
    assert!(decode(&many).is_err());
}
