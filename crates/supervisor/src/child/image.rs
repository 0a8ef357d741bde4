//! What the child becomes: the files to try, its arguments, its environment and its directory, as the kernel takes them.
//!
//! Invariant: everything is made before there is a child, which may not allocate. The program is looked for as the C
//! library's `execvp` does, in the `PATH` that the child gets.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;

use crate::Spec;

/// What the child becomes.
#[derive(Debug)]
pub(crate) struct Image {
    /// The files to try, in this order.
    pub(crate) files: Vec<CString>,
    /// The program's own name, and its arguments.
    pub(crate) arguments: Vec<CString>,
    pub(crate) environment: Vec<CString>,
    pub(crate) cwd: CString,
}

/// Where programs are looked for without a `PATH`.
const USUAL_PATH: &str = "/bin:/usr/bin";

impl Image {
    /// Makes it of what was asked for; of `changes`, those without a value are taken out of our environment.
    pub(crate) fn new(
        spec: &Spec,
        changes: impl IntoIterator<Item = (OsString, Option<OsString>)>,
    ) -> io::Result<Self> {
        let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        for (name, value) in changes {
            match value {
                Some(value) => drop(environment.insert(name, value)),
                None => drop(environment.remove(&name)),
            }
        }
        let path = environment.get(OsStr::new("PATH")).map_or(OsStr::new(USUAL_PATH), OsString::as_os_str);
        Ok(Self {
            files: files(&spec.program, path)?,
            arguments: std::iter::once(&spec.program)
                .chain(&spec.args)
                .map(|argument| text(argument.as_bytes().to_vec()))
                .collect::<io::Result<_>>()?,
            cwd: text(spec.cwd.as_os_str().as_bytes().to_vec())?,
            environment: environment
                .into_iter()
                .map(|(name, value)| text([name.as_bytes(), b"=", value.as_bytes()].concat()))
                .collect::<io::Result<_>>()?,
        })
    }
}

/// The files that a program may be; an empty part of the path is the directory the child starts in.
fn files(program: &OsStr, path: &OsStr) -> io::Result<Vec<CString>> {
    let name = program.as_bytes();
    if name.contains(&b'/') {
        return Ok(vec![text(name.to_vec())?]);
    }
    let in_directory = |directory: &[u8]| match directory {
        b"" => text(name.to_vec()),
        directory => text([directory, b"/", name].concat()),
    };
    path.as_bytes().split(|byte| *byte == b':').map(in_directory).collect()
}

fn text(bytes: Vec<u8>) -> io::Result<CString> {
    let refused = |_| io::Error::new(io::ErrorKind::InvalidInput, "nul byte found in provided data");
    CString::new(bytes).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(program: &str, path: &str) -> Vec<String> {
        let files = files(OsStr::new(program), OsStr::new(path)).unwrap();
        files.into_iter().map(|file| file.into_string().unwrap()).collect()
    }

    #[test]
    fn a_name_is_looked_for_in_every_part_of_the_path() {
        assert_eq!(found("x", "/a:/b"), ["/a/x", "/b/x"]);
        assert_eq!(found("x", "/a::b"), ["/a/x", "x", "b/x"]);
    }

    #[test]
    fn a_path_is_not_looked_for() {
        assert_eq!(found("./x", "/a:/b"), ["./x"]);
        assert_eq!(found("d/x", "/a:/b"), ["d/x"]);
    }

    #[test]
    fn the_environment_is_ours_with_the_changes() {
        let set = |name: &str, value: Option<&str>| (OsString::from(name), value.map(OsString::from));
        let changes = [set("PATH", None), set("IMAGE_A", Some("1")), set("IMAGE_A", Some("2"))];
        let image = Image::new(&Spec::new("x", "m"), changes).unwrap();
        let variables: Vec<&str> =
            image.environment.iter().filter_map(|variable| variable.to_str().ok()).collect();
        assert!(variables.contains(&"IMAGE_A=2") && !variables.contains(&"IMAGE_A=1"));
        assert!(!variables.iter().any(|variable| variable.starts_with("PATH=")));
        assert_eq!(image.files, [c"/bin/x".to_owned(), c"/usr/bin/x".to_owned()]);
    }

    #[test]
    fn what_the_kernel_could_not_read_whole_is_refused() {
        assert!(Image::new(&Spec::new("x", "m").args(["a\0b"]), []).is_err());
    }
}
