"""Schema match: the answer fits the one expected JSON Schema.

Nothing is normalised and nothing coerced. Source: spec mindtrial 5.2 and 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_mindtrial.core.errors import ValidationError
from pytest_mindtrial.core.record import ValidationRecord
from pytest_mindtrial.core.schemas import SchemaError, compile_schema, schema_problems
from pytest_mindtrial.validators.base import Candidate, Verdict

__all__ = ["SchemaValidator"]


class SchemaValidator:
    """Judges by a JSON Schema; an unusable schema is an error, never a wrong answer."""

    name = "schema match"
    method = "schema"

    async def validate(self, candidate: Candidate) -> Verdict:
        """Judge one answer.

        Raises:
            ValidationError: There is not exactly one usable schema.
        """
        if len(candidate.expected) != 1 or not isinstance(candidate.expected[0], Mapping):
            raise ValidationError("schema validation needs exactly one JSON Schema object as expected-result")
        try:
            problems = schema_problems(compile_schema(candidate.expected[0]), candidate.answer)
        except SchemaError as error:
            raise ValidationError(f"the expected JSON Schema cannot be used: {error}") from error
        text = "The answer conforms to the expected schema."
        if problems:
            text = "\n".join(["The answer does not conform to the expected schema:", *problems])
        record = ValidationRecord(self.method, title="Schema Assessment", explanation=text, validator=self.name)
        return Verdict(not problems, candidate.answer, candidate.expected, record)
