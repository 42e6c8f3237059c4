import pytest

from pytest_mindtrial.suite.suggest import allowed_list, near_match


@pytest.mark.parametrize(
    "name, allowed, hint",
    [
        ("promt", ["prompt", "name"], "; did you mean 'prompt'?"),
        ("case_sensitive", ["case-sensitive"], "; did you mean 'case-sensitive'?"),
        ("GPT", ["gpt", "other"], "; did you mean 'gpt'?"),
        ("fast", ["Fast one", "FAST"], "; did you mean 'FAST'?"),
        ("zzz", ["prompt"], ""),
        ("x", [], ""),
    ],
)
def test_near_match(name, allowed, hint):
    assert near_match(name, allowed) == hint


def test_allowed_list():
    assert allowed_list(["b", "a"]) == "b, a"
    assert allowed_list([]) == "none"
