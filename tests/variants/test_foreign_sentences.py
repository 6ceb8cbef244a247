"""Files of others' sentences: what CSV and JSON may say, and that every fault is told with its line."""

import json
from pathlib import Path

import pytest

from gym_grounding.errors import GroundingError
from gym_grounding.types import Goal, Predicate
from gym_grounding.variants import _sentences
from gym_grounding.variants._sentences import InvalidSentences, Sentence

CHEST = Goal((Predicate("on", ("block_1", "chest_1_top_side")),))
CSV = """\
task,instruction,condition,slot,goal,kind
Toy-T0,Set the block on the tray.,,,,verb_synonym
put_the_block_on_the_tray,"would you ""please"" put it there?",paraphrase,,,
Toy-T0,put the block on the chest,contrast,target,"on(block_1, chest_1_top_side)",
Toy-T1,put the block on the moon,collision,target,,
"""


def read(content, toy, name="sentences.csv"):
    raw = content if isinstance(content, bytes) else content.encode()
    return _sentences.read(Path(name), raw, toy)


def test_csv_rows_are_sentences_with_their_lines(toy):
    rows = read(CSV, toy)
    assert rows == (
        Sentence(2, "Toy-T0", "paraphrase", None, "Set the block on the tray.", None, "verb_synonym"),
        Sentence(3, "Toy-T0", "paraphrase", None, 'would you "please" put it there?', None, "foreign"),
        Sentence(4, "Toy-T0", "contrast", "target", "put the block on the chest", CHEST, ""),
        Sentence(5, "Toy-T1", "collision", "target", "put the block on the moon", None, ""),
    )


def test_columns_may_stand_in_any_order_and_lines_may_be_empty_or_broken(toy):
    text = '\ufeff\r\nInstruction, TASK \r\n\r\n"set the\nblock there",Toy-T0\r\n , \r\nlay it there,Toy-T1\r\n'
    rows = read(text.encode(), toy)
    assert [(row.line, row.task, row.instruction) for row in rows] == [
        (4, "Toy-T0", "set the\nblock there"),
        (7, "Toy-T1", "lay it there"),
    ]


def test_json_objects_say_the_same_as_csv_rows(toy):
    rows = [
        {"task": "Toy-T0", "instruction": "Set the block on the tray.", "kind": "verb_synonym", "slot": None},
        {"task": "put_the_block_on_the_tray", "instruction": 'would you "please" put it there?'},
        {
            "task": "Toy-T0",
            "instruction": "put the block on the chest",
            "condition": "contrast",
            "slot": "target",
            "goal": [["on", "block_1", "chest_1_top_side"]],
        },
        {
            "task": "Toy-T1",
            "instruction": "put the block on the moon",
            "condition": "collision",
            "slot": "target",
            "goal": None,
        },
    ]
    found = read("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]", toy, "a.JSON")
    assert found == read(CSV, toy)


def test_a_json_mapping_of_tasks_is_read_with_the_line_of_each_sentence(toy):
    text = """ {
      "Toy-T0": ["set it there", "lay it there"
      ], "Toy-T1" : [ ] ,
      "put_the_block_on_the_tray":
         ["a \\" ] , b", "c"]}
    """
    found = [(row.line, row.task, row.instruction) for row in read(text, toy, "a.json")]
    assert found == [
        (2, "Toy-T0", "set it there"),
        (2, "Toy-T0", "lay it there"),
        (5, "Toy-T0", 'a " ] , b'),
        (5, "Toy-T0", "c"),
    ]


def test_a_goal_may_have_several_literals_in_either_form(toy):
    goal = Goal((Predicate("open", ("box_1",)), Predicate("on", ("a", "b"))))
    for value in ("on(a, b) & open( box_1 )", "open(box_1)&on(a,b)", [["open", "box_1"], ["on", "a", "b"]]):
        row = {"task": "Toy-T0", "instruction": "x", "condition": "contrast", "slot": "target", "goal": value}
        assert read(json.dumps([row]), toy, "a.json")[0].goal == goal


HEAD = "task,instruction,condition,slot,goal,kind\n"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "holds no sentence"),
        (HEAD, "holds no sentence"),
        (b"task,instruction\nToy-T0,caf\xe9\n", "line 2: not UTF-8 at byte 27"),
        (b"x" * ((4 << 20) + 1), "has 4194305 bytes; at most 4194304 are read"),
        ("task;instruction\n", "line 1: No column 'task;instruction'"),
        ("task,instructoin\n", "line 1: No column 'instructoin'. Did you mean 'instruction'"),
        ("task,task,instruction\n", "line 1: column 'task' appears twice"),
        ("task\nToy-T0\n", "line 1: column 'instruction' is missing"),
        ("Toy-T0,put it there\n", "line 1: No column 'put it there'"),
        ("task,instruction\nToy-T0,put it, then stop\n", "line 2: has 3 cells, the header 2; text with a comma stands"),
        ("task,instruction\nToy-T0\n", "line 2: has 1 cells, the header 2; leave cells empty"),
        ('task,instruction\nToy-T0,"put it\n\n', "line 2: malformed CSV"),
        ('task,instruction\nToy-T0,"put" it\n', "line 2: malformed CSV"),
        ("task,instruction\nToy-T0,\n", "line 2: instruction is missing or empty"),
        ("task,instruction\n,put it there\n", "line 2: task is missing; name it by its id or"),
        ("task,instruction\nToy-T99,put it there\n", "line 2: No task 'Toy-T99'"),
        ("task,instruction\nToy-T0,a\x00b\n", "line 2: instruction is 'a.x00b'; must be printable"),
        (HEAD + "Toy-T0,x,swap,,,\n", "line 2: No condition that can be checked 'swap'. Known: collision, contrast"),
        (HEAD + "Toy-T0,x,,target,,\n", "line 2: slot is given, but a paraphrase keeps both"),
        (HEAD + "Toy-T0,x,,,on(a.b),\n", "line 2: goal is given, but a paraphrase keeps both"),
        (HEAD + "Toy-T0,x,contrast,,,\n", "line 2: slot is ''; a contrast changes one of action, object"),
        (HEAD + "Toy-T0,x,collision,colour,,\n", "line 2: slot is 'colour'; a collision changes one of"),
        (HEAD + "Toy-T0,x,collision,target,open(a),\n", "line 2: goal is given, but nothing fulfils a collision"),
        (HEAD + "Toy-T0,x,contrast,target,,passive\n", "line 2: kind is 'passive', but only a paraphrase has one"),
        (HEAD + "Toy-T0,x,,,,Passive voice\n", "line 2: kind is 'Passive voice'; must be lower-case"),
        (HEAD + "Toy-T0,x,contrast,target,on a b,\n", r"line 2: goal is 'on a b'; write it as on\(bowl_1, plate_1\)"),
        (HEAD + "Toy-T0,x,contrast,target,open(a) &,\n", "line 2: goal is"),
        (HEAD + "Toy-T0,x,contrast,target,open(a) or so,\n", "line 2: goal is"),
        ("task,instruction\n" + "Toy-T0,x\n" * 10_001, "line 10002: more than 10000 sentences; split the file"),
    ],
)
def test_a_malformed_csv_file_is_refused_with_the_line(toy, content, problem):
    with pytest.raises(InvalidSentences, match=f"sentences.csv: {problem}") as caught:
        read(content, toy)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "line 1: malformed JSON"),
        ('[\n{"task": "Toy-T0",\n "instruction": }\n]', "line 3: malformed JSON: Expecting value"),
        ("[" * 100_000, "malformed JSON: nested too deeply"),
        ('{"Toy-T0": [NaN]}', "malformed JSON: NaN is no JSON"),
        ('{"Toy-T0": ["a"], "Toy-T0": ["b"]}', "malformed JSON: key 'Toy-T0' appears twice"),
        ("7", "is neither a list of objects nor a mapping"),
        ("[]", "holds no sentence"),
        ('{"Toy-T0": "put it there"}', "task 'Toy-T0': 'put it there' is no list of sentences"),
        ('{"Toy-T0": [\n7]}', "line 2: 7 is not a sentence of task 'Toy-T0'"),
        ('["a"]', "line 1: 'a' is not an object with task and instruction"),
        ('[\n\n{"instruction": "x"}]', "line 3: task is missing"),
        ('[{"task": "Toy-T0"}]', "line 1: instruction is missing"),
        ('[{"task": "Toy-T0", "instruction": 7}]', "line 1: instruction is 7; must be text"),
        ('[{"task": "Toy-T0", "instruction": "a \\ud800"}]', "line 1: instruction is .*; must be printable"),
        ('[{"task": ["Toy-T0"], "instruction": "x"}]', r"line 1: task is \['Toy-T0'\]; must be text"),
        ('[{"task": "Toy-T0", "text": "x"}]', "line 1: No key 'text'"),
        (
            '[{"task": "Toy-T0", "instruction": "x", "condition": "contrast", "slot": "target", "goal": []}]',
            "line 1: goal is empty",
        ),
        (
            '[{"task": "Toy-T0", "instruction": "x", "condition": "contrast", "slot": "target", "goal": [["on"]]}]',
            "line 1: goal is",
        ),
        (
            '[{"task": "Toy-T0", "instruction": "x", "condition": "contrast", "slot": "target", "goal": 3}]',
            "line 1: goal is 3",
        ),
    ],
)
def test_a_malformed_json_file_is_refused_with_the_line(toy, content, problem):
    with pytest.raises(InvalidSentences, match=f"a.json: {problem}"):
        read(content, toy, "a.json")


def test_all_problems_are_told_at_once(toy):
    with pytest.raises(InvalidSentences, match=r"^sentences\.csv: 2 problems\n") as caught:
        read("task,instruction\nToy-T9,a\nToy-T0,b\nToy-T8,c\n", toy)
    assert [problem.split(": No")[0] for problem in caught.value.problems] == [
        "sentences.csv: line 2",
        "sentences.csv: line 4",
    ]
    assert isinstance(caught.value, GroundingError)


def test_another_kind_of_file_is_refused(toy):
    with pytest.raises(InvalidSentences, match=r"sentences\.txt: is neither \.csv nor \.json"):
        read(CSV, toy, "sentences.txt")


def test_a_name_that_two_tasks_share_needs_the_id(toy):
    tasks = [toy.tasks["Toy-T0"], toy.tasks["Toy-T0"]]
    names = _sentences._by_name(tasks)
    with pytest.raises(ValueError, match="is the name of Toy-T0 and Toy-T0; give the id"):
        _sentences._task("put_the_block_on_the_tray", names)
