// SPDX-License-Identifier: MIT
/*
 * fuzz_tracefs DIRECTORY SECONDS SEED - damaged pages and damaged formats
 *
 * Takes what tests/probe/tracefs/record.sh recorded, changes it here and there and decodes it.
 * Built with sanitizers it finds every read outside a page, which lies in memory of its own size.
 * Prints how many pages there were, how many events came of them and how many were missed.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "event_lines.h"
#include "small_file.h"
#include "recorder/tracefs/gather.h"
#include "recorder/tracefs/rings.h"

#define CPUS	     2
#define MOST_PAGES   64
#define RING_BYTES   65536
#define EACH_FORMATS 200 /* pages between two changes of a format */

static struct gather gather;
static struct recorder recorder;
static uint8_t *corpus;
static size_t corpus_size;
static uint64_t random_state;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_tracefs: %s\n", what);
	abort();
}

/* draw - a random number below `below` (xorshift64*, Marsaglia 2003 and Vigna 2016) */
static uint32_t draw(uint32_t below)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32_t)((random_state * 0x2545F4914F6CDD1Du >> 33) % below);
}

static void read_corpus(const char *directory)
{
	char path[512];

	corpus = malloc(MOST_PAGES * gather.formats.page.page_size);
	for (int cpu = 0; cpu < 16 && corpus; cpu++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/cpu%d.raw", directory, cpu);
		file = fopen(path, "rb");
		if (!file)
			continue;
		corpus_size += fread(corpus + corpus_size, 1,
				     MOST_PAGES * gather.formats.page.page_size - corpus_size, file);
		fclose(file);
	}
	must(corpus_size >= gather.formats.page.page_size, "no pages");
}

/* damage - change a few bytes, oftener those that say how long things are */
static void damage(uint8_t *bytes, size_t size)
{
	static const uint32_t odd[] = {0,    1,	   2,	       4,	   29,	       30,
				       31,   0xFF, 0xFFFF,     0x7FFFFFFF, 0x80000000, 0xC0000010,
				       4080, 4084, 0xFFFFFFFF, 0xFFFFFFFC, 0xC0000FF0, 0xFFFF0008};

	for (uint32_t i = draw(8); i > 0 && size >= 8; i--) {
		uint32_t value = odd[draw(sizeof(odd) / sizeof(*odd))];
		size_t at = draw(4) ? draw((uint32_t)(size - 3)) : draw(20);

		at = draw(3) && at + 8 < size ? at & ~(size_t)3 : at;
		if (at + 4 > size)
			continue;
		if (draw(2))
			memcpy(bytes + at, &value, sizeof(value));
		else
			bytes[at] = (uint8_t)draw(256);
	}
}

/* forget_times - else one late time stamp would let nothing pass any more */
static void forget_times(void)
{
	for (uint16_t cpu = 0; cpu < CPUS; cpu++) {
		gather.last_ns[cpu] = 0;
		for (uint64_t i = 0; i < recorder.ring_size; i++)
			recorder.events[cpu][i].time_ns = 0;
	}
}

/* choose_threads - some that the pages have, so that there are stages */
static void choose_threads(struct recorder_thread *threads)
{
	size_t page_size = gather.formats.page.page_size;

	must(stages_open(&gather.stages, recorder.cpus, CPUS, NULL, 0) == 0, "no stages");
	for (size_t at = 0; at + page_size <= corpus_size; at += page_size) {
		gather.last_ns[0] = 0;
		gather_page(&gather, 0, corpus + at, page_size, UINT64_MAX);
	}
	for (uint16_t i = 0; i < CPUS; i++) {
		const struct recorder_event *event;

		do {
			event = &recorder.events[0][draw((uint32_t)recorder.cpus[0]->events) &
						    (recorder.ring_size - 1)];
		} while (event->kind != EVENT_SWITCH || event->d == 0);
		threads[i] = (struct recorder_thread){.pid = event->d, .cpu = i};
	}
	stages_close(&gather.stages);
	forget_times();
}

/* check - what holds of the rings whatever was decoded */
static void check(uint16_t cpu)
{
	const struct recorder_cpu *state = recorder.cpus[cpu];
	uint64_t first =
	    state->events > recorder.ring_size ? state->events - recorder.ring_size : 0;
	uint64_t before_ns = 0;

	for (uint64_t i = first; i < state->events; i++) {
		const struct recorder_event *event =
		    &recorder.events[cpu][i & (recorder.ring_size - 1)];

		must(event->seq == (uint32_t)(i + 1), "seq is not contiguous");
		must(event->time_ns >= before_ns, "time goes back");
		must(event->kind != EVENT_NONE && event->kind <= EVENT_CALL_EXIT, "no such kind");
		before_ns = event->time_ns;
	}
	must(state->stages <= gather.stages.cpus[cpu]->begun, "more stages than were begun");
}

static void one_page(uint64_t number)
{
	uint32_t page_size = gather.formats.page.page_size;
	size_t size = draw(10) ? page_size : 1 + draw(page_size);
	uint16_t cpu = (uint16_t)draw(CPUS);
	uint8_t *bytes = malloc(size);

	must(bytes != NULL, "no memory");
	memcpy(bytes, corpus + (size_t)draw((uint32_t)(corpus_size / page_size)) * page_size, size);
	if (draw(20))
		damage(bytes, size);
	/* Now and then a clock that has passed hardly anything, or all. */
	gather_page(&gather, cpu, bytes, size, draw(50) ? UINT64_MAX / 2 : draw(1000));
	free(bytes);
	if (number % 16 != 0)
		return;
	stages_publish(&gather.stages, UINT64_MAX);
	for (cpu = 0; cpu < CPUS; cpu++)
		check(cpu);
	forget_times();
}

/* change_format - read a source again from a text that is damaged; it may be refused */
static void change_format(int original, int scratch)
{
	static struct formats changed;
	const struct source *source = &sources[draw((uint32_t)source_count)];
	char path[128], text[16384];
	const char *event = strchr(source->name, ':');

	snprintf(path, sizeof(path), "events/%.*s/%s/format", (int)(event - source->name),
		 source->name, event + 1);
	if (small_file_read(original, path, text, sizeof(text)) != 0)
		return;
	for (uint32_t i = draw(6); i > 0; i--)
		text[draw((uint32_t)strlen(text))] =
		    (char)(draw(3) ? '0' + draw(10) : 1 + draw(126));
	/* The directories above it; "events/system/event/format". */
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdirat(scratch, path, 0700);
		*slash = '/';
	}
	close(openat(scratch, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
	small_file_write(scratch, path, text);
	changed = gather.formats;
	changed.layout_count = draw((uint32_t)changed.layout_count + 1);
	if (formats_add(&changed, scratch, source) == 0 && draw(2))
		gather.formats.layouts[changed.layout_count - 1] =
		    changed.layouts[changed.layout_count - 1];
}

static int open_directory(const char *path)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	must(directory >= 0, path);
	return directory;
}

int main(int argc, char **argv)
{
	struct recorder_thread threads[CPUS];
	bool present[CPUS] = {true, true};
	uint64_t last_ns[CPUS] = {0}, pages = 0;
	char name[] = "/tmp/fuzz_tracefs.XXXXXX";
	int original, scratch;
	time_t end;

	if (argc != 4)
		return 2;
	original = open_directory(argv[1]);
	must(mkdtemp(name) != NULL, "no scratch directory");
	scratch = open_directory(name);
	random_state = strtoull(argv[3], NULL, 10) * 2 + 1;
	must(formats_open(&gather.formats, original) == 0, "no formats");
	for (size_t i = 0; i < source_count; i++)
		formats_add(&gather.formats, original, &sources[i]);
	read_corpus(argv[1]);
	gather.recorder = &recorder;
	gather.last_ns = last_ns;
	must(rings_open(&recorder, present, CPUS, RING_BYTES) == 0, "no rings");
	choose_threads(threads);
	must(stages_open(&gather.stages, recorder.cpus, CPUS, threads, CPUS) == 0, "no stages");
	end = time(NULL) + strtol(argv[2], NULL, 10);
	do {
		one_page(pages++);
		if (pages % EACH_FORMATS == 0)
			change_format(original, scratch);
	} while (pages < 1000 || time(NULL) < end);
	must(recorder.cpus[0]->stages > 0, "no stage was ever filled");
	printf("%" PRIu64 " pages %" PRIu64 " events %" PRIu64 " missed\n", pages,
	       (uint64_t)(recorder.cpus[0]->events + recorder.cpus[1]->events),
	       (uint64_t)(recorder.cpus[0]->missed + recorder.cpus[1]->missed));
	return 0;
}
