"""The one exception that a user is meant to read."""


class UserError(ValueError):
    """Something the user gave is wrong: a file, a key, a record, a flag.

    The message is one line: it names the file, key or record, says what was seen there and what to do next.
    The command line prints it without a traceback and exits with code 2.
    """
