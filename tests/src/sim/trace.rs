//! The steps of a run as a reader wants them: what the machines say of themselves, without what repeats.

/// One line of it.
pub(super) fn short(line: &str) -> String {
    let mut rest = line;
    let mut short = String::new();
    while let Some((before, key)) = rest.split_once("Key { index: ") {
        let Some((index, key)) = key.split_once(", generation: ") else { break };
        let Some((generation, after)) = key.split_once(" }") else { break };
        short.push_str(&format!("{before}{index}.{generation}"));
        rest = after;
    }
    short.push_str(rest);
    without_padding(&short).replace("\\\"", "\"")
}

/// Messages are padded with many of one letter.
fn without_padding(text: &str) -> String {
    let mut out = String::new();
    let mut run = 0;
    for letter in text.chars() {
        run = if letter == 'x' { run + 1 } else { 0 };
        match run {
            0..=3 => out.push(letter),
            4 => out.push('…'),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn names_are_short_and_padding_is_left_out() {
        let line = r#"Pull { exchange: ExchangeId(Key { index: 3, generation: 12 }) } {\"pad\":\"xxxxxxxxx\"} Key { odd"#;
        assert_eq!(short(line), r#"Pull { exchange: ExchangeId(3.12) } {"pad":"xxx…"} Key { odd"#);
    }
}
