"""The golden rows of spec mindtrial A.1 and 3.5, and the rest of the language."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.errors import Position, UserError
from pytest_mindtrial.suite.gotemplate import TemplateError, parse

M: dict[str, Any] = {
    "s": "str",
    "f": 0.1,
    "i": 1000000,
    "mid": 123456789.0,
    "big": 1e21,
    "neg": -0.5,
    "small": 1e-7,
    "n": None,
    "b": False,
    "e": [],
    "em": {},
    "l": ["a", "b c"],
}
DATA: dict[str, Any] = {
    "M": M,
    "C": {"a": {"k": 1e6}, "b": [1.0, "x y", True, None]},
    "L": ["one", "two"],
    "N": [[1, 2], [3]],
    "html": '<a href="x">&\'</a>\0',
}


def render(text: str, data: Any = DATA) -> str:
    return parse(text, kind="judge prompt", functions=("hash", "json")).render(data)


GOLDEN = [
    ("{{.C}}", "map[a:map[k:1e+06] b:[1 x y true <nil>]]"),
    ("{{json .C}}", '{"a":{"k":1000000},"b":[1,"x y",true,null]}'),
    ("{{.L}}", "[one two]"),
    ("{{json .L}}", '["one","two"]'),
    (
        "{{.M.f}} {{.M.big}} {{.M.mid}} {{.M.i}} {{.M.neg}} {{.M.small}}",
        "0.1 1e+21 1.23456789e+08 1000000 -0.5 1e-07",
    ),
    (
        "{{json .M.f}} {{json .M.big}} {{json .M.mid}} {{json .M.i}} {{json .M.neg}} {{json .M.small}}",
        "0.1 1e+21 123456789 1000000 -0.5 1e-7",
    ),
    ("{{.M.n}}", "<no value>"),
    ("{{json .M.n}}", "null"),
    ("{{.M.e}}{{.M.em}}{{.M.b}}{{.M.l}}", "[]map[]false[a b c]"),
    ("a\n{{- range .M.l}}\n- {{.}}\n{{- end}}\nz", "a\n- a\n- b c\nz"),
    ("{{range $i,$e := .L}}{{$i}}={{$e}};{{end}}", "0=one;1=two;"),
    ("{{range .M.e}}x{{else}}empty{{end}}", "empty"),
    ('a  {{- " b " -}}  c', "a b c"),
    ('{{len .M.l}} {{index .M.l 1}} {{index .M "s"}} {{slice .M.s 1 2}}', "2 b c str t"),
    ('{{printf "%05.2f|%s|%v|%d|%q" .M.f .M.s .M.l .M.i .M.s}}', '00.10|str|[a b c]|1000000|"str"'),
    ('{{.M.s | printf "%s-%s" "p"}}', "p-str"),
    ('{{and true 0}} {{or 0 "x"}} {{not 0}}', "0 x true"),
    ('{{print 1 2 "x" 3}}', "1 2x3"),
    ('{{html "<a>"}} {{js "\'"}} {{urlquery "a b"}}', "&lt;a&gt; \\' a+b"),
    ('{{index .C "zz"}}', "<no value>"),
]

GOLDEN_ERRORS = ["{{.Nope}}", "{{.M.nope}}", "{{index .L 5}}", '{{eq .M.i "x"}}', "{{.M.s.x}}"]

GOLDEN_PARSE_ERRORS = [
    "{{.M.s",
    "{{unknown .M}}",
    "{{if}}{{end}}",
    "{{end}}",
    "{{else}}",
    "{{range .M.l}}x",
    "{{-.M.s}}",
]

HASHES = [
    ('{{hash "eval-seed" "task-a"}}', "9526074796148898333"),
    ('{{hash "ab" "c"}}', "6925784671553650220"),
    ('{{hash "a" "bc"}}', "4589064456534337473"),
    ("{{hash .M.n}}", "15668787751892970909"),
]


@pytest.mark.parametrize("text, expected", GOLDEN)
def test_golden(text: str, expected: str) -> None:
    assert render(text) == expected


@pytest.mark.parametrize("text", GOLDEN_ERRORS)
def test_golden_render_error(text: str) -> None:
    template = parse(text, kind="judge prompt")
    with pytest.raises(TemplateError):
        template.render(DATA)


@pytest.mark.parametrize("text", GOLDEN_PARSE_ERRORS)
def test_golden_parse_error(text: str) -> None:
    with pytest.raises(TemplateError):
        parse(text, kind="judge prompt")


@pytest.mark.parametrize("text, expected", HASHES)
def test_hash_vectors(text: str, expected: str) -> None:
    assert render(text) == expected


def test_hash_is_of_the_text() -> None:
    assert render('{{eq (hash 1) (hash "1")}}{{eq (hash 1e6) (hash "1e+06")}}') == "truetrue"


@pytest.mark.parametrize(
    "text, expected",
    [
        # text, comments, trim markers
        ("", ""),
        ("no actions }} here", "no actions }} here"),
        ("a{{/* c }} */}}b", "ab"),
        ("a {{- /* c */ -}} b", "ab"),
        ("a {{/* two\nlines */ -}} \n b", "a b"),
        ("x\u00a0{{- 1 -}}\u00a0y", "x\u00a01\u00a0y"),
        ("a \r\n\t{{- 1}} b", "a1 b"),
        ("{{-3}}", "-3"),
        ("{{- 3 -}}", "3"),
        ("{{3 -}}  x", "3x"),
        ("{{\n.M.s\n}}", "str"),
        ("{{ 1 }}{{ 2}}", "12"),
        # literals
        ("{{0x1F}} {{0b101}} {{0o17}} {{017}} {{1_000}} {{+5}} {{-5}}", "31 5 15 15 1000 5 -5"),
        ("{{1.5}} {{.5}} {{1.}} {{1e3}} {{1e6}} {{0x1p4}} {{0x1.8p1}}", "1.5 0.5 1 1000 1e+06 16 3"),
        ("{{'a'}} {{'\\n'}} {{'é'}} {{'\\''}}", "97 10 233 39"),
        ('{{"a\\tb\\"\\\\\\a\\x41\\101\\u00e9\\U0001F600"}}', 'a\tb"\\\aAAé😀'),
        ('{{"\\xc3\\xa9"}}', "é"),
        ('{{`raw \\n "x"`}}', 'raw \\n "x"'),
        ("{{true}} {{false}}", "true false"),
        # fields, variables, chains
        ("{{$.M.s}}{{with .M}}{{.s}}{{$.L}}{{end}}", "strstr[one two]"),
        ('{{(index .N 0)}} {{(.M).s}} {{(index .C "a").k}}', "[1 2] str 1e+06"),
        ("{{$x := .M}}{{$x.s}}{{$x = .L}}{{$x}}", "str[one two]"),
        ("{{$x := 1}}{{if true}}{{$x = 2}}{{end}}{{$x}}", "2"),
        ("{{$x := 1}}{{if true}}{{$x := 2}}{{$x}}{{end}}{{$x}}", "21"),
        ("{{if $x := .M.s}}{{$x}}{{end}}", "str"),
        ("{{with $x := .M.n}}a{{else}}{{$x}}b{{end}}", "<no value>b"),
        ("{{$n := 0}}{{range $n = .L}}{{end}}{{$n}}", "two"),
        ("{{$i := 0}}{{$e := 0}}{{range $i, $e = .L}}{{end}}{{$i}}{{$e}}", "1two"),
        ("{{print ($x := 5) $x}}", "5 5"),
        # control structures
        ("{{if .M.b}}a{{else if .M.e}}b{{else if .M.s}}c{{else}}d{{end}}", "c"),
        ("{{if .M.n}}a{{else}}b{{end}}", "b"),
        ("{{with .M.e}}a{{else with .M.s}}{{.}}{{else}}c{{end}}", "str"),
        ("{{range .M.n}}x{{else}}none{{end}}", "none"),
        ("{{range $k, $v := .C.a}}{{$k}}={{$v}}{{end}}", "k=1e+06"),
        ("{{range .C}}{{.}};{{end}}", "map[k:1e+06];[1 x y true <nil>];"),
        ('{{range .L}}{{if eq . "two"}}{{break}}{{end}}{{.}}{{end}}', "one"),
        ('{{range .L}}{{if eq . "one"}}{{continue}}{{end}}{{.}}{{end}}', "two"),
        ("{{range .N}}{{range .}}{{if eq . 2}}{{break}}{{end}}{{.}}{{end}};{{end}}", "1;3;"),
        # pipelines and functions
        ('{{"x" | print | len}}', "1"),
        ("{{.L | index 1 | len}}", None),
        ('{{1 | and true}} {{0 | or false}} {{"x" | or 0 ""}} {{"x" | and 0}}', "1 0 x 0"),
        ('{{eq 1 2 1}} {{eq 1 2}} {{ne "a" "b"}} {{eq .M.n nil}} {{eq .M.n 1}}', "true false true true false"),
        ('{{lt 1 2}} {{le 2 2}} {{gt 1 2}} {{ge 2 2}} {{lt 1.5 2.5}} {{lt "a" "b"}}', "true true false true true true"),
        ("{{eq true true}} {{eq 1.0 1.0}}", "true true"),
        ('{{len "é"}} {{len .M}} {{index "é" 0}}', "2 12 195"),
        (
            '{{slice "abc"}} {{slice "abc" 1}} {{slice .L 0 1}} {{slice .L 0 1 2}} {{slice "é" 0 1}}',
            "abc bc [one] [one] \ufffd",
        ),
        ("{{index .N 1 0}} {{index .N}}", "3 [[1 2] [3]]"),
        ('{{println "a" 1}}{{print nil}}{{print "a" nil}}', "a 1\n<nil>a<nil>"),
        ("{{html .html}}", "&lt;a href=&#34;x&#34;&gt;&amp;&#39;&lt;/a&gt;\ufffd"),
        ("{{html .M.n}} {{html 1 2}}", "&lt;no value&gt; 1 2"),
        ('{{js "<\\n=\\"\\\\é&\\u2028\\x7f"}}', '\\u003C\\u000A\\u003D\\"\\\\é\\u0026\\u2028\x7f'),
        ('{{urlquery "ä/?&=~-_."}}', "%C3%A4%2F%3F%26%3D~-_."),
        ("{{and (or 0 1) 2}}", "2"),
        ("a{{print print}}b{{print false}}", "abfalse"),
        ("{{not .M.em}} {{not .M.f}} {{not (print)}}", "true false true"),
        ("{{or .M.b .M.nope2 1}}", None),
        ("{{and .M.b .M.nope2}}", "false"),
        ("{{print true 1 2.5 .M.e}}", "true 1 2.5 []"),
        ('{{print "{{.M.s}}"}}', "{{.M.s}}"),
    ],
)
def test_language(text: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(TemplateError):
            render(text)
    else:
        assert render(text) == expected


def test_data_is_never_expanded_again() -> None:
    assert render("{{.x}}", {"x": "{{.secret}}", "secret": "s"}) == "{{.secret}}"


@pytest.mark.parametrize(
    "text, message",
    [
        ('{{define "x"}}{{end}}', "'define' is not supported; supported are"),
        ('{{template "x"}}', "'template' is not supported"),
        ('{{block "x" .}}{{end}}', "'block' is not supported"),
        ("{{call .X}}", "unknown function 'call'"),
        ("{{lenn .L}}", "unknown function 'lenn'; did you mean 'len'? functions here are and, eq"),
        ("{{.L.Method 1}}", "takes no arguments"),
        ("{{1i}}", "complex numbers are not supported"),
        ("{{1 2}}", "an action holds one value"),
        ("{{(1) 2}}", "an action holds one value"),
        ("{{nil}}", "nil is not a value of its own"),
        ("{{1 | .L}}", "cannot receive the value of a pipeline"),
        ('{{1 | "x"}}', "cannot receive the value of a pipeline"),
        ("{{}}", "missing value for an action"),
        ("{{1 |}}", "missing value for an action"),
        ("{{()}}", "missing value for parentheses"),
        ("{{(1}}", "expected ), found '}}'"),
        ("{{1)}}", "expected }}, found ')'"),
        ("{{if 1}}{{else}}{{else}}{{end}}", "a second {{else}}"),
        ("{{if 1}}{{else if}}{{end}}", "missing value for if"),
        ("{{if 1}}{{else}}", "{{if}} is not closed"),
        ("{{if 1}}{{else with 1}}{{end}}", "{{else}} stands alone"),
        ("{{if 1}}{{end 1}}", "{{end}} stands alone"),
        ("{{range .L}}{{break 1}}{{end}}", "{{break}} stands alone"),
        ("{{break}}", "{{break}} outside range"),
        ("{{range .L}}{{else}}{{continue}}{{end}}", "{{continue}} outside range"),
        ("{{else}}", "{{else}} without if, with or range"),
        ("{{$x}}", "undefined variable $x"),
        ("{{$count := 1}}{{$cuont}}", "did you mean $count?"),
        ("{{$x = 1}}", "undefined variable $x"),
        ("{{$ := 1}}", "the variable $ cannot be assigned"),
        ("{{if true}}{{$x := 1}}{{end}}{{$x}}", "undefined variable $x"),
        ("{{$a, $b := 1}}", "two variables are declared only by range"),
        ("{{range $a, 1 := .L}}{{end}}", "range declares variables as"),
        ('{{"a""b"}}', "arguments are separated by spaces"),
        ("{{print 1(2)}}", "arguments are separated by spaces"),
        ("{{1.L}}", None),
        ('{{"a".L}}', "has no fields"),
        ("{{len.L}}", "has no fields"),
        ("{{print if}}", "'if' cannot stand here"),
        ("{{print :=}}", "unexpected ':='"),
        ("{{$x=1}}", "unexpected '=' after '$x'"),
        ("{{.L+1}}", "unexpected '+' after '.L'"),
        ('{{"a}}', 'unclosed " quote'),
        ("{{`a}}", "unclosed ` quote"),
        ("{{/* a }}", "unclosed comment"),
        ("{{/* a */ 1}}", "a comment must end with"),
        ("{{ /* a */}}", "a comment must touch its delimiters"),
        ("{{1 # 2}}", "unexpected character '#'"),
        ("{{'ab'}}", "exactly one character"),
        ('{{"\\q"}}', "unknown escape '\\\\q'"),
        ('{{"\\777"}}', "unknown escape"),
        ('{{"\\ud800"}}', "unknown escape"),
        ('{{"\\\'"}}', "unknown escape"),
        ("{{9223372036854775808}}", "does not fit 64 bits"),
        ("{{1e999}}", "bad number"),
        ("{{0x}}", "bad number"),
        ("{{1__0}}", "bad number"),
        ("{{08}}", "bad number"),
        ("{{" + "(" * 51 + "1" + ")" * 51 + "}}", "deeper than 50"),
        ("{{if 1}}" * 51 + "{{end}}" * 51, "deeper than 50"),
        ("{{", "unclosed action"),
        ("{{.", "unclosed action"),
    ],
)
def test_refused_when_read(text: str, message: str | None) -> None:
    with pytest.raises(TemplateError) as caught:
        parse(text, kind="judge prompt")
    assert (message or "") in str(caught.value)


@pytest.mark.parametrize("name", ["hash", "json"])
def test_extra_functions_only_where_allowed(name: str) -> None:
    with pytest.raises(TemplateError, match=f"'{name}' is not available in this kind of template"):
        parse(f"{{{{{name} .X}}}}", kind="judge prompt")
    assert parse(f"{{{{{name} 1}}}}", kind="service input", functions=(name,)).render({})


@pytest.mark.parametrize(
    "text, message",
    [
        ("{{.L.x}}", "there is no field 'x' in a list"),
        ("{{or 1 ($x := 2)}}{{$x}}", "undefined variable $x"),
        ("{{.M.n.x}}", "there is no field 'x' in nil"),
        ("{{range 3}}{{end}}", "range over an int"),
        ("{{range .M.s}}{{end}}", "range over a string"),
        ("{{len 3}}", "len of an int"),
        ("{{index 3 1}}", "index of an int"),
        ("{{index nil 1}}", "index of nil"),
        ('{{index .L "x"}}', "an index must be an int, found a string"),
        ("{{index .L -1}}", "index -1 is out of range 0 to 1"),
        ("{{index .M.e 0}}", "there are no elements"),
        ("{{index .M 0}}", "a map is indexed by a string"),
        ("{{slice .M 0}}", "slice of a map"),
        ("{{slice .M.s 0 1 2}}", "at most two indexes"),
        ("{{slice .M.s 2 1}}", "must grow"),
        ("{{slice .M.s 9}}", "out of range"),
        ("{{eq .L .L}}", "a list cannot be compared"),
        ("{{eq 1 1.0}}", "cannot compare an int with a float"),
        ("{{lt true false}}", "a bool has no order"),
        ("{{lt 1 2.0}}", "cannot compare"),
        ("{{not}}", "not takes 1 argument, found 0"),
        ("{{lt 1}}", "lt takes 2 arguments, found 1"),
        ("{{eq 1}}", "eq takes at least 2 arguments"),
        ("{{slice .L 1 1 1 1}}", "slice takes 1 to 4 arguments"),
        ("{{and}}", "and takes at least one argument"),
        ("{{printf 1}}", "printf starts with a format string"),
        ("{{json .inf}}", "json: +Inf cannot be written"),
        ("{{.odd}}", "type object cannot be used in a template"),
        ("{{range .oddkeys}}{{end}}", "keys are text"),
        ("{{.oddkeys}}", "keys are text"),
        ("{{.huge}}", "more than 4,000 digits"),
    ],
)
def test_refused_when_rendered(text: str, message: str) -> None:
    data = {**DATA, "odd": object(), "oddkeys": {1: 2}, "inf": float("inf"), "huge": 10**5000}
    with pytest.raises(TemplateError) as caught:
        render(text, data)
    assert message in str(caught.value)


def test_messages_name_kind_line_construct_and_position() -> None:
    place = Position("config.yaml", 7, 3, "judges[0]")
    with pytest.raises(UserError) as caught:
        parse("a\n\n{{ foo .X }}", kind="judge prompt", position=place)
    error = caught.value
    assert isinstance(error, TemplateError)
    assert str(error).startswith("config.yaml:7:3 judges[0]: judge prompt template, line 3 in {{ foo .X }}: unknown")
    assert (error.kind, error.line, error.position) == ("judge prompt", 3, place)
    template = parse("{{if true}}\n{{.Known}}{{len (index .L\n 7)}}{{end}}", kind="path", position=place)
    with pytest.raises(TemplateError, match=r"path template, line 2 in index .L 7: index 7 is out of range"):
        template.render({"Known": 1, "L": ["x"]})
    with pytest.raises(TemplateError, match="fields here are L"):
        template.render({"L": []})


def test_long_constructs_are_shortened() -> None:
    with pytest.raises(TemplateError) as caught:
        parse('{{foo "' + "x" * 500 + '"}}', kind="path")
    assert "…" in str(caught.value)
    assert len(str(caught.value)) < 400


class _Trap:
    """Any look at an attribute beyond the class fails the test."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


@pytest.mark.parametrize("text", ["{{.x.secret}}", "{{.x}}", "{{len .x}}", "{{json .x}}", "{{if .x}}{{end}}"])
def test_attributes_are_never_reached(text: str) -> None:
    with pytest.raises(TemplateError):
        render(text, {"x": _Trap()})


def test_python_names_are_no_fields() -> None:
    for name in ("__class__", "keys", "upper"):
        with pytest.raises(TemplateError):
            render(f"{{{{.M.{name}}}}}")


@pytest.mark.parametrize(
    "text, data, message",
    [
        ("{{range .a}}{{range $.a}}{{range $.a}}{{end}}{{end}}{{end}}", {"a": [0] * 200}, "1,000,000 steps"),
        ("{{range .a}}{{$.s}}{{end}}", {"a": [0] * 200, "s": "x" * 100_000}, "characters of output"),
        ("{{range .a}}{{$x := print $.s $.s}}{{end}}", {"a": [0] * 900, "s": "x" * 100_000}, "of work"),
        ('{{$x := "ab"}}{{range .a}}{{$x = print $x $x}}{{end}}', {"a": [0] * 99}, "of work"),
        ("{{.d}}", {"d": None}, "deeper than 200"),
        ('{{printf "%v" .d}}', {"d": None}, "deeper than 200"),
        ("{{.wide}}", {"wide": None}, "longer than a template may produce"),
        ('{{printf "%v" .wide}}', {"wide": None}, "longer than a template may produce"),
        ("{{printf .s 1}}", {"s": "%v" + "x" * 17_000_000}, "text of printf is longer"),
    ],
)
def test_rendering_is_bounded(text: str, data: dict[str, Any], message: str) -> None:
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    wide: Any = ["x" * 1000] * 100
    for _ in range(3):
        wide = [wide] * 10
    with pytest.raises(TemplateError, match=message):
        render(text, {**data, **({"d": deep} if "d" in data else {}), **({"wide": wide} if "wide" in data else {})})


@given(st.text(alphabet="{}.-/*\"`'$|=:()ab1 \nrangeifndlswth", max_size=60))
def test_reading_anything_either_works_or_says_why(text: str) -> None:
    problem = ""
    try:
        parse(text, kind="fuzz", functions=("json",)).render({"a": [1, {"b": 2}], "b": "x"})
    except TemplateError as error:
        problem = str(error)
    assert not problem or problem.startswith("fuzz template, line ")


@given(st.text())
def test_text_without_actions_is_kept(text: str) -> None:
    if "{{" not in text:
        assert render(text, {}) == text
    assert render("{{.x}}", {"x": text}) == text
