//! Stages and first requests, RFC 7143 6.3, 11.12 and 11.13.

use super::*;

#[test]
fn the_login_of_open_iscsi_without_a_secret() {
    let mut client = Client::new();
    let first = "InitiatorName=iqn.1993-08.org.debian:01:abc|InitiatorAlias=studio-3|\
        TargetName=iqn.2026-11.test:open|SessionType=Normal|AuthMethod=None|";
    let told = client.say(SECURITY, Some(OPERATIONAL), first).text(Some(OPERATIONAL));
    assert_eq!(told, "TargetPortalGroupTag=1|AuthMethod=None|");
    let second = "HeaderDigest=None|DataDigest=None|DefaultTime2Wait=2|DefaultTime2Retain=0|IFMarker=No|\
        OFMarker=No|ErrorRecoveryLevel=0|InitialR2T=No|ImmediateData=Yes|MaxBurstLength=16776192|\
        FirstBurstLength=262144|MaxOutstandingR2T=1|MaxConnections=1|DataPDUInOrder=Yes|\
        DataSequenceInOrder=Yes|MaxRecvDataSegmentLength=262144|";
    let (told, logged_in) = client.say(OPERATIONAL, Some(FULL), second).logged_in();
    assert_eq!(
        told,
        "MaxBurstLength=16776192|HeaderDigest=None|DataDigest=None|DefaultTime2Wait=2|DefaultTime2Retain=0|\
         IFMarker=No|OFMarker=No|ErrorRecoveryLevel=0|InitialR2T=No|ImmediateData=Yes|\
         FirstBurstLength=262144|MaxOutstandingR2T=1|MaxConnections=1|DataPDUInOrder=Yes|\
         DataSequenceInOrder=Yes|MaxRecvDataSegmentLength=1048576|"
    );
    let expected = Parameters {
        their_max_data: 262_144,
        our_max_data: 1_048_576,
        initial_r2t: false,
        max_burst: 16_776_192,
        first_burst: 262_144,
        time2retain_s: 0,
        ..Parameters::default()
    };
    assert_eq!(logged_in.parameters, expected);
    assert_eq!(&*logged_in.initiator.name, "iqn.1993-08.org.debian:01:abc");
    assert_eq!(logged_in.initiator.isid, [0x00, 0x02, 0x3d, 0, 0, 1]);
    assert_eq!(logged_in.alias.as_deref(), Some("studio-3"));
    assert_eq!((logged_in.cid, logged_in.cmd_sn, logged_in.tsih_asked), (1, 5, 0));
    assert!(matches!(&logged_in.kind, SessionKind::Normal(target) if target.name == OPEN));
}

#[test]
fn the_login_of_libiscsi_begins_with_operational_keys() {
    let text = hello(OPEN)
        + "HeaderDigest=None,CRC32C|DataDigest=None|InitialR2T=No|ImmediateData=Yes|MaxBurstLength=262144|\
           FirstBurstLength=262144|DefaultTime2Wait=2|DefaultTime2Retain=0|MaxOutstandingR2T=1|\
           ErrorRecoveryLevel=0|IFMarker=No|OFMarker=No|MaxConnections=1|MaxRecvDataSegmentLength=262144|\
           DataPDUInOrder=Yes|DataSequenceInOrder=Yes|";
    let (told, logged_in) = Client::new().say(OPERATIONAL, Some(FULL), &text).logged_in();
    assert!(told.starts_with("TargetPortalGroupTag=1|"), "{told}");
    assert!(told.ends_with("|MaxRecvDataSegmentLength=1048576|"), "{told}");
    assert_eq!(logged_in.account, None);
}

#[test]
fn the_security_stage_may_lead_to_full_feature_phase_where_nothing_has_been_declared() {
    // The text that open-iscsi sends for discovery with default keys.
    let text = "InitiatorName=iqn.1993-08.org.debian:01:abc|SessionType=Discovery|AuthMethod=None|";
    let (told, logged_in) = Client::new().say(SECURITY, Some(FULL), text).logged_in();
    assert_eq!(told, "AuthMethod=None|");
    assert!(matches!(logged_in.kind, SessionKind::Discovery));
    assert_eq!(logged_in.parameters, Parameters::default());
}

#[test]
fn the_portal_group_is_told_to_all_who_name_a_target() {
    // RFC 7143 6.3.1: in sessions of all types.
    let text = hello(OPEN).replace("Normal", "Discovery");
    let (told, logged_in) = Client::new().say(SECURITY, Some(FULL), &text).logged_in();
    assert_eq!(told, "TargetPortalGroupTag=1|");
    assert!(matches!(logged_in.kind, SessionKind::Discovery));
}

#[test]
fn the_login_without_security_of_rfc_7143_6_3_1_with_all_keys_at_their_defaults() {
    let (told, logged_in) = Client::new().say(OPERATIONAL, Some(FULL), &hello(OPEN)).logged_in();
    assert_eq!(told, "TargetPortalGroupTag=1|MaxRecvDataSegmentLength=1048576|");
    let expected = Parameters { our_max_data: 1_048_576, ..Parameters::default() };
    assert_eq!(logged_in.parameters, expected);
}

#[test]
fn what_must_be_said_first_is_missed() {
    let begin = |text: &str| Client::new().say(SECURITY, None, text).refused();
    let name = "InitiatorName=iqn.2026-11.test:i|";
    assert_eq!(begin("SessionType=Discovery|"), (2, 7));
    assert_eq!(begin(name), (2, 7)); // a normal session needs a target
    assert_eq!(begin("InitiatorName=ada|SessionType=Discovery|"), (2, 0));
    assert_eq!(begin(&format!("{name}SessionType=Backup|")), (2, 9));
    assert_eq!(begin(&format!("{name}TargetName=iqn.2026-11.test:none|")), (2, 3));
    assert_eq!(begin(&format!("{name}TargetName=none|")), (2, 3));
    assert_eq!(begin(&hello(PRIVATE)), (2, 2));
    let mut client = Client::new();
    client.say(SECURITY, None, &format!("{name}TargetName={OPEN}|")).text(None);
    assert_eq!(client.say(SECURITY, None, "SessionType=Normal|").refused(), (2, 0));
}

#[test]
fn names_are_compared_in_lower_case() {
    let text = format!("InitiatorName=IQN.2026-11.test:FRIEND|TargetName={}|", PRIVATE.to_uppercase());
    let (_, logged_in) = Client::new().say(SECURITY, Some(FULL), &text).logged_in();
    assert_eq!(&*logged_in.initiator.name, "iqn.2026-11.test:friend");
}

#[test]
fn a_version_that_is_not_ours_is_refused() {
    let mut client = Client::new();
    let request = LoginRequest { version_max: 2, version_min: 1, ..client.header };
    assert_eq!(client.send(&request, &bytes(&hello(OPEN))).refused(), (2, 5));
    let mut client = Client::new();
    let request = LoginRequest { version_max: 2, ..client.header };
    client.send(&request, &bytes(&hello(OPEN))).text(None);
}

#[test]
fn stages_go_forward_only_and_both_sides_are_in_the_same() {
    let first = |current: u8, next: Option<u8>| {
        matches!(Client::new().say(Stage(current), next.map(Stage), &hello(OPEN)), LoginAnswer::Refused(_))
    };
    assert!(
        !first(0, None) && !first(1, None) && !first(0, Some(1)) && !first(0, Some(3)) && !first(1, Some(3))
    );
    assert!(first(2, None) && first(3, None) && first(0, Some(0)) && first(0, Some(2)));
    assert!(first(1, Some(0)) && first(1, Some(1)) && first(1, Some(2)));

    let mut client = Client::new();
    client.say(SECURITY, Some(OPERATIONAL), &hello(OPEN)).text(Some(OPERATIONAL));
    assert_eq!(client.say(SECURITY, Some(FULL), "").refused(), (2, 0));
    let mut client = Client::new();
    client.say(SECURITY, None, &hello(OPEN)).text(None);
    assert_eq!(client.say(OPERATIONAL, None, "").refused(), (2, 0));
}

#[test]
fn requests_of_one_login_are_of_one_connection() {
    for change in [
        |request: &mut LoginRequest| request.isid[5] = 2,
        |request: &mut LoginRequest| request.tsih = 1,
        |request: &mut LoginRequest| request.cid = 2,
    ] {
        let mut client = Client::new();
        client.say(SECURITY, None, &hello(OPEN)).text(None);
        change(&mut client.header);
        assert_eq!(client.say(SECURITY, None, "").refused(), (2, 0));
    }
}

#[test]
fn text_may_come_in_pieces_even_of_one_key() {
    let mut client = Client::new();
    let text = bytes(&hello(OPEN));
    let piece = LoginRequest { more: true, ..client.header };
    for at in 0..text.len() - 1 {
        assert_eq!(client.send(&piece, &text[at..=at]).text(None), "");
    }
    let last = LoginRequest { transit: true, next: FULL, ..client.header };
    client.send(&last, &text[text.len() - 1..]).logged_in();

    let mut client = Client::new();
    let both = LoginRequest { more: true, transit: true, next: FULL, ..client.header };
    assert_eq!(client.send(&both, &text).refused(), (2, 0));
}

#[test]
fn text_requests_and_keys_without_end_are_refused() {
    let mut client = Client::new();
    let piece = LoginRequest { more: true, ..client.header };
    for _ in 0..8 {
        client.send(&piece, &[b'A'; 8192]).text(None);
    }
    assert_eq!(client.send(&piece, b"A").refused(), (3, 2));

    let mut client = Client::new();
    client.say(SECURITY, None, &hello(OPEN)).text(None);
    let refused = (0..300).find_map(|_| match client.say(SECURITY, None, "") {
        LoginAnswer::Refused(status) => Some(status),
        _ => None,
    });
    assert_eq!(refused, Some(LoginStatus::OUT_OF_RESOURCES));

    let many: String = (0..97).map(|n| format!("X-{}{n:03}=1|", "x".repeat(58))).collect();
    let mut client = Client::new();
    client.say(SECURITY, None, &hello(OPEN)).text(None);
    assert_eq!(client.say(SECURITY, None, &many).refused(), (3, 2));
    let mut client = Client::new();
    client.say(SECURITY, None, &hello(OPEN)).text(None);
    let told = client.say(SECURITY, None, &many[..many.len() * 90 / 97]).text(None);
    assert!(told.len() < 8192);
}

#[test]
fn text_that_is_none_is_an_error_of_the_initiator() {
    let mut client = Client::new();
    let request = client.header;
    assert_eq!(client.send(&request, b"InitiatorName").refused(), (2, 0));
}

#[test]
fn a_further_connection_negotiates_only_its_own_keys() {
    let mut client = Client::new();
    (client.header.tsih, client.header.cid) = (42, 3);
    let text = hello(OPEN) + "HeaderDigest=CRC32C|MaxConnections=4|MaxBurstLength=512|ErrorRecoveryLevel=0|";
    let (told, logged_in) = client.say(OPERATIONAL, Some(FULL), &text).logged_in();
    assert!(told.contains("|MaxBurstLength=Reject|HeaderDigest=CRC32C|MaxConnections=Reject|"), "{told}");
    assert_eq!((logged_in.tsih_asked, logged_in.cid), (42, 3));
    assert!(logged_in.parameters.header_digest && logged_in.parameters.max_connections == 1);
}
