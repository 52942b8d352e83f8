//! QR codes of addresses, for phones and tablets.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use qrcode::render::svg;
use qrcode::{Color, QrCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::Failure;

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

/// A QR code for a page that draws it: secrets are in no address and in no file.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct CodeDrawing {
    /// Modules of a side, without a margin.
    side: usize,
    /// The dark ones, as the path of an SVG drawing whose unit is a module.
    path: String,
}

/// The QR code of a text; `None`: the text is too long.
pub(crate) fn drawing(text: &str) -> Option<CodeDrawing> {
    let code = QrCode::new(text.as_bytes()).ok()?;
    let side = code.width();
    let dark = code.to_colors().into_iter().enumerate().filter(|(_, color)| *color == Color::Dark);
    let path = dark.map(|(at, _)| format!("M{} {}h1v1h-1z", at % side, at / side)).collect();
    Some(CodeDrawing { side, path })
}
