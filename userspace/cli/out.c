// SPDX-License-Identifier: Apache-2.0
/* What the verbs print and how they parse: usage errors, colours, escaped names, replies. */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "control/packet.h"
#include "control/request.h"
#include "lib/cleanup.h"
#include "lib/msg.h"

#define REPLY_MS 30000

int cli_parse(const struct rf_command *command, int argc, char **argv, void *values, int min, int max, int *ret_n)
{
	char why[256];
	int err = rf_options_parse(command, argc, argv, values, ret_n, why, sizeof(why));

	if (err > 0) {
		rf_options_help(command, stdout);
		return CLI_OK;
	}
	if (err)
		return rf_err(CLI_USAGE, "%s", why);
	if (*ret_n < min || (max >= 0 && *ret_n > max))
		return rf_err(CLI_USAGE, "%s; usage: %s %s",
			      *ret_n < min ? "an argument is missing" : "too many arguments", command->name,
			      command->usage);
	return -1;
}

const struct cli_verb *cli_find(const struct cli_verb *verbs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

int cli_unknown(const char *program, const struct cli_verb *verbs, size_t n, const char *name)
{
	const char *names[16], *nearest;

	for (size_t i = 0; i < n && i < 16; i++)
		names[i] = verbs[i].name;
	nearest = rf_nearest(name, names, n < 16 ? n : 16);
	return rf_err(CLI_USAGE, "there is no verb \"%s\"%s%s%s; see `%s --help`", name,
		      nearest ? ": did you mean " : "", nearest ? nearest : "", nearest ? "?" : "", program);
}

struct cli_colours cli_colours(FILE *out)
{
	const char *none = getenv("NO_COLOR");

	if ((none && *none) || !isatty(fileno(out)))
		return (struct cli_colours){"", "", "", "", ""};
	return (struct cli_colours){"\033[32m", "\033[31m", "\033[33m", "\033[2m", "\033[0m"};
}

void cli_print(FILE *out, const char *text, int width)
{
	int columns = 0;

	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c < ' ' || *c == 0x7f)
			columns += fprintf(out, "\\x%02x", *c);
		else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* C1 controls: 8-bit escape sequences */
			columns += fprintf(out, "\\x%02x", *++c);
		else {
			putc(*c, out);
			columns += (*c & 0xc0) != 0x80;
		}
	}
	for (; columns < width; columns++)
		putc(' ', out);
}

void cli_print_json(struct json_object *object)
{
	json_object_object_del(object, "ok");
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}

static int no_enforcer(int err, const char *dir)
{
	if (err == -ENOENT || err == -ECONNREFUSED)
		return rf_err(CLI_FAILED,
			      "no enforcer listens in %s: start one with `systemctl start ringfenced`, or let "
			      "`ringfence run` bring its own",
			      dir);
	if (err == -EACCES)
		return rf_err(CLI_FAILED,
			      "%s/%s: permission denied; use sudo, or join group ringfence for status and ps", dir,
			      RF_SOCKET_NAME);
	return rf_err(CLI_FAILED, "%s/%s: %s", dir, RF_SOCKET_NAME, strerror(-err));
}

int cli_call(const char *runtime_dir, struct json_object *request, struct json_object **ret_reply)
{
	const char *dir = runtime_dir ? runtime_dir : RF_RUNTIME_DIR;
	__cleanup(closep) int fd = -1;
	char why[1024];
	int err = rf_client_connect(dir, &fd);

	if (err) {
		json_object_put(request);
		return no_enforcer(err, dir);
	}
	err = rf_client_call(fd, request, REPLY_MS, ret_reply, why, sizeof(why));
	json_object_put(request);
	return err ? rf_err(CLI_FAILED, "%s", why) : 0;
}
