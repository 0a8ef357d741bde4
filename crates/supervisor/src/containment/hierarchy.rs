//! Where the control groups are mounted, and where in them this process is.
//!
//! Invariant: paths are read once; a process that is moved later makes its groups where it was before.

use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// The mounted hierarchies.
#[derive(Clone, Debug, Default)]
pub(super) struct Hierarchies {
    /// Our own group in version 2.
    pub(super) unified: Option<PathBuf>,
    /// The mount of version 2.
    pub(super) unified_root: Option<PathBuf>,
    /// A controller of version 1 and our own group in its hierarchy.
    pub(super) legacy: Vec<(String, PathBuf)>,
    /// What is mounted where, of version 2 and of the freezer of version 1: the root of the mount, and its path.
    unified_mount: Option<(String, PathBuf)>,
    freezer_mount: Option<(String, PathBuf)>,
}

pub(super) fn hierarchies() -> &'static Hierarchies {
    static FOUND: OnceLock<Hierarchies> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        read(&mounts, &own)
    })
}

/// Reads the mounts, and where in them the process is whose groups these are.
fn read(mounts: &str, own: &str) -> Hierarchies {
    let mut found = Hierarchies::default();
    for line in mounts.lines() {
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let mut fields = before.split(' ').skip(3);
        let (Some(root), Some(point)) = (fields.next(), fields.next()) else { continue };
        let mut after = after.split(' ');
        let (kind, options) = (after.next().unwrap_or_default(), after.nth(1).unwrap_or_default());
        match kind {
            "cgroup2" if found.unified.is_none() => {
                found.unified = place(own, "", root, point);
                found.unified_root = Some(PathBuf::from(point));
                found.unified_mount = Some((root.to_owned(), PathBuf::from(point)));
            }
            "cgroup" => {
                if options.split(',').any(|option| option == "freezer") {
                    found.freezer_mount = Some((root.to_owned(), PathBuf::from(point)));
                }
                for controller in ["memory", "pids", "cpu"] {
                    if options.split(',').any(|option| option == controller)
                        && let Some(path) = place(own, controller, root, point)
                    {
                        found.legacy.push((controller.to_owned(), path));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// The groups of a process in version 2 and in the freezer of version 1, from its `/proc/PID/cgroup`; without those that
/// are the root, which nobody can freeze, and those that are not mounted here.
pub(crate) fn groups_of(text: &str) -> (Option<PathBuf>, Option<PathBuf>) {
    let below = |mount: &Option<(String, PathBuf)>, controller| {
        let (root, point) = mount.as_ref()?;
        let path = Path::new(path_in(text, controller)?).strip_prefix(root).ok()?;
        let is_root = path.as_os_str().is_empty();
        let is_outside = path.components().any(|part| part == Component::ParentDir);
        (!is_root && !is_outside).then(|| point.join(path))
    };
    let hierarchies = hierarchies();
    (below(&hierarchies.unified_mount, ""), below(&hierarchies.freezer_mount, "freezer"))
}

fn path_in<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

/// Our own group, as a path below the mount; the empty controller is version 2.
fn place(own: &str, controller: &str, root: &str, point: &str) -> Option<PathBuf> {
    let path = path_in(own, controller)?;
    let below = Path::new(path).strip_prefix(root).unwrap_or_else(|_| Path::new(""));
    Some(Path::new(point).join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
31 24 0:27 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
33 31 0:29 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
34 31 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    #[test]
    fn a_hybrid_layout_has_both() {
        let found = read(HYBRID, "4:memory:/some/where\n1:cpu,cpuacct:/\n0::/here\n");
        assert_eq!(found.unified, Some(PathBuf::from("/sys/fs/cgroup/unified/here")));
        assert_eq!(
            found.legacy,
            [
                ("cpu".to_owned(), PathBuf::from("/sys/fs/cgroup/cpu/")),
                ("memory".to_owned(), PathBuf::from("/sys/fs/cgroup/memory/some/where")),
            ]
        );
    }

    #[test]
    fn a_mount_of_a_part_shows_only_what_is_below_it() {
        let mounts = "34 31 0:30 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let found = read(mounts, "0::/docker/x/y\n");
        assert_eq!(found.unified, Some(PathBuf::from("/sys/fs/cgroup/y")));
    }

    #[test]
    fn no_mount_no_group() {
        assert_eq!(read("", "0::/\n").unified, None);
    }
}
