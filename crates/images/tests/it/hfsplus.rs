//! HFS+ volumes of the writer: what is shown of them.

use std::sync::Arc;

use crate::common::{check, file, files, find, lines, list, names, noise, read};
use crate::writer::{BLOCK, Details, ROOT, Writer};
use formats::Kind;
use images::Error;
use images::tree::{FileSystem, Fork};

/// A volume with everything that is not in the way of the others.
pub(crate) fn rich() -> Vec<u8> {
    let mut writer = Writer::new(1024, "Backup of ½");
    let private = writer.folder(ROOT, "\0\0\0\0HFS+ Private Data");
    let folders = writer.folder_inodes();
    let inode = writer.file_inode(private, b"shared", 2);
    let shared = writer.folder_inode(folders, 2);
    writer.file(shared, "inside", b"seen from both backups");
    for backup in ["2024-01-01", "2024-01-02"] {
        let folder = writer.folder(ROOT, backup);
        writer.file_link(folder, "linked", inode);
        writer.folder_link(folder, "Documents", shared);
    }
    let plain = writer.file_of(
        ROOT,
        "ReadMe",
        b"text",
        b"resources",
        Details { finder_info: *b"TEXTttxt\x01\0\0\0\0\0\0\0", ..Details::default() },
    );
    writer.attribute(plain, "com.example.small", b"value");
    writer.large_attribute(plain, "com.example.large", &noise(10 * BLOCK + 5, 3), 10);
    writer.file_in_pieces(ROOT, "fragmented", &noise(30 * BLOCK - 7, 1), 30);
    writer.file_of(
        ROOT,
        "symbolic",
        b"2024-01-01/linked",
        &[],
        Details { mode: 0o120_777, finder_info: *b"slnkrhap\0\0\0\0\0\0\0\0", ..Details::default() },
    );
    let many = writer.folder(ROOT, "many");
    for number in 0..300 {
        writer.file(many, &format!("file {number:03}"), format!("{number}").as_bytes());
    }
    writer.folder(ROOT, "a/b");
    writer.file(ROOT, "Gru\u{308}ße", b"decomposed");
    writer.build()
}

#[test]
fn a_whole_volume_is_shown_and_sound() {
    let source = file(rich());
    let (checked, problems) = check(&source);
    assert_eq!(lines(&problems), [""; 0]);
    assert!(checked.finished && checked.volumes == 1 && checked.unchecked.is_empty());
    let files = files(&source);
    let files = files.as_ref();
    assert_eq!((files.name().as_str(), files.format().as_str()), ("Backup of ½", "HFS+"));
    assert_eq!(
        names(files, files.root()),
        ["2024-01-01", "2024-01-02", "a:b", "fragmented", "Gru\u{308}ße", "many", "ReadMe", "symbolic"]
    );
    assert_eq!(names(files, find(files, "many").unwrap()).len(), 300);
    let fragmented = find(files, "fragmented").unwrap();
    assert_eq!(read(files, fragmented, Fork::Data), noise(30 * BLOCK - 7, 1));
    let link = find(files, "symbolic").unwrap();
    assert_eq!(files.node(link).unwrap().kind, Kind::Link);
    assert_eq!(files.link_target(link).unwrap(), b"2024-01-01/linked");
}

#[test]
fn names_are_found_in_any_case_and_form() {
    let source = file(rich());
    let files = files(&source);
    let files = files.as_ref();
    let found = files.lookup(files.root(), "README").unwrap();
    assert_eq!(found.name, "ReadMe");
    assert_eq!(files.lookup(files.root(), "grüße").unwrap().name, "Gru\u{308}ße");
    assert_eq!(files.lookup(files.root(), "a:b").unwrap().kind, Kind::Folder);
    for hidden in
        ["\u{2400}\u{2400}\u{2400}\u{2400}HFS+ Private Data", ".HFS+ Private Directory Data\r", "missing"]
    {
        assert_eq!(files.lookup(files.root(), hidden), Err(Error::NotFound));
    }
}

#[test]
fn links_of_files_and_folders_lead_to_one_node() {
    let source = file(rich());
    let files = files(&source);
    let files = files.as_ref();
    let one = find(files, "2024-01-01/linked").unwrap();
    assert_eq!(one, find(files, "2024-01-02/linked").unwrap());
    assert_eq!(files.node(one).unwrap().links, 2);
    assert_eq!(read(files, one, Fork::Data), b"shared");
    let folder = find(files, "2024-01-02/Documents").unwrap();
    assert_eq!(folder, find(files, "2024-01-01/Documents").unwrap());
    let node = files.node(folder).unwrap();
    assert_eq!((node.kind, node.links), (Kind::Folder, 2));
    assert_eq!(names(files, folder), ["inside"]);
    assert_eq!(files.parent(folder).unwrap(), find(files, "2024-01-01").unwrap());
    let kinds: Vec<_> =
        list(files, find(files, "2024-01-01").unwrap()).into_iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [Kind::Folder, Kind::File]);
}

#[test]
fn forks_dates_and_attributes_are_kept() {
    let source = file(rich());
    let files = files(&source);
    let files = files.as_ref();
    let plain = find(files, "ReadMe").unwrap();
    let node = files.node(plain).unwrap();
    assert_eq!((node.size, node.resource_size, node.mode), (4, 9, 0o644));
    assert_eq!((node.user, node.group), (501, 20));
    assert_eq!(&node.finder_info[..9], b"TEXTttxt\x01");
    assert_eq!(node.created.secs, 1_577_836_800);
    assert_eq!(node.modified.secs - node.created.secs, 60);
    assert_eq!(node.backed_up, None);
    assert_eq!(read(files, plain, Fork::Resource), b"resources");
    assert_eq!(files.attribute_names(plain).unwrap(), ["com.example.large", "com.example.small"]);
    assert_eq!(files.attribute(plain, "com.example.small").unwrap(), b"value");
    assert_eq!(files.attribute(plain, "com.example.large").unwrap(), noise(10 * BLOCK + 5, 3));
    assert_eq!(files.attribute(plain, "com.example.other"), Err(Error::NotFound));
}

#[test]
fn hfsx_tells_names_apart_by_case() {
    let mut writer = Writer::new(256, "Case");
    writer.case_sensitive = true;
    writer.file(ROOT, "name", b"lower");
    writer.file(ROOT, "Name", b"upper");
    let source = file(writer.build());
    assert_eq!(lines(&check(&source).1), [""; 0]);
    let files = files(&source);
    assert!(files.case_sensitive());
    assert_eq!(files.format(), "HFSX (case-sensitive)");
    let read = |name| read(files.as_ref(), find(files.as_ref(), name).unwrap(), Fork::Data);
    assert_eq!((read("name"), read("Name")), (b"lower".to_vec(), b"upper".to_vec()));
    assert_eq!(files.lookup(files.root(), "NAME"), Err(Error::NotFound));
}

#[test]
fn a_damaged_first_header_is_replaced_by_its_copy() {
    let mut bytes = rich();
    bytes[1024..1536].fill(0);
    let source = file(bytes);
    let files = files(&source);
    assert_eq!(files.name(), "Backup of ½");
    let problems = lines(&check(&source).1);
    assert_eq!(problems, ["volume header: it has no signature of HFS+"]);
}

#[test]
fn a_check_goes_on_where_it_was_stopped() {
    let source = file(rich());
    let mut report = crate::common::Report { stop_after: Some(6), ..crate::common::Report::default() };
    let checked = images::check(&source, None, images::Resume::default(), &mut report).unwrap();
    assert!(!checked.finished);
    let resume = report.steps.last().unwrap().resume;
    assert!(resume.step > 0);
    let mut report = crate::common::Report::default();
    let checked = images::check(&source, None, resume, &mut report).unwrap();
    assert!(checked.finished);
    assert!(report.steps.iter().all(|progress| progress.resume >= resume));
    assert_eq!(report.steps.last().unwrap().resume.step, 5);
}

#[test]
fn many_readers_share_a_volume() {
    let files: Arc<dyn FileSystem> = files(&file(rich()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let node = find(files.as_ref(), "fragmented").unwrap();
                assert_eq!(read(files.as_ref(), node, Fork::Data).len(), 30 * BLOCK - 7);
            });
        }
    });
}
