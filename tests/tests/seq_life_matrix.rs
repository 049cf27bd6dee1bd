//! The life of a session as a whole: what each event does in each phase, against the committed picture.

use std::fmt::Write as _;

use mcp_http_core::endpoint::life::{Happening, Phase, transition};

const COMMITTED: &str = include_str!("../data/session-life.txt");

#[test]
fn the_table_of_lives_is_the_committed_one() {
    let table = rendered();
    assert!(table == COMMITTED, "tests/data/session-life.txt differs; the table is now:\n\n{table}");
}

fn rendered() -> String {
    let name = |happening: &Happening| format!("{happening:?}");
    let mut rows = vec![[
        String::new(),
        named(Phase::ALL[0]),
        named(Phase::ALL[1]),
        named(Phase::ALL[2]),
        named(Phase::ALL[3]),
    ]];
    for happening in Happening::ALL {
        let cell = |phase| transition(phase, happening).to_string();
        rows.push([
            name(&happening),
            cell(Phase::ALL[0]),
            cell(Phase::ALL[1]),
            cell(Phase::ALL[2]),
            cell(Phase::ALL[3]),
        ]);
    }
    let mut table = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
            let _ = write!(line, "{cell:width$}  ");
        }
        table.push_str(line.trim_end());
        table.push('\n');
    }
    table
}

fn named(phase: Phase) -> String {
    format!("{phase:?}")
}
