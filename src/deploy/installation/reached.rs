//! What was reached on the way from a root, of one cluster's.

use std::collections::BTreeSet;

use super::{Role, places::Places};
use crate::deploy::{
    chart::ChartRelease, files::Files, object::Labels, tree_chart::Evaluations, umbrella, value::Value,
};

/// What of the places that something reads waits for a deployer that is told to leave things as they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// Places in what is not applied.
    pub left: BTreeSet<usize>,
    /// Places that are read for the charts of what is suspended.
    pub suspended: BTreeSet<usize>,
    /// Places that are read for the charts of a control plane that is not.
    pub live: BTreeSet<usize>,
}

/// What a root reads of one cluster's.
#[derive(Default)]
pub(super) struct Reach {
    /// Places of which something is in what it deploys.
    pub exact: BTreeSet<usize>,
    /// Files with places that it reads, by position.
    pub near: BTreeSet<usize>,
    /// Places of which something is in it if its cluster has them, which another root deploys, or that lie with it.
    pub maybe: BTreeSet<usize>,
    /// Places of its values, those too that others are laid over, and of what is switched off.
    pub values: BTreeSet<usize>,
    /// Places of the elements of generators that it was made of, whatever is laid over them, and of what is switched off for it
    /// alone: no other has them.
    pub own: BTreeSet<usize>,
    /// Those among them that are switched off for it.
    pub alone: BTreeSet<usize>,
    /// Of what is switched off, the control planes.
    pub off: BTreeSet<usize>,
    /// Places of which a change reaches it no more, or only by some who read them.
    pub waits: Waiting,
    /// Whether it deploys a control plane.
    pub plane: bool,
    /// The labels of what leads to it.
    pub labels: Labels,
    /// Whether somebody names its cluster.
    pub is_named: bool,
}

// === impl Waiting ===

impl Waiting {
    /// Tells whether a change of a place reaches nobody.
    pub fn has(&self, mark: usize) -> bool {
        self.left.contains(&mark) || self.suspended.contains(&mark) && !self.live.contains(&mark)
    }

    /// Takes in what waits by another way.
    pub fn extend(&mut self, other: Self) {
        self.left.extend(other.left);
        self.suspended.extend(other.suspended);
        self.live.extend(other.live);
    }
}

// === impl Reach ===

impl Reach {
    /// Tells whether the place of a control plane is among what was reached.
    pub fn has_plane(&self, places: &Places<'_>) -> bool {
        let near = self.near.iter().filter_map(|file| places.of.get(*file)).flat_map(|(marks, _)| marks);
        let mut marks = self.exact.iter().chain(near).filter_map(|mark| places.marks.get(*mark));
        marks.any(|mark| mark.role == Role::ControlPlane)
    }

    /// Takes the places of an object, or of a part of one, that is left as its cluster has it.
    pub fn leave(&mut self, value: &Value, places: &Places<'_>) {
        value.scalars().into_iter().for_each(|scalar| places.read(scalar, &mut self.waits.left));
    }

    /// Says of what was read so far that charts were made of it, by whom a change is taken, or is not.
    pub fn made_charts(&mut self, idle: bool, ignored: bool) {
        if idle {
            self.waits.suspended.extend(&self.exact);
        } else if self.plane && !ignored {
            self.waits.live.extend(&self.exact);
        }
    }

    /// Where something runs that has to suit a control plane, one that is switched off is still to come.
    pub fn await_planes(&mut self) {
        if !self.exact.is_empty() {
            self.exact.append(&mut self.off);
        }
    }

    /// Takes out the places of which nothing need be in what is deployed.
    pub fn handed_on(&mut self, places: &Places<'_>) -> BTreeSet<usize> {
        let near = std::mem::take(&mut self.near);
        let near = near.into_iter().filter_map(|file| places.of.get(file)).flat_map(|(marks, _)| marks);
        let mut marks = std::mem::take(&mut self.values);
        marks.extend(near);
        marks
    }

    /// Takes the places that a chart and its values were written at, and those of a chart of the tree; of one that was
    /// evaluated what came of its values says where they go.
    pub fn chart(
        &mut self,
        (files, charts): (&dyn Files, &Evaluations),
        places: &Places<'_>,
        chart: &ChartRelease,
    ) {
        chart.scalars().for_each(|scalar| places.read(scalar, &mut self.values));
        let all = umbrella::dependencies(chart, files, &|_| true).unwrap_or_default();
        chart.folder().iter().for_each(|folder| places.below(folder, &mut self.near));
        let inner = chart.folder_in(files).map(|folder| umbrella::inner(files, &folder));
        for inner in inner.into_iter().flatten() {
            self.plane |= !chart.is_off && (places.knows.is_plane)(&inner.chart);
            inner.folder.iter().for_each(|folder| places.below(folder.as_str(), &mut self.near));
        }
        if chart.is_off {
            let planes = all.iter().chain([chart]).filter(|of| (places.knows.is_plane)(&of.chart.text()));
            planes.for_each(|of| of.each_read(&mut |scalar| places.read(scalar, &mut self.off)));
            return;
        }
        if charts.of(chart).is_empty() {
            chart.each_read(&mut |scalar| places.read(scalar, &mut self.exact));
        }
        // What the chart has of its own is read by each that deploys it, whether or not it names the file.
        all.iter().for_each(|of| of.each_read(&mut |scalar| places.read(scalar, &mut self.exact)));
        self.plane |= (places.knows.is_plane)(&chart.chart.text());
    }
}
