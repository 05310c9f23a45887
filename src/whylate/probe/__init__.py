"""The host's end of the wire to the probe, over any byte stream."""
