//! A body's content in which every text from outside is one text.

use uplinker::{
    explain::content::*, linkerd::EdgeVersion, pins::Stage, release::notes::Weight, verify::CheckId,
};

/// The release that it goes to.
pub fn release() -> EdgeVersion {
    "edge-26.8.3".parse().expect("a release")
}

/// Fills every field that comes from a repository, a chart, a release's notes, an advice or an operator.
pub fn filled_with(text: &str) -> Content {
    let own = || text.to_owned();
    let some = || Some(text.to_owned());
    let statement = |check| Statement { check, place: some(), reason: own(), hint: some() };
    let version = || release().to_string();
    Content {
        target: own(),
        stage: Stage::Platform,
        from: vec!["edge-26.8.2".into()],
        to: version(),
        towards: Some("edge-26.8.9".into()),
        hop_reason: own(),
        published: Some("2026-08-21".into()),
        pins: 1,
        rows: vec![Row { what: own(), chart: true, from: own(), to: some(), places: vec![own()] }],
        blocks: vec![statement(CheckId::Parses)],
        warnings: vec![statement(CheckId::Order)],
        infos: vec![statement(CheckId::Guidance)],
        stays: vec![Stays { reason: "held".into(), why: "held by a comment", pins: vec![(own(), own())] }],
        cluster: cluster(text),
        upstream: upstream(text),
        next: next(text),
        configuration: some(),
        ..Content::default()
    }
}

fn cluster(text: &str) -> Cluster {
    let own = || text.to_owned();
    let some = || Some(text.to_owned());
    let known =
        || Known { until: "2030-01-01".into(), subject: own(), fingerprint: "ab:cd".into(), place: own() };
    let field = || Field { path: own(), before: some(), after: some() };
    let changed = Changed { object: own(), fields: vec![field()], version_fields: 1, reordered: vec![own()] };
    Cluster {
        charts: vec![ChartChange {
            chart: own(),
            from: own(),
            to: own(),
            places: vec![own()],
            committed: false,
            objects: 3,
            changed: 1,
            added: vec![own()],
            removed: vec![own()],
            fields: 2,
            version_fields: 1,
            beyond: own(),
            objects_changed: vec![changed],
        }],
        images: vec![ImageChange {
            image: own(),
            before: vec![own()],
            after: vec![own()],
            with_release: false,
        }],
        callouts: vec![Callout { topic: "rbac", fields: 1, objects: vec![own()] }],
        restarts: vec![Restarts {
            chart: own(),
            workloads: vec![Restart {
                object: own(),
                replicas: Some(1),
                strategy: some(),
                every_node: false,
                times: 2,
            }],
        }],
        on_delete: vec![own()],
        certificates: Certificates {
            retained: vec![known()],
            replaced: vec![Replaced { place: own(), before: vec![known()], after: vec![known()] }],
            generated: 1,
            outside: 1,
        },
        defaults: vec![Statement {
            check: CheckId::DefaultsChanged,
            place: some(),
            reason: own(),
            hint: some(),
        }],
        missing: vec![Missing { chart: own(), place: own(), reason: own(), hint: own(), told: false }],
        uncovered: vec![own()],
        stand_ins: vec![own()],
        notes: vec![own()],
        packages: vec![own()],
        helm: Some("v3.19.0".into()),
        objects: 3,
        fields: 2,
        version_fields: 1,
    }
}

fn upstream(text: &str) -> Upstream {
    let own = || text.to_owned();
    let some = || Some(text.to_owned());
    let item =
        |weight| Item { release: "edge-26.8.3".into(), weight, text: own(), scope: some(), pull: Some(7) };
    Upstream {
        releases: vec![Passed {
            version: "edge-26.8.3".into(),
            published: Some("2026-08-21".into()),
            guidance: Some("with a condition".into()),
            note: some(),
            source: some(),
            items: vec![item(Weight::Feature), item(Weight::Other)],
            dependencies: 1,
            upkeep: 1,
            notes: true,
        }],
        breaking: vec![item(Weight::Breaking)],
        others: 2,
        dependencies: 1,
        upkeep: 1,
        without_notes: 1,
        advised: true,
        milestone_from: some(),
        milestone_to: some(),
        crossed: vec![own()],
        notices: vec![Told {
            release: "edge-26.8.3".into(),
            kind: own(),
            text: own(),
            condition: some(),
            source: own(),
            evidence: some(),
        }],
        untouched: 1,
        unread: some(),
    }
}

fn next(text: &str) -> Next {
    let own = || text.to_owned();
    let some = || Some(text.to_owned());
    Next {
        order_apart: true,
        order: vec![Step {
            chart: own(),
            name: own(),
            places: vec![own()],
            waits_for: Some(vec![own()]),
            wave: Some(1),
            applied_by: vec![own()],
        }],
        order_notes: vec![Statement { check: CheckId::Order, place: some(), reason: own(), hint: some() }],
        order_warned: true,
        skew: Skew { oldest: some(), milestone: some(), control_plane: some(), behind: Some(1) },
        proxy_pins: 1,
        one_way: vec![own()],
        crds_compared: true,
        crds_move: true,
        workloads: vec![Workload {
            place: own(),
            object: some(),
            effect: Effect::Restarts,
            replicas: Some(2),
            strategy: some(),
            gap: true,
            every_node: false,
        }],
    }
}
