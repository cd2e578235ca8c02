"""Waiting: in one process first come, first served; whatever becomes of those who wait."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.base.errors import BranchBusy, BranchMissing
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.snapshot import Snapshot
from omnigraph.store.waiting import Queues, tries
from omnigraph.write.work import OnConflict, Replay, Work
from tests.store_contract.builders import changes, contents, make_store, open_store, people, put

WORK = BranchName("work")
LONG_S = 60.0
FATES = ("goes in", "fails inside", "gives up")


def wait_until(is_so: Callable[[], bool]) -> None:
    for _ in tries(LONG_S, pause_s=0.001):
        if is_so():
            return
    raise AssertionError("it never came to that")


def length_of(queues: Queues, name: str = MAIN) -> int:
    queue = queues._queues.get(name)
    return len(queue.waiting) if queue is not None else 0


def stands_at(queues: Queues, length: int, name: str = MAIN) -> bool:
    return length_of(queues, name) == length


def at_some_pace(scenario: Callable[[float], None]) -> None:
    """Run a scenario of several threads quickly; where the machine is too busy for that, slowly.

    It gets the seconds that one thread waits for another. It has to hold at one pace at least.
    """
    for wait_s in (0.05, 0.5):
        try:
            scenario(wait_s)
            return
        except AssertionError:
            continue
    scenario(5.0)


@given(st.lists(st.sampled_from(FATES), max_size=8))
@settings(max_examples=20)
def test_who_came_first_goes_first_whatever_becomes_of_the_others(fates: list[str]) -> None:
    queues, went_in = Queues(), list[int]()

    def stand_length_of(number: int, fate: str) -> None:
        try:
            # One who gives up does so while the first is still inside.
            with queues.turn(MAIN, timeout_s=0.002 if fate == "gives up" else LONG_S):
                went_in.append(number)
                if fate == "fails inside":
                    raise LookupError
        except (BranchBusy, LookupError):
            pass

    threads = []
    with queues.turn(MAIN, timeout_s=0):
        there = 1
        for number, fate in enumerate(fates):
            threads.append(threading.Thread(target=stand_length_of, args=(number, fate)))
            threads[-1].start()
            if fate == "gives up":
                threads[-1].join()
            else:
                there += 1
                wait_until(partial(stands_at, queues, there))
    for thread in threads:
        thread.join()
    assert went_in == [number for number, fate in enumerate(fates) if fate != "gives up"]
    assert not queues._queues, "nothing is kept of a queue that is empty"


def test_one_who_gives_up_in_the_middle_of_the_queue_is_not_waited_for() -> None:
    def scenario(wait_s: float) -> None:
        queues, gave_up, went_in = Queues(), threading.Event(), threading.Event()

        def impatient() -> None:
            with suppress(BranchBusy), queues.turn(MAIN, timeout_s=wait_s):
                return
            gave_up.set()

        def patient() -> None:
            with queues.turn(MAIN, timeout_s=LONG_S):
                went_in.set()

        def stood_at(length: int) -> bool:
            return length_of(queues) >= length or gave_up.is_set()

        threads = [threading.Thread(target=impatient), threading.Thread(target=patient)]
        with queues.turn(MAIN, timeout_s=0):
            for there, thread in enumerate(threads, start=2):
                thread.start()
                wait_until(partial(stood_at, there))
            was_between = length_of(queues) == 3
            threads[0].join()
            is_behind_the_first = length_of(queues) == 2 and not went_in.is_set()
        threads[1].join()
        assert gave_up.is_set() and went_in.is_set()
        assert was_between and is_behind_the_first

    at_some_pace(scenario)


def test_a_queue_that_moves_is_waited_for_however_long_it_is() -> None:
    def scenario(wait_s: float) -> None:
        queues, went_in = Queues(), list[int]()

        def go_in(number: int) -> None:
            with suppress(BranchBusy), queues.turn(MAIN, timeout_s=10 * wait_s):
                went_in.append(number)
                time.sleep(4 * wait_s)

        threads = [threading.Thread(target=go_in, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(went_in) == [0, 1, 2, 3, 4], "the last waited longer than it would for one"

    at_some_pace(scenario)


def test_those_who_wait_for_one_who_is_stuck_give_up_together() -> None:
    def scenario(wait_s: float) -> None:
        queues, left = Queues(), list[float]()

        def wait_for_a_fence() -> None:
            with suppress(BranchBusy), queues.turn(MAIN, timeout_s=wait_s) as turn:
                left.append(turn.left_s)
                time.sleep(turn.left_s)
                raise BranchBusy(branch=MAIN, holder="one who is stuck", waited_s=wait_s)

        threads = [threading.Thread(target=wait_for_a_fence) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert left and sum(left) <= 2 * wait_s, "the others have what is left of the same time"

    at_some_pace(scenario)


def test_queues_for_different_names_do_not_meet() -> None:
    queues = Queues()
    with queues.turn("a", timeout_s=0), queues.turn("b", timeout_s=0):
        assert (length_of(queues, "a"), length_of(queues, "b")) == (1, 1)


def test_a_try_is_made_at_once_and_another_when_time_is_up() -> None:
    assert len(list(tries(0, pause_s=1))) == 1
    assert len(list(tries(0.001, pause_s=60))) == 2


# Branches -----------------------------------------------------------------------------------------


@contextmanager
def held_elsewhere(store: GraphStore, branch: BranchName) -> Iterator[None]:
    """Another thread holds the fence of a branch."""
    is_held, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with store.fence(branch):
            is_held.set()
            is_over.wait(LONG_S)

    holder = threading.Thread(target=hold)
    holder.start()
    assert is_held.wait(LONG_S)
    try:
        yield
    finally:
        is_over.set()
        holder.join()


@pytest.fixture
def store(place: str) -> GraphStore:
    store = make_store(place)
    put(store, changes(people=people(ada=1)))
    create_branch(store, WORK)
    return store


@pytest.mark.parametrize("whose", ["the same handle", "another handle"])
def test_one_who_waits_in_vain_is_told_of_the_branch_and_its_holder(
    store: GraphStore, whose: str
) -> None:
    holder = store if whose == "the same handle" else open_store(store.root)
    with held_elsewhere(holder, WORK):
        with (
            pytest.raises(
                BranchBusy, match=r"^branch work is held by process \d+ on .+; waited 0\.05 s"
            ),
            store.fence(WORK, timeout_s=0.05),
        ):
            raise AssertionError("two writers are inside")
        with store.fence(MAIN, timeout_s=0):
            pass
    with store.fence(WORK, timeout_s=0):
        pass


@pytest.mark.parametrize("whose", ["the same handle", "another handle"])
def test_a_ctrl_c_while_waiting_leaves_the_way_free(store: GraphStore, whose: str) -> None:
    holder = store if whose == "the same handle" else open_store(store.root)
    main_thread = threading.main_thread()
    assert threading.current_thread() is main_thread and main_thread.ident is not None
    number = main_thread.ident

    def interrupt() -> None:
        wait_until(lambda: length_of(store._queues) == (2 if holder is store else 1))
        time.sleep(0.02)  # past the queue, and at the fence of the other handle
        signal.pthread_kill(number, signal.SIGINT)

    with held_elsewhere(holder, MAIN):
        interrupter = threading.Thread(target=interrupt)
        interrupter.start()
        with pytest.raises(KeyboardInterrupt), store.fence(MAIN):
            raise AssertionError("two writers are inside")
        interrupter.join()
    with store.fence(MAIN, timeout_s=5):
        pass
    assert not store._queues._queues


def test_one_who_waited_for_a_branch_that_went_is_told_so(store: GraphStore) -> None:
    found: list[type[BaseException]] = []

    def wait() -> None:
        try:
            with store.fence(WORK):
                raise AssertionError("it is gone")
        except BranchMissing:
            found.append(BranchMissing)

    deleting = threading.Thread(target=delete_branch, args=(store, WORK))
    waiting = threading.Thread(target=wait)
    with held_elsewhere(store, WORK):
        for there, thread in enumerate((deleting, waiting), start=2):
            thread.start()
            wait_until(partial(stands_at, store._queues, there, WORK))
    deleting.join()
    waiting.join()
    assert found == [BranchMissing]


# Writers ------------------------------------------------------------------------------------------


class Counting:
    """Raises ada's age by one, and counts how often it was prepared."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.times = 0

    def __call__(self, snapshot: Snapshot) -> Work:
        with self._lock:
            self.times += 1
        table = snapshot.dataset(snapshot.catalog.node_by_name["Person"]).scan(["name", "age"])
        [age] = [row["age"] for row in table.to_pylist() if row["name"] == "ada"]
        return Replay(changes(people=people(ada=age + 1))).prepare(snapshot)


def test_writers_of_one_process_that_wait_first_prepare_nothing_in_vain(store: GraphStore) -> None:
    add_one = Counting()

    def write() -> None:
        for _ in range(3):
            put(store, add_one, on_conflict=OnConflict.PREPARE_AGAIN, waits_first=True)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert contents(store)[0] == {"ada": 13}
    assert add_one.times == 12


def test_a_writer_that_waits_first_is_prepared_while_other_branches_are_held(
    store: GraphStore,
) -> None:
    with held_elsewhere(store, WORK):
        put(store, Counting(), on_conflict=OnConflict.PREPARE_AGAIN, waits_first=True)
    assert contents(store)[0] == {"ada": 2}
