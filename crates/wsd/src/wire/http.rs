//! The part of HTTP/1.1 that a Get needs: one POST with a body of known length (RFC 9112).

use wire::Malformed;

/// The longest request line and header.
pub const MOST_HEAD: usize = 4 * 1024;

/// The head of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The method.
    pub method: String,
    /// The path.
    pub target: String,
    /// The length of the body. `None` if the request does not state it.
    pub length: Option<usize>,
}

impl Head {
    /// Decodes the head at the start of `bytes`. Also returns its length. `None` while its end has
    /// not arrived.
    ///
    /// # Errors
    /// It is too long, or no head of HTTP.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let within = &bytes[..bytes.len().min(MOST_HEAD)];
        let Some(end) = within.windows(4).position(|four| four == b"\r\n\r\n") else {
            return if bytes.len() < MOST_HEAD { Ok(None) } else { Err(Malformed("a long head")) };
        };
        let head = std::str::from_utf8(&within[..end]).map_err(|_| Malformed("not text"))?;
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Malformed("no request line"));
        };
        if !version.starts_with("HTTP/1.") {
            return Err(Malformed("another version"));
        }
        let mut length = None;
        for line in lines {
            let (name, value) = line.split_once(':').ok_or(Malformed("no header"))?;
            if name.eq_ignore_ascii_case("content-length") {
                let digits = value.trim();
                let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
                let value = digits.parse().ok().filter(|_| is_number && length.is_none());
                length = Some(value.ok_or(Malformed("a length that is none"))?);
            }
        }
        Ok(Some((Self { method: method.into(), target: target.into(), length }, end + 4)))
    }
}

/// A whole response. The connection ends after it.
pub fn response(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let kind = "Content-Type: application/soap+xml; charset=utf-8";
    format!("HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_with_an_empty_line() {
        let request = b"POST /2 HTTP/1.1\r\nHost: x\r\nCONTENT-LENGTH: 3 \r\n\r\nabc";
        let head = Head { method: "POST".into(), target: "/2".into(), length: Some(3) };
        assert_eq!(Head::decode(request), Ok(Some((head, request.len() - 3))));
        assert_eq!(Head::decode(&request[..40]), Ok(None));
    }

    #[test]
    fn what_is_no_head_is_refused() {
        let long = [b"POST / HTTP/1.1\r\nA: ".as_slice(), &[b'x'; MOST_HEAD]].concat();
        let two = b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n";
        let signed = b"POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\n";
        let no_line = b"POST /\r\n\r\n";
        let older = b"POST / HTTP/0.9\r\n\r\n";
        let no_header = b"POST / HTTP/1.1\r\nabc\r\n\r\n";
        for bad in [&long[..], two, signed, no_line, older, no_header, b"\xff\r\n\r\n"] {
            assert!(Head::decode(bad).is_err(), "{:?}", String::from_utf8_lossy(&bad[..10]));
        }
    }
}
