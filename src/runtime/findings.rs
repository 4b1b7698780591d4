//! What a replay could not repeat is looked for at the borders, and told once.

use super::*;

impl Runtime {
    /// Warns if the schedules of the tick do not follow the order that was asked for.
    pub(super) fn check_order(&self, world: &World) {
        let followed = world.get_resource::<AmbiguousPairs>().is_some_and(|found| found.has_seen(&FixedUpdate));
        if self.settings.order != TickOrder::AsScheduled && !followed {
            tracing::warn!(
                "`FixedUpdate` was replaced after `ReplayPlugin` was added, so the order of its systems is not fixed \
                 (add `ReplayPlugin` last, or use `edit_schedule` instead of `add_schedule`)"
            );
        }
    }

    /// Looks for what a tick must not leave behind, nor read.
    pub(super) fn check_border(&mut self, world: &mut World, tick: u64) {
        self.check_sim_ids(world, tick);
        if self.settings.guard == Guard::Off {
            return;
        }
        if self.delayed.count(world) > self.delayed_before {
            self.tell(Finding::DelayedCommands { tick });
        }
        for schedule in self.awaited.there(world).collect::<Vec<_>>() {
            if world.resource::<order::BuildSettings>().order != TickOrder::AsScheduled {
                self.tell(Finding::AddedInside { tick, schedule: format!("{schedule:?}") });
            }
        }
        let reads = world.get_resource_mut::<TickReads>();
        if reads.as_ref().is_some_and(|reads| !reads.frame_clocks.is_empty()) {
            let found = reads.map(|mut reads| core::mem::take(&mut reads.frame_clocks)).unwrap_or_default();
            for FrameClockRead { system, clock } in found {
                self.tell(Finding::FrameClockRead { system, clock });
            }
        }
    }

    /// Looks for entities that live on without the sim id they had, or with another.
    ///
    /// What was drawn for entities that are gone goes with them.
    pub(super) fn check_sim_ids(&mut self, world: &mut World, tick: u64) {
        let taken = world.resource::<SimIds>().taken();
        let gone: Vec<u64> = taken.iter().map(|(id, _)| *id).collect();
        for stream in &self.registry.streams {
            if let Some(mut streams) = (stream.streams)(world) {
                streams.bypass_change_detection().end_tick(&gone); // bookkeeping, no change of the state
            }
        }
        for (id, entity) in taken {
            if world.get_entity(entity).is_ok_and(|entity| entity.get::<SimId>() != Some(&SimId(id))) {
                self.tell(Finding::SimIdRemoved { tick, id, entity });
            }
        }
    }

    /// Looks for authoritative state that was written since the last tick.
    pub(super) fn guard(&mut self, world: &mut World, tick: u64) {
        let Some(since) = self.captured_at.filter(|_| self.capturer.image.tick == tick) else { return };
        if self.settings.guard == Guard::Full && self.hand_run.ran_since(world) {
            self.tell(Finding::RunByHand { tick });
        }
        match self.settings.guard {
            Guard::Off => {}
            Guard::Ticks => self.guard_by_ticks(world, tick, since),
            Guard::Full => self.guard_by_values(world, tick),
        }
    }

    /// Empties derived state and has it rebuilt, where that is wanted.
    pub(super) fn clear_derived(&self, world: &mut World) {
        if self.clears_derived {
            for derived in &self.registry.derived {
                (derived.clear)(world);
                if let Some(rebuild) = derived.rebuild
                    && let Err(error) = world.run_system(rebuild)
                {
                    tracing::error!("derived state could not be rebuilt: {error}");
                }
            }
        }
    }

    pub(super) fn guard_by_ticks(&mut self, world: &World, tick: u64, since: Tick) {
        let mut found = Vec::new();
        let mut note = |name: &str, sim_id: Option<u64>, writer: Option<String>| {
            let type_name = name.to_owned();
            found.push(Finding::WrittenOutside { tick, type_name, sim_id, difference: None, writer });
        };
        for lane in &mut self.registry.lanes {
            if let Some((id, writer)) = lane.written_since(world, since) {
                note(&lane.spec().name, Some(id), writer);
            }
        }
        for resource in &self.registry.resources {
            if let Some(writer) = resource.written_since(world, since) {
                note(&resource.spec().name, None, writer);
            }
        }
        found.into_iter().for_each(|finding| self.tell(finding));
    }

    pub(super) fn guard_by_values(&mut self, world: &mut World, tick: u64) {
        if self.look(world).is_err() || self.looker.digest.root == self.capturer.digest.root {
            return; // two entities with one sim id are reported at the end of the tick
        }
        for row in self.capturer.image.diff(&self.looker.image) {
            if self.is_settled(&(true, row.type_name.clone())) {
                continue; // before anything is looked up: a type may be written in each frame
            }
            let writer = writer(world, &self.registry, &row, self.captured_at);
            let (type_name, sim_id) = (row.type_name.clone(), row.sim_id);
            self.tell(Finding::WrittenOutside { tick, type_name, sim_id, difference: Some(row), writer });
        }
    }

    /// Tells a finding, each kind once per type.
    pub(super) fn tell(&mut self, finding: Finding) {
        let key = finding.key();
        if self.is_settled(&key) {
            return;
        }
        self.found.insert(key);
        tracing::warn!("{finding}");
        self.findings.push(finding.to_string());
        self.events.push(Told::Found(Box::new(finding)));
    }

    /// Whether findings of that kind are told already, or not wanted.
    pub(super) fn is_settled(&self, key: &(bool, String)) -> bool {
        (key.0 && self.registry.is_unguarded(&key.1)) || self.found.contains(key)
    }

    /// Most rows each lane had in a captured image.
    pub(crate) fn rows_max(&self) -> impl Iterator<Item = usize> {
        self.capturer.rows_max.iter().zip(&self.looker.rows_max).map(|(a, b)| *a.max(b))
    }
}
