"""Weaves mutants into the sources of a copy of this project, so that one program has them all.

`cargo-mutants` lists what to change and where. Each change becomes a branch on `crate::mutant(number)`, which the
variable MUTANTS decides while the program runs:

    weave.py FOLDER LIST            weaves the mutants of a list into the sources in a folder
    weave.py FOLDER LIST --without  the same, without those that the compiler refused in a log on standard input

The table of mutants is written to `mutants.tsv` in the folder. Constants are left out, because no variable can change
them, and functions that return a type without a name, because a second body would have another one.
"""

import collections
import json
import pathlib
import re
import sys

import tree_sitter
import tree_sitter_rust

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))

# In how many lines the arms of a `match` are looked for.
ARMS = 40

# What each crate gets. The numbers that a run has reached are appended to a file for its process.
SWITCH = """
/// Whether the mutant with this number is chosen.
#[allow(dead_code)]
pub(crate) fn mutant(number: u32) -> bool {
    use std::io::Write;
    use std::sync::atomic::{AtomicU64, Ordering};
    static CHOSEN: std::sync::OnceLock<(Vec<u32>, Option<String>)> = std::sync::OnceLock::new();
    static REACHED: [AtomicU64; 128] = [const { AtomicU64::new(0) }; 128];
    let (chosen, folder) = CHOSEN.get_or_init(|| {
        let numbers = std::env::var("MUTANTS").unwrap_or_default();
        let numbers = numbers.split(',').filter_map(|number| number.parse().ok()).collect();
        (numbers, std::env::var("MUTANTS_REACHED").ok())
    });
    if let Some(folder) = folder {
        let (word, bit) = (&REACHED[number as usize / 64], 1 << (number % 64));
        if word.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            let path = format!("{folder}/{}", std::process::id());
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            let _ = file.and_then(|mut file| writeln!(file, "{number}"));
        }
    }
    chosen.contains(&number)
}
"""


class Source:
    """A file, its syntax, and the changes that are woven into it."""

    def __init__(self, path):
        # What it was before anything was woven into it.
        kept = path.with_suffix(".rs.unwoven")
        if not kept.is_file():
            kept.write_bytes(path.read_bytes())
        self.text = kept.read_bytes()
        self.is_root = False
        self.tree = PARSER.parse(self.text)
        self.lines = self.text.decode().split("\n")
        self.bodies = collections.defaultdict(list)
        self.expressions = collections.defaultdict(list)
        self.arms = collections.defaultdict(list)
        self.guards = collections.defaultdict(list)

    def offset(self, place):
        """The byte at a line and a column of characters, both from 1."""
        line = place["line"] - 1
        before = sum(len(text.encode()) + 1 for text in self.lines[:line])
        return before + len(self.lines[line][: place["column"] - 1].encode())

    def node(self, start, end, *kinds):
        """The smallest node of one of these kinds that contains these bytes; none within a constant."""
        node = self.tree.root_node.descendant_for_byte_range(start, end)
        while node is not None and node.type not in kinds:
            node = node.parent
        return None if is_constant(node) else node

    def source(self, start, end):
        return self.text[start:end].decode()

    def plan(self, number, mutant):
        """Notes a mutant; false where it cannot be a branch."""
        start, end = self.offset(mutant["span"]["start"]), self.offset(mutant["span"]["end"])
        replacement, genre = mutant["replacement"], mutant["genre"]
        if genre == "FnValue":
            block = self.node(start, end, "block")
            if block is None or b"impl " in (self.field(block.parent, "return_type") or b""):
                return False
            self.bodies[block.start_byte].append((number, replacement))
        elif genre == "BinaryOperator":
            node = self.node(start, end, "binary_expression", "compound_assignment_expr", "let_chain")
            if node is None or node.type == "let_chain":
                return False
            other = self.source(node.start_byte, start) + replacement + self.source(end, node.end_byte)
            self.expressions[node.start_byte, node.end_byte].append((number, other))
        elif genre == "UnaryOperator":
            node = self.node(start, end, "unary_expression")
            if node is None:
                return False
            self.expressions[node.start_byte, node.end_byte].append((number, self.source(end, node.end_byte)))
        elif genre == "MatchArm":
            arm = self.node(start, end - 1, "match_arm")
            if arm is None or self.has_pattern(arm.child_by_field_name("pattern")):
                return False
            self.arms[arm.child_by_field_name("pattern").start_byte].append(number)
        elif genre == "MatchArmGuard":
            pattern = self.node(start, end, "match_pattern")
            if pattern is None or self.has_pattern(pattern):
                return False
            self.guards[pattern.start_byte].append((number, replacement))
        else:
            return False
        return True

    @staticmethod
    def field(node, name):
        child = node.child_by_field_name(name)
        return None if child is None else child.text

    def has_pattern(self, pattern):
        """Whether the condition of an arm has a pattern of its own: then it is no expression."""
        return b"let " in (self.field(pattern, "condition") or b"")

    def woven(self):
        return self.render(self.tree.root_node) + SWITCH * self.is_root

    def render(self, node):
        if node.type == "match_pattern":
            return self.pattern(node)
        parts, at = [], node.start_byte
        for child in node.children:
            parts += [self.source(at, child.start_byte), self.render(child)]
            at = child.end_byte
        parts.append(self.source(at, node.end_byte))
        text = "".join(parts)
        if node.type == "block" and node.start_byte in self.bodies:
            early = "".join(f"if {chosen(n)} {{ return {marked(n, other)}; }}\n" for n, other in self.bodies[node.start_byte])
            return "{\n" + early + text[1:]
        if node.type in ("binary_expression", "compound_assignment_expr", "unary_expression"):
            for number, other in self.expressions.get((node.start_byte, node.end_byte), ()):
                text = f"(if {chosen(number)} {{ {marked(number, other)} }} else {{ {text} }})"
        return text

    def pattern(self, node):
        """A pattern of an arm, which may have a guard."""
        condition = node.child_by_field_name("condition")
        arms = " && ".join(f"!{chosen(number)}" for number in self.arms.get(node.start_byte, ()))
        if condition is None:
            text = self.source(node.start_byte, node.end_byte)
            return f"{text} if {arms}" if arms else text
        text = self.render(condition)
        for number, other in self.guards.get(node.start_byte, ()):
            text = f"{chosen(number)} || ({text})" if other == "true" else f"!{chosen(number)} && ({text})"
        if arms:
            text = f"{arms} && ({text})"
        return self.source(node.start_byte, condition.start_byte) + text


def is_constant(node):
    while node is not None:
        if node.type in ("const_item", "static_item", "const_block", "array_type"):
            return True
        if node.type == "function_item":
            return any(c.type == "function_modifiers" and b"const" in c.text for c in node.children)
        node = node.parent
    return False


def chosen(number):
    return f"crate::mutant({number})"


def marked(number, text):
    """A text on lines of its own, by which an error of the compiler is recognised."""
    return f"\n/*<{number}*/ {text} /*{number}>*/\n"


def refused(folder, log):
    """The mutants in whose lines the compiler found errors."""
    numbers = set()
    for line in log:
        try:
            message = json.loads(line).get("message")
        except ValueError:
            continue
        if not isinstance(message, dict) or message.get("level") != "error":
            continue
        for span in message["spans"]:
            path = folder / span["file_name"]
            if path.is_file():
                lines = path.read_text().split("\n")[span["line_start"] - 1 :]
                if (message["code"] or {}).get("code") == "E0004":
                    # Without one of its arms, a `match` leaves something out.
                    pattern, last = r" if !crate::mutant\((\d+)\) =>", ARMS
                else:
                    pattern, last = r"crate::mutant\((\d+)\)|/\*<(\d+)\*/", span["line_end"] - span["line_start"] + 1
                matches = re.finditer(pattern, "\n".join(lines[:last]))
                found = {int(match[match.lastindex]) for match in matches}
                numbers |= found
                if not found:
                    print(f"{span['file_name']}:{span['line_start']}: {message['message']}", file=sys.stderr)
    return numbers


def main():
    folder, listed = pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text())
    table, without = folder / "mutants.tsv", folder / "refused.json"
    left_out = set(json.loads(without.read_text())) if without.is_file() else set()
    if "--without" in sys.argv:
        found = refused(folder, sys.stdin) - left_out
        left_out |= found
        without.write_text(json.dumps(sorted(left_out)))
        print(f"{len(found)} more do not compile")
    sources, rows, impossible = {}, [], 0
    for number, mutant in enumerate(listed):
        source = sources[mutant["file"]] = sources.get(mutant["file"]) or Source(folder / mutant["file"])
        if number in left_out:
            continue
        if source.plan(number, mutant):
            rows.append((number, mutant["name"]))
        else:
            impossible += 1
    for crate in {mutant["file"].split("/")[0] + "/src/lib.rs" for mutant in listed}:
        sources[crate] = sources.get(crate) or Source(folder / crate)
        sources[crate].is_root = True
    for path, source in sources.items():
        (folder / path).write_text(source.woven())
    table.write_text("".join(f"{number}\t{name}\n" for number, name in rows))
    print(f"{len(rows)} mutants are woven, {impossible} cannot be, {len(left_out)} do not compile")


if __name__ == "__main__":
    main()
