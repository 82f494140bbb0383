"""The rules of Holdfast, all of them, pure: no I/O, no clock, no randomness, standard library only.

    decide(view, command, now)  expires what is due, obeys the command, fills what is free
    evolve(view, event)         changes the view by one thing that happened; it never refuses

Read in this order: model, policy, conditions, view, room, line, commands, events, evolve, decide, book,
obey, staff, search, openings, fill, due; explain tells it. What is always true is judged in verify.
"""
