"""What a language model is asked. Its words are part of every recording's key: a change here needs a new TEMPLATE."""

from __future__ import annotations

from string import Template

from gym_grounding.errors import InvalidOption
from gym_grounding.types import SLOTS, Entity, SceneFacts, Task
from gym_grounding.variants.proposers._base import ProposalRequest

TEMPLATE = 1
"""Version of the texts below."""

KINDS = {
    "verb_synonym": "another verb for the same action",
    "request": "a polite request or a question",
    "passive": "a passive, or what should be the case",
    "reordering": "two steps, another order of the parts, or a relative clause",
    "noun_synonym": 'another unambiguous noun for a thing, or a possessive written with "of"',
}
"""Types of paraphrases, and how they are explained."""

PROMPT = Template(
    """\
You write instructions that test whether a robot arm follows language.

The robot knows this instruction: $instruction
Its parts: $slots
Its goal: $goal

Things in the scene, as NAME (nouns): what they support
$things
Also in view, never acted on: $background
Goals are lists of [predicate, name, ...]: on (on.subject, on.reference), in (in.subject, in.reference), and open, \
close, turnon, turnoff, lifted with one name that supports it.

$order

Every instruction is made of lower-case English words with single spaces, 3 to 40 words, without punctuation, digits \
or apostrophes. It differs from each of these in more than a word such as "the" or "please":
$avoid

Answer with one JSON object and nothing else, at most $count proposals, the best first:
$schema
If nothing honest fits, answer {"proposals": []}.
"""
)
PARAPHRASE = Template(
    """\
Say the same in other words: the same action with the same things and the same result. Add no colour, no manner, no \
step; leave none out; use no noun that fits another thing of the scene; do not negate. Give at least one of each kind:
$kinds"""
)
CONTRAST = Template(
    """\
Change the $slot, here "$words", and nothing else, so that the instruction asks for another result. It must be \
possible with the things of this scene, must not be so already, must neither contain the known goal nor be a part of \
it, and every noun must fit one thing only. Keep all other words."""
)
COLLISION = Template(
    """\
Change the $slot, here "$words", and nothing else, so that the instruction asks for what this scene cannot give: a \
thing that is not there and not in view, or what the thing that is there cannot do. No noun of a thing in the scene \
may fit the new words. Keep all other words."""
)
PARAPHRASE_SCHEMA = '{"proposals": [{"instruction": "...", "kind": "verb_synonym"}]}'
CONTRAST_SCHEMA = (
    '{"proposals": [{"instruction": "...", "changed": {"from": "replaced words", "to": "new words"}, '
    '"goal": [["on", "NAME", "NAME"]]}]} (goal is null where the names above cannot express it)'
)
COLLISION_SCHEMA = '{"proposals": [{"instruction": "...", "changed": {"from": "replaced words", "to": "new words"}}]}'

_ORDERS = {
    "paraphrase": (PARAPHRASE, PARAPHRASE_SCHEMA),
    "contrast": (CONTRAST, CONTRAST_SCHEMA),
    "collision": (COLLISION, COLLISION_SCHEMA),
}


def messages(request: ProposalRequest) -> list[dict[str, str]]:
    """The question as chat messages; equal requests give equal ones.

    Raises:
        InvalidOption: no sentences can be asked for in this condition, or the slot does not fit it.
    """
    check(request)
    order, schema = _ORDERS[request.condition]
    kinds = "\n".join(f"- {name}: {meaning}" for name, meaning in KINDS.items())
    words = getattr(request.task.slots, request.slot) if request.slot else None
    text = PROMPT.substitute(
        instruction=request.task.instruction,
        slots=_slots(request.task),
        goal=request.task.goal.id,
        things=_things(request.scene),
        background=", ".join(request.scene.background) or "(nothing)",
        order=order.substitute(slot=request.slot or "", words=words or "(absent)", kinds=kinds),
        avoid="\n".join(f"- {sentence}" for sentence in dict.fromkeys((request.task.instruction, *request.avoid))),
        count=request.count,
        schema=schema,
    )
    return [{"role": "user", "content": text}]


def check(request: ProposalRequest) -> None:
    """Nothing, for a request that makes sense.

    Raises:
        InvalidOption: it does not; names what would.
    """
    if request.condition not in _ORDERS:
        raise InvalidOption(f"condition {request.condition!r} has no proposals; choose {', '.join(_ORDERS)}")
    if request.condition == "paraphrase":
        if request.slot is not None:
            raise InvalidOption(f"slot is {request.slot!r}, but a paraphrase changes none; leave it out")
    elif request.slot not in SLOTS:
        raise InvalidOption(f"slot is {request.slot!r}; a {request.condition} changes one of {', '.join(SLOTS)}")
    if request.count < 1:
        raise InvalidOption(f"count is {request.count}; ask for at least 1")


def _slots(task: Task) -> str:
    values = {slot: getattr(task.slots, slot) for slot in SLOTS}
    return "; ".join(f'{slot} "{words}"' if words else f"no {slot}" for slot, words in values.items())


def _things(scene: SceneFacts) -> str:
    shown = (entity for entity in scene.entities.values() if entity.kind != "zone" or entity.supports)
    return "\n".join(_thing(entity) for entity in shown)


def _thing(entity: Entity) -> str:
    supports = ", ".join(sorted(entity.supports)) or "nothing"
    return f"- {entity.name} ({', '.join(entity.names) or entity.kind}): {supports}"
