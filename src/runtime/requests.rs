//! What is asked of the deck, and what came of it.

use super::*;

impl Runtime {
    /// What a tape of this app says of itself, at this tick.
    pub(crate) fn header(&self, world: &World, tick: u64) -> Header {
        let clock = world.resource::<Time<Fixed>>();
        let specs = |specs: &mut dyn Iterator<Item = (&Arc<str>, &Arc<bevy_replay_tape::Schema>)>| {
            specs.map(|(name, schema)| TypeSpec { name: name.to_string(), schema: schema.clone() }).collect()
        };
        let mut header = Header::new(&*self.settings.game);
        header.rules = self.settings.rules;
        header.game_version.clone_from(&self.settings.version);
        header.bevy_version = crate::BEVY_VERSION.into();
        header.features.extend(cfg!(feature = "libm").then(|| "libm".into()));
        header.timestep_ns = nanos(clock.timestep());
        header.seed = world.get_resource::<crate::Seed>().map_or(self.settings.seed, |seed| seed.0);
        header.tick_first = tick;
        header.start = Start::Gate;
        header.root_interval = self.settings.digest_interval.max(1);
        #[cfg(feature = "plan")]
        header.plans.extend(self.registry.plans_on_tape(world));
        header.tracks = self.registry.tracks.iter().map(|track| track.spec().clone()).collect();
        header.lanes = specs(&mut self.capturer.image.lanes.iter().map(|lane| (&lane.name, &lane.schema)));
        header.resources = specs(&mut self.capturer.image.resources.iter().map(|state| (&state.name, &state.schema)));
        header
    }

    /// The header of a recording that begins with the running tick.
    pub(super) fn header_from(&self, world: &World, tick: u64) -> Header {
        let mut header = self.header(world, tick);
        header.start = if tick == 0 { Start::Gate } else { Start::Image };
        header.timestep_ns = timestep_ns(world);
        header.elapsed_ns = nanos(world.resource::<Time<Fixed>>().elapsed()).saturating_sub(header.timestep_ns);
        header
    }

    /// Returns why a tape would be refused.
    pub(crate) fn refusals(
        &self,
        world: &World,
        tape: &Tape,
        app: &Header,
        options: PlayOptions,
    ) -> Vec<HeaderDifference> {
        let mut refused = tape.header.differences(app);
        refused.retain(|row| row.refused);
        #[cfg(feature = "plan")]
        refused.retain(|row| !self.registry.can_load(world, &tape.header, row));
        #[cfg(not(feature = "plan"))]
        let _ = world;
        if options.inputs_only {
            refused.retain(|row| match row.field.split_once(' ') {
                Some(("input", field)) => field.split('.').next().is_some_and(|name| tape.track(name).is_some()),
                Some(("plan", _)) => true, // inputs of another plan mean nothing
                _ => matches!(row.field.as_str(), "game" | "timestep"),
            });
        }
        if options.keep_clock {
            refused.retain(|row| row.field != "timestep");
        }
        refused
    }

    pub(super) fn carry_out(&mut self, world: &mut World, tick: u64, request: Request) -> Result<(), DeckError> {
        match request {
            #[cfg(feature = "file")]
            Request::RecordTo(path) => {
                match &self.recorder {
                    Some(recorder) if recorder.tape.end.tick_count > 0 || recorder.has_file() => {
                        return Err(DeckError::Busy);
                    }
                    _ => self.carry_out(world, tick, Request::Record)?,
                }
                // Where there can be no file the recording goes on in memory.
                if let Some(recorder) = &mut self.recorder {
                    recorder.write_to(&path)?;
                }
            }
            Request::Record if self.leaves_no_trace => {}
            Request::Record => {
                match &self.recorder {
                    Some(recorder) if recorder.tape.end.tick_count == 0 => return Ok(()), // asked for twice
                    Some(_) => return Err(DeckError::Busy),
                    None => {}
                }
                if timestep_ns(world) == 0 {
                    return Err(DeckError::TickWithoutLength);
                }
                self.capturer.capture(world, &mut self.registry, tick)?;
                let initial = self.capturer.image.clone();
                let header = self.header_from(world, tick);
                let mut recorder = Recorder::new(header, initial, self.settings.detail, self.settings.limits);
                for (index, source) in self.registry.tracks.iter().enumerate() {
                    if let Some(seen) = source.last_seen() {
                        recorder.input_before(index, tick, seen);
                    }
                }
                if self.settings.rewind && self.playback.is_none() {
                    self.begin_history(core::iter::empty());
                }
                self.capturer.keep_before(recorder.keeps_values());
                self.recorder = Some(recorder);
                if self.playback.is_none() {
                    self.restart_trace();
                }
            }
            Request::Play(tape, options) => {
                if self.playback.is_some() {
                    return Err(DeckError::Busy);
                }
                if tape.header.start == Start::Image && tape.initial.is_none() {
                    return Err(DeckError::NoInitialState { tick: tape.header.tick_first });
                }
                if tape.header.start == Start::Gate && tick != 0 {
                    return Err(DeckError::NotAtStart { tick });
                }
                let header = self.header(world, tick);
                let differences = self.refusals(world, &tape, &header, options);
                if !differences.is_empty() && !options.force {
                    return Err(DeckError::Refused { differences });
                }
                self.forced = !differences.is_empty();
                #[cfg(feature = "plan")]
                let (plans, header) = (self.registry.load_plans(world, &tape)?, self.header(world, tick));
                self.claimed = Some(BTreeMap::new());
                let tape = self.resolve(tape, &header)?;
                #[cfg(feature = "plan")]
                self.resolved.extend(plans);
                if let (Start::Image, Some(image)) = (tape.header.start, &tape.initial) {
                    self.put_back(world, image, &RowOrder::default())?;
                } else {
                    self.capturer.capture(world, &mut self.registry, tick)?;
                }
                self.restart_trace();
                let initial = self.capturer.image.clone();
                if options.compares() {
                    let verifier = Verifier::new(tape.clone(), &header, &initial);
                    self.verifier = Some(verifier);
                }
                if !options.forget {
                    self.begin_history(tape.marks.iter().map(|mark| mark.tick));
                }
                self.is_held = options.hold;
                world.resource_mut::<Deck>().transport.has_doubted = false;
                self.initial = Some(initial);
                self.push_branch(world, &tape, None, tape.header.tick_first);
                self.playback = Some(Playback::new(world, tape, options.keep_clock));
                let tick = world.resource::<SimTick>().0;
                if tick > 0 {
                    self.resume_inputs(world, tick);
                }
                if self.verifier.as_ref().is_some_and(|verifier| verifier.comparison.divergence().is_some()) {
                    self.tell_divergence(world);
                }
            }
            Request::Stop => {
                self.end_recording(world, EndReason::Stopped);
                self.end_playback(world);
            }
            Request::SaveFlight => self.save_flight(world)?,
            Request::TakeOver => self.take_over(world, tick)?,
            Request::Edit { name, tick, bytes } => {
                let playback = self.playback.as_ref().ok_or(DeckError::NoTape)?;
                let track = playback.tape.track(&name);
                track.ok_or_else(|| DeckError::NoSuchInput { name: name.clone() })?;
                let ticks = playback.tape.ticks();
                if !ticks.contains(&tick) {
                    return Err(DeckError::NotOnTape { tick, first: ticks.start, end: ticks.end });
                }
                self.edit = Some(Edit { name, tick, bytes });
                world.resource_mut::<Deck>().seek(tick);
            }
            Request::SwitchTo(index) => self.switch_to(world, tick, index)?,
            Request::Mark(text) => {
                self.recorder.as_mut().ok_or(DeckError::NotRecording)?.mark(tick, text);
                self.pin(tick);
            }
            Request::Claim(name, value) => match (&mut self.recorder, &mut self.claimed) {
                (Some(recorder), _) => recorder.claim(name, value),
                (None, Some(claimed)) => drop(claimed.insert(name, value)),
                (None, None) => return Err(DeckError::NotRecording),
            },
        }
        Ok(())
    }

    /// Reads the tape of an older game as one of this game.
    pub(super) fn resolve(&mut self, tape: Arc<Tape>, header: &Header) -> Result<Arc<Tape>, DeckError> {
        let default = |name: &str| {
            let source = self.registry.tracks.iter().find(|source| source.spec().name == name);
            source.and_then(|source| source.default())
        };
        let resolved = tape.resolved(header, default);
        let resolved = resolved.map_err(|error| DeckError::NotConvertible { reason: error.to_string() })?;
        let Some(resolved) = resolved else {
            self.resolved.clear();
            return Ok(tape);
        };
        resolved.notes.iter().for_each(|note| tracing::warn!("the tape is of an older game: {note}"));
        self.resolved = resolved.notes;
        Ok(Arc::new(resolved.tape))
    }

    pub(super) fn flight(&self) -> Option<MutexGuard<'_, Flight>> {
        self.flight.as_ref()?.lock().ok()
    }

    /// Has the flight recorder take this tick.
    pub(super) fn begin_flight(&mut self, world: &World, tick: u64) {
        if self.flight.is_none() {
            return;
        }
        let timestep_ns = timestep_ns(world);
        let Some(begins) = self.flight().map(|flight| flight.begins_part(timestep_ns)) else { return };
        if begins && timestep_ns > 0 && self.capturer.capture(world, &mut self.registry, tick).is_ok() {
            let header = self.header_from(world, tick);
            let image = self.capturer.image.clone();
            if let Some(mut flight) = self.flight() {
                flight.begin_part(header, image);
            }
            let last: Vec<Option<Vec<u8>>> =
                self.registry.tracks.iter().map(|source| source.last_seen().map(<[u8]>::to_vec)).collect();
            if let Some(mut flight) = self.flight()
                && let Some(part) = flight.part()
            {
                for (index, seen) in last.iter().enumerate().filter_map(|(i, seen)| Some((i, seen.as_ref()?))) {
                    part.input_before(index, tick, seen);
                }
            }
        }
        if let Some(mut flight) = self.flight()
            && let Some(part) = flight.part()
        {
            part.begin_tick(tick, timestep_ns);
        }
    }

    /// Saves what the flight recorder has.
    pub(super) fn save_flight(&mut self, world: &mut World) -> Result<(), DeckError> {
        let tape = self.flight().and_then(|flight| flight.tape(EndReason::Stopped));
        let tape = Arc::new(tape.ok_or(DeckError::NoFlight)?);
        world.resource_mut::<Deck>().tape = Some(tape.clone());
        #[cfg(feature = "file")]
        {
            let folder = self.flight().and_then(|flight| flight.folder().map(std::path::Path::to_owned));
            if let (Some(folder), Some(initial)) = (folder, &tape.initial) {
                let name = flight::file_stem(&tape.header.game);
                flight::prune(&folder, &tape.header.game, true);
                let mut writer =
                    crate::deck::file::TapeWriter::begin_named(&folder.join(""), &name, &tape.header, initial)?;
                writer.finish(tape.clone());
                self.writers.push(writer);
            }
        }
        Ok(())
    }

    /// Adds what the world knows of a divergence.
    pub(super) fn annotate(&mut self, world: &mut World, tick: u64) {
        let Some(playback) = &self.playback else { return };
        if playback.tape.header.start == Start::Image {
            let suspects = coverage::suspects(world, self);
            self.findings.push(format!("the tape begins in the middle of a game: state not in the image{suspects}"));
        }
        let Self { verifier: Some(verifier), playback: Some(playback), registry, .. } = self else { return };
        verifier.comparison.annotate(|found| {
            found.inputs = playback.tape.inputs_text(tick);
            found.names = names(world, found.sim_ids());
            name_writers(found, world, registry);
        });
    }

    pub(super) fn tell_divergence(&mut self, world: &World) {
        let (Some(verifier), Some(playback)) = (&self.verifier, &self.playback) else { return };
        let ticks = playback.tape.tick_count();
        let report = self.report(world, verifier.comparison.clone().finish(ticks, ticks), &playback.tape);
        self.events.push(Told::Diverged(Box::new(Diverged { report })));
        self.flight_is_due = self.flight.is_some();
    }

    /// Completes a report with what only the app knows.
    pub(crate) fn report(&self, world: &World, mut report: Report, tape: &Tape) -> Report {
        report.tape = tape.header.origin();
        report.replayed_by = self.header(world, 0).origin();
        report.notes.extend_from_slice(&self.capturer.notes);
        report.notes.extend_from_slice(&self.findings);
        report.notes.extend_from_slice(&self.resolved);
        if tape.end.reason == EndReason::Unfinished {
            report.notes.push(format!("the tape is unfinished: its recorder died after {} ticks", tape.tick_count()));
        }
        if self.forced {
            report.verdict = Verdict::Unverified;
        }
        report
    }

    pub(crate) fn end_recording(&mut self, world: &mut World, reason: EndReason) {
        let Some(mut recorder) = self.recorder.take() else { return };
        self.capturer.keep_before(false);
        // What the last tick said of the run still belongs to it.
        let mut deck = world.resource_mut::<Deck>();
        for request in core::mem::take(&mut deck.requests) {
            match request {
                Request::Mark(text) => recorder.mark(recorder.tape.ticks().end, text),
                Request::Claim(name, value) => recorder.claim(name, value),
                other => deck.requests.push(other),
            }
        }
        #[cfg(feature = "file")]
        let tape = {
            let (tape, writer) = recorder.finish(reason);
            self.writers.extend(writer);
            tape
        };
        #[cfg(not(feature = "file"))]
        let tape = recorder.finish(reason);
        let at = self.branch_at.take();
        if at.is_some() || self.history.is_some() {
            let (parent, at) = at.map_or((None, tape.header.tick_first), |(parent, at)| (Some(parent), at));
            deck.branches.push(Branch { tape: tape.clone(), parent, at });
        }
        if self.playback.is_none() {
            self.history = None;
        }
        deck.tape = Some(tape.clone());
        deck.state = DeckState::Idle;
        self.events.push(Told::RecordingEnded(RecordingEnded { reason, tape }));
    }

    /// Returns whether a recording goes into a file, or a file is being finished.
    #[cfg(feature = "file")]
    pub(super) fn has_files(&self) -> bool {
        !self.writers.is_empty() || self.recorder.as_ref().is_some_and(Recorder::has_file)
    }

    /// Tells what became of files, and hands ticks over while the game pauses.
    #[cfg(feature = "file")]
    pub(super) fn tend_files(&mut self, world: &mut World) {
        if let Some(reason) = self.recorder.as_mut().and_then(Recorder::idle) {
            self.end_recording(world, reason);
        }
        for mut writer in core::mem::take(&mut self.writers) {
            match writer.outcome() {
                None => self.writers.push(writer),
                Some(Outcome::Failed(error)) => self.refuse(world, error),
                Some(Outcome::Saved { path, size_bytes }) => {
                    world.resource_mut::<Deck>().saved = Some(path.clone());
                    self.events.push(Told::Saved(crate::deck::RecordingSaved { path, size_bytes }));
                }
            }
        }
    }

    /// Ends a replay: complete, or cut short.
    pub(crate) fn end_playback(&mut self, world: &mut World) {
        self.tell_finished(world);
        let Some(playback) = self.playback.take() else { return };
        playback.finish(world, &mut self.registry);
        #[cfg(feature = "plan")]
        self.registry.release_plans(world);
        self.let_go(world);
        if let Some(mut flight) = self.flight() {
            flight.clear(); // the clock is another now
        }
        self.history = None;
        let mut deck = world.resource_mut::<Deck>();
        (deck.state, deck.is_replaying) = (DeckState::Idle, false);
    }

    /// The tape has ended, and stays in the deck.
    pub(super) fn reach_end(&mut self, world: &mut World) {
        self.tell_finished(world);
        world.resource_mut::<Time<Fixed>>().discard_overstep(Duration::MAX);
        let transport = &mut world.resource_mut::<Deck>().transport;
        transport.is_at_end = true;
        transport.end_frame();
        if self.branch_at.is_some() && self.recorder.is_some() {
            // An edited tape was played to its end: what came of it is the tape now.
            let history = self.history.take();
            self.end_recording(world, EndReason::Stopped);
            self.history = history;
            if let (Some(playback), Some(tape)) = (&mut self.playback, &world.resource::<Deck>().tape) {
                playback.tape = tape.clone();
            }
        }
    }

    /// Tells what a replay has found, once.
    pub(super) fn tell_finished(&mut self, world: &mut World) {
        let (Some(playback), Some(verifier)) = (&self.playback, self.verifier.take()) else { return };
        let played = verifier.next - playback.tape.header.tick_first;
        let mut report = self.report(world, verifier.comparison.finish(played, played), &playback.tape);
        let count = playback.tape.tick_count();
        if played < count {
            report.notes.push(format!("stopped after {played} of {count} ticks"));
            if report.is_verified() {
                report.verdict = Verdict::Unverified;
            }
        }
        world.resource_mut::<Deck>().report = Some(report.clone());
        self.events.push(Told::ReplayFinished(Box::new(ReplayFinished { report })));
    }

    pub(crate) fn refuse(&mut self, world: &mut World, error: DeckError) {
        tracing::error!("{error}");
        world.resource_mut::<Deck>().error = Some(error.clone());
        self.events.push(Told::Refused(DeckRefused { error }));
    }

    /// Shows in the deck what it is doing.
    pub(super) fn show_state(&self, world: &mut World, tick: u64) {
        let state = self.deck_state(tick);
        let mut deck = world.resource_mut::<Deck>();
        deck.state = state;
        deck.is_replaying = self.playback.is_some();
    }

    pub(super) fn deck_state(&self, tick: u64) -> DeckState {
        if let Some(recorder) = &self.recorder {
            return DeckState::Recording {
                tick_count: recorder.tape.end.tick_count,
                size_bytes: recorder.size_bytes(),
            };
        }
        match &self.playback {
            Some(playback) => DeckState::Replaying {
                tick_count: tick.saturating_sub(playback.tape.header.tick_first),
                tick_count_max: playback.tape.tick_count(),
            },
            None => DeckState::Idle,
        }
    }
}
