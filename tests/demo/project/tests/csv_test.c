// SPDX-License-Identifier: Apache-2.0
#include "csv.h"

#include <stdio.h>
#include <string.h>

static int failed;

static void expect(const char *text, int n, const char *last)
{
	char line[256], *fields[8];
	int got;

	snprintf(line, sizeof(line), "%s", text);
	got = csv_split(line, fields, 8);
	if (got == n && (n < 1 || !strcmp(fields[n - 1], last)))
		return;
	printf("FAILED: %s has %d fields, expected %d ending in %s\n", text, got, n, last);
	failed++;
}

int main(void)
{
	expect("", 1, "");
	expect("a", 1, "a");
	expect("a,b", 2, "b");
	expect("a,,c", 3, "c");
	expect("a,", 2, "");
	printf("csv_test: %s\n", failed ? "failed" : "ok");
	return failed != 0;
}
