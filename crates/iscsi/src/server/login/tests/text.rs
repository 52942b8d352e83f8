//! Text Requests and SendTargets, RFC 7143 6.2, 11.10, 11.11 and appendix C.

use super::*;
use crate::wire::pdu::{Lun, NO_TAG, RejectReason, TextRequest, TextResponse};

/// A session in full feature phase, as far as text is concerned.
struct Talk {
    gate: House,
    texts: Texts,
    kind: SessionKind,
    account: Option<&'static str>,
    name: &'static str,
    parameters: Parameters,
}

/// A request whose text is complete.
fn request() -> TextRequest {
    let (immediate, last, more) = (true, true, false);
    let (task_tag, transfer_tag) = (9, NO_TAG);
    TextRequest {
        immediate,
        last,
        more,
        lun: Lun::default(),
        task_tag,
        transfer_tag,
        cmd_sn: 1,
        exp_stat_sn: 1,
    }
}

impl Talk {
    fn new(kind: SessionKind) -> Self {
        let (gate, texts, parameters) = (House::new(), Texts::default(), Parameters::default());
        Self { gate, texts, kind, account: None, name: "iqn.2026-11.test:i", parameters }
    }

    fn send(&mut self, request: TextRequest, text: &str) -> Result<(TextResponse, String), RejectReason> {
        let (gate, kind) = (&self.gate, &self.kind);
        let asker = TextSender { gate, peer: peer(), name: self.name, account: self.account, kind };
        let answer = self.texts.answer(&request, &bytes(text), &asker, &mut self.parameters);
        answer.map(|(response, text)| {
            assert_eq!(response.task_tag, request.task_tag);
            assert_eq!(response.transfer_tag == NO_TAG, response.last);
            (response, String::from_utf8(text).unwrap().replace('\0', "|"))
        })
    }

    /// Sends a text and returns the whole answer.
    #[track_caller]
    fn ask(&mut self, text: &str) -> String {
        let (response, text) = self.send(request(), text).unwrap();
        assert!(response.last && !response.more);
        text
    }
}

#[test]
fn all_targets_are_those_that_the_initiator_may_use() {
    let mut guest = Talk::new(SessionKind::Discovery);
    assert_eq!(
        guest.ask("SendTargets=All|"),
        "TargetName=iqn.2026-11.test:open|TargetAddress=192.0.2.1:3260,1|\
         TargetName=iqn.2026-11.test:adas|TargetAddress=192.0.2.1:3260,1|\
         TargetName=iqn.2026-11.test:members|TargetAddress=192.0.2.1:3260,1|"
    );
    let mut eve = Talk { account: Some("eve"), ..Talk::new(SessionKind::Discovery) };
    assert!(!eve.ask("SendTargets=All|").contains("adas"));
    let mut friend = Talk { name: "iqn.2026-11.test:friend", ..Talk::new(SessionKind::Discovery) };
    assert!(friend.ask("SendTargets=All|").contains("private"));
}

#[test]
fn one_target_is_asked_for_by_its_name() {
    let mut talk = Talk::new(SessionKind::Discovery);
    let adas = "TargetName=iqn.2026-11.test:adas|TargetAddress=192.0.2.1:3260,1|";
    assert_eq!(talk.ask("SendTargets=iqn.2026-11.test:ADAS|"), adas);
    assert_eq!(talk.ask("SendTargets=iqn.2026-11.test:none|"), "");
    assert_eq!(talk.ask("SendTargets=iqn.2026-11.test:private|"), "");
    assert_eq!(talk.ask("SendTargets=|"), "SendTargets=Reject|");
}

#[test]
fn in_a_normal_session_only_its_own_target_is_told() {
    let mut talk = Talk::new(SessionKind::Normal(Target::new(OPEN, "")));
    let own = "TargetName=iqn.2026-11.test:open|TargetAddress=192.0.2.1:3260,1|";
    assert_eq!(talk.ask("SendTargets=|"), own);
    assert_eq!(talk.ask("SendTargets=iqn.2026-11.test:open|"), own);
    assert_eq!(talk.ask("SendTargets=iqn.2026-11.test:adas|"), "SendTargets=Reject|");
    assert_eq!(talk.ask("SendTargets=All|"), "SendTargets=Reject|");
}

#[test]
fn a_long_answer_comes_in_pieces_of_whole_pairs() {
    let mut talk = Talk::new(SessionKind::Discovery);
    talk.parameters.their_max_data = 70;
    let (first, text) = talk.send(request(), "SendTargets=All|").unwrap();
    assert!(first.more && !first.last);
    assert_eq!(text, "TargetName=iqn.2026-11.test:open|TargetAddress=192.0.2.1:3260,1|");
    let next = |tag| TextRequest { transfer_tag: tag, ..request() };
    let (second, text) = talk.send(next(first.transfer_tag), "").unwrap();
    assert!(second.more && second.transfer_tag != first.transfer_tag);
    assert_eq!(text, "TargetName=iqn.2026-11.test:adas|TargetAddress=192.0.2.1:3260,1|");
    let (third, text) = talk.send(next(second.transfer_tag), "").unwrap();
    assert!(third.last && !third.more);
    assert_eq!(text, "TargetName=iqn.2026-11.test:members|TargetAddress=192.0.2.1:3260,1|");
    assert_eq!(talk.send(next(second.transfer_tag), ""), Err(RejectReason::PROTOCOL_ERROR));
}

#[test]
fn while_an_answer_comes_nothing_else_is_said() {
    let mut talk = Talk::new(SessionKind::Discovery);
    talk.parameters.their_max_data = 70;
    let (first, _) = talk.send(request(), "SendTargets=All|").unwrap();
    let next = TextRequest { transfer_tag: first.transfer_tag, ..request() };
    assert_eq!(talk.send(next, "X-a=1|"), Err(RejectReason::PROTOCOL_ERROR));
    assert_eq!(talk.send(next, ""), Err(RejectReason::PROTOCOL_ERROR)); // the exchange is over
    talk.send(request(), "SendTargets=All|").unwrap();
    assert_eq!(talk.ask("X-a=1|"), "X-a=NotUnderstood|"); // a new exchange ends the earlier one
}

#[test]
fn a_question_may_come_in_pieces() {
    let mut talk = Talk::new(SessionKind::Discovery);
    let piece = TextRequest { last: false, more: true, ..request() };
    let (first, text) = talk.send(piece, "SendTargets=iqn.2026").unwrap();
    assert!(!first.last && !first.more && text.is_empty());
    let rest = TextRequest { transfer_tag: first.transfer_tag, ..request() };
    let (response, text) = talk.send(rest, "-11.test:open|").unwrap();
    assert!(response.last);
    assert_eq!(text, "TargetName=iqn.2026-11.test:open|TargetAddress=192.0.2.1:3260,1|");

    let both = TextRequest { more: true, ..request() };
    assert_eq!(talk.send(both, ""), Err(RejectReason::INVALID_PDU_FIELD));
    let mut tag = NO_TAG;
    let refused = (0..100).find_map(|_| {
        match talk.send(TextRequest { transfer_tag: tag, ..piece }, &"A".repeat(8192)) {
            Ok((response, _)) => {
                tag = response.transfer_tag;
                None
            }
            Err(reason) => Some(reason),
        }
    });
    assert_eq!(refused, Some(RejectReason::OUT_OF_RESOURCES));
}

#[test]
fn an_exchange_goes_on_as_long_as_the_initiator_likes() {
    let mut talk = Talk::new(SessionKind::Discovery);
    let open = TextRequest { last: false, ..request() };
    let (first, text) = talk.send(open, "X-a=1|").unwrap();
    assert!(!first.last && !first.more);
    assert_eq!(text, "X-a=NotUnderstood|");
    let other_task = TextRequest { transfer_tag: first.transfer_tag, task_tag: 10, ..request() };
    assert_eq!(talk.send(other_task, ""), Err(RejectReason::PROTOCOL_ERROR));
    let (first, _) = talk.send(open, "X-a=1|").unwrap();
    let (last, text) = talk.send(TextRequest { transfer_tag: first.transfer_tag, ..request() }, "").unwrap();
    assert!(last.last && text.is_empty());
}

#[test]
fn only_the_length_of_data_can_be_declared_again() {
    let mut talk = Talk::new(SessionKind::Normal(Target::new(OPEN, "")));
    assert_eq!(talk.ask("MaxRecvDataSegmentLength=4096|InitiatorAlias=other|"), "");
    assert_eq!(talk.parameters.their_max_data, 4096);
    let before = talk.parameters.clone();
    for key in [
        "MaxRecvDataSegmentLength=1",
        "MaxBurstLength=512",
        "HeaderDigest=CRC32C",
        "InitiatorName=iqn.2026-11.test:other",
        "TargetAddress=192.0.2.1",
        "AuthMethod=None",
        "IFMarkInt=1",
    ] {
        let name = key.split('=').next().unwrap();
        assert_eq!(talk.ask(&format!("{key}|")), format!("{name}=Reject|"));
    }
    assert_eq!(talk.parameters, before);
    assert_eq!(talk.ask("X-com.example=1|Speed=2|"), "X-com.example=NotUnderstood|Speed=NotUnderstood|");
}

#[test]
fn what_is_no_text_or_said_twice_is_rejected() {
    let mut talk = Talk::new(SessionKind::Discovery);
    for text in ["SendTargets", "SendTargets=All", "SendTargets=All|SendTargets=All|"] {
        assert_eq!(talk.send(request(), text), Err(RejectReason::PROTOCOL_ERROR), "{text}");
    }
    assert_eq!(talk.ask(""), "");
}
