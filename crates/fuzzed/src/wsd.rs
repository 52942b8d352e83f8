//! What WS-Discovery's clients send.

use wsd::wire::http::Head;
use wsd::wire::request::{MOST_BYTES, Request};

/// A datagram, and an HTTP request.
pub fn messages(data: &[u8]) {
    if let Ok(request) = Request::decode(data) {
        assert!(data.len() <= MOST_BYTES && !request.message_id.is_empty());
        // What is repeated of a request is text in the answer, whatever it was.
        let id = format!("urn:uuid:{}", request.message_id.len());
        let about =
            wsd::wire::answer::About { endpoint: "urn:uuid:1", places: "http://192.0.2.1/", version: 1 };
        let sequence = wsd::wire::answer::MessageSequence { instance: 1, number: 1 };
        let answer = wsd::wire::answer::probe_matches(&id, sequence, &request.message_id, about);
        assert_eq!(Request::decode(answer.as_bytes()).map(|answer| answer.message_id), Ok(id));
    }
    if let Ok(Some((head, length))) = Head::decode(data) {
        assert!(length <= data.len() && !head.method.contains(' '));
    }
}
