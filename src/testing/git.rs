//! What version control knows, where it is there.

use super::files::package_folder;
use std::process::Command;

/// Lines of a diff that are shown.
const LINES_SHOWN: usize = 6;

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(package_folder()).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the commit of the code; empty if unknown.
pub(super) fn commit() -> String {
    git(&["rev-parse", "--short", "HEAD"]).unwrap_or_default().trim().to_owned()
}

/// Returns what changed under `src` since a commit, file by file.
pub(super) fn changes(since: &str) -> Vec<String> {
    if since.is_empty() {
        return Vec::new();
    }
    let stat = git(&["diff", "--stat=100", since, "--", "src"]).unwrap_or_default();
    let files: Vec<&str> = stat.lines().filter(|line| line.contains('|')).map(str::trim).collect();
    let mut lines: Vec<String> = files.iter().take(LINES_SHOWN).map(|line| (*line).to_owned()).collect();
    if files.len() > LINES_SHOWN {
        lines.push(format!("and {} more files", files.len() - LINES_SHOWN));
    }
    lines
}
