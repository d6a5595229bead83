"""What a release shows, as layers: first what was measured, then inferences.

Maps, files and statements are all made from these layers.
"""

from dpgeo.postprocess.layers import (
    clusters,
    contours,
    grids,
    locations,
    partitions,
    phases,
    points,
    slices,
    sparse,
    trees,
    zones,
)
from dpgeo.postprocess.layers.layer import (
    CALIBRATED,
    EXACT_NOISE,
    NO_MARGIN,
    NOISE_ONLY,
    NOMINAL,
    BoxLayer,
    Layer,
    PointLayer,
    ShapeLayer,
    quantisation_step,
)
from dpgeo.postprocess.layers.making import box_layers, layers

__all__ = [
    "CALIBRATED",
    "EXACT_NOISE",
    "NOISE_ONLY",
    "NOMINAL",
    "NO_MARGIN",
    "BoxLayer",
    "Layer",
    "PointLayer",
    "ShapeLayer",
    "box_layers",
    "clusters",
    "contours",
    "grids",
    "layers",
    "locations",
    "partitions",
    "phases",
    "points",
    "quantisation_step",
    "slices",
    "sparse",
    "trees",
    "zones",
]
