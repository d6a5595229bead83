"""Template tags that look up the frontend's built assets by the names of their source files."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString
from django_vite.core.asset_loader import DjangoViteAssetLoader
from django_vite.core.exceptions import DjangoViteAssetNotFoundError

from dpgeo.pages.rendering import script_words

register = template.Library()
register.simple_tag(script_words)


@register.simple_tag
def asset(path: str) -> SafeString:
    """Return the HTML tags of a Vite entry; "" while the frontend is not built.

    A page without styles and scripts is plain but complete, so a missing build is no error here.
    """
    try:
        tags = DjangoViteAssetLoader.instance().generate_vite_asset(path, "default")
    except DjangoViteAssetNotFoundError:
        return SafeString()
    # The tags are safe HTML: django-vite makes them from the manifest of this project's build.
    return SafeString(tags)
