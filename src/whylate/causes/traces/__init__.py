"""Why activations in the traces of other tools were late."""
