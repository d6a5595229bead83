"""The mechanisms of this server, with their parameters as JSON Schema."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from rest_framework.request import Request

from dpgeo.api.base import DocumentView
from dpgeo.api.openapi import operation
from dpgeo.api.public_answers import MechanismListOut, MechanismOut, mechanism_answer
from dpgeo.mechanisms.registry import MECHANISMS


class MechanismsView(DocumentView):
    @operation(
        "mechanisms",
        "List mechanisms",
        MechanismListOut,
        tag="mechanisms",
        links={"mechanism": {"key": "$response.body#/results/0/key"}},
    )
    def get(self, request: Request) -> HttpResponse:
        """List the mechanisms, each with its parameters."""
        results = [mechanism_answer(key, request) for key in MECHANISMS]
        return self.answer(MechanismListOut(results=results, next=None))


class MechanismView(DocumentView):
    @operation(
        "mechanism",
        "Get a mechanism",
        MechanismOut,
        tag="mechanisms",
    )
    def get(self, request: Request, key: str) -> HttpResponse:
        """Get the description of a mechanism and the parameters that it accepts."""
        if key not in MECHANISMS:
            raise Http404
        return self.answer(mechanism_answer(key, request))
