"""The flight recorder's windows: from messages to windows.parquet and events.parquet."""
