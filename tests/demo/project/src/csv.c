// SPDX-License-Identifier: Apache-2.0
#include "csv.h"

#include <string.h>

int csv_split(char *line, char **fields, size_t max)
{
	int n = 0;

	for (;;) {
		char *end = strchr(line, ',');

		if ((size_t)n < max)
			fields[n] = line;
		n++;
		if (!end)
			return n;
		*end = '\0';
		line = end + 1;
	}
}
