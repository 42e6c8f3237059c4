"""Static field checks per template kind."""

from __future__ import annotations

import pytest

from pytest_mindtrial.suite.gotemplate import (
    EXECUTION_FIELDS,
    EXECUTION_FUNCTIONS,
    JUDGE_FIELDS,
    PATH_FIELDS,
    SERVICE_FIELDS,
    SYSTEM_FIELDS,
    VALIDATOR_FIELDS,
    FieldSpec,
    TemplateError,
    parse,
)

RANGE = "{{- range .OriginalTask.ExpectedResults}}- {{.}}{{- end}}{{if .Rules.TrimLines}}yes{{else}}no{{end}}"


@pytest.mark.parametrize(
    "fields, text",
    [
        (PATH_FIELDS, "{{.Year}}-{{.Month}}-{{.Day}}_{{.Hour}}-{{.Minute}}-{{.Second}}"),
        (SYSTEM_FIELDS, "Format: {{.ResponseResultFormat}}"),
        (JUDGE_FIELDS, RANGE + "{{.Candidate.Response}}{{.Verdict.Format}}{{$.OriginalTask.Prompt}}"),
        (JUDGE_FIELDS, "{{with .Rules}}{{.CaseSensitive}}{{$x := .}}{{$x.TrimLines}}{{end}}"),
        (JUDGE_FIELDS, '{{index .Rules "TrimLines"}}{{(index . "Rules").TrimLines}}'),
        (JUDGE_FIELDS, "{{range $i, $e := .OriginalTask.ExpectedResults}}{{$i}}{{$e}}{{end}}"),
        (JUDGE_FIELDS, "{{range $k, $v := .Rules}}{{$v.anything}}{{end}}{{range .Candidate}}{{.x}}{{end}}"),
        (JUDGE_FIELDS, "{{$x := .Rules}}{{$x = .Verdict}}{{$x.Format}}{{if true}}{{$x = .Rules}}{{end}}"),
        (JUDGE_FIELDS, "{{$x := 1}}{{range $x = .Rules}}{{$x.y}}{{end}}"),
        (JUDGE_FIELDS, "{{print print}}"),
        (JUDGE_FIELDS, "{{(or .Rules .Verdict).Format}}{{(index .OriginalTask $.Verdict.Format).x}}"),
        (EXECUTION_FIELDS, "{{hash .Evaluation.Seed .Task.Name .Provider.Name .Run.Name}}{{(json 1) | len}}"),
        (SERVICE_FIELDS, "{{.Name}} {{.Host}}:{{.Port}} {{.Endpoint}}"),
        (VALIDATOR_FIELDS, RANGE + "{{json .Candidate.Response.any.depth}}{{.Task.Name}}"),
        (
            VALIDATOR_FIELDS,
            "{{range .OriginalTask.ExpectedResults}}{{.key}}{{end}}{{.OriginalTask.ResponseResultFormat}}",
        ),
    ],
)
def test_known_fields_pass(fields: FieldSpec, text: str) -> None:
    parse(text, kind="some", functions=EXECUTION_FUNCTIONS, fields=fields)


@pytest.mark.parametrize(
    "fields, text, message",
    [
        (PATH_FIELDS, "{{.Foo}}", "no field 'Foo'; fields here are Day, Hour"),
        (PATH_FIELDS, "{{.Yaer}}", "did you mean 'Year'?"),
        (SYSTEM_FIELDS, "{{.ResponseFormat}}", "fields here are ResponseResultFormat"),
        (JUDGE_FIELDS, "{{if false}}{{.Candidate.Respons}}{{end}}", "did you mean 'Response'?"),
        (JUDGE_FIELDS, "{{.PassingVerdicts}}", "no field 'PassingVerdicts'"),
        (JUDGE_FIELDS, "{{.Task.Name}}", "no field 'Task'"),
        (JUDGE_FIELDS, "{{with .Rules}}{{.Format}}{{end}}", "no field 'Format'"),
        (JUDGE_FIELDS, "{{with .Rules}}{{$.Rulez}}{{end}}", "did you mean 'Rules'?"),
        (JUDGE_FIELDS, "{{range .OriginalTask.ExpectedResults}}{{.x}}{{end}}", "no field 'x' in a plain value"),
        (JUDGE_FIELDS, "{{range $i, $e := .OriginalTask.ExpectedResults}}{{$i.x}}{{end}}", "in a plain value"),
        (JUDGE_FIELDS, "{{.OriginalTask.ExpectedResults.x}}", "no field 'x' in a list"),
        (JUDGE_FIELDS, "{{range .OriginalTask.Prompt}}{{end}}", "range over a plain value"),
        (JUDGE_FIELDS, '{{(index . "Rules").Nope}}', "no field 'Nope'"),
        (JUDGE_FIELDS, "{{(index .OriginalTask.ExpectedResults 0).x}}", "in a plain value"),
        (JUDGE_FIELDS, "{{$x := .Rules}}{{$x.Nope}}", "no field 'Nope'"),
        (JUDGE_FIELDS, "{{(.Rules).Nope}}", "no field 'Nope'"),
        (JUDGE_FIELDS, "{{(print 1).Nope}}", "in a plain value"),
        (JUDGE_FIELDS, "{{print .Nope}}", "no field 'Nope'"),
        (EXECUTION_FIELDS, "{{.Task.Prompt}}", "no field 'Prompt'"),
        (SERVICE_FIELDS, "{{.Port.x}}", "in a plain value"),
        (VALIDATOR_FIELDS, "{{.Verdict}}", "no field 'Verdict'"),
    ],
)
def test_unknown_fields_are_found_when_read(fields: FieldSpec, text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse("\n" + text, kind="some", fields=fields)
    assert message in str(caught.value)
    assert "some template, line 2 in " in str(caught.value)
