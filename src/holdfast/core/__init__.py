"""The rules of Holdfast, all of them, pure: no I/O, no clock, no randomness, standard library only.

    decide(view, command, now)  expires what is due, obeys the command, fills what is free
    evolve(view, event)         changes the view by one thing that happened; it never refuses

Read it in this order; the words are those of docs/glossary.md:

    what there is        model, conditions, policy, questions, refusals, reference
    asked and happened   commands, events
    what is seen         view, and evolve, the only way it changes
    what is free, for    room, line
    deciding             work, due, and decide, the door
    expire and obey      book, obey, staff, put_back, pools, demote
    fill                 openings, quiet, search, and fill itself
    tell                 explain

What must be true of every state and every decision is stated and judged outside, in verify.
"""
