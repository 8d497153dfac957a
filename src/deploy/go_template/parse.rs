//! Go templates taken apart, as Go's `text/template/parse` does it: text, actions, blocks, pipelines.
//!
//! In: a text and its delimiters. Out: a tree of ranges into the text, so that one tree serves every scalar of that text.

use std::ops::Range;

use super::{
    TemplateError,
    actions::{Action, BLANKS, actions},
    lex::{Token, tokens},
};

/// Blocks and parentheses nest no deeper than this.
const DEPTH: usize = 64;

/// A piece of a template.
#[derive(Debug)]
pub(super) enum Node {
    /// Bytes of the text as they are.
    Text(Range<usize>),
    /// A pipeline whose value is printed, or which only sets a variable.
    Action(Pipeline),
    /// `if`, or `with`, which sets the dot too.
    Choice { branches: Vec<Branch>, otherwise: Option<Vec<Node>> },
    /// `range`.
    Range { over: Pipeline, body: Vec<Node>, otherwise: Option<Vec<Node>> },
    /// `break` or `continue`.
    Leave(Leave),
    /// `define`: a template under a name, which prints nothing where it stands.
    Define { name: String, body: Vec<Node> },
    /// `template`: a name, and the dot of what is called so.
    Template(Pipeline),
    /// `block`: the bytes of the action.
    Unfollowed(Range<usize>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    Break,
    Continue,
}

/// One condition with what it leads to.
#[derive(Debug)]
pub(super) struct Branch {
    pub condition: Pipeline,
    pub with: bool,
    pub body: Vec<Node>,
}

/// Commands, each of which gets what the one before it gives.
#[derive(Debug)]
pub(super) struct Pipeline {
    /// The bytes of the whole action, for people.
    pub place: Range<usize>,
    /// The variables that it sets, without `$`.
    pub sets: Vec<String>,
    /// Whether they are new (`:=`).
    pub declares: bool,
    pub commands: Vec<Vec<Operand>>,
}

#[derive(Debug)]
pub(super) struct Operand {
    pub base: Base,
    /// The keys behind it.
    pub fields: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Base {
    Dot,
    Nil,
    Bool(bool),
    Number(String),
    /// A text, with its bytes where it stands in them as it is.
    Text {
        text: String,
        place: Option<Range<usize>>,
    },
    Variable(String),
    Function(String),
    Paren(Box<Pipeline>),
}

/// Takes a template apart.
pub(super) fn parse(text: &str, delimiters: (&str, &str)) -> Result<Vec<Node>, TemplateError> {
    let pieces = pieces(text, delimiters)?;
    let mut parser = Parser { text, pieces, at: 0 };
    let (nodes, end) = parser.nodes(DEPTH)?;
    match end {
        End::Whole => Ok(nodes),
        End::Close | End::Else(_) => Err(TemplateError::Unexpected),
    }
}

/// A text between actions, or what stands between the delimiters of one.
enum Piece {
    Text(Range<usize>),
    Action(Range<usize>),
}

fn pieces(text: &str, delimiters: (&str, &str)) -> Result<Vec<Piece>, TemplateError> {
    let (mut pieces, mut at, mut trims) = (Vec::new(), 0, false);
    for action in actions(text, delimiters) {
        let Action { whole, code, trims: (before, behind) } = action?;
        pieces.push(Piece::Text(between(text, at..whole.start, (trims, before))));
        pieces.push(Piece::Action(code));
        (at, trims) = (whole.end, behind);
    }
    pieces.push(Piece::Text(between(text, at..text.len(), (trims, false))));
    Ok(pieces)
}

/// Returns the bytes of the text between two actions, each of which may take the blanks on its side.
fn between(text: &str, bytes: Range<usize>, (behind, before): (bool, bool)) -> Range<usize> {
    let all = text.get(bytes.clone()).unwrap_or_default();
    let start = if behind { bytes.end - all.trim_start_matches(BLANKS).len() } else { bytes.start };
    let end = if before { bytes.start + all.trim_end_matches(BLANKS).len() } else { bytes.end };
    start..end.max(start)
}

struct Parser<'t> {
    text: &'t str,
    pieces: Vec<Piece>,
    at: usize,
}

/// What ended a list of nodes.
enum End {
    Whole,
    Close,
    Else(Range<usize>),
}

// === impl Parser ===

impl Parser<'_> {
    fn nodes(&mut self, depth: usize) -> Result<(Vec<Node>, End), TemplateError> {
        let depth = depth.checked_sub(1).ok_or(TemplateError::Deep)?;
        let mut nodes = Vec::new();
        while let Some(piece) = self.pieces.get(self.at) {
            self.at += 1;
            let range = match piece {
                Piece::Text(range) => {
                    if !range.is_empty() {
                        nodes.push(Node::Text(range.clone()));
                    }
                    continue;
                }
                Piece::Action(range) => range.clone(),
            };
            let action = self.text.get(range.clone()).unwrap_or_default();
            let word = action.trim_start_matches(BLANKS);
            let word_end = word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len());
            match word.get(..word_end).unwrap_or_default() {
                "" if word.is_empty() => {}
                "if" | "with" => nodes.push(self.choice(range, depth)?),
                "range" => nodes.push(self.range(&range, depth)?),
                "end" => return Ok((nodes, End::Close)),
                "else" => return Ok((nodes, End::Else(range))),
                "break" => nodes.push(Node::Leave(Leave::Break)),
                "continue" => nodes.push(Node::Leave(Leave::Continue)),
                "define" => nodes.push(self.define(&range, depth)?),
                "block" => {
                    self.nodes(depth)?;
                    nodes.push(Node::Unfollowed(range));
                }
                "template" => {
                    let call = self.pipeline(self.behind(&range, "template"), &range)?;
                    nodes.push(Node::Template(call));
                }
                _ => nodes.push(Node::Action(self.pipeline(range.clone(), &range)?)),
            }
        }
        Ok((nodes, End::Whole))
    }

    fn pipeline(&self, code: Range<usize>, place: &Range<usize>) -> Result<Pipeline, TemplateError> {
        let tokens = tokens(self.text, code)?;
        let mut words = Words { tokens: &tokens, at: 0, place };
        let pipeline = words.pipeline(DEPTH)?;
        if words.at < tokens.len() { Err(TemplateError::Unexpected) } else { Ok(pipeline) }
    }

    /// The code behind a word at the beginning of an action.
    fn behind(&self, range: &Range<usize>, word: &str) -> Range<usize> {
        let action = self.text.get(range.clone()).unwrap_or_default();
        let at = action.find(word).map_or(0, |at| at + word.len());
        range.start + at..range.end
    }

    fn define(&mut self, range: &Range<usize>, depth: usize) -> Result<Node, TemplateError> {
        let name = self.pipeline(self.behind(range, "define"), range)?;
        let [command] = name.commands.as_slice() else { return Err(TemplateError::Unexpected) };
        let [Operand { base: Base::Text { text, .. }, .. }] = command.as_slice() else {
            return Err(TemplateError::Unexpected);
        };
        let name = text.clone();
        match self.nodes(depth)? {
            (body, End::Close) => Ok(Node::Define { name, body }),
            _ => Err(TemplateError::Unclosed),
        }
    }

    fn choice(&mut self, range: Range<usize>, depth: usize) -> Result<Node, TemplateError> {
        let mut branches = Vec::new();
        let mut range = range;
        let mut code = range.clone();
        loop {
            let action = self.text.get(code.clone()).unwrap_or_default();
            let with = action.trim_start_matches(BLANKS).starts_with("with");
            let condition = self.pipeline(self.behind(&code, if with { "with" } else { "if" }), &range)?;
            let (body, end) = self.nodes(depth)?;
            branches.push(Branch { condition, with, body });
            let next = match end {
                End::Close => return Ok(Node::Choice { branches, otherwise: None }),
                End::Whole => return Err(TemplateError::Unclosed),
                End::Else(next) => next,
            };
            code = self.behind(&next, "else");
            range = next;
            if self.text.get(code.clone()).unwrap_or_default().trim_matches(BLANKS).is_empty() {
                let (body, End::Close) = self.nodes(depth)? else { return Err(TemplateError::Unclosed) };
                return Ok(Node::Choice { branches, otherwise: Some(body) });
            }
        }
    }

    fn range(&mut self, range: &Range<usize>, depth: usize) -> Result<Node, TemplateError> {
        let over = self.pipeline(self.behind(range, "range"), range)?;
        let (body, end) = self.nodes(depth)?;
        let otherwise = match end {
            End::Close => None,
            End::Whole => return Err(TemplateError::Unclosed),
            End::Else(_) => match self.nodes(depth)? {
                (body, End::Close) => Some(body),
                _ => return Err(TemplateError::Unclosed),
            },
        };
        Ok(Node::Range { over, body, otherwise })
    }
}

struct Words<'a> {
    tokens: &'a [Token],
    at: usize,
    place: &'a Range<usize>,
}

// === impl Words ===

impl Words<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn pipeline(&mut self, depth: usize) -> Result<Pipeline, TemplateError> {
        let depth = depth.checked_sub(1).ok_or(TemplateError::Deep)?;
        let (sets, declares) = self.sets();
        let mut commands = vec![Vec::new()];
        loop {
            match self.peek() {
                None | Some(Token::Close) => break,
                Some(Token::Pipe) => {
                    self.at += 1;
                    commands.push(Vec::new());
                }
                Some(Token::Space) => self.at += 1,
                Some(_) => {
                    let operand = self.operand(depth)?;
                    commands.last_mut().ok_or(TemplateError::Unexpected)?.push(operand);
                }
            }
        }
        if commands.iter().any(Vec::is_empty) {
            return Err(TemplateError::Unexpected);
        }
        Ok(Pipeline { place: self.place.clone(), sets, declares, commands })
    }

    /// Reads `$a, $b :=` or `$a =`.
    fn sets(&mut self) -> (Vec<String>, bool) {
        let words: Vec<(usize, &Token)> = self
            .tokens
            .iter()
            .enumerate()
            .skip(self.at)
            .filter(|(_, t)| !matches!(t, Token::Space))
            .collect();
        let mut names = Vec::new();
        for pair in words.chunks(2) {
            match pair {
                [(_, Token::Variable(name)), (_, Token::Comma)] => names.push(name.clone()),
                [(_, Token::Variable(name)), (at, sign @ (Token::Declare | Token::Assign))] => {
                    names.push(name.clone());
                    self.at = at + 1;
                    return (names, **sign == Token::Declare);
                }
                _ => break,
            }
        }
        (Vec::new(), false)
    }

    fn operand(&mut self, depth: usize) -> Result<Operand, TemplateError> {
        let token = self.peek().cloned();
        self.at += 1;
        let base = match token {
            Some(Token::Dot) => Base::Dot,
            Some(Token::Field(name)) => {
                let mut operand = Operand { base: Base::Dot, fields: vec![name] };
                self.fields(&mut operand.fields);
                return Ok(operand);
            }
            Some(Token::Variable(name)) => Base::Variable(name),
            Some(Token::Text { text, place }) => Base::Text { text, place },
            Some(Token::Number(text)) => Base::Number(text),
            Some(Token::Word(word)) => match &*word {
                "nil" => Base::Nil,
                "true" => Base::Bool(true),
                "false" => Base::Bool(false),
                _ => Base::Function(word),
            },
            Some(Token::Open) => {
                let inner = self.pipeline(depth)?;
                if self.peek() != Some(&Token::Close) {
                    return Err(TemplateError::Unclosed);
                }
                self.at += 1;
                Base::Paren(Box::new(inner))
            }
            _ => return Err(TemplateError::Unexpected),
        };
        let mut operand = Operand { base, fields: Vec::new() };
        self.fields(&mut operand.fields);
        Ok(operand)
    }

    fn fields(&mut self, fields: &mut Vec<String>) {
        while let Some(Token::Field(name)) = self.peek() {
            fields.push(name.clone());
            self.at += 1;
        }
    }
}
