//! The rules of the house, held against its source text: what may depend on what, what may be written where.

use std::fs;
use std::path::{Path, PathBuf};

/// What `core` depends on, and nothing else.
const CORE_DEPENDENCIES: [&str; 7] =
    ["bytes", "http", "httparse", "serde", "serde_json", "smallvec", "thiserror"];

/// In lines, the last one included.
const FILE_LINES_MAX: usize = 500;

/// What would be I/O, a clock, chance, a thread, logging or the environment.
const NOT_IN_CORE: [&str; 13] = [
    "std::net",
    "std::fs",
    "std::thread",
    "std::env",
    "std::process",
    "std::time",
    "Instant::now",
    "SystemTime",
    "getrandom",
    "tracing::",
    "println!",
    "async fn",
    "async move",
];

/// Names of fields that the core writes or reads, or how they begin.
const FIELDS: [&str; 17] = [
    "accept\"",
    "access-control-",
    "allow\"",
    "authorization",
    "cache-control",
    "connection\"",
    "content-",
    "date\"",
    "host\"",
    "last-event-id",
    "mcp-",
    "origin\"",
    "retry-after",
    "transfer-encoding",
    "vary\"",
    "www-authenticate",
    "x-accel-",
];

/// Functions of adapters that name fields and decide nothing by them: file, first words, what they may name, why.
const EXCEPTIONS: [(&str, &str, [&str; 2], &str); 1] = [(
    "driver/src/admission.rs",
    "fn log_misdirected(",
    ["http::header::HOST", "http::header::ORIGIN"],
    "shows in the log which Host or Origin the core refused, since operators have to see it",
)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A source file: its path below `root`, and its text.
struct Source {
    name: String,
    text: String,
}

/// All Rust files of `folder`.
fn sources(folder: &str) -> Vec<Source> {
    let root = root().join(folder);
    let (mut folders, mut found) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                found.push(Source { name, text: fs::read_to_string(&path).unwrap() });
            }
        }
    }
    assert!(!found.is_empty(), "{folder} has no source");
    found
}

/// The folders of all adapters.
fn adapters() -> Vec<String> {
    let entries = fs::read_dir(root().join("adapters")).unwrap().map(|entry| entry.unwrap());
    let names = entries.filter(|entry| entry.path().join("Cargo.toml").exists());
    let names: Vec<String> = names.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(names.iter().any(|name| name == "driver"), "{names:?}");
    names
}

/// What a package depends on at all times, by the tables of its manifest. Dev-dependencies do not count.
fn dependencies(manifest: &str) -> Vec<String> {
    let (mut found, mut listed) = (Vec::new(), false);
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']').trim_matches('[');
            let parts: Vec<&str> = table.split('.').collect();
            let is_list = |part: &&str| **part == *"dependencies" || **part == *"build-dependencies";
            listed = parts.last().is_some_and(is_list);
            if let Some(at) = parts.iter().position(is_list) {
                // A table of its own for one dependency.
                found.extend(parts.get(at + 1).map(|name| (*name).to_owned()));
            }
        } else if listed && !line.is_empty() && !line.starts_with('#') {
            let end = line.find(['=', '.', ' ']).unwrap_or(line.len());
            found.push(line[..end].trim_matches('"').to_owned());
        }
    }
    found.sort();
    found
}

fn dependencies_of(folder: &str) -> Vec<String> {
    dependencies(&fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap())
}

fn of_this_workspace(dependencies: &[String]) -> Vec<&str> {
    dependencies.iter().map(String::as_str).filter(|name| name.starts_with("mcp-http")).collect()
}

/// The lines of a source that are code, with their numbers. A comment at the end of a line stays.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with("//"))
}

/// What in a line of code would be a protocol decision: a status, a field's name, a JSON-RPC code.
fn decides(line: &str) -> Option<&'static str> {
    let lower = line.to_ascii_lowercase();
    let is_status = |text: &str| matches!(text.parse(), Ok(100..=599)) && text.len() == 3;
    let mut words = lower.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    if line.contains("StatusCode")
        || line.split('"').any(is_status)
        || lower.contains("status") && words.any(is_status)
    {
        return Some("a status");
    }
    let quoted = |name: &&str| lower.contains(&format!("\"{name}"));
    if line.contains("header::") || line.contains("HeaderName") || FIELDS.iter().any(quoted) {
        return Some("a field's name");
    }
    let three_digits = |text: &str| text.len() >= 3 && text.bytes().take(3).all(|byte| byte.is_ascii_digit());
    let is_constant = |text: &str| text.starts_with(|letter: char| letter.is_ascii_uppercase());
    let is_code = lower.split("-32").skip(1).any(three_digits)
        || lower.split("-32_").skip(1).any(three_digits)
        || line.split("code::").skip(1).any(is_constant);
    is_code.then_some("a JSON-RPC code")
}

#[test]
fn core_has_seven_dependencies() {
    assert_eq!(dependencies_of("core"), CORE_DEPENDENCIES);
}

#[test]
fn arrows_run_one_way() {
    assert_eq!(of_this_workspace(&dependencies_of("core")), [""; 0]);
    for adapter in adapters() {
        let expected = if adapter == "driver" { "mcp-http-core" } else { "mcp-http-driver" };
        let dependencies = dependencies_of(&format!("adapters/{adapter}"));
        // One that brings its own loop may stand on the core directly.
        let allowed = |name: &&str| *name == expected || (adapter == "tower" && *name == "mcp-http-core");
        let strange: Vec<&str> =
            of_this_workspace(&dependencies).into_iter().filter(|name| !allowed(name)).collect();
        assert_eq!(strange, [""; 0], "{adapter}");
    }
}

#[test]
fn adapters_hold_no_protocol_decisions() {
    let (mut excepted, mut found) = (0, Vec::new());
    for adapter in adapters() {
        for source in sources(&format!("adapters/{adapter}/src")) {
            let name = format!("{adapter}/src/{}", source.name);
            let mut text = source.text;
            for (_, function, fields, _) in EXCEPTIONS.iter().filter(|(file, ..)| *file == name) {
                let mut allowed = function_of(&text, function).to_owned();
                let whole = allowed.clone();
                fields.iter().for_each(|field| allowed = allowed.replace(field, ""));
                excepted += usize::from(allowed != whole);
                text = text.replace(&whole, &allowed);
            }
            for (number, line) in code(&text) {
                found.extend(decides(line).map(|what| format!("{name}:{number}: {what}: {line}")));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert_eq!(excepted, EXCEPTIONS.len(), "an exception is not needed any more");
}

/// The text of the function that starts with these words, up to the brace that closes it; empty if there is none.
fn function_of<'a>(text: &'a str, words: &str) -> &'a str {
    let Some(start) = text.find(&format!("\n{words}")) else { return "" };
    let end = text[start..].find("\n}").map_or(text.len(), |end| start + end);
    &text[start..end]
}

#[test]
fn core_touches_nothing_outside() {
    let mut found = Vec::new();
    for source in sources("core/src") {
        for (number, line) in code(&source.text) {
            let words = NOT_IN_CORE.iter().filter(|word| line.contains(**word));
            found.extend(words.map(|word| format!("{}:{number}: {word}: {line}", source.name)));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn unsafe_is_forbidden_and_not_only_absent() {
    for lib in ["core", "adapters/driver", "adapters/tokio", "adapters/smol", "adapters/tower"] {
        let manifest = fs::read_to_string(root().join(lib).join("Cargo.toml")).unwrap();
        let inherits = manifest.contains("[lints]\nworkspace = true");
        assert!(inherits || manifest.contains("unsafe_code = \"forbid\""), "{lib}");
    }
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("unsafe_code = \"forbid\""));
}

#[test]
fn files_stay_short() {
    let folders = std::iter::once(String::from("core/src"))
        .chain(adapters().into_iter().map(|adapter| format!("adapters/{adapter}/src")));
    let mut long = Vec::new();
    for folder in folders {
        let sources = sources(&folder);
        let lengths = sources.iter().map(|source| (&source.name, source.text.lines().count()));
        let over = lengths.filter(|(_, lines)| *lines > FILE_LINES_MAX);
        long.extend(over.map(|(name, lines)| format!("{folder}/{name}: {lines} lines")));
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// The eyes of the tests above see what they are to look for.
#[test]
fn the_rules_can_be_broken() {
    for line in [
        "return StatusCode::NOT_FOUND;",
        r#"head.get("Mcp-Session-Id")"#,
        r#"head.get("last-event-id")"#,
        r#"head.headers.get("Host")"#,
        r#"fields.push(("content-type", json))"#,
        "head.headers.get(http::header::HOST)",
        "const FIELD: HeaderName = name;",
        "ErrorObject::new(-32603, text)",
        "ErrorObject::new(-32_603, text)",
        "ErrorObject::new(code::INTERNAL_ERROR, text)",
        r#"write("404")"#,
        "if answer.status == 404 {",
        "response.set_status(202);",
    ] {
        assert!(decides(line).is_some(), "{line}");
    }
    for line in [
        "use mcp_http_core::answer;",
        "pub use mcp_http_core::jsonrpc::{ErrorObject, code};",
        r#"at("1234")"#,
        "let x = y - 32;",
        "Duration::from_millis(200)",
        r#""notifications/progress""#,
        r#"tracing::trace!(number, "connection closed");"#,
    ] {
        assert_eq!(decides(line), None, "{line}");
    }
    let lines: Vec<usize> =
        code("// StatusCode\n\n/// -32603\nlet x = 1; // y\n").map(|(number, _)| number).collect();
    assert_eq!(lines, [4]);
    let manifest = "[package]\nname = \"x\"\n[dependencies]\n# one\na.workspace = true\nb = \"1\"\n\
        [dev-dependencies]\nc = \"1\"\n[target.'cfg(unix)'.dependencies]\nd = { path = \"x\" }\n\
        [dependencies.e]\nversion = \"1\"\n[build-dependencies]\nf = \"1\"\n[lints]\nworkspace = true\n";
    assert_eq!(dependencies(manifest), ["a", "b", "d", "e", "f"]);
}
