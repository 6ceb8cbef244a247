"""The HTTP proposer against a stand-in endpoint on the loopback device, and recordings of what it said."""

import contextlib
import http.server
import json
import socket
import threading
import time

import pytest

from gym_grounding.errors import CorruptRun, InvalidOption, MissingSource, UnwritableOutput
from gym_grounding.variants import proposers
from gym_grounding.variants.proposers import ProposalRequest, ProposerError, _prompt, openai_compatible
from gym_grounding.variants.proposers._completion import CompletionProposer, key_of
from gym_grounding.variants.proposers.recorded import Recorded, recorded

KEY = 'sk-"secret"/0123456789'
SENTENCES = ["set the block on the tray", "lay the block on the tray"]
DEAD = "http://127.0.0.1:9/v1"


def completion(sentences=SENTENCES, **more):
    content = json.dumps({"proposals": [{"instruction": one} for one in sentences]})
    return {"model": "stand-in-7b", "choices": [{"message": {"content": content}, "finish_reason": "stop"}], **more}


class Endpoint(http.server.ThreadingHTTPServer):
    """Gives the replies of its script in turn, the last one for ever, and keeps what it was asked.

    A reply is (status, headers, bytes), or a function that writes to the handler by itself.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.asked, self.ending = [reply(completion())], [], threading.Event()

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, dict(self.headers), json.loads(body)))
        script = self.server.script
        answer = script.pop(0) if len(script) > 1 else script[0]
        if callable(answer):
            answer(self)
            return
        status, headers, content = answer
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST

    def log_message(self, *_):
        pass


def reply(document, status=200, **headers):
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, content


def promise_more(handler):
    """Ends before it has sent what it announced."""
    handler.send_response(200)
    handler.send_header("Content-Length", "9999")
    handler.end_headers()
    handler.wfile.write(json.dumps(completion()).encode()[:-40])


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    """The loopback device is asked directly."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def endpoint():
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.ending.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def asking(endpoint):
    """Makes a proposer that asks the stand-in and does not dawdle."""

    def make(**options):
        return proposers.get(
            "openai_compatible", **{"base_url": endpoint.base_url, "model": "asked-for", "pause": 0.0, **options}
        )

    return make


@pytest.fixture
def request_of(toy):
    def make(condition="paraphrase", slot=None, task="Toy-T0", **changes):
        return ProposalRequest(toy.task(task), toy.scene_of(task), condition, slot, **changes)

    return make


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("STAND_IN_KEY", KEY)
    return {"key_variable": "STAND_IN_KEY"}


def texts(found):
    return [proposal.instruction for proposal in found]


# Asking


def test_a_question_is_one_post_with_the_body_flattened(endpoint, asking, request_of):
    proposer = asking(seed=5, max_tokens=77)
    answer = proposer.ask(request_of())
    assert texts(answer.proposals) == SENTENCES
    assert {one.source for one in answer.proposals} == {"openai:stand-in-7b"}
    assert proposer.name == "openai:asked-for"
    ((path, headers, asked),) = endpoint.asked
    assert path == "/v1/chat/completions"
    assert asked == {
        "model": "asked-for",
        "messages": _prompt.messages(request_of()),
        "temperature": 0.0,
        "seed": 5,
        "max_tokens": 77,
        "response_format": {"type": "json_object"},
    }
    assert headers["Content-Type"] == "application/json"
    assert "Authorization" not in headers


def test_settings_that_an_endpoint_may_not_know_can_be_left_out(endpoint, asking, request_of):
    asking(max_tokens=None, json_mode=False).propose(request_of())
    assert endpoint.asked[0][2].keys() == {"model", "messages", "temperature", "seed"}


@pytest.mark.parametrize("ending", ["", "/", "/chat/completions", "/chat/completions/"])
def test_the_address_may_be_written_in_full(endpoint, asking, request_of, ending):
    asking(base_url=endpoint.base_url + ending).propose(request_of())
    assert endpoint.asked[0][0] == "/v1/chat/completions"


def test_the_key_comes_from_the_named_variable_alone(endpoint, asking, request_of, key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "never-sent-unasked")
    asking(**key).propose(request_of())
    asking().propose(request_of())
    assert [headers.get("Authorization") for _, headers, _ in endpoint.asked] == [f"Bearer {KEY}", None]


@pytest.mark.parametrize("value", [None, "", " "])
def test_an_unset_key_is_named_and_nothing_is_sent(endpoint, asking, request_of, monkeypatch, value):
    monkeypatch.delenv("STAND_IN_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("STAND_IN_KEY", value)
    with pytest.raises(InvalidOption, match="STAND_IN_KEY is unset or empty"):
        asking(key_variable="STAND_IN_KEY").propose(request_of())
    assert endpoint.asked == []


@pytest.mark.parametrize("value", ["se\ncret-value", "secret value", "sécret-value"])
def test_a_key_that_is_none_is_refused_without_showing_it(endpoint, asking, request_of, monkeypatch, value):
    monkeypatch.setenv("STAND_IN_KEY", value)
    with pytest.raises(InvalidOption, match="STAND_IN_KEY holds blanks") as caught:
        asking(key_variable="STAND_IN_KEY").propose(request_of())
    assert "cret" not in str(caught.value)
    assert endpoint.asked == []


# Failures


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_status_that_may_pass_is_asked_again(endpoint, asking, request_of, status):
    endpoint.script = [reply(b"busy", status), reply(b"busy", status), reply(completion())]
    assert texts(asking(retries=2).propose(request_of())) == SENTENCES
    assert len(endpoint.asked) == 3


def test_retries_are_bounded(endpoint, asking, request_of):
    endpoint.script = [reply(b"still busy", 503)]
    with pytest.raises(ProposerError, match="status 503 after 3 attempts, the last with 'still busy'"):
        asking(retries=2).propose(request_of())
    assert len(endpoint.asked) == 3
    with pytest.raises(ProposerError, match="after 1 attempts"):
        asking(retries=0).propose(request_of())
    assert len(endpoint.asked) == 4


def test_pauses_grow_or_are_those_of_the_endpoint_within_bounds(endpoint, asking, request_of, monkeypatch):
    pauses = []
    monkeypatch.setattr(openai_compatible.time, "sleep", pauses.append)
    date = "Wed, 21 Oct 2065 07:28:00 GMT"
    endpoint.script = [
        reply(b"", 500),
        reply(b"", 500),
        reply(b"", 429, Retry_After="7"),
        reply(b"", 429, Retry_After="86400"),
        reply(b"", 429, Retry_After=date),
        reply(completion()),
    ]
    asking(retries=5, pause=1.5).propose(request_of())
    assert pauses == [1.5, 3.0, 7.0, 60.0, 24.0]
    endpoint.script = [reply(b"", 500)]
    with pytest.raises(ProposerError):
        asking(retries=1, pause=2.5).propose(request_of())
    assert pauses[5:] == [2.5]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (reply({"error": "bad key"}, 401), "refuses a question without a key .status 401.: .*bad key"),
        (reply(b"", 403), "status 403.*name the variable that holds a valid one"),
        (reply({"error": "no model"}, 404), "knows no such path, or no model 'asked-for' .status 404"),
        (reply({"error": "unknown field"}, 400), "refuses the question .status 400.: .*unknown field"),
        (reply(b"\xff\xfe", 422), "status 422"),
        (reply(b"", 307, Location="http://127.0.0.1:1/elsewhere"), "redirects to 'http://127.0.0.1:1/elsewhere'"),
        (reply(b"", 302, Location="/v2"), "redirects to '/v2'"),
        (reply(b"<html>hello</html>"), "not even JSON: '<html>hello.*does base_url end where"),
        (reply({"error": "overloaded"}), "no list of choices.*overloaded"),
        (reply(b"", 204), "not even JSON"),
        (reply(b"\xff\xfe{}"), "not UTF-8 at byte 0"),
        (reply(b" " * (1 << 20) + b"{}"), "larger than 1048576 bytes"),
        (lambda handler: promise_more(handler), "not even JSON|cannot be asked"),
        (lambda handler: handler.connection.close(), "cannot be asked"),
        (lambda handler: handler.wfile.write(b"SSH-2.0-OpenSSH\r\n"), "cannot be asked"),
    ],
    ids=[
        "401", "403", "404", "400", "422", "307", "302", "html", "error", "204", "bytes", "big", "short", "gone", "ssh",
    ],
)  # fmt: skip
def test_a_refusal_or_junk_is_one_clear_error_and_not_asked_again(endpoint, asking, request_of, answer, problem):
    endpoint.script = [answer]
    with pytest.raises(ProposerError, match=problem) as caught:
        asking(timeout=5).propose(request_of())
    assert str(caught.value).startswith(f"{endpoint.base_url}/chat/completions: ")
    assert len(endpoint.asked) == 1


def test_a_hanging_endpoint_ends_in_time(endpoint, asking, request_of):
    endpoint.script = [lambda handler: endpoint.ending.wait(20)]
    begin = time.monotonic()
    with pytest.raises(ProposerError, match=r"no complete reply within 0\.2 s; give a larger timeout"):
        asking(timeout=0.2).propose(request_of())
    assert time.monotonic() - begin < 5
    assert len(endpoint.asked) == 1


def test_a_reply_that_trickles_in_ends_in_time(endpoint, asking, request_of):
    def trickle(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        with contextlib.suppress(OSError):
            while not endpoint.ending.wait(0.05):
                handler.wfile.write(b" ")

    endpoint.script = [trickle]
    begin = time.monotonic()
    with pytest.raises(ProposerError, match=r"no complete reply within 0\.4 s"):
        asking(timeout=0.4).propose(request_of())
    assert time.monotonic() - begin < 5


def test_an_endpoint_that_is_not_there_is_named(asking, request_of):
    with pytest.raises(ProposerError, match=r"127\.0\.0\.1:9/v1/chat/completions: cannot be asked .*running there"):
        asking(base_url=DEAD).propose(request_of())
    with pytest.raises(ProposerError, match="cannot be asked"):
        asking(base_url=f"http://{'a' * 70}.invalid/v1").propose(request_of())


def test_a_long_reply_is_read(endpoint, asking, request_of):
    endpoint.script = [reply(completion(padding="x" * 100_000))]
    assert texts(asking().propose(request_of())) == SENTENCES


@pytest.mark.parametrize(
    "document",
    [
        {"choices": []},
        {"choices": [{"message": {"content": ""}}]},
        {"choices": [{"message": {"content": "I would rather not."}}]},
    ],
)
def test_an_empty_answer_is_not_asked_again(endpoint, asking, request_of, document):
    endpoint.script = [reply(document), reply(completion())]
    proposer = asking()
    assert proposer.propose(request_of()) == ()
    assert proposer.propose(request_of()) == ()
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"base_url": ""}, "base_url is ''; give an address such as"),
        ({"base_url": None}, "base_url is None"),
        ({"base_url": "localhost:8000/v1"}, "give an address such as"),
        ({"base_url": "file:///etc/passwd"}, "give an address such as"),
        ({"base_url": "http://host:99999/v1"}, "give an address such as"),
        ({"base_url": "http://[::1/v1"}, "give an address such as"),
        ({"base_url": "http://host/a b"}, "give an address such as"),
        ({"base_url": "http://host/\r\nX: y"}, "give an address such as"),
        ({"base_url": "http://me:pw@host/v1"}, "holds a name, a password or a query"),
        ({"base_url": "http://host/v1?api-key=pw"}, "holds a name, a password or a query"),
        ({"model": " "}, "model is ' '"),
        ({"timeout": 0}, "timeout is 0; must be a number in"),
        ({"timeout": float("nan")}, "timeout is nan"),
        ({"timeout": "5"}, "timeout is '5'"),
        ({"retries": 11}, "retries is 11; must be a whole number in .0, 10."),
        ({"retries": 1.0}, "retries is 1.0"),
        ({"retries": True}, "retries is True"),
        ({"temperature": -0.1}, "temperature"),
        ({"seed": "0"}, "seed"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"pause": -1}, "pause"),
    ],
)
def test_an_option_outside_its_domain_is_named(asking, options, problem):
    with pytest.raises(InvalidOption, match=problem) as caught:
        asking(**options)
    assert "pw" not in str(caught.value)


def test_a_whole_number_and_a_point_ask_the_same_question(asking, request_of):
    bodies = [asking(temperature=value).body(request_of()) for value in (0, 0.0)]
    assert key_of(bodies[0]) == key_of(bodies[1])


# Recording


@pytest.fixture
def requests_of(request_of):
    """Ten different requests."""
    cells = [("paraphrase", None), ("contrast", "target"), ("contrast", "object"), ("collision", "target")]
    found = [request_of(condition, slot, task) for task in ("Toy-T0", "Toy-T1") for condition, slot in cells]
    return [*found, request_of(count=3), request_of(avoid=("set the block on the tray",))]


def test_a_recording_replays_identically_with_a_dead_address(endpoint, asking, requests_of, tmp_path, monkeypatch, key):
    endpoint.script = [reply(completion([f"put the block somewhere {'x' * n}"])) for n in range(1, 11)]
    first = [asking(record=tmp_path / "deep" / "answers", **key).ask(one) for one in requests_of]
    assert len({texts(answer.proposals)[0] for answer in first}) == 10
    files = sorted((tmp_path / "deep" / "answers").iterdir())
    assert len(files) == 10
    assert {path.suffix for path in files} == {".json"}

    def no_connection(*_, **__):
        raise AssertionError("a replay opened a connection")

    monkeypatch.setattr(socket, "socket", no_connection)
    monkeypatch.delenv("STAND_IN_KEY")
    dead = proposers.get(
        "openai_compatible", base_url=DEAD, model="asked-for", replay=tmp_path / "deep" / "answers", **key
    )
    assert [dead.ask(one) for one in requests_of] == first
    assert dead.name == "openai:asked-for"
    assert len(endpoint.asked) == 10


def test_a_recording_holds_the_question_and_the_reply_as_it_came(endpoint, asking, request_of, tmp_path):
    raw = f"  {json.dumps(completion(['sét the block'], usage={'total_tokens': 12}), ensure_ascii=False)}\r\n"
    endpoint.script = [reply(raw.encode())]
    proposer = asking(record=tmp_path)
    proposer.propose(request_of())
    (path,) = tmp_path.iterdir()
    body = proposer.body(request_of())
    assert path.name == f"{key_of(body)}.json"
    assert json.loads(path.read_text("utf-8")) == {"format": 1, "request": body, "response": raw}


def test_the_key_is_in_no_file_and_no_message(endpoint, asking, request_of, tmp_path, key):
    spelled = json.dumps(KEY)[1:-1]
    echoes = f'"echo": "{spelled} {spelled.replace("/", chr(92) + "/")}"'
    document = json.dumps(completion())[:-1] + f", {echoes}}}"
    endpoint.script = [reply(document.encode())]
    proposer = asking(record=tmp_path, **key)
    assert texts(proposer.propose(request_of())) == SENTENCES
    assert endpoint.asked[0][1]["Authorization"] == f"Bearer {KEY}"
    (path,) = tmp_path.iterdir()
    text = path.read_text("utf-8")
    assert "[key] [key]" in text
    assert "secret" not in text
    assert "Authorization" not in text
    assert "STAND_IN_KEY" not in text
    assert endpoint.base_url not in text
    for answer in (reply({"error": f"no such key {KEY}"}, 401), reply(f"<{KEY}>".encode()), reply(KEY.encode(), 503)):
        endpoint.script = [answer]
        with pytest.raises(ProposerError) as caught:
            asking(retries=0, **key).propose(request_of())
        assert "secret" not in f"{caught.value} {caught.value.__cause__} {caught.value.__context__}"
    assert "secret" not in repr(vars(proposer.completion.inner))


def test_what_is_recorded_is_not_asked_again(endpoint, asking, request_of, tmp_path):
    endpoint.script = [reply({"choices": []}), reply(completion())]
    assert asking(record=tmp_path).propose(request_of()) == ()
    assert asking(record=tmp_path).propose(request_of()) == ()
    assert len(endpoint.asked) == 1
    for path in tmp_path.iterdir():
        path.unlink()
    assert texts(asking(record=tmp_path).propose(request_of())) == SENTENCES


@pytest.mark.parametrize("answer", [reply(b"busy", 503), reply({"error": "x"}), reply(b"", 401)])
def test_a_failure_is_not_recorded(endpoint, asking, request_of, tmp_path, answer):
    endpoint.script = [answer]
    with pytest.raises(ProposerError):
        asking(record=tmp_path, retries=0).propose(request_of())
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_chat_completion_is_not_recorded_whoever_says_it(request_of, tmp_path):
    class Mumbling:
        kind, model, sampling = "local", "m", {}

        def complete(self, body):
            return "hm"

    with pytest.raises(ProposerError, match="no chat completion"):
        recorded(CompletionProposer(Mumbling()), tmp_path, "record").propose(request_of())
    assert list(tmp_path.iterdir()) == []


def test_a_missing_recording_names_key_folder_and_remedy(endpoint, asking, request_of, tmp_path):
    proposer = asking(replay=tmp_path)
    key = key_of(proposer.body(request_of()))
    with pytest.raises(MissingSource, match=f"{tmp_path}: no recorded answer {key} .*'asked-for'.*record it"):
        proposer.propose(request_of())
    with pytest.raises(MissingSource, match=key):
        asking(replay=tmp_path / "nowhere").propose(request_of())
    assert endpoint.asked == []


@pytest.mark.parametrize(
    "changes", [{"model": "other"}, {"seed": 1}, {"temperature": 0.5}, {"max_tokens": 5}, {"json_mode": False}]
)
def test_another_question_is_a_miss(endpoint, asking, request_of, tmp_path, changes):
    asking(record=tmp_path).propose(request_of())
    with pytest.raises(MissingSource):
        asking(replay=tmp_path, **changes).propose(request_of())


def test_another_prompt_version_or_scene_is_a_miss(asking, request_of, tmp_path, monkeypatch):
    asking(record=tmp_path).propose(request_of())
    assert texts(asking(replay=tmp_path, timeout=3, retries=0).propose(request_of())) == SENTENCES
    with pytest.raises(MissingSource):
        asking(replay=tmp_path).propose(request_of(task="Toy-T1"))
    monkeypatch.setattr(_prompt, "TEMPLATE", 2)
    with pytest.raises(MissingSource, match="prompt version 2"):
        asking(replay=tmp_path).propose(request_of())


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda text: "", "is no recorded answer"),
        (lambda text: text[: len(text) // 2], "is no recorded answer"),
        (lambda text: "[]", "is no recorded answer"),
        (lambda text: text.replace('"format": 1', '"format": 2'), "has another format; this version reads format 1"),
        (lambda text: text.replace('"format"', '"form"'), "is no recorded answer"),
        (lambda text: text.replace("put the block", "put the bowl", 1), "was edited"),
        (lambda text: json.dumps({**json.loads(text), "response": 3}), "was edited"),
    ],
)
def test_a_damaged_recording_is_an_error_and_not_a_miss(asking, request_of, tmp_path, spoil, problem):
    asking(record=tmp_path).propose(request_of())
    (path,) = tmp_path.iterdir()
    path.write_text(spoil(path.read_text("utf-8")), "utf-8")
    for mode in ("replay", "record"):
        with pytest.raises(CorruptRun, match=f"{path.name}: {problem}"):
            asking(**{mode: tmp_path}).propose(request_of())


def test_a_folder_that_cannot_be_written_is_named_and_nothing_is_left(asking, request_of, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableOutput, match=r"the answer cannot be kept .*give another folder"):
        asking(record=tmp_path / "file" / "answers").propose(request_of())

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gym_grounding.variants.proposers.recorded.os.replace", full)
    with pytest.raises(UnwritableOutput, match="No space left"):
        asking(record=tmp_path / "answers").propose(request_of())
    assert list((tmp_path / "answers").iterdir()) == []


def test_only_questions_to_a_model_are_recorded_and_in_two_modes(asking, tmp_path):
    with pytest.raises(InvalidOption, match="mode is 'append'; choose record or replay"):
        recorded(asking(), tmp_path, "append")
    wrapped = recorded(asking(), tmp_path)
    assert isinstance(wrapped, CompletionProposer)
    assert isinstance(wrapped.completion, Recorded)
    assert wrapped.completion.mode == "replay"
