//! Arbitrary requests in arbitrary order.

use proptest::prelude::*;

use super::*;
use crate::wire::pdu::{Lun, NO_TAG, TextRequest};

/// Valid pairs, invalid pairs, and texts that are not pairs.
fn pair() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "InitiatorName=iqn.1993-08.org.debian:01:abc|",
        "TargetName=iqn.2026-11.test:adas|",
        "SessionType=Normal|",
        "SessionType=Discovery|",
        "AuthMethod=CHAP|",
        "AuthMethod=None|",
        "AuthMethod=CHAP,None|",
        "CHAP_A=5|",
        "CHAP_A=5,6,7|",
        "CHAP_N=ada|CHAP_R=0x00112233445566778899aabbccddeeff|",
        "CHAP_N=nobody|CHAP_R=0b|",
        "CHAP_I=17|CHAP_C=0x11111111111111111111111111111111|",
        "MaxBurstLength=512|",
        "FirstBurstLength=Irrelevant|",
        "MaxRecvDataSegmentLength=512|",
        "SendTargets=All|",
        "TargetAlias=NotUnderstood|",
        "",
    ]);
    prop_oneof![9 => known.prop_map(str::to_owned), 1 => "[A-Za-z_]{0,70}=.{0,300}\\|", 1 => "\\PC{0,40}"]
}

fn said() -> impl Strategy<Value = String> {
    prop::collection::vec(pair(), 0..6).prop_map(|pairs| pairs.concat())
}

/// The beginning that every login needs.
fn begun() -> impl Strategy<Value = String> {
    said().prop_map(|said| hello(ADAS) + &said)
}

fn flags() -> impl Strategy<Value = (bool, bool, u8, u8)> {
    (any::<bool>(), prop::bool::weighted(0.1), 0..4_u8, 0..4_u8)
}

proptest! {
    #[test]
    fn a_login_without_the_secret_fails(
        first in prop_oneof![begun(), said()],
        rest in prop::collection::vec((flags(), said()), 0..8),
        start in flags(),
    ) {
        let mut client = Client::new();
        for ((transit, more, current, next), text) in [(start, first)].into_iter().chain(rest) {
            let (current, next) = (Stage(current), Stage(next));
            let request = LoginRequest { transit, more, current, next, ..client.header };
            match client.send(&request, &bytes(&text)) {
                LoginAnswer::Text(told, _) => prop_assert!(told.len() <= 8192),
                LoginAnswer::Refused(_) => {}
                LoginAnswer::In(_, logged_in) => {
                    prop_assert!(matches!(logged_in.kind, SessionKind::Discovery));
                }
            }
        }
    }

    #[test]
    fn every_text_request_is_answered_or_rejected(
        said in prop::collection::vec((any::<bool>(), any::<bool>(), 0..4_u32, said()), 1..12),
        room in 512..2048_u32,
    ) {
        let (gate, mut texts) = (House::new(), Texts::default());
        let mut parameters = Parameters { their_max_data: room, ..Parameters::default() };
        let kind = SessionKind::Discovery;
        let asker = TextSender { gate: &gate, peer: peer(), name: "iqn.2026-11.test:i", account: None, kind: &kind };
        for (last, more, tag, text) in said {
            let transfer_tag = if tag == 0 { NO_TAG } else { tag };
            let request = TextRequest {
                immediate: true,
                last,
                more,
                lun: Lun::default(),
                task_tag: 9,
                transfer_tag,
                cmd_sn: 1,
                exp_stat_sn: 1,
            };
            let room = parameters.their_max_data as usize;
            if let Ok((response, text)) = texts.answer(&request, &bytes(&text), &asker, &mut parameters) {
                prop_assert!(text.len() <= room && !(response.last && response.more));
                prop_assert_eq!(response.last, response.transfer_tag == NO_TAG);
            }
        }
    }
}
