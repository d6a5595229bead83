"""The basemap that browsers load from another server, if the operator has set one."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from dpgeo.core.errors import InvalidInput
from dpgeo.ground.outside import OutsideGround, read_outside


def read_settings() -> OutsideGround | None:
    """Return the other server's basemap as set in the settings, or None. Raises InvalidInput."""
    return read_outside(
        settings.DPGEO_GROUND_URL,
        settings.DPGEO_GROUND_ATTRIBUTION,
        settings.DPGEO_GROUND_ZOOMS,
    )


def outside_ground() -> OutsideGround | None:
    """Return the other server's basemap, or None if there is none or the settings are wrong."""
    try:
        return read_settings()
    except InvalidInput:  # `check_outside_ground` reports the wrong setting
        return None


@register()
def check_outside_ground(**_: Any) -> list[CheckMessage]:
    """Report a server address that is unsafe or unusable, and tiles without a credit."""
    try:
        read_settings()
    except InvalidInput as error:
        hint = "Until this is fixed, maps use only this site's own ground."
        return [Error(f"{error.field}: {error}", hint=hint, id="dpgeo.pages.E001")]
    return []
