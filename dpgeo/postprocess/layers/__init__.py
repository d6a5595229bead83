"""Layers and measured regions of a release, one module for each type of content.

Maps, files and privacy statements are built from these layers.
"""

from dpgeo.postprocess.layers import (
    averages,
    clusters,
    contours,
    flows,
    grids,
    partitions,
    phases,
    points,
    prilocation,
    profile,
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
from dpgeo.postprocess.layers.registry import box_layers, layers, make_areas, make_pairs, slice_of

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
    "averages",
    "box_layers",
    "clusters",
    "contours",
    "flows",
    "grids",
    "layers",
    "make_areas",
    "make_pairs",
    "partitions",
    "phases",
    "points",
    "prilocation",
    "profile",
    "quantisation_step",
    "slice_of",
    "slices",
    "sparse",
    "trees",
    "zones",
]
