"""The data owner's panel on the admin's start page: datasets and their next steps."""

from __future__ import annotations

from typing import Any

from django import template

from dpgeo.accounts.admin_access import desk_url
from dpgeo.accounts.selectors import Visitor
from dpgeo.datasets.selectors import datasets_visible_to

register = template.Library()


@register.inclusion_tag("admin/datasets/owner_panel.html")
def owner_panel(user: Visitor) -> dict[str, Any]:
    """List the datasets of a user's organisations with their buttons."""
    datasets = datasets_visible_to(user)
    return {
        "new_url": desk_url("desk-where"),
        "datasets": [
            {
                "title": dataset.title,
                "publisher": dataset.organisation.name,
                "pk": dataset.pk,
                "upload_url": desk_url("desk-upload-new", dataset.slug),
                "release_url": desk_url("desk-kind", dataset.slug),
            }
            for dataset in datasets[:20]
        ],
        "more": datasets.count() > 20,
    }
