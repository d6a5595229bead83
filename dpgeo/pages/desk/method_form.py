"""Base class of forms that offer mechanisms, with a field for each of their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext

from dpgeo.core.domain import LayerKind
from dpgeo.core.errors import DpgeoError
from dpgeo.core.kinds import KINDS
from dpgeo.core.parameters import Parameter, parameters, parse_parameters
from dpgeo.datasets.layers import layer_kinds
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.pages.desk.desk_form import DeskForm
from dpgeo.pages.rendering import parameter_label, say
from dpgeo.pages.templatetags.figures import figure


class MethodForm(DeskForm):
    """A form with a field `mechanism`, and a field "KEY.NAME" for each parameter of each offered
    mechanism.
    """

    dataset: Dataset

    def offer(self, keys: Iterable[str], chosen: str) -> None:
        """Offer the mechanisms with these keys, and preselect the one with the key `chosen`."""
        self.parameters: dict[str, Any] = {}
        self.offered = {key: MECHANISMS[key] for key in keys}
        choices = [(key, gettext(mechanism.title)) for key, mechanism in self.offered.items()]
        mechanism_field: Any = self.fields["mechanism"]
        mechanism_field.choices = choices
        mechanism_field.initial = chosen
        declared = layer_kinds(self.dataset)
        for key, mechanism in self.offered.items():
            for parameter in parameters(mechanism.params):
                self.fields[f"{key}.{parameter.name}"] = parameter_field(
                    parameter, declared, self.dataset
                )

    def field_of(self, name: str) -> str:
        """Return the form field for the service's input `name`.

        For a parameter of the chosen mechanism, this is the field "KEY.NAME".
        """
        qualified = f"{self.cleaned_data.get('mechanism')}.{name}"
        return qualified if qualified in self.fields else name

    def mechanisms(self) -> list[dict[str, Any]]:
        """Return every mechanism with its form fields, sorted by the kind of map that it makes."""
        chosen = self["mechanism"].value()
        kinds = list(KINDS.values())
        ways = [
            {
                "mechanism": mechanism,
                "shows": gettext(mechanism.kind.plural),
                "chosen": key == chosen,
                "priced": mechanism.price is not None,
                "fields": [self[f"{key}.{p.name}"] for p in parameters(mechanism.params)],
            }
            for key, mechanism in self.offered.items()
        ]
        return sorted(ways, key=lambda way: kinds.index(way["mechanism"].kind))

    def clean(self) -> dict[str, Any]:
        """Parse the chosen mechanism's parameters, and show each error at the parameter's field."""
        values = super().clean() or {}
        mechanism = self.offered.get(values.get("mechanism", ""))
        if mechanism is None:
            return values
        for parameter in parameters(mechanism.params):
            name = f"{mechanism.key}.{parameter.name}"
            value = values.get(name)
            if value in (None, ""):
                value = parameter.default
            try:
                parse_parameters(mechanism.params, {parameter.name: value})
            except DpgeoError as refusal:
                self.add_error(name, say(refusal))
            self.parameters[parameter.name] = value
        return values


def parameter_field(
    parameter: Parameter, declared: Mapping[str, LayerKind], dataset: Dataset
) -> forms.Field:
    """Return the form field for a parameter.

    `declared` holds the names and kinds of the dataset's layers.
    """
    options: dict[str, Any] = {
        "required": False,
        "initial": parameter.default,
        "label": parameter_label(parameter.name),
        "help_text": gettext(parameter.description),
    }
    if parameter.kind is bool:
        return forms.BooleanField(**options)
    if parameter.layer:
        options["help_text"] = format_html(
            '{} <a href="{}">{}</a>',
            options["help_text"],
            reverse("desk-layers", args=[dataset.slug]),
            gettext("See or add public layers"),
        )
        return forms.ChoiceField(choices=layer_choices(parameter, declared), **options)
    if parameter.measure:
        named = [(each.column, each.heading) for each in dataset.measured]
        return forms.ChoiceField(
            choices=named or [("", gettext("None added yet"))], **{**options, "initial": None}
        )
    if parameter.category:
        values = [(each.column, each.title) for each in dataset.categorised]
        none = [("", gettext("None") if parameter.optional else gettext("None added yet"))]
        offered = none + values if parameter.optional else values or none
        return forms.ChoiceField(choices=offered, **{**options, "initial": None})
    if parameter.choices:
        return forms.ChoiceField(
            choices=[(text, gettext(text)) for text in parameter.choices], **options
        )
    if parameter.read:
        return forms.CharField(**options)
    if parameter.low is not None and parameter.high is not None:
        within = gettext("From {low} to {high}.").format(
            low=figure(parameter.low), high=figure(parameter.high)
        )
        options["help_text"] += f" {within}"
    return forms.CharField(widget=forms.TextInput(attrs={"inputmode": "numeric"}), **options)


def layer_choices(parameter: Parameter, declared: Mapping[str, LayerKind]) -> list[tuple[str, str]]:
    """Return the choices for a parameter that names a layer of the dataset.

    If the parameter is optional, the first choice is empty.
    """
    names = [(name, name) for name, kind in declared.items() if kind == parameter.layer]
    if parameter.optional:
        return [("", gettext("None")), *names]
    return names or [("", gettext("None added yet"))]
