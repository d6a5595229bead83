"""What `manage.py serve` prints while the site starts."""

from __future__ import annotations

import pytest

from dpgeo.commands.management.commands import serve
from dpgeo.commands.supervisor import Program


def test_the_address_is_printed_when_the_site_answers_and_again_after_the_demo(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[str] = []
    command, demo = serve.Command(), Program("The demo", [], once=True)
    monkeypatch.setattr(command, "_say", lines.append)
    greeting = serve.Greeting(command, "127.0.0.1", 8000, waiting_for=demo)
    monkeypatch.setattr(serve, "can_connect", lambda host, port: False)
    greeting.look()
    assert not lines
    monkeypatch.setattr(serve, "can_connect", lambda host, port: True)
    greeting.look()
    greeting.look()
    assert len(lines) == 1
    assert "http://127.0.0.1:8000/ answers. Missing demo maps appear there" in lines[0]
    demo.finished = True
    greeting.look()
    greeting.look()
    assert len(lines) == 2
    assert "dpgeo is at http://127.0.0.1:8000/" in lines[1]
