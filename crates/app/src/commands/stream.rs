//! `fourfold stream`: reserves streams at the running server, lists and releases them.

use std::process::ExitCode;

use admin::control::{self, AskError, NewReservation, StreamsAnswer, StreamsRequest, speed_words};
use admin::settings::units::{parse_duration, parse_size};
use admin::video::video_formats;

use crate::cli::{ReserveStreams, StreamCommand, Where};
use crate::host::here;
use crate::terminal::progress::ProgressDisplay;
use crate::terminal::{exit, out};

/// Executes a subcommand.
pub(crate) fn run(command: &StreamCommand) -> anyhow::Result<ExitCode> {
    match command {
        StreamCommand::Reserve(asked) => match new(asked) {
            Ok(new) => ask(&asked.place, StreamsRequest::Reserve(new), false),
            Err(error) => {
                out::error_line(format_args!("fourfold: {error}"));
                Ok(ExitCode::from(exit::REFUSED))
            }
        },
        StreamCommand::List { json, place } => ask(place, StreamsRequest::List, *json),
        StreamCommand::Release { id, all, place } => {
            let id = if *all { None } else { *id };
            ask(place, StreamsRequest::Release { id }, false)
        }
        StreamCommand::Formats { json } => formats(*json),
    }
}

/// The reservation that was typed.
fn new(asked: &ReserveStreams) -> Result<NewReservation, String> {
    let size = |flag: &str, text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => match parse_size(text).filter(|size| *size > 0) {
            Some(size) => Ok(Some(size)),
            None => Err(format!("`--{flag} {text}` is no speed: write the bytes of a second, such as 100MB")),
        },
    };
    let idle = parse_duration(&asked.idle)
        .ok_or_else(|| format!("`--idle {}` is no time: write 30min, 4h or off", asked.idle))?;
    Ok(NewReservation {
        share: asked.share.clone(),
        lun: asked.lun.clone(),
        format: asked.format.clone(),
        speed: size("speed", &asked.speed)?,
        streams: asked.streams,
        user: asked.user.clone(),
        client: asked.client,
        idle_s: Some(idle.div_ceil(1000)),
        capacity: size("capacity", &asked.capacity)?,
        measure: asked.measure,
    })
}

fn ask(place: &Where, request: StreamsRequest, json: bool) -> anyhow::Result<ExitCode> {
    let state = match here::state(place)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let display = ProgressDisplay::default();
    let answer = control::streams(&state, request, &mut |now| display.show(now));
    display.end();
    match answer {
        Ok(StreamsAnswer::Done(lines)) => lines.into_iter().try_for_each(out::done)?,
        Ok(StreamsAnswer::List(status)) if json => out::json(&status)?,
        Ok(StreamsAnswer::List(status)) => out::print(status.to_string().trim_start())?,
        Err(AskError::Refused(lines)) => {
            lines.iter().for_each(|line| out::error_line(format_args!("fourfold: {line}")));
            return Ok(ExitCode::from(exit::REFUSED));
        }
        Err(error @ AskError::NoServer(_)) => return Ok(exit::no_server(&error)),
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}

fn formats(json: bool) -> anyhow::Result<ExitCode> {
    let all = video_formats();
    if json {
        out::json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let widest = all.iter().map(|format| format.id.len()).max().unwrap_or(0);
    for format in &all {
        out::line(format_args!("{:widest$}  {:>11}  {}", format.id, speed_words(format.speed), format.name))?;
    }
    Ok(ExitCode::SUCCESS)
}
