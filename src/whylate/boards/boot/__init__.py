"""Boot methods: how a board that is no virtual board boots another entry, once."""
