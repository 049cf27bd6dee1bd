#!/usr/bin/env python3
"""Compiles the mutants of `cargo-mutants` into one crate, and runs tests with each of them alive. See `run.sh`.

    together.py rewrite LISTED.json CORE MUTANTS.json    rewrites the sources of CORE until they compile
    together.py binaries < MESSAGES.json                 the test binaries that cargo has built
    together.py run MUTANTS.json RESULTS.json FILES BINARY...
    together.py left MUTANTS.json FILES                  the names of those that cannot be compiled together
    together.py sum RESULTS_FOLDER                       what came of all of them

A mutant is alive where the environment variable MUTANT has its number. Each becomes a branch: `a < b` turns into
`(if on(7) {a <= b} else {a < b})`, a body begins with `if on(8) { return false; }`, an arm that is to be deleted is
guarded by `!on(9)`. Not so in a constant, a `const fn`, or where a type or an exhaustive match forbids it.
"""

import collections
import json
import os
import queue
import re
import subprocess
import sys
import threading

MODULE = """//! Which mutant is alive.

/// Whether it is this one.
#[inline]
pub fn on(number: u32) -> bool {
    static ALIVE: std::sync::LazyLock<u32> =
        std::sync::LazyLock::new(|| std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0));
    *ALIVE == number
}
"""

# Seconds, with all tests of the core but those below, and with those. A mutant that takes longer is caught: its tests
# take one and twenty.
FAST_TIME, SLOW_TIME = 20, 300

# What takes half a second or more. It is run for mutants that no other test caught.
SLOW = ["any_split", "exhaustive_sessions", "exhaustive_streams", "exhaustive_world", "simulation::", "scale_"]
SLOW += ["depth_costs", "random_schemas"]

# The tests that are for a file, which are tried first: most mutants fall to them.
NEAREST = {"core/src/h1/": ["h1_"], "core/src/intake/": ["intake_"], "core/src/endpoint/": ["seq_", "_found"]}

# Bytes of memory that a mutant may take: some push without end.
MEMORY = 4_000_000_000


def parse(source):
    import tree_sitter
    import tree_sitter_rust

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language())).parse(source).root_node


class File:
    """One source file, and its text with mutants in it."""

    def __init__(self, text, mutants):
        self.source = text.encode()
        lines = [0]
        for line in text.split("\n"):
            lines.append(lines[-1] + len(line) + 1)
        offset = lambda at: len(text[: lines[at["line"] - 1] + at["column"] - 1].encode())
        self.mutants = collections.defaultdict(list)
        for mutant in mutants:
            start, end = offset(mutant["span"]["start"]), offset(mutant["span"]["end"])
            # The end of a body or an arm is told in more than one way; where it starts is enough.
            exact = mutant["genre"] in ("BinaryOperator", "MatchArmGuard")
            self.mutants[mutant["genre"], start, end if exact else None].append(mutant)
        self.used = set()

    def take(self, genre, start, end=None):
        found = self.mutants[genre, start, end]
        self.used.update(mutant["number"] for mutant in found)
        return found

    def render(self, node):
        if node.type in ("const_item", "static_item", "array_type", "macro_invocation", "macro_definition"):
            return self.text(node.start_byte, node.end_byte)
        if node.type == "function_item":
            modifiers = [child.text.split() for child in node.children if child.type == "function_modifiers"]
            if any(b"const" in words for words in modifiers):
                return self.text(node.start_byte, node.end_byte)
        if node.type in ("binary_expression", "compound_assignment_expr"):
            return self.render_binary(node)
        if node.type == "unary_expression":
            inner = self.render(node.children[1])
            sound = node.children[0].text.decode() + inner
            found = self.take("UnaryOperator", node.start_byte)
            return self.choice(sound, [(mutant, inner) for mutant in found])
        if node.type == "match_arm":
            return self.render_arm(node)
        if node.type == "block" and node.parent is not None and node.parent.type == "function_item":
            return self.render_body(node)
        return self.inside(node, node.start_byte)

    def render_binary(self, node):
        operator = node.child_by_field_name("operator")
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        before = self.render(left) + self.text(left.end_byte, operator.start_byte)
        after = self.text(operator.end_byte, right.start_byte) + self.render(right)
        found = self.take("BinaryOperator", operator.start_byte, operator.end_byte)
        others = [(mutant, before + mutant["replacement"] + after) for mutant in found]
        return self.choice(before + operator.text.decode() + after, others)

    def render_arm(self, node):
        pattern = node.child_by_field_name("pattern")
        condition = pattern.child_by_field_name("condition")
        if condition is not None and condition.type in ("let_condition", "let_chain"):
            return self.inside(node, node.start_byte)
        guard, end = "true", pattern.end_byte
        if condition is not None:
            end = [child for child in pattern.children if child.type == "if"][-1].start_byte
            found = self.take("MatchArmGuard", condition.start_byte, condition.end_byte)
            guard = self.choice(self.render(condition), [(mutant, mutant["replacement"]) for mutant in found])
        deletions = self.take("MatchArm", node.start_byte)
        for mutant in deletions:
            guard = f"({self.marked(mutant, '!' + on(mutant))} && ({guard}))"
        if condition is None and not deletions:
            return self.inside(node, node.start_byte)
        rest = self.inside(node, pattern.end_byte)
        return f"{self.text(node.start_byte, end).rstrip()} if {guard}{rest}"

    def render_body(self, node):
        early = ""
        for child in node.children[1:-1]:
            found = self.take("FnValue", child.start_byte)
            for mutant in found:
                returns = self.marked(mutant, f" return {mutant['replacement']}; ")
                early += f" if {on(mutant)} {{{returns}}}"
            if found or child.type not in ("line_comment", "block_comment", "attribute_item"):
                break
        return "{" + early + self.inside(node, node.children[0].end_byte)

    def choice(self, sound, others):
        """The sound text, or another where its mutant is alive."""
        for mutant, text in others:
            sound = f"if {on(mutant)} {{{self.marked(mutant, text)}}} else {{{sound}}}"
        return f"({sound})" if others else sound

    @staticmethod
    def marked(mutant, text):
        """So that an error of the compiler is found to be this mutant's."""
        return f"/*<{mutant['number']}*/{text}/*{mutant['number']}>*/"

    def inside(self, node, at):
        """The text of a node from `at` on, its children rendered."""
        text = ""
        for child in node.children:
            if child.start_byte >= at:
                text += self.text(at, child.start_byte) + self.render(child)
                at = child.end_byte
        return text + self.text(at, node.end_byte)

    def text(self, start, end):
        return self.source[start:end].decode()


def on(mutant):
    return f"crate::mutant::on({mutant['number']})"


def rewrite(listed, core, to):
    with open(listed) as file:
        mutants = json.load(file)
    for number, mutant in enumerate(mutants, 1):
        mutant["number"] = number
    numbered = {mutant["number"]: mutant for mutant in mutants}
    root = os.path.dirname(os.path.abspath(core))
    write(os.path.join(core, "src/mutant.rs"), MODULE)
    lib = os.path.join(core, "src/lib.rs")
    write(lib, read(lib) + "\npub mod mutant;\n")
    by_file = collections.defaultdict(list)
    for mutant in mutants:
        by_file[mutant["file"]].append(mutant)
    sound = {name: read(os.path.join(root, name)) for name in by_file}
    broken, used = set(), set()
    while True:
        used.clear()
        for name, of_file in by_file.items():
            file = File(sound[name], [mutant for mutant in of_file if mutant["number"] not in broken])
            write(os.path.join(root, name), file.render(parse(file.source)))
            used |= file.used
        errors = list(compile_errors(root))
        if not errors:
            break
        blamed = set().union(*(blame(root, numbered, *error) for error in errors))
        if not blamed:
            sys.exit(f"no mutant is to blame: {errors}")
        print(f"{len(blamed)} mutants cannot be compiled with the others", flush=True)
        broken |= blamed
    names = lambda wanted: {mutant["name"]: mutant["number"] for mutant in mutants if wanted(mutant["number"])}
    found = {"together": names(lambda number: number in used), "left": names(lambda number: number not in used)}
    print(f"{len(mutants)} mutants: {len(found['together'])} together, {len(found['left'])} left")
    write(to, json.dumps(found, indent=1))


def compile_errors(root):
    """File, place and text of each error."""
    command = ["cargo", "check", "-q", "-p", "mcp-http-core", "--message-format=json"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    messages = [json.loads(line).get("message") for line in done.stdout.splitlines()]
    errors = [message for message in messages if message and message["level"] == "error" and message["spans"]]
    if done.returncode and not errors:
        sys.exit(done.stderr)
    for message in errors:
        span = ([span for span in message["spans"] if span["is_primary"]] or message["spans"])[0]
        while span.get("expansion"):
            span = span["expansion"]["span"]
        yield span["file_name"], span["byte_start"], message["message"]


def blame(root, numbered, name, at, text):
    """The innermost mutant around an error. Else those that changed what is around it: early returns of another type
    than an opaque one has, or arms that a match cannot do without."""
    source = read(os.path.join(root, name)).encode()
    spans, starts = [], {}
    for mark in re.finditer(rb"/\*<(\d+)\*/|/\*(\d+)>\*/", source):
        if mark[1]:
            starts[int(mark[1])] = mark.start()
        else:
            spans.append((starts[int(mark[2])], mark.end(), int(mark[2])))
    around = [(end - start, number) for start, end, number in spans if start <= at < end]
    if around:
        return {min(around)[1]}
    match = "non-exhaustive" in text
    kind, genre = ("match_expression", "MatchArm") if match else ("function_item", "FnValue")
    node = parse(source).descendant_for_byte_range(at, at)
    while node is not None and node.type != kind:
        node = node.parent
    within = lambda start: node is not None and node.start_byte <= start < node.end_byte
    return {number for start, _, number in spans if within(start) and numbered[number]["genre"] == genre}


def binaries():
    """The crate's own unit tests first: they are the fastest."""
    found = []
    for line in sys.stdin:
        message = json.loads(line)
        target = message.get("target", {}).get("name")
        if message.get("executable") and target in ("mcp_http_core", "one"):
            found.append((target != "mcp_http_core", message["executable"]))
    print("\n".join(executable for _, executable in sorted(found)))


def run(mutants, results, files, *executables):
    wanted = of_files(json.loads(read(mutants))["together"], files)
    known = json.loads(read(results)) if os.path.exists(results) else {}
    for try_one in (try_fast, try_slow):
        todo = queue.Queue()
        for name, number in wanted.items():
            if known.get(name, "missed") == "missed":
                todo.put((name, number))
        print(f"{len(wanted)} mutants, of which {todo.qsize()} are to be tried", flush=True)
        work = lambda: try_all(todo, try_one, executables, known, results)
        threads = [threading.Thread(target=work) for _ in range(int(os.environ.get("JOBS", "2")))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        write(results, json.dumps(known, indent=1, sort_keys=True))


LOCK = threading.Lock()


def try_all(todo, try_one, executables, known, results):
    while True:
        try:
            name, number = todo.get_nowait()
        except queue.Empty:
            return
        outcome = try_one(name, number, executables)
        with LOCK:
            known[name] = outcome
            if outcome == "missed":
                print(f"missed: {name}", flush=True)
            if len(known) % 50 == 0:
                write(results, json.dumps(known, indent=1, sort_keys=True))


def try_fast(name, number, executables):
    """What becomes of a mutant: the first test that fails, or that it takes too long, or that it is missed."""
    skips = [word for slow in SLOW for word in ("--skip", slow)]
    nearest = [test for folder, tests in NEAREST.items() if name.startswith(folder) for test in tests]
    return try_tests(number, executables, nearest + skips, FAST_TIME) or (
        try_tests(number, executables, skips, FAST_TIME) if nearest else None
    ) or "missed"


def try_slow(_, number, executables):
    return try_tests(number, executables, SLOW, SLOW_TIME) or "missed"


def try_tests(number, executables, filters, time):
    outcomes = (execute(number, [executable, *filters], time) for executable in executables)
    return next((outcome for outcome in outcomes if outcome), None)


def execute(number, command, time):
    environment = dict(os.environ, MUTANT=str(number), RUST_BACKTRACE="0", PROPTEST_DISABLE_FAILURE_PERSISTENCE="1")
    limited = ["prlimit", f"--as={MEMORY}", *command]
    process = subprocess.Popen(limited, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True)
    late = threading.Event()
    timer = threading.Timer(time, lambda: (late.set(), process.kill()))
    timer.start()
    failed = None
    with process.stdout:
        for line in process.stdout:
            if line.startswith("test ") and line.rstrip().endswith("FAILED"):
                failed = line.split()[1]
                process.kill()
                break
    code = process.wait()
    timer.cancel()
    if failed:
        return f"caught by {failed}"
    if late.is_set():
        return "timeout"
    return f"caught: exit {code}" if code else None


def left(mutants, files):
    print("\n".join(of_files(json.loads(read(mutants))["left"], files)))


def of_files(mutants, files):
    return {name: number for name, number in mutants.items() if re.search(files, name.split(":")[0])}


def total(folder):
    counts = collections.Counter()
    missed = []
    for name, outcome in json.loads(read(os.path.join(folder, "together.json"))).items():
        counts[area(name), outcome.split()[0].rstrip(":")] += 1
        missed += [name] * (outcome == "missed")
    for outcome in ("caught", "missed", "timeout", "unviable"):
        path = os.path.join(folder, "mutants.out", outcome + ".txt")
        names = read(path).splitlines() if os.path.exists(path) else []
        for name in names:
            counts[area(name), outcome] += 1
        missed += names if outcome == "missed" else []
    print(f"{'':12}caught timeout missed unviable")
    for where in sorted({where for where, _ in counts}):
        row = [counts[where, outcome] for outcome in ("caught", "timeout", "missed", "unviable")]
        print(f"{where:12}{row[0]:6}{row[1]:8}{row[2]:7}{row[3]:9}")
    print("\n".join(["", "missed:", *sorted(missed)]))


def area(name):
    parts = name.split(":")[0].split("/")
    return parts[2] if len(parts) > 3 else "(core/src)"


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    commands = {"rewrite": rewrite, "binaries": binaries, "run": run, "left": left, "sum": total}
    commands[sys.argv[1]](*sys.argv[2:])
