//! The operational keys, RFC 7143 section 13: offers and their answers.

use super::*;

/// The answer to operational keys, and the parameters after it.
fn offer(text: &str) -> (String, Parameters) {
    let (told, logged_in) = Client::new().say(OPERATIONAL, Some(FULL), &(hello(OPEN) + text)).logged_in();
    let told = told.strip_prefix("TargetPortalGroupTag=1|").unwrap();
    (told.strip_suffix("MaxRecvDataSegmentLength=1048576|").unwrap().into(), logged_in.parameters)
}

/// Checks the answer to one key.
#[track_caller]
fn check(offered: &str, answered: &str) {
    let key = offered.split('=').next().unwrap();
    assert_eq!(offer(&format!("{offered}|")).0, format!("{key}={answered}|"), "{offered}");
}

#[test]
fn digests_are_the_first_of_the_initiator_s_list() {
    for key in ["HeaderDigest", "DataDigest"] {
        check(&format!("{key}=CRC32C,None"), "CRC32C");
        check(&format!("{key}=None,CRC32C"), "None");
        check(&format!("{key}=X#md5,CRC32C"), "CRC32C");
        check(&format!("{key}=CRC32"), "Reject");
    }
    let (_, parameters) = offer("HeaderDigest=CRC32C|DataDigest=None,CRC32C|");
    assert!(parameters.header_digest && !parameters.data_digest);
}

#[test]
fn numbers_are_the_lower_or_the_higher_one() {
    for (offered, answered) in [
        ("MaxConnections=1", "1"),
        ("MaxConnections=65535", "8"),
        ("MaxBurstLength=16777215", "16777215"),
        ("MaxBurstLength=0x40000", "262144"),
        ("FirstBurstLength=512", "512"),
        ("MaxOutstandingR2T=65535", "16"),
        ("MaxOutstandingR2T=1", "1"),
        ("DefaultTime2Wait=0", "0"),
        ("DefaultTime2Wait=3600", "3600"),
        ("DefaultTime2Retain=0", "0"),
        ("DefaultTime2Retain=3600", "20"),
        ("ErrorRecoveryLevel=2", "0"),
        ("iSCSIProtocolLevel=3", "2"),
        ("iSCSIProtocolLevel=0", "0"),
    ] {
        check(offered, answered);
    }
}

#[test]
fn numbers_out_of_their_range_are_rejected_and_change_nothing() {
    let offers = [
        "MaxConnections=0",
        "MaxConnections=65536",
        "MaxBurstLength=511",
        "MaxBurstLength=16777216",
        "FirstBurstLength=511",
        "MaxOutstandingR2T=0",
        "DefaultTime2Wait=3601",
        "DefaultTime2Retain=-1",
        "ErrorRecoveryLevel=3",
        "iSCSIProtocolLevel=32",
        "MaxRecvDataSegmentLength=511",
        "MaxRecvDataSegmentLength=16777216",
        "MaxRecvDataSegmentLength=lots",
        "InitialR2T=no",
        "ImmediateData=1",
    ];
    for offered in offers {
        check(offered, "Reject");
    }
    let ours = Parameters { our_max_data: 1_048_576, ..Parameters::default() };
    assert_eq!(offer("MaxBurstLength=511|MaxRecvDataSegmentLength=511|InitialR2T=maybe|").1, ours);
}

#[test]
fn a_burst_s_beginning_is_not_longer_than_the_burst() {
    let (told, parameters) = offer("FirstBurstLength=262144|MaxBurstLength=65536|");
    assert_eq!(told, "MaxBurstLength=65536|FirstBurstLength=65536|");
    assert_eq!((parameters.first_burst, parameters.max_burst), (65_536, 65_536));
    check("FirstBurstLength=16777215", "262144"); // MaxBurstLength has its default
    let (told, _) = offer("MaxBurstLength=16777215|FirstBurstLength=16777215|");
    assert!(told.ends_with("FirstBurstLength=262144|"), "{told}");
    let (_, parameters) = offer("MaxBurstLength=512|");
    assert_eq!(parameters.first_burst, 512);
}

#[test]
fn booleans_are_or_and_and() {
    check("InitialR2T=Yes", "Yes");
    check("InitialR2T=No", "No");
    check("ImmediateData=Yes", "Yes");
    check("ImmediateData=No", "No");
    check("DataPDUInOrder=No", "Yes");
    check("DataSequenceInOrder=No", "Yes");
    let (_, parameters) = offer("ImmediateData=No|DataPDUInOrder=No|");
    assert!(!parameters.immediate_data && parameters.pdu_in_order && parameters.initial_r2t);
}

#[test]
fn markers_are_no_more() {
    // RFC 7143 13.25: never NotUnderstood.
    check("IFMarker=Yes", "No");
    check("OFMarker=No", "No");
    check("IFMarkInt=1~65535", "Reject");
    check("OFMarkInt=2048", "Reject");
}

#[test]
fn tasks_are_reported_as_rfc_3720_has_it() {
    check("TaskReporting=FastAbort,ResponseFence,RFC3720", "RFC3720");
    check("TaskReporting=FastAbort", "Reject");
}

#[test]
fn keys_that_nobody_knows_are_answered_so() {
    check("X-com.example.speed=9", "NotUnderstood");
    check("RDMAExtensions=Yes", "NotUnderstood");
    check("maxBurstLength=512", "NotUnderstood");
}

#[test]
fn keys_that_are_not_for_here_are_rejected() {
    check("SendTargets=All", "Reject");
    check("AuthMethod=None", "Reject");
    check("CHAP_A=5", "Reject");
    check("TargetAddress=192.0.2.1:3260,1", "Reject");
    let mut client = Client::new();
    let told = client.say(SECURITY, None, &(hello(OPEN) + "MaxBurstLength=512|")).text(None);
    assert_eq!(told, "TargetPortalGroupTag=1|MaxBurstLength=Reject|");
    client.say(SECURITY, Some(OPERATIONAL), "").text(Some(OPERATIONAL));
    let (told, _) = client.say(OPERATIONAL, Some(FULL), "MaxBurstLength=512|").logged_in();
    assert_eq!(told, "MaxBurstLength=512|MaxRecvDataSegmentLength=1048576|");
}

#[test]
fn what_targets_declare_may_be_not_understood() {
    let mut client = Client::new();
    client.say(OPERATIONAL, None, &hello(OPEN)).text(None);
    let answers = "MaxRecvDataSegmentLength=Irrelevant|TargetPortalGroupTag=NotUnderstood|";
    let (told, _) = client.say(OPERATIONAL, Some(FULL), answers).logged_in();
    assert_eq!(told, "");
}

#[test]
fn nothing_is_said_twice() {
    let text = "MaxBurstLength=512|MaxBurstLength=512|";
    let told = Client::new().say(OPERATIONAL, Some(FULL), &(hello(OPEN) + text));
    assert_eq!(told.refused(), (2, 0));
    let mut client = Client::new();
    client.say(OPERATIONAL, None, &(hello(OPEN) + "X-a=1|")).text(None);
    assert_eq!(client.say(OPERATIONAL, None, "X-a=2|").refused(), (2, 0));
    let told = Client::new().say(OPERATIONAL, None, &(hello(OPEN) + "InitiatorName=iqn.2026-11.test:other|"));
    assert_eq!(told.refused(), (2, 0));
}

#[test]
fn in_discovery_keys_of_commands_say_nothing() {
    let text = "InitiatorName=iqn.1993-08.org.debian:01:abc|SessionType=Discovery|HeaderDigest=CRC32C|\
        InitialR2T=No|ImmediateData=Yes|MaxBurstLength=262144|FirstBurstLength=262144|DefaultTime2Wait=2|\
        DefaultTime2Retain=0|MaxOutstandingR2T=1|ErrorRecoveryLevel=0|MaxConnections=1|DataPDUInOrder=Yes|\
        DataSequenceInOrder=Yes|TaskReporting=RFC3720|iSCSIProtocolLevel=1|MaxRecvDataSegmentLength=32768|";
    let (told, logged_in) = Client::new().say(OPERATIONAL, Some(FULL), text).logged_in();
    assert_eq!(
        told,
        "MaxBurstLength=Irrelevant|HeaderDigest=CRC32C|InitialR2T=Irrelevant|ImmediateData=Irrelevant|\
         FirstBurstLength=Irrelevant|DefaultTime2Wait=2|DefaultTime2Retain=0|MaxOutstandingR2T=Irrelevant|\
         ErrorRecoveryLevel=0|MaxConnections=Irrelevant|DataPDUInOrder=Irrelevant|\
         DataSequenceInOrder=Irrelevant|TaskReporting=Irrelevant|iSCSIProtocolLevel=Irrelevant|\
         MaxRecvDataSegmentLength=1048576|"
    );
    assert_eq!(logged_in.parameters.their_max_data, 32_768);
}

#[test]
fn the_offer_of_windows_is_answered_key_by_key() {
    let text = "HeaderDigest=None,CRC32C|DataDigest=None,CRC32C|ErrorRecoveryLevel=2|InitialR2T=No|\
        ImmediateData=Yes|MaxRecvDataSegmentLength=65536|MaxBurstLength=262144|FirstBurstLength=65536|\
        MaxConnections=1|DataPDUInOrder=Yes|DataSequenceInOrder=Yes|DefaultTime2Wait=0|\
        DefaultTime2Retain=60|MaxOutstandingR2T=16|";
    let (told, parameters) = offer(text);
    assert_eq!(
        told,
        "MaxBurstLength=262144|HeaderDigest=None|DataDigest=None|ErrorRecoveryLevel=0|InitialR2T=No|\
         ImmediateData=Yes|FirstBurstLength=65536|MaxConnections=1|DataPDUInOrder=Yes|\
         DataSequenceInOrder=Yes|DefaultTime2Wait=0|DefaultTime2Retain=20|MaxOutstandingR2T=16|"
    );
    assert_eq!((parameters.their_max_data, parameters.max_r2t), (65_536, 16));
}
