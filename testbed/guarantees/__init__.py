"""What is guaranteed, and what shows it: docs/guarantees.md, written from results alone.

rows      what may go wrong, and what must happen then (docs/evidence/rows.toml)
marks     which tests say that they show it: @pytest.mark.guarantee, read from the source
evidence  what ran, and how it ended: docs/evidence/tests.json and one file for each drill
page      the page, out of these three and nothing else
"""

from testbed.guarantees.evidence import record

__all__ = ["record"]
