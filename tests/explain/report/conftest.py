"""What tests of the report share: the system's Chromium, and pages opened in it that keep a diary."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from hedgerow import RandomForestClassifier

#: Without these Chromium, as root and without a network, refuses to start or asks for hosts it cannot reach.
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
    # Fewer processes for each page: tests in a browser take a tenth less CPU.
    *("--in-process-gpu", "--process-per-site", "--disable-site-isolation-trials"),
]


@pytest.fixture(scope="package")
def browser():
    """The system's Chromium, driven by Playwright."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; pip install '.[test]'")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium on this machine; install it with: apt-get install chromium")
    with api.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """A report -> its page, opened from a file. At the end nothing must have gone wrong or asked for the network."""
    contexts, troubles = [], []

    def make(report, *, width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(120_000)  # a busy machine is not a broken page
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        path = report.save(tmp_path / f"report{len(contexts)}.html")
        page.on(
            "request", lambda asked: asked.url in (path.as_uri(), "data:,") or troubles.append(f"asked {asked.url}")
        )
        page.goto(path.as_uri())
        page.wait_for_selector("#live:not([hidden])", state="attached")
        return page

    yield make
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="session")
def artefacts(tmp_path_factory):
    """Where screenshots go: ``HEDGEROW_ARTEFACTS``, or a folder of the test run."""
    folder = Path(os.environ.get("HEDGEROW_ARTEFACTS") or tmp_path_factory.mktemp("artefacts"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def cancer():
    """A forest on half of the breast-cancer data, and the other half: numbers, gaps, a nominal column, names."""
    pandas = pytest.importorskip("pandas")
    data = load_breast_cancer(as_frame=True)
    X = data.data.iloc[:, :8].copy()
    X["side"] = pandas.Categorical(np.where(np.arange(len(X)) % 3 == 0, "right", "left"))
    X.iloc[::17, 3] = np.nan
    y = np.asarray(data.target_names)[data.target]
    forest = RandomForestClassifier(50, caution=2.0, random_state=0).fit(X[::2], y[::2])
    return forest, X[1::2], y[1::2]
