"""QGIS reads OGC API - Features from a running server, and downloaded files with their styles."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest

from dpgeo.artefacts.files import build_files
from dpgeo.artefacts.view import hexadecimal, unit_words, views
from dpgeo.postprocess.layers import layers
from tests.services.installation import Installation
from tests.services.sites import site_of
from tests.unit.artefacts.releases import partition_release

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]

PYTHON = "/usr/bin/python3"
"""The system's Python, which can import QGIS, since no package index provides it."""

READ = """
import json, sys
from qgis.core import QgsApplication, QgsProviderRegistry, QgsVectorLayer

def read(server, name):
    layer = QgsVectorLayer(f"url='{server}' typename='{name}'", name, "OAPIF")
    assert layer.isValid(), (name, layer.error().message())
    features = list(layer.getFeatures())
    boxes = [each.geometry().boundingBox() for each in features]
    return {
        "count": layer.featureCount(),
        "crs": layer.crs().authid(),
        "values": [[each["estimate"], each["margin"]] for each in features],
        "boxes": [
            [box.xMinimum(), box.yMinimum(), box.xMaximum(), box.yMaximum()] for box in boxes
        ],
    }

application = QgsApplication([], False)
application.initQgis()
assert "OAPIF" in QgsProviderRegistry.instance().providerList()
print(json.dumps({name: read(sys.argv[1], name) for name in sys.argv[2:]}))
application.exitQgis()
"""
"""Script that reads maps in QGIS. It deletes layers before QGIS exits, because QGIS would crash
otherwise.
"""


DRAW = """
import json, sys
from pathlib import Path
from qgis.PyQt.QtCore import QSize
from qgis.core import (
    QgsApplication, QgsMapRendererSequentialJob, QgsMapSettings, QgsVectorLayer,
)

def draw(path):
    layer = QgsVectorLayer(path, Path(path).stem)
    settings = QgsMapSettings()
    settings.setLayers([layer])
    settings.setDestinationCrs(layer.crs())
    settings.setOutputSize(QSize(256, 256))
    settings.setExtent(layer.extent())
    job = QgsMapRendererSequentialJob(settings)
    job.start()
    job.waitForFinished()
    image = job.renderedImage()
    legend = [node.label() for node in layer.renderer().legendSymbolItems()]
    colours = {}
    for x in range(0, 256, 2):
        for y in range(0, 256, 2):
            name = image.pixelColor(x, y).name()
            colours[name] = colours.get(name, 0) + 1
    return {"kind": layer.renderer().type(), "legend": legend, "colours": colours}

QgsApplication.setPrefixPath("/usr", True)
application = QgsApplication([], False)
application.initQgis()
print(json.dumps({Path(path).name: draw(path) for path in sys.argv[1:]}))
application.exitQgis()
"""
"""Script that draws files in QGIS with the style they open with."""


def qgis_installed() -> bool:
    """Return whether the system's Python has QGIS."""
    words = [PYTHON, "-c", "import qgis.core"]
    return Path(PYTHON).exists() and not subprocess.run(words, capture_output=True).returncode


def run_qgis(script: str, words: list[str], folder: Path) -> Any:
    """Run a script that uses QGIS and return what it prints; `folder` holds QGIS's settings."""
    places = {
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder),
        "QGIS_CUSTOM_CONFIG_PATH": str(folder),
    }
    done = subprocess.run(
        [PYTHON, "-c", script, *words],
        env={"PATH": os.environ["PATH"], "QT_QPA_PLATFORM": "offscreen", **places},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(autouse=True)
def _qgis() -> None:
    """Skip the tests if QGIS is missing; in `make audit`, let them fail instead."""
    if not qgis_installed():
        lack = "This needs QGIS: apt-get install --no-install-recommends python3-qgis."
        if os.environ.get("DPGEO_AUDIT"):
            pytest.fail(lack, pytrace=False)
        pytest.skip(lack)


def test_qgis_reads_every_feature_and_value(tmp_path: Path) -> None:
    with closing(Installation(tmp_path)) as installation:
        release = installation.ask("layered")["release"]
    (settings := tmp_path / "qgis").mkdir(mode=0o700)
    names = [f"{release}.{layer}" for layer in ("estimate", "partitions")]
    with site_of(installation) as port:
        seen = run_qgis(READ, [f"http://127.0.0.1:{port}/ogc/", *names], settings)
    for name in names:
        (stored,) = tmp_path.glob(f"var/**/{release}/{name.partition('.')[2]}.parquet")
        expected = geopandas.read_parquet(stored)
        features = seen[name]
        assert features["count"] == len(features["values"]) == len(expected)
        assert features["crs"] in {"EPSG:4326", "OGC:CRS84"}
        values = expected[["estimate", "margin"]].to_numpy()
        np.testing.assert_array_equal(np.array(features["values"]), values)
        np.testing.assert_allclose(np.array(features["boxes"]), expected.geometry.bounds, atol=1e-9)


def test_qgis_opens_files_with_the_colours_of_the_map(tmp_path: Path) -> None:
    """QGIS draws downloaded files in the map's colours.

    A GeoPackage, alone in its folder, is styled by its own table, a GeoJSON file by the QML file
    beside it.
    """
    released = partition_release(16)
    (settings := tmp_path / "qgis").mkdir(mode=0o700)
    built = {each.name: each.path for each in build_files(released, tmp_path)}
    for view in views(layers(released)):
        names = [f"{view.layer.name}{suffix}" for suffix in (".gpkg", ".geojson")]
        (alone := tmp_path / "alone").mkdir(exist_ok=True)
        places = [built[names[0]].rename(alone / names[0]), built[names[1]]]
        seen = run_qgis(DRAW, [*map(str, places)], settings)
        for name in names:
            assert seen[name]["kind"] == "RuleRenderer"
            assert [each for each in seen[name]["legend"] if each in view.labels] == [*view.labels]
            assert seen[name]["legend"][0] == unit_words(released, view)
            drawn = seen[name]["colours"]
            expected = {hexadecimal((r, g, b)) for r, g, b in view.colours().tolist()}
            assert all(drawn.get(colour, 0) > 20 for colour in expected)
            # Pixels of other colours are antialiased edges, so they are left out.
            known = sum(drawn.get(colour, 0) for colour in {*expected, "#ffffff"})
            assert known > 0.8 * sum(drawn.values())
