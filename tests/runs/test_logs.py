"""Log records of one attempt never appear in another item's captured log."""

from __future__ import annotations

import json


def test_engine_records_stay_out_of_items(project):
    tasks = [{"name": f"t{n}", "prompt": "q", "response-result-format": "w", "expected-result": "x"} for n in range(6)]
    project.suite(json.dumps({"task-config": {"tasks": tasks}}))
    project.write(
        "conftest.py",
        """
        import logging

        class Talkative:
            is_mock = True
            def check(self, prompt):
                pass
            def start(self, prompt):
                logging.getLogger("some.library").error("engine record of %s", prompt.task)
                return self.inner.start(prompt)
            async def close(self):
                pass

        def pytest_mt_client(provider, run):
            def answer(prompt):
                logging.getLogger("some.library").error("engine record of %s", prompt)
                return "wrong"
            return answer
        """,
    )
    result = project.run("tasks.yaml", "--log-level=DEBUG")
    result.assert_outcomes(failed=6)
    assert "engine record" not in result.stdout.str()


def test_an_items_own_records_are_still_captured(project):
    project.suite()
    project.write(
        "conftest.py",
        """
        import logging
        import pytest

        @pytest.fixture
        def mt_validator():
            def judge(answer):
                return False
            logging.getLogger("mine").warning("from the fixture")
            return judge
        """,
    )
    result = project.run("tasks.yaml", "-k", "sum")
    result.stdout.fnmatch_lines(["*from the fixture*"])
