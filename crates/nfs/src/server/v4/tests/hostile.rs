//! Clients that follow no rule: each operation in each state, sizes that cannot be, and registrations without end.

use super::*;
use crate::server::handle::{AttributeName, HandleContent, HandleView};

/// PUTFH of each view of a file: itself, the `._name` of a Mac, the folder of its named attributes, its resource fork.
pub(super) fn views(client: &Client, handle: &[u8]) -> Vec<Vec<u8>> {
    let secret = &client.service.secret;
    let named = HandleContent::open(secret, handle).unwrap();
    let fork = HandleView::Attribute(AttributeName::new(b"com.apple.ResourceFork").unwrap());
    let handles = [HandleView::File, HandleView::Sidecar, HandleView::Attributes, fork]
        .map(|view| HandleContent { view, ..named }.seal(secret));
    handles.iter().map(|handle| [words(&[22]), opaque(handle.as_bytes())].concat()).collect()
}

/// Ways to a current handle: no operation, the root, a folder above a share, a share, a link, each view of a file, an invalid
/// handle, that of a folder that leads nowhere.
fn places(client: &Client, handle: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let lookup = |name: &[u8]| [words(&[15]), opaque(name)].concat();
    let docs = vec![words(&[24]), lookup(b"docs")];
    let link = [docs.clone(), vec![lookup(b"link")]].concat();
    let put = |handle: &[u8]| vec![[words(&[22]), opaque(handle)].concat()];
    let above = vec![words(&[24]), lookup(b"group")];
    let other = [vec![], vec![words(&[24])], above, docs, link, put(&[1; 64]), put(b"\0none")];
    other.into_iter().chain(views(client, handle).into_iter().map(|put| vec![put])).collect()
}

/// The statuses that RFC 7530 13.1 has, and the number of the last operation that was executed.
fn check(reply: &[u8], sent: u32) {
    let status = u32::from_be_bytes(reply[..4].try_into().unwrap());
    assert!(crate::wire::v4::types::Status(status).name().is_some(), "status {status}");
    let done = u32::from_be_bytes(reply[8..12].try_into().unwrap());
    assert!(done <= sent && (done > 0 || sent == 0 || status == 10018), "{done} of {sent}");
    assert_eq!(reply.len() % 4, 0);
}

#[test]
fn each_operation_in_each_place_with_each_kind_of_arguments_is_answered() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let (state, handle) = opened(&client, id, b"o", (3, 0), b"f");
    let link = [words(&[6, 5]), opaque(b"to"), opaque(b"link"), words(&[0, 0])].concat();
    assert_eq!(in_docs(&client, &[link]).0, 0);
    let arguments: Vec<Vec<u8>> = vec![
        vec![],
        words(&[0; 64]),
        words(&[u32::MAX; 64]),
        words(&[1; 64]),
        [words(&[0]), state.to_vec(), words(&[0; 32])].concat(),
        [state.to_vec(), words(&[0, 0, 4, 1, 0, 0])].concat(),
        [id.to_be_bytes().to_vec(), opaque(b"o"), words(&[0; 16])].concat(),
        [opaque(b"name"), words(&[0; 16])].concat(),
        words(&[0x7fff_ffff, 0x8000_0000, 3, 0xffff, 0, 1]),
    ];
    for number in (0..45).chain([10044, u32::MAX]) {
        for place in places(&client, &handle) {
            for arguments in &arguments {
                for saved in [false, true] {
                    let save = if saved { vec![words(&[32])] } else { vec![] };
                    let operation = [words(&[number]), arguments.clone()].concat();
                    let calls = [place.clone(), save, vec![operation]].concat();
                    let count = calls.len() as u32;
                    check(&compound(&client, count, &calls.concat()), count);
                }
            }
        }
    }
}

#[test]
fn lengths_that_a_message_does_not_have_cost_nothing() {
    let client = client();
    // A count of operations, a tag, a name, a bitmap, an owner and data, each of 4 GiB.
    for bytes in [
        words(&[0, 0, u32::MAX, 24]),
        words(&[u32::MAX]),
        words(&[0, 0, 1, 15, u32::MAX]),
        words(&[0, 0, 1, 9, u32::MAX]),
        words(&[0, 0, 1, 39, 0, 0, u32::MAX]),
        words(&[0, 0, 1, 38, 0, 0, 0, 0, 0, 0, 0, u32::MAX]),
    ] {
        let answer = now(client.call_raw((PROGRAM, 4, 1), &bytes)).expect("a reply");
        assert!(answer.results.len() < 64, "{} bytes", answer.results.len());
    }
}

#[test]
fn the_results_of_one_compound_are_limited() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let (state, handle) = opened(&client, id, b"o", (3, 0), b"f");
    let write = [words(&[38]), state.to_vec(), words(&[0, 0x10_0000, 0]), opaque(b"x")].concat();
    assert_eq!(at(&client, &handle, &[write]).0, 0);
    // 100 READs of 1 MiB each: short reads, then RESOURCE.
    let read = [words(&[25]), state.to_vec(), words(&[0, 0, 0x10_0000])].concat();
    let (status, reply) = at(&client, &handle, &vec![read; 100]);
    assert_eq!(status, 10018);
    assert!(reply.len() <= (1 << 20) + 64 * 1024, "{} bytes", reply.len());
}

#[test]
fn clients_that_never_confirm_are_forgotten_and_others_are_not() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let (state, handle) = opened(&client, id, b"o", (3, 0), b"f");
    let callback = [words(&[1]), opaque(b"tcp"), opaque(b"192.0.2.1.0.1"), words(&[7])].concat();
    let claim = |name: &[u8]| [words(&[35]), vec![1; 8], opaque(name), callback.clone()].concat();
    let first = compound(&client, 1, &claim(b"0"));
    for number in 1..1100_u32 {
        assert_eq!(compound(&client, 1, &claim(number.to_string().as_bytes()))[..4], words(&[0]));
    }
    // The oldest one has to register again.
    let confirm = [words(&[36]), first[20..36].to_vec()].concat();
    assert_eq!(compound(&client, 1, &confirm)[..4], words(&[10022]));
    let read = [words(&[25]), state.to_vec(), words(&[0, 0, 1])].concat();
    assert_eq!(at(&client, &handle, &[read]).0, 0);
}
