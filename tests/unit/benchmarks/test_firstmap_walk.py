"""The simulated user, who presses a page's main button and submits the form as it is."""

from __future__ import annotations

from benchmarks.firstmap_walk import Page

TEXT = """
<form method="post" action="/out"><input type="hidden" name="csrfmiddlewaretoken" value="x">
<button class="link">Sign out</button></form>
<p role="alert">Only 41 of <b>100</b> rows<br> can be used.</p><p>Not this.</p>
<form method="post"><input type="hidden" name="token" value="t"><input name="title" value="A map">
<input type="radio" name="total" value="1"><input type="radio" name="total" value="2">
<input type="radio" name="kind" value="a"><input type="radio" name="kind" value="b" checked>
<input type="checkbox" name="no"><input type="checkbox" name="yes" value="1" checked>
<input name="off" value="x" disabled><select name="zone"><option value="u">U</option>
<option value="v" selected>V</option></select>
<select name="first"><option value="f">F</option></select>
<textarea name="words"> Some words
</textarea><button class="btn primary" type="submit" name="go" value="on">Continue</button></form>
<a class="btn primary" href="next/">Next</a>
"""


def test_a_page_is_read_as_its_browser_would_send_it() -> None:
    page = Page(200, "/desk/", TEXT)
    form = page.main_form
    assert form
    assert form.method == "post"
    assert dict(form.fields) == {
        "token": "t",
        "title": "A map",
        "kind": "b",
        "yes": "1",
        "zone": "v",
        "first": "f",
        "words": "Some words",
    }
    assert form.button == ("go", "on")
    assert form.open_radios == {"total"}
    assert page.main_link == "next/"
    assert page.alerts == ["Only 41 of", "100", "rows", "can be used."]
