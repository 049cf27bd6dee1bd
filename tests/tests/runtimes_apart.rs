//! No runtime's port brings another runtime with it, and none of them is large: what they have in common is the
//! driver's.

use std::path::Path;
use std::process::Command;

/// In lines of code of one port, tests and examples left out.
const PORT_LINES_MAX: usize = 200;

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

#[test]
fn a_port_stays_small() {
    for port in ["tokio", "smol"] {
        let files = std::fs::read_dir(root().join("adapters").join(port).join("src")).unwrap();
        let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let lines = |text: String| {
            text.lines().filter(|line| !line.is_empty() && !line.trim().starts_with("//")).count()
        };
        let lines: usize = texts.map(lines).sum();
        assert!(lines <= PORT_LINES_MAX, "{port}: {lines} lines");
    }
}
