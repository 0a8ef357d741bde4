//! Tables that fit their width: repeated names become headings, columns are dropped, lists are cut, prose is wrapped.
//!
//! Invariant: without a width nothing is dropped, cut or wrapped; a name is shown whole or not at all. Every character
//! counts as one column, which holds for the glyphs and names of the tables. Deliberately absent: borders.

use anstyle::Style;
use callboard_kernel::one_line;

use crate::show::style::{TITLE, paint};

/// What stands between two columns.
const GAP: usize = 2;
/// How far the rows under a heading are set in.
const INDENT: usize = 2;
/// What stands for what was cut.
const CUT: &str = "…";

/// One column.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    /// The lowest goes first when there is no room.
    priority: u8,
    fit: Fit,
}

#[derive(Clone, Copy, PartialEq)]
enum Fit {
    Whole,
    /// Whole, and aligned at the right.
    Number,
    /// May be cut down to this width.
    Cut(usize),
    /// May be wrapped into this width.
    Wrap(usize),
}

impl Column {
    /// A column of names, which are shown whole or not at all.
    pub(crate) const fn names(title: &'static str, priority: u8) -> Self {
        Self { title, priority, fit: Fit::Whole }
    }

    /// A column of numbers.
    pub(crate) const fn numbers(title: &'static str, priority: u8) -> Self {
        Self { title, priority, fit: Fit::Number }
    }

    /// A column of text or lists, which may be cut down to `min` characters.
    pub(crate) const fn text(title: &'static str, priority: u8, min: usize) -> Self {
        Self { title, priority, fit: Fit::Cut(min) }
    }

    /// A column of sentences that must be read to their end; they need at least `min` characters.
    pub(crate) const fn prose(title: &'static str, priority: u8, min: usize) -> Self {
        Self { title, priority, fit: Fit::Wrap(min) }
    }
}

/// One cell: a text or a list of names, in one style.
#[derive(Clone)]
pub(crate) struct Cell {
    content: Content,
    style: Style,
}

#[derive(Clone)]
enum Content {
    Text(String),
    List(Vec<String>),
}

impl Cell {
    /// A text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::styled(text, Style::new())
    }

    /// A text in a style.
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { content: Content::Text(one_line(&text.into())), style }
    }

    /// A list of names, which is cut between them.
    pub(crate) fn list<T: ToString>(names: impl IntoIterator<Item = T>) -> Self {
        let names = names.into_iter().map(|name| one_line(&name.to_string())).collect();
        Self { content: Content::List(names), style: Style::new() }
    }

    fn whole(&self) -> String {
        match &self.content {
            Content::Text(text) => text.clone(),
            Content::List(names) => names.join(", "),
        }
    }

    /// The width that shows the first name of a list; text has no such width.
    fn first(&self) -> usize {
        match &self.content {
            Content::Text(_) => 0,
            Content::List(names) => match names.as_slice() {
                [] => 0,
                [one] => length(one),
                [first, ..] => length(first) + 1 + length(CUT),
            },
        }
    }

    /// The lines of the cell in a column of this width.
    fn lines(&self, fit: Fit, width: usize) -> Vec<String> {
        let whole = self.whole();
        if length(&whole) <= width {
            return vec![whole];
        }
        match (fit, &self.content) {
            (Fit::Whole | Fit::Number, _) => vec![whole],
            (Fit::Wrap(_), _) => wrapped(&whole, width),
            (Fit::Cut(_), Content::Text(text)) => vec![cut(text, width)],
            (Fit::Cut(_), Content::List(names)) => {
                let first = |count: usize| names[..count].join(", ") + " " + CUT;
                let fitting = (1..names.len()).rev().map(first).find(|text| length(text) <= width);
                vec![fitting.unwrap_or(whole)]
            }
        }
    }
}

/// A text with what goes beyond `width` characters cut off; nothing where there is no room for any of it.
pub(crate) fn cut(text: &str, width: usize) -> String {
    match (length(text) <= width, width) {
        (true, _) => text.to_owned(),
        (false, 0) => String::new(),
        (false, _) => text.chars().take(width - 1).collect::<String>() + CUT,
    }
}

/// The words of a text in lines no longer than `width`, unless a single word is.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    packed(text.split_whitespace(), width)
}

/// Pieces that stay whole, in lines no longer than `width`, unless a single piece is.
pub(crate) fn packed<'a>(pieces: impl Iterator<Item = &'a str>, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(piece) <= width => {
                line.push(' ');
                line.push_str(piece);
            }
            Some(_) | None => lines.push(piece.to_owned()),
        }
    }
    lines
}

/// Rows under titles.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// Does the first column become headings when the table is too wide?
    grouped: bool,
}

impl Table {
    /// A table; each row has a cell for each column. A column in which no cell says anything is left out.
    pub(crate) fn new<const N: usize>(columns: [Column; N], rows: Vec<[Cell; N]>) -> Self {
        let says: Vec<bool> = (0..N).map(|at| rows.iter().any(|row| !row[at].whole().is_empty())).collect();
        Self {
            columns: columns
                .into_iter()
                .zip(&says)
                .filter(|(_, says)| **says)
                .map(|(column, _)| column)
                .collect(),
            rows: rows
                .into_iter()
                .map(|row| {
                    row.into_iter().zip(&says).filter(|(_, says)| **says).map(|(cell, _)| cell).collect()
                })
                .collect(),
            grouped: false,
        }
    }

    /// The same table; where it is too wide, the first column becomes headings over the rows that share it.
    pub(crate) fn grouped(mut self) -> Self {
        self.grouped = true;
        self
    }

    /// The text of the table, and the titles of the columns that had no room.
    pub(crate) fn render(&self, width: Option<usize>) -> (String, Vec<&'static str>) {
        let natural: Vec<usize> = (0..self.columns.len()).map(|at| self.natural(at)).collect();
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let Some(width) = width else {
            return (self.draw(&placed(&all, &natural), Heading::None), Vec::new());
        };
        let fits = total(&all, &natural) <= width;
        let (columns, heading, room) = match self.grouped && !fits {
            true => (&all[1..], Heading::First, width.saturating_sub(INDENT)),
            false => (&all[..], Heading::None, width),
        };
        let kept = self.kept(columns, &natural, room);
        let hidden = columns.iter().filter(|at| !kept.contains(at)).map(|at| self.columns[*at].title);
        (self.draw(&self.shrunk(&kept, &natural, room), heading), hidden.collect())
    }

    fn natural(&self, at: usize) -> usize {
        let cells = self.rows.iter().map(|row| length(&row[at].whole())).max().unwrap_or(0);
        cells.max(length(self.columns[at].title))
    }

    /// The least a column needs of its natural width. A list that cannot show its first name is better not shown.
    fn least(&self, at: usize, natural: usize) -> usize {
        let column = &self.columns[at];
        match column.fit {
            Fit::Whole | Fit::Number => natural,
            Fit::Cut(min) | Fit::Wrap(min) => {
                let first = self.rows.iter().map(|row| row[at].first()).max().unwrap_or(0);
                natural.min(min.max(first).max(length(column.title)))
            }
        }
    }

    /// The columns that have room when every text is shortened as far as it may be.
    fn kept(&self, columns: &[usize], natural: &[usize], width: usize) -> Vec<usize> {
        let least: Vec<usize> =
            natural.iter().enumerate().map(|(at, natural)| self.least(at, *natural)).collect();
        let mut kept = columns.to_vec();
        while total(&kept, &least) > width && kept.len() > 1 {
            let lowest = kept.iter().copied().min_by_key(|at| self.columns[*at].priority);
            kept.retain(|at| Some(*at) != lowest);
        }
        kept
    }

    /// The kept columns with their widths: what is too much is taken from the lowest priority first.
    fn shrunk(&self, kept: &[usize], natural: &[usize], width: usize) -> Vec<Placed> {
        let mut places = placed(kept, natural);
        let mut excess = total(kept, natural).saturating_sub(width);
        let mut by_priority: Vec<&mut Placed> = places.iter_mut().collect();
        by_priority.sort_by_key(|place| self.columns[place.at].priority);
        for place in by_priority {
            let taken = excess.min(place.width - self.least(place.at, place.width));
            place.width -= taken;
            excess -= taken;
        }
        places
    }

    fn draw(&self, places: &[Placed], heading: Heading) -> String {
        let indent = if heading == Heading::First { INDENT } else { 0 };
        let titles = places.iter().map(|place| (vec![self.columns[place.at].title.to_owned()], TITLE));
        let mut text = match heading {
            Heading::First => paint(TITLE, self.columns[0].title) + "\n",
            Heading::None => String::new(),
        };
        text += &self.lines(places, indent, &titles.collect::<Vec<_>>());
        let mut group = String::new();
        for row in &self.rows {
            if heading == Heading::First && row[0].whole() != group {
                group = row[0].whole();
                text += &(paint(row[0].style, &group) + "\n");
            }
            let cells = places.iter().map(|place| {
                (row[place.at].lines(self.columns[place.at].fit, place.width), row[place.at].style)
            });
            text += &self.lines(places, indent, &cells.collect::<Vec<_>>());
        }
        text
    }

    /// The lines of one row, as many as its highest cell has.
    fn lines(&self, places: &[Placed], indent: usize, cells: &[(Vec<String>, Style)]) -> String {
        let height = cells.iter().map(|(lines, _)| lines.len()).max().unwrap_or(0);
        let mut text = String::new();
        for number in 0..height {
            // Spaces are written only before something, so that no line ends with them.
            let mut pending = indent;
            for (place, (lines, style)) in places.iter().zip(cells) {
                let cell = lines.get(number).map_or("", String::as_str);
                let room = place.width.saturating_sub(length(cell));
                let is_number = self.columns[place.at].fit == Fit::Number;
                if cell.is_empty() {
                    pending += place.width + GAP;
                    continue;
                }
                text += &" ".repeat(if is_number { pending + room } else { pending });
                text += &paint(*style, cell);
                pending = if is_number { GAP } else { room + GAP };
            }
            text.push('\n');
        }
        text
    }
}

/// A column that is drawn, with its width.
struct Placed {
    at: usize,
    width: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Heading {
    None,
    First,
}

fn placed(columns: &[usize], widths: &[usize]) -> Vec<Placed> {
    columns.iter().map(|at| Placed { at: *at, width: widths[*at] }).collect()
}

/// How wide a line of these columns is.
fn total(columns: &[usize], widths: &[usize]) -> usize {
    columns.iter().map(|at| widths[*at]).sum::<usize>() + GAP * columns.len().saturating_sub(1)
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet() -> Table {
        let columns = [
            Column::names("NAME", 9),
            Column::numbers("AGE", 8),
            Column::text("ENDS", 5, 12),
            Column::text("MEANING", 1, 10),
        ];
        let rows = vec![
            [
                Cell::text("session"),
                Cell::text("7"),
                Cell::list(["completed", "failed", "timed_out"]),
                Cell::text("One supervised execution."),
            ],
            [Cell::text("agent"), Cell::text("12"), Cell::list([""; 0]), Cell::text("It can go on.")],
            [Cell::text("agent"), Cell::text("5"), Cell::text("—"), Cell::text("")],
        ];
        Table::new(columns, rows)
    }

    fn plain(table: &Table, width: Option<usize>) -> (String, Vec<&'static str>) {
        let (text, hidden) = table.render(width);
        (anstream::adapter::strip_str(&text).to_string(), hidden)
    }

    #[test]
    fn without_a_width_everything_is_shown() {
        for table in [fleet(), fleet().grouped()] {
            let (text, hidden) = plain(&table, None);
            assert_eq!(
                text,
                "NAME     AGE  ENDS                          MEANING\n\
                 session    7  completed, failed, timed_out  One supervised execution.\n\
                 agent     12                                It can go on.\n\
                 agent      5  —\n"
            );
            assert!(hidden.is_empty());
        }
    }

    #[test]
    fn text_of_the_lowest_priority_is_cut_first_and_lists_between_names() {
        let (text, hidden) = plain(&fleet(), Some(56));
        assert!(text.contains("completed, failed, timed_out  One supervi…\n"), "{text}");
        assert!(hidden.is_empty());
        let (text, _) = plain(&fleet(), Some(46));
        assert!(text.contains("completed, failed …   One super…\n"), "{text}");
        let (text, _) = plain(&fleet(), Some(30));
        assert!(text.contains("completed …\n"), "{text}");
    }

    #[test]
    fn a_list_that_cannot_show_its_first_name_is_not_shown() {
        let columns = [Column::names("TO", 2), Column::text("ON", 1, 4)];
        let table = Table::new(columns, vec![[Cell::text("failed"), Cell::list(["exited", "reaped"])]]);
        assert_eq!(plain(&table, Some(16)).0, "TO      ON\nfailed  exited …\n");
        assert_eq!(plain(&table, Some(15)).1, ["ON"]);
    }

    #[test]
    fn the_lowest_column_is_dropped_when_cutting_is_not_enough_and_it_is_named() {
        let (text, hidden) = plain(&fleet(), Some(33));
        assert_eq!(hidden, ["MEANING"]);
        assert!(text.contains("session    7  completed, failed …\n"), "{text}");
        assert_eq!(plain(&fleet(), Some(14)).1, ["ENDS", "MEANING"]);
        let (text, hidden) = plain(&fleet(), Some(3));
        assert_eq!(hidden, ["AGE", "ENDS", "MEANING"]);
        assert!(text.contains("session\n"), "a name is whole even where it does not fit: {text}");
    }

    #[test]
    fn headings_save_the_room_of_a_column() {
        let (text, hidden) = plain(&fleet().grouped(), Some(40));
        assert_eq!(
            text,
            "NAME\n  AGE  ENDS                   MEANING\n\
             session\n\
             \x20   7  completed, failed …    One super…\n\
             agent\n\
             \x20  12                         It can go…\n\
             \x20   5  —\n"
        );
        assert!(hidden.is_empty());
    }

    #[test]
    fn prose_is_wrapped_in_its_column() {
        let columns = [Column::names("CODE", 9), Column::prose("MEANING", 8, 10)];
        let row = [Cell::text("run.failed.oom"), Cell::text("The kernel killed it.")];
        assert_eq!(
            plain(&Table::new(columns, vec![row]), Some(30)).0,
            "CODE            MEANING\n\
             run.failed.oom  The kernel\n                killed it.\n"
        );
    }

    #[test]
    fn no_line_is_wider_than_asked_and_none_ends_with_a_space() {
        for table in [fleet(), fleet().grouped()] {
            for width in 20..90 {
                for line in plain(&table, Some(width)).0.lines() {
                    assert!(length(line) <= width, "{width}: {line:?}");
                    assert!(!line.ends_with(' '), "{width}: {line:?}");
                }
            }
        }
    }

    #[test]
    fn a_column_that_says_nothing_is_left_out() {
        let columns = [Column::names("A", 1), Column::text("B", 2, 4)];
        let (text, hidden) = plain(&Table::new(columns, vec![[Cell::text("x"), Cell::text("")]]), None);
        assert_eq!((text.as_str(), hidden.as_slice()), ("A\nx\n", &[][..]));
    }
}
