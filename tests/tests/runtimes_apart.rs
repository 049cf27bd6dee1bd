//! No runtime's port brings another runtime with it, and no port is large: what they have in common is the driver's.

use std::path::Path;
use std::process::Command;

/// In lines of code of one port, tests and examples left out.
const PORT_LINES_MAX: usize = 150;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The names of all packages that are built for `package`, itself included.
fn tree(package: &str) -> Vec<String> {
    let listed = Command::new(env!("CARGO"))
        .args(["tree", "--package", package, "--edges", "normal", "--prefix", "none", "--offline"])
        .args(["--format", "{p}"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).unwrap();
    listed.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn a_port_brings_only_its_own_runtime() {
    let (smol, tokio) = (tree("mcp-http-smol"), tree("mcp-http-tokio"));
    assert!(smol.iter().any(|name| name == "smol") && tokio.iter().any(|name| name == "tokio"));
    assert!(!smol.iter().any(|name| name.contains("tokio")), "{smol:?}");
    assert!(!tokio.iter().any(|name| name == "smol" || name.starts_with("async-")), "{tokio:?}");
    for package in ["mcp-http-driver", "mcp-http-core"] {
        let both = tree(package);
        let runtimes = both.iter().filter(|name| name.contains("tokio") || *name == "smol");
        assert_eq!(runtimes.count(), 0, "{package}: {both:?}");
    }
}

/// Lines of code: neither blank, nor a comment, nor of the tests at a file's end.
fn lines_of_code(text: &str) -> usize {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

#[test]
fn a_port_stays_small() {
    for port in ["tokio", "smol", "tower"] {
        let files = std::fs::read_dir(root().join("adapters").join(port).join("src")).unwrap();
        let texts: Vec<String> =
            files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
        let lines: usize = texts.iter().map(|text| lines_of_code(text)).sum();
        assert!(lines > 50 && lines <= PORT_LINES_MAX, "{port}: {lines} lines");
    }
}

#[test]
fn lines_are_counted() {
    assert_eq!(
        lines_of_code("//! a\n\nuse b; // c\n    // d\nfn e() {\n}\n#[cfg(test)]\nmod tests {\n}\n"),
        3
    );
}
