"""The rules of Fairhold, all of them, pure: no I/O, no clock, no randomness, standard library only.

    decide(view, command, now)  expires what is due, obeys the command, fills what is free
    evolve(view, event)         changes the view by one thing that happened; it never refuses

Read it in this order; the words are those of docs/glossary.md:

    the door             decide, and work, a decision in the making
    what there is        model, and policy as far as its presets
    asked and happened   commands, events
    what is seen         view, and evolve, the only way it changes
    what is free, for    room, line
    obey                 book, obey, staff, put_back, pools, demote
    fill                 openings, quiet, search, and fill itself

To be looked up rather than read: how a policy is checked (the rest of policy), conditions, answers, refusals
and reference.

What must be true of every state and every decision is stated and judged outside, in verify. What a decision
looks like to people, from `explain` to messages, is made of events, outside too.
"""
