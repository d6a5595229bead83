"""Template tags that look up built frontend assets by their source file names."""

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
    """Return the HTML tags that load an asset built by Vite; "" if the frontend is not built.

    Pages are plain but complete without styles and scripts, so a missing build is not an error
    here.
    """
    try:
        tags = DjangoViteAssetLoader.instance().generate_vite_asset(path, "default")
    except DjangoViteAssetNotFoundError:
        return SafeString()
    # The tags are safe HTML: django-vite builds them from the manifest of this project.
    return SafeString(tags)


@register.simple_tag
def preloaded_asset(path: str, priority: str = "low") -> SafeString:
    """Return the HTML tags that preload a script which the page's own scripts will import later.

    With the priority "low" they come after the page's own assets. Returns "" if the frontend is not
    built.
    """
    try:
        tags = DjangoViteAssetLoader.instance().preload_vite_asset(path)
    except DjangoViteAssetNotFoundError:
        return SafeString()
    # Scripts load their styles without credentials, so a preload with credentials would not be
    # used.
    tags = tags.replace('as="style"', 'as="style" crossorigin')
    return SafeString(tags.replace("<link ", f'<link fetchpriority="{priority}" '))
