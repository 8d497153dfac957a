//! The whole run on one screen; it owns no rule.
