//! What the settings call a link.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The longest name of an interface of Linux, in bytes (`IFNAMSIZ` without its NUL).
const MAX_INTERFACE: usize = 15;

/// The name of a link: `ethertalk:eth1`, `ltoudp`, `ltoudp:eth1` or `tashtalk:/dev/ttyUSB0`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkName {
    /// AppleTalk on an Ethernet, phase 2.
    EtherTalk {
        /// The network interface.
        interface: String,
    },
    /// LocalTalk's frames in UDP multicast, as emulators speak it.
    LToUdp {
        /// The network interface. `None`: the one that the host's routes choose.
        interface: Option<String>,
    },
    /// A LocalTalk cable, by the TashTalk chip at a serial line.
    TashTalk {
        /// The device of the serial line.
        device: PathBuf,
    },
}

/// A text that names no link. Its message says what could be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no link of AppleTalk: write `ltoudp`, `ltoudp:INTERFACE`, `ethertalk:INTERFACE` or `tashtalk:DEVICE`, \
     where INTERFACE is one that `ip link` lists, and DEVICE a path such as /dev/ttyUSB0"
)]
pub struct UnknownLink(pub String);

impl FromStr for LinkName {
    type Err = UnknownLink;

    fn from_str(text: &str) -> Result<Self, UnknownLink> {
        let unknown = || UnknownLink(text.to_owned());
        let interface = |name: &str| is_interface(name).then(|| name.to_owned()).ok_or_else(unknown);
        Ok(match text.split_once(':') {
            None if text == "ltoudp" => Self::LToUdp { interface: None },
            Some(("ltoudp", name)) => Self::LToUdp { interface: Some(interface(name)?) },
            Some(("ethertalk", name)) => Self::EtherTalk { interface: interface(name)? },
            Some(("tashtalk", path)) if path.starts_with('/') && !path.contains('\0') => {
                Self::TashTalk { device: path.into() }
            }
            _ => return Err(unknown()),
        })
    }
}

/// Whether Linux could give an interface this name.
fn is_interface(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && byte != b'/' && byte != b':';
    (1..=MAX_INTERFACE).contains(&name.len()) && name.bytes().all(is_allowed) && name != "." && name != ".."
}

impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EtherTalk { interface } => write!(f, "ethertalk:{interface}"),
            Self::LToUdp { interface: None } => write!(f, "ltoudp"),
            Self::LToUdp { interface: Some(interface) } => write!(f, "ltoudp:{interface}"),
            Self::TashTalk { device } => write!(f, "tashtalk:{}", device.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_written_as_it_is_read() {
        for text in ["ltoudp", "ltoudp:eth1", "ethertalk:enp3s0", "tashtalk:/dev/serial/by-id/usb-FTDI:1"] {
            assert_eq!(text.parse::<LinkName>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_refused_with_what_can_be_written() {
        let too_long = format!("ethertalk:{}", "e".repeat(16));
        for text in [
            "",
            "ethertalk",
            "ethertalk:",
            "ltoudp:",
            "localtalk:x",
            "tashtalk:ttyS0",
            "ethertalk:a/b",
            &too_long,
        ] {
            let why = text.parse::<LinkName>().unwrap_err().to_string();
            assert!(why.contains("ethertalk:INTERFACE"), "{text}: {why}");
        }
    }
}
