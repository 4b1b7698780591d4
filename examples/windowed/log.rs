//! What windowed games with the recorder bar print for scripts, besides what they say of themselves.

use bevy::prelude::*;
use bevy_replay::RecorderToast;
use bevy_replay::prelude::*;

/// Says when the window is ready, what the bar tells, and when recording and replaying begin.
pub(crate) fn to_stdout(app: &mut App) {
    app.add_systems(Update, |mut frames: Local<u32>| {
        *frames += 1;
        if *frames == 3 {
            println!("ready");
        }
    });
    app.add_systems(Update, |mut toasts: MessageReader<RecorderToast>| {
        for toast in toasts.read() {
            println!("{}: {}", if toast.is_error { "error" } else { "told" }, toast.text);
        }
    });
    app.add_systems(Update, |deck: Res<Deck>, mut before: Local<(bool, bool)>| {
        let now = (deck.is_recording(), deck.is_replaying());
        match (*before, now) {
            ((false, _), (true, _)) => println!("recording"),
            ((_, false), (_, true)) => println!("replaying"),
            _ => {}
        }
        *before = now;
    });
}
