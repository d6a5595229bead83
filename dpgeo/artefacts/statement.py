"""Privacy statement: a release's guarantees, readable by people and software.

It is a versioned JSON document, computed from the Released object alone. It has sentences for
readers, and formulas and exact numbers for reviewers. Epsilons are exact numbers, written as
strings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.artefacts import (
    declarations,
    own_wording,
    promises,
    series_wording,
    synthetic_points,
    trip_files,
    wording,
)
from dpgeo.artefacts import statement_schema as form
from dpgeo.artefacts.counted_words import released_nouns
from dpgeo.core.bound_choice import QUANTILE
from dpgeo.core.counted import counted_in_sum
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import ZCDP, GeoInd, Notion, protected_at, whole_units
from dpgeo.core.levels import format_level
from dpgeo.core.noise import WGS84_STRETCH, DiscreteGaussian, PlanarLaplace
from dpgeo.core.released import Released
from dpgeo.core.series import Part, Protection
from dpgeo.core.spend import Measured
from dpgeo.core.totals import Totals
from dpgeo.core.window import Window
from dpgeo.core.zcdp import delta_text, exponent_delta, parse_delta
from dpgeo.postprocess.layers import BoxLayer, Layer, layers, quantisation_step
from dpgeo.postprocess.scaling import Scaling, array_scaling

NAME = "statement.json"
MEDIA_TYPE = "application/json"


def statement(released: Released, layers_shown: Sequence[Layer] | None = None) -> form.Statement:
    """Build the privacy statement of a release as a JSON document.

    `layers_shown` are the layers of the release, if the caller has computed them already.
    """
    about = released.about
    shown = layers(released) if layers_shown is None else layers_shown
    unit, moves = released.guarantee.unit.value, released.guarantee.notion is Notion.GEO_IND
    asked = released.request
    asked_as_json: Any = asked.model_dump(mode="json")
    document: form.Statement = {
        "format": "dpgeo-privacy-statement",
        "version": form.VERSION,
        "schema": form.schema_address(),
        "title": about.get("title", ""),
        "description": about.get("description", ""),
        "requested_on": about.get("requested_on"),
        "dataset": {"title": about.get("dataset", ""), "slug": about.get("dataset_slug", "")},
        "publisher": about.get("publisher", ""),
        "publisher_sector": about.get("publisher_sector", ""),
        "contact": about.get("contact", ""),
        "licence": about.get("licence", ""),
        "attribution": about.get("attribution", ""),
        "citation": _citation(released),
        "product": _product(released),
        "counts": _counts(released),
        "unit_of_privacy": _unit(released),
        "number_of_units": wording.NUMBER_OF_UNITS[released.guarantee.notion].format(unit=unit),
        "contribution_bound": _bound(released),
        "guarantee": _guarantee(released),
        "dataset_guarantee": _dataset_guarantee(released),
        "mechanism": {
            "key": released.mechanism,
            "parameters": dict(sorted(released.parameters.items())),
        },
        "deployment_model": wording.DEPLOYMENT,
        "actors": list(wording.ACTORS),
        "release_type": wording.ONE_RELEASE,
        "data_source_type": wording.STATIC,
        "access_type": wording.NON_INTERACTIVE,
        "data_domain": wording.DOMAIN,
        "preparation": [step.format(unit=unit) for step in wording.PREPARATION],
        "spends": [_spend(line) for line in released.trace],
        "accounting": wording.RHO_ACCOUNTING if _delta(released) else wording.ACCOUNTING,
        "expected_error": [_expected_error(layer) for layer in shown],
        "post_processing": [
            *_post_processing(shown),
            *own_wording.steps(released.content, released),
            *([wording.TOTALS_STEP] if released.totals else []),
            *synthetic_points.rule(released, shown),
            *trip_files.rule(released),
        ],
        "not_protected": [
            *own_wording.not_protected(
                released.content,
                wording.not_protected(released.guarantee.unit, released.guarantee.notion),
            ),
            *declarations.not_covered(released),
        ],
        "known_limits": wording.known_limits(
            released.counting,
            released.bound,
            released.guarantee.notion,
            own_wording.regions(released.content),
        ),
        "rationale": list(_rationale(released)),
        "implementation": {
            "software": released.software,
            "noise": wording.POINTS_NOISE_SOURCE if moves else wording.NOISE_SOURCE,
            "security": wording.SECURITY,
        },
        "proof": wording.proof(released.mechanism, released.guarantee.notion),
        "study_area": released.area.to_geojson(),
        "study_area_exchange": declarations.area_exchange(released),
        "study_area_seen": declarations.area_seen(released),
        "public_layers": declarations.layers_used(released),
        "software": released.software,
        "request": asked_as_json,
    }
    scaling = array_scaling(released, shown)
    if released.totals is not None and scaling is not None:
        document["number_of_units"] = wording.UNITS_IN_TOTALS
        document["totals"] = _totals(released, released.totals, scaling)
    if asked.household > 1 and not isinstance(released.guarantee, GeoInd):
        document["household"] = _household(asked.household, released.guarantee)
    if asked.choose_bound:
        document["bound_choice"] = {
            "bound": released.bound,
            "most": asked.bound,
            "quantile": float(QUANTILE),
            "meaning": wording.BOUND_CHOICE.format(bound=released.bound),
        }
    if asked.window is not None:
        document["window"] = _window(released, asked.window)
    if released.series is not None:
        document["series"] = _series(released.series)
    return document


def _window(released: Released, window: Window) -> form.WindowOfTime:
    first, last = window.first.isoformat(), window.last.isoformat()
    zone = released.about.get("time_zone", "")
    return {
        "from_day": first,
        "to_day": last,
        "time_zone": zone,
        "meaning": wording.WINDOW.format(first=first, last=last, zone=zone),
    }


def _household(people: int, cost: promises.Presence) -> form.Household:
    epsilon, delta = protected_at(cost, people)
    bound = promises.bound_of(epsilon, delta)
    [sentence] = promises.of_household(cost, people)
    stated: form.Household = {
        "people": people,
        "epsilon": format_epsilon(epsilon),
        "delta": delta_text(delta) if delta else "0",
        "verdict": bound.verdict.value,
        "right_guesses_in_100": bound.figure,
        "sentence": str(sentence),
        "meaning": wording.HOUSEHOLD.format(people=people, times=people**2 if delta else people),
    }
    return stated


def _series(part: Part) -> form.OfSeries:
    terms = part.terms
    in_a_row = terms.protection in (Protection.ANY, Protection.ONE)
    stated: form.OfSeries = {
        "id": part.series,
        "title": part.title,
        "number": part.number,
        "period": terms.period.value,
        "first_day": part.first_day.isoformat(),
        "protection": terms.protection.value,
        "bound_of_map": terms.each,
        "bound_of_series": terms.most if terms.protection is Protection.PERSON else None,
        "periods_in_a_row": terms.most if in_a_row else None,
        "epsilon": format_epsilon(terms.epsilon),
        "epsilon_of_map": format_epsilon(terms.epsilon_of_map),
        "epsilon_of_year": format_epsilon(terms.epsilon_of_year),
        "paid_once": terms.protection is Protection.PERSON,
        "meaning": " ".join(map(str, series_wording.sentences(part))),
    }
    if terms.maps is not None:
        stated["maps"] = terms.maps
    if terms.rho is not None and terms.delta is not None:
        stated["rho"] = format_epsilon(terms.rho)
        stated["rho_of_map"] = format_epsilon(terms.amount_of_map)
        stated["delta"] = delta_text(terms.delta)
    return stated


def _totals(released: Released, totals: Totals, scaling: Scaling) -> Any:
    """Return the release's totals and how counts are scaled to them, as `form.Totals`."""
    rows = released_nouns(released).rows
    stated: Any = {
        counted.value: {
            "value": total.count,
            "margin_95": total.margin,
            "most_of_one_person": total.most,
            "meaning": wording.TOTALS[counted].format(most=total.most, rows=rows),
        }
        for counted, total in totals.each().items()
    }
    known = scaling.known
    return {
        "rho" if totals.in_rho else "epsilon": format_epsilon(totals.amount),
        **stated,
        "scaling": {
            "counted": scaling.counted.value,
            "factor": scaling.factor if known else None,
            "low": scaling.low if known else None,
            "high": scaling.high if known else None,
            "meaning": str(scaling.meaning),
        },
    }


def _counts(released: Released) -> Any:
    """Return what the release counts, as a `form.Counts` document."""
    return {
        "counting": released.counting.value,
        "meaning": wording.COUNTING[released.counting].format(
            one=own_wording.regions(released.content).one
        ),
        "total": counted_in_sum(released.counting, released.bound).value,
        "rows": released_nouns(released).rows,
    }


def _product(released: Released) -> form.Product:
    """Return the type of data product, a term of the Deployments Registry, and its intended use."""
    kind = released.content.product
    use = wording.PRODUCT[kind].format(unit=released.guarantee.unit.value)
    return {"type": kind, "intended_use": use}


def _total(released: Released) -> Fraction | None:
    """Return the dataset's total epsilon as it was when the release was requested.

    Returns None if it was not recorded.
    """
    text = released.about.get("dataset_total_epsilon", "")
    return Fraction(text) if text else None


def _delta(released: Released) -> Fraction | None:
    """Return the delta of a dataset whose budget counted in rho when the release was requested."""
    text = released.about.get("dataset_delta", "")
    return exponent_delta(parse_delta(text, 1)) if text else None


def _rationale(released: Released) -> Sequence[str]:
    notion = released.guarantee.notion
    if notion is Notion.GEO_IND:
        return wording.POINTS_RATIONALE
    if notion is Notion.ZCDP:
        return *wording.RHO_RATIONALE, *wording.RATIONALE[1:]
    return wording.RATIONALE


def _citation(released: Released) -> str:
    about = released.about
    moves = released.guarantee.notion is Notion.GEO_IND
    kind = "Geo-indistinguishable" if moves else "Differentially private"
    return (
        f"{about.get('publisher', '')}: {about.get('title', '')}. {kind} release "
        f"of {about.get('dataset', '')}, {cost_words(released)} per "
        f"{released.guarantee.unit.value}. Made with {released.software}."
    )


def cost_words(released: Released) -> str:
    """Return the cost in words, such as "epsilon 0.5" or "level ln 4 within 200 m"."""
    cost = released.guarantee
    if isinstance(cost, GeoInd):
        radius = int(released.parameters["radius"])
        return format_level(cost.pico_epsilon_per_metre, radius)
    if isinstance(cost, ZCDP):
        return (
            f"rho {format_epsilon(cost.rho)} (epsilon {format_epsilon(cost.epsilon)} at delta "
            f"{delta_text(cost.delta)})"
        )
    return f"epsilon {format_epsilon(cost.epsilon)}"


def _unit(released: Released) -> form.UnitOfPrivacy:
    unit = released.guarantee.unit
    return {"unit": unit, "meaning": wording.UNIT[unit]}


def _bound(released: Released) -> form.ContributionBound:
    regions = own_wording.regions(released.content)
    of_series = series_wording.bound_words(released.series, released.counting, regions.many)
    meaning = of_series or wording.bound(
        released.guarantee.unit,
        released.counting,
        released.bound,
        released.bounding,
        regions,
    )
    return {"bound": released.bound, "meaning": meaning}


def _guarantee(released: Released) -> Any:
    """Return the guarantee of a release, as a `form.Pure`, `form.Rho` or `form.Geo`."""
    unit, promise = released.guarantee.unit, promise_of(released)
    if isinstance(released.guarantee, GeoInd):
        [noise] = (line.noise for line in released.trace if isinstance(line.noise, PlanarLaplace))
        return {
            "notion": "geo-indistinguishability",
            "delta": "0",
            "symbols": wording.GEO_IND.format(snapping=float(noise.snapped_apart(0))),
            "neighbours": {
                "words": wording.GEO_NEIGHBOURS[unit],
                "symbols": wording.GEO_NEIGHBOURS_SYMBOLS,
            },
            "level": cost_words(released),
            "epsilon_per_metre": format_epsilon(released.guarantee.epsilon),
            "reports": released.bound,
            "epsilon_per_metre_of_one_report": format_epsilon(
                released.guarantee.epsilon / released.bound
            ),
            **_guesses(promise.bound),
            "sentence": promise.sentence,
        }
    if isinstance(released.guarantee, ZCDP):
        return {
            "notion": "zero-concentrated differential privacy",
            "delta": delta_text(released.guarantee.delta),
            "symbols": wording.ZCDP,
            "neighbours": {
                "words": wording.NEIGHBOURS[unit],
                "symbols": wording.NEIGHBOURS_SYMBOLS,
            },
            "rho": format_epsilon(released.guarantee.rho),
            "epsilon": format_epsilon(released.guarantee.epsilon),
            **_guesses(promise.bound),
            "sentence": promise.sentence,
        }
    return {
        "notion": "pure differential privacy",
        "delta": "0",
        "symbols": wording.PURE_DP,
        "neighbours": {"words": wording.NEIGHBOURS[unit], "symbols": wording.NEIGHBOURS_SYMBOLS},
        "epsilon": format_epsilon(released.guarantee.epsilon),
        "odds_factor": wording.odds_factor(released.guarantee.epsilon),
        **_guesses(promise.bound),
        "sentence": promise.sentence,
    }


def _dataset_guarantee(released: Released) -> Any:
    total = _total(released)
    if total is None:
        return None
    delta = _delta(released)
    lifetime = promises.Lifetime(
        unit=released.guarantee.unit,
        total=total,
        points=_points_total(released),
        noun=released.about.get("row_noun", ""),
        delta=delta or Fraction(0),
    )
    places: Any = {}
    if lifetime.points and lifetime.places:
        places["points"] = {
            "level": released.about["dataset_points_level"],
            "radius": lifetime.points.radius,
            "epsilon_per_metre": format_epsilon(Fraction(lifetime.points.pico, 10**12)),
            **_guesses(lifetime.places),
        }
    if delta is not None:
        places = {"rho": released.about["dataset_total_rho"], "delta": delta_text(delta)}
    return {
        "epsilon": format_epsilon(total),
        # With a delta, some outcomes may have odds beyond any factor, so no factor is stated.
        "presence_odds_factor": None if delta else wording.odds_factor(total),
        **_guesses(lifetime.counts),
        "sentence": lifetime.sentence,
        **places,
        "meaning": wording.DATASET_TOTAL,
    }


def _points_total(released: Released) -> promises.PointsTotal | None:
    """Return the dataset's total budget for points as it was when the release was requested.

    Returns None if there was no such budget.
    """
    points = released.about.get("dataset_points_epsilon", "")
    if not points:
        return None
    radius = int(released.about["dataset_points_radius"])
    step = released.about["dataset_points_input_step"]
    pico = whole_units(Notion.GEO_IND, Fraction(points))
    return promises.PointsTotal(pico=pico, radius=radius, input_step=int(step))


def _guesses(bound: promises.Bound) -> Any:
    return {"verdict": bound.verdict.value, "right_guesses_in_100": bound.figure}


def promise_of(released: Released) -> promises.Promise:
    """Return the promise of a single release."""
    cost, noun = released.guarantee, released.about.get("row_noun", "")
    if not isinstance(cost, GeoInd):
        return promises.of_one_map(cost, noun, released.request.household)
    [noise] = (line.noise for line in released.trace if isinstance(line.noise, PlanarLaplace))
    radius = int(released.parameters["radius"])
    loss = cost.epsilon * noise.snapped_apart(radius)
    return promises.of_points(loss, radius, released.bound, noun, released.guarantee.unit)


def _spend(line: Measured) -> Any:
    currency = "epsilon" if line.rho is None else "rho"
    spend = {"label": line.label, currency: format_epsilon(line.amount)}
    if line.bound is not None:
        meaning = wording.BOUND_CHOICE.format(bound=line.bound)
        return {**spend, "drawn": True, "meaning": meaning, "noise": None}
    if line.splits:
        return {**spend, "drawn": True, "meaning": wording.SPLITS, "noise": None}
    if line.choices:
        return {**spend, "drawn": True, "meaning": wording.CHOICES, "noise": None}
    if line.noise is None:
        return {**spend, "drawn": False, "meaning": wording.WAIVED, "noise": None}
    if isinstance(line.noise, PlanarLaplace):
        return {**spend, "drawn": True, "noise": _points_noise(line.noise)}
    if isinstance(line.noise, DiscreteGaussian):
        gaussian: Any = {
            "distribution": "discrete Gaussian",
            "probability": wording.DISCRETE_GAUSSIAN,
            "rho": format_epsilon(line.noise.rho),
            "squared_sensitivity": line.noise.squared_sensitivity,
            "scale": math.sqrt(line.noise.square_scale),
            "standard_deviation": math.sqrt(line.noise.variance),
            "margin_95": line.noise.margin(),
        }
        squared = {"squared_sensitivity": line.noise.squared_sensitivity}
        return {**spend, "drawn": True, **squared, "noise": gaussian}
    noise: Any = {
        "distribution": "discrete Laplace",
        "probability": wording.DISCRETE_LAPLACE,
        "epsilon": format_epsilon(line.noise.epsilon),
        "sensitivity": line.noise.sensitivity,
        "scale": float(1 / line.noise.rate),
        "standard_deviation": math.sqrt(line.noise.variance),
        "margin_95": line.noise.margin(),
    }
    return {**spend, "drawn": True, "sensitivity": line.noise.sensitivity, "noise": noise}


def _points_noise(noise: PlanarLaplace) -> Any:
    """Return the parameters of the points' noise.

    The rate of the noise is below the declared epsilon, to allow for finite precision.
    """
    return {
        "distribution": "planar Laplace on the sphere",
        "density": wording.PLANAR_LAPLACE,
        "reports": noise.sensitivity,
        "epsilon_per_metre_of_one_report": format_epsilon(noise.declared),
        "finite_precision_correction_per_metre": noise.correction,
        "wgs84_stretch": format_epsilon(WGS84_STRETCH),
        "rate_per_metre_on_the_sphere": noise.rate,
        "grid_step_metres": noise.step,
        "input_grid_step_metres": noise.snapping,
        "raw_positions": wording.SNAPPED.format(metres=float(noise.snapped_apart(0))),
        "radius_50_metres": noise.radius(0.5),
        "radius_95_metres": noise.radius(0.95),
        "standard_deviation_of_an_axis_metres": noise.axis_deviation,
    }


def _expected_error(layer: Layer) -> form.ExpectedError:
    """Return the expected error of a layer's values, computed from the release alone."""
    margin, threshold = layer.margin, layer.threshold
    return {
        "layer": layer.name,
        "title": layer.title,
        "kind": layer.kind,
        "values": len(layer),
        "margin_95": _extremes(margin),
        "margin_label": layer.margin_label,
        "margin_note": layer.note,
        "stands_out_from": _extremes(threshold),
        "listed_from": layer.least_listed,
    }


def _extremes(values: NDArray[np.float64] | None) -> form.Range | None:
    """Return the smallest and the largest of `values`, or None if there are none."""
    if values is None or not values.size:
        return None
    return {"smallest": float(values.min()), "largest": float(values.max())}


def _post_processing(shown: Sequence[Layer]) -> list[str]:
    drawn = [layer for layer in shown if layer.value is not None]
    steps = [wording.OUTSIDE] if any(isinstance(layer, BoxLayer) for layer in shown) else []
    steps += [f"{layer.title}: {layer.note}" for layer in shown if layer.kind == "inferred"]
    picture = ", ".join(f"{quantisation_step(layer):g} in {layer.title.lower()}" for layer in drawn)
    return [*steps, f"{wording.PICTURE} {picture}."] if drawn else steps
