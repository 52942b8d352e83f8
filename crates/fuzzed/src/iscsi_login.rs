//! Logins: crates/iscsi/src/wire/pdu/login.rs and text.rs, and the text in them, crates/iscsi/src/wire/keys.rs. Whatever
//! decodes must encode to the same value again.

use ::wire::{Reader, Writer};
use iscsi::wire::keys;
use iscsi::wire::pdu::{LoginRequest, LoginResponse, SequenceNumbers, TextRequest, TextResponse};

macro_rules! stable {
    ($message:expr, $type:ty) => {
        if let Ok(value) = <$type>::decode(&mut Reader::new($message)) {
            let mut w = Writer::new();
            value.encode($message.len(), &mut w);
            assert_eq!(w.len(), 48);
            assert_eq!(<$type>::decode(&mut Reader::new(w.as_bytes())), Ok(value));
        }
    };
}

macro_rules! stable_but_numbers {
    ($message:expr, $type:ty) => {
        if let Ok(value) = <$type>::decode(&mut Reader::new($message))
            && let Ok(numbers) = SequenceNumbers::decode(&mut Reader::new(&$message[24..]))
        {
            let mut w = Writer::new();
            value.encode($message.len(), &mut w);
            let mut header = w.into_bytes();
            numbers.stamp(&mut header, true);
            assert_eq!(header.len(), 48);
            assert_eq!(<$type>::decode(&mut Reader::new(&header)), Ok(value));
            assert_eq!(SequenceNumbers::decode(&mut Reader::new(&header[24..])), Ok(numbers));
        }
    };
}

/// Headers. The first byte says of what.
pub fn messages(input: &[u8]) {
    let Some((selector, message)) = input.split_first() else { return };
    match selector {
        0 => stable!(message, LoginRequest),
        1 => stable_but_numbers!(message, LoginResponse),
        2 => stable!(message, TextRequest),
        3 => stable_but_numbers!(message, TextResponse),
        _ => {}
    }
}

/// A text, and all that its values may be.
pub fn keys(text: &[u8]) {
    let Ok(pairs) = keys::decode(text) else { return };
    assert!(pairs.len() <= keys::MAX_PAIRS);
    let mut w = Writer::new();
    for pair in &pairs {
        assert!(pair.key.len() <= keys::MAX_KEY && pair.value.len() <= keys::MAX_VALUE);
        keys::encode(pair.key, pair.value, &mut w);
        if let Some(bytes) = keys::binary(pair.value) {
            assert_eq!(keys::binary(&keys::hexadecimal_of(&bytes)), Some(bytes));
        }
        if let Some(number) = keys::number(pair.value) {
            assert_eq!(keys::number(&number.to_string()), Some(number));
        }
        if let Some(value) = keys::boolean(pair.value) {
            assert_eq!(keys::yes_or_no(value), pair.value);
        }
        assert!(keys::range(pair.value).is_none_or(|(low, high)| low <= high));
        assert!(keys::list(pair.value).all(|item| !item.contains(',')));
    }
    assert_eq!(keys::decode(w.as_bytes()), Ok(pairs));
}
