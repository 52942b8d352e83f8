//! Random bytes for every program: each call gets an RPC answer, and no call makes the server
//! panic.

use proptest::prelude::*;

use super::testing::{Client, service};
use super::tls::Protection;
use crate::wire::rpc::Outcome;
use crate::wire::{mount, nlm, nsm, portmap, v3};

const PROGRAMS: [(u32, u32); 8] = [
    (v3::PROGRAM, 3),
    (mount::PROGRAM, 1),
    (mount::PROGRAM, 3),
    (nlm::PROGRAM, 4),
    (nsm::PROGRAM, 1),
    (portmap::PROGRAM, 2),
    (portmap::PROGRAM, 3),
    (portmap::PROGRAM, 4),
];

/// Arguments that look real: words that are often small, so that lengths and enumerations are
/// plausible.
fn words() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![4 => 0u32..9, 1 => any::<u32>(), 1 => Just(u32::MAX)];
    prop::collection::vec(word, 0..40)
        .prop_map(|words| words.into_iter().flat_map(u32::to_be_bytes).collect())
}

fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![prop::collection::vec(any::<u8>(), 0..200), words()]
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

proptest! {
    #[test]
    fn every_procedure_answers_any_arguments(
        program in prop::sample::select(&PROGRAMS[..]),
        procedure in 0u32..30,
        datagram in any::<bool>(),
        protection in prop::sample::select(&[Protection::None, Protection::Offered, Protection::Tls][..]),
        handle in any::<bool>(),
        mut arguments in noise(),
    ) {
        runtime().block_on(async {
            let mut client = Client::new(&service());
            (client.origin.datagram, client.origin.protection) = (datagram, protection);
            if handle {
                // A valid handle comes first, as most procedures expect one.
                let root = client.mount("/share").await.unwrap();
                let length = root.len() as u32;
                arguments.splice(0..0, [&length.to_be_bytes()[..], &root].concat());
            }
            let answer = client.call_raw((program.0, program.1, procedure), &arguments).await;
            let outcome = answer.expect("a first call is answered").outcome;
            assert!(!matches!(outcome, Outcome::SystemErr | Outcome::ProgMismatch { .. } | Outcome::RpcMismatch { .. }));
        });
    }

    #[test]
    fn any_message_is_answered_or_passed_over(message in noise()) {
        runtime().block_on(async {
            let mut client = Client::new(&service());
            client.origin.protection = Protection::Offered;
            let answer = client.send(message.clone().into()).await;
            if let Some(answer) = answer {
                let xid = message.first_chunk::<4>().unwrap();
                assert_eq!(answer.first_chunk::<4>(), Some(xid));
            }
        });
    }
}
