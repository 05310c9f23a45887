"""The files of a recording, and of plans that go on for hours: written whole, locked, recovered."""
