//! Searches of Macs, and contents of files.

use extract::messages::{Saying, Task};
use query::{Attribute, Value as FactValue};
use spotlight::message::{FileNumbers, Value, encode};

use super::Seed;

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

/// A call with the two numbers of its context.
fn call(name: &str, arguments: Vec<Value>) -> Vec<u8> {
    let head = Value::Array(vec![text(name), Value::Integer(5), Value::Integer(6)]);
    encode(&Value::Array([head].into_iter().chain(arguments).collect()))
}

const QUERIES: [(&str, &str); 6] = [
    ("name", "kMDItemFSName == \"*annual*\"cdw && kMDItemContentTypeTree == \"public.content\""),
    ("either", "(* == \"a\\\"b\"cd || kMDItemTextContent == 'b*'c) && _kMDItemGroupId != 11"),
    ("range", "InRange(kMDItemFSSize, 1, 2) || !(kMDItemFSSize >= \"3\")"),
    (
        "dates",
        "kMDItemFSContentChangeDate > $time.now(-3600) && kMDItemFSCreationDate < $time.this_month(-1)",
    ),
    (
        "iso",
        "InRange(kMDItemContentCreationDate,$time.iso(2024-12-31T23:00:00Z),$time.iso(2025-12-31T23:00:00Z))",
    ),
    ("any", "kMDItemUserTags == \"*\" && kMDItemUnheardOf != \"x\""),
];

fn open(query: &str) -> Vec<u8> {
    let entries = [
        ("kMDQueryBatchFirstDelay", Value::Float(1.0)),
        ("kMDQueryUniqueId", Value::Integer(7)),
        ("kMDAttributeArray", Value::Array(vec![text("kMDItemFSName"), text("kMDItemPath")])),
        ("kMDQueryString", text(query)),
        ("kMDScopeArray", Value::Array(vec![Value::WideText("/share/a".into())])),
    ];
    let entries = entries.map(|(name, value)| (name.to_owned(), value)).to_vec();
    call("openQueryWithParams:forContext:", vec![Value::Dictionary(entries)])
}

fn messages() -> Vec<(&'static str, Vec<u8>)> {
    let files = FileNumbers { purpose: FileNumbers::FOUND, context: 6, numbers: vec![1, 2] };
    let names = Value::Array(vec![text("kMDItemPath")]);
    let all = vec![
        Value::Nil,
        Value::Bool(true),
        Value::Date(0.5),
        Value::Uuid([7; 16]),
        Value::Metadata(None),
        Value::Metadata(Some(Box::new(Value::Array(vec![Value::Nil, text("inside")])))),
    ];
    vec![
        ("properties", call("fetchPropertiesForContext:", Vec::new())),
        ("open", open(QUERIES[0].1)),
        ("fetch", call("fetchQueryResultsForContext:", Vec::new())),
        (
            "attributes",
            call("fetchAttributes:forOIDArray:context:", vec![names, Value::Files(files.clone())]),
        ),
        ("names", call("fetchAttributeNamesForOIDArray:context:", vec![Value::Files(files)])),
        ("close", call("closeQueryForContext:", Vec::new())),
        ("values", encode(&Value::Array(all))),
    ]
}

/// A ZIP file whose entries are stored.
fn zip(entries: &[(&str, &str)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, contents) in entries {
        let (place, length) = (file.len() as u32, contents.len() as u32);
        let mut fields = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        fields.extend([length.to_le_bytes(); 2].concat());
        fields.extend((name.len() as u16).to_le_bytes());
        fields.extend([0; 2]);
        file.extend([&b"PK\x03\x04"[..], &fields, name.as_bytes(), contents.as_bytes()].concat());
        let place = place.to_le_bytes();
        directory.extend([&b"PK\x01\x02\x14\0"[..], &fields, &[0; 10], &place, name.as_bytes()].concat());
    }
    let (place, count) = (file.len() as u32, entries.len() as u16);
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count.to_le_bytes(); 2].concat());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(place.to_le_bytes());
    file.extend([0; 2]);
    file
}

/// Contents of several formats. The first byte is the place of the name in `src/extract.rs`.
fn contents() -> Vec<(&'static str, u8, Vec<u8>)> {
    let types = ("[Content_Types].xml", "<Types/>");
    let pdf = b"%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj 2 0 obj << /Kids [3 0 R] >> endobj\n\
        3 0 obj << /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >> endobj 4 0 obj << /Length 40 >> stream\n\
        BT /F1 12 Tf 7 0 Td [(a) -300 (b)] TJ ET\nendstream endobj 5 0 obj << /Subtype /Type1 /Encoding << \
        /Differences [65 /eacute] >> >> endobj 6 0 obj << /Title (t) >> endobj trailer << /Root 1 0 R /Info 6 0 R >>";
    let mail = b"Subject: =?utf-8?B?4pi6?=\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\
        Content-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n<p>=C3=A9\n--b--\n";
    let jpeg =
        b"\xff\xd8\xff\xe1\0\x20Exif\0\0II\x2a\0\x08\0\0\0\x01\0\x00\x01\x04\0\x01\0\0\0\x09\0\0\0\0\0\0\0\
        \xff\xc0\0\x0b\x08\0\x05\0\x06\x01\x01\x11\0\xff\xda\0\x02";
    let movie = b"\0\0\0\x10ftypisom\0\0\0\0\0\0\0\x28moov\0\0\0\x20mvhd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\x58\0\0\x1d\x4c";
    let song = b"ID3\x03\0\0\0\0\0\x10TIT2\0\0\0\x02\0\0\x03a\0\0\0\0\xff\xfb\x90\0";
    let sound =
        b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x04\0\0\0abcd";
    let document = "<w:p><w:r><w:t>a &amp; b</w:t></w:r></w:p>";
    let sheet = "<row><c t=\"s\"><v>0</v></c><c><v>1</v></c></row>";
    let body = "<office:body><text:p>a<text:s/>b</text:p></office:body>";
    vec![
        ("text", 0, "naïve 日本".as_bytes().to_vec()),
        ("markdown", 1, b"# Title\n\ntext".to_vec()),
        ("html", 2, b"<meta charset=utf-8><title>a</title><p>b<script>c</script>&amp;<!-- d -->".to_vec()),
        ("rtf", 3, b"{\\rtf1\\ansicpg1252{\\info{\\title a}}b\\u300 ?\\'e9\\bin3 abc\\par}".to_vec()),
        ("pdf", 4, pdf.to_vec()),
        (
            "docx",
            5,
            zip(&[types, ("word/document.xml", document), ("docProps/core.xml", "<dc:title>t</dc:title>")]),
        ),
        (
            "xlsx",
            6,
            zip(&[types, ("xl/worksheets/sheet1.xml", sheet), ("xl/workbook.xml", "<sheet name=\"s\"/>")]),
        ),
        ("pptx", 7, zip(&[types, ("ppt/slides/slide1.xml", "<a:p><a:t>a</a:t></a:p>")])),
        (
            "odt",
            8,
            zip(&[("content.xml", body), ("meta.xml", "<meta:initial-creator>b</meta:initial-creator>")]),
        ),
        ("mail", 10, mail.to_vec()),
        ("mail-of-apple", 11, b"12\nSubject: a\n\nb".to_vec()),
        ("zip", 12, zip(&[("a/b", ""), ("c", "d")])),
        ("jpeg", 15, jpeg.to_vec()),
        (
            "png",
            16,
            b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x03\x20\0\0\x02\x58\x08\x02\0\0\0\0\0\0\0".to_vec(),
        ),
        ("gif", 17, b"GIF89a\x20\x03\x58\x02".to_vec()),
        ("webp", 20, b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x1f\x03\0\x57\x02\0".to_vec()),
        ("movie", 21, movie.to_vec()),
        ("song", 22, song.to_vec()),
        ("sound", 23, sound.to_vec()),
        ("flac", 25, b"fLaC\x80\0\0\x22\x10\0\x10\0\0\0\0\0\0\0\x0a\xc4\x42\xf0\0\0\xac\x44".to_vec()),
    ]
}

fn sayings() -> Vec<(&'static str, Vec<u8>)> {
    let sayings = [
        ("ready", Saying::Ready),
        ("needs", Saying::Needs { place: 7, count: 8 }),
        ("fact", Saying::Fact(Attribute::Title, FactValue::Text("t".into()))),
        ("number", Saying::Fact(Attribute::Pages, FactValue::Number(2.0))),
        ("date", Saying::Fact(Attribute::Taken, FactValue::Date(3))),
        ("text", Saying::Text("text".into())),
        ("end", Saying::End { is_cut: true, reason: "damaged".into() }),
    ];
    let task = Task { name: "a.pdf".into(), length: 9 }.encode()[4..].to_vec();
    sayings
        .into_iter()
        .map(|(name, saying)| (name, saying.encode()[4..].to_vec()))
        .chain([("task", task)])
        .collect()
}

/// Calls of the pipe `mdssvc`, with the selectors of `src/smb_pipes.rs`.
fn pipe_calls() -> Vec<(&'static str, u8, Vec<u8>)> {
    let numbers = |all: &[u32]| all.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let path = |length: u32, text: &[u8]| [numbers(&[1025, 0, length]), text.to_vec()].concat();
    let handle = [7; 20].to_vec();
    let message = call("fetchPropertiesForContext:", Vec::new());
    let length = message.len() as u32;
    let before = numbers(&[0, 9, 23, 0, 0x6b00_0001, length, length, 1, length, 0, length]);
    let after = numbers(&[0, 1 << 16, 1, 1 << 16, 0, 0]);
    vec![
        ("mdssvc-open", 0, [numbers(&[9, 23, 0]), path(4, b"/ab\0"), path(3, b"ab\0")].concat()),
        ("mdssvc-flags", 1, [handle.clone(), vec![0; 24]].concat()),
        ("mdssvc-command", 2, [handle.clone(), before, message, after].concat()),
        ("mdssvc-close", 3, [handle, vec![0; 16]].concat()),
    ]
}

pub fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    let mut add = |target, name, bytes: Vec<u8>| seeds.push(Seed { target, name, bytes });
    for (name, query) in QUERIES {
        add("spotlight_queries", name, query.as_bytes().to_vec());
    }
    for (name, message) in messages() {
        let framed = [&(message.len() as u16).to_le_bytes()[..], &message].concat();
        add("spotlight_calls", name, framed);
        add("spotlight_messages", name, message);
    }
    let conversation = messages()
        .into_iter()
        .flat_map(|(_, message)| [&(message.len() as u16).to_le_bytes()[..], &message].concat());
    add("spotlight_calls", "conversation", conversation.collect());
    add(
        "spotlight_messages",
        "afp",
        b"\0\0\x07\0\0\x80\x04\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0message".to_vec(),
    );
    for (name, selector, contents) in contents() {
        add("extract_contents", name, [&[selector][..], &contents].concat());
    }
    for (name, saying) in sayings() {
        add("extract_messages", name, saying);
    }
    for (name, operation, stub) in pipe_calls() {
        add("smb_rpc", name, [&[8, operation][..], &stub].concat());
    }
    seeds
}
