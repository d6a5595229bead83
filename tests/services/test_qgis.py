"""Maps of a running server read by QGIS's provider for OGC API - Features."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest

from tests.services.installation import Installation
from tests.services.sites import site_of

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]

PYTHON = "/usr/bin/python3"
"""The system's Python, since QGIS is not on any package index."""

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
"""Layers must be deleted before QGIS exits; otherwise it crashes."""


def qgis_installed() -> bool:
    """Return whether the system's Python has QGIS."""
    words = [PYTHON, "-c", "import qgis.core"]
    return Path(PYTHON).exists() and not subprocess.run(words, capture_output=True).returncode


def read_by_qgis(address: str, collections: list[str], folder: Path) -> Any:
    """Return what QGIS reads from a server's collections; its settings are stored in a folder of
    their own.
    """
    places = {
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder),
        "QGIS_CUSTOM_CONFIG_PATH": str(folder),
    }
    done = subprocess.run(
        [PYTHON, "-c", READ, address, *collections],
        env={"PATH": os.environ["PATH"], "QT_QPA_PLATFORM": "offscreen", **places},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_qgis_reads_every_feature_and_value(tmp_path: Path) -> None:
    if not qgis_installed():
        lack = "This needs QGIS: apt-get install --no-install-recommends python3-qgis."
        if os.environ.get("DPGEO_AUDIT"):
            pytest.fail(lack, pytrace=False)
        pytest.skip(lack)
    installation = Installation(tmp_path)
    made = installation.start("-m", "tests.services.posting", "layered", "{}")
    release = installation.answer(made)["release"]
    (settings := tmp_path / "qgis").mkdir(mode=0o700)
    names = [f"{release}.{layer}" for layer in ("estimate", "partitions")]
    with site_of(installation) as port:
        seen = read_by_qgis(f"http://127.0.0.1:{port}/ogc/", names, settings)
    for name in names:
        (stored,) = tmp_path.glob(f"var/**/{release}/{name.partition('.')[2]}.parquet")
        expected = geopandas.read_parquet(stored)
        found = seen[name]
        assert found["count"] == len(found["values"]) == len(expected)
        assert found["crs"] in {"EPSG:4326", "OGC:CRS84"}
        values = expected[["estimate", "margin"]].to_numpy()
        np.testing.assert_array_equal(np.array(found["values"]), values)
        np.testing.assert_allclose(np.array(found["boxes"]), expected.geometry.bounds, atol=1e-9)
