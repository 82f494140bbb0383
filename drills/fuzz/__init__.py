"""Bad input: every address, form, file and command, asked for what nobody should ask."""
