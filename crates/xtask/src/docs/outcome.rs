//! Whether a command has printed what the page says.

/// Stands for any text within a line, and by itself for any number of lines.
const ANY: char = '…';

/// Whether the lines of `output` are those of the page. Blanks at the end of a line do not count, and neither do empty lines at both
/// ends of the output.
pub fn is_as_said(says: &[String], output: &str) -> bool {
    let says: Vec<&str> = says.iter().map(|line| line.trim()).collect();
    let output: Vec<&str> = output.trim_matches('\n').lines().collect();
    follows(&says, &output, |line| *line == "…", |said, line| is_line(said, line))
}

fn is_line(said: &str, line: &str) -> bool {
    let (said, line): (Vec<char>, Vec<char>) = (said.chars().collect(), line.trim().chars().collect());
    follows(&said, &line, |one| *one == ANY, |one, other| one == other)
}

/// Whether `text` follows a pattern in which some elements stand for any number of elements.
fn follows<P, T>(
    pattern: &[P],
    text: &[T],
    is_any: impl Fn(&P) -> bool,
    equal: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut read) = (0, 0);
    // Behind the last element for any: where the pattern goes on, and where it is tried in the text.
    let mut retry: Option<(usize, usize)> = None;
    while read < text.len() || at < pattern.len() {
        match pattern.get(at) {
            Some(element) if is_any(element) => {
                at += 1;
                retry = Some((at, read));
            }
            Some(element) if text.get(read).is_some_and(|other| equal(element, other)) => {
                (at, read) = (at + 1, read + 1);
            }
            _ => match retry {
                Some((after, tried)) if tried < text.len() => {
                    (at, read) = (after, tried + 1);
                    retry = Some((after, tried + 1));
                }
                _ => return false,
            },
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(says: &str, output: &str) -> bool {
        is_as_said(&says.lines().map(str::to_owned).collect::<Vec<_>>(), output)
    }

    #[test]
    fn without_the_sign_for_any_all_lines_are_equal() {
        assert!(matches("a\nb", "a\nb\n"));
        assert!(matches("a  ", "  a"));
        assert!(!matches("a", "a\nb"));
        assert!(!matches("a\nb", "a"));
        assert!(!matches("a", ""));
        assert!(matches("", ""));
    }

    #[test]
    fn the_sign_stands_for_any_text_and_any_lines() {
        assert!(matches("uid …, a number", "uid 19, a number"));
        assert!(!matches("uid …, a number", "uid 19, a name"));
        assert!(matches("a\n…\nd", "a\nb\nc\nd"));
        assert!(matches("a\n…\nd", "a\nd"));
        assert!(matches("…\nb\n…\nd\n…", "b\nb\nc\nd\nd"));
        assert!(!matches("…\nd\n…\nb", "b\nc\nd"));
        assert!(matches("…", ""));
    }
}
