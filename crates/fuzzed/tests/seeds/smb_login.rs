//! Tokens of a login. The selectors are those of `src/smb_login.rs`.

use smb::wire::ntlm::{Authenticate, Challenge, Negotiate, Version, av, encode_av_pairs, flags};
use smb::wire::spnego::{
    HINT, KERBEROS, MS_KERBEROS, MechTypes, NTLMSSP, NegState, NegTokenInit, NegTokenResp,
};
use wire::Writer;

use super::Seed;

const VERSION: Version = Version { major: 10, minor: 0, build: 22631, revision: Version::REVISION };

pub fn seeds() -> Vec<Seed> {
    let (negotiate, challenge, authenticate) = (negotiate(), challenge(), authenticate());
    let mut seeds = vec![
        ntlm("negotiate", &[], &negotiate),
        ntlm("challenge", &[], &challenge),
        ntlm("authenticate", &[], &authenticate),
        ntlm("pairs", &[1], &pairs()),
        ntlm("response", &[2], &response()),
    ];
    let spnego = |name, bytes| Seed { target: "smb_spnego", name, bytes };
    let (all, only) = (MechTypes::to_der(&[MS_KERBEROS, KERBEROS, NTLMSSP]), MechTypes::to_der(&[NTLMSSP]));
    let init = |der, mech_token, hint| {
        let mech_types = MechTypes::of(der).unwrap();
        NegTokenInit { mech_types, mech_token, hint, mech_list_mic: None }.encode()
    };
    let resp = |state, response_token, mech_list_mic| {
        let neg_state = Some(state);
        NegTokenResp { neg_state, supported_mech: Some(NTLMSSP), response_token, mech_list_mic }.encode()
    };
    seeds.extend([
        spnego("hint", init(&only, None, Some(HINT))),
        spnego("init", init(&only, Some(&negotiate), None)),
        spnego("init-kerberos", init(&all, Some(&[0x60; 200]), None)),
        spnego("resp-mic", resp(NegState::REQUEST_MIC, None, None)),
        spnego("resp-challenge", resp(NegState::ACCEPT_INCOMPLETE, Some(&challenge), None)),
        spnego("resp-authenticate", resp(NegState::ACCEPT_INCOMPLETE, Some(&authenticate), Some(&[1; 16]))),
        spnego("ntlm", negotiate),
    ]);
    seeds
}

fn ntlm(name: &'static str, selector: &[u8], message: &[u8]) -> Seed {
    Seed { target: "smb_ntlm", name, bytes: [selector, message].concat() }
}

fn negotiate() -> Vec<u8> {
    let flags =
        flags::UNICODE | flags::VERSION | flags::OEM_DOMAIN_SUPPLIED | flags::OEM_WORKSTATION_SUPPLIED;
    let message = Negotiate { flags, domain: b"HOME", workstation: b"LAPTOP", version: Some(VERSION) };
    written(|w| message.encode(w))
}

fn challenge() -> Vec<u8> {
    let pairs = pairs();
    let message = Challenge {
        target_name: b"S\0",
        flags: flags::UNICODE | flags::TARGET_INFO,
        challenge: *b"12345678",
        target_info: &pairs,
        version: VERSION,
    };
    written(|w| message.encode(w))
}

fn authenticate() -> Vec<u8> {
    let message = Authenticate {
        lm_response: &[0; 24],
        nt_response: &response(),
        domain: b"H\0",
        user: b"a\0d\0a\0",
        workstation: b"L\0",
        session_key: &[5; 16],
        flags: flags::UNICODE | flags::KEY_EXCH,
        mic: Some([7; 16]),
    };
    written(|w| message.encode(w))
}

fn response() -> Vec<u8> {
    let head = [&[9; 16][..], &[1, 1, 0, 0, 0, 0, 0, 0], &[3; 16], &[0; 4]].concat();
    [head, pairs(), vec![0; 4]].concat()
}

fn pairs() -> Vec<u8> {
    let pairs: [(u16, &[u8]); 3] =
        [(av::NB_COMPUTER_NAME, b"S\0"), (av::TIMESTAMP, &[1; 8]), (av::FLAGS, &[2, 0, 0, 0])];
    written(|w| encode_av_pairs(w, &pairs))
}

fn written(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut w = Writer::new();
    encode(&mut w);
    w.into_bytes()
}
