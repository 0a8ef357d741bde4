//! Which project a directory belongs to: the nearest directory upwards that is under git.
//!
//! Invariant: nothing is run and nothing is asked of a network; a worktree belongs to the project of its repository.

use std::path::Path;

/// The name of the project a directory belongs to.
pub fn project_of(directory: &Path) -> Option<String> {
    let root = directory.ancestors().find(|path| path.join(".git").exists())?;
    let git = root.join(".git");
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    if git.is_dir() {
        return name(root);
    }
    // A worktree's `.git` is a file that points into its repository: gitdir: /repository/.git/worktrees/name.
    let pointer = std::fs::read_to_string(git).ok()?;
    let target = Path::new(pointer.strip_prefix("gitdir:")?.trim());
    let repository = target.ancestors().find(|path| path.ends_with(".git")).and_then(Path::parent);
    repository.and_then(name).or_else(|| name(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_belongs_to_the_project_of_its_repository() {
        let place = tempfile::tempdir().unwrap();
        let repository = place.path().join("shop");
        std::fs::create_dir_all(repository.join(".git/worktrees/fix")).unwrap();
        std::fs::create_dir_all(repository.join("src/deep")).unwrap();
        let worktree = place.path().join("elsewhere");
        std::fs::create_dir(&worktree).unwrap();
        let pointer = format!("gitdir: {}\n", repository.join(".git/worktrees/fix").display());
        std::fs::write(worktree.join(".git"), pointer).unwrap();
        assert_eq!(project_of(&repository.join("src/deep")).as_deref(), Some("shop"));
        assert_eq!(project_of(&worktree).as_deref(), Some("shop"));
        assert_eq!(project_of(place.path()), None);
    }
}
