//! Going back and forth on a tape.

use super::*;

impl Runtime {
    /// Begins to keep states, from the one that was just captured.
    pub(super) fn begin_history(&mut self, marks: impl Iterator<Item = u64>) {
        let Capturer { image, .. } = &self.capturer;
        let (order, budget) = (self.capturer.row_order(), self.settings.keyframe_bytes);
        self.history = Some(History::new(image.clone(), order, budget, marks));
        (self.after_run_up, self.unfaithful_at) = (None, None);
    }

    /// Keeps the captured state where it is due, and looks whether a part that is played again is the same.
    pub(super) fn remember(&mut self, world: &mut World, tick: u64) {
        if let Some((image, order)) = self.after_run_up.take_if(|(image, _)| image.tick == tick + 1)
            && let Err(error) = restore::restore(world, &mut self.registry, &mut self.capturer, &image, &order)
        {
            tracing::error!("after a jump: {error}");
            self.unfaithful_at.get_or_insert(tick);
        }
        let Some(history) = self.history.as_mut().filter(|_| self.after_run_up.is_none()) else { return };
        history.needs_run_up.get_or_insert_with(|| !coverage::carried_messages(world).is_empty());
        let capturer = &self.capturer;
        // What comes after a part that was not the same is no first time to compare with.
        let is_known = tick < history.played();
        if (self.unfaithful_at.is_some() && !is_known)
            || !history.end_tick(&capturer.image, capturer.digest.root, || capturer.row_order())
        {
            self.unfaithful_at.get_or_insert(tick);
        }
    }

    /// Puts the state back that was kept at a tick; that tick runs next.
    pub(crate) fn jump(&mut self, world: &mut World, tick: u64) -> Result<(), RestoreError> {
        let Some(point) = self.history.as_ref().and_then(|history| history.jump_point(tick)) else { return Ok(()) };
        if let Err(error) = self.put_back(world, &point.image, &point.order) {
            self.end_playback(world); // the world is half of this and half of that
            return Err(error);
        }
        self.after_run_up = point.after_run_up;
        self.resume_inputs(world, tick);
        Ok(())
    }

    /// Puts a state into the world.
    pub(super) fn put_back(&mut self, world: &mut World, image: &Image, order: &RowOrder) -> Result<(), RestoreError> {
        if let Some(mut flight) = self.flight() {
            flight.clear();
        }
        restore::restore(world, &mut self.registry, &mut self.capturer, image, order)?;
        world.resource_mut::<SimTick>().0 = image.tick;
        self.captured_at = Some(world.increment_change_tick());
        self.hand_run.end_tick(world);
        #[cfg(feature = "inspector")]
        if let Some(trace) = &mut self.trace {
            trace.stand_at(&self.capturer.image);
        }
        Ok(())
    }

    /// Has clock and inputs go on at a tick of the tape.
    pub(super) fn resume_inputs(&mut self, world: &mut World, tick: u64) {
        let Self { registry, playback: Some(playback), .. } = self else { return };
        playback.go_to(world, tick);
        let Header { tick_first, start, .. } = playback.tape.header;
        for source in &mut registry.tracks {
            let last = tick.checked_sub(1).map_or(From::Nothing, |last| playback.input(&source.spec().name, last));
            source.resume(world, last);
            if tick == tick_first && start == Start::Gate {
                source.start();
            }
        }
    }

    /// Where the tape ends, if it stays in the deck.
    pub(crate) fn held_end(&self) -> Option<u64> {
        self.playback.as_ref().filter(|_| self.is_held).map(|playback| playback.tape.ticks().end)
    }

    /// Keeps the state at a tick if possible: one comes back to it.
    pub(crate) fn pin(&mut self, tick: u64) {
        if let Some(history) = &mut self.history {
            history.pin(tick);
        }
    }

    pub(crate) fn mark_tick(&self, index: usize) -> Option<u64> {
        let recorded = self.recorder.as_ref().map(|recorder| &recorder.tape);
        let tape = self.playback.as_ref().map(|playback| &*playback.tape).or(recorded)?;
        tape.marks.get(index).map(|mark| mark.tick)
    }

    pub(crate) fn clamp_to_tape(&self, tick: u64) -> u64 {
        let ticks = self.playback.as_ref().map(|playback| playback.tape.ticks());
        ticks.map_or(tick, |ticks| tick.clamp(ticks.start, ticks.end))
    }

    /// Sets out for a tick: jumps where a kept state is nearer. Returns the tick from which is played on.
    pub(crate) fn set_out(&mut self, world: &mut World, target: u64) -> Result<u64, DeckError> {
        if self.playback.is_none() {
            self.turn_to_replay(world)?;
        }
        let target = self.clamp_to_tape(target);
        let here = world.resource::<SimTick>().0;
        let nearest = self.history.as_ref().ok_or(DeckError::NoTape)?.nearest(target);
        let from = if target < here || nearest > here { nearest } else { here };
        if from != here || target < here {
            // While played again, it is not recorded again.
            self.end_recording(world, EndReason::Stopped);
            self.jump(world, from)?;
        }
        self.hush(true);
        Ok(from)
    }

    /// A recording becomes the tape in the deck, at its end.
    pub(super) fn turn_to_replay(&mut self, world: &mut World) -> Result<(), DeckError> {
        if self.recorder.is_none() || self.history.is_none() {
            return Err(DeckError::NoTape);
        }
        let history = self.history.take();
        self.end_recording(world, EndReason::Stopped);
        let tape = world.resource::<Deck>().tape.clone().ok_or(DeckError::NoTape)?;
        let mut playback = Playback::new(world, tape.clone(), false);
        let tick = world.resource::<SimTick>().0;
        playback.go_to(world, tick);
        (self.playback, self.history, self.is_held) = (Some(playback), history, true);
        self.push_branch(world, &tape, None, tape.header.tick_first);
        self.show_state(world, tick);
        Ok(())
    }

    /// The tape's beginning goes on as a recording.
    pub(super) fn take_over(&mut self, world: &mut World, tick: u64) -> Result<(), DeckError> {
        self.check_faithful(tick)?;
        let playback = self.playback.take().ok_or(DeckError::NoTape)?;
        let recorder = self.recorder_from(&playback.tape, tick);
        self.let_go(world);
        self.branch_at = world.resource::<Deck>().branch_of(&playback.tape).map(|parent| (parent, tick));
        // The clock goes on as the tape's; what it held is let go of.
        self.registry.tracks.iter_mut().for_each(|source| source.release(world));
        self.recorder = Some(recorder);
        self.verifier = None;
        world.resource_mut::<Deck>().is_replaying = false;
        Ok(())
    }

    /// A recorder that goes on after the ticks of a tape before this one.
    pub(super) fn recorder_from(&mut self, tape: &Tape, tick: u64) -> Recorder {
        let ticks = tape.ticks();
        let mut beginning = tape.cut(ticks.start..tick.min(ticks.end)).unwrap_or_else(|_| Tape::clone(tape));
        if let Some(history) = &mut self.history {
            history.cut(tick);
            #[cfg(feature = "inspector")]
            if let Some(trace) = &mut self.trace {
                trace.cut(tick);
            }
            beginning.header.root_interval = 1;
            beginning.digests.roots = history.roots().to_vec();
        }
        self.unfaithful_at = None;
        self.after_run_up.take_if(|(image, _)| image.tick > tick);
        let recorder = Recorder::resume(beginning, self.settings.detail, self.settings.limits);
        self.capturer.keep_before(recorder.keeps_values());
        recorder
    }

    /// A branch begins with the state that the ticks before it lead to.
    fn check_faithful(&self, tick: u64) -> Result<(), DeckError> {
        let Some(history) = &self.history else { return Ok(()) };
        let known = history.root_after(tick);
        let is_same = known.is_none_or(|root| self.capturer.image.tick != tick || self.capturer.digest.root == root);
        if is_same && (self.unfaithful_at.is_none() || known.is_some()) {
            Ok(())
        } else {
            Err(DeckError::NotFaithful { tick })
        }
    }

    /// Takes the deck's hand off what it was about to do.
    pub(super) fn let_go(&mut self, world: &mut World) {
        let mut deck = world.resource_mut::<Deck>();
        (deck.transport.seek, deck.transport.looped, deck.transport.is_at_end) = (None, None, false);
        (self.edit, self.after_run_up) = (None, None);
        self.hush(false);
    }

    /// A change of input is forgotten when the deck sets out for another tick.
    pub(crate) fn drop_edit_unless(&mut self, target: u64) {
        self.edit.take_if(|edit| edit.tick != target);
    }

    /// Carries out a change of one tick's input, when that tick is reached: played from there, and recorded anew.
    pub(crate) fn edit_here(&mut self, world: &mut World, tick: u64) -> Result<(), DeckError> {
        let Some(edit) = self.edit.take_if(|edit| edit.tick == tick) else { return Ok(()) };
        self.check_faithful(tick)?;
        let tape = self.playback.as_ref().ok_or(DeckError::NoTape)?.tape.clone();
        self.recorder = Some(self.recorder_from(&tape, tick));
        self.branch_at = world.resource::<Deck>().branch_of(&tape).map(|parent| (parent, tick));
        let edited = branch::edited(&tape, &edit.name, edit.tick, &edit.bytes);
        if let Some(playback) = &mut self.playback {
            playback.tape = Arc::new(edited);
        }
        self.verifier = None;
        Ok(())
    }

    /// Plays another branch, from here or from where both part.
    pub(super) fn switch_to(&mut self, world: &mut World, tick: u64, index: usize) -> Result<(), DeckError> {
        let wanted = world.resource::<Deck>().branches.get(index).map(|branch| branch.tape.clone());
        let wanted = wanted.ok_or(DeckError::NoSuchBranch { index })?;
        if self.playback.is_none() {
            self.turn_to_replay(world)?;
        }
        let current = self.playback.as_ref().ok_or(DeckError::NoTape)?.tape.clone();
        if !branch::have_one_beginning(&current, &wanted) {
            return Err(DeckError::Unrelated { index });
        }
        let apart = branch::part_at(&current, &wanted).max(wanted.header.tick_first);
        let from = self.history.as_ref().ok_or(DeckError::NoTape)?.nearest(apart.min(tick));
        self.end_recording(world, EndReason::Stopped);
        if tick > apart {
            self.jump(world, from)?;
        }
        if let Some(history) = &mut self.history {
            history.cut(apart);
        }
        #[cfg(feature = "inspector")]
        if let Some(trace) = &mut self.trace {
            trace.cut(apart);
        }
        self.unfaithful_at = None;
        self.after_run_up.take_if(|(image, _)| image.tick > apart);
        if let Some(playback) = &mut self.playback {
            playback.tape = wanted;
        }
        let here = world.resource::<SimTick>().0;
        self.resume_inputs(world, here);
        self.verifier = None;
        self.is_held = true;
        world.resource_mut::<Deck>().seek(tick);
        Ok(())
    }

    pub(super) fn push_branch(&self, world: &mut World, tape: &Arc<Tape>, parent: Option<usize>, at: u64) {
        let mut deck = world.resource_mut::<Deck>();
        if deck.branch_of(tape).is_none() && self.history.is_some() {
            deck.branches.push(Branch { tape: tape.clone(), parent, at });
        }
    }

    /// Forgets what was played: something else begins.
    pub(super) fn restart_trace(&mut self) {
        #[cfg(feature = "inspector")]
        if let Some(trace) = &mut self.trace {
            trace.restart(&self.capturer.image);
        }
    }

    /// Whether what is played is kept for the inspector.
    pub(super) fn is_traced(&self) -> bool {
        #[cfg(feature = "inspector")]
        return self.trace.as_ref().is_some_and(crate::deck::trace::Trace::is_running);
        #[cfg(not(feature = "inspector"))]
        false
    }

    /// Keeps what ticks write from the frame, or no longer.
    pub(crate) fn hush(&mut self, is_hushed: bool) {
        self.registry.tracks.iter_mut().for_each(|source| source.hush(is_hushed));
    }
}
