//! A list of repositories.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{
    Format, Style,
    escape::{for_json, for_terminal, json as to_json},
};
use crate::explain::markdown;

/// The repositories of a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RepositoriesReport {
    /// Their addresses.
    pub repositories: Vec<String>,
}

/// `uplinker.repositories/v1`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document<'r> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'r RepositoriesReport,
}

// === impl RepositoriesReport ===

impl RepositoriesReport {
    /// Returns the report in the style's form.
    pub fn render(&self, style: Style) -> String {
        let lines = |line: &dyn Fn(&String) -> String| self.repositories.iter().map(line).collect();
        match style.format {
            Format::Json => to_json(&Document { schema: "uplinker.repositories/v1", report: self }),
            Format::Markdown => lines(&|name| format!("- {}\n", markdown::whole(name))),
            Format::Text => lines(&|name| format!("{}\n", for_terminal(name))),
        }
    }

    /// Returns a matrix of GitHub Actions, on one line.
    pub fn matrix(&self) -> String {
        for_json(json!({"repository": self.repositories}).to_string()) + "\n"
    }
}
