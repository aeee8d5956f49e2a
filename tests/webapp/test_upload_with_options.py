"""A person uploads a graph with options, and with measured times beside it."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from engine import api
from tests.engine.costs.profiler_traces import op, recording, trace
from tests.engine.formats.container_samples import archive, meta_graph, saved_model, signature
from tests.webapp.conftest import MemoryBroker
from tests.webapp.graph_files import graphdef, measured_times, node_link
from tests.webapp.purge import purge
from webapp.graphs.graph_options import GraphOptions
from webapp.graphs.input_shapes import MOST_LINES, input_shapes_text, parse_input_shapes
from webapp.graphs.models import Graph
from webapp.graphs.named_numbers import MOST_LINES as MOST_NUMBERS
from webapp.graphs.named_numbers import named_numbers_text, parse_named_numbers
from webapp.graphs.orphan_files import unknown_files
from webapp.graphs.reading import read_graph
from webapp.projects.models import Project

JSON = {"accept": "application/json"}
TIMES = measured_times()


def upload(client: Client, project: Project, fields: dict[str, Any], name: str = "a.pb", content: bytes = b"") -> Any:
    """Send the form with these fields beside the graph."""
    file = SimpleUploadedFile(name, content or graphdef())
    return client.post(f"/projects/{project.id}/graphs/", {"file": file} | fields, headers=JSON)


def files_in(folder: Path) -> list[Path]:
    """Every file of the data folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def times(name: str = "step.pb", content: bytes = TIMES) -> SimpleUploadedFile:
    """A second file."""
    return SimpleUploadedFile(name, content)


@pytest.mark.usefixtures("transactional_db")
def test_options_are_kept_and_given_to_the_engine(
    client: Client, project: Project, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {
        "batch_size": "32",
        "groups": " All ",
        "signature": "serve",
        "input_shapes": "images=1,224,224,3\r\n\r\n rate = \n",
        "trips": "rnn/while=40\r\n a=b = 1 \r\n",
        "sizes": "\nWhere=0",
        "run_metadata": times("My step.PB"),
        "profile_kind": "K80",
    }
    content = meta_graph(graphdef(), more=signature("serve", "sum:0"))
    assert upload(client, project, fields, "a.meta", content).status_code == 302
    graph = Graph.objects.get()
    shapes = {"images": (1, 224, 224, 3), "rate": ()}
    reading = api.ReadingOptions("serve", 32, shapes, {"rnn/while": 40, "a=b": 1}, {"Where": 0})
    assert graph.own_options == GraphOptions(reading, None, "K80")
    expected = "signature serve, batch size 32, 2 input shapes, trips of 2 loops, 1 size, groups: all, measured times"
    assert graph.choices_words == expected
    assert (graph.times_name, graph.times_bytes) == ("My step.PB", len(TIMES))
    assert graph.times_path.read_bytes() == TIMES
    assert graph.times_path.stat().st_mode & 0o077 == 0, "for the owner alone"
    assert broker.messages("cpu") == [["cpu"]]

    asked: dict[str, object] = {}

    def prepare(*_: object, **keywords: object) -> None:
        asked.update(keywords)
        raise api.SettingsError("enough")

    monkeypatch.setattr(api, "prepare", prepare)
    read_graph(graph.id)
    assert callable(asked.pop("pulse"))
    assert asked == {
        "groups": None,
        "name": "a.meta",
        "options": reading,
        "run_metadata": graph.times_path,
        "profile_kind": "K80",
    }


def test_without_options_everything_is_as_usual(client: Client, project: Project, data_folder: Path) -> None:
    names = ("batch_size", "groups", "signature", "tags", "fetches", "input_shapes", "trips", "sizes", "profile_kind")
    empty = dict.fromkeys(names, "")
    for fields in ({}, empty):
        assert upload(client, project, fields).status_code == 302
    for graph in Graph.objects.all():
        assert graph.own_options == GraphOptions()
        assert not graph.has_times
        assert not graph.times_path.exists()
        assert graph.choices_words == ""


def test_a_row_from_before_there_were_options_has_the_usual_ones_of_then(graph: Graph) -> None:
    Graph.objects.update(options={})
    graph.refresh_from_db()
    assert graph.own_options == GraphOptions(groups=128)


@pytest.mark.usefixtures("transactional_db")
def test_fetches_and_tags_are_kept_and_stand_in_the_form_again(client: Client, project: Project) -> None:
    hub = saved_model(
        meta_graph(graphdef(), (), signature("default", "sum:0")), meta_graph(graphdef(), ("train", "gpu"))
    )
    fields = {"tags": " gpu, train ", "fetches": "left:0\r\n right\n\nleft:0"}
    assert upload(client, project, fields, "hub.zip", archive(("saved_model.pb", hub))).status_code == 302
    graph = Graph.objects.get()
    assert graph.own_options.reading == api.ReadingOptions(fetches=("left:0", "right"), tags=("gpu", "train"))
    assert graph.choices_words == "tags gpu,train, 2 fetches"
    read_graph(graph.id)
    graph.refresh_from_db()
    assert (graph.status, graph.op_count) == (Graph.READY, 5)
    page = client.get(f"/graphs/{graph.id}/")
    assert page.context["facts"][1:3] == [("Tags", "gpu,train"), ("Fetches", "left:0, right")]
    form = page.context["again_form"]
    assert (form["tags"].value(), form["fetches"].value()) == ("gpu,train", "left:0\nright")
    again = client.post(f"/graphs/{graph.id}/again/", {"tags": '""', "signature": "default"}, headers=JSON)
    assert again.status_code == 302
    new = Graph.objects.exclude(id=graph.id).get()
    assert new.own_options.reading == api.ReadingOptions("default", tags=())
    assert new.choices_words == 'signature default, tags ""'


HUB = archive(("saved_model.pb", saved_model(meta_graph(graphdef(), ()), meta_graph(graphdef(), ("train",)))))
BAD_CHOICES = {
    "a fetch that is not there": (
        "a.pb", graphdef(), {"fetches": "left\nabsent"}, "fetches",
        "fetches: absent is not in the graph; allowed: the name of an op, or of its output as NAME:0; nothing takes "
        "left, right",
    ),
    "an output that is not there": (
        "a.pb", graphdef(), {"fetches": "sum:1"}, "fetches",
        "fetches: sum:1 does not exist; allowed: outputs of AddN from 0 to 0",
    ),
    "a signature of a GraphDef": (
        "a.pb", graphdef(), {"signature": "mine"}, "signature",
        "signature: a GraphDef has no signature mine; allowed: none",
    ),
    "tags of a GraphDef": (
        "a.pb", graphdef(), {"tags": "serve"}, "tags", "tags: a GraphDef has no tags; allowed: none"
    ),
    "a signature and fetches": (
        "a.meta", meta_graph(graphdef()), {"signature": "mine", "fetches": "sum"}, "fetches",
        "fetches: both fetches and the signature mine are given; allowed: one of them: fetches take the place of a "
        "signature's outputs",
    ),
    "no tags where they are needed": (
        "a.zip", HUB, {}, "tags",
        "saved_model.pb: it holds 2 graphs, with the tags \"\"; train; allowed: the tags of one of them (--tags, the "
        "field Tags)",
    ),
    "tags that are not there": (
        "a.zip", HUB, {"tags": "serve"}, "tags",
        "tags: there is no graph with the tags serve; allowed: \"\"; train",
    ),
    "tags of a MetaGraphDef": (
        "a.meta", meta_graph(graphdef()), {"tags": "serve"}, "tags",
        "tags: tags choose one graph of a SavedModel, and a MetaGraphDef is one; allowed: none",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_CHOICES)
def test_a_choice_that_the_file_cannot_meet_is_refused_at_its_field(
    client: Client, project: Project, data_folder: Path, name: str
) -> None:
    file, content, fields, field, sentence = BAD_CHOICES[name]
    response = upload(client, project, fields, file, content)
    assert (response.status_code, response.json()) == (400, {"errors": {field: [sentence]}})
    assert files_in(data_folder) == []


ALLOWED_GROUPS = "allowed: auto, an integer from 1, or all"
BAD_OPTIONS = [
    ({"batch_size": "0"}, "batch_size", "batch size: 0; allowed: an integer from 1 to 2147483647"),
    ({"batch_size": "-3"}, "batch_size", "batch size: -3; allowed: "),
    ({"batch_size": "many"}, "batch_size", "Enter an integer."),
    ({"batch_size": str(2**31)}, "batch_size", "batch size: 2147483648; allowed: "),
    ({"groups": "0"}, "groups", f"groups: '0'; {ALLOWED_GROUPS}"),
    ({"groups": "-1"}, "groups", f"groups: '-1'; {ALLOWED_GROUPS}"),
    ({"groups": "some"}, "groups", f"groups: 'some'; {ALLOWED_GROUPS}"),
    ({"groups": "1.5"}, "groups", f"groups: '1.5'; {ALLOWED_GROUPS}"),
    ({"groups": "9" * 5000}, "groups", f"groups: '{'9' * 40}'; {ALLOWED_GROUPS}"),
    ({"input_shapes": "images"}, "input_shapes", "line 1: 'images' names no input; allowed: one input a line as name="),
    ({"input_shapes": "a=1\n=2"}, "input_shapes", "line 2: '=2' names no input; allowed: "),
    ({"input_shapes": "a=1,x"}, "input_shapes", "line 1: 'x' is not a length; allowed: integers"),
    ({"input_shapes": "a=1,,3"}, "input_shapes", "line 1: '' is not a length"),
    ({"input_shapes": "a=-1"}, "input_shapes", "line 1: '-1' is not a length"),
    ({"input_shapes": "a=²"}, "input_shapes", "line 1: '²' is not a length"),
    ({"input_shapes": "a=1\n\na=2"}, "input_shapes", "line 3: 'a' has a shape already; allowed: each input once"),
    ({"input_shapes": "a=9999999999"}, "input_shapes", "a: the shape [9999999999]; allowed: at most 16 integers"),
    ({"input_shapes": "a=" + ",".join(["1"] * 17)}, "input_shapes", "allowed: at most 16 integers"),
    (
        {"input_shapes": "\n".join(f"a{n}=1" for n in range(MOST_LINES + 1))},
        "input_shapes",
        "1001 input shapes; allowed",
    ),
    ({"trips": "while"}, "trips", "line 1: 'while' names nothing; allowed: one name a line as while=40"),
    ({"trips": "\n=4"}, "trips", "line 2: '=4' names nothing; allowed: "),
    ({"trips": "while=x"}, "trips", "line 1: 'x'; allowed: an integer of at most 19 digits"),
    ({"trips": "while=1.5"}, "trips", "line 1: '1.5'; allowed: an integer"),
    ({"trips": "while=²"}, "trips", "line 1: '²'; allowed: an integer"),
    ({"trips": "while=-1"}, "trips", "line 1: '-1'; allowed: an integer"),
    ({"trips": "while=" + "9" * 20}, "trips", f"line 1: '{'9' * 20}'; allowed: an integer"),
    ({"trips": "a=1\n\na=2"}, "trips", "line 3: 'a' has a number already; allowed: each name once"),
    ({"trips": "while=0"}, "trips", "while: 0 trips; allowed: an integer from 1 to 1000000000"),
    ({"trips": f"while={10**18}"}, "trips", f"while: {10**18} trips; allowed: an integer from 1 to 1000000000"),
    ({"trips": "\n".join(f"a{n}=1" for n in range(MOST_NUMBERS + 1))}, "trips", "1001 lines; allowed: at most 1000"),
    ({"sizes": "Where"}, "sizes", "line 1: 'Where' names nothing; allowed: one name a line as Where=100"),
    (
        {"sizes": f"Where={2**31}"},
        "sizes",
        "Where: the length 2147483648; allowed: an integer from 0 to 2147483647",
    ),
    (
        {"profile_kind": "K80"},
        "profile_kind",
        "measured on: K80 without measured times; allowed: only beside RunMetadata",
    ),
    ({"profile_kind": "TPU"}, "profile_kind", "TPU is not one of the available choices"),
    ({"profile_kind": "T\nU" * 9}, "profile_kind", "choice. T\N{REPLACEMENT CHARACTER}UT\N{REPLACEMENT CHARACTER}U"),
    ({"profile_kind": "K80" * 9000}, "profile_kind", f"choice. {('K80' * 30)[:79]}… is not one"),
]


@pytest.mark.parametrize(("fields", "field", "sentence"), BAD_OPTIONS)
def test_nonsense_is_one_sentence_at_its_field_and_nothing_is_kept(
    client: Client, project: Project, data_folder: Path, fields: dict[str, str], field: str, sentence: str
) -> None:
    response = upload(client, project, fields)
    assert response.status_code == 400
    errors = response.json()["errors"]
    assert list(errors) == [field]
    [found] = errors[field]
    assert found.startswith(sentence) or sentence in found
    assert files_in(data_folder) == []
    assert not Graph.objects.exists()


def test_each_of_several_faults_is_shown_at_its_own_field(client: Client, project: Project) -> None:
    bad = {"groups": "x", "batch_size": "0", "input_shapes": "y", "trips": "z", "sizes": "z"}
    assert set(upload(client, project, bad).json()["errors"]) == set(bad)


@pytest.mark.parametrize("field", ["trips", "sizes"])
def test_a_node_link_file_leaves_nothing_to_be_counted(client: Client, project: Project, field: str) -> None:
    response = upload(client, project, {field: "while=3"}, "a.json", node_link())
    sentence = f"{field}: node-link JSON leaves nothing open; allowed: none"
    assert (response.status_code, response.json()) == (400, {"errors": {field: [sentence]}})


NO_TIMES = (
    "this is not RunMetadata; allowed: .pb; of an ONNX model .json or .csv, a profile or node memory of ONNX Runtime; "
    "of a step recorded in PyTorch .json or .json.gz, a trace of torch.profiler"
)
BAD_TIMES = [
    (times("step.txt"), f"step.txt: {NO_TIMES}"),
    (times("step"), f"step: {NO_TIMES}"),
    (times("step.pb", b""), "step.pb: the file is empty; allowed: RunMetadata with step stats"),
    (times("step.pb", b"\x89PNG\r\n\x1a\n" + bytes(50)), "this is a PNG picture; allowed: RunMetadata (.pb) of a run"),
    (times("step.pb", TIMES[:-3]), "the file is not RunMetadata, or it is cut short or damaged: "),
]


@pytest.mark.parametrize(
    ("second", "sentence"), BAD_TIMES, ids=["suffix", "no suffix", "empty", "picture", "cut short"]
)
def test_a_second_file_that_can_be_no_times_is_refused(
    client: Client, project: Project, data_folder: Path, second: SimpleUploadedFile, sentence: str
) -> None:
    response = upload(client, project, {"run_metadata": second})
    assert response.status_code == 400
    [found] = response.json()["errors"]["run_metadata"]
    assert found.startswith(sentence)
    assert files_in(data_folder) == []


def test_times_that_need_too_much_are_shown_at_their_own_field(
    client: Client, project: Project, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise api.LimitError("it needs more than 120 seconds", field="file")

    monkeypatch.setattr(api, "check_run_metadata", fail)
    response = upload(client, project, {"run_metadata": times()})
    assert response.status_code == 413
    assert response.json() == {"errors": {"run_metadata": ["it needs more than 120 seconds"]}}
    assert files_in(data_folder) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [("batch_size", "3"), ("input_shapes", "a=1"), ("signature", "serve"), ("fetches", "op1"), ("tags", "serve")],
)
def test_what_a_node_link_file_says_itself_cannot_be_chosen(
    client: Client, project: Project, data_folder: Path, field: str, value: str
) -> None:
    response = upload(client, project, {field: value}, "a.json", node_link())
    assert response.status_code == 400
    [sentence] = response.json()["errors"][field]
    assert sentence.endswith("node-link JSON leaves nothing open; allowed: none")
    assert files_in(data_folder) == []
    assert upload(client, project, {"groups": "5"}, "a.json", node_link()).status_code == 302


def test_beside_node_link_json_only_a_trace_is_taken(client: Client, project: Project, data_folder: Path) -> None:
    response = upload(client, project, {"run_metadata": times()}, "a.json", node_link())
    assert response.status_code == 400
    [sentence] = response.json()["errors"]["run_metadata"]
    assert sentence.endswith("this is not JSON; allowed: one JSON value")
    assert files_in(data_folder) == []


@pytest.mark.usefixtures("transactional_db")
def test_a_recorded_step_is_read_with_its_trace(client: Client, project: Project) -> None:
    step = recording({"id": "a/mul", "type": "mul", "shapes": [[4]]})
    content = gzip.compress(trace(op("aten::mul", 2, 5, [[4], []]), op("aten::<i>", 9, 1)))
    fields = {"run_metadata": times("step.trace.JSON.gz", content)}
    assert upload(client, project, fields, "step.json", step).status_code == 302
    graph = Graph.objects.get()
    assert read_graph(graph.id)
    page = client.get(f"/graphs/{graph.id}/").content.decode()
    assert "1 of 1 recorded op with work are in the trace" in page
    assert "the longest first: &lt;i&gt; × 1" in page
    assert 'name="run_metadata"' in page and 'name="batch_size"' not in page


@pytest.mark.usefixtures("transactional_db")
def test_a_graph_with_its_own_times_is_not_asked_for_others(client: Client, project: Project) -> None:
    assert upload(client, project, {}, "a.json", node_link()).status_code == 302
    graph = Graph.objects.get()
    assert read_graph(graph.id)
    assert 'name="run_metadata"' not in client.get(f"/graphs/{graph.id}/").content.decode()


def test_the_limit_is_for_both_files_together(
    client: Client, project: Project, data_folder: Path, settings: Settings
) -> None:
    settings.UPLOAD_LIMIT_BYTES = len(graphdef()) + len(TIMES)
    assert upload(client, project, {"run_metadata": times()}).status_code == 302
    settings.UPLOAD_LIMIT_BYTES -= 1
    response = upload(client, project, {"run_metadata": times()})
    assert response.status_code == 413
    total, limit = len(graphdef()) + len(TIMES), settings.UPLOAD_LIMIT_BYTES
    sentence = f"both files together are too large: {api.bytes_words(total)}; allowed: at most {api.bytes_words(limit)}"
    assert response.json() == {"errors": {"run_metadata": [sentence]}}
    assert len(files_in(data_folder)) == 2


def test_a_bad_graph_leaves_neither_file(client: Client, project: Project, data_folder: Path) -> None:
    response = upload(client, project, {"run_metadata": times()}, content=graphdef()[:-3])
    assert response.status_code == 400
    assert list(response.json()["errors"]) == ["file"]
    assert files_in(data_folder) == []


def test_a_project_that_is_deleted_meanwhile_leaves_neither_file(
    client: Client, project: Project, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "check_upload", lambda *_: Project.objects.all().delete()[:0])
    assert upload(client, project, {"run_metadata": times()}).status_code == 404
    assert files_in(data_folder) == []


@pytest.mark.parametrize(
    "fields",
    [{"other": times()}, {"run_metadata": [times("a.pb"), times("b.pb")]}, {"a": times(), "b": times(), "c": times()}],
    ids=["unknown field", "two of one field", "three more"],
)
def test_more_files_than_there_are_fields_are_refused(
    client: Client, project: Project, data_folder: Path, fields: dict[str, Any]
) -> None:
    assert upload(client, project, fields).status_code == 400
    assert files_in(data_folder) == []
    assert not Graph.objects.exists()


def test_both_files_go_with_the_graph(client: Client, project: Project, data_folder: Path) -> None:
    upload(client, project, {"run_metadata": times()})
    assert len(files_in(data_folder)) == 2
    assert list(unknown_files()) == []
    client.post(f"/graphs/{Graph.objects.get().id}/delete/")
    purge()
    assert files_in(data_folder) == []


def test_the_page_comes_again_with_what_was_entered(client: Client, project: Project) -> None:
    file = SimpleUploadedFile("a.pb", graphdef())
    page = client.post(f"/projects/{project.id}/graphs/", {"file": file, "groups": "no", "signature": "mine"})
    assert page.status_code == 400
    assert page.context["upload_form"]["signature"].value() == "mine"
    assert '<details class="options" data-part="options" open>' in page.content.decode()


def test_shapes_are_written_as_they_are_read() -> None:
    shapes = {"a=b": (1, 2), "scalar": (), "x/y:0": (0,)}
    assert parse_input_shapes(input_shapes_text(shapes)) == shapes


def test_numbers_are_written_as_they_are_read() -> None:
    numbers = {"a=b": 1, "x/y:0": 0, "while": 10**9}
    assert parse_named_numbers(named_numbers_text(numbers), "trips", "") == numbers


def test_a_row_from_before_trips_and_sizes_has_none(graph: Graph) -> None:
    reading = {"signature": "serve", "batch_size": 2, "input_shapes": {}}
    Graph.objects.update(options={"reading": reading, "groups": 7, "profile_kind": None})
    graph.refresh_from_db()
    assert graph.own_options == GraphOptions(api.ReadingOptions("serve", 2), 7)


def test_weights_may_wait_for_a_node_link_file_and_the_row_says_so(client: Client, project: Project) -> None:
    assert upload(client, project, {"offload": "on"}, "a.json", node_link()).status_code == 302
    options = Graph.objects.get().own_options
    assert options.reading.offload
    assert options.words == "weights may wait in CPU memory"
    assert GraphOptions.from_json(options.to_json()) == options


@pytest.mark.parametrize(("name", "words"), [("a.pb", "GraphDef"), ("a.onnx", "ONNX model")])
def test_weights_wait_in_no_other_format(client: Client, project: Project, name: str, words: str) -> None:
    response = upload(client, project, {"offload": "on"}, name)
    sentence = (
        f"{words}: nothing that runs it keeps weights in CPU memory for ops on a GPU; "
        "allowed: offload of a PyTorch recording or node-link JSON"
    )
    assert (response.status_code, response.json()) == (400, {"errors": {"offload": [sentence]}})
    assert not Graph.objects.exists()
