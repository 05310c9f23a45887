// SPDX-License-Identifier: GPL-2.0
/*
 * A received packet whose protocol takes size_us for it, in the network's softirq. A packet of
 * another protocol, just before, is done with in a moment. Both come from the loopback device.
 */
#include <linux/if_ether.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/net_namespace.h>

#include "fault_module_beside.h"

static int slow(struct sk_buff *packet, struct net_device *device, struct packet_type *type,
		struct net_device *original) FAULT_NAMED("_f");
static int quick(struct sk_buff *packet, struct net_device *device, struct packet_type *type,
		 struct net_device *original) FAULT_NAMED("_b");

#define QUICK_NS 2000
/* For local experiments: nobody else has them. */
#define SLOW_PROTOCOL  0x88b5
#define QUICK_PROTOCOL 0x88b6

static struct packet_type slow_type = {.type = cpu_to_be16(SLOW_PROTOCOL), .func = slow};
static struct packet_type quick_type = {.type = cpu_to_be16(QUICK_PROTOCOL), .func = quick};

static int slow(struct sk_buff *packet, struct net_device *device, struct packet_type *type,
		struct net_device *original)
{
	u64 start_ns = ktime_get_ns();

	fault_log(start_ns, fault_busy(start_ns + fault_size_ns(), smp_processor_id()),
		  smp_processor_id());
	kfree_skb(packet);
	return NET_RX_SUCCESS;
}

static int quick(struct sk_buff *packet, struct net_device *device, struct packet_type *type,
		 struct net_device *original)
{
	fault_spin(ktime_get_ns() + QUICK_NS);
	kfree_skb(packet);
	return NET_RX_SUCCESS;
}

static void receive(u16 protocol)
{
	struct sk_buff *packet = alloc_skb(ETH_ZLEN, GFP_KERNEL);

	if (!packet)
		return;
	skb_put_zero(packet, ETH_ZLEN);
	skb_reset_mac_header(packet);
	skb_reset_network_header(packet);
	packet->dev = init_net.loopback_dev;
	packet->protocol = htons(protocol);
	netif_rx(packet);
}

static void act(void)
{
	fault_beside();
	receive(QUICK_PROTOCOL);
	receive(SLOW_PROTOCOL);
}

static int begin(void)
{
	int error = fault_beside_start();

	if (error)
		return error;
	dev_add_pack(&slow_type);
	dev_add_pack(&quick_type);
	return 0;
}

static void end(void)
{
	dev_remove_pack(&slow_type);
	dev_remove_pack(&quick_type);
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
