//! The server's messages: Hello, Bye, and answers to Probe, Resolve and Get.

use quick_xml::escape::escape;

use super::namespace::{ADDRESSING, DEVICE_PROFILE, DISCOVERY, METADATA, PNPX, PUBLICATION, SOAP, TRANSFER};

/// The recipient of a message to all devices, WS-Discovery 4.1.
const EVERYONE: &str = "urn:schemas-xmlsoap-org:ws:2005:04:discovery";
/// The recipient of an answer: the sender of the request, WS-Addressing 3.2.
const ANONYMOUS: &str = "http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous";
/// The types of this server: a device, and a computer for Windows.
const TYPES: &str = "wsdp:Device pub:Computer";

/// The position of a message among all messages of its sender, WS-Discovery, Appendix I.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageSequence {
    /// Grows with every start of the server.
    pub instance: u64,
    /// Grows with every message.
    pub number: u64,
}

/// A device as messages describe it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About<'a> {
    /// Its address, `urn:uuid:…`, which never changes.
    pub endpoint: &'a str,
    /// The URLs of its description that the recipient can reach: HTTP URLs with spaces between
    /// them.
    pub places: &'a str,
    /// Grows when the description changes.
    pub version: u64,
}

/// The description that a device sends on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description<'a> {
    /// Its address.
    pub endpoint: &'a str,
    /// The name shown to users.
    pub friendly_name: &'a str,
    /// `NAME/Workgroup:GROUP`, by which Windows connects.
    pub computer: &'a str,
    /// The manufacturer.
    pub manufacturer: &'a str,
    /// The model.
    pub model: &'a str,
    /// The firmware's version.
    pub firmware: &'a str,
}

/// Hello, WS-Discovery 4.1.
pub fn hello(id: &str, sequence: MessageSequence, about: About<'_>) -> String {
    multicast("Hello", id, sequence, &body_of(about))
}

/// Bye, WS-Discovery 4.2.
pub fn bye(id: &str, sequence: MessageSequence, endpoint: &str) -> String {
    multicast("Bye", id, sequence, &reference(endpoint))
}

/// ProbeMatches with one match, WS-Discovery 5.3.
pub fn probe_matches(id: &str, sequence: MessageSequence, to: &str, about: About<'_>) -> String {
    matches("Probe", id, sequence, to, about)
}

/// ResolveMatches, WS-Discovery 6.3.
pub fn resolve_matches(id: &str, sequence: MessageSequence, to: &str, about: About<'_>) -> String {
    matches("Resolve", id, sequence, to, about)
}

/// The answer to Get: WS-Transfer 3.1, with the metadata of DPWS 5 and PnP-X.
pub fn description(id: &str, to: &str, about: Description<'_>) -> String {
    let [friendly, computer, manufacturer, model, firmware] =
        [about.friendly_name, about.computer, about.manufacturer, about.model, about.firmware].map(escape);
    let endpoint = escape(about.endpoint);
    let device = format!(
        "<wsdp:ThisDevice><wsdp:FriendlyName>{friendly}</wsdp:FriendlyName>\
         <wsdp:FirmwareVersion>{firmware}</wsdp:FirmwareVersion><wsdp:SerialNumber>1</wsdp:SerialNumber></wsdp:ThisDevice>"
    );
    let model = format!(
        "<wsdp:ThisModel><wsdp:Manufacturer>{manufacturer}</wsdp:Manufacturer><wsdp:ModelName>{model}</wsdp:ModelName>\
         <pnpx:DeviceCategory>Computers</pnpx:DeviceCategory></wsdp:ThisModel>"
    );
    let host = format!(
        "<wsdp:Relationship Type=\"{DEVICE_PROFILE}/host\"><wsdp:Host>{}<wsdp:Types>pub:Computer</wsdp:Types>\
         <wsdp:ServiceId>{endpoint}</wsdp:ServiceId><pub:Computer>{computer}</pub:Computer></wsdp:Host></wsdp:Relationship>",
        reference(about.endpoint)
    );
    let section = |dialect: &str, content: &str| {
        let dialect = format!("{DEVICE_PROFILE}/{dialect}");
        format!("<wsx:MetadataSection Dialect=\"{dialect}\">{content}</wsx:MetadataSection>")
    };
    let sections = [("ThisDevice", &device), ("ThisModel", &model), ("Relationship", &host)];
    let sections = sections.map(|(dialect, content)| section(dialect, content)).concat();
    let header = header(&format!("{TRANSFER}/GetResponse"), id, ANONYMOUS, Some(to), None);
    envelope(&header, &format!("<wsx:Metadata>{sections}</wsx:Metadata>"))
}

fn multicast(name: &str, id: &str, sequence: MessageSequence, content: &str) -> String {
    let header = header(&format!("{DISCOVERY}/{name}"), id, EVERYONE, None, Some(sequence));
    envelope(&header, &format!("<wsd:{name}>{content}</wsd:{name}>"))
}

fn matches(name: &str, id: &str, sequence: MessageSequence, to: &str, about: About<'_>) -> String {
    let header = header(&format!("{DISCOVERY}/{name}Matches"), id, ANONYMOUS, Some(to), Some(sequence));
    let one = format!("<wsd:{name}Match>{}</wsd:{name}Match>", body_of(about));
    envelope(&header, &format!("<wsd:{name}Matches>{one}</wsd:{name}Matches>"))
}

fn body_of(about: About<'_>) -> String {
    let (reference, places, version) = (reference(about.endpoint), escape(about.places), about.version);
    format!(
        "{reference}<wsd:Types>{TYPES}</wsd:Types><wsd:XAddrs>{places}</wsd:XAddrs>\
         <wsd:MetadataVersion>{version}</wsd:MetadataVersion>"
    )
}

fn reference(endpoint: &str) -> String {
    let endpoint = escape(endpoint);
    format!("<wsa:EndpointReference><wsa:Address>{endpoint}</wsa:Address></wsa:EndpointReference>")
}

fn header(
    action: &str,
    id: &str,
    to: &str,
    relates_to: Option<&str>,
    sequence: Option<MessageSequence>,
) -> String {
    let relates_to = relates_to.map(|id| format!("<wsa:RelatesTo>{}</wsa:RelatesTo>", escape(id)));
    let sequence = sequence.map(|MessageSequence { instance, number }| {
        format!("<wsd:AppSequence InstanceId=\"{instance}\" MessageNumber=\"{number}\"/>")
    });
    format!(
        "<wsa:To>{to}</wsa:To><wsa:Action>{action}</wsa:Action><wsa:MessageID>{id}</wsa:MessageID>{}{}",
        relates_to.unwrap_or_default(),
        sequence.unwrap_or_default()
    )
}

fn envelope(header: &str, body: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><soap:Envelope xmlns:soap=\"{SOAP}\" xmlns:wsa=\"{ADDRESSING}\" \
         xmlns:wsd=\"{DISCOVERY}\" xmlns:wsdp=\"{DEVICE_PROFILE}\" xmlns:wsx=\"{METADATA}\" xmlns:pnpx=\"{PNPX}\" \
         xmlns:pub=\"{PUBLICATION}\"><soap:Header>{header}</soap:Header><soap:Body>{body}</soap:Body></soap:Envelope>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::request::{Ask, Request};

    const ABOUT: About<'_> = About { endpoint: "urn:uuid:2", places: "http://192.0.2.1:5357/2", version: 7 };
    const SEQUENCE: MessageSequence = MessageSequence { instance: 5, number: 6 };

    fn has(message: &str, parts: &[&str]) {
        parts.iter().for_each(|part| assert!(message.contains(part), "{part} in {message}"));
        let decoded = Request::decode(message.as_bytes()).unwrap();
        assert_eq!((decoded.message_id.as_str(), decoded.ask), ("urn:uuid:1", Ask::Other));
    }

    /// WS-Discovery 4.1, 4.2, 5.3 and 6.3.
    #[test]
    fn messages_say_who_where_and_in_answer_to_what() {
        let sequence = "<wsd:AppSequence InstanceId=\"5\" MessageNumber=\"6\"/>";
        let places =
            "<wsd:XAddrs>http://192.0.2.1:5357/2</wsd:XAddrs><wsd:MetadataVersion>7</wsd:MetadataVersion>";
        let hello = hello("urn:uuid:1", SEQUENCE, ABOUT);
        has(&hello, &["<wsd:Hello><wsa:EndpointReference><wsa:Address>urn:uuid:2<", TYPES, places, sequence]);
        let bye = bye("urn:uuid:1", SEQUENCE, "urn:uuid:2");
        has(&bye, &["discovery/Bye<", "<wsd:Bye><wsa:EndpointReference><wsa:Address>urn:uuid:2<", sequence]);
        let relates = "<wsa:RelatesTo>a&lt;b</wsa:RelatesTo>";
        let probe = probe_matches("urn:uuid:1", SEQUENCE, "a<b", ABOUT);
        has(&probe, &["discovery/ProbeMatches<", "<wsd:ProbeMatches><wsd:ProbeMatch>", relates, places]);
        let resolve = resolve_matches("urn:uuid:1", SEQUENCE, "a<b", ABOUT);
        has(
            &resolve,
            &["discovery/ResolveMatches<", "<wsd:ResolveMatches><wsd:ResolveMatch>", relates, places],
        );
    }

    /// DPWS 5.1 to 5.3; PnP-X has `pub:Computer`.
    #[test]
    fn a_description_has_the_three_sections_and_the_computers_name() {
        let about = Description {
            endpoint: "urn:uuid:2",
            friendly_name: "A & B",
            computer: "NAS/Workgroup:WORKGROUP",
            manufacturer: "m",
            model: "o",
            firmware: "1",
        };
        let sections = ["/devprof/ThisDevice\">", "/devprof/ThisModel\">", "/devprof/Relationship\">"];
        has(&description("urn:uuid:1", "urn:uuid:9", about), &sections);
        let computer = "<pub:Computer>NAS/Workgroup:WORKGROUP</pub:Computer>";
        has(&description("urn:uuid:1", "urn:uuid:9", about), &[computer, "A &amp; B", "urn:uuid:9"]);
    }
}
