"""The network of virtual boards: QEMU's user network, where the board is 10.0.2.15."""

from __future__ import annotations

#: What the image's init runs before it is ready.
SERVICES = "/whylate/services"
NETWORK_SCRIPT = b"""\
for card in /sys/class/net/eth* /sys/class/net/en*; do
	[ -e "$card" ] && card=${card##*/} && break
done
ip link set "$card" up
ip addr add 10.0.2.15/24 dev "$card"
"""
