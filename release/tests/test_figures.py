"""What holds for the figures of the documents, whatever is measured."""

import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]


def script() -> ModuleType:
    """Loads scripts/figures, whose name has no ending."""
    loader = SourceFileLoader("figures", str(ROOT / "scripts/figures"))
    spec = importlib.util.spec_from_loader("figures", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Its data classes look for their module there.
    sys.modules["figures"] = module
    with mock.patch.object(sys, "dont_write_bytecode", True):
        loader.exec_module(module)
    return module


figures = script()
Figure = figures.Figure
X = figures.TIMES


class Forms(unittest.TestCase):
    """How values and tables look."""

    def test_values_have_the_unit_that_suits_them(self) -> None:
        """Three digits, or whole numbers from a thousand on."""
        for value, unit, expected in [
            (138.2, "ns", "138 ns"),
            (6180, "ns", "6.18 µs"),
            (1.14e6, "ns", "1.14 ms"),
            (2.5e12, "ns", "2,500 s"),
            (0.4, "ns", "0.4 ns"),
            (10.9e6, "bytes", "10.9 MB"),
            (805, "bytes", "805 bytes"),
            (1.034, X, f"1.03 {X}"),
            (8263, "", "8,263"),
        ]:
            self.assertEqual(figures.shown(value, unit), expected)

    def test_a_table_has_the_median_of_all_runs_and_their_spread(self) -> None:
        """Bounds of single runs widen the spread."""
        runs = [
            {("push", "median"): Figure(value, "ns", low, high), ("push", "copies"): Figure(value / 10, "")}
            for value, low, high in [(100, 99, 101), (140, 139, 141), (110, 90, 111)]
        ]
        lines = figures.table(figures.combined(runs), None)
        self.assertEqual(
            lines,
            [
                "| | median | spread | copies |".replace("| |", "|  |"),
                "|---|---:|---:|---:|",
                "| push | 110 ns | 90 ns to 141 ns | 11 |",
            ],
        )

    def test_an_earlier_commit_stands_beside_with_the_ratio(self) -> None:
        """A row that the earlier commit does not have stays without a ratio."""
        here = {("push", "median"): Figure(150, "ns"), ("new", "median"): Figure(1, "ns")}
        lines = figures.table(here, {("push", "median"): Figure(100, "ns")})
        self.assertEqual(lines[0], "|  | median | earlier | ratio to earlier |")
        self.assertEqual(lines[2:], ["| push | 150 ns | 100 ns | 1.50 |", "| new | 1 ns |  |  |"])

    def test_only_the_lines_between_the_marks_of_a_part_change(self) -> None:
        """Other parts and the texts around stay."""
        text = (
            "a\n<!-- make figures: one -->\nold\nold\n<!-- end -->\nb\n<!-- make figures: two -->\nkept\n<!-- end -->\n"
        )
        self.assertEqual(figures.with_marked(text, "one", ["new"]), text.replace("old\nold", "new"))
        with self.assertRaisesRegex(SystemExit, "has no line '<!-- make figures: three -->'"):
            figures.with_marked(text, "three", [])


class Reading(unittest.TestCase):
    """What benches print."""

    def test_cells(self) -> None:
        """A cell can have several values of one unit. Anything else is no figure."""
        self.assertEqual(figures.figures_in(" 4.5 ms "), [Figure(4.5e6, "ns")])
        self.assertEqual(figures.figures_in("2.5, 20.0 ms"), [Figure(2.5e6, "ns"), Figure(20e6, "ns")])
        self.assertEqual(figures.figures_in(f"1.03 {X}"), [Figure(1.03, X)])
        for cell in ("", "n = 1000", "12", "3 parsecs", "4.5 ms later"):
            self.assertEqual(figures.figures_in(cell), [])

    def test_tables(self) -> None:
        """Several tables in one text, as the bench of years prints them."""
        text = (
            "60 seconds:\n\n| frames | open | 99.9 %, slowest |\n|---|---|---|\n| 1000 | 4.0 ms | 1.5, 8.0 ms |\n\n"
            "| frames | database |\n|---|---|\n| 1000 | 9 MB |\nyears/open/1000: 4 ms\n"
        )
        self.assertEqual(
            figures.read_table(text),
            {
                ("1000", "open"): Figure(4e6, "ns"),
                ("1000", "99.9 %"): Figure(1.5e6, "ns"),
                ("1000", "slowest"): Figure(8e6, "ns"),
                ("1000", "database"): Figure(9e6, "bytes"),
            },
        )

    def test_columns(self) -> None:
        """Heads are lines without a name, and a head can have a space in it."""
        text = (
            f"10000 frames, in milliseconds\n{'':<32}{'300 bytes':>10}{'2 KB':>10}\n"
            f"{'tree --all':<32}{'47.5':>10}{'75.0':>10}\n"
            f"\n{'':<32}{'unfinished':>12}{'finished':>12}\n{'mcp, resident (MB)':<32}{'25.0':>12}{'?':>12}\n"
        )
        self.assertEqual(
            figures.read_columns(text, 32),
            {
                ("tree --all", "300 bytes"): Figure(47.5e6, "ns"),
                ("tree --all", "2 KB"): Figure(75e6, "ns"),
                ("mcp, resident", "unfinished"): Figure(25e6, "bytes"),
            },
        )

    def test_calls_of_another_language(self) -> None:
        """Each call stands beside the same one in Rust."""
        times = {"cached": {"median": 0.8, "late": 2.5}}
        rust = {"cached": {"median": 0.2, "late": 0.5}}
        found = {"runtime": "Node 20.20.2", "names": {"cached": "context"}, "here": times, "rust": rust}
        run = figures.calls(f"a warning\n{json.dumps(found)}\n")
        self.assertEqual(
            {column: (figure.value, figure.unit) for (_, column), figure in run.items()},
            {
                "Node 20.20": (800, "ns"),
                "99.9 %": (2500, "ns"),
                "Rust": (200, "ns"),
                "99.9 % in Rust": (500, "ns"),
                "ratio to Rust": (4, X),
            },
        )

    def test_estimates_are_found_in_the_folders_of_criterion(self) -> None:
        """Criterion joins the name of a group to one folder, and its benches have folders below."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for path, value in (("ops_push/1000", 10.0), ("memory_push_mirrored", 20.0)):
                (folder / path / "new").mkdir(parents=True)
                interval = {"lower_bound": value - 1, "upper_bound": value + 1}
                content = json.dumps({"median": {"point_estimate": value, "confidence_interval": interval}})
                (folder / path / "new/estimates.json").write_text(content)
            self.assertEqual(figures.estimate(folder, "ops/push/1000"), Figure(10, "ns", 9, 11))
            self.assertEqual(figures.estimate(folder, "memory/push_mirrored"), Figure(20, "ns", 19, 21))
            self.assertIsNone(figures.estimate(folder, "ops/pop/1000"))


class Documents(unittest.TestCase):
    """The documents of this tree."""

    def test_every_part_has_its_marks(self) -> None:
        """Else a run of an hour ends with an error."""
        text = (ROOT / "docs/figures.md").read_text(encoding="utf-8")
        for part in figures.PARTS:
            self.assertEqual(figures.with_marked(text, part, ["x"]).count("\nx\n"), 1, part)
        self.assertEqual(text.count("<!-- make figures: "), len(figures.PARTS))

    def test_the_readme_has_the_figures_of_the_hosts(self) -> None:
        """Both documents say the same: scripts/figures --only readme."""
        hosts = (ROOT / "docs/hosts.md").read_text(encoding="utf-8")
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        self.assertEqual(figures.with_marked(text, "jobs", figures.readme(hosts)), text)

    def test_the_sentences_follow_from_the_table(self) -> None:
        """The lowest and the highest figure of each column, and the number of rows."""
        rows = "| a | 100 % | **33 %** | 34 % | x |\n| b | 104 % | **62 %** | 61 % | y |\n"
        told = " ".join(figures.readme(rows))
        self.assertIn("12 sub-tasks costs 33 to 62 %", told)
        self.assertIn("in two real agents", told)
        self.assertIn("2 sub-tasks costs 100 to 104 %", told)
        with self.assertRaisesRegex(SystemExit, "make bench-hosts"):
            figures.readme("no table")


class Machine(unittest.TestCase):
    """A machine that does other work."""

    def test_it_is_refused_or_the_table_says_so(self) -> None:
        """Only --anyway measures it."""
        self.assertIsNone(figures.refusal(0.02, False))
        self.assertIn("50% of this machine", figures.refusal(0.5, False))
        self.assertIsNone(figures.refusal(0.5, True))
        self.assertIn("it was loaded", figures.told("abc", None, 1, 0.5))
        told = figures.told("abc", "def", 3, 0.02)
        self.assertNotIn("loaded", told)
        self.assertIn("commit abc", told)
        self.assertIn("in turns with the earlier commit def, 3 runs", told)

    def test_a_refused_machine_is_not_measured(self) -> None:
        """Nothing is built, and no document changes."""
        with (
            mock.patch.object(figures, "WATCHED", 0.0),
            mock.patch.object(figures, "others", lambda: mock.MagicMock(__enter__=lambda _: [0.9])),
            mock.patch.object(figures, "measured") as measured,
            self.assertRaisesRegex(SystemExit, "other processes use 90%"),
        ):
            figures.main(["--only", "growth"])
        measured.assert_not_called()

    def test_the_own_work_is_not_that_of_others(self) -> None:
        """What this process and its children have used is taken from what all have used."""
        cores = os.cpu_count() or 1
        for own, share in ((8.0, 0.0), (3.0, 5 / 10 / cores), (9.0, 0.0)):
            with (
                mock.patch.object(figures, "used", side_effect=[(100.0, 20.0), (108.0, 20.0 + own)]),
                mock.patch.object(figures.time, "monotonic", side_effect=[0.0, 10.0]),
                figures.others() as shares,
            ):
                pass
            self.assertEqual(shares, [share])

    @unittest.skipUnless(Path("/proc/stat").exists(), "this system does not say what processes use")
    def test_the_work_of_a_child_is_the_own_one(self) -> None:
        """A child counts when it has ended."""
        before = figures.used()
        subprocess.run([sys.executable, "-c", "for number in range(10**6): pass"], check=True)
        after = figures.used()
        self.assertGreater(after[1], before[1])
        self.assertGreaterEqual(after[0], before[0])

    def test_unknown_parts_are_named(self) -> None:
        """With those that there are."""
        with self.assertRaisesRegex(SystemExit, "no such parts: speed; there are engine, growth"):
            figures.main(["--only", "speed"])


class Turns(unittest.TestCase):
    """An earlier commit beside this tree."""

    def test_trees_take_turns_and_neither_is_always_first(self) -> None:
        """The figures of a tree stay with it."""
        order: list[str] = []

        def part(tree: str) -> dict[tuple[str, str], object]:
            order.append(tree)
            return {("row", "median"): Figure({"here": 1, "earlier": 2}[tree], "ns")}

        with mock.patch.dict(figures.PARTS, {"test": part}):
            results, _ = figures.measured("test", ["here", "earlier"], 3)
        self.assertEqual(order, ["here", "earlier", "earlier", "here", "here", "earlier"])
        self.assertEqual([run["row", "median"].value for run in results[0]], [1, 1, 1])
        self.assertEqual([run["row", "median"].value for run in results[1]], [2, 2, 2])

    def test_an_earlier_commit_is_checked_out_with_the_benches_of_this_tree(self) -> None:
        """It is removed at the end, also after an error; what was built stays."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            files = [f"{part}/bench" for part in ("benches", "cli/benches", "bindings/node/benches")]
            files += ["bindings/python/benches/bench", "source"]

            def commit(content: str) -> None:
                for path in files:
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_text(content)
                author = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
                for words in (["init", "--quiet"], ["add", "."], [*author, "commit", "--quiet", "-m", content]):
                    subprocess.run(["git", *words], cwd=folder, check=True)

            commit("old")
            commit("new")
            with mock.patch.multiple(figures, ROOT=folder, OUTPUT=folder / "target/figures"):
                for _ in range(2):
                    with self.assertRaises(ZeroDivisionError), figures.earlier_tree("HEAD~1", "cargo") as tree:
                        self.assertEqual((tree.root / "source").read_text(), "old")
                        self.assertEqual({(tree.root / path).read_text() for path in files[:-1]}, {"new"})
                        (tree.root / "target/built").touch()
                        raise ZeroDivisionError
                    self.assertFalse(tree.root.exists())
                    self.assertTrue((folder / "target/figures/earlier-target/built").exists())
                with figures.earlier_tree(None, "cargo") as none:
                    self.assertIsNone(none)

    def test_what_the_earlier_commit_cannot_do_stays_empty(self) -> None:
        """This tree must be able to do it."""

        def part(tree: str) -> dict[tuple[str, str], object]:
            if tree == "broken":
                raise subprocess.CalledProcessError(1, "cargo")
            return {("row", "median"): Figure(1, "ns")}

        with mock.patch.dict(figures.PARTS, {"test": part}), redirect_stderr(io.StringIO()) as printed:
            results, _ = figures.measured("test", ["here", "broken"], 1)
            self.assertEqual([len(run) for runs in results for run in runs], [1, 0])
            self.assertIn("cannot be measured in the earlier commit", printed.getvalue())
            with self.assertRaises(subprocess.CalledProcessError):
                figures.measured("test", ["broken", "here"], 1)

    def test_a_run_writes_the_table_and_keeps_all_figures(self) -> None:
        """The table is in the document, on the screen and in a file."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "docs").mkdir()
            (folder / "docs/figures.md").write_text("<!-- make figures: test -->\nold\n<!-- end -->\n")
            part = lambda _: {("row", "median"): Figure(5000, "ns")}  # noqa: E731
            printed = io.StringIO()
            with (
                mock.patch.dict(figures.PARTS, {"test": part}),
                mock.patch.multiple(figures, ROOT=folder, OUTPUT=folder / "out", WATCHED=0.0),
                mock.patch.object(figures.Tree, "commit", lambda _: "abc"),
                redirect_stdout(printed),
                redirect_stderr(io.StringIO()),
            ):
                figures.main(["--only", "test", "--anyway", "--runs", "2"])
            written = (folder / "docs/figures.md").read_text(encoding="utf-8")
            self.assertIn("commit abc", written)
            self.assertIn("| row | 5 µs | 5 µs to 5 µs |", written)
            self.assertIn("| row | 5 µs |", printed.getvalue())
            kept = json.loads((folder / "out/test.json").read_text(encoding="utf-8"))
            self.assertEqual(kept["runs"], {"here": [[["row", "median", 5000, "ns"]]] * 2})


if __name__ == "__main__":
    unittest.main()
