//! The form of iSCSI names in which they are compared.

/// Bytes of a name, RFC 7143 4.2.7.1.
const MAX_NAME: usize = 223;

/// An iSCSI name in the form for comparison: in lower case, RFC 7143 4.2.7. `None`: the name is
/// invalid.
///
/// Underscores are accepted, although the specification does not have them: virtual machines have
/// such names.
#[must_use]
pub fn iscsi_name(name: &str) -> Option<String> {
    let name: String = name.chars().flat_map(char::to_lowercase).collect();
    let (kind, rest) = name.split_once('.')?;
    let are_digits =
        |lengths: &[usize]| lengths.contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_hexdigit());
    let is_right = match kind {
        "iqn" => !rest.is_empty() && rest.chars().all(is_allowed),
        "eui" => are_digits(&[16]),
        "naa" => are_digits(&[16, 32]),
        _ => false,
    };
    (is_right && name.len() <= MAX_NAME).then_some(name)
}

/// In ASCII: letters, digits and a few signs. Other characters: those that can be a part of a word.
fn is_allowed(character: char) -> bool {
    match character.is_ascii() {
        true => character.is_ascii_alphanumeric() || "-.:_".contains(character),
        false => character.is_alphanumeric(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_three_kinds_and_compared_in_lower_case() {
        // RFC 7143 4.2.7.4 to 4.2.7.6.
        for name in [
            "iqn.2001-04.com.example:storage:diskarrays-sn-a8675309",
            "iqn.2001-04.com.example",
            "iqn.1991-05.com.microsoft:win-0a1b",
            "iqn.2008-11.org.linux-kvm:my_machine",
            "eui.02004567a425678d",
            "naa.52004567ba64678d",
            "naa.62004567ba64678d0123456789abcdef",
        ] {
            assert_eq!(iscsi_name(name).as_deref(), Some(name));
            assert_eq!(iscsi_name(&name.to_uppercase()).as_deref(), Some(name));
        }
        assert_eq!(iscsi_name("iqn.2001-04.com.ÄÖ").as_deref(), Some("iqn.2001-04.com.äö"));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for name in [
            "",
            "iqn",
            "iqn.",
            "com.example",
            "iqn.2001-04.com.example:a b",
            "iqn.2001-04.com.example:a/b",
            "iqn.2001-04.com.example:a,b",
            "iqn.2001-04.com.example:a\u{3000}b",
            "eui.02004567a425678",
            "eui.02004567a425678g",
            "naa.52004567ba64678d0",
        ] {
            assert_eq!(iscsi_name(name), None, "{name}");
        }
        let long = |length: usize| format!("iqn.{}", "a".repeat(length - 4));
        assert!(iscsi_name(&long(223)).is_some() && iscsi_name(&long(224)).is_none());
    }
}
