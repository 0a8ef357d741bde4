//! Columns of cards side by side, as many as fit; the others stand below them.
//!
//! Invariant: no line is wider than the screen, and no line ends with spaces. An empty column takes no room: its title stands with the
//! others that are empty. Without a width every column stands alone and nothing is cut.

use anstyle::Style;

use crate::show::style::{FAINT, TITLE, paint};
use crate::show::table::cut;

/// The least width of a column that can be read.
const WIDTH_MIN: usize = 18;
const GAP: usize = 2;

/// One card.
pub(crate) struct Card {
    pub(crate) title: String,
    pub(crate) id: String,
    pub(crate) age: String,
    /// Who has it, or what it waits for.
    pub(crate) note: String,
}

/// One column.
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) style: Style,
    pub(crate) cards: Vec<Card>,
    /// How many cards are not shown.
    pub(crate) left: usize,
}

/// A line of a column, and the style it is painted in.
type Line = (String, Style);

/// The columns as text.
pub(crate) fn render(columns: &[Column], width: Option<usize>) -> String {
    let filled: Vec<&Column> = columns.iter().filter(|column| !column.cards.is_empty()).collect();
    let mut text = String::new();
    let least = filled.iter().flat_map(|column| &column.cards).map(|card| length(&card.id) + 5).max();
    let least = least.unwrap_or(0).max(WIDTH_MIN);
    let beside = width.map_or(1, |width| ((width + GAP) / (least + GAP)).clamp(1, filled.len().max(1)));
    // As many in each band as in the others, so that none is nearly empty.
    let bands = filled.len().div_ceil(beside).max(1);
    for band in filled.chunks(filled.len().div_ceil(bands).max(1)) {
        let room = width.map(|width| (width.saturating_sub(GAP * (band.len() - 1)) / band.len()).max(1));
        let drawn: Vec<Vec<Line>> = band.iter().map(|column| lines(column, room)).collect();
        text += &beside_each_other(&drawn, room.unwrap_or(0));
        text.push('\n');
    }
    let empty: Vec<String> =
        columns.iter().filter(|column| column.cards.is_empty()).map(|column| column.title.clone()).collect();
    if !empty.is_empty() {
        let words = empty.join(", ");
        text += &crate::show::table::wrapped(&words, width.unwrap_or(usize::MAX))
            .iter()
            .map(|line| paint(FAINT, line) + "\n")
            .collect::<String>();
    }
    text
}

fn lines(column: &Column, room: Option<usize>) -> Vec<Line> {
    let fit = |text: &str| room.map_or_else(|| text.to_owned(), |room| cut(text, room));
    let mut all = vec![(fit(&column.title), column.style.bold())];
    for card in &column.cards {
        let age_at = room.map_or(length(&card.id) + GAP, |room| room.saturating_sub(length(&card.age)));
        let gap = age_at.saturating_sub(length(&card.id)).max(1);
        all.push((fit(&card.title), Style::new()));
        all.push((fit(&format!("{}{:gap$}{}", card.id, "", card.age)), FAINT));
        all.push((fit(&card.note), FAINT));
        all.push((String::new(), Style::new()));
    }
    match column.left {
        0 => drop(all.pop()),
        left => all.push((fit(&format!("and {left} more")), TITLE)),
    }
    all
}

fn beside_each_other(columns: &[Vec<Line>], room: usize) -> String {
    let height = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::new();
    for number in 0..height {
        // Spaces are written only before something, so that no line ends with them.
        let mut pending = 0;
        for column in columns {
            let Some((line, style)) = column.get(number).filter(|(line, _)| !line.is_empty()) else {
                pending += room + GAP;
                continue;
            };
            text += &" ".repeat(pending);
            text += &paint(*style, line);
            pending = room.saturating_sub(length(line)) + GAP;
        }
        text.push('\n');
    }
    text
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(title: &str, cards: usize) -> Column {
        let card = |at: usize| Card {
            title: format!("a title that is much longer than a column, number {at}"),
            id: "01k7c3h2f4x8".to_owned(),
            age: "4m".to_owned(),
            note: "wrk_01k7c3h2f4x8w6t5r3q1n0m9bz".to_owned(),
        };
        Column {
            title: format!("{title} {cards}"),
            style: Style::new(),
            cards: (0..cards).map(card).collect(),
            left: 0,
        }
    }

    fn board() -> Vec<Column> {
        let titles = ["Planned", "Open", "Working", "Review", "Blocked", "Failed"];
        titles.into_iter().zip([2, 1, 3, 0, 1, 1]).map(|(title, cards)| column(title, cards)).collect()
    }

    #[test]
    fn no_line_is_wider_than_the_screen_or_ends_with_spaces() {
        for width in [20, 40, 80, 100, 132, 200] {
            let text = anstream::adapter::strip_str(&render(&board(), Some(width))).to_string();
            for line in text.lines() {
                assert!(length(line) <= width && !line.ends_with(' '), "{width}: {line:?}");
            }
            for title in ["Planned 2", "Open 1", "Working 3", "Review 0", "Blocked 1", "Failed 1"] {
                assert!(text.contains(title), "{width}: {text}");
            }
        }
    }

    #[test]
    fn a_narrow_screen_has_one_column_under_the_other() {
        let text = anstream::adapter::strip_str(&render(&board(), Some(30))).to_string();
        assert!(text.starts_with("Planned 2\n"), "{text}");
        let wide = anstream::adapter::strip_str(&render(&board(), Some(200))).to_string();
        assert!(wide.lines().next().is_some_and(|line| line.contains("Failed 1")), "{wide}");
    }
}
