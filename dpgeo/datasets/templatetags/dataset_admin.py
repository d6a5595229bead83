"""The first thing a data owner sees in the admin: their datasets, each with its next step."""

from __future__ import annotations

from typing import Any

from django import template

from dpgeo.accounts.admin_access import desk_url
from dpgeo.accounts.selectors import Visitor
from dpgeo.datasets.selectors import datasets_visible_to

register = template.Library()


@register.inclusion_tag("admin/datasets/owner_panel.html")
def owner_panel(user: Visitor) -> dict[str, Any]:
    """The datasets of a person's organisations with their buttons."""
    datasets = datasets_visible_to(user)
    return {
        "new_url": desk_url("desk-dataset-new"),
        "datasets": [
            {
                "title": dataset.title,
                "publisher": dataset.organisation.name,
                "pk": dataset.pk,
                "upload_url": desk_url("desk-upload-new", dataset.slug),
                "release_url": desk_url("desk-release-new", dataset.slug),
            }
            for dataset in datasets[:20]
        ],
        "more": datasets.count() > 20,
    }
