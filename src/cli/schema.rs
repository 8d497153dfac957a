//! `uplinker schema`: what uplinker.yaml may hold, and what reports for programs hold.

use clap::{Args, ValueEnum};

use super::{Context, Error, Exit};
use crate::{
    config::{reference, schema},
    report::{self, Document, Format},
};

/// Print the JSON Schema of uplinker.yaml, for editors, or of a report
///
/// With `--format markdown`, prints the reference page of uplinker.yaml.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  uplinker schema > uplinker.schema.json
  uplinker schema plan > plan.schema.json      what `uplinker plan --format json` prints
  uplinker schema --format markdown | less")]
pub(super) struct SchemaArgs {
    /// What the schema is of
    #[arg(value_enum, value_name = "OF", default_value_t = Of::Config)]
    of: Of,
}

/// What there are schemas of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Of {
    /// uplinker.yaml
    Config,
    /// `pins --format json`
    Pins,
    /// `plan --format json`
    Plan,
    /// `run --format json`
    Run,
    /// `verify --format json`
    Verify,
    /// `releases --format json`
    Releases,
    /// `status --format json`
    Status,
    /// `doctor --format json`
    Doctor,
    /// `repositories --format json`
    Repositories,
    /// /api/v1/repositories of `serve`
    Service,
    /// /api/v1/repositories/ID of `serve`
    ServiceRepository,
    /// /api/v1/events of `serve`
    ServiceEvents,
}

/// Runs the command.
pub(super) fn execute(args: &SchemaArgs, context: &Context) -> Result<Exit, Error> {
    let document = match args.of {
        Of::Config => None,
        Of::Pins => Some(Document::Pins),
        Of::Plan => Some(Document::Plan),
        Of::Run => Some(Document::Run),
        Of::Verify => Some(Document::Verify),
        Of::Releases => Some(Document::Releases),
        Of::Status => Some(Document::Status),
        Of::Doctor => Some(Document::Doctor),
        Of::Repositories => Some(Document::Repositories),
        Of::Service => Some(Document::Service),
        Of::ServiceRepository => Some(Document::ServiceRepository),
        Of::ServiceEvents => Some(Document::ServiceEvents),
    };
    let text = match (document, context.format) {
        (None, Some(Format::Markdown)) => reference::page(),
        (None, Some(Format::Text | Format::Json) | None) => schema::text(),
        (Some(_), Some(Format::Markdown)) => {
            return Err(Error::usage(
                "there is a reference page of uplinker.yaml alone; leave out `--format markdown`",
            ));
        }
        (Some(document), Some(Format::Text | Format::Json) | None) => report::schema(document),
    };
    context.print(&text)?;
    Ok(Exit::Done)
}
