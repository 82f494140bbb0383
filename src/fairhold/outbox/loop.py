"""The outbox loop: takes due messages, pool by pool in turn, hands each over, and marks how it went.

Taking a message pushes its due time ahead, so that nobody else takes it meanwhile; whoever dies with it in
hand leaves it due again two minutes later, and it goes out once more under the same id. Nothing is sent while
a transaction is open. Any number of processes may run this side by side.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fairhold.clock import real_now
from fairhold.core import commands as c
from fairhold.core.model import Instant
from fairhold.errors import Closing, Unavailable
from fairhold.messages.notice import Key
from fairhold.notifiers.base import Notifier
from fairhold.notifiers.choose import notifiers_for
from fairhold.notifiers.drawer import Drawer
from fairhold.outbox.deliver import Deliverer
from fairhold.outbox.fate import Fate, fate_of, fate_of_failure, news_of
from fairhold.outbox.readiness import warning_of
from fairhold.outbox.remembering import Remembering
from fairhold.outbox.settings import MessageSettings
from fairhold.outbox.targets import carries, contacts_carried
from fairhold.store import rows
from fairhold.store.base import Reader, Row, Transaction

if TYPE_CHECKING:
    from fairhold.library import Fairhold

log = logging.getLogger("fairhold")

HANDS_MAX: Final = 32
# The last of them are for pools that have none at work: receivers that stall must not keep all of them.
_SPARE_HANDS: Final = 8
LEASE: Final = 120_000
_LOOK_S: Final = 30.0
_PAUSE_S: Final = 0.5
_BREATH_S: Final = 0.02
_CLOSE_S: Final = 5.0
_LOWEST: Final = -1
_BEFORE_ALL: Final = (_LOWEST, 0)
# While so many commands wait, people come first: some 200 messages a second go out, in few takes.
_BUSY: Final = 16
_FEW: Final = 24
_GIVE_WAY_S: Final = 0.12
# Of what is taken of a pool so much is for what has been due for longest, however much is urgent.
_FOR_ANY: Final = 0.25
# So many are looked at, at a time, who could not be reached.
_AGAIN_MAX: Final = 500
# So few messages that are due tell by themselves which pools they are of.
_DUE_MAX: Final = 256


About = tuple[Any, ...]
"""A booking by its pool and number; or, of what is about none, the message itself."""


class Outbox:
    """Keeps the promise that what must be told gets told."""

    def __init__(
        self,
        hf: Fairhold,
        settings: MessageSettings | None = None,
        notifiers: Mapping[str, Notifier] | None = None,
        *,
        dice: Callable[[], float] = random.random,
        lease: int = LEASE,
    ) -> None:
        if settings is None:
            settings = MessageSettings.from_environment()
        settings.check()
        self._hf = hf
        notifiers = notifiers or notifiers_for(settings)
        self._deliverer = Deliverer(
            notifiers, settings, hf.secret, lambda: hf.engine.observer, lambda: real_now(hf.clock)
        )
        self._dice = dice
        self._lease = lease
        self._woken = asyncio.Event()
        self._last_pool = _LOWEST
        self._in_hand: set[asyncio.Task[None]] = set()
        # The last of them about each booking.
        self._latest: dict[About, asyncio.Task[None]] = {}
        # How many of these each pool has.
        self._hands: Counter[int] = Counter()
        # Up to which booking it was looked whether there is a way to reach it by now.
        self._looked_up_to = _BEFORE_ALL
        self._task: asyncio.Task[None] | None = None
        self._noted: list[Fate] = []
        self._marking = asyncio.Lock()
        self._taking = asyncio.Lock()

    async def start(self) -> None:
        """Send from now on, woken by every commit that leaves messages, here or elsewhere."""
        if warning := warning_of(self):
            log.log(logging.WARNING if self.drawer is None else logging.INFO, "%s", warning)
        self.attach()
        await self._hf.store.listen(self.wake, "messages")
        self._task = asyncio.create_task(self._run(), name="fairhold-outbox")

    def attach(self) -> None:
        """Be the one who sends in this process; a test clock then takes messages along as it moves."""
        self._hf.outbox = self
        self._hf.engine.on_messages = self.wake

    async def close(self) -> None:
        """Take nothing more, and let what is in hand be handed over."""
        if self._hf.outbox is self:
            self._hf.outbox = self._hf.engine.on_messages = None
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._in_hand:
            await asyncio.wait(self._in_hand, timeout=_CLOSE_S)
        for task in self._in_hand:
            task.cancel()
        await asyncio.gather(*self._in_hand, return_exceptions=True)
        await self._deliverer.close()

    def wake(self) -> None:
        """There may be something to send."""
        self._woken.set()

    @property
    def channels(self) -> frozenset[str]:
        """The channels by which people can be told: "email" and "sms", as far as they are set up."""
        return self._deliverer.channels

    @property
    def drawer(self) -> Drawer | None:
        """Where letters are kept in place of being sent, on a developer's own machine."""
        return self._deliverer.drawer

    async def lag_s(self) -> float:
        """For how long the message that is longest overdue has been due; nothing if none is."""
        due_at = (await self._hf.store.reader().rows("next_message"))[0][0]
        return 0.0 if due_at is None else max(0, self._hf.clock.now() - due_at) / 1000

    async def send_due(self) -> int:
        """Send everything that is due now, and wait for it; how many messages were tried."""
        while await self._reach_again():
            pass
        count = 0
        while (taken := await self._take_in_hand()) or self._in_hand:
            await asyncio.wait(self._in_hand)
            count += taken
        return count

    async def _take_in_hand(self, most: int = HANDS_MAX) -> int:
        # One at a time: between being taken and being in hand a message would be seen by nobody.
        async with self._taking:
            taken = await self._take(HANDS_MAX - len(self._in_hand), most)
            reader = Remembering(self._hf.store.reader(), taken)
            for about, rows in _by_booking(taken).items():
                task = asyncio.create_task(self._send_in_turn(reader, rows, self._latest.get(about)))
                self._in_hand.add(task)
                self._latest[about] = task
                self._hands[rows[0][0]] += 1
                task.add_done_callback(partial(self._put_down, about))
            return len(taken)

    async def _run(self) -> None:
        looked_at, time = -_LOOK_S, asyncio.get_running_loop().time
        while True:
            try:
                if time() - looked_at >= _LOOK_S:
                    looked_at = time()
                    await self._reach_again()
                await self._sleep_until_due()
                if self._hf.engine.queue.accepted >= _BUSY:
                    await self._take_in_hand(_FEW)
                    await asyncio.sleep(_GIVE_WAY_S)
                    continue
                taken = await self._take_in_hand()
                # Another process may have taken what was due a moment ago: look again, but not at once.
                await asyncio.sleep(0 if taken else _BREATH_S)
            except Closing:
                return
            except Exception as error:  # noqa: BLE001  # without this loop nobody would be told any more
                log.warning("the outbox waits for the database: %s", error)
                await asyncio.sleep(_PAUSE_S)

    async def _sleep_until_due(self) -> None:
        self._woken.clear()
        wait_s = _LOOK_S
        if len(self._in_hand) < HANDS_MAX:
            due_at = (await self._hf.store.reader().rows("next_message"))[0][0]
            if due_at is not None:
                wait_s = min(wait_s, (due_at - self._hf.clock.now()) / 1000)
        if wait_s > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._woken.wait()

    def _put_down(self, about: About, task: asyncio.Task[None]) -> None:
        pool_id = about[0]
        self._in_hand.discard(task)
        if self._latest.get(about) is task:
            del self._latest[about]
        self._hands[pool_id] -= 1
        if not self._hands[pool_id]:
            del self._hands[pool_id]
        self._woken.set()

    async def _take(self, free: int, most: int = HANDS_MAX) -> list[Row]:
        """Take up to so many due messages, as evenly from the pools as can be, going round."""
        if free <= 0:
            return []
        now = self._hf.clock.now()
        pools = self._with_hands_left(await self._pools_in_turn(now, most), free)
        if not pools:
            return []
        self._last_pool = pools[-1]
        each = max(1, min(free - _SPARE_HANDS, most) // len(pools))
        tx = await self._hf.store.begin(beside=True)
        try:
            taken = await self._take_of(tx, sorted(pools), now, each)
            await tx.commit()
        finally:
            await tx.rollback()
        return sorted(taken, key=lambda row: (row[0], row[1], row[2]))

    async def _take_of(self, tx: Transaction, pools: list[int], now: Instant, each: int) -> list[Row]:
        """Take up to so many of each pool: first what is urgent, then what has been due for longest.

        The pools come in the order of their ids, so that two processes that take never wait for each other.
        """
        until = now + self._lease
        # Also where one at a time is taken, now and then it is one of the others.
        for_any = int(each * _FOR_ANY + self._dice())
        taken: list[Row] = []
        if urgent_most := each - for_any:
            taken += await tx.each("take_urgent", [(pool, now, until, urgent_most) for pool in pools])
        got = Counter(row[0] for row in taken)
        if about := [(row[0], now, until, row[5], row[1]) for row in taken if row[5] is not None]:
            # What happened before that is told before that, by the same hand.
            taken += await tx.each("take_earlier", about)
        if left := [(pool, now, until, each - got[pool]) for pool in pools if got[pool] < each]:
            taken += await tx.each("take_messages", left)
        return taken

    def _with_hands_left(self, pools: list[int], free: int) -> list[int]:
        """Of these pools, those that may have one of so many hands."""
        if free > _SPARE_HANDS:
            return pools[: free - _SPARE_HANDS]
        return [pool_id for pool_id in pools if pool_id not in self._hands][:free]

    async def _pools_in_turn(self, now: Instant, most: int) -> list[int]:
        """Pools with a message due, from behind the one that was served last."""
        reader = self._hf.store.reader()
        due = [row[0] for row in await reader.rows("pools_of_due_messages", now, _DUE_MAX)]
        if len(due) < _DUE_MAX:
            # These are all. Leaping from pool to pool would touch those, too, that have messages for later.
            listed = sorted(set(due))
            turn = bisect_right(listed, self._last_pool)
            return [*listed[turn:], *listed[:turn]][:most]
        pools = [row[0] for row in await reader.rows("pools_with_messages", now, self._last_pool, most)]
        if len(pools) < most and self._last_pool != _LOWEST:
            again = await reader.rows("pools_with_messages", now, _LOWEST, most)
            pools = list(dict.fromkeys([*pools, *(row[0] for row in again)]))[:most]
        return pools

    async def _send_in_turn(
        self, reader: Reader, rows: list[Row], earlier: asyncio.Task[None] | None
    ) -> None:
        """Send what is about one booking in the order in which it happened, as long as it is ours to send."""
        loop = asyncio.get_running_loop()
        ours_until = loop.time() + self._lease / 2_000
        if earlier is not None:
            await asyncio.wait([earlier])
        for row in rows:
            if loop.time() >= ours_until:
                return
            await self._send(reader, row, ours_until)

    async def _send(self, reader: Reader, row: Row, ours_until: float = 0.0) -> None:
        try:
            tried = await self._deliverer.deliver(reader, row, self._hf.clock.now())
            if (command := news_of(tried)) is not None:
                # First the rules hear of it, then the message is marked: after a crash both are done again.
                await self._hf.submit(tried.key.pool_id, command)
            fate = fate_of(tried, self._hf.clock.now(), self._dice())
        except Closing:
            return
        except Exception as error:
            if isinstance(error, Unavailable):
                log.warning("message %s waits for the database: %s", Key(*row[:3]).text, error)
            else:
                log.exception("message %s-%s-%s cannot be handled", *row[:3])
            # It comes again, less and less often, and is given up in the end; its neighbours go on.
            fate = fate_of_failure(Key(*row[:3]), row[8], error, self._hf.clock.now(), self._dice())
        self._noted.append(fate)
        while True:
            try:
                await self._mark()
                return
            except Exception as error:  # noqa: BLE001  # it stays taken for a while, and comes again
                log.warning("message %s could not be marked: %s", Key(*row[:3]).text, error)
                if not isinstance(error, Unavailable) or asyncio.get_running_loop().time() >= ours_until:
                    return
            # What was handed over would go out once more: a database that is away is waited for.
            await asyncio.sleep(_PAUSE_S)

    async def _reach_again(self) -> bool:
        """Have those asked again who could not be reached for want of a channel, if there is one by now.

        So many are looked at, at a time. Return True if there are more: the next look goes on behind these.
        """
        reader = self._hf.store.reader()
        found = await reader.rows("not_reached", *self._looked_up_to, _AGAIN_MAX)
        for row in found:
            booking, pool_id, org = rows.booking_of(row[:-1]), row[0], row[-1]
            webhooks = await reader.rows("webhooks_of", org) if self._deliverer.calls_webhooks else ()
            if contacts_carried(booking, self.channels) or any(carries(it[3], "offer") for it in webhooks):
                await self._hf.submit(pool_id, c.NoteReachable(booking.number))
        are_more = len(found) == _AGAIN_MAX
        self._looked_up_to = (found[-1][0], found[-1][1]) if are_more else _BEFORE_ALL
        return are_more

    async def _mark(self) -> None:
        """Write down how it went. Those that come while another is writing go together in the next."""
        async with self._marking:
            together, self._noted = self._noted, []
            if not together:
                return
            try:
                await self._write_down(together)
            except Unavailable:
                # Others have left theirs to us, and would take them for marked.
                self._noted = together + self._noted
                raise

    async def _write_down(self, together: Sequence[Fate]) -> None:
        tx = await self._hf.store.begin(beside=True)
        try:
            if deliveries := [row for it in together for row in it.deliveries]:
                await tx.many("note_deliveries", deliveries)
            await tx.many("mark_messages", [it.message for it in together])
            await tx.commit()
        finally:
            await tx.rollback()


def _by_booking(taken: list[Row]) -> dict[About, list[Row]]:
    found: dict[About, list[Row]] = {}
    for row in taken:
        # What is about no booking stands for itself.
        found.setdefault((row[0], row[5]) if row[5] is not None else tuple(row[:3]), []).append(row)
    return found
