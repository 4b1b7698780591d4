//! All that the recorder bar says.

pub(super) use crate::numbers::{clock, grouped, size};
use bevy_ecs::prelude::*;
use std::borrow::Cow;

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident: $text:literal,)*) => {
        /// All texts of the recorder bar. Replace the resource, or some of its fields, for another language.
        ///
        /// Words in braces are replaced, each as often as it occurs; the default texts show which ones a field knows.
        ///
        /// # Examples
        ///
        /// ```
        /// # use bevy_app::prelude::*; use bevy_replay::prelude::*; use bevy_replay::RecorderText;
        /// # let mut app = App::new();
        /// app.insert_resource(RecorderText { record: "Aufnehmen".into(), ..Default::default() });
        /// ```
        #[derive(Resource, Debug, Clone, PartialEq, Eq)]
        pub struct RecorderText {
            $($(#[$doc])* #[doc = concat!(" Default: `", $text, "`.")] pub $name: Cow<'static, str>,)*
        }

        impl Default for RecorderText {
            fn default() -> Self {
                Self { $($name: Cow::Borrowed($text),)* }
            }
        }
    };
}

texts! {
    /// Button.
    record: "Record",
    /// Button.
    stop: "Stop",
    /// Button of the flight recorder.
    save_last: "Save last {seconds} s",
    /// Button.
    mark: "Mark",
    /// Button.
    replay: "Replay",
    /// Button that asks where to.
    export: "Export…",
    /// Button that asks what.
    import: "Import…",
    /// Button.
    discard: "Discard",
    /// Button that asks for a name.
    make_test: "Make a test…",
    /// Button that opens the system's file dialog.
    browse: "Browse…",
    /// Button that carries out an export.
    save: "Save",
    /// Button that carries out an import.
    open: "Open",
    /// Button that writes a test.
    write: "Write",
    /// Button.
    cancel: "Cancel",
    /// What is shown while recording.
    recording: "{time}  {ticks} ticks  {size}",
    /// What is shown while a tape is played.
    replaying: "{tick} of {ticks} ticks",
    /// What is shown of the tape at hand.
    at_hand: "{name}: {ticks} ticks, {time}",
    /// Name of a recording that has no file yet.
    unsaved: "not exported",
    /// Name of a tape that was pasted.
    pasted: "pasted tape",
    /// Above the entry for an export.
    export_to: "Export the tape to this file",
    /// Above the entry for an import.
    import_from: "Path of a tape, or its pasted text",
    /// Above the entry for a test.
    test_name: "Name of the test, a Rust function in {folder}",
    /// While a file is written or read.
    working: "working…",
    /// Text of a mark.
    mark_text: "mark {number}",
    /// Toast.
    recorded: "recorded {ticks} ticks",
    /// Toast, where a recording did not end by itself; `{reason}` as the tape names it.
    ended_early: "recorded {ticks} ticks, {reason}; the game goes on",
    /// Toast.
    marked: "mark {number} set",
    /// Toast.
    saved: "saved to {path}",
    /// Toast.
    loaded: "opened {name}, {ticks} ticks",
    /// Toast.
    test_written: "wrote {path}; say in it what should be true",
    /// Toast; `{answer}` is the first line of the report.
    replayed: "{answer}",
    /// Toast, where the tape has no file.
    discarded: "discarded",
    /// Toast, where it has one.
    put_aside: "put aside; its file stays",
    /// Toast.
    really_discard: "these {ticks} ticks are not exported; discard again to lose them",
    /// Error.
    unsaved_first: "the last recording is not exported yet (export or discard it first)",
    /// Error.
    stop_first: "the recorder is busy (stop it first)",
    /// Error.
    no_tape: "there is no tape (record or import one first)",
    /// Error.
    not_recording: "nothing is being recorded (start a recording first)",
    /// Error.
    nothing_picked: "no file was chosen (type its path if no dialog has opened)",
    /// Error.
    not_saved: "not saved: {error}",
    /// Error.
    not_opened: "not opened: {error}",
    /// Error.
    no_test_written: "no test was written: {error}",
    /// Error.
    refused: "{error}",
}

/// Puts values in place of words in braces.
pub(super) fn filled(text: &str, values: &[(&str, &dyn ToString)]) -> String {
    let mut filled = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, word) = rest.split_at(start);
        filled.push_str(before);
        let known = word.find('}').and_then(|end| {
            let value = values.iter().find(|(name, _)| *name == &word[1..end])?;
            Some((value.1.to_string(), &word[end + 1..]))
        });
        match known {
            Some((value, after)) => {
                filled.push_str(&value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = &word[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_braces_are_replaced_and_values_are_not_looked_at() {
        assert_eq!(filled("{a} {b} {a} {", &[("a", &"{b}"), ("b", &2)]), "{b} 2 {b} {");
        assert_eq!(filled("{unknown} {a}", &[("a", &1)]), "{unknown} 1");
    }
}
