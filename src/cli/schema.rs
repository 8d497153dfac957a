//! `uplinker schema`: what uplinker.yaml may hold.

use clap::Args;

use super::{Context, Error, Exit};
use crate::{
    config::{reference, schema},
    report::Format,
};

/// Print the JSON Schema of uplinker.yaml, for editors
///
/// With `--format markdown`, prints the reference page.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  uplinker schema > uplinker.schema.json
  uplinker schema --format markdown | less")]
pub(super) struct SchemaArgs {}

/// Runs the command.
pub(super) fn execute(_: &SchemaArgs, context: &Context) -> Result<Exit, Error> {
    let text = match context.format {
        Some(Format::Markdown) => reference::page(),
        Some(Format::Text | Format::Json) | None => schema::text(),
    };
    context.print(&text)?;
    Ok(Exit::Done)
}
