//! Every rule is named by a test, and nobody names a rule that there is not. The rules are those of `RULES.md`, and
//! the contract and the decisions on the first page of the core's docs. Whether a test proves what it names, its
//! reader has to say.
//!
//! A test names rules in one of three ways: its function's name begins with them (`c7_…`, `z10_z11_…`), its doc
//! comment begins with them (`/// R8, R9: …`), or its doc comment has them alone in brackets (`… (L4, C11).`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The letters of `RULES.md`; then those of the core's docs, contract and decisions.
const OF_THE_LIST: &str = "HISCZLX";
const OF_THE_CORE: &str = "RD";

/// Where tests are looked for, and who cites rules.
const FOLDERS: [&str; 3] = ["tests", "core", "adapters"];

/// A letter and a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    letter: char,
    number: u8,
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.letter, self.number)
    }
}

impl Id {
    /// A word that is an id and nothing else.
    fn parse(word: &str) -> Option<Id> {
        let letter = word.chars().next()?;
        let digits = word.strip_prefix(letter)?;
        let plain = (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        let known = OF_THE_LIST.contains(letter) || OF_THE_CORE.contains(letter);
        (known && plain && !digits.starts_with('0'))
            .then(|| Id { letter, number: digits.parse().expect("two digits") })
    }
}

/// A test and the rules it names.
#[derive(Debug, PartialEq, Eq)]
struct Test {
    name: String,
    ids: BTreeSet<Id>,
}

#[test]
fn every_rule_is_named_by_a_test() {
    let named: BTreeSet<Id> = tests().into_iter().flat_map(|test| test.ids).collect();
    assert_eq!(rules().difference(&named).collect::<Vec<_>>(), [&Id { letter: ' ', number: 0 }; 0]);
}

#[test]
fn every_test_names_rules_that_there_are() {
    let rules = rules();
    let strange = tests().into_iter().filter(|test| !test.ids.is_subset(&rules));
    assert_eq!(strange.collect::<Vec<_>>(), []);
}

#[test]
fn every_comment_cites_rules_that_there_are() {
    let (rules, mut seen) = (rules(), 0);
    let mut strange = Vec::new();
    for (file, text) in sources() {
        for (index, line) in text.lines().enumerate() {
            let ids = cited(line);
            seen += ids.len();
            let unknown = ids.into_iter().filter(|id| !rules.contains(id));
            strange.extend(unknown.map(|id| format!("{file}:{}: {id:?}", index + 1)));
        }
    }
    assert_eq!(strange, [""; 0]);
    assert!(seen > 300, "only {seen} citations were seen");
}

/// The lists have no gap and nothing twice, so that a rule that is taken out leaves its number to be noticed.
#[test]
fn rules_are_numbered_without_a_gap() {
    let letters: String = OF_THE_LIST.chars().chain(OF_THE_CORE.chars()).collect();
    let mut numbers: BTreeMap<char, Vec<u8>> = BTreeMap::new();
    for id in listed() {
        numbers.entry(id.letter).or_default().push(id.number);
    }
    assert_eq!(
        numbers.keys().collect::<BTreeSet<_>>(),
        letters.chars().collect::<BTreeSet<_>>().iter().collect()
    );
    for (letter, numbers) in numbers {
        let expected: Vec<u8> = (1..).take(numbers.len()).collect();
        assert_eq!(numbers, expected, "{letter}");
    }
}

fn rules() -> BTreeSet<Id> {
    listed().into_iter().collect()
}

/// The ids of both lists, as they come.
fn listed() -> Vec<Id> {
    let root = root();
    let read = |name: &str| fs::read_to_string(root.join(name)).expect(name);
    let mut ids = in_list(&read("RULES.md"), "- **", OF_THE_LIST);
    ids.extend(in_list(&read("core/src/lib.rs"), "//! - **", OF_THE_CORE));
    ids
}

/// The ids that stand in bold at the beginning of an item.
fn in_list(text: &str, item: &str, letters: &str) -> Vec<Id> {
    let words = text.lines().filter_map(|line| {
        let bold = line.strip_prefix(item)?;
        bold.split([' ', '*']).next()
    });
    words.filter_map(Id::parse).filter(|id| letters.contains(id.letter)).collect()
}

fn tests() -> Vec<Test> {
    let sources = sources();
    let tests: Vec<Test> = sources.iter().flat_map(|(file, text)| tests_in(file, text)).collect();
    assert!(tests.len() > 500, "only {} tests were found", tests.len());
    tests
}

/// The tests of a source, by the lines above each function.
fn tests_in(file: &str, text: &str) -> Vec<Test> {
    let (mut found, mut docs, mut is_test) = (Vec::new(), String::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("///") {
            docs.push_str(doc);
        } else if line == "#[test]" {
            is_test = true;
        } else if !line.starts_with("#[") && !line.starts_with("//") {
            let name = line.strip_prefix("fn ").and_then(|rest| rest.split(['(', '<']).next());
            if let Some(name) = name.filter(|_| is_test) {
                let ids = named_by_function(name).into_iter().chain(named_by_docs(&docs)).collect();
                found.push(Test { name: format!("{file}: {name}"), ids });
            }
            (docs, is_test) = (String::new(), false);
        }
    }
    found
}

/// `z10_z11_the_same_id_twice` names two.
fn named_by_function(name: &str) -> Vec<Id> {
    let words = name.split('_').map(|word| if word.chars().any(char::is_uppercase) { "" } else { word });
    words.map_while(|word| Id::parse(&word.to_ascii_uppercase())).collect()
}

/// `C7, C8: the answer too (R6).` names three, `What R6 says` none.
fn named_by_docs(docs: &str) -> Vec<Id> {
    let first = docs.trim_start().split([':', '.']).next().and_then(ids_alone);
    let bracketed = docs.split('(').skip(1).filter_map(|rest| ids_alone(rest.split_once(')')?.0));
    first.into_iter().chain(bracketed).flatten().collect()
}

/// A list of ids and of nothing else.
fn ids_alone(text: &str) -> Option<Vec<Id>> {
    text.split(", ").map(Id::parse).collect()
}

/// What looks like an id in a line's comment, wherever it stands.
fn cited(line: &str) -> Vec<Id> {
    let Some((_, comment)) = line.split_once("//") else { return Vec::new() };
    let is_part = |other: char| other.is_alphanumeric() || "_+-/'\"`\\".contains(other);
    comment.split(|other| !is_part(other)).map(|word| word.trim_matches('/')).filter_map(Id::parse).collect()
}

/// All Rust sources of tests, core and adapters, with their paths. What was built or fetched is none.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|folder| root.join(folder)).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
            if path.is_dir() && !name.ends_with("node_modules") && !name.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((name, fs::read_to_string(&path).expect("a text")));
            }
        }
    }
    found.sort();
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a parent").to_owned()
}

/// The eyes of the tests above see what they are to look for, and nothing else.
#[test]
fn the_trace_can_be_broken() {
    let ids = |text: &str| -> Vec<Id> { text.split(' ').filter_map(Id::parse).collect() };
    let list =
        "# T\n- **H1** One (H9).\n- **H12** More: H3.\n  - **H4** no\n- **R1** no\n- H5 no\n- **HTTP** no\n";
    assert_eq!(in_list(list, "- **", OF_THE_LIST), ids("H1 H12"));
    assert_eq!(in_list("//! - **R1 One end.** R2\n//! - **D3** x\n", "//! - **", OF_THE_CORE), ids("R1 D3"));

    assert_eq!(named_by_function("z10_z11_the_same"), ids("Z10 Z11"));
    assert_eq!(named_by_function("c99_is_read_although_there_is_none"), ids("C99"));
    for none in ["the_c7_of", "h_all", "h1a_x", "h123_x", "h01_x", "q1_x", "H1_x", "http2_x"] {
        assert_eq!(named_by_function(none), [], "{none}");
    }
    for (docs, named) in [
        (" C7, C8: the answer too (R6).", "C7 C8 R6"),
        (" I2, C14.", "I2 C14"),
        (" What is kept (L4, C11) and (D2).", "L4 C11 D2"),
    ] {
        assert_eq!(named_by_docs(docs), ids(named), "{docs}");
    }
    for none in [
        " What R6 says.",
        " R6 says",
        " HTTP/2: x",
        " (see R6)",
        " (R1 to R3)",
        " C7 or C8: x",
        " U+C1: x",
        "",
    ] {
        assert_eq!(named_by_docs(none), [], "{none}");
    }
    let source = "/// R1: of a helper.\nfn helper() {}\n\n/// R2: said\n/// on two lines (R3).\n#[test]\n#[cfg(x)]\n\
        fn c7_x() {\n    let s3_x = 1;\n}\n    #[test]\n    fn plain(x in 1..2) {}\n// #[test]\nfn c8_none() {}\n";
    let expected = [("f: c7_x", "C7 R2 R3"), ("f: plain", "")];
    let expected =
        expected.map(|(name, named)| Test { name: name.into(), ids: ids(named).into_iter().collect() });
    assert_eq!(tests_in("f", source), expected);

    assert_eq!(cited("let x = 1; // C7, C8; (R1..R3) and `Z9`: D2."), ids("C7 C8 R1 R3 D2"));
    assert_eq!(cited("let c1 = C1; /* H1 */"), []);
    assert_eq!(cited("// HTTP/H2 U+C1 0xC2 S-1 x_R1 C1x"), []);
}
