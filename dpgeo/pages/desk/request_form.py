"""Forms of requests of maps: their fields, limits, choices and errors are those of the models.

A field has the name that the API has for it, "parameters.NAME" for a mechanism's parameter, so the
query of a link to a filled form is the request itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django import forms
from django.forms.boundfield import BoundField
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dpgeo.core.errors import DpgeoError
from dpgeo.core.kinds import KINDS
from dpgeo.core.parameters import Parameter, parameters, parse_parameters
from dpgeo.core.release_request import MapRequest
from dpgeo.datasets.form_fields import form_field
from dpgeo.datasets.layers import layer_kinds
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.pages.desk.desk_form import DeskForm
from dpgeo.pages.rendering import parameter_label, say
from dpgeo.pages.templatetags.figures import figure

IN_RHO = _(
    "Smaller is more private and noisier. Meant at the budget's delta, {delta}, and paid for in "
    "rho."
)
"""Help text for the epsilon of a request, if the budget is in rho."""


class RequestForm(DeskForm):
    """A form of the facts `names` of a `model`, by one of several mechanisms.

    `typed` are the values by field. With `bound`, they are checked, and errors are shown. `usual`
    has the values of fields that are left empty, where they differ from the model's defaults.
    """

    model: ClassVar[type[MapRequest]]

    def __init__(
        self,
        typed: Mapping[str, Any],
        *,
        dataset: Dataset,
        mechanisms: Iterable[str],
        names: Iterable[str],
        usual: Mapping[str, str] | None = None,
        bound: bool = True,
    ) -> None:
        self.dataset, self.names, self.usual = dataset, list(names), usual or {}
        offered = [MECHANISMS[key] for key in mechanisms]
        key = typed.get("mechanism", "")
        self.mechanism = MECHANISMS[key] if MECHANISMS.get(key) in offered else offered[0]
        self.asked: Any = None
        super().__init__()
        kinds = list(KINDS.values())
        by_kind = sorted(offered, key=lambda each: kinds.index(each.kind))
        self.fields["mechanism"] = forms.ChoiceField(
            choices=[(each.key, gettext(each.title)) for each in by_kind],
            label=gettext(self.model.model_fields["mechanism"].title or ""),
            initial=self.mechanism.key,
        )
        for each in parameters(self.mechanism.params):
            self.fields[f"parameters.{each.name}"] = parameter_field(each, dataset)
        for name in self.names:
            self.fields[name] = form_field(self.model.model_fields[name])
        if "epsilon" in self.fields and dataset.ledger.is_zcdp:
            words = str(IN_RHO).format(delta=dataset.ledger.delta_text)
            self.fields["epsilon"].help_text = words
        for name, value in self.usual.items():
            if name in self.fields:
                self.fields[name].widget.attrs |= {"placeholder": value, "data-usual": ""}
        self._fill(typed, bound)

    def _fill(self, typed: Mapping[str, Any], bound: bool) -> None:
        initial = {name: field.initial for name, field in self.fields.items()}
        values = {name: value for name, value in {**initial, **typed}.items() if value is not None}
        self.is_bound, self.initial = bound, {} if bound else values
        self.data = values if bound else {}

    @property
    def method_summary(self) -> str:
        """What the chosen mechanism does, in a sentence."""
        return gettext(self.mechanism.summary)

    @property
    def parameter_fields(self) -> list[BoundField]:
        """The fields of the chosen mechanism's parameters."""
        return [self[name] for name in self.fields if name.startswith("parameters.")]

    def field_of(self, name: str) -> str:
        """Return the field of a fact or of a parameter."""
        return f"parameters.{name}" if f"parameters.{name}" in self.fields else name

    def clean(self) -> dict[str, Any]:
        """Read the request, and show each error at its field."""
        values = self.cleaned_data
        given = {name: values.get(name) or self.usual.get(name) for name in self.fields}
        chosen: dict[str, Any] = {}
        for each in parameters(self.mechanism.params):
            if value := given[f"parameters.{each.name}"]:
                chosen[each.name] = value
                try:
                    parse_parameters(self.mechanism.params, {each.name: value})
                except DpgeoError as refusal:
                    self.add_error(f"parameters.{each.name}", say(refusal))
        facts = {name: given[name] for name in ("mechanism", *self.names)}
        self.asked, refusals = self.model.attempt({**facts, "parameters": chosen})
        self.add_refusals(refusals)
        return values


def request_fields(request: MapRequest) -> dict[str, str]:
    """Return a request by the form's fields, without defaults."""
    given = request.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    chosen = given.pop("parameters", {})
    fields = given | {f"parameters.{name}": value for name, value in chosen.items()}
    texts = {name: str(value) for name, value in fields.items() if value != ""}
    return {"mechanism": request.mechanism, **texts}


def parameter_field(parameter: Parameter, dataset: Dataset) -> forms.Field:
    """Return the form field for a parameter of a mechanism."""
    options: dict[str, Any] = {
        "required": False,
        "label": parameter_label(parameter.name),
        "help_text": gettext(parameter.description),
    }
    if choices := _choices(parameter, dataset):
        if parameter.layer:
            link = reverse("desk-layers", args=[dataset.slug]), gettext("See or add public layers")
            words = options["help_text"]
            options["help_text"] = format_html('{} <a href="{}">{}</a>', words, *link)
        initial = str(parameter.default).lower() if parameter.kind is bool else parameter.default
        return forms.ChoiceField(choices=choices, initial=initial or choices[0][0], **options)
    attributes = {"placeholder": parameter.default}
    if not parameter.read:
        attributes["inputmode"] = "numeric"
    if parameter.low is not None and parameter.high is not None:
        within = gettext("From {low} to {high}.").format(
            low=figure(parameter.low), high=figure(parameter.high)
        )
        options["help_text"] += f" {within}"
    return forms.CharField(widget=forms.TextInput(attrs=attributes), **options)


def _choices(parameter: Parameter, dataset: Dataset) -> list[tuple[str, str]]:
    """Return the values that a parameter of a dataset can have; [] if they are not listed."""
    if parameter.kind is bool:
        return [("true", gettext("Yes")), ("false", gettext("No"))]
    if not (parameter.layer or parameter.measure or parameter.category):
        return [(text, gettext(text)) for text in parameter.choices]
    if parameter.layer:
        kinds = layer_kinds(dataset)
        named = [(name, name) for name, kind in kinds.items() if kind == parameter.layer]
    elif parameter.measure:
        named = [(each.column, each.heading) for each in dataset.measured]
    else:
        named = [(each.column, each.title) for each in dataset.categorised]
    if parameter.optional:
        return [("", gettext("None")), *named]
    return named or [("", gettext("None added yet"))]
