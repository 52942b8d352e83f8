//! `fourfold token`: tokens for programs that use the API.

use std::process::ExitCode;

use serde::Serialize;
use web::{Scope, tokens};

use crate::cli::TokenCommand;
use crate::host::here;
use crate::terminal::{exit, out};

/// Makes, removes or lists tokens of a state folder, with or without a running server.
pub(crate) fn run(command: &TokenCommand) -> anyhow::Result<ExitCode> {
    let place = match command {
        TokenCommand::Create { state, .. }
        | TokenCommand::Remove { state, .. }
        | TokenCommand::List { state, .. } => state,
    };
    let state = match here::state(place)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    match command {
        TokenCommand::Create { name, scopes, .. } => {
            admin::State::folder(&state)?;
            let scopes: Vec<Scope> = scopes.iter().map(|scope| scope.scope()).collect();
            out::line(tokens::create(&state, name, &scopes)?)?;
        }
        TokenCommand::Remove { name, caution, .. } => {
            let is_there = tokens::read(&state)?.iter().any(|token| token.name == *name);
            if is_there && !caution.permits_script(&format!("the token {name} is removed"))? {
                return Ok(ExitCode::SUCCESS);
            }
            tokens::remove(&state, name)?;
            out::done(format_args!("{name}: removed"))?;
        }
        TokenCommand::List { json, .. } => list(&tokens::read(&state)?, *json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A token for scripts.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    scopes: &'a [Scope],
    /// Seconds since 1970.
    created: u64,
}

fn list(tokens: &[tokens::Token], json: bool) -> anyhow::Result<()> {
    if json {
        let rows: Vec<Row<'_>> = tokens
            .iter()
            .map(|token| Row { name: &token.name, scopes: &token.scopes, created: token.created })
            .collect();
        return out::json(&rows);
    }
    if tokens.is_empty() {
        return Ok(out::line("there are no tokens; `fourfold token create NAME` makes one")?);
    }
    let cells = |token: &tokens::Token| {
        let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.word()).collect();
        let created = jiff::Timestamp::from_second(token.created.cast_signed()).unwrap_or_default();
        [token.name.clone(), scopes.join(","), created.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()]
    };
    let headings = ["NAME", "SCOPES", "CREATED"].map(str::to_owned);
    Ok(out::print(out::table(std::iter::once(headings).chain(tokens.iter().map(cells))))?)
}
