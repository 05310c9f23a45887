// SPDX-License-Identifier: MIT
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

int fail(char *text, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, FAILURE_TEXT, format, arguments);
	va_end(arguments);
	return error;
}
