//! The messages of clients: Probe, Resolve and Get.

use quick_xml::events::Event;
use quick_xml::name::{QName, ResolveResult};
use quick_xml::reader::NsReader;
use wire::Malformed;

use super::namespace::{ADDRESSING, DISCOVERY, SOAP, TRANSFER};

/// The longest message that is decoded.
pub const MOST_BYTES: usize = 8 * 1024;
/// The most nested elements.
const MOST_DEPTH: usize = 16;
/// The most elements in a message.
const MOST_ELEMENTS: usize = 128;
/// The most types in a Probe.
const MOST_TYPES: usize = 16;
/// The longest message id, an address of the form `urn:uuid:…`.
const MOST_ID: usize = 256;

/// A message that the server can answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The message id that the answer refers to.
    pub message_id: String,
    /// The question.
    pub ask: Ask,
}

/// The question of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// WS-Discovery 5.2: finds devices.
    Probe {
        /// The device must have all of these types. Empty: any device.
        types: Vec<Type>,
        /// The client wants only devices in a scope. This server has none.
        scoped: bool,
    },
    /// WS-Discovery 6.2: finds the address of one device.
    Resolve {
        /// Its address.
        address: String,
    },
    /// WS-Transfer 3.1: the description of a device.
    Get,
    /// Another message: another device's Hello, Bye or matches.
    Other,
}

/// A type of devices: a qualified name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// Its namespace.
    pub namespace: String,
    /// Its name in there.
    pub name: String,
}

/// The namespaces that the server understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum XmlNamespace {
    Soap,
    Addressing,
    Discovery,
    Other,
}

/// An element whose end has not been read.
struct Element {
    space: XmlNamespace,
    name: String,
    text: String,
}

/// The parts of a message that have been read.
#[derive(Default)]
struct MessageParts {
    action: String,
    message_id: String,
    types: Vec<Type>,
    scoped: bool,
    address: String,
}

impl Request {
    /// Decodes a message.
    ///
    /// # Errors
    /// It is not SOAP 1.2 in UTF-8, has a document type or an entity of its own, or exceeds a limit.
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        if message.len() > MOST_BYTES {
            return Err(Malformed("a message longer than any that is answered"));
        }
        let text = std::str::from_utf8(message).map_err(|_| Malformed("not UTF-8"))?;
        let found = MessageParts::read(text.trim_start_matches('\u{feff}'))?;
        if found.message_id.is_empty() || found.message_id.len() > MOST_ID {
            return Err(Malformed("no message id, or a long one"));
        }
        let ask = match (found.action.strip_prefix(DISCOVERY), found.action.strip_prefix(TRANSFER)) {
            (Some("/Probe"), _) => Ask::Probe { types: found.types, scoped: found.scoped },
            (Some("/Resolve"), _) => Ask::Resolve { address: found.address },
            (_, Some("/Get")) => Ask::Get,
            _ => Ask::Other,
        };
        Ok(Self { message_id: found.message_id, ask })
    }
}

impl MessageParts {
    fn read(text: &str) -> Result<Self, Malformed> {
        let (mut reader, mut found) = (NsReader::from_str(text), Self::default());
        let (mut open, mut elements) = (Vec::<Element>::new(), 0);
        loop {
            let (space, event) = reader.read_resolved_event().map_err(|_| Malformed("not XML"))?;
            match event {
                Event::Start(start) => {
                    elements += 1;
                    if open.len() == MOST_DEPTH || elements > MOST_ELEMENTS {
                        return Err(Malformed("too many elements"));
                    }
                    let name = start.local_name().as_ref().to_owned();
                    open.push(Element { space: space_of(&space), name, text: String::new() });
                }
                Event::Empty(_) => elements += 1,
                Event::End(_) => {
                    found.take(&open, &reader)?;
                    open.pop();
                }
                Event::Text(more) => append(&mut open, &more)?,
                Event::CData(more) => append(&mut open, &more)?,
                Event::GeneralRef(reference) => append(&mut open, predefined(&reference)?)?,
                Event::Decl(_) | Event::Comment(_) => {}
                Event::DocType(_) | Event::PI(_) => {
                    return Err(Malformed("a document type or processing instruction"));
                }
                Event::Eof if open.is_empty() => return Ok(found),
                Event::Eof => return Err(Malformed("an element that does not end")),
            }
            if elements > MOST_ELEMENTS {
                return Err(Malformed("too many elements"));
            }
        }
    }

    /// Handles the end of an element, the last one of `open`.
    fn take(&mut self, open: &[Element], reader: &NsReader<&[u8]>) -> Result<(), Malformed> {
        let path: Vec<(XmlNamespace, &str)> = open.iter().map(|one| (one.space, one.name.as_str())).collect();
        let text = open.last().map_or("", |last| last.text.trim()).to_owned();
        let [(XmlNamespace::Soap, "Envelope"), (XmlNamespace::Soap, part), inside @ ..] = &path[..] else {
            return Ok(());
        };
        match (*part, inside) {
            ("Header", [(XmlNamespace::Addressing, "Action")]) => self.action = text,
            ("Header", [(XmlNamespace::Addressing, "MessageID")]) => self.message_id = text,
            ("Body", [(XmlNamespace::Discovery, "Probe"), (XmlNamespace::Discovery, "Types")]) => {
                self.types = types(&text, reader)?;
            }
            ("Body", [(XmlNamespace::Discovery, "Probe"), (XmlNamespace::Discovery, "Scopes")]) => {
                self.scoped = !text.is_empty();
            }
            (
                "Body",
                [
                    (XmlNamespace::Discovery, "Resolve"),
                    (XmlNamespace::Addressing, "EndpointReference"),
                    (XmlNamespace::Addressing, "Address"),
                ],
            ) => self.address = text,
            _ => {}
        }
        Ok(())
    }
}

/// A list of qualified names, whose prefixes are those of the element that has them.
fn types(text: &str, reader: &NsReader<&[u8]>) -> Result<Vec<Type>, Malformed> {
    let mut types = Vec::new();
    for word in text.split_ascii_whitespace() {
        if types.len() == MOST_TYPES {
            return Err(Malformed("too many types"));
        }
        let (space, name) = reader.resolver().resolve(QName(word), true);
        let ResolveResult::Bound(space) = space else {
            return Err(Malformed("a type of an unknown namespace"));
        };
        types.push(Type { namespace: space.as_ref().to_owned(), name: name.as_ref().to_owned() });
    }
    Ok(types)
}

fn space_of(resolved: &ResolveResult<'_>) -> XmlNamespace {
    let ResolveResult::Bound(space) = resolved else { return XmlNamespace::Other };
    let known = [
        (SOAP, XmlNamespace::Soap),
        (ADDRESSING, XmlNamespace::Addressing),
        (DISCOVERY, XmlNamespace::Discovery),
    ];
    let is_it = |(name, _): &&(&str, XmlNamespace)| *name == space.as_ref();
    known.iter().find(is_it).map_or(XmlNamespace::Other, |(_, space)| *space)
}

fn append(open: &mut [Element], more: &str) -> Result<(), Malformed> {
    match open.last_mut() {
        Some(element) => element.text.push_str(more),
        None if more.trim().is_empty() => {}
        None => return Err(Malformed("text outside of the envelope")),
    }
    Ok(())
}

/// The five predefined entities of XML. Others would have to be declared.
fn predefined(name: &str) -> Result<&'static str, Malformed> {
    match name {
        "amp" => Ok("&"),
        "lt" => Ok("<"),
        "gt" => Ok(">"),
        "quot" => Ok("\""),
        "apos" => Ok("'"),
        _ => Err(Malformed("an entity or a character reference")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::namespace::{DEVICE_PROFILE, PUBLICATION};

    const HEAD: &str = r#"<?xml version="1.0" encoding="utf-8"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"
        xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery"
        xmlns:p="http://schemas.xmlsoap.org/ws/2006/02/devprof"><s:Header>
        <a:To s:mustUnderstand="1">urn:schemas-xmlsoap-org:ws:2005:04:discovery</a:To>
        <a:MessageID>urn:uuid:1</a:MessageID>"#;

    fn message(action: &str, body: &str) -> Vec<u8> {
        format!("{HEAD}<a:Action>{action}</a:Action></s:Header><s:Body>{body}</s:Body></s:Envelope>")
            .into_bytes()
    }

    fn discovery(name: &str, body: &str) -> Result<Ask, Malformed> {
        let request = Request::decode(&message(&format!("{DISCOVERY}/{name}"), body))?;
        assert_eq!(request.message_id, "urn:uuid:1");
        Ok(request.ask)
    }

    fn kind(namespace: &str, name: &str) -> Type {
        Type { namespace: namespace.into(), name: name.into() }
    }

    /// WS-Discovery 5.2. The prefixes of types are declared in the element itself, as Windows does,
    /// or in an outer one.
    #[test]
    fn a_probe_names_types_by_any_prefix() {
        let body = r#"<d:Probe><d:Types xmlns:b="http://schemas.microsoft.com/windows/pub/2005/07"> p:Device
            b:Computer</d:Types></d:Probe>"#;
        let types = vec![kind(DEVICE_PROFILE, "Device"), kind(PUBLICATION, "Computer")];
        assert_eq!(discovery("Probe", body), Ok(Ask::Probe { types, scoped: false }));
        let any = Ask::Probe { types: Vec::new(), scoped: false };
        assert_eq!(discovery("Probe", "<d:Probe/>"), Ok(any));
        let scoped = Ask::Probe { types: Vec::new(), scoped: true };
        assert_eq!(discovery("Probe", "<d:Probe><d:Scopes>ldap:///x&amp;y</d:Scopes></d:Probe>"), Ok(scoped));
        assert!(discovery("Probe", "<d:Probe><d:Types>q:Device</d:Types></d:Probe>").is_err());
    }

    #[test]
    fn a_resolve_names_an_address_and_a_get_none() {
        let body = "<d:Resolve><a:EndpointReference><a:Address>urn:uuid:2</a:Address></a:EndpointReference></d:Resolve>";
        assert_eq!(discovery("Resolve", body), Ok(Ask::Resolve { address: "urn:uuid:2".into() }));
        let get = Request::decode(&message(&format!("{TRANSFER}/Get"), "")).unwrap();
        assert_eq!(get.ask, Ask::Get);
        assert_eq!(discovery("Hello", "<d:Hello/>"), Ok(Ask::Other));
    }

    /// Elements with these names in other namespaces or other places are ignored.
    #[test]
    fn names_count_in_their_namespace_and_place_only() {
        let body = "<Probe><Types>p:Device</Types></Probe><d:Types>p:Device</d:Types>";
        assert_eq!(discovery("Probe", body), Ok(Ask::Probe { types: Vec::new(), scoped: false }));
        let soap_1_1 = message(&format!("{DISCOVERY}/Probe"), "");
        let soap_1_1 =
            String::from_utf8(soap_1_1).unwrap().replace("2003/05/soap-envelope", "2001/12/soap-envelope");
        assert!(Request::decode(soap_1_1.as_bytes()).is_err(), "no message id is found");
    }

    #[test]
    fn what_could_grow_or_reach_out_is_refused() {
        let deep = "<x>".repeat(20) + &"</x>".repeat(20);
        let many = "<x/>".repeat(200);
        let types = format!("<d:Probe><d:Types>{}</d:Types></d:Probe>", "p:Device ".repeat(17));
        for body in [deep.as_str(), &many, &types, "<x>&other;</x>", "<?php ?>", "<x></y>", "<x>"] {
            assert!(discovery("Probe", body).is_err(), "{body:.40}");
        }
        let whole = String::from_utf8(message("x", "")).unwrap();
        let doctype = whole.replace("?><s:", "?><!DOCTYPE s [<!ENTITY a \"b\">]><s:");
        let long = whole.replace("</s:Body>", &format!("{}</s:Body>", " ".repeat(MOST_BYTES)));
        for bad in
            [doctype.as_bytes(), long.as_bytes(), b"", b"\xff\xfe<\0", b"text", &whole.as_bytes()[..200]]
        {
            assert!(Request::decode(bad).is_err());
        }
    }
}
