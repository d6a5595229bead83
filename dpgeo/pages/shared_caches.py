"""Public pages in caches that visitors share, such as the cache of the proxy.

Privacy argument. A response may be shared only if the request had no cookie and no Authorization
header, the response sets no cookie and the page has no token against forged requests. Such a
response is the same for everybody, so that nothing about a person can be stored. Caches revalidate
after DPGEO_CACHE_SECONDS, as they do for files, so that withdrawn maps disappear; browsers
revalidate each time, because a page changes when its reader signs in.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers

PROXY_SECONDS = 1
"""Seconds for which the proxy in front of the site serves a page without asking the site
(`deploy/nginx.conf`).

So the proxy asks the site for a page at most once a second, even if a thousand people read it.
"""

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def shared(view: View[P]) -> View[P]:
    """Decorate a view of a public page: caches may store pages that are the same for everybody.

    These pages get an ETag.
    """

    @functools.wraps(view)
    def answered(request: HttpRequest, /, *given: P.args, **named: P.kwargs) -> HttpResponse:
        answer = view(request, *given, **named)
        patch_vary_headers(answer, ("Cookie", "Accept-Encoding"))
        if not _same_for_all(request, answer):
            answer.headers.setdefault("Cache-Control", "private, no-cache")
            return answer
        seconds = settings.DPGEO_CACHE_SECONDS
        answer["Cache-Control"] = f"public, max-age=0, s-maxage={seconds}, must-revalidate"
        answer["X-Accel-Expires"] = str(min(PROXY_SECONDS, seconds))
        answer["ETag"] = f'"{hashlib.sha256(answer.content).hexdigest()}"'
        return get_conditional_response(request, etag=answer["ETag"], response=answer) or answer

    return answered


def _same_for_all(request: HttpRequest, answer: HttpResponse) -> bool:
    return not (
        answer.status_code != 200
        # A stranger has neither a cookie nor a key.
        or request.COOKIES
        or "Authorization" in request.headers
        or answer.cookies
        # Set if the page contains a CSRF token. Django adds the token's cookie to the response only
        # after this check, so `answer.cookies` does not show it yet.
        or "CSRF_COOKIE" in request.META
    )
