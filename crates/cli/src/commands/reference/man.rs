//! `callboard man`: the manual pages.
//!
//! Invariant: generated from the declaration of the command line, so a page cannot promise what the help does not.
//! Deliberately absent: installing them.

use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_mangen::Man;

use crate::args::Cli;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;

/// Print the manual page, or write the pages of every command to a directory.
///
/// To read it at once: callboard man | man -l -
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The directory to write the pages to; it is made if it does not exist.
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl ManArgs {
    /// Writes the main page to standard output, or every page to its file.
    pub(crate) fn run(&self, screen: &Screen) -> Result<Exit, Error> {
        let Some(directory) = &self.directory else {
            let mut page = Vec::new();
            Man::new(Cli::command().disable_help_subcommand(true)).render(&mut page).map_err(Error::Write)?;
            screen.print(&String::from_utf8_lossy(&page))?;
            return Ok(Exit::DONE);
        };
        for path in write(directory).map_err(|cause| Error::File(directory.clone(), cause))? {
            screen.print(&format!("{}\n", path.display()))?;
        }
        Ok(Exit::DONE)
    }
}

/// Writes `callboard.1` and a page for each verb and each of its own verbs, and gives their paths.
fn write(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(directory)?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut paths = Vec::new();
    let mut pages = vec![command];
    while let Some(page) = pages.pop() {
        // The help of a verb's own verbs is in their pages.
        let has_page = |verb: &&clap::Command| verb.get_name() != "help" && !verb.is_hide_set();
        pages.extend(page.get_subcommands().filter(has_page).cloned());
        paths.push(Man::new(page).generate_to(directory)?);
    }
    Ok(paths)
}
