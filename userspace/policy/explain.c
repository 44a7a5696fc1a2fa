// SPDX-License-Identifier: Apache-2.0
/* What a policy says of one access, asked of the image that the kernel gets. */
#include "policy/compiled.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/names.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Two names each. Events call them by what was missing. */
static const char *const second_names[] = {"file.rename", "file.link"};

static const struct rf_place nowhere = {"object", 0, 0};

static void mem_done(struct rf_mem *mem)
{
	rf_mem_done(mem);
}

static int explain_special(const struct rf_policy *p, enum rf_special special, const char *object,
			   struct rf_explanation *ret)
{
	const struct rf_image *header = (const struct rf_image *)p->cells;

	ret->decision.allow = header->special_allow >> special & 1;
	ret->decision.rule = header->special_rule[special];
	snprintf(ret->object, sizeof(ret->object), "%s", object);
	return 0;
}

/* "//", "/./" and a '/' at the end go; ".." is refused, for only the host knows where it leads. */
static int normalise(const char *object, char *out, size_t size, struct rf_diag *diag)
{
	size_t used = 0;

	if (object[0] != '/')
		return rf_diag_at(diag, nowhere, "\"%.200s\" is no absolute path: write it from \"/\"", object);
	if (strlen(object) >= size || strlen(object) > RF_PATH_MAX)
		return rf_diag_at(diag, nowhere, "the path is longer than %d bytes", RF_PATH_MAX);
	for (const char *p = object; *p;) {
		size_t n = strcspn(++p, "/");

		if (n == 2 && !memcmp(p, "..", 2))
			return rf_diag_at(diag, nowhere, "\"%.200s\": write the path without \"..\"", object);
		if (n && !(n == 1 && *p == '.')) {
			out[used++] = '/';
			memcpy(out + used, p, n);
			used += n;
		}
		p += n;
	}
	if (!used)
		out[used++] = '/';
	out[used] = 0;
	return 0;
}

static int explain_path(const struct rf_policy *p, unsigned int access, const char *object, struct rf_explanation *ret,
			struct rf_diag *diag)
{
	__cleanup(mem_done) struct rf_mem mem = {};
	const struct rf_policy_args args = {.resolve = p->resolve, .ctx = p->ctx};
	/* These act on the name itself, the others on what it leads to. */
	bool last = access != RF_FILE_CREATE && access != RF_FILE_DELETE;
	char path[RF_PATH_MAX + 1];
	const char *resolved;
	int err = normalise(object, path, sizeof(path), diag);

	if (!err)
		err = rf_resolve_object(&args, &mem, path, last, &resolved);
	if (!err) {
		resolved = rf_aliases_name(p->aliases, &mem, resolved);
		err = resolved ? 0 : -ENOMEM;
	}
	if (err)
		return err;
	if (strlen(resolved) > RF_PATH_MAX)
		return rf_diag_at(diag, nowhere, "the path is longer than %d bytes", RF_PATH_MAX);
	snprintf(ret->object, sizeof(ret->object), "%s", resolved);
	ret->decision = rf_image_path(p->cells, p->n_cells, access, resolved, strlen(resolved));
	return 0;
}

#define ADDRESS_FORM "write ADDRESS:PORT or ADDRESS:PORT/udp, an IPv6 address in brackets"

/* "1.2.3.4:443/udp" or "[::1]:80" -> its parts; false: another form. */
static bool parse_address(const char *object, uint8_t *ret_family, uint8_t addr[16], uint8_t *ret_protocol,
			  uint16_t *ret_port)
{
	bool v6 = object[0] == '[';
	const char *close = strchr(object, v6 ? ']' : ':'), *p;
	char text[INET6_ADDRSTRLEN + 1];
	unsigned int port = 0;
	size_t len;

	if (!close)
		return false;
	len = (size_t)(close - object) - v6;
	if (len >= sizeof(text))
		return false;
	memcpy(text, object + v6, len);
	text[len] = 0;
	p = close + v6;
	if (*p++ != ':' || *p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9' && port <= 65535; p++)
		port = port * 10 + (unsigned int)(*p - '0');
	if (port > 65535)
		return false;
	if (!*p || !strcmp(p, "/tcp"))
		*ret_protocol = IPPROTO_TCP;
	else if (!strcmp(p, "/udp"))
		*ret_protocol = IPPROTO_UDP;
	else
		return false;
	*ret_family = v6 ? 6 : 4;
	*ret_port = (uint16_t)port;
	return inet_pton(v6 ? AF_INET6 : AF_INET, text, addr) == 1;
}

static int explain_connect(const struct rf_policy *p, unsigned int access, const char *object,
			   struct rf_explanation *ret, struct rf_diag *diag)
{
	uint8_t key[RF_ADDR_KEY_MAX], family, addr[16] = {}, protocol;
	char text[INET6_ADDRSTRLEN];
	uint16_t port;
	size_t len;

	if (!parse_address(object, &family, addr, &protocol, &port))
		return rf_diag_at(diag, nowhere, "\"%.200s\": " ADDRESS_FORM, object);
	len = rf_addr_key(key, family, addr, protocol, port);
	ret->decision = rf_image_addr(p->cells, p->n_cells, access, key, len);
	inet_ntop(key[0] == 6 ? AF_INET6 : AF_INET, key + 1, text, sizeof(text));
	snprintf(ret->object, sizeof(ret->object), key[0] == 6 ? "[%s]:%u/%s" : "%s:%u/%s", text, port,
		 protocol == IPPROTO_TCP ? "tcp" : "udp");
	return 0;
}

int rf_policy_explain(const struct rf_policy *p, const char *access, const char *object, struct rf_explanation *ret,
		      struct rf_diag *diag)
{
	struct rf_explanation out = {};
	const char *names[RF_RULE_ACCESSES + COUNT(second_names)], *close;
	int number = rf_access_number(access), err;

	if (number < 0) {
		for (unsigned int a = 0; a < RF_RULE_ACCESSES; a++)
			names[a] = rf_access_name(a);
		memcpy(names + RF_RULE_ACCESSES, second_names, sizeof(second_names));
		if (rf_policy_is_second(access))
			return rf_diag_at(diag, (struct rf_place){"access", 0, 0},
					  "%s takes two names, the old and the new one", access);
		close = rf_diag_closest(access, names, COUNT(names));
		return rf_diag_at(diag, (struct rf_place){"access", 0, 0}, "unknown access \"%.60s\": %s \"%s\"%s",
				  access, close ? "did you mean" : "write names like", close ? close : "file.read",
				  close ? "?" : "");
	}
	if (number == RF_NET_CONNECT)
		err = explain_connect(p, (unsigned int)number, object, &out, diag);
	else if (number == RF_FILE_EXECUTE && !strcmp(object, "anonymous"))
		err = explain_special(p, RF_SPECIAL_ANONYMOUS_EXEC, object, &out);
	else if (number != RF_NET_UNIX && !strcmp(object, "unknown-filesystem"))
		err = explain_special(p, RF_SPECIAL_UNKNOWN_FS, object, &out);
	else
		err = explain_path(p, (unsigned int)number, object, &out, diag);
	if (err)
		return err;
	out.rule = out.decision.rule == RF_RULE_NONE ? NULL : rf_policy_rule(p, out.decision.rule);
	*ret = out;
	return 0;
}

bool rf_policy_is_second(const char *access)
{
	return !strcmp(access, second_names[0]) || !strcmp(access, second_names[1]);
}

static const struct rf_rule *rule_of(const struct rf_policy *p, const struct rf_decision *decision)
{
	return decision->rule == RF_RULE_NONE ? NULL : rf_policy_rule(p, decision->rule);
}

static void denied_by(const struct rf_explanation *e, const struct rf_policy *p, unsigned int access,
		      struct rf_second_explanation *out)
{
	out->allow = false;
	out->access = access;
	out->rule = rule_of(p, &e->decision);
	out->reason = out->rule ? RF_REASON_RULE : RF_REASON_NO_RULE;
}

/* One gained access, or the create that is lost, and the rules that decide it at both places. */
static void denied_widening(const struct rf_policy *p, struct rf_second_explanation *out)
{
	const struct rf_second_name *name = &out->name;
	char path[sizeof(out->object) + sizeof(name->below)];
	struct rf_decision decision;

	out->allow = false;
	out->reason = name->answer == RF_INCLUSION_WIDENS ? RF_REASON_WIDENING : RF_REASON_TOO_COMPLEX;
	if (name->answer != RF_INCLUSION_WIDENS)
		return;
	out->access = (unsigned int)__builtin_ctzll(name->gained);
	for (int i = 0; i < 2; i++) {
		const char *base = i ? out->to : out->object;

		snprintf(path, sizeof(path), "%s%s", *name->below && !strcmp(base, "/") ? "" : base, name->below);
		decision = rf_image_path(p->cells, p->n_cells, out->access, path, strlen(path));
		*(decision.allow ? &out->allows : &out->rule) = rule_of(p, &decision);
		out->makes = i && !decision.allow;
	}
}

int rf_policy_explain_second(const struct rf_policy *p, const char *access, const char *old, const char *new,
			     struct rf_second_explanation *ret, struct rf_diag *diag)
{
	struct rf_explanation create = {}, delete = {};
	size_t len = strlen(old);
	struct rf_second_explanation out = {.allow = true, .directory = len && old[len - 1] == '/'};
	int err;

	if (!rf_policy_is_second(access))
		return rf_diag_at(diag, (struct rf_place){"access", 0, 0},
				  "\"%.60s\" takes one object: only file.rename and file.link take two", access);
	err = explain_path(p, RF_FILE_DELETE, old, &delete, diag);
	if (!err)
		err = explain_path(p, RF_FILE_CREATE, new, &create, diag);
	if (!err)
		err = rf_image_second_name(p->cells, p->n_cells, delete.object, strlen(delete.object), create.object,
					   strlen(create.object), out.directory, &out.name);
	if (err)
		return err;
	memcpy(out.object, delete.object, sizeof(out.object));
	memcpy(out.to, create.object, sizeof(out.to));
	out.rule = rule_of(p, &create.decision);
	if (!create.decision.allow)
		denied_by(&create, p, RF_FILE_CREATE, &out);
	else if (!strcmp(access, second_names[0]) && !delete.decision.allow)
		denied_by(&delete, p, RF_FILE_DELETE, &out);
	else if (out.name.answer != RF_INCLUSION_HOLDS)
		denied_widening(p, &out);
	*ret = out;
	return 0;
}
