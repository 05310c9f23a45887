"""One small file per verb: it parses, calls and prints."""
