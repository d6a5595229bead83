"""Layers of a release: measured ones first, then inferences.

Maps, files and statements are all built from these layers.
"""

from dpgeo.postprocess.layers import (
    clusters,
    contours,
    grids,
    partitions,
    phases,
    points,
    prilocation,
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
from dpgeo.postprocess.layers.registry import box_layers, layers

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
    "partitions",
    "phases",
    "points",
    "prilocation",
    "quantisation_step",
    "slices",
    "sparse",
    "trees",
    "zones",
]
