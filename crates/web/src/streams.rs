//! Reserved streams: what is reserved, and what may be.

use admin::control::{NewReservation, StreamsAnswer, StreamsRequest, StreamsStatus};
use admin::video::{VideoFormat, video_formats};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::api::{Body, Done, Failure, blocking, body};
use crate::console::answered;

/// The reservation that is to be released.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Released {
    /// Its number; `null`: all reservations.
    id: Option<u64>,
}

/// What is reserved for streams, what is read of it, and what the disks carry.
#[utoipa::path(get, path = "/v1/streams", security(("token" = ["read"])), responses((status = 200, description = "What is reserved", body = StreamsStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn streams(State(api): State<Api>) -> Result<Response, Failure> {
    let listed = blocking(move || api.report.streams(StreamsRequest::List, &|_| true)).await?;
    answered(listed.map(|answer| match answer {
        StreamsAnswer::List(status) => status,
        StreamsAnswer::Done(_) => StreamsStatus::default(),
    }))
}

/// The formats of video, from the least to the most.
#[utoipa::path(get, path = "/v1/streams/formats", security(("token" = ["read"])), responses((status = 200, description = "The formats", body = Vec<VideoFormat>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn formats() -> Response {
    Json(video_formats()).into_response()
}

/// Reserves streams, if the disk and the link carry them. A disk is measured for some seconds at first.
#[utoipa::path(post, path = "/v1/streams", request_body = NewReservation, security(("token" = ["write"])), responses((status = 200, description = "They are reserved", body = Done), (status = "4XX", description = "Refused: what is missing", body = Failure)))]
pub(crate) async fn reserve(State(api): State<Api>, new: Body<NewReservation>) -> Result<Response, Failure> {
    execute(api, StreamsRequest::Reserve(body(new)?)).await
}

/// Releases one reservation, or all.
#[utoipa::path(post, path = "/v1/streams/release", request_body = Released, security(("token" = ["write"])), responses((status = 200, description = "What was released", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn release(State(api): State<Api>, released: Body<Released>) -> Result<Response, Failure> {
    let Released { id } = body(released)?;
    execute(api, StreamsRequest::Release { id }).await
}

async fn execute(api: Api, request: StreamsRequest) -> Result<Response, Failure> {
    let done = blocking(move || api.report.streams(request, &|_| true)).await?;
    crate::api::done(done.map(|answer| match answer {
        StreamsAnswer::Done(lines) => lines,
        StreamsAnswer::List(_) => Vec::new(),
    }))
}
