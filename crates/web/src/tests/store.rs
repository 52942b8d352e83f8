//! Files that a person sends and receives.

use super::*;

const MARK: (&str, &str) = ("x-fourfold-console", "1");

/// What the made-up server has in each file.
const DATA: &[u8] = b"a scene that nobody else may see";

async fn cookie(scene: &Scene) -> String {
    let login = scene.login("ada", "secret").await;
    login.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_file_is_sent_whole_or_in_part_and_never_to_a_token() {
    let scene = Scene::new();
    let cookie = cookie(&scene).await;
    let ask = async |path: &str, headers: &[(&str, &str)]| scene.ask("GET", path, headers, "").await;
    let mine = [("cookie", &*cookie)];
    let whole = ask("/v1/files/data?share=a&path=b/a%20%22scene%22.txt", &mine).await;
    assert_eq!(whole.status(), StatusCode::OK);
    let header = |name: &str| whole.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-disposition"), "attachment; filename*=UTF-8''a%20%22scene%22.txt");
    assert_eq!(
        (header("content-type"), header("accept-ranges")),
        ("application/octet-stream".into(), "bytes".into())
    );
    let tag = header("etag");
    assert_eq!(to_bytes(whole.into_body(), 1 << 16).await.unwrap(), DATA);
    let part = [mine[0], ("range", "bytes=2-6"), ("if-range", &*tag)];
    let part = ask("/v1/files/data?share=a&path=b", &part).await;
    assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT);
    assert_eq!(part.headers()["content-range"], format!("bytes 2-6/{}", DATA.len()));
    assert_eq!(to_bytes(part.into_body(), 1 << 16).await.unwrap(), "scene");
    let late = ask("/v1/files/data?share=a&path=b", &[mine[0], ("range", "bytes=900-")]).await;
    assert_eq!(late.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    let shown = ask("/v1/files/data?share=a&path=b.PNG&shown=true", &mine).await;
    assert_eq!(
        (&shown.headers()["content-type"], &shown.headers()["content-disposition"]),
        (&"image/png".parse().unwrap(), &"inline; filename*=UTF-8''b.PNG".parse().unwrap())
    );
    let page = ask("/v1/files/data?share=a&path=b.svg&shown=true", &mine).await;
    assert_eq!(page.headers()["content-type"], "application/octet-stream", "it could be a program");
    for path in ["", "..", "a/../b", "a//b"] {
        let answer = ask(&format!("/v1/files/data?share=a&path={path}"), &mine).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{path}");
    }
    let token = format!("Bearer {}", tokens::create(scene.state.path(), "t", &[Scope::Write]).unwrap());
    let answer = ask("/v1/files/data?share=a&path=b", &[("authorization", &*token)]).await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    let text = to_bytes(answer.into_body(), 1 << 16).await.unwrap();
    assert!(!text.windows(5).any(|part| part == b"scene"));
}

#[tokio::test]
async fn a_file_that_is_there_is_replaced_only_if_that_is_wanted() {
    let scene = Scene::new();
    let cookie = cookie(&scene).await;
    let data = "x".repeat(3 << 20); // more than other bodies may have
    let send = async |path: &str| {
        scene
            .ask("POST", &format!("/v1/files/data?share=a&path={path}"), &[MARK, ("cookie", &*cookie)], &data)
            .await
    };
    let new = send("new").await;
    assert_eq!(new.status(), StatusCode::OK);
    assert_eq!(json(new).await["lines"][0], "received");
    let there = send("there").await;
    assert_eq!(there.status(), StatusCode::CONFLICT);
    assert_eq!(json(there).await["needs"], "replace");
    assert_eq!(send("there&replace=true").await.status(), StatusCode::OK);
}
