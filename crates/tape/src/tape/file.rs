//! New files that appear whole or not at all.

use std::io::{self, Write};
use std::path::Path;

/// Writes a file that must not exist yet; where that fails, nothing is left behind and nothing was overwritten.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // Temporary files are for their owner alone, tapes are files as any other.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.prefix(".").suffix(".tmp").tempfile_in(folder).map_err(bare)?;
    file.write_all(bytes).map_err(bare)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| bare(error.error))?;
    Ok(())
}

/// Leaves out the name of the temporary file: the caller names the one that was asked for.
fn bare(error: io::Error) -> io::Error {
    error.raw_os_error().map_or(error, io::Error::from_raw_os_error)
}
