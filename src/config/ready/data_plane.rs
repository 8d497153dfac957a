//! What becomes of proxies: pins, restarts and waves.

use super::{Conversion, values, word};
use crate::{
    config::{
        DataPlane, ProxyPins,
        raw::{Raw, RawWave},
    },
    plan::Wave,
};

impl Conversion<'_> {
    pub(super) fn data_plane(&mut self, raw: &Raw) -> DataPlane {
        let default = DataPlane::default();
        let pins = match word(&raw.data_plane_pins) {
            Some("ignore") => ProxyPins::Ignore,
            _ => ProxyPins::Follow,
        };
        let restarts = word(&raw.data_plane_restart) == Some("opt-in");
        if let (ProxyPins::Ignore, false, Some(after)) = (pins, restarts, &raw.data_plane_after) {
            let reason = "`dataPlane.after` has no effect, since `dataPlane.pins` is `ignore`";
            self.add(after, "dataPlane.after", reason, "remove one of the two");
        }
        DataPlane {
            pins,
            restarts,
            waves: self.waves(&raw.waves),
            after: self
                .value(&raw.data_plane_after, "dataPlane.after", values::duration)
                .unwrap_or(default.after),
            control_plane: self.value(&raw.control_plane, "dataPlane.controlPlane", values::edge),
        }
    }

    fn waves(&mut self, raw: &[RawWave]) -> Vec<Wave> {
        const KEY: &str = "dataPlane.waves[]";
        let mut names: Vec<String> = Vec::new();
        for wave in raw {
            self.required(&wave.name, &wave.span, "dataPlane.waves[].name", "the wave");
            if let Some(name) = &wave.name {
                let folded = name.value.to_lowercase();
                if names.contains(&folded) {
                    let reason = format!("two waves are called `{}`", name.value);
                    self.add(name, "dataPlane.waves[].name", reason, "rename one of them");
                }
                names.push(folded);
            }
            if [&wave.paths, &wave.namespaces, &wave.labels]
                .iter()
                .all(|words| words.iter().flatten().count() == 0)
            {
                let hint = "name `paths`, `namespaces` or `labels`; what is in no wave moves last";
                self.mistakes.add(wave.span.clone(), KEY, "nothing says what is in this wave", hint);
            }
        }
        raw.iter().map(|wave| self.wave(wave)).collect()
    }

    fn wave(&mut self, raw: &RawWave) -> Wave {
        const NAMESPACES: &str = "dataPlane.waves[].namespaces";
        let namespaces = self.values(&raw.namespaces, NAMESPACES, values::namespaces);
        let set = self.glob_set(namespaces, &raw.namespaces, NAMESPACES);
        Wave {
            name: self.value(&raw.name, "dataPlane.waves[].name", values::name).unwrap_or_default(),
            paths: raw.paths.as_ref().map(|_| self.globs(&raw.paths, "dataPlane.waves[].paths")),
            namespaces: raw.namespaces.as_ref().map(|_| set),
            labels: self.values(&raw.labels, "dataPlane.waves[].labels", values::label),
            soak: self.value(&raw.soak, "dataPlane.waves[].soak", values::duration).unwrap_or_default(),
        }
    }
}
