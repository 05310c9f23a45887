"""The summary of a benchmark: points with figures and facts, whatever is measured."""
