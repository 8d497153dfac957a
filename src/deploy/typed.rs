//! How a scalar of the model is typed by what reads it.

use super::value::{Scalar, Value};
pub use crate::yaml::typed::{Typed, key, number, plain};

/// Types a scalar: what was quoted is a text.
pub fn typed(scalar: &Scalar) -> Typed {
    let text = scalar.text();
    if !scalar.plain || scalar.unknown_to().is_some() {
        return Typed::Text(text.into_owned());
    }
    plain(&text)
}

/// Tells whether the boolean under a path of keys is true. One in quotes, which its reader refuses, counts as it reads.
pub fn is_true(value: &Value, keys: &[&str]) -> bool {
    let Some(scalar) = value.scalar(keys) else { return false };
    typed(scalar) == Typed::Bool(true) || scalar.known().is_some_and(|text| text == "true")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Ceilings;

    #[test]
    fn a_boolean_is_true_as_its_reader_takes_it() {
        let text = "a: yes\nb: On\nc: 'yes'\nd: off\ne: 'true'\nf: [true]\ng: {h: y}\n";
        let value = crate::deploy::read::mapping(&Scalar::made(text), &Ceilings::default()).unwrap();
        let all = ["a", "b", "c", "d", "e", "f", "g", "i"].map(|key| is_true(&value, &[key]));
        assert_eq!(all, [true, true, false, false, true, false, false, false]);
        assert!(is_true(&value, &["g", "h"]));
    }
}
