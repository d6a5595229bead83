"""The data owner's panel on the admin's start page: datasets and their next steps."""

from __future__ import annotations

from typing import Any

from django import template
from django.urls import reverse

from dpgeo.accounts.admin_access import desk_url
from dpgeo.accounts.selectors import Visitor
from dpgeo.datasets.selectors import datasets_visible_to

register = template.Library()


@register.inclusion_tag("admin/datasets/owner_panel.html")
def owner_panel(user: Visitor) -> dict[str, Any]:
    """Return the datasets of a user's organisations with the buttons to show for each."""
    datasets = datasets_visible_to(user)
    add_upload = reverse("admin:datasets_upload_add")
    return {
        "new_url": reverse("admin:datasets_dataset_add"),
        "desk_url": desk_url("desk"),
        "datasets": [
            {
                "title": dataset.title,
                "publisher": dataset.organisation.name,
                "pk": dataset.pk,
                "upload_url": f"{add_upload}?dataset={dataset.pk}",
                "release_url": desk_url("desk-kind", dataset.slug),
            }
            for dataset in datasets[:20]
        ],
        "more": datasets.count() > 20,
    }
