import gc
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.errors import ConfigError, InternalError, Position, TaskError, UserError
from pytest_mindtrial.suite import yaml_reader
from pytest_mindtrial.suite.nodes import ROOT, MappingNode, ScalarNode, child, find, path_text
from pytest_mindtrial.suite.yaml_reader import MAX_DEPTH, paused_gc, read_yaml, read_yaml_file


def fail(text):
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(UserError) as info:
        read_yaml(data, "file.yaml", TaskError, "tasks file")
    assert isinstance(info.value, TaskError)
    assert "\n" not in str(info.value)
    return info.value


@pytest.fixture(params=["libyaml", "python"])
def parser(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(yaml_reader, "CParser", None)
    elif yaml_reader.CParser is None:
        pytest.skip("no libyaml here")
    return request.param


def test_plain_data(parser, untyped):
    text = """
    a: 1
    b: ['x', "y", 2]
    c: |
      line
    d: {e: ~}
    """
    assert untyped(text) == {"a": 1, "b": ["x", "y", 2], "c": "line\n", "d": {"e": None}}


def test_quoted_scalars_are_text(parser, untyped):
    assert untyped("['1', \"true\", '~', '']") == ["1", "true", "~", ""]


def test_tags(parser, untyped):
    assert untyped("[!!str 5, !!int '5', !own 5, ! 5, !!float 2]") == ["5", 5, "5", 5, 2.0]


def test_wrong_tag_is_an_error(untyped):
    with pytest.raises(UserError, match=r"file.yaml:1:4 a: 'x' cannot be read as !!int"):
        untyped("a: !!int x")


@pytest.mark.parametrize("text", ["\ufeffa: 1\r\nb: 2\r\n", "a: 1\r\nb: 2", "---\na: 1\nb: 2\n...\n"])
def test_bom_and_line_ends(parser, untyped, text):
    assert untyped(text) == {"a": 1, "b": 2}


def test_only_the_first_document_counts(parser, untyped):
    assert untyped("a: 1\n---\nb: [\n") == {"a": 1}


@pytest.mark.parametrize("text", ["", "# only a comment\n", "\n\n", "\ufeff"])
def test_empty(parser, text):
    assert str(fail(text)) == "file.yaml: tasks file is empty"


def test_binary_and_other_encodings():
    assert "is a binary file" in str(fail(b"\x89PNG\r\n\x1a\n\x00\x00"))
    assert str(fail(b"a: 1\nb: \xff\n")) == "file.yaml:2: tasks file is not UTF-8 text (byte 0xff)"


def test_control_characters(parser):
    error = fail("a: 1\nb: é\x01x\n")
    assert "not valid YAML" in error.message
    assert error.position == Position("file.yaml", 2, 5)


@pytest.mark.parametrize(
    "text, line",
    [("a: [1, 2\nb: 3\n", 2), ("a: 'x\n", 2), ("a:\n\t- b\n", 2), ("a: b: c\n", 1), ("a: @x\n", 1), ("- a\nb: c\n", 2)],
)
def test_syntax_errors_have_a_place(parser, text, line):
    error = fail(text)
    assert error.message.startswith("not valid YAML: ")
    assert error.position is not None
    assert error.position.line == line


def test_unknown_anchor(parser):
    error = fail("a: *x\n")
    assert error.message == "unknown anchor 'x' referenced"
    assert error.position == Position("file.yaml", 1, 4)


def test_anchor_inside_itself(parser):
    assert fail("a: &x\n  b: *x\n").message == "anchor 'x' contains itself"


def test_anchors_and_aliases(parser, untyped):
    assert untyped("a: &x [1]\nb: *x\nc: &t text\nd: *t") == {"a": [1], "b": [1], "c": "text", "d": "text"}


def test_an_anchor_may_be_redefined(untyped):
    assert untyped("a: &x 1\nb: &x 2\nc: *x") == {"a": 1, "b": 2, "c": 2}


def test_merge_keys(parser, untyped):
    text = """
    base: &base {a: 1, b: 2}
    more: &more {b: 3, c: 4}
    one: {<<: *base, b: 9}
    two:
      <<: [*base, *more]
      d: 5
    inline: {<<: {z: 1}}
    """
    found = untyped(text)
    assert found["one"] == {"a": 1, "b": 9}
    assert found["two"] == {"a": 1, "b": 2, "c": 4, "d": 5}
    assert found["inline"] == {"z": 1}


def test_merge_leaves_the_source_alone(untyped):
    found = untyped("base: &b {a: 1}\none: {<<: *b, a: 2}\ntwo: *b")
    assert found["two"] == {"a": 1}


def test_quoted_merge_key_is_an_ordinary_key(untyped):
    assert untyped("'<<': {a: 1}") == {"<<": {"a": 1}}


def test_lone_merge_value_is_text(untyped):
    assert untyped("a: <<\nb: =") == {"a": "<<", "b": "="}


@pytest.mark.parametrize("text", ["<<: 5", "<<: [1]"])
def test_merge_needs_maps(text):
    assert "a merge key (<<) needs a map" in fail(text).message


@pytest.mark.parametrize(
    "text, key, first, second",
    [
        ("a: 1\nb: 2\na: 3\n", "a", "1:1", "3:1"),
        ("x:\n  - {k: 1, k: 2}\n", "k", "2:6", "2:12"),
        ("'a': 1\na: 2\n", "a", "1:1", "2:1"),
    ],
)
def test_duplicate_keys_name_both_places(parser, text, key, first, second):
    error = fail(text)
    assert str(error) == f"file.yaml:{second}: duplicate key {key!r}, already written at file.yaml:{first}"


def test_a_list_cannot_be_a_key(parser):
    assert "cannot be a key" in fail("? [a]\n: 1\n").message


def test_untyped_keys_keep_their_type(untyped):
    assert untyped("{2: a, true: b, yes: c}") == {2: "a", True: "b", "yes": "c"}


def test_depth_is_bounded(parser):
    assert fail("[" * (MAX_DEPTH + 1)).message == f"nested deeper than {MAX_DEPTH} levels"


def test_depth_through_aliases_is_bounded():
    lines = ["a0: &a0 " + "[" * 150 + "1" + "]" * 150]
    lines += [f"a{n}: &a{n} " + "[" * 150 + f"*a{n - 1}" + "]" * 150 for n in range(1, 12)]
    assert "aliases nest deeper" in fail("\n".join(lines[:2])).message
    assert "aliases nest deeper" in fail("\n".join(lines)).message


def test_depth_through_merged_aliases_is_bounded():
    parts = ["z0: &a0 " + "[" * 150 + "1" + "]" * 150]
    parts += [f"z{n}: &a{n} " + "[" * 150 + f"*a{n - 1}" + "]" * 150 for n in range(1, 12)]
    text = "{<<: {" + ", ".join(parts) + "}, k: *a11}"
    assert "aliases nest deeper" in fail(text).message


def test_alias_bombs_are_refused_quickly():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 10) + "]" for n in range(1, 30)]
    start = time.process_time()
    assert "aliases expand to more than" in fail("\n".join(lines)).message
    assert time.process_time() - start < 1


def test_positions_count_characters(parser):
    document = read_yaml("é: {ü: 1}\nlist:\n  - x: 2\n".encode(), "f.yaml", UserError)
    path = (((ROOT, "list"), 0), "x")
    assert document.position(find(document.root, path), path) == Position("f.yaml", 3, 8, "list[0].x")
    path = ((ROOT, "é"), "ü")
    assert document.position(find(document.root, path), path) == Position("f.yaml", 1, 8, "é.ü")


def test_find_stops_at_what_is_written():
    document = read_yaml(b"a:\n  b: 1\n", "f.yaml", UserError)
    assert isinstance(find(document.root, ((ROOT, "a"), "z")), MappingNode)
    assert child(document.root, "q") is None
    assert child(find(document.root, ((ROOT, "a"), "b")), 0) is None
    assert path_text(ROOT) == ""


def test_very_long_lines_keep_a_column():
    document = read_yaml(b"['" + b"x" * 1_100_000 + b"', {a: 1}]\n", "f", UserError)
    position = document.position(document.root.items[1])
    assert (position.line, position.column) == (1, 1 << 20)


def test_null_of_a_bad_tag():
    assert ScalarNode("x", "tag:yaml.org,2002:int", 0).is_null is False
    assert ScalarNode("", "tag:yaml.org,2002:null", 0).is_null is True


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(ConfigError, match=r"configuration file not found: .*none\.yaml"):
        read_yaml_file(tmp_path / "none.yaml", ConfigError, "configuration file")
    with pytest.raises(ConfigError, match="is a directory, not a configuration file"):
        read_yaml_file(tmp_path, ConfigError, "configuration file")


def test_unreadable_file(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(ConfigError, match=r"cannot read configuration file .*: Permission denied"):
        read_yaml_file(tmp_path / "a.yaml", ConfigError, "configuration file")


def test_a_50_mb_file_gives_one_message_at_once(tmp_path):
    path = tmp_path / "huge.yaml"
    with path.open("wb") as stream:
        stream.truncate(50 * 1024 * 1024)
    start = time.process_time()
    with pytest.raises(TaskError, match=r"huge.yaml: tasks file is larger than 32 MB, the limit") as info:
        read_yaml_file(path, TaskError, "tasks file")
    assert "\n" not in str(info.value)
    assert time.process_time() - start < 2


def test_collector_is_paused_and_comes_back():
    assert gc.isenabled()
    with paused_gc():
        assert not gc.isenabled()
        with paused_gc():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


@given(st.binary(max_size=60))
def test_any_bytes_read_or_are_refused_in_one_line(data):
    try:
        document = read_yaml(data, "f", TaskError)
    except TaskError as error:
        document = None
        message = str(error)
    assert document is not None or ("\n" not in message and message.startswith("f"))


@given(st.text(alphabet="ab:-[]{},'\"#&*!|>?<=\n 1.~", max_size=40))
def test_both_parsers_agree(text):
    found = []
    original = yaml_reader.CParser
    for parser in (original, None):
        yaml_reader.CParser = parser
        try:
            root = read_yaml(text.encode(), "f", UserError).root
            found.append(_plain(root))
        except UserError:
            found.append("refused")
        finally:
            yaml_reader.CParser = original
    assert found[0] == found[1] or "refused" in found


def _plain(node):
    if isinstance(node, ScalarNode):
        return node.value, node.tag
    return [_plain(item) for item in node.items]


def test_events_of_another_copy_of_yaml_end_in_an_error_not_in_a_loop(monkeypatch):
    class Foreign:
        pass

    events = iter([Foreign(), Foreign()])
    monkeypatch.setattr("pytest_mindtrial.suite.yaml_reader._events", lambda text: lambda: next(events, None))
    with pytest.raises(InternalError, match="another copy"):
        read_yaml(b"a: 1", "f.yaml", TaskError)
