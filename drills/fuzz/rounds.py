"""One round: a service of its own, a state to get lost in, and so many requests."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from drills.fuzz import malformed
from drills.fuzz.alive import Alive
from drills.fuzz.asking import Asking
from drills.fuzz.judge import Fault, Judge
from drills.fuzz.odd import THOUGHTS, Odd
from drills.fuzz.state import HEAL_EVERY, State, addresses
from drills.fuzz.wire import Answer, Asked, Wire
from drills.one_node import Node, node

WORKERS = 4
MALFORMED_EVERY = 50
_QUIET_S = 0.3
BUSY_MAX_S = 2.0
# What a service that does not stop says of its threads is the end of its log.
LOG_END = 6_000
# So many are asked for again, each after its pause.
AGAIN_MAX = 200
# What a process may have grown by over a round: caches fill, and then they are full.
GROWTH_MAX = 150 * 1024 * 1024


@dataclass(slots=True)
class Done:
    """What a round came to."""

    judge: Judge
    requests: int = 0
    malformed: int = 0
    rss: list[int] = field(default_factory=list)
    took_s: float = 0.0
    letters: int = 0
    never: list[str] = field(default_factory=list)


def play(
    store: str,
    seed: int,
    number: int,
    requests: int,
    *,
    url: str = "",
    tell: bool = True,
    thoughts: int = THOUGHTS,
) -> Done:
    """Play one round, and judge it; on a database of its own, unless one is named."""
    flags = ("--test-clock",) if number % 4 == 3 else ()
    with node(store, *flags, url=url, FAIRHOLD_PROXIES="127.0.0.1") as (it, sink, keys):
        done = Done(Judge(it.base))
        began = time.monotonic()
        odd = Odd(seed, thoughts)
        asyncio.run(_Round(it, keys, f"{seed}/{store}/{number}", odd, done, tell).play(requests))
        done.took_s, done.letters = time.monotonic() - began, sink.letters
        judge_the_end(it, done)
    return done


def judge_the_end(it: Node, done: Done) -> None:
    """The service is alive, stops when asked, said nothing bad in its log, and the record holds."""
    faults = done.judge.faults
    if not it.is_alive() or not it.is_ready():
        faults.append(Fault("the end", "the service is not there any more", it.log()[-LOG_END:]))
    elif code := it.stop():
        faults.append(Fault("the end", f"the service ended with {code}", it.log()[-LOG_END:]))
    done.judge.read(it.log())
    code, said = it.verify()
    if code:
        faults.append(Fault("verify", said[-2_000:], ""))
    settled = done.rss[len(done.rss) // 5 :]
    if settled and settled[-1] - settled[0] > GROWTH_MAX:
        faults.append(Fault("memory", f"{settled[0] >> 20} MiB became {settled[-1] >> 20} MiB", ""))


async def ask_again(wire: Wire, judge: Judge) -> None:
    """Ask alone for what was not available: if it is not now either, the request brings it about."""
    for asked, pause_s in judge.unavailable[:AGAIN_MAX]:
        await asyncio.sleep(pause_s)
        if (answer := await wire.ask(asked)).status == 503:
            what = f"it is never available: {answer.body[:300]!r}"
            judge.faults.append(Fault(asked.name, what, asked.as_curl(judge.base)))
    wire.close()


class _Round:
    def __init__(self, it: Node, keys: dict[str, str], name: str, odd: Odd, done: Done, tell: bool) -> None:
        self._node, self._name, self._done, self._tell = it, name, done, tell
        self._alive, self._odd = Alive(), odd
        self._keys = keys
        self._numbers = iter(range(0))

    async def play(self, requests: int) -> None:
        state = State(self._node, self._keys, self._alive)
        document = await state.document()
        self._asking = Asking(document, addresses(), self._keys, self._alive, self._odd)
        state.asking = self._asking
        await state.furnish()
        await state.heal()
        self._numbers = iter(range(1, requests + 1))
        await asyncio.gather(*(self._work(state) for _ in range(WORKERS)))
        await self._look_again()
        await ask_again(Wire(self._node.port), self._done.judge)
        wanted = [f"{method} {path}" for method, path, _ in self._asking.operations]
        state.close()
        self._done.never = [name for name in wanted if not self._done.judge.granted[name]]

    async def _work(self, state: State) -> None:
        wire = Wire(self._node.port)
        for number in self._numbers:
            dice = Random(f"{self._name}/{number}")
            asked = self._asking.next(dice)
            answer = await wire.ask(asked)
            self._done.requests += 1
            known = len(self._done.judge.faults)
            self._done.judge.judge(number, asked, answer)
            for fault in self._done.judge.faults[known:] if self._tell else ():
                print(f"    FAULT, {fault.where}: {fault.what}\n    {fault.again}", flush=True)
            self._learn(asked, answer)
            if number % MALFORMED_EVERY == 0:
                await self._hurt(malformed.one(dice), number)
            if number % HEAL_EVERY == 0:
                await state.heal()
            if number % 1_000 == 0:
                self._look_at_the_process(number)
            if not self._node.is_alive():
                break
        wire.close()

    async def _look_again(self) -> None:
        """Ask alone for what took long: whether the service is busy with it, or the machine with others."""
        wire = Wire(self._node.port)
        for asked in self._done.judge.slow[:40]:
            before = self._node.cpu_s()
            await wire.ask(asked)
            if (busy_s := self._node.cpu_s() - before) > BUSY_MAX_S:
                what = f"it kept the service busy for {busy_s:.1f} s"
                again = asked.as_curl(self._node.base)
                self._done.judge.faults.append(Fault(asked.name, what, again))
        wire.close()

    def _learn(self, asked: Asked, answer: Answer) -> None:
        path = asked.target.decode("latin-1")
        if answer.kind == b"application/json" and answer.status < 300:
            self._alive.hear(path, answer.body)
        elif answer.kind == b"text/html" and answer.status < 400:
            self._alive.look(path, answer.body)

    async def _hurt(self, raw: bytes, number: int) -> None:
        """Send what is no HTTP on a connection of its own, and see only that it does not answer with 5xx."""
        self._done.malformed += 1
        said = b""
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", self._node.port)
            # Where it is waited for the rest, that does not come.
            with suppress(TimeoutError):
                writer.write(raw)
                async with asyncio.timeout(_QUIET_S):
                    said = await reader.read(1_000)
            writer.transport.abort()
        if re.match(rb"HTTP/1\.[01] 5", said):
            self._done.judge.faults.append(Fault(f"no HTTP {number}", repr(said[:300]), repr(raw[:2_000])))

    def _look_at_the_process(self, number: int) -> None:
        if self._node.is_alive():
            self._done.rss.append(self._node.rss())
        if self._tell and number % 5_000 == 0:
            faults = len(self._done.judge.faults)
            print(f"    {number:>7,} requests, {self._done.rss[-1] >> 20} MiB, {faults} faults", flush=True)
