"""Every promise of four chapters of seed README 000, in our words, with the tests that hold it.

The chapters are Tools (with Tool Selection and Conversation Turn Limit), Task Services, Custom Validators, and
Templates, read sentence by sentence. A promise without an existing test fails here.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]

TOOLS: dict[str, tuple[str, ...]] = {
    "models call tools while they work on a task": (
        "docker/test_turns::test_results_go_back_to_the_model_and_the_conversation_goes_on",
    ),
    "tools run in containers with limits and without a network": (
        "docker/test_tool_calls::test_limits_hardening_and_labels_reach_the_engine",
        "docker/test_tool_calls::test_a_tool_without_dependencies_has_no_network",
    ),
    "names of tools are unique": ("unit/suite/test_config::test_tool_names_are_unique",),
    "image is what a call runs": ("docker/test_tool_calls::test_no_command_means_the_default_of_the_image",),
    "description goes to the model": (
        "docker/test_turns::test_results_go_back_to_the_model_and_the_conversation_goes_on",
    ),
    "parameters are a JSON Schema for the model": (
        "unit/suite/test_config::test_tool_parameters_must_be_a_schema",
        "docker/test_tool_calls::test_bad_arguments_start_nothing_and_do_not_count",
        "docker/test_tool_calls::test_lenient_mode_passes_on_what_the_schema_forbids",
    ),
    "parameter-files get arguments, texts as they are and other values as JSON": (
        "docker/test_tool_calls::test_arguments_become_files_and_others_are_dropped",
        "unit/sandbox/test_arguments::test_values_become_text",
    ),
    "auxiliary-dir holds files with local access under their own names, reset for each call": (
        "docker/test_tool_calls::test_files_with_local_access_are_mounted_under_their_names_and_reset",
        "unit/sandbox/test_preflight::test_file_names_must_stay_in_the_directory_and_apart",
    ),
    "shared-dir lives for all calls of all tools of a task and goes with it": (
        "docker/test_tool_calls::test_the_shared_directory_lives_as_long_as_the_attempt_for_all_tools_and_users",
    ),
    "everything else that a call changes is gone with the call": (
        "docker/test_tool_calls::test_the_shared_directory_lives_as_long_as_the_attempt_for_all_tools_and_users",
        "docker/test_tool_calls::test_anonymous_volumes_of_an_image_go_with_the_container",
    ),
    "command runs in the container": (
        "docker/test_tool_calls::test_a_command_that_is_not_in_the_image_is_our_failure_and_counts",
    ),
    "standard output goes back to the model as it is": (
        "docker/test_tool_calls::test_standard_output_is_passed_back_stripped_and_not_parsed",
        "docker/test_tool_calls::test_a_megabyte_in_one_line_comes_back_whole_up_to_the_text_limit",
    ),
    "env is set in the container": ("docker/test_tool_calls::test_env_is_set_beside_that_of_the_image",),
    "dependencies give access to services, with env templates": (
        "docker/test_services::test_tools_share_the_state_of_their_service_and_find_it_by_its_endpoint",
    ),
    "Docker must be there": (
        "docker/test_sessions::test_a_missing_engine_stops_the_session",
        "unit/sandbox/test_connection::test_no_engine_is_one_message",
    ),
    "the example of the chapter runs": ("docker/test_examples::test_python_tool",),
    "selections hold for all tasks and are overridden by single ones": (
        "unit/suite/test_tasks::test_default_tools_apply_unchanged",
        "unit/suite/test_tasks::test_tools_merge_by_name_in_stable_order",
    ),
    "tools must be defined before they are selected": (
        "unit/suite/test_start_checks::test_names",
        "unit/sandbox/test_preflight::test_names_must_exist",
    ),
    "all tools, or one, can be disabled": (
        "unit/suite/test_tasks::test_tool_states",
        "docker/test_seed_promises::test_disabled_tools_need_nothing_and_are_not_offered",
    ),
    "max-calls limits the calls of one tool in a task": (
        "docker/test_tool_calls::test_a_tool_may_be_called_so_many_times",
        "docker/test_turns::test_a_tool_that_is_used_up_is_refused_and_then_withdrawn",
    ),
    "timeout limits one call": ("docker/test_tool_calls::test_a_tool_is_stopped_at_its_time_limit",),
    "max-memory-mb limits one call": (
        "docker/test_tool_calls::test_the_memory_limit_is_named_when_it_kills_the_tool",
        "docker/test_tool_calls::test_a_child_killed_for_memory_does_not_make_the_call_fail",
    ),
    "cpu-percent limits one call": ("docker/test_tool_calls::test_limits_hardening_and_labels_reach_the_engine",),
    "service-inputs of all tasks, with single inputs overridden, only where the service is used": (
        "unit/suite/test_tasks::test_merging_does_not_change_the_defaults",
        "docker/test_services::test_inputs_are_rendered_and_reach_their_variables",
    ),
    "max-turns ends conversations that do not end": (
        "docker/test_turns::test_the_conversation_ends_at_its_turn_limit",
    ),
    "max-turns of all tasks is overridden by single ones, 0 means unlimited": (
        "unit/suite/test_tasks::test_max_turns",
        "docker/test_turns::test_a_limit_that_is_not_reached_changes_nothing",
    ),
}

SERVICES: dict[str, tuple[str, ...]] = {
    "a service keeps state while a model works": (
        "docker/test_services::test_tools_share_the_state_of_their_service_and_find_it_by_its_endpoint",
    ),
    "tools with services go with every kind of validation": (
        "docker/test_sessions::test_a_failing_tool_does_not_fail_the_task",
        "docker/test_examples::test_shopping_cart",
    ),
    "the engine is checked before anything starts": (
        "docker/test_preflight::test_a_pinned_old_version_is_refused",
        "unit/sandbox/test_connection::test_old_engines_are_refused_and_closed",
    ),
    "definitions: name, image, command, env, endpoint, input-env, healthcheck, startup-timeout, limits": (
        "unit/suite/test_config::test_a_full_service",
        "unit/suite/test_config::test_service_mistakes",
    ),
    "scheme is http or https": ("unit/sandbox/test_services::test_https_shows_in_the_endpoint",),
    "an input must not give another value to a variable of env": (
        "docker/test_services::test_inputs_that_clash_end_the_attempt_before_anything_starts",
        "unit/suite/test_start_checks::test_environment_conflicts",
    ),
    "a service with healthcheck is ready once that succeeds": (
        "docker/test_services::test_a_service_that_needs_a_moment_is_waited_for",
        "unit/sandbox/test_services::test_the_check_is_repeated_until_it_succeeds",
    ),
    "without healthcheck it is ready when it runs": (
        "docker/test_services::test_a_service_without_a_healthcheck_is_ready_when_it_runs",
    ),
    "startup-timeout limits the wait, and a single check may take all of it": (
        "docker/test_services::test_a_service_that_does_not_become_ready_ends_the_attempt_and_leaves_nothing",
    ),
    "max-memory-mb and cpu-percent limit the service": (
        "docker/test_seed_promises::test_limits_of_services_and_validators_reach_the_engine",
    ),
    "env of a dependency is a template of the running service": (
        "docker/test_services::test_tools_share_the_state_of_their_service_and_find_it_by_its_endpoint",
    ),
    "inputs are strings, numbers or booleans": (
        "unit/suite/test_tasks::test_rule_5_service_inputs",
        "docker/test_services::test_inputs_are_rendered_and_reach_their_variables",
    ),
    "strings among the inputs are templates": (
        "docker/test_services::test_inputs_are_rendered_and_reach_their_variables",
    ),
    "the seed is new for each evaluation, and is in every result": (
        "runs/test_options::test_the_seed_is_recorded_and_random_otherwise",
        "unit/results/test_json_writer::test_metadata_and_seed",
    ),
    "the same seed gives the same inputs": ("docker/test_examples::test_shopping_cart",),
    "an input that is not set is left to the service": (
        "docker/test_services::test_inputs_are_rendered_and_reach_their_variables",
    ),
    "those services start that tools and validator depend on, and no others": (
        "docker/test_seed_promises::test_only_needed_services_start",
        "docker/test_services::test_a_task_that_needs_nothing_never_asks_for_an_engine",
    ),
    "they are ready before the model gets the prompt": (
        "docker/test_seed_promises::test_services_are_ready_before_the_prompt_and_gone_after_the_verdict",
    ),
    "one that does not get ready fails the attempt, and all are removed": (
        "docker/test_services::test_a_service_that_does_not_become_ready_ends_the_attempt_and_leaves_nothing",
    ),
    "each attempt has services of its own, a further one too": (
        "docker/test_services::test_two_attempts_at_once_and_one_after_another_never_share_state",
        "docker/test_seed_promises::test_a_further_try_starts_afresh_from_the_same_inputs",
    ),
    "the validator finds the instance that the tools have changed": (
        "docker/test_validators::test_a_validator_sees_the_instance_that_the_tools_changed",
    ),
    "services are removed after validation": (
        "docker/test_seed_promises::test_services_are_ready_before_the_prompt_and_gone_after_the_verdict",
    ),
    "networks have no internet; consumers join those of their dependencies only": (
        "docker/test_services::test_networks_reach_exactly_the_services_in_the_dependencies",
        "docker/test_validators::test_a_validator_without_dependencies_has_no_network",
    ),
    "services cannot reach each other": (
        "docker/test_services::test_services_cannot_reach_each_other_nor_the_outside",
    ),
    "a service that stops is not restarted; what needs it next ends the attempt as an error": (
        "docker/test_services::test_a_service_that_stops_ends_the_attempt_at_the_next_call_that_needs_it",
        "docker/test_validators::test_a_service_that_dies_under_the_validator_is_named",
        "docker/test_turns::test_a_service_that_is_gone_ends_the_conversation_as_an_error",
    ),
}

VALIDATORS: dict[str, tuple[str, ...]] = {
    "a container decides whether the answer is right": ("docker/test_validators::test_a_verdict_decides",),
    "code is run against hidden tests": (
        "docker/test_examples::test_hidden_tests",
        "docker/test_examples::test_hidden_tests_fail_what_is_wrong",
    ),
    "without dependencies it has no network": (
        "docker/test_validators::test_a_validator_without_dependencies_has_no_network",
    ),
    "with dependencies it sees the services of the tools": (
        "docker/test_validators::test_a_validator_sees_the_instance_that_the_tools_changed",
    ),
    "it runs once, after a successful attempt only": (
        "docker/test_seed_promises::test_the_validator_runs_once",
        "docker/test_seed_promises::test_the_validator_does_not_run_after_an_error",
    ),
    "names of validators are unique, and those of tasks exist": (
        "unit/suite/test_config::test_validator_mistakes",
        "unit/suite/test_tasks::test_rule_6_custom_validator",
        "unit/suite/test_start_checks::test_names",
    ),
    "command, env and template-files are templates, and no shell is involved": (
        "docker/test_validators::test_command_env_and_files_are_rendered_and_files_are_read_only",
    ),
    "template-files have unique absolute paths and are read-only": (
        "unit/suite/test_config::test_validator_mistakes",
        "unit/sandbox/test_preflight::test_mistakes_in_definitions",
        "docker/test_validators::test_command_env_and_files_are_rendered_and_files_are_read_only",
    ),
    "timeout limits a run": ("docker/test_validators::test_anything_else_is_an_error_and_no_wrong_answer",),
    "max-memory-mb and cpu-percent limit it": (
        "docker/test_validators::test_the_memory_limit_of_a_validator_is_an_error",
        "docker/test_seed_promises::test_limits_of_services_and_validators_reach_the_engine",
    ),
    "files carry answers of any size and content; what cannot start is an error": (
        "docker/test_validators::test_a_large_answer_fits_into_a_file_but_not_into_the_command",
        "docker/test_validators::test_command_env_and_files_are_rendered_and_files_are_read_only",
    ),
    "a task may opt out of an inherited one; it excludes judge and schema": (
        "unit/suite/test_tasks::test_custom_validator_is_inherited_and_switched_off",
        "unit/suite/test_tasks::test_rule_3_custom_and_others",
    ),
    "response-result-format is required, expected-result is not": (
        "unit/suite/test_tasks::test_required_keys",
        "unit/suite/test_tasks::test_rule_4_expected_is_optional_with_a_custom_validator",
    ),
    "expected-result is passed on unchanged and may have any form": (
        "docker/test_validators::test_command_env_and_files_are_rendered_and_files_are_read_only",
        "docker/test_examples::test_shopping_cart",
    ),
    "the three flags are passed on, and the answer is not changed": (
        "docker/test_validators::test_command_env_and_files_are_rendered_and_files_are_read_only",
    ),
    "exit code 0 and one JSON object of three fields make a verdict": (
        "docker/test_validators::test_a_verdict_decides",
        "unit/validators/test_custom::test_one_object_with_white_space_around_it_is_a_verdict",
    ),
    "title and explanation must not be blank": ("unit/validators/test_custom::test_anything_else_is_no_verdict",),
    "anything else is an error, not a failed answer": (
        "docker/test_validators::test_anything_else_is_an_error_and_no_wrong_answer",
        "docker/test_validators::test_a_validator_that_cannot_run_is_an_error",
        "unit/validators/test_custom::test_anything_else_is_no_verdict",
    ),
    "the method is recorded as custom": (
        "docker/test_validators::test_a_verdict_decides",
        "docker/test_examples::test_hidden_tests",
    ),
    "failed answers are shown as they are, without a comparison": (
        "unit/results/test_answer_text::test_custom_and_schema_show_the_raw_answer",
    ),
    "runs of validators are no tool calls of the model": ("docker/test_seed_promises::test_the_validator_runs_once",),
}

TEMPLATES: dict[str, tuple[str, ...]] = {
    "syntax is that of Go": ("unit/suite/gotemplate/test_template::test_language",),
    "syntax is checked before any task runs": (
        "unit/sandbox/test_preflight::test_mistakes_in_definitions",
        "unit/sandbox/test_preflight::test_inputs_are_checked_even_when_the_service_is_not_used",
    ),
    "a field that does not exist is an error": (
        "unit/suite/gotemplate/test_kinds::test_unknown_fields_are_found_when_read",
        "docker/test_validators::test_a_template_that_cannot_be_rendered_is_an_error_without_a_container",
    ),
    "each kind has its own fields": ("unit/sandbox/test_validation::test_each_kind_of_template_has_its_own_fields",),
    "inputs see seed, task, provider and run": (
        "docker/test_services::test_inputs_are_rendered_and_reach_their_variables",
    ),
    "dependencies see name, host, port and endpoint; hosts are generated": (
        "docker/test_services::test_tools_share_the_state_of_their_service_and_find_it_by_its_endpoint",
        "unit/sandbox/test_services::test_host_names_depend_on_the_name_only",
    ),
    "validators see the task, the answer and the flags": (
        "docker/test_validators::test_command_env_and_files_are_rendered_and_files_are_read_only",
    ),
    "no expected result is an empty list": ("docker/test_validators::test_no_expected_result_is_an_empty_list",),
    "structured answers are structured values, and Go's form is not JSON": (
        "docker/test_validators::test_a_structured_answer_is_json_only_with_json",
    ),
    "validators' fields have the names of the judge's": (
        "docker/test_seed_promises::test_a_judge_template_is_good_for_a_validator",
    ),
    "hash is stable, unsigned, of 64 bits, and of all its arguments": (
        "unit/suite/gotemplate/test_template::test_hash_vectors",
        "unit/suite/gotemplate/test_template::test_hash_is_of_the_text",
    ),
    "json writes JSON": ("docker/test_validators::test_a_structured_answer_is_json_only_with_json",),
    "the cart example runs": ("docker/test_examples::test_shopping_cart",),
}

CHAPTERS = {"Tools": TOOLS, "Task Services": SERVICES, "Custom Validators": VALIDATORS, "Templates": TEMPLATES}
PROMISES = [
    pytest.param(tests, id=f"{chapter}: {promise}")
    for chapter, promises in CHAPTERS.items()
    for promise, tests in promises.items()
]


@functools.cache
def names_of(module: str) -> frozenset[str]:
    """Return the names of the test functions of a file below ``tests``."""
    tree = ast.parse((TESTS / f"{module}.py").read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("tests", PROMISES)
def test_the_promise_is_tested(tests: tuple[str, ...]) -> None:
    assert tests
    for reference in tests:
        module, _, name = reference.partition("::")
        assert name in names_of(module), reference
