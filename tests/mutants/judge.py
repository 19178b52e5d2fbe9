"""Judges mutants that are woven into one program: which tests fail with each of them.

    judge.py FOLDER reach    runs each test alone and notes which mutants it reaches
    judge.py FOLDER          judges each mutant with the tests that reach it, all of them if need be

FOLDER has the programs of the tests as `weave.py` and cargo made them. Both steps keep what they found in it, in
`reach.json` and `outcomes.json`, and go on from there when they are started again.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

FOLDER = pathlib.Path(sys.argv[1]).resolve()
WORKERS = os.cpu_count()
# A mutant is first tried with few quick tests at once, which notice most of them.
ROUNDS = (12, 40)
# Mutants that those did not notice are tried together: most of them change nothing that any test can see.
TOGETHER = 8


class Programs:
    """The programs of the tests. A test is the name of a program and that of a test in it."""

    def __init__(self):
        lines = (FOLDER / "programs.json").read_text().splitlines()
        built = [json.loads(line) for line in lines if line.startswith('{"reason":"compiler-artifact"')]
        wanted = {("tests", "integration"), ("plugin", "plugin"), ("example-host", "example_host")}
        self.paths = {}
        for unit in built:
            package = pathlib.Path(unit["manifest_path"]).parent
            if unit["executable"] and (package.name, unit["target"]["name"]) in wanted and unit["profile"]["test"]:
                self.paths[package.name] = (unit["executable"], package)

    def tests(self):
        for name in self.paths:
            ignored = set(self.listed(name, "--ignored"))
            yield from ((name, test) for test in self.listed(name) if test not in ignored)

    def listed(self, name, *options):
        program, package = self.paths[name]
        output = subprocess.run([program, "--list", *options], cwd=package, capture_output=True, text=True, check=True)
        return [line.removesuffix(": test") for line in output.stdout.splitlines() if line.endswith(": test")]

    def run(self, name, tests, limit, **variables):
        """The names of the tests that fail; all of them if the program ends otherwise or takes too long."""
        program, package = self.paths[name]
        command = [program, "--exact", *tests, "--test-threads=2"]
        with tempfile.TemporaryDirectory() as files:
            environment = {**os.environ, "TMPDIR": files, "INSTA_UPDATE": "no", **variables}
            process = subprocess.Popen(
                command, cwd=package, env=environment, start_new_session=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            )
            try:
                output, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                # With all that the tests have started.
                os.killpg(process.pid, 9)
                process.communicate()
                return set(tests)
        if process.returncode == 0:
            return set()
        failed = {line.split()[1] for line in output.splitlines() if line.startswith("test ") and line.endswith("FAILED")}
        return failed & set(tests) or set(tests)


def reach(programs):
    path = FOLDER / "reach.json"
    found = json.loads(path.read_text()) if path.is_file() else {}

    def one(test):
        with tempfile.TemporaryDirectory() as folder:
            begun = time.monotonic()
            failed = programs.run(test[0], [test[1]], 600, MUTANTS_REACHED=folder)
            seconds = time.monotonic() - begun
            numbers = {int(line) for file in pathlib.Path(folder).iterdir() for line in file.read_text().split()}
        return test, {"seconds": round(seconds, 2), "fails": bool(failed), "mutants": sorted(numbers)}

    left = [test for test in programs.tests() if "/".join(test) not in found]
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for count, (test, outcome) in enumerate(pool.map(one, left)):
            found["/".join(test)] = outcome
            if count % 50 == 49 or count == len(left) - 1:
                path.write_text(json.dumps(found))
    for test, outcome in found.items():
        if outcome["fails"]:
            print(f"{test} fails without any mutant")


class Judge:
    def __init__(self, programs):
        self.programs = programs
        known = json.loads((FOLDER / "reach.json").read_text())
        known = {test: outcome for test, outcome in known.items() if not outcome["fails"]}
        self.seconds = {test: outcome["seconds"] for test, outcome in known.items()}
        self.tests = collections.defaultdict(list)
        for test in sorted(known, key=self.seconds.get):
            for number in known[test]["mutants"]:
                self.tests[number].append(test)
        self.path = FOLDER / "outcomes.json"
        self.outcomes = json.loads(self.path.read_text()) if self.path.is_file() else {}
        self.writing = threading.Lock()

    def failed(self, numbers, tests):
        """Which of these tests fail with these mutants."""
        failed = set()
        for name in self.programs.paths:
            chosen = [test.split("/", 1)[1] for test in tests if test.startswith(f"{name}/")]
            if chosen:
                limit = 30 + 5 * sum(self.seconds[f"{name}/{test}"] for test in chosen)
                found = self.programs.run(name, chosen, limit, MUTANTS=",".join(map(str, numbers)))
                failed |= {f"{name}/{test}" for test in found}
        return failed

    def note(self, number, outcome):
        with self.writing:
            self.outcomes[str(number)] = outcome
            if len(self.outcomes) % 20 == 0:
                self.path.write_text(json.dumps(self.outcomes))

    def alone(self, number):
        """Tries a mutant with few tests; true if all passed."""
        begin = 0
        for size in ROUNDS:
            tests = self.tests[number][begin : begin + size]
            if failed := self.failed([number], tests):
                self.note(number, {"noticed": sorted(failed)[:3], "of": begin + len(tests)})
                return False
            begin += size
        return True

    def together(self, numbers):
        """Tries mutants with all other tests that reach one of them."""
        while numbers:
            tests = {test for number in numbers for test in self.tests[number][sum(ROUNDS) :]}
            failed = self.failed(numbers, tests) if tests else set()
            if not failed:
                for number in numbers:
                    self.note(number, {"noticed": [], "of": len(self.tests[number])})
                return
            left = []
            for number in numbers:
                own = failed & set(self.tests[number][sum(ROUNDS) :])
                if own and (noticed := self.failed([number], own)):
                    self.note(number, {"noticed": sorted(noticed)[:3], "of": len(self.tests[number])})
                else:
                    left.append(number)
            if len(left) == len(numbers):
                # They fail together only.
                if len(numbers) == 1:
                    self.note(numbers[0], {"noticed": [], "of": len(self.tests[numbers[0]])})
                    return
                self.together(numbers[: len(numbers) // 2])
                self.together(numbers[len(numbers) // 2 :])
                return
            numbers = left

    def all(self, numbers):
        numbers = [number for number in numbers if str(number) not in self.outcomes]
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            passed = [number for number, all_passed in zip(numbers, pool.map(self.alone, numbers)) if all_passed]
            # Those that few tests reach are known soon. Neighbours are reached by the same tests.
            passed.sort(key=lambda number: len(self.tests[number]))
            groups = [passed[begin : begin + TOGETHER] for begin in range(0, len(passed), TOGETHER)]
            list(pool.map(self.together, groups))
        self.path.write_text(json.dumps(self.outcomes))


def main():
    programs = Programs()
    if sys.argv[2:] == ["reach"]:
        reach(programs)
        return
    names = dict(line.split("\t", 1) for line in (FOLDER / "mutants.tsv").read_text().splitlines())
    judge = Judge(programs)
    judge.all([int(number) for number in names])
    counts = collections.defaultdict(collections.Counter)
    for number, name in names.items():
        outcome = judge.outcomes[number]
        part = "/".join(name.split(":")[0].split("/")[:3])
        counts[part]["noticed" if outcome["noticed"] else "not noticed" if outcome["of"] else "not reached"] += 1
        if not outcome["noticed"]:
            print(f"{name} ({outcome['of']} tests reach it)")
    for part, count in counts.items():
        print(part, dict(count))


if __name__ == "__main__":
    main()
