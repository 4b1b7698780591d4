//! `import`: a bug report becomes a test.

use super::{CliError, Exit, say, write};
use crate::tape::Tape;
use std::io::Read;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// A tape, a text that was pasted into a file, or - for standard input
    file: PathBuf,
    /// Name of the test. Default: that of the file
    #[arg(long)]
    name: Option<String>,
    /// Folder of the package
    #[arg(long, default_value = ".")]
    package: PathBuf,
}

pub(super) fn run(game: &str, arguments: &Arguments) -> Result<Exit, CliError> {
    let is_pasted = arguments.file.as_os_str() == "-";
    let bytes = match is_pasted {
        true => {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map_err(CliError::file(&arguments.file))?;
            bytes
        }
        false => std::fs::read(&arguments.file).map_err(CliError::file(&arguments.file))?,
    };
    let tape = Tape::from_bytes(&bytes)?;
    let stem = arguments.file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = arguments.name.clone().unwrap_or(if is_pasted { "pasted".into() } else { stem });
    let name = name.replace(['-', ' ', '.'], "_");
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name {
        return Err(CliError::BadName { name });
    }
    // Text stays text, so that it can be read in a diff.
    let extension = if bytes.starts_with(b"(") || is_pasted || is_text(&arguments.file) { "ron" } else { "tape" };
    let tape_path = Path::new("tests").join("tapes").join(format!("{name}.{extension}"));
    let test_path = Path::new("tests").join(format!("{name}.rs"));
    for path in [&tape_path, &test_path] {
        if arguments.package.join(path).exists() {
            return Err(CliError::Exists { path: path.display().to_string() });
        }
    }
    let target = arguments.package.join(&tape_path);
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder).map_err(CliError::file(folder))?;
    }
    tape.save(&target)?;
    write(&arguments.package.join(&test_path), test(game, &name, &tape_path, &tape).as_bytes())?;
    say(format_args!("{}\n{}", tape_path.display(), test_path.display()));
    say("the test is red until you say in it what should be true");
    Ok(Exit::Yes)
}

fn is_text(path: &Path) -> bool {
    path.extension().is_some_and(|extension| ["ron", "txt", "md"].iter().any(|text| extension == *text))
}

/// The test: inputs and initial state are replayed, and something is expected of the state.
fn test(game: &str, name: &str, tape_path: &Path, tape: &Tape) -> String {
    let ticks = tape.tick_count();
    let origin = tape.header.origin();
    let path = tape_path.display().to_string().replace('\\', "/");
    format!(
        "//! {origin}: {ticks} ticks.\n\nuse bevy_replay::prelude::*;\n\n#[test]\nfn {name}() -> Result<(), ReplayError> {{\n    \
         // Inputs only: the digests on the tape were made by the bug.\n    \
         let run = Headless::new({game}).replay_inputs(\"{path}\")?;\n    \
         let state = run.world();\n    \
         // Say what should be true of it, as: assert!(run.single::<Hero>()?.on_ground);\n    \
         panic!(\"what should be true after {{}} ticks?\", state.resource::<SimTick>().0);\n}}\n"
    )
}
