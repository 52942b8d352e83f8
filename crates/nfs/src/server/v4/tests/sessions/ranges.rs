//! The operations of minor version 2, by RFC 7862 15. Each COMPOUND of these tests is one of minor version 2.

use super::*;

const PAGE: u64 = 4096;

fn number(words: [u64; 2]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A client in a session that sends minor version 2.
pub(super) struct MinorTwoClient(pub(super) Session);

impl MinorTwoClient {
    pub(super) fn new() -> Self {
        let client = client();
        client.service.set_minor_versions(&[1, 2]);
        Self(Session::of(&client, b"me", 1))
    }

    pub(super) fn call(&self, operations: &[Vec<u8>]) -> (u32, Vec<u8>) {
        let session = &self.0;
        session.used.set(session.used.get() + 1);
        let sequence = session.sequence([session.used.get(), 0, 0, 0]);
        let head = words(&[0, 2, operations.len() as u32 + 1]);
        let message = [head, sequence, operations.concat()].concat();
        let answer = now(session.client.call_raw((PROGRAM, 4, 1), &message)).expect("a reply");
        (status(&answer.results), answer.results[56..].to_vec())
    }

    pub(super) fn at(&self, handle: &[u8], operations: &[Vec<u8>]) -> (u32, Vec<u8>) {
        let put = [words(&[22]), opaque(handle)].concat();
        let (status, results) = self.call(&[vec![put], operations.to_vec()].concat());
        (status, results[8..].to_vec())
    }

    /// A file with data in its second and fourth page, six pages long: its stateid and handle.
    fn holed(&self, name: &[u8]) -> (StateBytes, Vec<u8>) {
        let (state, handle) = self.0.opened(b"o", (3, 0), name);
        for (page, byte) in [(1, b'a'), (3, b'b')] {
            let head = [words(&[38]), state.to_vec(), (page * PAGE).to_be_bytes().to_vec(), words(&[2])];
            let write = [head.concat(), opaque(&[byte; PAGE as usize])].concat();
            assert_eq!(self.at(&handle, &[write]).0, 0);
        }
        let size = [words(&[34]), state.to_vec(), words(&[1, 0x10, 8]), (6 * PAGE).to_be_bytes().to_vec()];
        assert_eq!(self.at(&handle, &[size.concat()]).0, 0);
        (state, handle)
    }

    /// SEEK: the status, whether the end was found, the offset.
    fn seek(&self, file: &(StateBytes, Vec<u8>), offset: u64, what: u32) -> (u32, Option<(u32, u64)>) {
        let seek = [words(&[69]), file.0.to_vec(), offset.to_be_bytes().to_vec(), words(&[what])].concat();
        let (status, reply) = self.at(&file.1, &[seek]);
        let found = reply.get(8..20).map(|found| {
            let (end, at) = found.split_at(4);
            (u32::from_be_bytes(end.try_into().unwrap()), u64::from_be_bytes(at.try_into().unwrap()))
        });
        (status, found)
    }

    fn read(&self, file: &(StateBytes, Vec<u8>), offset: u64, count: u32) -> Vec<u8> {
        let head = [words(&[25]), file.0.to_vec(), offset.to_be_bytes().to_vec(), words(&[count])];
        let (status, reply) = self.at(&file.1, &[head.concat()]);
        assert_eq!(status, 0);
        let length = u32::from_be_bytes(reply[12..16].try_into().unwrap()) as usize;
        reply[16..16 + length].to_vec()
    }
}

#[test]
fn data_and_holes_are_found() {
    let client = MinorTwoClient::new();
    let file = client.holed(b"f");
    for (offset, what, found) in [
        (0, 0, (0, PAGE)),
        (PAGE + 5, 0, (0, PAGE + 5)),
        (2 * PAGE, 0, (0, 3 * PAGE)),
        (4 * PAGE, 0, (1, 6 * PAGE)), // no data before the end
        (0, 1, (0, 0)),
        (PAGE, 1, (0, 2 * PAGE)),
        (3 * PAGE + 1, 1, (0, 4 * PAGE)),
    ] {
        assert_eq!(client.seek(&file, offset, what), (0, Some(found)), "{offset} {what}");
    }
    assert_eq!(client.seek(&file, 6 * PAGE, 0).0, 6); // NXIO
    assert_eq!(client.seek(&file, 0, 2).0, 10090); // UNION_NOTSUPP
    // The hole at the end of a file that ends with data.
    let size =
        [words(&[34]), file.0.to_vec(), words(&[1, 0x10, 8]), (4 * PAGE).to_be_bytes().to_vec()].concat();
    assert_eq!(client.at(&file.1, &[size]).0, 0);
    assert_eq!(client.seek(&file, 3 * PAGE, 1), (0, Some((1, 4 * PAGE))));
}

#[test]
fn space_is_taken_and_given_back() {
    let client = MinorTwoClient::new();
    let file = client.holed(b"f");
    let on = |number_: u32, range| [words(&[number_]), file.0.to_vec(), number(range)].concat();
    assert_eq!(client.at(&file.1, &[on(62, [PAGE, PAGE])]), (0, words(&[62, 0])));
    assert_eq!(client.seek(&file, 0, 0), (0, Some((0, 3 * PAGE))));
    assert_eq!(client.read(&file, PAGE, 3), [0; 3]);
    // ALLOCATE makes the file longer, and changes nothing in it.
    assert_eq!(client.at(&file.1, &[on(59, [3 * PAGE, 5 * PAGE])]), (0, words(&[59, 0])));
    assert_eq!(client.read(&file, 3 * PAGE, 2), b"bb");
    assert_eq!(client.read(&file, 8 * PAGE - 2, 9), [0; 2]);
    assert_eq!(client.at(&file.1, &[on(59, [u64::MAX, 2])]).0, 22); // INVAL
    assert_eq!(client.at(&file.1, &[on(62, [1 << 63, 2])]).0, 27); // FBIG
    // By an open for reading: OPENMODE.
    let (state, handle) = client.0.opened(b"reader", (1, 0), b"f");
    let punch = [words(&[62]), state.to_vec(), number([0, 1])].concat();
    assert_eq!(client.at(&handle, &[punch]).0, 10038);
}

#[test]
fn holes_are_read_as_holes() {
    let client = MinorTwoClient::new();
    let (state, handle) = client.holed(b"f");
    let read = |offset: u64, count: u64| {
        [words(&[68]), state.to_vec(), offset.to_be_bytes().to_vec(), words(&[count as u32])].concat()
    };
    let hole = |at: u64, length: u64| [words(&[1]), number([at, length])].concat();
    let data = |at: u64, bytes: &[u8]| [words(&[0]), at.to_be_bytes().to_vec(), opaque(bytes)].concat();
    let expected =
        [words(&[68, 0, 0, 3]), hole(0, PAGE), data(PAGE, &[b'a'; 4096]), hole(2 * PAGE, 5)].concat();
    assert_eq!(client.at(&handle, &[read(0, 2 * PAGE + 5)]), (0, expected));
    let to_end = [words(&[68, 0, 1, 2]), data(4 * PAGE - 3, b"bbb"), hole(4 * PAGE, 2 * PAGE)].concat();
    assert_eq!(client.at(&handle, &[read(4 * PAGE - 3, 99 * PAGE)]), (0, to_end));
    assert_eq!(client.at(&handle, &[read(6 * PAGE, 1)]), (0, words(&[68, 0, 1, 0])));
}

#[test]
fn another_user_of_the_client_needs_the_rights_to_the_file() {
    let mut client = MinorTwoClient::new();
    let (state, handle) = client.holed(b"f");
    let mode = [words(&[34]), vec![0; 16], words(&[2, 0, 2, 4, 0o600])].concat();
    assert_eq!(client.at(&handle, &[mode]).0, 0);
    let seek = [words(&[69]), state.to_vec(), words(&[0, 0, 0])].concat();
    let punch = [words(&[62]), state.to_vec(), number([0, 1])].concat();
    assert_eq!(client.at(&handle, &[seek.clone(), punch.clone()]).0, 0);
    client.0.client = client.0.client.clone().user(2000);
    for operation in [seek, punch, read_1(&state)] {
        assert_eq!(client.at(&handle, &[operation]).0, 13); // ACCESS
    }
}

#[test]
fn a_range_is_copied_inside_the_server() {
    let client = MinorTwoClient::new();
    let (source, target) = (client.holed(b"f"), client.0.opened(b"o", (3, 0), b"g"));
    let save = [[words(&[22]), opaque(&source.1)].concat(), words(&[32])];
    let copy = |numbers: [u64; 3], servers: &[u32]| {
        let [from, to, count] = numbers;
        let ranges =
            [number([from, to]), count.to_be_bytes().to_vec(), words(&[1, 1]), words(servers)].concat();
        let operation = [words(&[60]), source.0.to_vec(), target.0.to_vec(), ranges].concat();
        let put = [words(&[22]), opaque(&target.1)].concat();
        let (status, reply) = client.call(&[save.to_vec(), vec![put, operation]].concat());
        (status, reply[32..].to_vec())
    };
    let (status, reply) = copy([3 * PAGE - 1, 10, 3], &[0]);
    // Nothing to wait for, three bytes, UNSTABLE4, the verifier of WRITE; consecutive and synchronous.
    assert_eq!((status, &reply[..16]), (0, &words(&[0, 0, 3, 0])[..]));
    assert_eq!(reply[24..], words(&[1, 1]));
    assert_eq!(client.read(&target, 0, 99), [&[0; 11][..], b"bb"].concat());
    assert_eq!(copy([4 * PAGE, 0, 0], &[0]).0, 0); // to the end
    assert_eq!(client.read(&target, 2 * PAGE - 1, 9), [0]);
    // Beyond the end of the source: INVAL. From another server: PARTNER_NOTSUPP.
    assert_eq!(copy([5 * PAGE, 0, PAGE + 1], &[0]).0, 22);
    assert_eq!(copy([7 * PAGE, 0, 0], &[0]).0, 22);
    assert_eq!(copy([0, 0, 1], &[1, 1, 0]).0, 10088);
    // CLONE: NOTSUPP in memory. Overlapping ranges of one file: INVAL.
    let clone = |to: &(StateBytes, Vec<u8>), numbers: [u64; 2]| {
        let states = [words(&[71]), source.0.to_vec(), to.0.to_vec()].concat();
        let operation = [states, number(numbers), PAGE.to_be_bytes().to_vec()].concat();
        client.call(&[save.to_vec(), vec![[words(&[22]), opaque(&to.1)].concat(), operation]].concat()).0
    };
    assert_eq!(clone(&target, [0, 0]), 10004);
    assert_eq!(clone(&source, [0, 10]), 22);
    // Without a saved handle: NOFILEHANDLE.
    let alone = [words(&[71]), source.0.to_vec(), target.0.to_vec(), vec![0; 24]].concat();
    assert_eq!(client.at(&target.1, &[alone]).0, 10020);
}

#[test]
fn hints_are_not_followed_and_other_operations_are_not_there() {
    let client = MinorTwoClient::new();
    let (state, handle) = client.holed(b"f");
    let advise = [words(&[63]), state.to_vec(), number([0, 9]), words(&[1, 1])].concat();
    assert_eq!(client.at(&handle, &[advise]), (0, words(&[63, 0, 0])));
    // OFFLOAD_CANCEL and OFFLOAD_STATUS of no copy; COPY_NOTIFY, LAYOUTERROR, LAYOUTSTATS, WRITE_SAME.
    for number in [66, 67] {
        assert_eq!(client.at(&handle, &[[words(&[number]), state.to_vec()].concat()]).0, 10025);
    }
    for number in [61, 64, 65, 70] {
        assert_eq!(client.at(&handle, &[[words(&[number]), vec![0; 64]].concat()]).0, 10004);
    }
    assert_eq!(client.call(&[words(&[76])]).0, 10044);
    // In minor version 1 there are none of them: OP_ILLEGAL.
    let seek = [words(&[69]), state.to_vec(), vec![0; 12]].concat();
    assert_eq!(client.0.at(&handle, &[seek]).0, 10044);
}

#[test]
fn each_operation_of_minor_version_2_with_each_kind_of_arguments_is_answered() {
    let client = MinorTwoClient::new();
    let (state, handle) = client.holed(b"f");
    let arguments: Vec<Vec<u8>> = vec![
        vec![],
        words(&[0; 64]),
        words(&[u32::MAX; 64]),
        words(&[1; 64]),
        [state.to_vec(), words(&[0; 16])].concat(),
        [state.to_vec(), vec![0xff; 64]].concat(),
        [state.to_vec(), number([PAGE, u64::MAX - PAGE]), words(&[1; 8])].concat(),
        [state.to_vec(), state.to_vec(), number([0, u64::MAX]), words(&[0; 8])].concat(),
        [state.to_vec(), state.to_vec(), number([u64::MAX, 0]), vec![0xff; 32]].concat(),
        [opaque(b"name"), words(&[0; 16])].concat(),
        [words(&[1]), opaque(b"name"), opaque(b"value")].concat(),
        words(&[0, u32::MAX, u32::MAX]),
    ];
    let views = crate::server::v4::tests::hostile::views(&client.0.client, &handle);
    // Each view as the current handle, and as the saved one, too.
    let views = views.into_iter().flat_map(|put| [vec![put.clone()], vec![put, words(&[32])]]);
    let docs = vec![words(&[24]), look_up(b"docs")];
    let places: Vec<_> = [vec![], vec![words(&[24])], docs].into_iter().chain(views).collect();
    for operation in 59..77 {
        for place in &places {
            for arguments in &arguments {
                let operation = [words(&[operation]), arguments.clone()].concat();
                let (status, reply) = client.call(&[place.clone(), vec![operation]].concat());
                assert!(crate::wire::v4::types::Status(status).name().is_some(), "status {status}");
                assert_eq!(reply.len() % 4, 0);
            }
        }
    }
    let (status, reply) = client.at(&handle, &[words(&[9, 1, 0x10])]);
    assert_eq!((status, reply.len()), (0, 28)); // the file is still there, and so is the session
}
