"""``mindtrial gate FILES``: gates on stored results, for pipelines that do not run pytest at that point.

Does not measure (``results/gates.py``). The rules are those of the pytest options, except that nothing is known of
other tests and of how many results were expected (a journal says whether its session finished).
Source: issue "From results to decisions"; design D16.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pytest_mindtrial.cli.arguments import CommandParser
from pytest_mindtrial.cli.console import print_document
from pytest_mindtrial.cli.inputs import read_inputs, read_results
from pytest_mindtrial.core.jsontext import pretty_json
from pytest_mindtrial.results.compare import Comparison, compare
from pytest_mindtrial.results.gate_decision import Decision, GatePolicy, SessionFacts, decide
from pytest_mindtrial.results.gate_expression import parse_gate
from pytest_mindtrial.results.gates import evaluate_baseline, evaluate_gate
from pytest_mindtrial.results.markdown import render_markdown

__all__ = ["run"]


def run(arguments: Sequence[str]) -> int:
    """Run the command; 0 = green, 1 = red or undecided."""
    parser = CommandParser("gate", "Decide on stored results whether gates hold. Exit status 0 = green, 1 = not.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="result files (JSON or journals), merged in order")
    parser.add_argument("--gate", action="append", default=[], metavar="EXPR", help="such as 'pass-rate >= 0.9'")
    parser.add_argument("--baseline", metavar="FILE", help="also demand: no significant regression against FILE")
    parser.add_argument("--undecided", choices=("red", "green"), default="red", help="what doubt means (default: red)")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text", help="(default: text)")
    options = parser.parse_args(arguments)
    if not options.gate and not options.baseline:
        parser.error("nothing to decide: give --gate or --baseline")
    gates = [parse_gate(text) for text in options.gate]
    inputs = read_inputs(options.files, datetime.now().astimezone())
    outcomes = [outcome for gate in gates for outcome in evaluate_gate(gate, inputs.results)]
    comparison: Comparison | None = None
    if options.baseline:
        comparison = compare(read_results(options.baseline), inputs.results)
        outcomes += evaluate_baseline(comparison)
    count = len(inputs.results)
    facts = SessionFacts(count or 1, count, 0, interrupted=not inputs.info.is_complete)
    decision = decide(outcomes, inputs.results, facts, GatePolicy.of(gates, options.undecided))
    if options.format == "markdown":
        print_document(render_markdown(inputs.results, inputs.info, decision, comparison))
    else:
        print_document(_shown(decision, options.format))
    return decision.exit_status


def _shown(decision: Decision, output_format: str) -> str:
    if output_format == "json":
        return pretty_json(decision.as_object()) + "\n"
    return "\n".join(decision.lines) + "\n"
