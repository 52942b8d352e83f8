//! Files of several formats.

/// UTF-16 without a mark.
pub(super) fn utf16_le(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A ZIP file of these entries, which are stored or deflated in turn.
pub(super) fn zip(entries: &[(&str, &str)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (at, (name, contents)) in entries.iter().enumerate() {
        let (method, data) = match at % 2 {
            0 => (0u16, contents.as_bytes().to_vec()),
            _ => (8, deflated(contents.as_bytes())),
        };
        let place = file.len() as u32;
        let mut fields = vec![20, 0, 0, 0];
        fields.extend(method.to_le_bytes());
        fields.extend([0; 8]); // time, date, checksum
        fields.extend((data.len() as u32).to_le_bytes());
        fields.extend((contents.len() as u32).to_le_bytes());
        fields.extend((name.len() as u16).to_le_bytes());
        fields.extend([0; 2]);
        file.extend_from_slice(b"PK\x03\x04");
        file.extend_from_slice(&fields);
        file.extend_from_slice(name.as_bytes());
        file.extend_from_slice(&data);
        directory.extend_from_slice(b"PK\x01\x02\x14\0");
        directory.extend_from_slice(&fields);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&place.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let place = file.len() as u32;
    file.extend_from_slice(&directory);
    file.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    file.extend([(entries.len() as u16).to_le_bytes(); 2].concat());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(place.to_le_bytes());
    file.extend([0; 2]);
    file
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    use std::io::Read;
    let mut packed = Vec::new();
    flate2::read::DeflateEncoder::new(bytes, flate2::Compression::fast()).read_to_end(&mut packed).unwrap();
    packed
}

/// The same with the head of zlib, as PDF has it.
pub(super) fn zlib(bytes: &[u8]) -> Vec<u8> {
    use std::io::Read;
    let mut packed = Vec::new();
    flate2::read::ZlibEncoder::new(bytes, flate2::Compression::fast()).read_to_end(&mut packed).unwrap();
    packed
}

pub(super) fn docx() -> Vec<u8> {
    zip(&[
        ("[Content_Types].xml", "<Types/>"),
        (
            "word/document.xml",
            "<w:document><w:body><w:p><w:r><w:t>Annual</w:t></w:r><w:r><w:tab/><w:t xml:space=\"preserve\">report &amp; more</w:t></w:r></w:p><w:p><w:r><w:t>Second</w:t></w:r></w:p></w:body></w:document>",
        ),
        (
            "docProps/core.xml",
            "<cp:coreProperties><dc:title>The Title</dc:title><dc:creator>Ada</dc:creator><cp:keywords>a; b</cp:keywords><dcterms:created>2024-02-29T12:00:00Z</dcterms:created></cp:coreProperties>",
        ),
        ("docProps/app.xml", "<Properties><Pages>3</Pages><Application>Word</Application></Properties>"),
        ("word/header1.xml", "<w:hdr><w:p><w:r><w:t>Head</w:t></w:r></w:p></w:hdr>"),
    ])
}

pub(super) fn xlsx() -> Vec<u8> {
    zip(&[
        ("[Content_Types].xml", "<Types/>"),
        ("xl/workbook.xml", "<workbook><sheets><sheet name=\"Budget\" sheetId=\"1\"/></sheets></workbook>"),
        ("xl/sharedStrings.xml", "<sst><si><t>Rent</t></si><si><r><t>Food</t></r></si></sst>"),
        (
            "xl/worksheets/sheet1.xml",
            "<worksheet><sheetData><row><c t=\"s\"><v>0</v></c><c><v>1250.5</v></c><c t=\"inlineStr\"><is><t>Inline</t></is></c></row></sheetData></worksheet>",
        ),
    ])
}

pub(super) fn pptx() -> Vec<u8> {
    let slide = |text: &str| format!("<p:sld><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>");
    zip(&[
        ("[Content_Types].xml", "<Types/>"),
        ("ppt/slides/slide10.xml", &slide("Tenth")),
        ("ppt/slides/slide2.xml", &slide("Second")),
        ("ppt/notesSlides/notesSlide1.xml", &slide("Notes")),
    ])
}

pub(super) fn odt() -> Vec<u8> {
    zip(&[
        ("mimetype", "application/vnd.oasis.opendocument.text"),
        (
            "content.xml",
            "<office:document-content><office:automatic-styles>hidden</office:automatic-styles><office:body><office:text><text:h>Heading</text:h><text:p>Some<text:s/>words<text:line-break/>here</text:p></office:text></office:body></office:document-content>",
        ),
        (
            "meta.xml",
            "<office:meta><dc:title>Open</dc:title><meta:initial-creator>Bob</meta:initial-creator><meta:keyword>k</meta:keyword><meta:document-statistic meta:page-count=\"7\"/></office:meta>",
        ),
    ])
}

pub(super) fn mail() -> Vec<u8> {
    b"From: =?utf-8?Q?Ad=C3=A9?= <ada@lab.test>\r\nTo: bob@lab.test,\r\n eve@lab.test\r\n\
    Subject: =?iso-8859-1?Q?R=E9sum=E9_?=\r\n =?utf-8?B?4pi6?=\r\nDate: Thu, 29 Feb 2024 12:00:00 +0000\r\n\
    Content-Type: multipart/mixed; boundary=\"b;1\"\r\n\r\npreamble\r\n--b;1\r\n\
    Content-Type: multipart/alternative; boundary=inner\r\n\r\n--inner\r\n\
    Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
    Caf=E9 soft=\r\n break\r\n--inner\r\nContent-Type: text/html\r\n\r\n<p>in <b>html</b></p>\r\n--inner--\r\n\
    --b;1\r\nContent-Type: application/pdf; name=\"plan.pdf\"\r\nContent-Transfer-Encoding: base64\r\n\r\nAAAA\r\n\
    --b;1\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n5pel5pys\r\n--b;1--\r\n"
        .to_vec()
}

/// A tape archive of these names, without contents.
pub(super) fn tar(names: &[&str]) -> Vec<u8> {
    let mut file = Vec::new();
    for name in names {
        let mut head = vec![0; 512];
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[124..135].copy_from_slice(b"00000000005");
        head[156] = b'0';
        head[257..263].copy_from_slice(b"ustar\0");
        head[345..348].copy_from_slice(b"top");
        file.extend(head);
        file.extend(b"12345");
        file.resize(file.len().next_multiple_of(512), 0);
    }
    file.resize(file.len() + 1024, 0);
    file
}

/// A TIFF file with one directory and that of EXIF.
pub(super) fn tiff() -> Vec<u8> {
    let mut file = b"MM\0\x2a\0\0\0\x08".to_vec();
    let (make, model, taken) = (b"Canon\0", b"Canon EOS 5D\0", b"2024:02:29 12:00:00\0");
    let mut fields: Vec<(u16, u16, u32, [u8; 4])> = Vec::new();
    // 8 + 2 + 5 fields + 4; then two fields of EXIF; then the texts.
    let exif_at = 8 + 2 + 12 * 5 + 4;
    let texts_at = exif_at + 2 + 12 + 4;
    let place = |at: usize| (at as u32).to_be_bytes();
    fields.push((0x0100, 4, 1, place(4000)));
    fields.push((0x0101, 3, 1, [0x0b, 0xb8, 0, 0]));
    fields.push((0x010f, 2, 6, place(texts_at)));
    fields.push((0x0110, 2, 13, place(texts_at + 6)));
    fields.push((0x8769, 4, 1, place(exif_at)));
    let put = |file: &mut Vec<u8>, fields: &[(u16, u16, u32, [u8; 4])]| {
        file.extend((fields.len() as u16).to_be_bytes());
        for (tag, kind, count, value) in fields {
            file.extend(tag.to_be_bytes());
            file.extend(kind.to_be_bytes());
            file.extend(count.to_be_bytes());
            file.extend(value);
        }
        file.extend([0; 4]);
    };
    put(&mut file, &fields);
    put(&mut file, &[(0x9003, 2, 20, place(texts_at + 19))]);
    file.extend_from_slice(make);
    file.extend_from_slice(model);
    file.extend_from_slice(taken);
    file
}

pub(super) fn jpeg() -> Vec<u8> {
    let exif = [&b"Exif\0\0"[..], &tiff()].concat();
    let mut file = vec![0xff, 0xd8, 0xff, 0xe1];
    file.extend((exif.len() as u16 + 2).to_be_bytes());
    file.extend(exif);
    file.extend([0xff, 0xc0, 0, 11, 8, 0x0b, 0xb8, 0x0f, 0xa0, 1, 1, 0x11, 0, 0xff, 0xda, 0, 2]);
    file
}

fn atom(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    [&(data.len() as u32 + 8).to_be_bytes()[..], kind, data].concat()
}

pub(super) fn mp4() -> Vec<u8> {
    let mut head = vec![0; 100];
    head[4..8].copy_from_slice(&(2_082_844_800u32 + 1_709_208_000).to_be_bytes());
    head[12..16].copy_from_slice(&600u32.to_be_bytes());
    head[16..20].copy_from_slice(&7500u32.to_be_bytes());
    let mut track = vec![0; 84];
    track[76..80].copy_from_slice(&(1920u32 << 16).to_be_bytes());
    track[80..84].copy_from_slice(&(1080u32 << 16).to_be_bytes());
    let data = atom(b"data", b"\0\0\0\x01\0\0\0\0My Film");
    let meta = [&[0; 4][..], &atom(b"ilst", &atom(b"\xa9nam", &data))].concat();
    let moov =
        [atom(b"mvhd", &head), atom(b"trak", &atom(b"tkhd", &track)), atom(b"udta", &atom(b"meta", &meta))];
    [atom(b"ftyp", b"isom\0\0\0\0"), atom(b"mdat", &[0; 3000]), atom(b"moov", &moov.concat())].concat()
}

pub(super) fn heic() -> Vec<u8> {
    let exif = [&[0, 0, 0, 6][..], b"Exif\0\0", &tiff()].concat();
    let build = |place: u32| {
        let infe = atom(b"infe", b"\x02\0\0\0\0\x07\0\0Exif\0");
        let iinf = atom(b"iinf", &[&[0, 0, 0, 0, 0, 1][..], &infe].concat());
        let ispe = atom(b"ispe", &[&[0; 4][..], &4032u32.to_be_bytes(), &3024u32.to_be_bytes()].concat());
        let iprp = atom(b"iprp", &atom(b"ipco", &ispe));
        let mut iloc = vec![0, 0, 0, 0, 0x44, 0, 0, 1, 0, 7, 0, 0, 0, 1];
        iloc.extend(place.to_be_bytes());
        iloc.extend((exif.len() as u32).to_be_bytes());
        let meta = [&[0; 4][..], &iinf, &atom(b"iloc", &iloc), &iprp].concat();
        [atom(b"ftyp", b"heic\0\0\0\0"), atom(b"meta", &meta)].concat()
    };
    let place = build(0).len() as u32 + 8;
    [build(place), atom(b"mdat", &exif)].concat()
}

pub(super) fn wav() -> Vec<u8> {
    let mut file = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0".to_vec();
    file.extend(b"LIST\x12\0\0\0INFOINAM\x05\0\0\0Bell\0\0data");
    file.extend(8000u32.to_le_bytes());
    file.resize(file.len() + 8000, 0);
    file
}

pub(super) fn mp3() -> Vec<u8> {
    let frame = |name: &[u8], text: &[u8]| [name, &(text.len() as u32).to_be_bytes(), &[0, 0], text].concat();
    let tags = [
        frame(b"TIT2", &[&[1, 0xff, 0xfe][..], &utf16_le("Lied")].concat()),
        frame(b"TPE1", b"\x03Ad\xc3\xa9"),
        frame(b"TALB", b"\0Album"),
    ]
    .concat();
    let mut file = b"ID3\x03\0\0\0\0\0".to_vec();
    file.push(tags.len() as u8);
    file.extend(tags);
    // MPEG 1, layer III, 128 kbit/s, 44.1 kHz: 16,000 bytes are a second.
    file.extend([0xff, 0xfb, 0x90, 0]);
    file.resize(file.len() + 32_000 - 4, 0);
    file
}

/// All of them, with their names.
pub(super) fn all() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("a.docx", docx()),
        ("a.xlsx", xlsx()),
        ("a.pptx", pptx()),
        ("a.odt", odt()),
        ("a.eml", mail()),
        ("a.zip", zip(&[("a/b", "c")])),
        ("a.tar", tar(&["a", "b"])),
        ("a.jpg", jpeg()),
        ("a.tif", tiff()),
        ("a.heic", heic()),
        ("a.mp4", mp4()),
        ("a.wav", wav()),
        ("a.mp3", mp3()),
        ("a.pdf", super::pdf::simple()),
        ("b.pdf", super::pdf::with_streams()),
        ("a.html", b"<title>a</title><p>b<script>c</script>&amp;<x y='z'>".to_vec()),
        ("a.rtf", b"{\\rtf1{\\info{\\title a}}b\\u300 ?\\'e9\\bin3 abc}".to_vec()),
    ]
}
