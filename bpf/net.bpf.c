// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Network.
 *
 *   socket_connect       net.connect: IPv4, IPv6 and mapped addresses by the address automaton; every other family but
 *                        UNIX is refused. AF_UNSPEC only takes a connection away, the next connect is seen again
 *   unix_stream_connect  net.unix by the path the peer is bound to
 *   unix_may_send        ... for datagrams
 */
#include "decide.bpf.h"

#include <bpf/bpf_endian.h>

#define AF_UNSPEC 0
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10

/* Network order to host order on both little- and big-endian machines. */
static __always_inline __u16 port_of(const __u8 *be)
{
	return (__u16)be[0] << 8 | be[1];
}

/*
 * Address and port of a sockaddr that the kernel has copied already. The kernel connects the unspecified address to
 * loopback and a mapped one by IPv4: they are named so. A reason, or 0.
 */
static __always_inline __u32 read_address(struct rf_request *req, struct sockaddr *address, int len)
{
	struct sockaddr_in in = {};
	struct sockaddr_in6 in6 = {};
	__u32 *a = (__u32 *)req->addr;

	if (req->net_family == AF_INET) {
		if (len < (int)sizeof(in) || bpf_probe_read_kernel(&in, sizeof(in), address))
			return RF_REASON_ADDRESS;
		req->family = 4;
		req->port = port_of((__u8 *)&in.sin_port);
		a[0] = in.sin_addr.s_addr;
	} else {
		/* SIN6_LEN_RFC2133: without the scope id, as the kernel accepts it */
		if (len < 24 || bpf_probe_read_kernel(&in6, 24, address))
			return RF_REASON_ADDRESS;
		req->family = 6;
		req->port = port_of((__u8 *)&in6.sin6_port);
		__builtin_memcpy(req->addr, &in6.sin6_addr, 16);
		if (!a[0] && !a[1] && a[2] == (__u32)bpf_htonl(0xffff)) {
			req->family = 4;
			a[0] = a[3];
			a[1] = a[2] = a[3] = 0;
		}
	}
	if (req->family == 4 && !a[0])
		a[0] = bpf_htonl(0x7f000001);
	else if (req->family == 6 && !a[0] && !a[1] && !a[2] && !a[3])
		a[3] = bpf_htonl(1);
	return 0;
}

/* One byte of the automaton's key, in the order that RF_ADDR_KEY_MAX describes. */
static __always_inline __u32 address_state(__u32 image, const struct rf_request *req)
{
	const struct rf_automaton_header *automaton = &rf_image(image)->automaton[RF_AUTOMATON_ADDR];
	__u32 classes = automaton->classes, state = automaton->start;

	state = rf_step(rf_cells, RF_CELLS_MASK, image, classes, state, req->family);
	for (__u32 i = 0; i < 16; i++) {
		if (i >= 4 && req->family == 4)
			break;
		state = rf_step(rf_cells, RF_CELLS_MASK, image, classes, state, req->addr[i]);
	}
	state = rf_step(rf_cells, RF_CELLS_MASK, image, classes, state, req->protocol);
	state = rf_step(rf_cells, RF_CELLS_MASK, image, classes, state, req->port >> 8);
	return rf_step(rf_cells, RF_CELLS_MASK, image, classes, state, req->port & 0xff);
}

SEC("lsm/socket_connect")
int BPF_PROG(rf_socket_connect, struct socket *sock, struct sockaddr *address, int addrlen, int ret)
{
	struct rf_request req = {.hook = RF_HOOK_SOCKET_CONNECT, .wanted = RF_ACCESS_BIT(RF_NET_CONNECT)};
	const struct rf_verdicts *verdicts;
	__u32 reason, state;
	struct sock *sk;
	__u16 family = 0;

	if (ret || !rf_actor(&req))
		return ret;
	if (req.refusal)
		return rf_denies_for(&req, req.refusal) ? -EACCES : 0;
	if (addrlen < (int)sizeof(family) || bpf_probe_read_kernel(&family, sizeof(family), address))
		return rf_denies_for(&req, RF_REASON_ADDRESS) ? -EACCES : 0;
	/* UNIX: decided when the kernel knows the peer. */
	if (family == AF_UNSPEC || family == AF_UNIX)
		return 0;
	req.net_family = family;
	if (family != AF_INET && family != AF_INET6)
		return rf_denies_for(&req, RF_REASON_FAMILY) ? -EACCES : 0;
	sk = sock->sk;
	reason = sk ? read_address(&req, address, addrlen) : RF_REASON_UNREADABLE;
	if (reason)
		return rf_denies_for(&req, reason) ? -EACCES : 0;
	req.protocol = sk->sk_protocol;
	state = address_state(req.image, &req);
	verdicts = rf_state_verdicts(rf_cells, RF_CELLS_MASK, req.image, state);
	if ((verdicts->allow << RF_ACCESSES & req.wanted) && !(req.wanted & rf_image(req.image)->record))
		return 0;
	return rf_denies(&req, state) ? -EACCES : 0;
}

/* The peer of a UNIX socket: by path, or abstract, or unnamed (socketpair: the run was given it). */
static __always_inline int unix_peer(struct sock *other, __u32 hook, int ret)
{
	struct rf_request req = {.hook = hook, .wanted = RF_ACCESS_BIT(RF_NET_UNIX), .net_family = AF_UNIX};
	struct rf_task *tag = ret ? NULL : rf_actor(&req);
	struct unix_sock *peer;
	struct dentry *dentry;

	if (!tag)
		return ret;
	if (req.refusal)
		return rf_denies_for(&req, req.refusal) ? -EACCES : 0;
	peer = other ? bpf_skc_to_unix_sock(other) : NULL;
	if (!peer)
		return rf_denies_for(&req, RF_REASON_UNREADABLE) ? -EACCES : 0;
	dentry = peer->path.dentry;
	if (dentry)
		return rf_denies_path(tag, &req, dentry) ? -EACCES : 0;
	return peer->addr && rf_denies_for(&req, RF_REASON_FAMILY) ? -EACCES : 0;
}

SEC("lsm/unix_stream_connect")
int BPF_PROG(rf_unix_stream_connect, struct sock *sock, struct sock *other, struct sock *newsk, int ret)
{
	return unix_peer(other, RF_HOOK_UNIX_CONNECT, ret);
}

SEC("lsm/unix_may_send")
int BPF_PROG(rf_unix_may_send, struct socket *sock, struct socket *other, int ret)
{
	return unix_peer(other->sk, RF_HOOK_UNIX_SEND, ret);
}
