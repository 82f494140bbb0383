"""What is said: the wording of messages, by kind, language and channel. Who says it is in `notifiers`."""
