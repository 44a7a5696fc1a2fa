// SPDX-License-Identifier: Apache-2.0
/* csvcut N: prints field N of each line. */
#include "csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 256

int main(int argc, char **argv)
{
	long wanted = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	char line[4096], *fields[FIELDS_MAX];

	if (wanted < 1 || wanted > FIELDS_MAX) {
		fprintf(stderr, "usage: csvcut N, with N from 1 to %d\n", FIELDS_MAX);
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		puts(csv_split(line, fields, FIELDS_MAX) >= wanted ? fields[wanted - 1] : "");
	}
	return 0;
}
