//! QR codes of addresses, for phones and tablets.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use qrcode::QrCode;
use qrcode::render::svg;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::Failure;

/// The longest text in bytes: a larger code is hard to read for a camera.
const LONGEST: usize = 300;
/// Pixels of a side, at least.
const SIDE: u32 = 240;

/// What a code says.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CodeQuery {
    /// 1 to 300 bytes.
    text: String,
}

/// A QR code of a text, such as the address of a share.
#[utoipa::path(get, path = "/v1/code", params(CodeQuery), security(("token" = ["read"])), responses((status = 200, description = "The code", body = String, content_type = "image/svg+xml"), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn code(query: Result<Query<CodeQuery>, QueryRejection>) -> Result<Response, Failure> {
    let Query(CodeQuery { text }) =
        query.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    let refused = || Failure::new(StatusCode::BAD_REQUEST, format!("`text` has 1 to {LONGEST} bytes"));
    if text.is_empty() || text.len() > LONGEST {
        return Err(refused());
    }
    let code = QrCode::new(text.as_bytes()).map_err(|_| refused())?;
    let drawing = code.render::<svg::Color<'_>>().min_dimensions(SIDE, SIDE).build();
    let mut response = drawing.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml"));
    Ok(response)
}
