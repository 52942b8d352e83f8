//! Answers to requests, and the reading of their bodies.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

/// A request that was not executed.
#[derive(Debug, Serialize, PartialEq, Eq, ToSchema)]
pub(crate) struct Failure {
    #[serde(skip)]
    status: StatusCode,
    /// What is wrong, and what to do.
    errors: Vec<String>,
    /// The field with which the same request could succeed: `own_password`, or `code`; or `second_factor`, which the account has to
    /// set up first.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<&'static str>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, errors: vec![error.into()], needs: None }
    }

    pub(crate) fn lines(status: StatusCode, errors: Vec<String>) -> Self {
        Self { status, errors, needs: None }
    }

    /// The same request could succeed with this field.
    pub(crate) fn needing(self, field: &'static str) -> Self {
        Self { needs: Some(field), ..self }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(&self)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Executes what blocks on a thread for that.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let failed = |_| {
        Failure::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the server failed to execute the request; its log says why",
        )
    };
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

/// What was done, for people.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Done {
    /// Lines.
    lines: Vec<String>,
}

pub(crate) fn done(result: Result<Vec<String>, Vec<String>>) -> Result<Response, Failure> {
    match result {
        Ok(lines) => Ok(Json(Done { lines }).into_response()),
        Err(errors) => Err(Failure::lines(StatusCode::CONFLICT, errors)),
    }
}

pub(crate) type Body<T> = Result<Json<T>, axum::extract::rejection::JsonRejection>;

/// The body, or what is wrong with it.
pub(crate) fn body<T: DeserializeOwned>(body: Body<T>) -> Result<T, Failure> {
    body.map(|Json(value)| value).map_err(|error| Failure::new(error.status(), error.body_text()))
}

/// A body that may be missing.
pub(crate) fn optional_body<T: DeserializeOwned + Default>(bytes: &[u8]) -> Result<T, Failure> {
    if bytes.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(bytes).map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.to_string()))
}
