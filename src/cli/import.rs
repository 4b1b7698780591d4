//! `import`: a bug report becomes a test.

use super::{CliError, Exit, say};
use crate::import::{ImportSource, import_tape};
use std::io::Read;
use std::path::PathBuf;

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
    let source = if is_pasted {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(CliError::file(&arguments.file))?;
        ImportSource::Text(text)
    } else {
        ImportSource::Path(arguments.file.clone())
    };
    let stem = arguments.file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = arguments.name.clone().unwrap_or(if is_pasted { "pasted".into() } else { stem });
    let name = name.replace(['-', ' ', '.'], "_");
    let imported = import_tape(&source, &arguments.package.join("tests"), &name, game)?;
    for path in [&imported.tape, &imported.test] {
        say(path.strip_prefix(&arguments.package).unwrap_or(path).display());
    }
    say("the test is red until you say in it what should be true");
    Ok(Exit::Yes)
}
