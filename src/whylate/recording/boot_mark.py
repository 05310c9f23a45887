"""The word on a kernel's command line that shows which boot entry was booted."""

#: The kernel ignores words whose name has a dot, as parameters of a module that is not loaded
#: (init/main.c, unknown_bootoption()).
MARK = "whylate.entry"
