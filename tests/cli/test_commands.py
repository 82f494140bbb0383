"""Every command, on both databases, says what is so."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from fairhold.clock import SystemClock
from tests.cli.conftest import Cli, Command
from tests.database import ask


def test_a_stranger_makes_a_pool_and_books_with_the_real_command(
    fairhold: Command, database_url: str
) -> None:
    made = fairhold("pool", "create", "yoga", "--preset", "checkout", "--size", "3", database=database_url)
    assert (made.returncode, made.stdout, made.stderr) == (0, "Made yoga: 3 seats.\n", "")
    held = fairhold("book", "yoga", "ann", "--name", "Ann", database=database_url)
    pattern = r"Held for Ann until (?:\w{3} )?\d\d:\d\d UTC \(1[45] min left\)\. Reference [A-Z0-9]{6}\n"
    assert re.fullmatch(pattern, held.stdout), held.stdout
    refused = fairhold("book", "yoga", "bea", "-n", "10", database=database_url)
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr == (
        "refused (not_enough_room): Not enough seats available. Requested: 10, Available: 2\n"
        "  Ask for fewer seats, or wait in line: --if-full wait.\n"
    )


def test_a_refusal_in_json_is_on_stdout(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "checkout", "--size", "3")
    refused = cli.json("book", "yoga", "ann", "-n", "10", code=1)["refused"]
    assert refused["code"] == "not_enough_room"
    assert refused["facts"] == {"requested": 10, "available": 3}


def test_a_hold_is_confirmed_extended_and_cancelled(cli: Cli) -> None:
    cli("pool", "create", "flight", "--preset", "checkout", "--units", "12A,12B,12C", "--price", "150.00EUR")
    ann = cli.book("flight", "Ann", "-n", "2")
    assert cli("booking", ann).startswith("Held 12A and 12B for Ann until ")
    assert ", 300.00 EUR. Reference" in cli("booking", ann)
    assert 1_700 < cli.json("extend", ann)["seconds_left"] <= 1_800
    assert 7_100 < cli.json("extend", ann, "1h30m", "--staff", "Olga")["seconds_left"] <= 7_200
    assert "hold_lifetime_used_up" in cli("extend", ann, code=1)
    assert cli("confirm", ann) == f"Confirmed 12A and 12B for Ann, 300.00 EUR. Reference {ann}"
    assert cli("cancel", ann, "--why", "ill") == f"Cancelled: 2 seats for Ann. Reference {ann}"
    assert "cannot be extended" in cli("extend", ann, code=1)


def test_a_second_hold_names_the_first(cli: Cli) -> None:
    cli("pool", "create", "flight", "--preset", "checkout", "--size", "3")
    ann = cli.book("flight", "Ann")
    said = cli("book", "flight", "ann", code=1).splitlines()[0]
    assert said == f"refused (already_holding): This party already has a live hold here: Ann ({ann})."


def test_an_offer_is_declined_claimed_and_explained(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    olga = cli.book("yoga", "Olga", "--confirmed", "--staff", "Eve")
    ann, bea = cli.book("yoga", "Ann"), cli.book("yoga", "Bea")
    assert cli("book", "yoga", "ann") == f"Ann is #1 in line. Reference {ann}"
    cli("cancel", olga)
    assert [line.split()[:3] for line in cli("line", "yoga").splitlines()] == [
        ["Ann", "offered", "1"],
        ["#1", "Bea", "waiting"],
    ]
    assert cli("decline", ann) == f"Ann is #1 in line. Reference {ann}"
    offered = cli.json("booking", bea)
    assert cli("claim", offered["offer"]["token"]) == f"Confirmed for Bea. Reference {bea}"
    assert "has no offer to claim" in cli("claim", ann, code=1)
    steps = cli.json("explain", ann)
    assert [step["code"] for step in steps] == ["joined", "offered", "declined", "passed_over"]
    assert steps[-1]["reason"] == "had_turn"
    told = cli("explain", ann).splitlines()
    assert told[0] == "Ann is #1 in line."
    assert told[2].endswith("You joined the line as #1.")


def test_the_live_offer_of_a_booking_can_be_claimed_by_its_reference(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    olga = cli.book("yoga", "Olga")
    ann = cli.book("yoga", "Ann")
    cli("cancel", olga)
    assert cli("claim", ann) == f"Confirmed for Ann. Reference {ann}"


def test_a_part_is_explained_from_its_claim_on(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    olga = cli.book("yoga", "Olga")
    ann = cli.book("yoga", "Ann", "-n", "2")
    cli("cancel", olga)
    part = cli.json("claim", ann)["reference"]
    assert part != ann
    assert [step["code"] for step in cli.json("explain", part)] == ["claimed"]
    steps = cli.json("explain", ann)
    assert [(step["code"], step["reason"]) for step in steps] == [
        ("joined", ""),
        ("offered", ""),
        ("claimed", "part"),
    ]
    assert cli("line", "yoga").startswith("#1  Ann  waiting  1 seat")


def test_staff_move_offer_and_fill(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "0")
    ann, bea, cyd = (cli.book("yoga", name) for name in ("Ann", "Bea", "Cyd"))
    assert cli("move", cyd, "front", "--why", "our mistake", "--staff", "Olga").startswith(
        "Cyd is #1 in line."
    )
    assert cli("move", ann, "back").startswith("Ann is #3")
    assert cli("move", ann, "--after", cyd).startswith("Ann is #2")
    assert cli("fill", "yoga") == "Happened:\n  nothing"
    assert "not_enough_room" in cli("offer", bea, code=1)
    assert "staff:Olga  Staff move Cyd from #3 to #1 (our mistake)" in cli("log", "yoga")


def test_staff_put_back_what_ended_by_mistake(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "0")
    ann, _ = (cli.book("yoga", name) for name in ("Ann", "Bea"))
    cli("cancel", ann)
    told = cli("put-back", ann, "--dry-run")
    assert "staff put Ann back in line: #1" in told
    assert "Would be told:\n  Ann: that the booking is put back" in told
    assert cli("line", "yoga").startswith("#1  Bea")
    assert cli("put-back", ann, "--why", "wrong row", "--staff", "Olga").startswith("Ann is #1 in line.")
    assert "staff:Olga  Staff put Ann back in line: #1 (wrong row)" in cli("log", "yoga")
    assert "Staff put you back in line, as #1 (wrong row)." in cli("explain", ann)


def test_a_change_can_be_looked_at_before_it_is_made(cli: Cli) -> None:
    cli("pool", "create", "ball", "--preset", "event_signup", "--size", "1")
    cli.book("ball", "Ann")
    cli.book("ball", "Bea")
    told = cli("pool", "change", "ball", "--size", "2", "--dry-run")
    assert "Bea moves up from #1: held for" in told
    assert "Would be told:\n  Bea: a place" in told
    assert cli.json("pool", "show", "ball")["waiting"] == 1
    assert cli("pool", "change", "ball", "--size", "2") == "ball is open: 2 seats."
    refused = cli("pool", "change", "ball", "--size", "1", code=1)
    assert refused.startswith("refused (would_demote): 1 would lose their place.")
    assert "Bea (" in refused
    assert cli("pool", "change", "ball", "--size", "1", "--allow-demotion").endswith("1 in line.")


def test_a_dry_run_says_a_refusal_as_the_command_does(cli: Cli) -> None:
    cli("pool", "create", "hall", "--size", "1")
    asked = ("book", "hall", "ann", "-n", "5")
    refused = cli(*asked, code=1)
    assert refused.startswith("refused (not_enough_room)")
    assert cli(*asked, "--dry-run", code=1) == refused
    assert cli.json(*asked, "--dry-run", code=1)["answer"]["refused"] == "not_enough_room"
    ann = cli.book("hall", "Ann")
    cli("cancel", ann)
    cli.book("hall", "Bea")
    assert cli("put-back", ann, "--dry-run", code=1) == cli("put-back", ann, code=1)
    assert "refused (unknown)" in cli("pool", "change", "hall", "--quota", "x=1", "--dry-run", code=1)


def test_a_dry_run_shows_who_would_lose_their_place_and_that_it_must_be_allowed(cli: Cli) -> None:
    cli("pool", "create", "ball", "--preset", "event_signup", "--size", "2")
    cli.book("ball", "Ann")
    cli.book("ball", "Bea")
    less = ("pool", "change", "ball", "--size", "1", "--dry-run")
    told = cli(*less, code=1)
    assert told.startswith("With --allow-demotion\nWould happen:\n  Bea ")
    assert "Would be told:\n  Bea: that the place is lost" in told
    assert "refused (would_demote): 1 would lose their place." in told
    assert told.endswith("Say --allow-demotion to do it all the same.")
    assert cli.json(*less, code=1)["answer"]["refused"] == "would_demote"
    assert cli(*less, "--allow-demotion").startswith("Would happen:\n  Bea ")
    assert cli.json("pool", "show", "ball")["waiting"] == 0


def test_a_file_of_another_pool_is_refused(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "pool.json"
    file.write_text('{"key": "yoga", "quotas": {"main": 1}}')
    assert "is of the pool 'yoga'" in cli("pool", "create", "pilates", "--file", str(file), code=2)
    assert "Made yoga" in cli("pool", "create", "yoga", "--file", str(file))


def test_the_times_and_the_price_of_a_pool_can_be_taken_away(cli: Cli) -> None:
    at, names = "2099-03-07T14:00Z", ("opens_at", "closes_at", "starts_at", "price")
    times = ("--opens-at", at, "--closes-at", at.replace("14", "15"), "--starts-at", at.replace("14", "16"))
    cli("pool", "create", "yoga", "--size", "3", *times, "--price", "150.00EUR")
    assert all(cli.json("pool", "show", "yoga")[name] for name in names)
    for name in names:
        option = f"--{name.replace('_', '-')}"
        assert cli.json("pool", "change", "yoga", option, "none")[name] is None
        assert "none" in cli("pool", "create", "other", "--size", "1", option, "none", code=2)
    assert "none takes it away" in cli("pool", "change", "--help")


def test_a_size_is_said_alike_to_make_and_to_change_a_pool(cli: Cli) -> None:
    for verb in ("create", "change"):
        assert "3 seats" in cli("pool", verb, "yoga", "--size", "3")
        assert "a 1 seat, b 2 seats" in cli("pool", verb, "two", "--quota", "a=1", "--quota", "b=2")
    assert "two has several quotas: say --quota a=SEATS" in cli(
        "pool", "change", "two", "--size", "3", code=2
    )
    assert "There is no pool 'nope'" in cli("pool", "change", "nope", "--size", "3", code=1)


def test_a_pool_is_paused_opened_closed_and_cancelled(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    assert cli("pool", "pause", "yoga") == "yoga is paused: 1 seat."
    assert "pool_paused" in cli("book", "yoga", "ann", code=1)
    assert cli("pool", "open", "yoga") == "yoga is open: 1 seat."
    cli.book("yoga", "Ann")
    cli.book("yoga", "Bea")
    assert "the booking of Bea ends: the pool is closed" in cli("pool", "close", "yoga", "--dry-run")
    assert cli("pool", "close", "yoga") == "yoga is closed: 1 seat."
    assert cli("line", "yoga") == "Nobody is in line."
    assert cli("pool", "cancel", "yoga") == "yoga is cancelled: 1 seat."
    assert cli.json("stats", "yoga")["bookings"] == {"closed": 2}


def test_units_are_opened_listed_and_closed_in_the_pools_time_zone(cli: Cli) -> None:
    cli("pool", "create", "salon", "--preset", "last_minute", "--units", "", "--time-zone", "Europe/Berlin")
    start = ("--starts-at", "2099-03-07T14:00")
    assert cli("pool", "units", "add", "salon", "2 pm", *start, "--attribute", "service=colour") == (
        "Opened 2 pm in salon: 1 free."
    )
    listed = cli("pool", "units", "list", "salon")
    assert listed == "2 pm  Sat 7 Mar 2099 14:00 CET  service=colour  free"
    [unit] = cli.json("pool", "units", "list", "salon")
    assert unit["starts_at"] == "2099-03-07T13:00:00Z"
    assert cli("pool", "units", "close", "salon", "2 pm") == "Closed 2 pm in salon."
    assert cli("pool", "units", "list", "salon") == "No units."


def test_what_nobody_takes_needs_staff(cli: Cli) -> None:
    cli("pool", "create", "salon", "--preset", "last_minute", "--units", "chair")
    olga = cli.book("salon", "Olga", "--unit", "chair")
    ann = cli.book("salon", "Ann")
    assert cli("needs-you") == "Nothing needs you."
    cli("cancel", olga)
    cli("decline", ann)
    assert "1 offered, nobody took it" in cli("needs-you", "salon")
    [opening] = cli.json("needs-you")["openings"]
    assert (opening["pool"], opening["unit"], opening["state"]) == ("salon", "chair", "handed_back")
    number = str(opening["number"])
    assert (
        cli("resolve", "salon", number, "again") == f"Opening {number} of salon is offered to the line again."
    )
    cli("decline", ann)
    [opening] = cli.json("needs-you")["openings"]
    assert "refused (not_enough_room)" in cli("offer", ann, code=1)
    assert "offered" in cli("offer", ann, "--opening", str(opening["number"]), "--staff", "Olga").lower()
    cli("decline", ann)
    [opening] = cli.json("needs-you")["openings"]
    given = cli("book", "salon", "eve", "--opening", str(opening["number"]), "--staff", "Olga")
    assert given.startswith("Held chair for eve")


def test_release_expired_says_first_and_does_then(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("pool", "create", "train", "--preset", "checkout", "--size", "5")
    cli.book("train", "Cyd")
    cli("pool", "create", "flight", "--preset", "checkout", "--size", "5", "--policy", "hold_window=2m")
    cli.book("flight", "Ann", "-n", "2")
    cli.book("flight", "Bea")
    assert cli("release-expired") == "0 holds expired, 0 seats released."
    now = SystemClock.now
    monkeypatch.setattr(SystemClock, "now", lambda clock: now(clock) + 2 * 60_000)
    stats = cli.json("stats", "flight")
    assert (stats["active_holds"], stats["expired_holds"], stats["total_held_seats"]) == (0, 2, 3)
    for _ in range(2):
        assert cli("release-expired", "--dry-run") == "2 holds would be expired, 3 seats would be released."
    told = cli("release-expired", "-v").splitlines()
    assert told == [
        "flight  the hold of Ann runs out",
        "flight  the hold of Bea runs out",
        "2 holds expired, 3 seats released.",
    ]
    assert cli.json("release-expired")["holds_expired"] == 0
    assert cli.json("stats", "flight")["expired_holds"] == 0
    assert cli.json("stats", "train")["active_holds"] == 1


def test_stats_have_the_four_figures_of_a_pool_and_of_all(cli: Cli) -> None:
    cli("pool", "create", "one", "--preset", "checkout", "--quota", "economy=5", "--quota", "first=unlimited")
    cli("pool", "create", "two", "--preset", "checkout", "--size", "5", "--policy", "hold_window=4m")
    cli.book("one", "Ann", "--quota", "economy", "-n", "2")
    cli.book("two", "Ann")
    one, everything = cli.json("stats", "one"), cli.json("stats")
    names = ("active_holds", "expired_holds", "total_held_seats", "holds_expiring_soon")
    assert [one[name] for name in names] == [1, 0, 2, 0]
    assert [everything[name] for name in names] == [2, 0, 3, 1]
    assert one["quotas"] == {"economy": {"used": 2, "room": 3}, "first": {"used": 0, "room": None}}
    said = cli("stats", "one")
    assert "active holds   1" in said
    assert "unlimited" in said


def test_pools_are_made_from_a_document_and_listed(cli: Cli, tmp_path: Path) -> None:
    rule = {"when": {"tag": "honours"}, "add": 10}
    document = {
        "title": "Algebra",
        "preset": "course_section",
        "quotas": [{"key": "main", "size": 2}],
        "policy": {"priority_rules": [rule]},
    }
    path = tmp_path / "algebra.json"
    path.write_text(json.dumps(document))
    assert cli("pool", "create", "algebra", "--file", str(path), "--policy", "offer_window=1h30m") == (
        "Made algebra: 2 seats."
    )
    policy = cli.json("pool", "show", "algebra")["policy"]
    assert (policy["priority_rules"], policy["offer_window"]) == ([rule], 5400)
    assert cli("pool", "list") == "algebra  Algebra  open  0 taken  2 seats"
    assert "is offered to the next in turn for 1 h 30 min" in cli("pool", "show", "algebra")
    assert "exists" in cli("pool", "create", "algebra", "--size", "1", code=1)


def test_of_too_many_pools_those_with_the_latest_news_are_listed(cli: Cli) -> None:
    for key in ("art", "yoga"):
        cli("pool", "create", key, "--size", "1")
    for newest, other in (("yoga", "art"), ("art", "yoga")):
        asyncio.run(
            ask(cli.url, f"UPDATE fairhold_pools SET updated_at = CASE key WHEN '{newest}' THEN 2 ELSE 1 END")
        )
        assert [it["key"] for it in cli.json("pool", "list", "--limit", "1")] == [newest]
        assert [it["key"] for it in cli.json("pool", "list")] == [newest, other]


def test_the_same_key_books_once(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "checkout", "--size", "3")
    first = cli.json("book", "yoga", "ann", "--idempotency-key", "k1")
    assert cli.json("book", "yoga", "ann", "--idempotency-key", "k1") == first
    assert len(cli.json("bookings", "yoga")) == 1


def test_commands_of_staff_take_a_key_too(cli: Cli) -> None:
    create = ("pool", "create", "yoga", "--units", "12A", "--idempotency-key", "k1")
    first = cli.json(*create)
    assert cli.json(*create) == first
    add = ("pool", "units", "add", "yoga", "12B", "--idempotency-key", "k2")
    assert cli.json(*add) == cli.json(*add)
    other = ("pool", "units", "add", "yoga", "12C", "--idempotency-key", "k2")
    assert cli.json(*other, code=1)["refused"]["code"] == "idempotency_mismatch"
    change = ("pool", "change", "yoga", "--title", "Yoga", "--idempotency-key", "k3")
    assert cli.json(*change)["version"] == cli.json(*change)["version"]


def test_bookings_are_listed_page_by_page(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "checkout", "--size", "3")
    references = [cli.book("yoga", name) for name in ("Ann", "Bea", "Cyd")]
    assert [b["reference"] for b in cli.json("bookings", "yoga", "--limit", "2")] == references[:2]
    assert [b["reference"] for b in cli.json("bookings", "yoga", "--after", references[1])] == references[2:]
    assert cli("bookings", "yoga", "--state", "confirmed") == "No bookings."


def test_the_log_is_told_in_order(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "checkout", "--size", "3")
    ann = cli.book("yoga", "Ann")
    cli("confirm", ann)
    told = [line.split(maxsplit=4)[4] for line in cli("log", "yoga").splitlines()]
    assert told == ["Ann gets 1 seat, held for 15 min", "Ann confirms"]
    assert [entry["event"] for entry in cli.json("log", "yoga")] == ["PoolCreated", "Held", "Confirmed"]
    assert [entry["seq"] for entry in cli.json("log", "yoga", "--after", "2")] == [3]
    made, held = (entry["facts"] for entry in cli.json("log", "yoga")[:2])
    pool = cli.json("pool", "show", "yoga")
    assert (made["pool"]["id"], made["pool"]["policy"]) == (pool["id"], pool["policy"])
    assert all(facts["at"].endswith("Z") for facts in (made, held))


def test_verify_and_migrate(empty_database_url: str) -> None:
    cli = Cli(empty_database_url)
    assert cli("migrate").startswith("Applied: 0001")
    assert cli("migrate") == "The database is up to date."
    cli("pool", "create", "yoga", "--preset", "checkout", "--size", "3")
    cli.book("yoga", "Ann")
    assert cli("verify").startswith("All promises hold")
