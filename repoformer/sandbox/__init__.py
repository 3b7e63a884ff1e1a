"""Running code that nobody has read: one command at a time, in a container made of Linux namespaces.

    limits.py    what a run may use
    sandbox.py   Sandbox(...).run(job) -> Outcome: starts a container, watches clock and output, never raises for what
                 the code did
    probe.py     whether containment works on this machine; callers refuse to run anything where it does not
    container.py the program that becomes a container: namespaces, file system, then its first process
    mounts.py    the container's file system
    confine.py   what the code loses before it starts: identity, capabilities, limits, system calls
    syscalls.py  the Linux calls that the standard library lacks

What the code sees: the system's programs and the folders it was given, read-only; a copy of the repository, a home and
``/tmp`` on one memory file system of limited size that vanishes with the container; no network but its own loopback;
no process but its own; an environment that was written for it. It runs as an unprivileged user without capabilities in
a user namespace of its own, where its limit on processes binds, and its memory is watched as a whole.

What this does not defend against: holes in the kernel itself (there is no virtual machine around it), and code that
tells lies about its own tests, which run in the same process as the code they judge.
"""
