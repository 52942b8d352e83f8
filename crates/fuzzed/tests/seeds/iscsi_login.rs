//! Headers of logins, and texts as initiators send them. The selectors are those of `src/iscsi_login.rs`.

use iscsi::wire::pdu::{
    LoginRequest, LoginResponse, LoginStatus, Lun, NO_TAG, Stage, TextRequest, TextResponse,
};
use wire::Writer;

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    let request = LoginRequest {
        transit: true,
        more: false,
        current: Stage::SECURITY_NEGOTIATION,
        next: Stage::OPERATIONAL_NEGOTIATION,
        version_max: 0,
        version_min: 0,
        isid: [0x00, 0x02, 0x3d, 0, 0, 1],
        tsih: 0,
        task_tag: 7,
        cid: 1,
        cmd_sn: 5,
        exp_stat_sn: 9,
    };
    let response = LoginResponse {
        transit: true,
        more: false,
        current: Stage::OPERATIONAL_NEGOTIATION,
        next: Stage::FULL_FEATURE,
        version_max: 0,
        version_active: 0,
        isid: request.isid,
        tsih: 42,
        task_tag: 7,
        status: LoginStatus::SUCCESS,
    };
    let (lun, task_tag, transfer_tag) = (Lun::of(0), 9, NO_TAG);
    let asked = TextRequest {
        immediate: true,
        last: true,
        more: false,
        lun,
        task_tag,
        transfer_tag,
        cmd_sn: 5,
        exp_stat_sn: 9,
    };
    let told = TextResponse { last: false, more: true, lun, task_tag, transfer_tag: 1 };
    vec![
        seed("login_request", 0, &|w| request.encode(200, w)),
        seed("login_response", 1, &|w| response.encode(200, w)),
        seed("text_request", 2, &|w| asked.encode(16, w)),
        seed("text_response", 3, &|w| told.encode(8192, w)),
        text(
            "security",
            "InitiatorName=iqn.1993-08.org.debian:01:abc|SessionType=Normal|AuthMethod=CHAP,None|",
        ),
        text("chap", "CHAP_A=7|CHAP_I=17|CHAP_C=0x1122334455667788|CHAP_R=0bERERERERERERERERERERERE=|"),
        text(
            "operational",
            "MaxBurstLength=0x40000|HeaderDigest=CRC32C,None|InitialR2T=No|IFMarkInt=1~65535|",
        ),
        text("send_targets", "SendTargets=All|"),
    ]
}

fn seed(name: &'static str, selector: u8, encode: &dyn Fn(&mut Writer)) -> Seed {
    let mut w = Writer::onto(vec![selector]);
    encode(&mut w);
    Seed { target: "iscsi_login", name, bytes: w.into_bytes() }
}

/// A text, with `|` for the zero byte behind each pair.
fn text(name: &'static str, pairs: &str) -> Seed {
    Seed { target: "iscsi_keys", name, bytes: pairs.replace('|', "\0").into_bytes() }
}
