//! Colour, where a person sees it: at a terminal, unless `NO_COLOR` (no-color.org) is set.

use std::io::IsTerminal;

use clap::builder::styling::{AnsiColor, Style};

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Something is wrong.
    Bad,
    /// Something deserves a look.
    Doubtful,
    /// All is well.
    Good,
    /// A heading.
    Title,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Doubtful => AnsiColor::Yellow.on_default(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Title => Style::new().bold(),
        }
    }
}

/// The text as it is shown at `stream`.
pub(crate) fn painted(text: &str, tone: Tone, stream: &impl IsTerminal) -> String {
    if is_shown(stream) { colored(text, tone) } else { text.to_owned() }
}

/// Whether colour is shown at `stream`.
pub(crate) fn is_shown(stream: &impl IsTerminal) -> bool {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    is_wanted(stream.is_terminal(), &variable("NO_COLOR"), &variable("TERM"))
}

fn colored(text: &str, tone: Tone) -> String {
    let style = tone.style();
    format!("{style}{text}{style:#}")
}

fn is_wanted(is_terminal: bool, no_color: &str, kind: &str) -> bool {
    is_terminal && no_color.is_empty() && kind != "dumb"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_counts_if_it_is_not_empty() {
        assert!(is_wanted(true, "", "xterm"));
        for (is_terminal, no_color, kind) in [(false, "", "xterm"), (true, "1", "xterm"), (true, "", "dumb")]
        {
            assert!(!is_wanted(is_terminal, no_color, kind), "{is_terminal} {no_color} {kind}");
        }
    }

    #[test]
    fn a_colored_text_ends_its_color() {
        assert_eq!(colored("bad", Tone::Title), "\u{1b}[1mbad\u{1b}[0m");
    }
}
