//! What was not followed, and the bounds that were met: named, never silent.

use std::fmt;

use crate::repo::RepoPath;

/// Something that a deployer does and that is not in the model, with the file that asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Note {
    /// The file of the object that asks for it.
    pub path: RepoPath,
    /// What it is.
    pub about: About,
}

/// What a [`Note`] is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum About {
    /// More of it than is followed: the rest is left out.
    Bound(Bound),
    /// A part of a template that is not evaluated here: the text between its delimiters.
    Expression(String),
    /// A condition of a template that the tree does not decide: all its branches are in the model.
    Condition(String),
    /// A text that its deployer refuses, so that nothing comes of it: what it says.
    Refused(String),
    /// A file or a part of an object that cannot be read: what it is, and why.
    Unread {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
    /// Objects that are taken in from outside the tree: from where.
    Remote(String),
    /// A folder that takes itself in: its path.
    Cycle(String),
    /// What means an object that is not among those known here: a patch, a replacement, a variable.
    NoTarget(String),
    /// Two objects of one kind, name and namespace, where the deployer allows one: which.
    Twice(String),
    /// What the deployer fails at, and why.
    Fails {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
    /// A version that is not what something asks for, a chart of one beside it or a schema of values: who asks what, and
    /// which it has.
    Unmet {
        /// Who asks what.
        what: String,
        /// Which it has.
        why: String,
    },
    /// The same, unless values that are not in the tree are laid over it.
    Doubted {
        /// Who asks what.
        what: String,
        /// Which it has.
        why: String,
    },
    /// A chart that is over a limit of Helm's: which, and what limit.
    Over {
        /// The chart.
        what: String,
        /// The limit.
        why: String,
    },
    /// A text with a version that something deployed reads, and whose place in the tree is not known.
    Untraced(String),
    /// What a deployer does to the output of Helm, which the model leaves as it is.
    Afterwards {
        /// The deployer, for people.
        who: &'static str,
        /// The settings that say so.
        keys: Vec<&'static str>,
    },
    /// A setting that the deployer obeys and the model does not: its name in the object.
    Unfollowed(&'static str),
}

/// A bound of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bound {
    /// Kustomizations and objects that have something deployed, in one tree.
    Roots(usize),
    /// Roots that come of roots, one out of the other.
    Waves(usize),
    /// Elements of one generator.
    Elements(usize),
    /// Applications of one ApplicationSet, or objects of one ResourceSet.
    Objects(usize),
    /// Branches of one template that the tree does not decide between.
    Branches(usize),
    /// Steps of the evaluation of one template, or one root of Terraform.
    Steps(usize),
    /// Generators in generators.
    Depth(usize),
    /// Bytes that one text grows to.
    Bytes(usize),
    /// Kustomizations that one takes in, each as often as it is taken in.
    Kustomizations(usize),
    /// Kustomizations in kustomizations.
    Overlays(usize),
    /// Looks at an object that one build takes.
    Looks(usize),
    /// Values that one object grows to.
    Values(usize),
    /// Environments that one root of Terraform may be run for.
    Environments(usize),
    /// What clusters have for releases that all of them have.
    Clusters(usize),
}

// === impl Bound ===

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (most, of) = match self {
            Self::Roots(most) => (most, "roots of a repository"),
            Self::Waves(most) => (most, "deployments out of one another"),
            Self::Clusters(most) => (most, "maps of clusters for what all of them have"),
            Self::Elements(most) => (most, "elements of a generator"),
            Self::Objects(most) => (most, "objects of one"),
            Self::Branches(most) => {
                (most, "branches of a template that the repository does not decide between")
            }
            Self::Steps(most) => (most, "steps of an evaluation"),
            Self::Depth(most) => (most, "levels"),
            Self::Bytes(most) => (most, "bytes of a text that grows"),
            Self::Kustomizations(most) => (most, "kustomizations that one takes in"),
            Self::Overlays(most) => (most, "kustomizations in kustomizations"),
            Self::Looks(most) => (most, "looks at the objects of one build"),
            Self::Values(most) => (most, "values of one object"),
            Self::Environments(most) => (most, "environments of one root of Terraform"),
        };
        write!(f, "more than {most} {of}: the rest is not looked at")
    }
}

// === impl Note ===

impl Note {
    /// A note about a file.
    pub fn new(path: &RepoPath, about: About) -> Self {
        Self { path: path.clone(), about }
    }
}
