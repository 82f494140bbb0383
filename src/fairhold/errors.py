"""The world's failures, as exceptions. A well-formed no is a `Refusal` and is returned, not raised.

FairholdError
├── Unavailable          the database cannot be reached or does not answer; try again later
│   └── OutcomeUnknown   it went away during a commit and has not come back to tell the outcome
├── Busy                 someone outside has held the pool for too long; try again
│   └── Crowded          more wait than can be answered in time; try again later
├── Closing              this Fairhold is being closed and takes nothing more
├── SchemaUnknown        the database is not Fairhold's, or of a newer version
├── SettingsWrong        an address or setting that cannot be used
├── ExtraMissing         a package that belongs to an extra is not installed; an ImportError, too
├── NotRehearsed         there is no dry run of this; `dry_run` answers it with a refusal
├── Misused              a handle was used where it cannot work: see what it says
├── Refused              a refusal, for callers who would rather catch: see `granted`
├── CommandFailed        a bug of ours stopped this one command; nothing was changed
└── ClientError          a service could not be asked over HTTP: in `fairhold.client`, with its kinds
"""

from __future__ import annotations

from fairhold.core.refusals import Refusal


class FairholdError(Exception):
    """Something in the world went wrong."""


class Unavailable(FairholdError):
    """The database cannot be reached."""


class OutcomeUnknown(Unavailable):
    """The connection was lost during a commit, and the outcome could not be found out yet."""


class Busy(FairholdError):
    """The pool was held by someone else for too long."""


class Crowded(Busy):
    """More wait already than can be answered in time; and when to ask again."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"more people ask than can be answered in time; ask again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class Closing(FairholdError):
    """Fairhold is being closed."""


class SchemaUnknown(FairholdError):
    """The database's schema is not one that this version knows."""


class SettingsWrong(FairholdError):
    """A setting cannot be used."""


class ExtraMissing(FairholdError, ImportError):
    """A package is not installed that comes with an extra of Fairhold, such as `postgres`."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"To use {purpose}, run: pip install 'fairhold[{extra}]'")
        self.extra = extra


class NotRehearsed(FairholdError):
    """There is no dry run of what was asked for."""


class Misused(FairholdError):
    """A handle was used in another process, thread or event loop than its own, or outside its dry run."""


class CommandFailed(FairholdError):
    """The command could not be carried out, and changed nothing."""


class Refused(FairholdError):
    """The refusal inside says why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.sentence)
        self.refusal = refusal
