"""The five pools of the demo, one for each preset, and what happened in them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from fairhold.clock import to_datetime
from fairhold.demo.past import DAY, HOUR, Life, Past

_THURSDAY: Final = 3
KEYS: Final = ("pottery", "algebra", "flight-7", "spring-ball", "salon")


def lived_in(past: Past, time_zone: str) -> None:
    """Write down the past of all five."""
    pottery(past, time_zone)
    algebra(past, time_zone)
    flight(past, time_zone)
    ball(past, time_zone)
    salon(past, time_zone)


def pottery(past: Past, time_zone: str) -> None:
    life = Life(past, "pottery", {"wheel": "Never"})
    life.made(
        "12d",
        title="Pottery on Thursdays",
        preset="class_waitlist",
        quotas=[{"key": "main", "title": "Places at a wheel", "size": 8}],
        starts_at=_evening(past, time_zone, days=_days_to_thursday(past, time_zone), hour=18),
        time_zone=time_zone,
        price={"amount": 18_000, "currency": "EUR"},
        questions=[
            {
                "key": "wheel",
                "title": "Have you sat at a wheel before?",
                "kind": "choice",
                "choices": ["Never", "Once or twice", "Often"],
                "required": True,
            },
            {"key": "allergies", "title": "Allergies", "help": "Some glazes have nuts in them. Really."},
        ],
        attributes={
            "location": "Studio 3, Mill Lane 4",
            "description": "Six evenings, eight wheels, and clay up to your elbows. Aprons are ours.",
        },
    )
    life.lived(
        """
        11d 20h  sign    Dan, Eve, Fay, Gus, Hal, Ivy, Jon, Kai
        11d      book    Ann, Bea, Cyd
        10d      book    Liv, Max
         9d      cancel  Hal
         7d 18h  decline Bea
         7d 16h  claim   Cyd
         5d      book    Nia
         4d      cancel  Jon
         3d 20h  claim   Liv
         2d      book    Oli, Pia
         1d 6h   cancel  Fay
         9h      book    Xia
         3h      book    Ray
        """
    )


def algebra(past: Past, time_zone: str) -> None:
    life = Life(past, "algebra", {"number": 4711})
    life.made(
        "12d",
        title="Algebra II, section B",
        preset="course_section",
        policy={"priority_rules": [{"when": {"tag": "honours"}, "add": 10}]},
        quotas=[{"key": "main", "title": "Seats", "size": 10}],
        starts_at=_evening(past, time_zone, days=20, hour=9),
        time_zone=time_zone,
        questions=[
            {"key": "number", "title": "Student number", "kind": "number", "min": 1000, "required": True}
        ],
        attributes={
            "location": "Lecture room 12",
            "description": "Groups, rings, fields, and a blackboard on three walls.",
        },
    )
    life.lived(
        """
        11d      sign    Ann, Bea, Dan, Eve, Gus, Ivy, Max, Oli, Pia, Ray
        10d      book    Hal, Jon, Fay, Cyd, Kai
         8d      cancel  Gus
         7d 20h  claim   Cyd
         6d      cancel  Max
         4d 20h  decline Hal
         4d 12h  claim   Jon
         3d      book    Tom, Uma, Wes, Vic, Zoe
         2d 2h   move    Uma (her other section was called off)
        20h      cancel  Ivy
         5h      cancel  Pia
        """
    )


def flight(past: Past, time_zone: str) -> None:
    life = Life(past, "flight-7", {})
    life.made(
        "10d",
        title="Flight 7",
        preset="checkout",
        page=True,
        quotas=[
            {
                "key": "economy",
                "title": "Economy",
                "units": [f"{r}{s}" for r in range(10, 15) for s in "ABCD"],
            }
        ],
        starts_at=_evening(past, time_zone, days=3, hour=21),
        time_zone=time_zone,
        price={"amount": 14_900, "currency": "EUR"},
        policy={"quantity_max": 4},
        attributes={
            "location": "Gate 5",
            "description": "Two hours north. Your seat and its price are held while you pay.",
        },
    )
    life.lived(
        """
        9d       sign    Dan=10A, Eve=10B
        8d       book    Fay*2
        6d 4h    sign    Gus=11A, Hal=11B, Ivy*2
        5d       book    Jon
        3d       sign    Kai*2, Liv
        2d       book    Max*3
        1d 2h    sign    Nia
        1d       dismiss Eve (asked by phone)
        12m      book    Ann*2
        6m       book    Zoe
        2m       book    Tom*2
        """
    )


def ball(past: Past, time_zone: str) -> None:
    life = Life(past, "spring-ball", {"rules": True, "diet": "Vegetarian"})
    life.made(
        "7d",
        title="Spring ball",
        preset="event_signup",
        quotas=[
            {"key": "members", "title": "Members", "size": 6},
            {"key": "guests", "title": "Guests", "size": 3},
        ],
        open_size=2,
        opens_at=to_datetime(past.ago("6d")),
        starts_at=_evening(past, time_zone, days=9, hour=19),
        time_zone=time_zone,
        price={"amount": 4_500, "currency": "EUR"},
        questions=[
            {"key": "diet", "title": "Anything you do not eat?", "help": "So that the kitchen knows."},
            {"key": "rules", "title": "I have read the house rules", "kind": "checkbox", "required": True},
        ],
        attributes={
            "location": "Old Mill, Mill Lane 4",
            "description": "Dinner, speeches that are mercifully short, and dancing until midnight.",
        },
    )
    life.lived(
        """
        6d       sign    Ann@members, Bea@members, Cyd@members, Dan@members, Eve@members, Fay@members
        5d 22h   sign    Gus@guests, Hal@guests, Ivy@guests, Jon@guests
        5d 20h   book    Kai@members
        5d       sign    Liv@members, Max@members, Nia@guests
        4d       book    Oli@guests
        3d       cancel  Cyd
        2d       sign    Pia@members, Ray@guests
        1d       sign    Sue@guests
        20h      cancel  Hal
        9m       book    Tom@members
        """
    )


def salon(past: Past, time_zone: str) -> None:
    life = Life(past, "salon", {})
    past_chairs = [_chair(past, time_zone, hours) for hours in (-70, -46, -22)]
    today, later = _chair(past, time_zone, 3), _chair(past, time_zone, 6)
    tomorrow = _chair(past, time_zone, 27)
    life.made(
        "5d",
        title="The salon",
        preset="last_minute",
        quotas=[{"key": "chair", "title": "Chairs", "units": [today, later, tomorrow]}],
        time_zone=time_zone,
        attributes={
            "location": "High Street 12",
            "description": "A chair that came free, at half the price, for whoever can be here in time.",
        },
    )
    for ago, chair in zip(("3d 2h", "2d 2h", "1d 2h"), past_chairs, strict=True):
        life.opens(ago, chair)
    life.lived(
        f"""
        4d 20h       sign    Hal={today["label"]}, Eve={later["label"]}, Fay={tomorrow["label"]}
        4d           book    Gus, Ann, Bea, Cyd, Dan
        3d 1h 55m    claim   Gus
        2d 1h 45m    decline Bea
        2d 1h 41m    claim   Cyd
        1d 20h       book    Ivy, Jon
        1d 1h 58m    decline Ann
        1d 1h 55m    decline Bea
        1d 1h 52m    claim   Ivy
        2h           cancel  Eve
        1h 37m       decline Dan
        13m          cancel  Hal
        """,
        Dan={"from_at": to_datetime(past.now + 5 * HOUR)},
    )


def _evening(past: Past, time_zone: str, *, days: int, hour: int) -> Any:
    there = to_datetime(past.now + days * DAY).astimezone(ZoneInfo(time_zone))
    return there.replace(hour=hour, minute=0, second=0, microsecond=0)


def _days_to_thursday(past: Past, time_zone: str) -> int:
    """To one that is far enough for every turn of the line to come."""
    today = to_datetime(past.now).astimezone(ZoneInfo(time_zone)).weekday()
    return (_THURSDAY - today - 12) % 7 + 12


def _chair(past: Past, time_zone: str, hours: int) -> dict[str, Any]:
    """A chair on a full hour, so many hours from now."""
    at = to_datetime(past.now + hours * HOUR).astimezone(ZoneInfo(time_zone)) + timedelta(minutes=59)
    at = at.replace(minute=0, second=0, microsecond=0)
    return {"label": f"{at:%a} {at.hour}:00", "starts_at": at}
