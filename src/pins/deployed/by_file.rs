//! Step 5, pins: deployers whose files are evaluated all at once, Terraform and helmfile, and what their files name
//! beside what is deployed.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{
    claims::Claims,
    foreign::readings,
    images::{over, take_containers, take_images},
    objects::take_object,
    pods::Injection,
    release::{home, take_release},
};
use crate::{
    deploy::{
        About, Applied, ChartRelease, Cluster, Files as _, Note, Scalar, chart::Repository, helmfile,
        terraform,
    },
    pins::{
        Form, Pin, PinKind, SkipReason, Skipped,
        context::Context,
        found::Found,
        index::Index,
        marker::TextFile,
        origin::{Ours, is_linkerds},
        other,
        release_names::tokens,
        siblings::Siblings,
    },
    repo::RepoPath,
};

/// What is known of a deployer's files once they were evaluated.
pub(in crate::pins) struct Evaluated {
    reason: SkipReason,
    /// What it brings to each cluster.
    pub applied: Applied,
    /// Why a file cannot be read.
    unread: BTreeMap<RepoPath, String>,
    /// Files that it reads or fills, whatever they are called.
    filled: Vec<RepoPath>,
    /// Where the versions of charts stand, whosever charts they are: file and first byte.
    versions: BTreeSet<(RepoPath, usize)>,
    /// Where a text of its objects is read by a name: file and first byte.
    named_at: BTreeSet<(RepoPath, usize)>,
}

/// Takes the claims of what Terraform deploys.
pub(in crate::pins) fn terraform(
    context: &Context<'_>,
    claims: &mut Claims,
    skipped: &mut Vec<Skipped>,
) -> Evaluated {
    // What has no module run takes no variables either.
    let Index { runs, referable, .. } = context.index;
    let manifests = runs.iter().chain(referable.iter().filter(|_| !runs.is_empty())).collect();
    let deployed = terraform::terraform(context.files, &manifests);
    let cluster = Cluster::new(&deployed.objects);
    for release in &deployed.charts {
        let injected = home(release, &cluster);
        take_release(context, release, PinKind::Terraform, injected, claims);
        claims.beyond.take_version(release, SkipReason::Terraform);
        claims.uses.take(context, release);
    }
    // It may be switched on by the next who applies it.
    let mut off = Claims::default();
    let left_out = deployed.left_out.iter().filter(|release| is_exactly_ours(context, release));
    let all = deployed.off.iter().chain(left_out);
    all.for_each(|release| take_release(context, release, PinKind::Terraform, Injection::Open, &mut off));
    claims.append_off(off);
    take_shadowed(context, &deployed.shadowed, PinKind::Terraform, claims);
    claims.shadowed.extend(deployed.shadowed_objects);
    deployed.handed.iter().for_each(|text| claims.take_releases(text));
    let linkerds = deployed.named.iter().filter(|(key, _)| !other::is_version_of_another(key));
    linkerds.for_each(|(_, text)| claims.take_not_followed(text));
    let texts = deployed.objects.iter().flat_map(|object| object.value.scalars());
    let named = texts.flat_map(Scalar::origins).flat_map(readings);
    let named_at = named.map(|reading| (reading.source.path.clone(), reading.at)).collect();
    claims.objects.extend(deployed.objects);
    claims.beyond.take_evaluated(&deployed.notes);
    // A template that Terraform fills is read, whatever its name is.
    let is_read = |skip: &mut Skipped| match skip.reason {
        SkipReason::UnknownShape => deployed.configured.contains(&skip.path),
        SkipReason::HelmTemplate => deployed.applied.reads.contains(&skip.path),
        SkipReason::Syntax => {
            let has_directive = |path: &RepoPath| {
                context.files.file(path.as_str()).is_ok_and(|file| file.text.contains("%{"))
            };
            deployed.applied.reads.contains(&skip.path) && has_directive(&skip.path)
        }
        _ => false,
    };
    let filled = skipped.extract_if(.., is_read).map(|skip| skip.path).collect();
    let applied = deployed.applied;
    let evaluated = Evaluated::new(SkipReason::Terraform, &deployed.charts, deployed.notes);
    Evaluated { filled, applied, named_at, ..evaluated }
}

/// Takes the claims of what helmfile deploys.
pub(in crate::pins) fn helmfile(
    context: &Context<'_>,
    claims: &mut Claims,
    skipped: &mut Vec<Skipped>,
) -> Evaluated {
    let deployed = helmfile::helmfile(context.files);
    let mut off = Claims::default();
    for release in &deployed.charts {
        let claims_of = if release.is_off { &mut off } else { &mut *claims };
        take_release(context, release, PinKind::Helmfile, Injection::Open, claims_of);
        take_laid_over(context, release, claims_of);
        if !release.is_off {
            claims.beyond.take_version(release, SkipReason::Helmfile);
        }
        claims.uses.take(context, release);
    }
    claims.append_off(off);
    take_shadowed(context, &deployed.shadowed, PinKind::Helmfile, claims);
    claims.guards(&deployed.guards);
    claims.beyond.take_evaluated(&deployed.notes);
    let mut evaluated = Evaluated::new(SkipReason::Helmfile, &deployed.charts, deployed.notes);
    // A template that helmfile fills is read, whatever its name is, and need not speak of Linkerd.
    let is_filled =
        |skip: &mut Skipped| skip.reason == SkipReason::HelmTemplate && deployed.read.contains(&skip.path);
    evaluated.filled = skipped.extract_if(.., is_filled).map(|skip| skip.path).collect();
    let is_template =
        |path: &&RepoPath| other::class(path) == other::Class::Foreign(SkipReason::HelmTemplate);
    let is_read = |path: &&RepoPath| is_template(path) && !evaluated.unread.contains_key(*path);
    evaluated.filled.extend(deployed.read.iter().filter(is_read).cloned());
    Evaluated { applied: deployed.applied, ..evaluated }
}

/// Tells whether a chart of Linkerd's is named with one release, and no more: what a condition leaves out may also be a chart
/// of somebody else's that the block does not mean.
fn is_exactly_ours(context: &Context<'_>, release: &ChartRelease) -> bool {
    let version = release.version.as_ref().and_then(Scalar::known);
    let is_exact =
        version.is_some_and(|text| matches!(&*tokens(&text), [token] if token.span.len() == text.len()));
    is_exact && Ours::of(release, &context.options.mirrors).is_some()
}

/// Takes what helmfile has kustomize lay over the objects of a chart.
fn take_laid_over(context: &Context<'_>, release: &ChartRelease, claims: &mut Claims) {
    let charts = std::slice::from_ref(release);
    let nobody = Cluster::new([]);
    for part in &release.laid_over {
        take_object(part, &nobody, context.options, claims);
        take_containers(part, &over(context, charts, part), claims);
    }
    take_images(&release.images, &over(context, charts, None), claims);
}

/// Takes variables that others are laid over.
fn take_shadowed(context: &Context<'_>, charts: &[ChartRelease], kind: PinKind, claims: &mut Claims) {
    let mut shadowed = Claims::default();
    charts.iter().for_each(|release| take_release(context, release, kind, Injection::Open, &mut shadowed));
    claims.append_shadowed(shadowed);
}

// === impl Evaluated ===

impl Evaluated {
    fn new(reason: SkipReason, charts: &[ChartRelease], notes: Vec<Note>) -> Self {
        let unread = notes.into_iter().filter_map(|note| match note.about {
            About::Unread { what, why } => Some((note.path, format!("{what}: {why}"))),
            _ => None,
        });
        // What Linkerd's own repository is asked for is told, whatever chart it is.
        let is_ours = |chart: &ChartRelease| match &chart.repository {
            Repository::Address(address) => is_linkerds(&address.text()),
            Repository::Git(_) | Repository::Unknown(_) => false,
        };
        let others = charts.iter().filter(|chart| !is_ours(chart));
        let places = others.filter_map(|chart| chart.version.as_ref()).flat_map(Scalar::origins);
        let versions = places.map(|at| (at.source.path.clone(), at.span.start));
        let (applied, filled, named_at) = Default::default();
        Self { reason, applied, unread: unread.collect(), filled, versions: versions.collect(), named_at }
    }

    /// Reports what files name beside pins and beside the versions of other charts, and those that cannot be read.
    pub fn report(
        &self,
        context: &Context<'_>,
        named: &[RepoPath],
        found: &mut Found,
        skipped: &mut Vec<Skipped>,
    ) {
        // What it fills is read where the values stand.
        found.pins.retain(|pin| !(is_variable(pin) && self.fills(pin)));
        let named: BTreeSet<&RepoPath> = named.iter().chain(&self.filled).collect();
        let siblings = Siblings::of(context.files, &found.pins);
        let told: HashSet<RepoPath> = skipped.iter().map(|skip| skip.path.clone()).collect();
        for path in named.iter().copied().chain(self.unread.keys().filter(|path| !named.contains(path))) {
            let Ok(source) = context.files.file(path.as_str()) else { continue };
            let file = TextFile { path, blob: source.blob, text: &source.text, sealed: false };
            let own: Vec<Pin> = found.of_file(path).cloned().collect();
            let Some(why) = self.unread.get(path) else {
                let is_version = |pin: &Pin| self.versions.contains(&(path.clone(), pin.site.span.start));
                let mut told = other::in_code(
                    &file,
                    own.iter().map(|pin| pin.site.span.clone()).collect(),
                    &siblings.names(path),
                );
                told.pins.retain(|pin| !is_version(pin));
                told.report(&mut found.pins, skipped);
                continue;
            };
            let (reason, detail) = (self.reason, Some(why.clone()));
            let versions = other::unmarked_releases(&source.text, &own);
            // What it only takes in may be read in another way, and need not name a release.
            if !named.contains(path) && (versions.is_empty() || told.contains(path)) {
                continue;
            }
            skipped.push(Skipped { path: path.clone(), reason, detail, versions });
        }
    }

    /// Tells whether an object has a text in the place of the variable that a pin is: what `file` hands on is no template.
    fn fills(&self, pin: &Pin) -> bool {
        let at = |byte: usize| (pin.path.clone(), byte);
        self.named_at.range(at(pin.site.span.start)..at(pin.site.span.end)).next().is_some()
    }
}

/// Tells whether a variable stands for the version of a chart, `${version}`, which somebody fills before it is deployed.
fn is_variable(pin: &Pin) -> bool {
    use PinKind::{ArgoApplication, ArgoApplicationset, FluxHelmRelease};
    let is_of_object = matches!(pin.kind, ArgoApplication | ArgoApplicationset | FluxHelmRelease);
    is_of_object && pin.form == Form::Opaque && pin.value.contains("${") && !pin.value.contains("${{")
}
