// SPDX-License-Identifier: MIT
#include "app_samples.h"

#include "wire/leb128.h"

size_t app_sample_put(uint8_t *data, const struct recorder_stage *stage, uint64_t before_ns)
{
	size_t length = leb128_put(data, stage->pid);

	length += leb128_put(data + length, leb128_zigzag((int64_t)(stage->due_ns - before_ns)));
	return length + leb128_put(data + length, stage->origin);
}
