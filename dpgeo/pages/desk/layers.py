"""Page for adding a dataset's public layers and removing unused ones."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST

from dpgeo.accounts.selectors import may
from dpgeo.artefacts.declarations import layer_words
from dpgeo.core.errors import DpgeoError
from dpgeo.datasets.form_fields import form_fields
from dpgeo.datasets.layer_declaration import LayerDeclaration, PublicSource
from dpgeo.datasets.layers import may_follow_data, public_layer_remove
from dpgeo.datasets.models import Dataset, PublicLayer
from dpgeo.datasets.osm_credit import credited
from dpgeo.datasets.services import dataset_update
from dpgeo.pages.desk.access import dataset_for, person
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.desk_form import DeskForm
from dpgeo.pages.desk.forms import parts_of, source_fields
from dpgeo.pages.desk.ready_layers import offered, ready_layer
from dpgeo.pages.rendering import say
from dpgeo.pages.templatetags.figures import figure
from dpgeo.phrases import phrase_of
from dpgeo.releases.released_layers import layer_declare, layer_facts

SUFFIXES = ".zip,.gpkg,.fgb,.parquet,.geoparquet,.geojson,.json,.csv"


class LayerForm(DeskForm):
    """The form for a layer: its source, and the columns with each feature's key and name."""

    file = forms.FileField(
        required=False,
        label=_("File"),
        help_text=_(
            "A zipped shapefile, GeoPackage, FlatGeobuf or GeoParquet file in any coordinate "
            "system, or GeoJSON in degrees (WGS84): polygons, taken from a map and never from the "
            "data. They are cut to the study area. Places are points, or a CSV table with a row "
            "each: longitude, latitude and a column for every level. Empty where a published map "
            "is named below."
        ),
        widget=forms.FileInput(attrs={"accept": SUFFIXES}),
    )
    names = tuple(name for name in LayerDeclaration.model_fields if name != "public_source")

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.fields |= form_fields(LayerDeclaration, self.names)
        self.fields |= source_fields(PublicSource, "source")

    def clean(self) -> dict[str, Any]:
        """Combine the fields about the layer's public source, and judge the declaration."""
        values = super().clean() or {}
        source = parts_of(values, PublicSource, "source")
        facts = {name: values[name] for name in self.names if name in values}
        facts |= {"public_source": source} if source else {}
        self.add_refusals(LayerDeclaration.attempt(facts)[1])
        return {**facts, "file": values.get("file")}

    def field_of(self, name: str) -> str:
        """Return the form field for a service's input; for the source, its first field."""
        if name.startswith("public_source"):
            return f"source_{name.partition('.')[2] or 'name'}"
        return name


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def layers(request: HttpRequest, slug: str) -> HttpResponse:
    """List the layers, with a form to add another."""
    dataset = dataset_for(request, slug)
    declares = may(person(request), dataset, "declare")
    form = LayerForm(request.POST, request.FILES) if request.method == "POST" else LayerForm()
    if request.method == "POST" and form.is_valid() and add(request, dataset, form):
        return redirect("desk-layers", slug=slug)
    context = {
        "dataset": dataset,
        "form": form,
        "declares": declares,
        "uploaded": may_follow_data(dataset),
        "ready": offered(dataset.area) if declares else [],
        "layers": [
            (layer, [say(each) for each in layer_words(layer_facts(layer, dataset))])
            for layer in dataset.layers.prefetch_related("releases")
        ],
    }
    return render(request, "desk/layers.html", context, status=REFUSED if form.errors else 200)


def add(request: HttpRequest, dataset: Dataset, form: LayerForm) -> bool:
    """Add the layer and return True, or show the service's error on the form and return False."""
    try:
        layer = layer_declare(dataset=dataset, created_by=person(request), **form.cleaned_data)
    except DpgeoError as refusal:
        form.add_refusal(refusal)
        return False
    messages.success(request, declared_words(layer))
    return True


def declared_words(layer: PublicLayer) -> str:
    """Return the message that confirms a new layer."""
    message = ngettext(
        "Added: {title}, {number} feature.",
        "Added: {title}, {number} features.",
        layer.features,
    )
    return message.format(title=layer.title, number=figure(layer.features))


@login_required
@require_POST
def layer_ready(request: HttpRequest, slug: str) -> HttpResponse:
    """Add a ready-made layer: areas or places of the basemap, or cells of a public grid."""
    dataset = dataset_for(request, slug, "declare")
    try:
        facts = ready_layer(dataset.area, request.POST.get("ready", ""))
        layer = layer_declare(dataset=dataset, created_by=person(request), **facts)
        credit(dataset, facts["public_source"]["name"])
    except DpgeoError as refusal:
        messages.error(request, say(refusal))
    except ValueError as refusal:
        messages.error(request, say(phrase_of(refusal)))
    else:
        messages.success(request, declared_words(layer))
    return redirect("desk-layers", slug=slug)


def credit(dataset: Dataset, source: str) -> None:
    """Add OpenStreetMap's credit to the dataset's attribution if `source` is OpenStreetMap."""
    words = credited(dataset.attribution, [source])
    if words != dataset.attribution:
        dataset_update(dataset=dataset, changes={"attribution": words})


@login_required
@require_POST
def layer_remove(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Remove a layer that no release uses."""
    dataset = dataset_for(request, slug, "declare")
    layer = get_object_or_404(dataset.layers, name=name)
    try:
        public_layer_remove(layer=layer, by=person(request))
    except DpgeoError as refusal:
        messages.error(request, say(refusal))
    else:
        messages.success(request, gettext("Removed: {name}.").format(name=layer.title))
    return redirect("desk-layers", slug=slug)
