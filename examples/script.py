"""A seat, a line, an offer, and why: the library in a plain script.

pip install ..        # here, in a clone
python script.py

It makes `script.db`. A second run is refused, for the pool is there: remove it, or name another
(`python script.py sqlite:///other.db`).
"""

import sys

from fairhold import Fairhold, Refusal, granted


def main(url: str) -> None:
    with Fairhold.open_sync(url) as hf:
        granted(hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 1}, title="Saturday yoga"))

        ann = granted(hf.book("yoga", {"id": "ann", "name": "Ann"}))
        print(f"Ann: {ann.state}, {ann.seconds_left} s to confirm")
        granted(hf.confirm(ann.id))

        # A no is a value: look at it, or let `granted` raise it.
        refused = hf.book("yoga", {"id": "cyd", "name": "Cyd"}, if_full="refuse")
        if isinstance(refused, Refusal):
            print(f"Cyd: {refused.code}. {refused.sentence}")

        bea = granted(hf.book("yoga", {"id": "bea", "name": "Bea"}))
        print(f"Bea: {bea.state}, position {bea.position}")

        # The seat is offered to the next in turn. Usually a message brings her the token.
        granted(hf.cancel(ann.id, why="ill"))
        offer = granted(hf.booking(bea.id, secret=True)).offer
        assert offer is not None
        print(f"Bea: {granted(hf.claim(offer.token)).state}")

        for step in granted(hf.explain(bea.id)):
            print(f"  {step.sentence}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///script.db")
