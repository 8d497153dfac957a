//! What a deployer reads by a name that holds a release.
//!
//! In: what was read before an edit and after it. Out: a file that is still there and that nothing reads any more, though
//! nothing else stands in its place: the name moved, and what it named did not.

use std::collections::BTreeSet;

use super::{
    cluster::Cluster,
    files::Files,
    installation::{Made, Top, built},
    kinds,
    object::Object,
    value::Scalar,
    watch::Watch,
};
use crate::repo::RepoPath;

/// Objects that come of objects, one out of the other.
const DEPTH: usize = 8;

/// Paths of files.
pub(super) type Paths = BTreeSet<String>;

/// Builds a root; returns what it comes to and what it reads.
pub(super) fn of_root(top: &Top, files: &dyn Files) -> (Made, Paths) {
    let watch = Watch::new(files);
    let made = top.made(&Cluster::default(), &watch);
    look_at_charts(&made, &watch);
    (made, watch.into_found())
}

/// Returns what an object reads to have others deployed, and what these read.
fn of_object(object: &Object, files: &dyn Files) -> Paths {
    let watch = Watch::new(files);
    let mut known = BTreeSet::new();
    let mut open = vec![object.clone()];
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for object in open.into_iter().filter(|object| known.insert(name(object))) {
            let Some(made) = built(&object, &Cluster::default(), &watch) else { continue };
            look_at_charts(&made, &watch);
            next.extend(made.objects.into_iter().filter(|object| kinds::of(object).is_some()));
        }
        open = next;
    }
    watch.into_found()
}

/// Finds what an object no longer reads that is another object after an edit.
pub(super) fn left_by(
    (was, before): (&Object, &dyn Files),
    (is, after): (&Object, &dyn Files),
) -> Option<RepoPath> {
    kinds::of(was)?;
    left(&of_object(was, before), &of_object(is, after), after)
}

/// Finds what is no longer read. What an edit took away is read by nobody, and what is called the same but for its digits
/// stands in its place.
pub(super) fn left(was: &Paths, is: &Paths, after: &dyn Files) -> Option<RepoPath> {
    let new: BTreeSet<String> = is.difference(was).map(|path| shape(path)).collect();
    let mut left = was.difference(is).filter(|path| after.has(path) && !new.contains(&shape(path)));
    left.find_map(|path| RepoPath::new(path.as_str()))
}

/// Returns what a name has in common with what it is after another release.
pub(super) fn shape(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Reads of a chart of the tree that it is there.
fn look_at_charts(made: &Made, files: &dyn Files) {
    for chart in &made.charts {
        chart.folder_in(files);
    }
}

fn name(object: &Object) -> (RepoPath, String, String) {
    let name = object.name().map(Scalar::text).unwrap_or_default();
    (object.file.clone(), object.kind().into_owned(), name.into_owned())
}
