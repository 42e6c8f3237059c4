"""Value match: the answer equals one of the accepted answers.

Does not know numeric tolerance, sets or patterns. Source: spec mindtrial 5.1 and 5.5.
"""

from __future__ import annotations

from pytest_mindtrial.core.errors import ValidationError
from pytest_mindtrial.core.record import ValidationRecord
from pytest_mindtrial.validators.base import Candidate, Verdict
from pytest_mindtrial.validators.canonical import canonical, comparison_key, unique

__all__ = ["ValueValidator"]


class ValueValidator:
    """Judges by equality of canonical forms."""

    name = "value match"
    method = "exact"

    async def validate(self, candidate: Candidate) -> Verdict:
        """Judge one answer.

        Raises:
            ValidationError: The answer is nested too deeply to be compared.
        """
        try:
            got = canonical(candidate.answer, candidate.rules)
            want = unique(canonical(value, candidate.rules) for value in candidate.expected)
            passed = comparison_key(got) in {comparison_key(value) for value in want}
        except RecursionError:
            raise ValidationError("the answer is nested too deeply to be compared") from None
        relation = "matches one of" if passed else "does not match any of"
        record = ValidationRecord(
            self.method,
            title="Response Assessment",
            explanation=f"The answer {relation} the accepted answers.",
            validator=self.name,
        )
        return Verdict(passed, got, want, record)
