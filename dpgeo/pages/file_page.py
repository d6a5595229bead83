"""Page that waits while a file of a map is being made, and then downloads the file."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from dpgeo.core.errors import Conflict
from dpgeo.pages.public_views import NO_MAP, file_url, gone_page, release_context, spreadsheet_url
from dpgeo.pages.rendering import say
from dpgeo.releases.file_making import WAIT_SECONDS, file_want
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import ReleaseGone, release_visible

WAITED = "waited"
"""Query parameter that says that the page has already waited for the file."""

SPREADSHEET = "spreadsheet"
"""Query parameter that asks for a CSV file in the form for spreadsheets."""


@require_safe
def file(request: HttpRequest, release_id: str, name: str) -> HttpResponse:
    """Start making a file, show a page that says so until it is made, and then download it.

    The page loads itself again, without a script. A file that already exists is downloaded at once.
    A HEAD request starts nothing.
    """
    try:
        release = release_visible(request.user, release_id)
    except ReleaseGone as ended:
        return gone_page(request, ended.gone)
    except Release.DoesNotExist:
        raise Http404(NO_MAP) from None
    if release.rules.gone:
        return gone_page(request, release.rules.gone, release)
    wanted = get_object_or_404(release.files.select_related("job"), name=name)
    address = SPREADSHEET in request.GET and spreadsheet_url(release, wanted)
    address = address or file_url(release, name)
    if wanted.is_made and WAITED not in request.GET:
        return redirect(address)
    problem, again = "", request.GET.copy()
    again[WAITED] = "1"
    if not wanted.is_made and request.method != "HEAD":
        try:
            file_want(file=wanted)
        except Conflict as error:
            problem = say(error)
    context = {
        "file": wanted,
        "problem": problem,
        "seconds": 0 if wanted.is_made else WAIT_SECONDS,
        "next": address if wanted.is_made else f"?{again.urlencode()}",
    }
    # Programs that follow the redirect from a file's address to this page can tell by the status
    # 202 that it is not the file.
    status = 200 if wanted.is_made or problem else 202
    answer = render(request, "public/file.html", release_context(release) | context, status=status)
    answer["Cache-Control"] = "no-store"
    return answer
