//! Values of smb.conf, in all spellings.

/// What a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Text,
    List,
    /// Permission bits, in octal digits.
    Mode,
}

/// A truth value. smbd does not start with others.
pub(super) fn truth(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "yes" | "true" | "1" | "on" => Some(true),
        "no" | "false" | "0" | "off" => Some(false),
        _ => None,
    }
}

/// Permission bits.
pub(super) fn mode(value: &str) -> Option<u32> {
    u32::from_str_radix(value.trim(), 8).ok().filter(|mode| *mode <= 0o7777)
}

/// Whether something is required: `server signing` and `smb encrypt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    Off,
    IfWanted,
    Required,
}

pub(super) fn demand(value: &str) -> Option<Demand> {
    match value.trim().to_ascii_lowercase().as_str() {
        "no" | "false" | "0" | "off" | "disabled" => Some(Demand::Off),
        "default" | "if_required" | "yes" | "true" | "1" | "on" | "enabled" | "auto" | "desired" => {
            Some(Demand::IfWanted)
        }
        "required" | "mandatory" | "force" | "forced" | "enforced" => Some(Demand::Required),
        _ => None,
    }
}

/// `map to guest`: whether names that are no accounts are guests. `None`: no such value.
pub(super) fn maps_to_guest(value: &str) -> Option<bool> {
    match super::rows::key(value).as_str() {
        "never" | "baduid" => Some(false),
        "baduser" | "badpassword" => Some(true),
        _ => None,
    }
}

/// The setting `smb-min-dialect` for a value of `server min protocol`. In Samba SMB2 is 2.1, and SMB3 is 3.1.1.
pub(super) fn dialect(value: &str) -> Option<&'static str> {
    match value.trim().to_ascii_uppercase().as_str() {
        "DEFAULT" | "CORE" | "COREPLUS" | "LANMAN1" | "LANMAN2" | "NT1" | "SMB2_02" => Some("2.0.2"),
        "SMB2" | "SMB2_10" => Some("2.1"),
        "SMB3_00" => Some("3.0"),
        "SMB3_02" => Some("3.0.2"),
        "SMB3" | "SMB3_11" => Some("3.1.1"),
        _ => None,
    }
}

/// Whether passwords are accepted over NTLM.
pub(super) fn has_ntlm(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "disabled" => Some(false),
        "ntlmv1-permitted" | "ntlmv2-only" | "mschapv2-and-ntlmv2-only" => Some(true),
        other => truth(other).map(|_| true),
    }
}
