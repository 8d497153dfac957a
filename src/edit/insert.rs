//! x
use super::*;
use crate::yaml::Route;
/// x
pub fn insert(_text: &str, _route: &Route, _key: &str, _value: &str) -> Result<String, EditError> {
    Err(EditError::whole(Refusal::NoSuchFile))
}
