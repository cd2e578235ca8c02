"""The small memory that stores and plans share."""

import threading
import time
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.recent import Recent

acts = st.lists(st.tuples(st.sampled_from(["get", "put", "forget"]), st.integers(0, 4)))


@given(st.integers(1, 3), acts)
def test_the_values_used_last_are_there(limit: int, acts: list[tuple[str, int]]) -> None:
    recent, used = Recent[int, int](limit), dict[int, int]()
    for number, (act, key) in enumerate(acts):
        known = used.pop(key, None)
        if act == "get":
            assert recent.get(key) == known
            if known is not None:
                used[key] = known
        elif act == "put":
            recent.put(key, number)
            used[key] = number
        else:
            recent.forget(key)
        used = dict(list(used.items())[-limit:])
        assert len(recent) == len(used)
    assert {key: recent.get(key) for key in range(5) if recent.get(key) is not None} == used


@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 4), st.text(max_size=6))))
def test_heavy_values_take_more_of_the_limit(limit: int, puts: list[tuple[int, str]]) -> None:
    recent, expected = Recent[int, str](limit, weigh=len), dict[int, str]()
    for key, value in puts:
        recent.put(key, value)
        expected.pop(key, None)
        expected[key] = value
        while sum(map(len, expected.values())) > limit:
            del expected[next(iter(expected))]
    assert {key: recent.get(key) for key in range(5) if recent.get(key) is not None} == expected


@dataclass(frozen=True)
class Slow:
    """A key that lets another thread go first whenever it is looked up."""

    number: int

    def __hash__(self) -> int:
        time.sleep(0)
        return self.number


def test_threads_may_push_out_what_others_are_looking_at() -> None:
    recent, failures = Recent[Slow, int](1), list[BaseException]()

    def look() -> None:
        try:
            for number in range(500):
                recent.put(Slow(number % 3), number)
                recent.get(Slow((number + 1) % 3))
        except BaseException as failure:  # noqa: BLE001
            failures.append(failure)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(recent) == 1
