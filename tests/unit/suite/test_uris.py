import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.suite.uris import FileUri, parse_uri

GOOD = [
    ("./a b.png", FileUri(False, "./a b.png", "./a b.png")),
    ("a?b#c.png", FileUri(False, "a?b#c.png", "a?b#c.png")),
    ("a%20b.png", FileUri(False, "a%20b.png", "a%20b.png")),
    ("/abs/a.png", FileUri(False, "/abs/a.png", "/abs/a.png")),
    ("./c:d.png", FileUri(False, "./c:d.png", "./c:d.png")),
    ("file:///a%20b.png", FileUri(False, "/a b.png", "/a b.png")),
    ("file://rel/x.png", FileUri(False, "/x.png", "/x.png")),
    ("FILE:/x.png?q#f", FileUri(False, "/x.png", "/x.png")),
    ("https://h/a.png?sig=%zz", FileUri(True, "https://h/a.png?sig=%zz", "/a.png")),
    ("HTTP://h/p%20q.pdf#f", FileUri(True, "HTTP://h/p%20q.pdf#f", "/p q.pdf")),
]


@pytest.mark.parametrize("uri, parsed", GOOD)
def test_good(uri, parsed):
    assert parse_uri(uri) == parsed


@pytest.mark.parametrize(
    "uri, message",
    [
        ("", "invalid URI: empty URI value"),
        ("ftp://x/y", "invalid URI: unsupported scheme: ftp"),
        ("data:image/png;base64,AA", "invalid URI: unsupported scheme: data"),
        ("C:\\x.png", "invalid URI: unsupported scheme: c"),
        ("x:y.png", "invalid URI: unsupported scheme: x"),
        ("100%.png", "invalid URI: invalid URL escape '%.p'"),
        ("a%", "invalid URI: invalid URL escape '%'"),
        ("a#%zz", "invalid URI: invalid URL escape '%zz'"),
        ("https://h/%zz", "invalid URI: invalid URL escape '%zz'"),
        (":x", "invalid URI: missing scheme"),
        ("a b:c.png", "the first part of the path contains a colon"),
        ("a\nb", "invalid URI: control character"),
        ("a\x00b", "invalid URI: control character"),
        ("file:rel.png", "a file URI needs an absolute path"),
        ("file://host", "a file URI needs an absolute path"),
        ("https:///x", "invalid URI: no host"),
        ("http:x", "invalid URI: no host"),
        ("http://a b/x", "invalid URI: no host"),
    ],
)
def test_bad(uri, message):
    with pytest.raises(ValueError) as info:
        parse_uri(uri)
    assert message in str(info.value)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        found = parse_uri(text)
    except ValueError as error:
        assert str(error).startswith("invalid URI: ")  # noqa: PT017 - the refusal is the other good outcome
    else:
        assert found.target
