"""Steps that can be asked of a pool, drawn at random with an eye on how it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

from net import drawn_pools
from net.drawn_pools import DAY, HOUR, MINUTE
from net.histories import START, Json

Action = tuple[str, dict[str, Json]]

OPEN: Final = ("waiting", "offered", "held")
IN_PLAY: Final = (*OPEN, "confirmed")
SEATED: Final = ("held", "confirmed")
ENDED: Final = ("declined", "expired", "cancelled", "closed")
STAFF: Final = ("staff", "staff:olga")
DOORS: Final = ("library", "secret_key", "public_key", "page", "console", "csv")
WHYS: Final = ("", "because", "'; DROP TABLE fairhold_pools; --")
PARTIES: Final = 14
_STATUSES: Final = ("open", "open", "open", "paused", "paused", "closed", "cancelled")


class World:
    """A pool as the rules see it while a history is drawn."""

    def __init__(self, dice: Random, view: Any, name: str) -> None:
        self.dice = dice
        self.view = view
        self.sources: dict[int, str] = {}
        self._name = name
        self._pressed: int | None = None
        self.now = START

    def _acts(self) -> list[tuple[float, Callable[[], Action]]]:
        """Return what can be asked, each with its weight: much where it means something, else little."""
        states = {booking.state for booking in self.view.bookings.values()}
        offered = 1.0 if "offered" in states else 0.03
        had_offers = 1.0 if any(offer.outcome for offer in self.view.offers.values()) else 0.02
        waiting = 1.0 if "waiting" in states else 0.03
        held = 1.0 if "held" in states else 0.1
        ended = 1.0 if states & set(ENDED) else 0.02
        unreached = 1.0 if any(booking.reach for booking in self.view.bookings.values()) else 0.05
        back = 1.0 if any(it.state == "handed_back" for it in self.view.openings.values()) else 0.05
        named = 1.0 if any(quota.by_units for quota in self.view.pool.quotas) else 0.1
        starts = self.view.pool.starts_at
        late = 6.0 if starts is not None and 0 < starts - self.now <= 15 * MINUTE else 1.0
        shut = 4.0 if self.view.pool.status != "open" else 1.0
        return [
            (30, self.book),
            (9 * held, self.confirm),
            ((6.0 if self.view.pool.policy.confirm_while_waiting else 1.0) * waiting, self.confirm_in_line),
            (5 if states & set(IN_PLAY) else 0.1, self.cancel),
            (14 if "waiting" in states and states & set(SEATED) else 0.1, self.free),
            (4 * held, self.extend),
            (16 * offered, self.claim),
            (14 * offered, self.decline),
            (4 * offered, self.unreachable),
            (5 * offered, self.note_told),
            (4 * offered, self.note_delayed),
            (7 * had_offers, self.claim_late),
            (4 * unreached, self.note_reachable),
            (3, self.change_booking),
            (4 * waiting * late, self.give_offer),
            (6 * waiting, self.move),
            (5 * ended, self.put_back),
            (9 * back * late, self.resolve),
            (7 * back, self.book_opening),
            (2, self.fill),
            (1, self.tick),
            (5 * shut, self.change_pool),
            (3 * named, self.add_units),
            (2 * named, self.close_unit),
            (0.8, self.odd),
        ]

    def any_action(self, now: int) -> Iterator[Action]:
        """Yield one action or, rarely, many moves to one place, where places run out."""
        self.now = now
        waiting = self._in("waiting")
        if len(waiting) >= 4 and self.dice.random() < 0.01:
            behind, *others = waiting
            for turn in range(26):
                number = others[turn % len(others)]
                yield "Move", {"booking": number, "to": "after", "after": behind, "why": "squeezed in"}
            return
        acts = self._acts()
        yield self.dice.choices([act for _, act in acts], [weight for weight, _ in acts])[0]()

    def of_crowd(self, *, mixed: bool) -> Action:
        """Return what many ask at once: mostly to book, and to confirm and cancel what is held.

        While somebody waits almost all only book, unless the crowd is mixed: such batches are decided ahead.
        """
        acts: list[Callable[[], Action]] = [self.book_plainly]
        weights = [60.0]
        if mixed:
            acts += [self.confirm, self.cancel, self.extend, self.book, self.claim]
            weights += [14, 12, 2, 10, 2]
        elif not self.view.waiting and self._in(*SEATED):
            acts += [self._confirm_hold, self.free, self.extend]
            weights += [20, 20, 4]
        return self.dice.choices(acts, weights)[0]()

    def _confirm_hold(self) -> Action:
        return "Confirm", {"booking": self.dice.choice(self._in("held") or [1])}

    # Who and what ------------------------------------------------------------------------------------

    def any_party(self) -> str:
        return f"{self._name}-p{self.dice.randrange(PARTIES)}"

    def is_open(self, party: str) -> bool:
        """Return True if a party still waits for an answer or for room."""
        return any(b.party.id == party and b.state in OPEN for b in self.view.bookings.values())

    def forget(self, party: str) -> None:
        """Let a party be nobody, as an erasure does."""
        for number, booking in list(self.view.bookings.items()):
            if booking.party.id == party:
                nobody = type(booking.party)("erased-0000000000000000")
                self.view.bookings[number] = booking._replace(party=nobody, answers={})
        self.view.by_party.pop(party, None)

    def is_full(self, source: list[Json], party: str) -> bool:
        """Return True if a source or a party has as many live holds as it may."""
        address, most, most_of_party = source
        bookings = self.view.bookings
        held = [number for number in self.sources if bookings[number].state == "held"]
        live = [number for number in held if bookings[number].expires_at > self.now]
        of_source = sum(self.sources[number] == address for number in live)
        of_party = sum(bookings[number].party.id == party for number in live)
        return bool((most and of_source >= most) or (most_of_party and of_party >= most_of_party))

    def _in(self, *states: str) -> list[int]:
        return [b.number for b in self.view.bookings.values() if b.state in states]

    def _booking(self, *states: str) -> int:
        """Return a booking, mostly in one of these states; now and then one that there is not."""
        chance = self.dice.random()
        if chance < 0.02:
            return 999
        numbers = self._in(*states) if chance < 0.88 else list(self.view.bookings)
        chosen: int = self.dice.choice(numbers or list(self.view.bookings) or [1])
        return chosen

    def _seq(self, number: int) -> int:
        """Return the live offer of a booking, or an older one."""
        booking = self.view.bookings.get(number)
        latest = booking.offer_seq if booking else 0
        return max(0, latest - self.dice.choice([0, 0, 0, 0, 0, 1, 2]))

    def _quota(self) -> Any:
        return self.dice.choice(self.view.pool.quotas)

    def _opening(self) -> int:
        openings = self.view.openings.values()
        back = [o.number for o in openings if o.state == "handed_back"]
        chosen: int = self.dice.choice(back or [o.number for o in openings] or [99])
        return chosen

    def _by(self) -> str:
        return self.dice.choice(["party", "party", "party", *STAFF])

    # Requests ----------------------------------------------------------------------------------------

    def _party(self, quota: Any) -> Json:
        dice, said = self.dice, dict[str, Any]()
        said["id"] = self.any_party()
        if dice.random() < 0.3:
            said["name"] = dice.choice(["Ann 🙂", "'; DROP TABLE fairhold_pools; --"])
        if dice.random() < 0.3:
            said["contacts"] = dice.choice([{"email": f"{said['id']}@example.org"}, {"sms": "+358401234567"}])
        if dice.random() < (0.85 if quota.eligible else 0.4):
            said["tags"] = ["member"]
        if dice.random() < 0.3:
            said["attributes"] = dice.choice([{"credits": 95}, {"credits": 10}, {"time_zone": "Asia/Tokyo"}])
        return said

    def book_plainly(self) -> Action:
        """Return a booking without anything special, of somebody who may be new."""
        party = {"id": f"{self._name}-c{self.dice.randrange(400)}"}
        quotas = [quota for quota in self.view.pool.quotas if not quota.eligible] or list(
            self.view.pool.quotas
        )
        quota = self.dice.choice(quotas).key
        return "Book", {"party": party, "quantity": self.dice.choice([1, 1, 1, 2]), "quota": quota}

    def book(self) -> Action:
        dice, quota = self.dice, self._quota()
        said: dict[str, Any] = {
            "party": self._party(quota),
            "quantity": dice.choice([1, 1, 1, 1, 2, 2, 3, 5]),
        }
        if dice.random() < 0.9:
            said["quota"] = quota.key
        if dice.random() < 0.12:
            said["if_full"] = dice.choice(["wait", "refuse"])
        if dice.random() < 0.15:
            said["price"] = {"amount": dice.choice([0, 900]), "currency": "EUR"}
        if dice.random() < 0.25:
            said |= {"confirmed": True, "by": dice.choice(STAFF)}
        elif dice.random() < 0.2:
            said["by"] = dice.choice(STAFF)
        if dice.random() < 0.25:
            said["door"] = dice.choice(DOORS)
        if quota.by_units:
            self._of_units(said, quota)
        elif dice.random() < 0.02:
            said["wants"] = {"from_at": self.now}
        return "Book", said

    def _of_units(self, said: dict[str, Any], quota: Any) -> None:
        dice = self.dice
        labels = [u.label for u in self.view.units.values() if u.quota == quota.key]
        if labels and dice.random() < 0.3:
            said["units"] = dice.sample(labels, min(len(labels), said["quantity"]))
        elif dice.random() < 0.3:
            wants: dict[str, Any] = {}
            if dice.random() < 0.6:
                wants["attributes"] = {"attribute": "side", "is": dice.choice(["window", "aisle"])}
            if dice.random() < 0.4:
                wants["until_at"] = self.now + dice.choice([30 * MINUTE, DAY])
            if dice.random() < 0.2:
                wants["from_at"] = self.now + HOUR
            said["wants"] = wants

    def book_opening(self) -> Action:
        """Return that staff give what was handed back to somebody."""
        number = self._opening()
        opening = self.view.openings.get(number)
        said: dict[str, Any] = {"party": {"id": self.any_party(), "tags": ["member"]}, "by": "staff:olga"}
        said |= {"opening": number, "quantity": self.dice.choice([1, 1, 1, 2])}
        if opening is not None:
            said["quota"] = opening.quota
            waiting = [
                b for b in self.view.bookings.values() if b.state == "waiting" and b.quota == opening.quota
            ]
            if waiting and self.dice.random() < 0.5:
                chosen = self.dice.choice(waiting)
                said["party"]["id"], said["quantity"] = chosen.party.id, chosen.quantity
        return "Book", said

    def confirm(self) -> Action:
        return self._confirmed(self._booking("held"))

    def confirm_in_line(self) -> Action:
        return self._confirmed(self._booking("waiting"))

    def _confirmed(self, number: int) -> Action:
        said: dict[str, Any] = {"booking": number, "by": self._by()}
        pool = self.view.pool
        by_staff = pool.policy.confirm_by == "staff" or (
            pool.policy.confirm_by is None and pool.price is not None
        )
        if self.dice.random() < (0.6 if by_staff else 0.25):
            said["door"] = self.dice.choice(["page", "public_key"] if by_staff else DOORS)
        return "Confirm", said

    def cancel(self) -> Action:
        said = {"booking": self._booking(*IN_PLAY), "why": self.dice.choice(WHYS), "by": self._by()}
        return "Cancel", said

    def free(self) -> Action:
        """Return that somebody who has seats gives them back."""
        said = {"booking": self._booking(*SEATED), "why": self.dice.choice(WHYS), "by": self._by()}
        return "Cancel", said

    def extend(self) -> Action:
        said: dict[str, Any] = {"booking": self._booking("held"), "by": self._by()}
        if self.dice.random() < 0.7:
            said["window"] = self.dice.choice([MINUTE, HOUR, 0, 3 * HOUR])
        return "Extend", said

    def claim(self) -> Action:
        number = self._booking("offered")
        said: dict[str, Any] = {"booking": number, "seq": self._seq(number)}
        if self.dice.random() < 0.35:
            said["quantity"] = self.dice.choice([1, 1, 1, 2, 9])
        return "Claim", said

    def claim_late(self) -> Action:
        """Return a claim or a decline of an offer that is over."""
        over = [key for key, offer in self.view.offers.items() if offer.outcome]
        lapsed = [
            key for key in over if self.view.offers[key].outcome == "lapsed" and self.view.offers[key].units
        ]
        if lapsed and self.dice.random() < 0.5:
            over = lapsed
        number, seq = self.dice.choice(over or [(1, 1)])
        return self.dice.choice(["Claim", "Claim", "Decline"]), {"booking": number, "seq": seq}

    def decline(self) -> Action:
        number = self._booking("offered")
        said: dict[str, Any] = {"booking": number, "by": self._by()}
        if self.dice.random() < 0.5:
            said["seq"] = self._seq(number)
        return "Decline", said

    def unreachable(self) -> Action:
        number = self._booking("offered")
        said: dict[str, Any] = {"booking": number, "seq": self._seq(number), "why": self.dice.choice(WHYS)}
        said["reason"] = self.dice.choice(["no_channel", "no_contact", "dead_contact", "channel_down"])
        if self.dice.random() < 0.3:
            said["contacts"] = self.dice.choice([{}, {"email": "old@example.org"}])
        return "Unreachable", said

    def note_told(self) -> Action:
        number = self._booking("offered", "waiting")
        said: dict[str, Any] = {"booking": number}
        if self.dice.random() < 0.8:
            said["seq"] = self._seq(number)
        return "NoteTold", said

    def note_delayed(self) -> Action:
        number = self._booking("offered")
        return "NoteDelayed", {"booking": number, "seq": self._seq(number)}

    def note_reachable(self) -> Action:
        unreached = [b.number for b in self.view.bookings.values() if b.reach]
        return "NoteReachable", {"booking": self.dice.choice(unreached or [self._booking(*IN_PLAY)])}

    def change_booking(self) -> Action:
        dice, said = self.dice, dict[str, Any]()
        said |= {"booking": self._booking(*IN_PLAY), "by": self._by()}
        fields: dict[str, list[Json]] = {
            "name": ["", "Bea"],
            "contacts": [{}, {"email": "new@example.org"}],
            "locale": ["fi", "de"],
            "answers": [{"age": 18}, {"age": 1}, {"diet": "vegan", "age": 30}, {"nobody": "asked"}, {}],
            "told_by_staff": [True, False],
        }
        for name, values in fields.items():
            if dice.random() < 0.35:
                said[name] = dice.choice(values)
        return "ChangeBooking", said

    # Staff -------------------------------------------------------------------------------------------

    def give_offer(self) -> Action:
        said: dict[str, Any] = {"booking": self._booking("waiting"), "why": self.dice.choice(WHYS)}
        if self.dice.random() < 0.35:
            said["opening"] = self._opening()
        return "GiveOffer", said

    def move(self) -> Action:
        said: dict[str, Any] = {"booking": self._booking("waiting"), "why": self.dice.choice(WHYS)}
        said["to"] = self.dice.choice(["front", "back", "after", "after", "after", "aside"])
        if said["to"] == "after":
            # Often right behind the same one, so that places run out.
            if self._pressed is None or self.dice.random() < 0.3:
                self._pressed = self._booking("waiting")
            said["after"] = self._pressed
        return "Move", said

    def put_back(self) -> Action:
        return "PutBack", {"booking": self._booking(*ENDED), "why": self.dice.choice(WHYS)}

    def resolve(self) -> Action:
        action = self.dice.choice(["again", "again", "free", "close", "keep"])
        return "Resolve", {"opening": self._opening(), "action": action}

    def fill(self) -> Action:
        return "Fill", {"steps": self.dice.choice([None, 1, 1, 2])}

    def tick(self) -> Action:
        return "Tick", {}

    def change_pool(self) -> Action:
        dice, said, changes = self.dice, dict[str, Any](), dict[str, Any]()
        chance = dice.random()
        if chance < 0.55:
            quota = self._quota()
            larger = (quota.size or 0) + dice.choice([1, 1, 2])
            said["sizes"] = {quota.key: dice.choice([0, 1, 1, 2, 3, None, larger, larger, larger])}
        elif chance < 0.65:
            changes["open_size"] = dice.choice([0, 1, 2, 3])
        elif chance < 0.75:
            changes["status"] = dice.choice(_STATUSES)
        elif chance < 0.9:
            mix = drawn_pools.MIXES[dice.choice(tuple(drawn_pools.MIXES))]
            name = dice.choice(tuple(mix))
            changes["policy"] = {name: dice.choice(mix[name])}
        else:
            name = dice.choice(["starts_at", "opens_at", "closes_at", "title", "price"])
            later = self.now + dice.choice([-MINUTE, 10 * MINUTE, HOUR, 2 * DAY])
            price = dice.choice([None, {"amount": 700, "currency": "EUR"}, {"amount": -1, "currency": "EUR"}])
            changes[name] = {"title": "Another", "price": price}.get(name, dice.choice([None, later]))
        if self.view.pool.status != "open" and dice.random() < 0.6:
            changes["status"] = "open"
        said["changes"] = changes
        if dice.random() < 0.6:
            said["allow_demotion"] = True
        if dice.random() < 0.3:
            said["why"] = "a larger hall"
        return "ChangePool", said

    def add_units(self) -> Action:
        dice = self.dice
        quotas = [quota.key for quota in self.view.pool.quotas if quota.by_units]
        quota = dice.choice(quotas) if quotas else None
        labels = dice.sample(["1A", "1B", "2C", "3A", "3B", "3C"], dice.choice([1, 1, 2]))
        return "AddUnits", {"units": drawn_pools.units(dice, self.now, quota, labels)}

    def close_unit(self) -> Action:
        labels = list(self.view.units) or ["nowhere"]
        return "CloseUnit", {"label": self.dice.choice(labels)}

    def odd(self) -> Action:
        """Return what no door would let through, or what nobody would ask."""
        actions: list[Action] = [
            ("Book", {"party": {"id": self.any_party()}, "quantity": 0}),
            ("Book", {"party": {"id": self.any_party()}, "quantity": "two"}),
            ("Book", {"party": {"id": self.any_party()}, "quota": "nowhere"}),
            ("Book", {"party": {"id": self.any_party()}, "if_full": "perhaps"}),
            ("Book", {"party": {"id": self.any_party()}, "units": ["nowhere"], "quantity": 1}),
            ("Book", {"party": {"id": self.any_party()}, "by": "somebody"}),
            ("Cancel", {"booking": 1, "why": "a\u0000b"}),
            ("Resolve", {"opening": 0, "action": "again"}),
            ("Fill", {"steps": 0}),
            ("Fill", {"steps": "all"}),
            ("ChangePool", {"changes": {}, "sizes": {"nowhere": 3}}),
            ("ChangePool", {"changes": {"policy": {"nothing": 1}}}),
            ("ChangePool", {"changes": {"quotas": []}}),
            ("CloseUnit", {"label": "nowhere"}),
            ("AddUnits", {"units": [{"label": ""}]}),
            ("Claim", {"booking": 1, "seq": 77}),
        ]
        return self.dice.choice(actions)
