//! A Rust file as the rules read it: its code tokens without tests, and the size of its functions.

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A token of the code. Comments are left out, and literals have no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeToken {
    pub text: String,
    pub line: usize,
}

/// A function and its number of lines, signature included.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// One file without its `#[cfg(test)]` items.
#[derive(Debug)]
pub struct Source {
    /// Relative to the repository's root, with `/`.
    pub path: String,
    pub tokens: Vec<CodeToken>,
    /// Lines of the file without those of its tests.
    pub lines: usize,
    /// It begins with a comment about the file as a whole (`//!`).
    pub has_opening: bool,
}

impl Source {
    pub fn parse(path: &str, text: &str) -> Result<Self> {
        let stream: TokenStream = text.parse().map_err(|error| anyhow!("{error}"))?;
        let mut flat = Flat::default();
        flat.add(stream);
        let lines = text.lines().count() - flat.test_lines;
        let has_opening = text.trim_start().starts_with("//!");
        Ok(Self { path: path.to_owned(), tokens: flat.tokens, lines, has_opening })
    }

    /// Whether the file is for tests only. Such a file may have any length.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs") || self.path.ends_with("_tests.rs")
    }

    pub fn functions(&self) -> Vec<Function> {
        (0..self.tokens.len()).filter_map(|at| self.function_at(at)).collect()
    }

    /// The function whose `fn` is token `at`. `None` for a function type or a declaration without a
    /// body.
    fn function_at(&self, at: usize) -> Option<Function> {
        let [keyword, name] = self.tokens.get(at..at + 2)? else { return None };
        if keyword.text != "fn" || !is_word(&name.text) {
            return None;
        }
        let mut depth = 0;
        for token in &self.tokens[at + 2..] {
            match token.text.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" => depth -= 1,
                ";" if depth == 0 => return None,
                "}" => {
                    depth -= 1;
                    if depth == 0 {
                        let lines = token.line - keyword.line + 1;
                        return Some(Function { name: name.text.clone(), line: keyword.line, lines });
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// Whether a token is an identifier or keyword.
pub fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// A token tree as a flat list.
#[derive(Default)]
struct Flat {
    tokens: Vec<CodeToken>,
    test_lines: usize,
}

impl Flat {
    fn add(&mut self, stream: TokenStream) {
        let mut trees = stream.into_iter().peekable();
        while let Some(tree) = trees.next() {
            let is_hash = matches!(&tree, TokenTree::Punct(punct) if punct.as_char() == '#');
            if is_hash && trees.peek().is_some_and(is_test_attribute) {
                self.skip_item(tree.span().start().line, &mut trees);
            } else {
                self.add_tree(tree);
            }
        }
    }

    fn add_tree(&mut self, tree: TokenTree) {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                self.push(open, line);
                self.add(group.stream());
                self.push(close, group.span_close().end().line);
            }
            TokenTree::Ident(ident) => self.push(&ident.to_string(), line),
            TokenTree::Punct(punct) => self.push(&punct.as_char().to_string(), line),
            TokenTree::Literal(_) => self.push("\"", line),
        }
    }

    fn push(&mut self, text: &str, line: usize) {
        self.tokens.push(CodeToken { text: text.to_owned(), line });
    }

    /// Skips an item up to its body or its semicolon.
    fn skip_item(&mut self, first: usize, trees: &mut impl Iterator<Item = TokenTree>) {
        for tree in trees {
            let is_end = match &tree {
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                TokenTree::Punct(punct) => punct.as_char() == ';',
                _ => false,
            };
            if is_end {
                self.test_lines += tree.span().end().line - first + 1;
                return;
            }
        }
    }
}

/// `[cfg(test)]` or `[cfg(all(test, …))]`.
fn is_test_attribute(tree: &TokenTree) -> bool {
    let text: String = tree.to_string().split_whitespace().collect();
    text == "[cfg(test)]" || text.starts_with("[cfg(all(test,")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Source {
        Source::parse("crates/x/src/lib.rs", text).unwrap()
    }

    fn words(text: &str) -> Vec<String> {
        parse(text).tokens.into_iter().map(|t| t.text).filter(|t| is_word(t)).collect()
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        assert_eq!(words("// smb\n/* nfs */ fn a() { b(\"afp\"); }"), ["fn", "a", "b"]);
    }

    #[test]
    fn tests_are_left_out_and_do_not_count_as_lines() {
        let source = parse("fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n");
        assert_eq!(source.functions().len(), 1);
        assert_eq!(source.lines, 1);
    }

    #[test]
    fn a_function_is_measured_from_its_signature_to_its_last_brace() {
        let source =
            parse("fn a(\n    x: [u8; 2],\n) -> u8 {\n    x[0]\n}\ntrait T { fn b(); }\ntype F = fn(u8);");
        assert_eq!(source.functions(), [Function { name: "a".into(), line: 1, lines: 5 }]);
    }

    #[test]
    fn nested_functions_are_measured_too() {
        let names: Vec<_> = parse("fn a() { fn b() {} }").functions().into_iter().map(|f| f.name).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
