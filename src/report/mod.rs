//! Step 9, report: results as text, JSON and Markdown. Pure.
