//! Tags and the label's colour, and the two places of a file's comment, are one thing to the clients
//! of all protocols: what one sets, the others see.

use ::afp::client::ROOT;
use ::afp::wire::desktop::{AddComment, Comment, OfFile, OpenDt, OpenDtReply};
use ::afp::wire::{Path, ResultCode, SetParameters, command};
use ::smb::wire::Status;
use ::smb::wire::create::Disposition;
use nfs::wire::v3::write::StableHow;
use wire::Reader;

use super::Afp;
use super::mac_facts::{Scene, finder_info_over_afp, scene, set, stream_of};
use crate::robustness::smb::Smb;

const TAGS: &str = "com.apple.metadata\u{f022}_kMDItemUserTags";
const COMMENT: &str = "com.apple.metadata\u{f022}kMDItemFinderComment";

/// What macOS stores for the one tag "Red", as `xattr -px` shows it.
const RED: &[u8] = b"bplist00\xA1\x01\x55Red\n6\x08\x0A\0\0\0\0\0\0\x01\x01\
    \0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10";
/// The same for "Red" and then "Blue": the Finder's label is that of the last.
const RED_AND_BLUE: &[u8] = b"bplist00\xA2\x01\x02\x55Red\n6\x56Blue\n4\x08\x0B\x11\0\0\0\0\0\0\x01\x01\
    \0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x18";
/// The comment "text" as a property list.
const TEXT: &[u8] = b"bplist00\x54text\x08\0\0\0\0\0\0\x01\x01\
    \0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0D";

/// Replaces a stream as a Mac does.
fn put(smb: &mut Smb, name: &str, value: &[u8]) {
    let file = smb.open(name, |request| request.disposition = Disposition::OVERWRITE_IF).unwrap();
    smb.write(file, 0, value).unwrap();
    smb.close(file).unwrap();
}

/// The label, bits 1 to 3 of the Finder flags: Inside Macintosh, More Macintosh Toolbox 7-47.
fn label(finder_info: &[u8]) -> u8 {
    finder_info[9] >> 1 & 7
}

fn desktop(afp: &mut Afp) -> u16 {
    let request = OpenDt { volume: afp.volume };
    let reply = afp.client.call(command::OPEN_DT, |w| request.encode(w)).unwrap().well().unwrap();
    OpenDtReply::decode(&mut Reader::new(&reply)).unwrap().desktop
}

fn comment(afp: &mut Afp, name: &str) -> Result<Vec<u8>, ResultCode> {
    let request = OfFile { desktop: desktop(afp), directory: ROOT, path: Path::utf8(name.as_bytes()) };
    let reply = afp.client.call(command::GET_COMMENT, |w| request.encode(w)).unwrap().well();
    let reply = reply.map_err(|error| error.code().expect("an answer"))?;
    Ok(Comment::decode(&mut Reader::new(&reply)).unwrap().0.to_vec())
}

fn set_comment(afp: &mut Afp, name: &str, comment: &[u8]) {
    let path = Path::utf8(name.as_bytes());
    let request = AddComment { desktop: desktop(afp), directory: ROOT, path, comment };
    afp.client.call(command::ADD_COMMENT, |w| request.encode(w)).unwrap().well().unwrap();
}

#[test]
fn tags_set_over_smb_are_the_label_over_afp() {
    let Scene { mut afp, mut smb, _server, _top, .. } = scene();
    for name in ["notes", "folder"] {
        let tags = format!("{name}:{TAGS}");
        for (value, colour) in [(RED, 6), (RED_AND_BLUE, 4), (RED, 6)] {
            put(&mut smb, &tags, value);
            assert_eq!(label(&finder_info_over_afp(&mut afp, name)), colour, "{name}");
            assert_eq!(label(&stream_of(&mut smb, &format!("{name}:AFP_AfpInfo")).unwrap()[16..]), colour);
            assert_eq!(stream_of(&mut smb, &tags).unwrap(), value, "{name}: not rewritten");
        }
        smb.remove(&tags).unwrap();
        assert_eq!(label(&finder_info_over_afp(&mut afp, name)), 0, "{name}");
    }
}

#[test]
fn a_label_set_over_afp_is_a_tag_over_smb() {
    let Scene { mut afp, mut smb, _server, _top, .. } = scene();
    let mut info = *b"TEXTttxt\0\0\0\x10\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let tags = format!("notes:{TAGS}");
    let mut label_as = |afp: &mut Afp, colour: u8| {
        info[9] = colour << 1;
        set(afp, "notes", SetParameters { finder_info: Some(info), ..SetParameters::default() });
    };
    label_as(&mut afp, 6);
    assert_eq!(stream_of(&mut smb, &tags).unwrap(), RED);
    put(&mut smb, &tags, RED_AND_BLUE);
    label_as(&mut afp, 4);
    assert_eq!(stream_of(&mut smb, &tags).unwrap(), RED_AND_BLUE, "the label that the tags have already");
    label_as(&mut afp, 0);
    assert_eq!(stream_of(&mut smb, &tags), Err(Status::OBJECT_NAME_NOT_FOUND));
}

#[test]
fn tags_in_a_sidecar_written_over_nfs_are_the_label_of_the_others() {
    let Scene { mut afp, mut smb, mut nfs, root, _server, _top } = scene();
    put(&mut smb, &format!("notes:{TAGS}"), RED_AND_BLUE);
    let sidecar = nfs.lookup(&root, "._notes").unwrap();
    let mut content = nfs.content(&sidecar).unwrap();
    assert_eq!(label(&content[50..82]), 4);
    // A Mac that changes "Blue" to the colour 2.
    let at = content.windows(6).position(|part| part == b"Blue\n4").unwrap();
    content[at + 5] = b'2';
    nfs.write(&sidecar, 0, &content, StableHow::FILE_SYNC).unwrap();
    assert_eq!(label(&finder_info_over_afp(&mut afp, "notes")), 2);
    let there = nfs.lookup(&root, "._notes").unwrap();
    assert_eq!(label(&nfs.content(&there).unwrap()[50..82]), 2);
    // One that knows no tags changes the label.
    let mut content = nfs.content(&there).unwrap();
    content[59] = 6 << 1;
    nfs.write(&there, 0, &content, StableHow::FILE_SYNC).unwrap();
    assert_eq!(label(&finder_info_over_afp(&mut afp, "notes")), 6);
    let tags = stream_of(&mut smb, &format!("notes:{TAGS}")).unwrap();
    let at = |tag: &[u8]| tags.windows(tag.len()).position(|part| part == tag);
    assert!(at(b"Blue\n2") < at(b"Red\n6") && at(b"Blue\n2").is_some(), "the label is that of the last");
}

#[test]
fn comments_are_one_over_afp_and_smb() {
    let Scene { mut afp, mut smb, _server, _top, .. } = scene();
    for name in ["notes", "folder"] {
        let stream = format!("{name}:{COMMENT}");
        assert_eq!(comment(&mut afp, name), Err(ResultCode::ITEM_NOT_FOUND));
        put(&mut smb, &stream, TEXT);
        assert_eq!(comment(&mut afp, name).unwrap(), b"text");
        set_comment(&mut afp, name, b"na\x95ve"); // MacRoman
        let utf16 = b"bplist00\x65\0n\0a\0\xEF\0v\0e\x08"; // CFBinaryPList.c: 0110 nnnn, big-endian units
        assert_eq!(stream_of(&mut smb, &stream).unwrap()[..20], utf16[..]);
        set_comment(&mut afp, name, b"text");
        assert_eq!(stream_of(&mut smb, &stream).unwrap(), TEXT);
        smb.remove(&stream).unwrap();
        assert_eq!(comment(&mut afp, name), Err(ResultCode::ITEM_NOT_FOUND));
        set_comment(&mut afp, name, b"again");
        let request =
            OfFile { desktop: desktop(&mut afp), directory: ROOT, path: Path::utf8(name.as_bytes()) };
        afp.client.call(command::REMOVE_COMMENT, |w| request.encode(w)).unwrap().well().unwrap();
        assert_eq!(stream_of(&mut smb, &stream), Err(Status::OBJECT_NAME_NOT_FOUND));
    }
}
