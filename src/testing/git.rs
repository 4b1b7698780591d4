//! What version control knows, where it is there.

use super::files::package_folder;
use std::path::Path;
use std::process::Command;

/// Lines of a diff that are shown.
const LINES_SHOWN: usize = 6;

/// Said where that cannot be asked.
const UNKNOWN: &str = "git cannot tell what changed (in a shallow clone, fetch the history)";

fn git(folder: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the commit of the code; empty if unknown.
pub(super) fn commit() -> String {
    git(&package_folder(), &["rev-parse", "--short", "HEAD"]).unwrap_or_default().trim().to_owned()
}

/// Returns what changed under `src` since a commit, file by file, or that this is not known.
pub(super) fn changes(since: &str) -> Vec<String> {
    changes_in(&package_folder(), since)
}

fn changes_in(folder: &Path, since: &str) -> Vec<String> {
    if since.is_empty() {
        return Vec::new();
    }
    let Some(stat) = git(folder, &["diff", "--stat=100", since, "--", "src"]) else {
        return vec![UNKNOWN.to_owned()];
    };
    let files: Vec<&str> = stat.lines().filter(|line| line.contains('|')).map(str::trim).collect();
    let mut lines: Vec<String> = files.iter().take(LINES_SHOWN).map(|line| (*line).to_owned()).collect();
    if files.len() > LINES_SHOWN {
        lines.push(format!("and {} more files", files.len() - LINES_SHOWN));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn changes_since_a_commit_are_told_file_by_file() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path();
        if git(path, &["init", "-q"]).is_none() {
            return Ok(()); // no git here
        }
        fs::create_dir(path.join("src"))?;
        for number in 0..8 {
            fs::write(path.join(format!("src/{number}.rs")), "fn a() {}\n")?;
        }
        fs::write(path.join("README.md"), "a\n")?;
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        git(path, &["add", "."]).ok_or("add")?;
        git(path, &[&who[..], &["commit", "-q", "-m", "a"]].concat()).ok_or("commit")?;
        let commit = git(path, &["rev-parse", "HEAD"]).ok_or("rev-parse")?;
        assert_eq!(changes_in(path, commit.trim()), Vec::<String>::new());

        fs::write(path.join("README.md"), "b\n")?;
        fs::write(path.join("src/0.rs"), "fn b() {}\n")?;
        assert_eq!(changes_in(path, commit.trim()), ["src/0.rs | 2 +-"]);
        for number in 0..8 {
            fs::write(path.join(format!("src/{number}.rs")), "fn b() {}\n")?;
        }
        assert_eq!(changes_in(path, commit.trim())[5..], ["src/5.rs | 2 +-", "and 2 more files"]);
        assert_eq!(changes_in(path, "no such commit"), [UNKNOWN]);
        assert_eq!(changes_in(path, ""), Vec::<String>::new());
        Ok(())
    }
}
