/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary bytes as a line of the log: what becomes a message is UTF-8 of bounded length without a control character. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event/text.h"
#include "ship/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = malloc(size ? size : 1), *message = malloc(RF_SYSLOG_MAX);
	uint32_t point = 0;
	int n;

	if (!line || !message)
		abort();
	memcpy(line, data, size);
	n = rf_syslog_format(line, size, RF_SYSLOG_LOCAL0, message);
	if (n == 0 || n > RF_SYSLOG_MAX)
		abort();
	for (size_t i = 0, step; n > 0 && i < (size_t)n; i += step) {
		step = rf_utf8_decode(message + i, (size_t)n - i, &point);
		if (!step || rf_text_hidden(point))
			abort();
	}
	free(message);
	free(line);
	return 0;
}
