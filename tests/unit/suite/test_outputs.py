import datetime as dt

import pytest

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.suite.outputs import render_path

WHEN = dt.datetime(2026, 8, 4, 9, 5, 7, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "text, path",
    [
        ("", ""),
        ("plain/a.log", "plain/a.log"),
        ("r/{{.Year}}-{{.Month}}-{{.Day}}/", "r/2026-08-04/"),
        ("{{ .Hour }}-{{.Minute}}-{{.Second}}", "09-05-07"),
        ('{{ .Year | printf "%s!" }}', "2026!"),
    ],
)
def test_placeholders(text, path):
    assert render_path(text, WHEN) == path


def test_the_year_is_not_padded():
    assert render_path("{{.Year}}", WHEN.replace(year=987)) == "987"


@pytest.mark.parametrize("text", ["{{.Foo}}", "{{.Year", "{{ .Year.x }}", "{{ index .Year 99 }}"])
def test_mistakes_are_errors(text):
    with pytest.raises(ConfigError, match=r"allowed: \{\{.Year\}\}, \{\{.Month\}\}"):
        render_path(text, WHEN)
