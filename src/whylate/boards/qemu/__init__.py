"""Virtual boards: QEMU, started and supervised by whylate."""
