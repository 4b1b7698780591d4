//! Prints what happens, for scripts.

use crate::faults::who;
use bevy::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{InspectorSelection, ReplayFinished, Report};

pub fn to_stdout(app: &mut App) {
    app.add_systems(Update, |mut frames: Local<u32>| {
        *frames += 1;
        if *frames == 3 {
            println!("ready");
        }
    });
    app.add_observer(|found: On<Diverged>| println!("{}", first_line(&found.report)));
    app.add_observer(|done: On<ReplayFinished>| println!("finished: {}", first_line(&done.report)));
    app.add_systems(PostUpdate, say_what_is_selected);
}

fn first_line(report: &Report) -> String {
    report.to_string().lines().next().unwrap_or_default().to_owned()
}

/// Says where the inspector stands, once it stands.
fn say_what_is_selected(
    deck: Res<Deck>,
    tick: Res<SimTick>,
    selection: Res<InspectorSelection>,
    mut before: Local<String>,
) {
    let stands = deck.is_paused() && deck.seek_progress(&tick).is_none();
    let (Some(type_name), Some(path), true) = (&selection.type_name, &selection.path, stands) else { return };
    let who = who(selection.sim_id);
    let line = format!("inspector: tick {}, {who} {type_name}{path}", tick.0.saturating_sub(1));
    if *before != line {
        println!("{line}");
        *before = line;
    }
}
