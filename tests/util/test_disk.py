"""Files appear whole or not at all, whoever writes them, and nothing is left beside them."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow
from hedgerow import RandomForestClassifier
from hedgerow.cli.app import app
from hedgerow.datasets.fetch import ArffRows
from hedgerow.datasets.fetch import _write as write_dataset
from hedgerow.explain.report import Report
from hedgerow.study.experiments.frame import Unit, _keep
from hedgerow.study.experiments.report import Figure, StudyReport
from hedgerow.util import disk
from hedgerow.util.disk import clear_partials, whole_file, write_whole

resource = pytest.importorskip("resource", reason="a full disk is tested where files can be limited")

X = np.random.default_rng(0).normal(size=(400, 4))
LABELS = np.where(X[:, 0] > 0, "yes", "no")


@contextmanager
def full_disk(room: int = 4096) -> Iterator[None]:
    """No file may grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model and a table as files."""
    folder = tmp_path_factory.mktemp("given")
    rows = "".join(",".join(map(str, [*row, label])) + "\n" for row, label in zip(X, LABELS, strict=True))
    (folder / "t.csv").write_text("a,b,c,d,y\n" + rows)
    made = CliRunner().invoke(
        app, ["fit", str(folder / "t.csv"), "--target", "y", "--trees", "3", "-o", str(folder / "m.hedge")]
    )
    assert made.exit_code == 0
    return folder / "m.hedge", folder / "t.csv"


def command(*words: Any) -> Callable[[Path, tuple[Path, Path]], None]:
    """Words with MODEL, DATA and OUT in them -> the command, whose failure is an OSError as in the library."""

    def call(out: Path, table: tuple[Path, Path]) -> None:
        given = {"MODEL": table[0], "DATA": table[1], "OUT": out}
        done = CliRunner().invoke(app, [str(given.get(word, word)) for word in words])
        if done.exit_code == 1:
            raise OSError(done.stderr.replace("\n", ""))
        assert done.exit_code == 0, done.output

    return call


def draw(folder: Path) -> None:
    figure = Figure("drawn", "Drawn", lambda canvas: canvas.subplots().plot(np.arange(2000) % 7))
    StudyReport("t", "s", "c", [], [figure]).write(folder)


WRITERS: dict[str, tuple[str, Callable[[Path, tuple[Path, Path]], Any]]] = {
    "save": ("m.hedge", lambda out, _: hedgerow.save(RandomForestClassifier(9).fit(X, LABELS), out)),
    "Report.save": ("page.html", lambda out, _: Report("x" * 100_000, {}).save(out)),
    "fit": ("m.hedge", command("fit", "DATA", "--target", "y", "-o", "OUT")),
    "predict": ("answers.csv", command("predict", "MODEL", "DATA", "-o", "OUT", "--force")),
    "predict --json": ("answers.jsonl", command("predict", "MODEL", "DATA", "--json", "-o", "OUT")),
    "predict Parquet": ("answers.parquet", command("predict", "MODEL", "DATA", "-o", "OUT", "--force")),
    "explain": ("page.html", command("explain", "MODEL", "DATA", "--row", "1", "--html", "OUT", "--force")),
    "report": ("page.html", command("report", "MODEL", "DATA", "-o", "OUT", "--force", "--seconds", "0")),
    "unit": ("key.json", lambda out, _: _keep(out.parent, Unit("key", {}, 1.0), {"a": "x" * 10_000})),
    "figure": ("figures/drawn.svg", lambda out, _: draw(out.parents[1])),
    "data set": ("set.csv.gz", lambda out, _: write_dataset(ArffRows(("a",), [[str(each)] for each in X[:, 0]]), out)),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("there", [True, False], ids=["replaced", "new"])
def test_a_full_disk_leaves_the_old_file_whole_and_nothing_beside_it(
    name: str, there: bool, table: tuple[Path, Path], tmp_path: Path
) -> None:
    file, write = WRITERS[name]
    out = tmp_path / file
    if name == "fit":
        write(out, table)
    elif there:
        out.parent.mkdir(exist_ok=True)
        out.write_bytes(b"old")
    if not there:
        out.unlink(missing_ok=True)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with full_disk(1024), pytest.raises(OSError, match=out.name):  # the error names the file
        write(out, table)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    write(out, table)  # and once there is room, it works
    assert out.read_bytes() != b"old"
    assert not list(tmp_path.rglob(".*"))


def test_a_full_disk_stops_a_checkpoint_by_name_and_leaves_no_hidden_file(tmp_path: Path) -> None:
    with full_disk(1024), pytest.raises(OSError, match=r"trees-0000000-[0-9]+\.npz"):
        RandomForestClassifier(4, random_state=0).fit(X, LABELS, checkpoint=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.json"]
    RandomForestClassifier(4, random_state=0).fit(X, LABELS, checkpoint=tmp_path)


def killed(path: Path) -> None:
    """A process that is killed while it writes a file."""
    script = (
        "import os, signal, sys\nfrom hedgerow.util.disk import whole_file\n"
        "with whole_file(sys.argv[1]) as passing:\n"
        "    passing.write_bytes(b'half')\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(hedgerow.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", script, path], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL


def test_what_a_killed_save_has_left_goes_with_the_next_to_the_same_name(tmp_path: Path) -> None:
    path = tmp_path / "m.hedge"
    killed(path)
    killed(tmp_path / "n.hedge")
    assert len(list(tmp_path.iterdir())) == 2
    hedgerow.save(RandomForestClassifier(2).fit(X, LABELS), path)
    left = [each.name for each in tmp_path.iterdir()]
    assert len(left) == 2
    assert all(name == "m.hedge" or name.startswith(".n.hedge.") for name in left)


def test_a_checkpoint_clears_what_killed_fits_have_left_under_any_name(tmp_path: Path) -> None:
    RandomForestClassifier(2, random_state=0).fit(X, LABELS, checkpoint=tmp_path)
    killed(tmp_path / "trees-0000007-0000009.npz")
    (tmp_path / ".hidden").write_text("not ours")
    RandomForestClassifier(2, random_state=0).fit(X, LABELS, checkpoint=tmp_path)
    assert [path.name for path in tmp_path.glob(".*")] == [".hidden"]


def test_a_running_save_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with whole_file(path) as first:
        first.write_bytes(b"first")
        with whole_file(path) as second:
            second.write_bytes(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "name",
    [
        ".m.0badcafe-1-0123abcd.partial",  # of another machine, where process 1 may run
        ".m.0123456789abcdef0123456789abcdef.partial",  # of earlier versions, which did not say whose it is
        ".m.12345.part",
    ],
)
def test_what_cannot_be_asked_is_cleared_when_it_is_old(name: str, tmp_path: Path) -> None:
    left = tmp_path / name
    left.write_bytes(b"half")
    write_whole(tmp_path / "m", b"whole")
    assert left.exists()
    yesterday = time.time() - disk.OLD - 60
    os.utime(left, (yesterday, yesterday))
    write_whole(tmp_path / "other", b"whole")
    assert left.exists()
    write_whole(tmp_path / "m", b"whole")
    assert not left.exists()


def test_hidden_files_of_others_are_never_cleared(tmp_path: Path) -> None:
    names = [".m", ".m.partial", ".m.notes.partial", "m.0123.partial", ".m.0123abcd.partially", "[m].0123.part"]
    yesterday = time.time() - disk.OLD - 60
    for name in names:
        (tmp_path / name).write_bytes(b"precious")
        os.utime(tmp_path / name, (yesterday, yesterday))
    write_whole(tmp_path / "m", b"whole")
    clear_partials(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"m", *names}


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o600)
    link.symlink_to(path)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        hedgerow.save(RandomForestClassifier(1, max_depth=1).fit(X, LABELS), pipe)
        assert os.read(reader, 64)[8:24] == b'{"__metadata__":'
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
