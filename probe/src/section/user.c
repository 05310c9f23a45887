// SPDX-License-Identifier: MIT
#include "user.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/kprobe.h"
#include "section/elf.h"
#include "section/functions.h"
#include "section/usdt.h"
#include "failure.h"

/* linux/openat2.h has them since 5.6. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define IN_ROOT 0x10 /* RESOLVE_IN_ROOT */
struct open_as {
	uint64_t flags;
	uint64_t mode;
	uint64_t resolve;
};

#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define TRIPLET "aarch64-linux-gnu"
#elif defined(__riscv)
#define TRIPLET "riscv64-linux-gnu"
#else
#define TRIPLET "arm-linux-gnueabihf"
#endif

/* Where a name without a folder is looked for: libraries of this architecture first. */
static const char *const folders[] = {
    "/lib/" TRIPLET,  "/usr/lib/" TRIPLET, "/lib64",   "/usr/lib64", "/lib",	  "/usr/lib",
    "/usr/local/lib", "/usr/local/bin",	   "/usr/bin", "/bin",	     "/usr/sbin", "/sbin",
};

/* ---------------------------------------------------------------- the file */

/* open_below - open a path as those see it whose root directory that is; -1 with errno */
static int open_below(int root, const char *path)
{
	const struct open_as as = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = IN_ROOT};
	long fd = syscall(SYS_openat2, root, path, &as, sizeof(as));

	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return (int)fd;
	/* Here a symbolic link that is absolute leads out of it. */
	return openat(root, path + strspn(path, "/"), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* open_path - open a path; a relative one is the probe's in either case */
static int open_path(int root, const char *path)
{
	if (root >= 0 && path[0] == '/')
		return open_below(root, path);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* open_named - open a file by its path, or by its name in the folders; -1 with errno */
static int open_named(int root, const char *file)
{
	char path[PATH_MAX];
	int fd = -1;

	if (strchr(file, '/'))
		return open_path(root, file);
	errno = ENOENT;
	for (size_t i = 0; fd < 0 && i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], file);
		fd = open_path(root, path);
	}
	return fd;
}

int user_code_open_file(struct user_code *code, const char *file, uint32_t pid, char *text)
{
	char path[32];
	struct stat status;
	int root = -1;

	if (pid) {
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", pid);
		root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (root < 0)
			return fail(text, errno, "process %" PRIu32 " has no root directory: %s",
				    pid, strerror(errno));
	}
	code->fd = open_named(root, file);
	if (code->fd < 0) {
		int error = errno;

		if (root >= 0)
			close(root);
		if (error == ENOENT && !strchr(file, '/'))
			return fail(text, error,
				    "it is in none of the folders of libraries and programs: name "
				    "its path, or ./%.100s",
				    file);
		return fail(text, error, "it cannot be read: %s", strerror(error));
	}
	if (root >= 0)
		close(root);
	if (fstat(code->fd, &status))
		return fail(text, errno, "%s", strerror(errno));
	if (!S_ISREG(status.st_mode))
		return fail(text, EINVAL, "it is no file");
	snprintf(code->path, sizeof(code->path), "/proc/self/fd/%d", code->fd);
	return 0;
}

/* ---------------------------------------------------------------- places */

/* read_hex - read 0xDIGITS to the end; false: it is no such number */
static bool read_hex(const char *text, uint64_t *value)
{
	char *end;

	if (strncmp(text, "0x", 2) != 0 || strspn(text + 2, "0123456789abcdefABCDEF") < 1)
		return false;
	errno = 0;
	*value = strtoull(text + 2, &end, 16);
	return !*end && !errno;
}

/* check_mode - refuse code that the kernel cannot probe, and would damage; returns 0, or an errno
 * with the text */
static int check_mode(const struct elf *elf, uint64_t address, char *text)
{
	struct elf_function function;
	char name[ELF_NAME_MOST];

	if (elf->machine == EM_AARCH64 && address % 4)
		return fail(text, EINVAL, "no instruction begins there: it is no multiple of 4");
	if (elf->machine != EM_ARM)
		return 0;
	if (address % 4 || (elf_function_at(elf, address, &function, name) && function.is_thumb))
		return fail(text, EINVAL,
			    "it is Thumb code, which the kernel cannot probe: "
			    "compile it with -marm");
	return 0;
}

/* add_place - append the place of an address; returns 0, or an errno with the text */
static int add_place(const struct elf *elf, uint64_t address, uint64_t semaphore,
		     struct user_places *places, char *text)
{
	uint64_t offset, counter = 0;
	int error = check_mode(elf, address, text);

	if (error)
		return error;
	if (!elf_offset(elf, address, true, &offset))
		return fail(text, EINVAL, "no code of the file is at address 0x%" PRIx64, address);
	if (semaphore &&
	    (!elf_offset(elf, semaphore, false, &counter) || counter > UINT32_MAX || !counter))
		return fail(text, EINVAL, "the probe's semaphore is not in the file's data");
	if (semaphore && !bpf_uprobe_raises())
		return fail(text, EOPNOTSUPP, "the probe has a semaphore, which needs Linux 4.20");
	places->at[places->count++] = (struct user_place){offset, (uint32_t)counter};
	return 0;
}

static int find_usdt(const struct elf *elf, const char *name, struct user_places *places,
		     char *text)
{
	struct usdt_place at[USER_PLACES_MOST];
	size_t count;
	int error = usdt_find(elf, name, at, USER_PLACES_MOST, &count, text);

	for (size_t i = 0; !error && i < count; i++)
		error = add_place(elf, at[i].address, at[i].semaphore, places, text);
	return error;
}

/* find_function - find FUNCTION or FUNCTION+0xBYTES; returns 0, or an errno with the text */
static int find_function(const struct elf *elf, const char *place, struct user_places *places,
			 char *text)
{
	char name[ELF_NAME_MOST];
	const char *plus = strrchr(place, '+');
	struct elf_function function;
	uint64_t bytes = 0;
	int error;

	if (plus && !read_hex(plus + 1, &bytes))
		return fail(text, EINVAL, "%.200s: write FUNCTION+0xBYTES", place);
	snprintf(name, sizeof(name), "%.*s", (int)(plus ? plus - place : (long)strlen(place)),
		 place);
	error = elf_function_named(elf, name, &function, text);
	if (error)
		return error;
	if (plus && function.size && bytes >= function.size)
		return fail(text, EINVAL,
			    "%.200s has 0x%" PRIx64 " bytes: +0x%" PRIx64 " is not within it", name,
			    function.size, bytes);
	if (function.is_thumb)
		return fail(text, EINVAL,
			    "%.200s is Thumb code, which the kernel cannot probe: "
			    "compile it with -marm",
			    name);
	return add_place(elf, function.address + bytes, 0, places, text);
}

static int find_places(const struct elf *elf, const char *place, struct user_places *places,
		       char *text)
{
	uint64_t offset, address;

	if (strchr(place, ':'))
		return find_usdt(elf, place, places, text);
	if (!read_hex(place, &offset))
		return find_function(elf, place, places, text);
	if (!elf_address(elf, offset, &address))
		return fail(text, EINVAL, "no code is at offset 0x%" PRIx64, offset);
	return add_place(elf, address, 0, places, text);
}

/*
 * check_return - refuse what has no return that can be probed; returns 0, or an errno with the text
 *
 * The kernel replaces the return address, which it takes to be where it is at a function's first
 * instruction: elsewhere it would damage the stack.
 */
static int check_return(const struct elf *elf, const char *place, uint64_t offset, bool is_forced,
			char *text)
{
	struct elf_function function;
	char name[ELF_NAME_MOST];
	uint64_t address;

	if (elf_section(elf, ".gopclntab", SHT_PROGBITS))
		return fail(text, EINVAL,
			    "it is a Go program, whose stacks move, so that returns "
			    "cannot be probed: name two places, BEGIN..END");
	if (elf_address(elf, offset, &address) && elf_function_at(elf, address, &function, name) &&
	    function.address != address)
		return fail(text, EINVAL,
			    "%.100s is within %.100s, not where it begins: name where "
			    "the section ends as well",
			    place, name);
	/* The unwinder does not know the address that the kernel puts there. */
	if (!is_forced && elf_unwinds(elf))
		return fail(text, EPERM,
			    "it has exceptions, and one that leaves a function whose "
			    "return is probed ends the program: mark the section with "
			    "whylate_section.h, or name two places, or, if none "
			    "leaves it, use --hook uprobe");
	return 0;
}

static bool are_same(const struct user_places *a, const struct user_places *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->at[i].offset != b->at[i].offset)
			return false;
	return true;
}

/* find_bytes - find how much code lies between a section's beginning and its end */
static uint64_t find_bytes(const struct user_code *code, const struct elf *elf)
{
	const struct user_places *begin = &code->begin, *end = &code->end;
	struct elf_function function;
	char name[ELF_NAME_MOST];
	uint64_t address;

	if (begin->count != 1)
		return 0;
	if (code->is_function)
		return elf_address(elf, begin->at[0].offset, &address) &&
			       elf_function_at(elf, address, &function, name) &&
			       function.address == address
			   ? function.size
			   : 0;
	return end->count == 1 && end->at[0].offset > begin->at[0].offset
		   ? end->at[0].offset - begin->at[0].offset
		   : 0;
}

/* find_section - find where a section begins and ends; returns 0, or an errno with the text */
static int find_section(struct user_code *code, const struct elf *elf, const char *begin,
			const char *end, bool is_forced, char *text)
{
	int error = find_places(elf, begin, &code->begin, text);

	if (error)
		return error;
	/* The return address is gone after the return. */
	code->pops = elf->machine == EM_X86_64 ? 8 : elf->machine == EM_386 ? 4 : 0;
	if (*end)
		error = find_places(elf, end, &code->end, text);
	else
		code->is_function = !strchr(begin, ':');
	code->is_next = !code->is_function && (!*end || are_same(&code->begin, &code->end));
	if (!error && code->is_function)
		error = check_return(elf, begin, code->begin.at[0].offset, is_forced, text);
	if (!error)
		code->bytes = find_bytes(code, elf);
	return error;
}

int user_code_open(struct user_code *code, const char *file, const char *begin, const char *end,
		   uint32_t pid, bool is_forced, char *text)
{
	char reason[FAILURE_TEXT] = "";
	struct elf elf = {.fd = -1};
	int error;

	*code = (struct user_code){.fd = -1};
	error = user_code_open_file(code, file, pid, reason);
	if (!error)
		error = elf_open(&elf, code->fd, reason);
	if (!error)
		error = find_section(code, &elf, begin, end, is_forced, reason);
	elf_close(&elf);
	if (!error)
		return 0;
	user_code_close(code);
	return fail(text, error, "%.160s: %s", file, reason);
}

void user_code_close(struct user_code *code)
{
	if (code->fd >= 0)
		close(code->fd);
	code->fd = -1;
}
