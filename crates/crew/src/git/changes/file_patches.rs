//! What changed between two commits, file by file: counts of lines, and the patch of each file.
//!
//! Invariant: the files and the counts are whole; only patches are cut. The three answers of git are in one order, and a file whose type changed has two
//! sections in a patch. No program that the repository names is run.

use super::{ChangeKind, ChangedFile};
use crate::git::error::GitError;
use crate::git::names::{CommitId, parts, shown};
use crate::git::repository::GitRepository;

/// A file that differs, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    /// Which file, and how it differs.
    pub file: ChangedFile,
    /// How many lines were added; nothing for a file that is not text.
    pub added: Option<u64>,
    /// How many lines were removed; nothing for a file that is not text.
    pub removed: Option<u64>,
    /// The patch; nothing if all of it was left out.
    pub patch: Option<String>,
    /// Was the patch or its end left out?
    pub is_cut: bool,
}

const SECTION: &str = "diff --git ";

impl GitRepository {
    /// The files that differ between two commits, with patches of at most so many bytes together, and whether something was left out.
    ///
    /// # Errors
    ///
    /// When git fails, such as for a commit that is not there.
    pub fn file_patches(
        &self,
        from: &CommitId,
        to: &CommitId,
        bytes_max: usize,
    ) -> Result<(Vec<FilePatch>, bool), GitError> {
        let ask = |form: &str| {
            let question = [
                "diff-tree",
                "-r",
                "-z",
                "-M",
                "--no-ext-diff",
                "--no-textconv",
                form,
                from.as_str(),
                to.as_str(),
            ];
            self.view.git(&question).ok()
        };
        let files = listed(&ask("--name-status")?);
        let counts = counted(&ask("--numstat")?);
        let text = self.diff(from, to, bytes_max)?;
        let mut sections = sections(&text.text).into_iter();
        let mut counts = counts.into_iter();
        let mut all = Vec::with_capacity(files.len());
        for (file, parts) in files {
            let (added, removed) = counts.next().unwrap_or_default();
            let own: Vec<&str> = sections.by_ref().take(parts).collect();
            let is_last = text.is_cut && sections.len() == 0;
            let patch = (!own.is_empty()).then(|| own.concat());
            all.push(FilePatch { file, added, removed, is_cut: is_last || patch.is_none(), patch });
        }
        Ok((all, text.is_cut))
    }
}

/// The files, and how many sections each has in a patch.
fn listed(answer: &[u8]) -> Vec<(ChangedFile, usize)> {
    let mut words = parts(answer);
    let mut files = Vec::new();
    while let (Some(status), Some(path)) = (words.next(), words.next()) {
        let first = shown(path);
        let (path, kind) = match status.first() {
            Some(b'A') => (first, ChangeKind::Added),
            Some(b'D') => (first, ChangeKind::Deleted),
            Some(b'R') => (words.next().map(shown).unwrap_or_default(), ChangeKind::Renamed { from: first }),
            Some(_) | None => (first, ChangeKind::Modified),
        };
        let sections = if status.first() == Some(&b'T') { 2 } else { 1 };
        files.push((ChangedFile { path, kind }, sections));
    }
    files
}

/// Lines added and removed, in the order of the files: `3\t1\tpath`, or `3\t1\t` and the two paths of a file that was renamed.
fn counted(answer: &[u8]) -> Vec<(Option<u64>, Option<u64>)> {
    let mut words = parts(answer);
    let mut counts = Vec::new();
    while let Some(word) = words.next() {
        let text = shown(word);
        let mut fields = text.splitn(3, '\t');
        let mut number = || fields.next().and_then(|field| field.parse().ok());
        counts.push((number(), number()));
        if fields.next().is_some_and(str::is_empty) {
            words.by_ref().take(2).for_each(drop);
        }
    }
    counts
}

/// The sections of a patch, one for each file. A line within a section begins with a mark, so no content looks like a heading.
fn sections(patch: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = if patch.starts_with(SECTION) { vec![0] } else { Vec::new() };
    starts.extend(patch.match_indices(&format!("\n{SECTION}")).map(|(at, _)| at + 1));
    let ends = starts.iter().skip(1).copied().chain([patch.len()]);
    starts.iter().zip(ends).map(|(start, end)| &patch[*start..end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_binary_and_renamed_files_are_read() {
        let answer = b"3\t1\ta.txt\0-\t-\tlogo.png\x000\t0\t\0old\0new\0";
        assert_eq!(counted(answer), [(Some(3), Some(1)), (None, None), (Some(0), Some(0))]);
        let answer = b"M\0a.txt\0T\0link\0R100\0old\0new\0";
        let files: Vec<(String, usize)> =
            listed(answer).into_iter().map(|(file, parts)| (file.path, parts)).collect();
        assert_eq!(files, [("a.txt".to_owned(), 1), ("link".to_owned(), 2), ("new".to_owned(), 1)]);
    }

    #[test]
    fn content_that_looks_like_a_heading_is_content() {
        let patch = "diff --git a/x b/x\n@@ -0,0 +1,2 @@\n+diff --git a/y b/y\n-diff --git a/z b/z\ndiff --git a/w b/w\n";
        assert_eq!(sections(patch).len(), 2);
        assert!(sections("").is_empty());
    }
}
