//! Long jobs, and accounts that are made over the API.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Server;

/// Far more than such a job takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);
const SAMBA: &str = "user.DosStream.AFP_AfpInfo:$DATA";

/// `AfpInfo` of Samba's lib/MacExtensions.h, with the byte that Samba's streams_xattr adds.
fn of_samba() -> Vec<u8> {
    let mut info = b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0TEXTttxt".to_vec();
    info.resize(61, 0);
    info
}

fn has(file: &Path, name: &str) -> bool {
    rustix::fs::getxattr(file, name, &mut [0_u8; 4096][..]).is_ok()
}

/// The details of a job when it has ended.
fn ended(server: &Server, token: &str, request: &Value) -> Value {
    let started = server.ask("POST /v1/jobs", token, &request.to_string());
    assert_eq!(started.status, 200, "{}", started.body);
    let id = started.json()["id"].as_u64().unwrap();
    let until = Instant::now() + LONG;
    loop {
        let detail = server.ask(&format!("GET /v1/jobs/{id}"), token, "").json();
        if detail["job"]["state"] != "running" {
            return detail;
        }
        assert!(Instant::now() < until, "{detail}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_share_is_looked_at_converted_and_taken_back_by_jobs() {
    let server = Server::start();
    let token = server.token("script", "write");
    let share = server.folder.path().join("one");
    for name in ["a", "b", "plain"] {
        std::fs::write(share.join(name), "data").unwrap();
    }
    for name in ["a", "b"] {
        rustix::fs::setxattr(share.join(name), SAMBA, &of_samba(), rustix::fs::XattrFlags::empty()).unwrap();
    }
    let done = |request: Value| {
        let detail = ended(&server, &token, &request);
        assert_eq!(detail["job"]["state"], "done", "{detail}");
        let job = &detail["job"];
        assert!(job["done"] == job["total"] && job["total"].as_u64() > Some(0), "{job}");
        detail["result"].clone()
    };
    let survey = done(json!({ "kind": "adopt", "share": "one" }));
    assert_eq!((&survey["files"], &survey["layouts"]["samba-info"]), (&json!(3), &json!(2)), "{survey}");
    assert_eq!((&survey["in_words"][0]["count"], &survey["mac_layout"]), (&json!(2), &json!("samba")));
    let preview = done(json!({ "kind": "convert", "share": "one", "dry_run": true }));
    assert_eq!((&preview["converted"], &preview["journal"]), (&json!(2), &Value::Null));
    assert!(has(&share.join("a"), SAMBA));

    let converted = done(json!({ "kind": "convert", "share": "one" }));
    assert_eq!((&converted["converted"], &converted["counts"]["failed"]), (&json!(2), &json!(0)));
    assert!(!has(&share.join("a"), SAMBA) && has(&share.join("a"), "user.org.netatalk.Metadata"));
    let kept = server.ask("GET /v1/conversions", &token, "").json();
    assert_eq!((&kept[0]["share"], &kept[0]["to"]), (&json!("one"), &json!("netatalk")), "{kept}");
    assert_eq!((&kept[0]["ended"], &kept[0]["journal"]), (&json!(true), &converted["journal"]));

    let back = done(json!({ "kind": "convert-undo", "journal": converted["journal"] }));
    assert_eq!((&back["back"], &back["left"]), (&json!(2), &json!(0)));
    assert!(has(&share.join("a"), SAMBA) && !has(&share.join("a"), "user.org.netatalk.Metadata"));
    assert_eq!(server.ask("GET /v1/conversions", &token, "").json(), json!([]));

    let refused = |request: Value, why: &str| {
        let answer = server.ask("POST /v1/jobs", &token, &request.to_string());
        assert!(answer.status == 409 && answer.body.contains(why), "{} {}", answer.status, answer.body);
    };
    refused(json!({ "kind": "convert", "share": "one", "to": "ntfs" }), "there is no layout");
    refused(json!({ "kind": "convert-undo", "journal": "../accounts" }), "there is no journal");
    refused(json!({ "kind": "adopt", "share": "two" }), "no share");

    let names = done(json!({ "kind": "names", "share": "one" }));
    assert_eq!((&names["looked"], &names["found"]), (&json!(3), &json!(0)));
    let scrub = done(json!({ "kind": "scrub", "share": "one" }));
    assert_eq!(scrub["found"], 0, "{scrub}");
}

/// Tells a job to end as soon as it has begun with its files, and returns its details after that.
fn cut(server: &Server, token: &str, request: &Value) -> Value {
    let started = server.ask("POST /v1/jobs", token, &request.to_string());
    assert_eq!(started.status, 200, "{}", started.body);
    let id = started.json()["id"].as_u64().unwrap();
    let detail = || server.ask(&format!("GET /v1/jobs/{id}"), token, "").json();
    while detail()["job"]["done"] == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let told = server.ask(&format!("POST /v1/jobs/{id}/cancel"), token, "");
    assert_eq!(told.status, 200, "it has ended before: {}", told.body);
    let until = Instant::now() + LONG;
    while detail()["job"]["state"] == "running" {
        assert!(Instant::now() < until, "{}", detail());
        std::thread::sleep(Duration::from_millis(20));
    }
    detail()
}

#[test]
fn a_conversion_that_is_cancelled_leaves_whole_files_and_goes_on() {
    const FILES: u64 = 150;
    /// They have no metadata: a look takes some time, and a conversion does not write about each.
    const PLAIN: u64 = 4000;
    let server = Server::start();
    let token = server.token("script", "write");
    let share = server.folder.path().join("one");
    let file = |number: u64| share.join(format!("{number:04}"));
    for number in 0..FILES {
        std::fs::write(file(number), "data").unwrap();
        rustix::fs::setxattr(file(number), SAMBA, &of_samba(), rustix::fs::XattrFlags::empty()).unwrap();
    }
    for number in 0..PLAIN {
        std::fs::write(share.join(format!("plain {number}")), "data").unwrap();
    }
    let survey = cut(&server, &token, &json!({ "kind": "adopt", "share": "one" }));
    assert_eq!((&survey["job"]["state"], &survey["result"]), (&json!("cancelled"), &Value::Null), "{survey}");
    let convert = json!({ "kind": "convert", "share": "one" });
    let first = cut(&server, &token, &convert);
    assert_eq!(first["job"]["state"], "cancelled", "{first}");
    // Each file has one of the layouts, whole.
    let is_converted = |number: u64| {
        let (old, new) = (has(&file(number), SAMBA), has(&file(number), "user.org.netatalk.Metadata"));
        assert!(old != new, "{number}: old {old}, new {new}");
        new
    };
    let converted = (0..FILES).filter(|number| is_converted(*number)).count() as u64;
    assert!((1..FILES).contains(&converted), "{converted}");
    let kept = || server.ask("GET /v1/conversions", &token, "").json();
    assert_eq!(kept()[0]["ended"], false, "{}", kept());

    let second = ended(&server, &token, &convert);
    assert_eq!(second["job"]["state"], "done", "{second}");
    assert_eq!(second["result"]["converted"], FILES - converted, "{}", second["result"]);
    assert!((0..FILES).all(is_converted));
    assert_eq!((kept().as_array().map(Vec::len), &kept()[0]["ended"]), (Some(1), &json!(true)), "{}", kept());

    let undo = json!({ "kind": "convert-undo", "journal": second["result"]["journal"] });
    let cut_back = cut(&server, &token, &undo);
    assert_eq!(cut_back["job"]["state"], "cancelled", "{cut_back}");
    assert!((0..FILES).filter(|number| is_converted(*number)).count() > 0);
    let back = ended(&server, &token, &undo);
    assert_eq!((&back["job"]["state"], &back["result"]["left"]), (&json!("done"), &json!(0)), "{back}");
    assert!(!(0..FILES).any(is_converted));
    assert_eq!(kept(), json!([]));
}

const ONE: &str = "the first secret";
const TWO: &str = "the second secret";

#[test]
fn an_account_is_made_logs_in_and_is_removed() {
    let server = super::console::start();
    let (token, cookie) = (server.token("script", "write"), super::console::session(&server));
    let change = |path: &str, body: Value| {
        let answer = super::console::by_person(&server, &cookie, &format!("accounts{path}"), body);
        (answer.status, answer.body)
    };
    let account = || {
        let all = server.ask("GET /v1/accounts", &token, "").json().as_array().unwrap().clone();
        all.into_iter().find(|one| one["name"] == "hopper")
    };
    let (status, told) =
        change("", json!({ "name": "hopper", "password": ONE, "uid": 61003, "groups": ["5000"] }));
    assert!(status == 200 && told.contains("hopper: made"), "{told}");
    let made = account().unwrap();
    assert_eq!((&made["set_uid"], &made["further_groups"]), (&json!(61003), &json!(["5000"])), "{made}");
    let is_root = rustix::process::geteuid().is_root();
    let groups = made["groups"].as_array().unwrap();
    assert_eq!(groups.contains(&json!("5000")), is_root, "{made}: only root can act with other groups");
    // The login is refused for another reason than the password.
    let login = |password: &str| super::console::login(&server, "hopper", password).status;
    assert_eq!((login(ONE), login(TWO)), (403, 401));
    assert_eq!(change("/password", json!({ "name": "hopper", "password": TWO })).0, 200);
    assert_eq!((login(ONE), login(TWO)), (401, 403));
    assert_eq!(change("/change", json!({ "name": "hopper", "disabled": true })).0, 200);
    assert_eq!(login(TWO), 401);
    for (path, body, why) in [
        ("", json!({ "name": "hopper", "password": ONE }), "there is an account"),
        ("", json!({ "name": "a:b", "password": ONE }), "cannot be an account's name"),
        ("", json!({ "name": "eve", "password": "" }), "too weak"),
        ("", json!({ "name": "eve", "password": "eve-eve-123456" }), "too weak"),
        ("/password", json!({ "name": "hopper", "password": "short" }), "too weak"),
        ("", json!({ "name": "eve", "password": "12345 7890!", "chap_secret": true }), "CHAP"),
        ("", json!({ "name": "eve", "password": ONE, "groups": ["no-such-group"] }), "no group"),
        ("/password", json!({ "name": "eve", "password": ONE }), "there is no account"),
        ("/remove", json!({ "name": "eve" }), "there is no account"),
    ] {
        let (status, told) = change(path, body.clone());
        assert!(status == 409 && told.contains(why), "{path} {body}: {status} {told}");
    }
    if is_root {
        for body in [
            json!({ "name": "root", "password": ONE }),
            json!({ "name": "eve", "password": ONE, "uid": 0 }),
            json!({ "name": "eve", "password": ONE, "groups": ["root"] }),
        ] {
            let (status, told) = change("", body.clone());
            assert!(status == 409 && told.contains("user of the system"), "{body}: {status} {told}");
        }
        assert_eq!(change("/change", json!({ "name": "hopper", "gid": 0 })).0, 409);
    }
    assert_eq!(change("/remove", json!({ "name": "hopper" })).0, 200);
    assert!(account().is_none());
    assert_eq!(change("/remove", json!({ "name": "ada" })).0, 409, "nobody removes the own account");
    let log = server.ask("GET /v1/log", &token, "").json();
    let lines: Vec<&str> =
        log["lines"].as_array().unwrap().iter().filter_map(|one| one["text"].as_str()).collect();
    let told = |change: &str| {
        lines.iter().any(|line| {
            ["account changed", "by=\"ada\"", "account=\"hopper\"", change]
                .iter()
                .all(|part| line.contains(part))
        })
    };
    assert!(told("made") && told("has another password") && told("removed"), "{lines:#?}");
    let log = log.to_string();
    assert!(![ONE, TWO].iter().any(|password| log.contains(password)), "a password is in the log");
}

#[test]
fn what_commands_ask_a_server_the_api_answers_too() {
    let server = Server::start();
    let (token, reader) = (server.token("script", "write"), server.token("reader", "read"));
    let mounts = server.ask("GET /v1/mounts", &reader, "").json();
    let printed: Value = serde_json::from_str(&server.run(&["advise", "--mount", "--json"])).unwrap();
    assert_eq!(mounts, printed);
    assert!(mounts[0]["mounts"].as_array().is_some_and(|all| !all.is_empty()), "{mounts}");
    let advice = server.ask("GET /v1/advice?floor=15K", &reader, "").json();
    let printed: Value = serde_json::from_str(&server.run(&["advise", "--floor", "15K", "--json"])).unwrap();
    let topics = |all: &Value| -> Vec<String> {
        all.as_array().unwrap().iter().map(|one| one["topic"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(topics(&advice), ["memory", "read-write", "users", "video", "rules of 1993", "next"]);
    assert_eq!(topics(&advice), topics(&printed));
    for (query, why) in
        [("floor=fast", "is no speed"), ("floor=0", "is no speed"), ("benchmark=../accounts", "no benchmark")]
    {
        let refused = server.ask(&format!("GET /v1/advice?{query}"), &reader, "");
        assert!(
            refused.status == 409 && refused.body.contains(why),
            "{query}: {} {}",
            refused.status,
            refused.body
        );
    }
    assert_eq!(server.ask("GET /v1/advice?users=5", &reader, "").status, 400);
    assert_eq!(server.ask("POST /v1/snapshots/look", &reader, "").status, 403);
    assert_eq!(server.ask("POST /v1/snapshots/look", &token, "").status, 200);
}
