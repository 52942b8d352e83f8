//! A device and a client for tests.

use std::net::{IpAddr, Ipv4Addr};

use super::{AnnouncedDevice, Device};

pub(super) const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9));

pub(super) fn announced() -> AnnouncedDevice {
    AnnouncedDevice::new(Device {
        uuid: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7],
        computer: "NAS".into(),
        workgroup: "WORKGROUP".into(),
        friendly_name: "Studio".into(),
        program: "Fourfold".into(),
        version: "1".into(),
        listen: Vec::new(),
    })
}

/// A SOAP message of a client.
pub(super) fn message(action: &str, id: &str, body: &str) -> Vec<u8> {
    let spaces = [
        ("s", "http://www.w3.org/2003/05/soap-envelope"),
        ("a", "http://schemas.xmlsoap.org/ws/2004/08/addressing"),
        ("d", "http://schemas.xmlsoap.org/ws/2005/04/discovery"),
        ("p", "http://schemas.xmlsoap.org/ws/2006/02/devprof"),
        ("c", "http://schemas.microsoft.com/windows/pub/2005/07"),
    ];
    let spaces = spaces.map(|(prefix, name)| format!(" xmlns:{prefix}=\"{name}\"")).concat();
    let header = format!("<a:Action>{action}</a:Action><a:MessageID>{id}</a:MessageID>");
    format!("<s:Envelope{spaces}><s:Header>{header}</s:Header><s:Body>{body}</s:Body></s:Envelope>")
        .into_bytes()
}
