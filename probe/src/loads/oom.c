// SPDX-License-Identifier: MIT
#include "oom.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void oom_score(const char *score)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, score, strlen(score)) < 0)
		(void)0; /* lowering it takes a right that not everybody has */
	close(fd);
}
