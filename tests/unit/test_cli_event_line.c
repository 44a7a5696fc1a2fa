/* SPDX-License-Identifier: Apache-2.0 */
/* cli/event_line.c: what people see of an event, and that no name of an agent's choice reaches their terminal raw. */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/event_line.h"

/* Tests are linked with the libraries only, and the command line's own files belong to none of them. */
#include "cli/event_line.c"
#include "cli/out.c"

#define TIME "\"time\":\"2026-11-30T14:25:01.123456789Z\""
#define DENY                                                                                                  \
	"{\"v\":1,\"kind\":\"verdict\"," TIME ",\"run\":\"r-1\",\"rule\":\"standing-keys\",\"comm\":\"cat\"," \
	"\"access\":\"file.read\",\"object\":\"/root/.ssh/id\",\"verdict\":\"deny\",\"reason\":\"rule\"}\n"

static char *printed(const char *line, const char *run, bool json, bool colour, bool *ret_shown)
{
	static const struct cli_colours plain = {"", "", "", "", ""}, marked = {"<g>", "<b>", "<w>", "<f>", "</>"};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool shown = cli_print_event(out, line, run, json, colour ? &marked : &plain);

	fclose(out);
	if (ret_shown)
		*ret_shown = shown;
	return text;
}

static void prints(const char *line, const char *expected)
{
	char *text = printed(line, NULL, false, false, NULL);

	assert_string_equal(text, expected);
	free(text);
}

static void verdict(void **state)
{
	char *text;

	(void)state;
	prints(DENY, "2026-11-30 14:25:01.123 deny    file.read       /root/.ssh/id  (standing-keys)  cat\n");
	prints("{\"kind\":\"verdict\"," TIME
	       ",\"access\":\"net.connect\",\"object\":\"[::1]:80/tcp\",\"verdict\":\"observe\","
	       "\"reason\":\"no-rule\",\"comm\":\"curl\"}",
	       "2026-11-30 14:25:01.123 observe net.connect     [::1]:80/tcp  (no-rule)  curl\n");
	text = printed(DENY, NULL, false, true, NULL);
	assert_non_null(strstr(text, "<b>deny   </> "));
	free(text);
}

static void own(void **state)
{
	(void)state;
	prints("{\"v\":1,\"kind\":\"run.end\"," TIME ",\"host\":\"h\",\"boot\":\"b\",\"src\":\"daemon\",\"seq\":3,"
	       "\"run\":\"r-1\",\"person\":{\"name\":\"ada\",\"strength\":\"kernel\"},\"denied\":2}",
	       "2026-11-30 14:25:01.123 -       run.end         r-1 person=ada denied=2\n");
}

static void filter(void **state)
{
	bool shown;
	char *text = printed(DENY, "r-1", false, false, &shown);

	(void)state;
	assert_true(shown);
	assert_non_null(strstr(text, "deny"));
	free(text);
	text = printed(DENY, "r-12", false, false, &shown);
	assert_false(shown);
	assert_string_equal(text, "");
	free(text);
	text = printed("no json\n", "r-1", false, false, &shown);
	assert_false(shown);
	free(text);
}

static void json(void **state)
{
	char *text = printed(DENY, "r-1", true, false, NULL);

	(void)state;
	assert_string_equal(text, DENY);
	free(text);
}

static void hostile(void **state)
{
	(void)state;
	prints("{\"kind\":\"verdict\"," TIME ",\"access\":\"file.read\",\"object\":\"/a\\u001b[2J\\nb\\u009bm\","
	       "\"verdict\":\"deny\",\"rule\":\"r\\r\",\"comm\":\"\\u007f\"}",
	       "2026-11-30 14:25:01.123 deny    file.read       /a\\x1b[2J\\x0ab\\x9bm  (r\\x0d)  \\x7f\n");
	/* Must not vanish. */
	prints("torn {\x1b[1m\n", "not an event: torn {\\x1b[1m\\x0a\n");
	prints("{\"kind\":\"verdict\",\"verdict\":\"deny\"}", "  deny                    ?  ()  \n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdict), cmocka_unit_test(own),     cmocka_unit_test(filter),
		cmocka_unit_test(json),	   cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
