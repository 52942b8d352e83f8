//! The names in client rules: which texts are names and patterns, and which names fit a pattern.

/// The longest name of a host, RFC 1035 2.3.4.
pub const LONGEST_HOST_NAME: usize = 253;
/// The longest part of a name between dots.
const LONGEST_LABEL: usize = 63;

/// Why a text names no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAHost {
    /// `192.168.1.*` and other addresses that are none.
    #[error("a pattern is for names, and an address needs four numbers")]
    Address,
    /// `@staff`.
    #[error("netgroups are not looked up: write the names of their hosts")]
    Netgroup,
    /// Characters that no name has.
    #[error("it is neither an address, nor a network, nor the name of a host")]
    Name,
}

/// Names are compared in lower case, without the dot of the root.
pub(super) fn plain(text: &str) -> String {
    text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase()
}

pub(super) fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether a text is the name of a host: labels of letters, digits, `-` and `_`, the last one with a letter.
#[must_use]
pub fn is_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=LONGEST_LABEL).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            && !label.starts_with('-')
    };
    let text = text.strip_suffix('.').unwrap_or(text);
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= LONGEST_HOST_NAME
        && text.split('.').all(is_label)
        && last.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether a text is the name of a host, or a pattern for names with `*`, `?` and `[a-z]`.
///
/// # Errors
/// It is not, and why.
pub fn is_host_pattern(text: &str) -> Result<(), NotAHost> {
    if text.starts_with('@') {
        return Err(NotAHost::Netgroup);
    }
    let has_letter = text.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.*?[]^!".contains(&byte);
    if text.is_empty() || text.len() > LONGEST_HOST_NAME || !text.bytes().all(is_of_name) {
        return Err(NotAHost::Name);
    }
    if !has_letter {
        return Err(NotAHost::Address);
    }
    let is_whole = text.matches('[').count() == text.matches(']').count();
    let fits = if has_wildcard(text) { is_whole } else { is_host_name(text) };
    if fits { Ok(()) } else { Err(NotAHost::Name) }
}

/// Whether a name fits a pattern. Both are in lower case. `*` stands for dots, too, as in exports(5).
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(byte) = name.get(in_name) {
        match one(&pattern[at..], *byte) {
            Some(length) => (at, in_name) = (at + length, in_name + 1),
            None if pattern.get(at) == Some(&b'*') => {
                at += 1;
                star = Some((at, in_name));
            }
            None => match star {
                Some((after, from)) => {
                    (at, in_name) = (after, from + 1);
                    star = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// The bytes of the pattern that stand for this byte of a name; `None` if it does not fit.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern.first()? {
        b'*' => None,
        b'?' => Some(1),
        b'[' => {
            let end = pattern.iter().position(|byte| *byte == b']')?;
            let class = &pattern[1..end];
            let (is_not, class) = match class.first() {
                Some(b'!' | b'^') => (true, &class[1..]),
                _ => (false, class),
            };
            (in_class(class, byte) != is_not).then_some(end + 1)
        }
        first => (*first == byte).then_some(1),
    }
}

fn in_class(mut class: &[u8], byte: u8) -> bool {
    while let Some((first, rest)) = class.split_first() {
        match rest {
            [b'-', last, after @ ..] => {
                if (*first..=*last).contains(&byte) {
                    return true;
                }
                class = after;
            }
            _ if *first == byte => return true,
            _ => class = rest,
        }
    }
    false
}
