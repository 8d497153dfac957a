//! Step 5, pins: what is deployed of a chart: its version, and the releases in its values.
//!
//! In: charts as any deployer has them rendered. Out: claims, and what the deployer says of the chart's order. Which keys
//! hold a version is `linkerd`'s to say.

use std::{borrow::Cow, collections::HashSet};

use super::{
    claims::Claims,
    foreign::By,
    pods::{Injection, injection},
    values::{Read, ReadBy, copied_at, table},
};
use crate::{
    deploy::{
        ChartRelease, Cluster, Deployer, Layer, Object, Part, Scalar,
        chart::{Repository, packaged},
        handed, kinds,
        model::{After, Asked},
    },
    linkerd,
    pins::{
        Deployment, PinKind, Reason, SkipReason, TagFilter, Versioned,
        context::Context,
        found::Spec,
        origin::{Origin, Ours, is_linkerds},
        other,
        under::{spans, under},
        version_text::{self, Expects, Judged},
    },
};

/// Takes a chart's version, and the releases in its values; `injected` says whether pods of its namespace are injected.
pub(super) fn take_release(
    context: &Context<'_>,
    release: &ChartRelease,
    kind: PinKind,
    injected: Injection,
    claims: &mut Claims,
) {
    if matches!(kind, PinKind::Terraform | PinKind::Helmfile | PinKind::Fleet) {
        claims.objects.extend(handed::objects(release, context.files));
        claims.local.extend(release.folder_in(context.files).map(|_| release.clone()));
    }
    take(context, release, kind, injected, claims);
}

/// Takes a chart that an object asks for.
pub(super) fn take_asked(context: &Context<'_>, asked: &Asked<'_>, claims: &mut Claims) {
    let Asked { release, deployer, object, after, cluster } = asked;
    let injected = home(release, cluster);
    let mut own = Claims::default();
    let ours = take(context, release, kind(*deployer), injected, &mut own);
    claims.append_release(own, release);
    let Some(ours) = ours else { return };
    // Of what it makes objects of, Terraform may know a part alone.
    let is_open = release.version.as_ref().is_some_and(|version| version.unknown_to().is_some());
    if is_open && other::class(&release.file) == other::Class::Terraform {
        claims.beyond.take_version(release, SkipReason::Terraform);
    }
    let is_ordered = object.is_some() || *deployer == Deployer::Kustomize;
    if let Some(line) = line(release, *object).filter(|_| is_ordered) {
        let of = |scalar: Option<&Scalar>| Some(scalar?.known()?.into_owned());
        let (depends_on, sync_wave) = match after {
            After::Unsaid => (None, None),
            After::DependsOn(names) => (Some(names.clone()), None),
            After::Wave(wave) => (None, Some(*wave)),
        };
        claims.deployments.push(Deployment {
            path: release.file.clone(),
            line,
            name: object.map_or_else(|| Some(ours.chart.clone()), |o| of(o.name())).unwrap_or_default(),
            namespace: object.map_or(of(release.namespace.as_ref()), |object| of(object.namespace())),
            chart: ours.chart,
            version: release
                .version
                .iter()
                .flat_map(spans)
                .map(|(path, at)| (path, at.start, at.end))
                .collect(),
            depends_on,
            sync_wave,
        });
    }
}

/// Takes the charts that a chart of the tree asks for in other clusters than one of today: nobody here knows whether there is one.
/// What nobody deploys, which its own file stands for, asks for none.
pub(super) fn take_elsewhere(
    context: &Context<'_>,
    of: &ChartRelease,
    objects: &[Object],
    claims: &mut Claims,
) {
    if of.file.name() == "Chart.yaml" {
        return;
    }
    let (mut own, cluster) = (Claims::default(), Cluster::new(objects));
    for object in objects {
        let Some((deployer, charts)) = kinds::charts(object, &cluster, context.files) else { continue };
        for release in &charts {
            take(context, release, kind(deployer), Injection::Open, &mut own);
        }
    }
    claims.append_not_followed(own);
}

/// Says whether pods of a chart's namespace are injected.
pub(super) fn home(release: &ChartRelease, cluster: &Cluster<'_>) -> Injection {
    let asks: Vec<_> = [&release.file].into_iter().chain(&release.by).collect();
    let namespace = release.namespace.as_ref().and_then(Scalar::known);
    namespace.map_or(Injection::Open, |name| injection(&name, &asks, cluster))
}

fn kind(deployer: Deployer) -> PinKind {
    match deployer {
        Deployer::HelmRelease => PinKind::FluxHelmRelease,
        Deployer::HelmChart => PinKind::FluxHelmChart,
        Deployer::OciRepository => PinKind::FluxOciRepository,
        Deployer::Application => PinKind::ArgoApplication,
        Deployer::ApplicationSet => PinKind::ArgoApplicationset,
        Deployer::Kustomize => PinKind::KustomizeHelmChart,
    }
}

/// Finds the line on which an object begins, or where there is none, on which the chart is named. One that Helm printed is
/// where its template begins.
fn line(release: &ChartRelease, object: Option<&Object>) -> Option<usize> {
    // Lists are long, and none comes before an object's kind and name.
    let of_object = |object: &Object| {
        let own = ["apiVersion", "kind"].map(|key| object.value.scalar(&[key])).into_iter().flatten();
        own.chain(object.name()).cloned().collect()
    };
    let scalars: Vec<Scalar> = object.map_or_else(|| vec![release.chart.clone()], of_object);
    let first = scalars.iter().flat_map(|scalar| scalar.parts()).filter_map(|part| match part {
        Part::Written(at) if at.source.path == release.file => Some(at),
        _ => None,
    });
    let printed = object.is_some_and(|object| object.file == release.file).then_some(1);
    let first = first.min_by_key(|at| at.span.start);
    first.map(|at| crate::yaml::position(&at.source.text, at.span.start).0).or(printed)
}

/// Takes version and values, and says whose chart it is.
fn take(
    context: &Context<'_>,
    release: &ChartRelease,
    kind: PinKind,
    injected: Injection,
    claims: &mut Claims,
) -> Option<Ours> {
    claims.versioned.extend(Versioned::of(release, context.files));
    let chart = release.chart.known();
    let ours = chart.as_ref().and_then(|chart| version(context, release, chart, kind, claims));
    let folder = release.folder();
    let copy = folder.as_ref().and_then(|folder| copied(context, release, folder));
    copy.iter().for_each(|copy| take_copied(copy, claims));
    // Which of Linkerd's charts it is may not be known.
    if chart.is_none() && Origin::of(&release.repository).is_edge(&context.options.mirrors) {
        release.version.iter().for_each(|version| claims.take_not_followed(version));
    }
    let by = match (copy.as_ref().map(|(copied, _)| copied).or(ours.as_ref()), &folder) {
        (Some(ours), _) => ReadBy::Ours(ours.clone()),
        (None, Some(folder)) => ReadBy::umbrella(context, folder),
        (None, None) => ReadBy::Other,
    };
    let namespace = release.namespace.as_ref().and_then(Scalar::known).map(Cow::into_owned);
    let version = copy.as_ref().map(|(_, version)| version).or(release.version.as_ref());
    let under = under(version, release.is_supposed);
    let from_elsewhere = !matches!(release.repository, Repository::Git(_));
    let is_foreign = matches!(by, ReadBy::Other) && chart.is_some() && from_elsewhere && !release.is_part;
    let mut read = Read { injected, namespace, under, is_foreign, ..Read::new(context, by) };
    match read.by {
        ReadBy::Other => read.take_images(release, claims),
        ReadBy::Ours(_) | ReadBy::Umbrella(_) => take_handed(release, claims),
    }
    match ours.as_ref().and_then(|ours| ours.stays) {
        // What another layer is laid over keeps nothing back for a chart of another channel.
        Some(Reason::Channel) => {
            let mut overlaid = Claims::default();
            release.layers.iter().for_each(|layer| take_layer(&read, layer, &mut overlaid));
            claims.append_overlaid(overlaid);
            read.take(&release.values().value, claims);
            release.secret.iter().for_each(|layer| take_layer(&read, layer, claims));
        }
        _ => {
            let mut own = Claims::default();
            release.layers.iter().for_each(|layer| take_layer(&read, layer, &mut own));
            if release.layers.len() > 1 {
                own.cover(&release.values().value);
            }
            release.secret.iter().for_each(|layer| take_layer(&read, layer, &mut own));
            claims.append(own);
        }
    }
    for layer in &release.layers {
        if let Layer::Values(values) = layer
            && is_foreign
        {
            claims.take_others_values(values, &release.file);
        }
    }
    let mut ignored = Claims::default();
    release.ignored.iter().for_each(|layer| take_layer(&read, layer, &mut ignored));
    claims.append_without_effect(ignored);
    ours
}

/// Takes what a dependency of a chart of the tree is given, which the chart's own values begin: only of all layers together is
/// it known which of them others are laid over.
pub(super) fn take_dependency(context: &Context<'_>, of: &ChartRelease, claims: &mut Claims) {
    let Some(ours) = Ours::of(of, &context.options.mirrors) else { return };
    let under = under(of.version.as_ref(), of.is_supposed);
    let mut own = Claims::default();
    for layer in &of.layers {
        if let Layer::Values(values) = layer {
            table(values, (&ours, &under), &mut HashSet::new(), &mut own);
        }
    }
    if of.layers.len() > 1 {
        own.cover(&of.values().value);
    }
    claims.append(own);
}

/// Takes a copy of one of Linkerd's charts that is rendered with a chart of the tree.
pub(super) fn take_copy(context: &Context<'_>, of: &ChartRelease, claims: &mut Claims) {
    let copy = of.folder().and_then(|folder| copied(context, of, &folder));
    copy.iter().for_each(|copy| take_copied(copy, claims));
}

fn take_copied((ours, version): &(Ours, Scalar), claims: &mut Claims) {
    let spec = Spec::platform(PinKind::Other, Expects::Chart).staying(Some(Reason::NotFollowed));
    claims.take(version, &ours.fill(spec));
}

/// Finds the copy of one of Linkerd's charts that is deployed from the tree, and the version that it was taken at: that is
/// what runs, and values move no further.
fn copied(context: &Context<'_>, release: &ChartRelease, folder: &str) -> Option<(Ours, Scalar)> {
    let of = |chart: &str| Ours::new(chart, None);
    // A package that lies in the tree has its version in its name.
    if let Some((name, _, Some(version))) = packaged(&release.chart)
        && linkerd::is_chart(&name.text())
    {
        return Some((of(&name.text()), version));
    }
    let is_copy = ReadBy::umbrella(context, folder).is_copy(context, folder);
    let chart = context.local_chart(folder).filter(|_| is_copy)?;
    Some((of(chart), copied_at(context, folder)?))
}

fn take_layer(read: &Read<'_>, layer: &Layer, claims: &mut Claims) {
    match layer {
        Layer::Values(values) => read.take(values, claims),
        Layer::Set(set) => {
            if let Some(name) = set.name.known() {
                read.take_single(&name, &set.value, claims);
            }
        }
        Layer::InChart { .. } | Layer::Outside { .. } => {}
    }
}

/// Takes the releases that come into the values of a chart of Linkerd's in a way that is not followed, under whatever key.
fn take_handed(release: &ChartRelease, claims: &mut Claims) {
    let texts = release.layers.iter().filter_map(|layer| match layer {
        Layer::Outside { text, .. } => text.as_ref(),
        _ => None,
    });
    for text in release.scalars().chain(texts) {
        claims.take_handed(text);
    }
}

fn is_called_as_ours(release: &ChartRelease) -> bool {
    release.release.known().is_some_and(|name| linkerd::is_chart(&name))
}

fn version(
    context: &Context<'_>,
    release: &ChartRelease,
    chart: &str,
    kind: PinKind,
    claims: &mut Claims,
) -> Option<Ours> {
    // kustomize does not look at the version of a chart that lies unpacked beside it.
    let unpacked = kind == PinKind::KustomizeHelmChart && matches!(release.repository, Repository::Git(_));
    let (chart, origin) = match unpacked {
        true => (chart.rsplit('/').next().unwrap_or(chart), Origin::Unknown),
        false => (chart, Origin::of(&release.repository)),
    };
    let judge = |version: Option<&Scalar>| {
        let text = version.and_then(Scalar::known).unwrap_or_default();
        Ours::judge(chart, &origin, &text, &context.options.mirrors)
    };
    let filter = release.filter.as_ref().map(|filter| TagFilter::new(&filter.text()));
    let spec = |ours: &Ours| {
        let spec = Spec::platform(kind, Expects::Chart).staying(unpacked.then_some(Reason::NoEffect));
        ours.fill(Spec { filter: filter.clone(), ..spec })
    };
    let ours = judge(release.version.as_ref());
    let digest = release.version.as_ref().is_some_and(|version| version.text().starts_with("sha256:"));
    for beside in &release.beside {
        // What stands beside a digest, or a range, is not what is taken.
        let reason = if digest { Reason::Digest } else { Reason::NoEffect };
        if let Some(ours) = judge(Some(beside)) {
            claims.take(beside, &ours.fill(Spec::platform(kind, Expects::Chart).staying(Some(reason))));
        }
    }
    match (&ours, &release.version) {
        (Some(ours), Some(version)) => claims.take(version, &spec(ours)),
        (Some(_), None) if unpacked || release.is_part || release.is_partial => {}
        (Some(ours), None) => claims.take_floating(&release.chart, &spec(ours)),
        // Linkerd's charts may be kept under other names; its releases are called as its charts are.
        (None, Some(version)) if is_called_as_ours(release) => claims.take_not_followed(version),
        (None, Some(version)) if !release.is_part => {
            let is_linkerds = matches!(&origin, Origin::Address(url) if is_linkerds(url));
            if is_linkerds && is_range(version) {
                let stays = (!origin.is_edge(&[])).then_some(Reason::Channel);
                claims.take(version, &Spec::platform(PinKind::Other, Expects::Chart).staying(stays));
            } else {
                claims.foreign.take(version, if is_linkerds { By::Mirror } else { By::Other });
            }
        }
        (None, _) => {}
    }
    ours
}

/// Tells whether a version leaves open which release of a chart is taken.
fn is_range(version: &Scalar) -> bool {
    let judged = version_text::judge(&version.text(), Expects::Chart);
    matches!(judged, Judged::Version(text) if text.stays == Some(Reason::Range))
}

#[cfg(test)]
mod tests {
    use crate::{
        deploy::testing::MemoryTree,
        pins::{PinKind, ScanOptions, scan},
    };

    #[test]
    fn a_copy_that_a_chart_takes_in_has_the_version_that_is_deployed() {
        let app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: mesh, namespace: argocd}\nspec:\n  source: {repoURL: https://git.example.com/a.git, path: mesh}\n  destination: {name: a, namespace: linkerd}\n";
        let chart = "name: mesh\nversion: 0.1.0\ndependencies:\n- {name: linkerd-control-plane, version: 2026.8.2, repository: file://../plane}\n- {name: linkerd-viz, version: 2026.8.2, repository: file://../viz, condition: viz.enabled}\n";
        let tree = MemoryTree::of(&[
            ("app.yaml", app),
            ("mesh/Chart.yaml", chart),
            ("mesh/values.yaml", "viz: {enabled: false}\n"),
            ("plane/Chart.yaml", "name: linkerd-control-plane\nversion: 2026.8.2\n"),
            ("plane/templates/a.yaml", "kind: ConfigMap\n"),
            ("viz/Chart.yaml", "name: linkerd-viz\nversion: 2026.8.2\n"),
            ("viz/templates/a.yaml", "kind: ConfigMap\n"),
        ]);
        let found = scan(&tree, &ScanOptions::default()).unwrap();
        let copies = found.pins().filter(|pin| pin.kind == PinKind::Other && pin.chart.is_some());
        let told: Vec<_> = copies.map(|pin| (pin.path.as_str(), pin.chart.as_deref())).collect();
        assert_eq!(told, [("plane/Chart.yaml", Some("linkerd-control-plane"))]);
    }
}
