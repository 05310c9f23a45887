"""Virtual boards: QEMU, started and watched by us."""
