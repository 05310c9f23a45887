// SPDX-License-Identifier: MIT
/* Written by tools/wiregen.py from schema/wire.toml. Do not edit. */
#include "messages.h"

void wire_pack_hello(struct wire_writer *writer, const struct wire_hello *message)
{
	wire_write_bytes(writer, message->version);
}

bool wire_unpack_hello(const uint8_t *payload, size_t length, struct wire_hello *message)
{
	struct wire_reader reader = {payload, length, false};

	message->version = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_read(struct wire_writer *writer, const struct wire_read *message)
{
	wire_write_u8(writer, message->how);
	wire_write_u32(writer, message->limit);
	wire_write_u64(writer, message->offset);
	wire_write_bytes(writer, message->pattern);
}

bool wire_unpack_read(const uint8_t *payload, size_t length, struct wire_read *message)
{
	struct wire_reader reader = {payload, length, false};

	message->how = wire_read_u8(&reader);
	message->limit = wire_read_u32(&reader);
	message->offset = wire_read_u64(&reader);
	message->pattern = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_load_start(struct wire_writer *writer, const struct wire_load_start *message)
{
	wire_write_u16(writer, message->load);
	wire_write_u16(writer, message->count);
	wire_write_bytes(writer, message->kind);
	wire_write_list_str(writer, message->argv);
}

bool wire_unpack_load_start(const uint8_t *payload, size_t length, struct wire_load_start *message)
{
	struct wire_reader reader = {payload, length, false};

	message->load = wire_read_u16(&reader);
	message->count = wire_read_u16(&reader);
	message->kind = wire_read_bytes(&reader);
	message->argv = wire_read_list_str(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_setting(struct wire_writer *writer, const struct wire_setting *message)
{
	wire_write_bytes(writer, message->path);
	wire_write_bytes(writer, message->value);
}

bool wire_unpack_setting(const uint8_t *payload, size_t length, struct wire_setting *message)
{
	struct wire_reader reader = {payload, length, false};

	message->path = wire_read_bytes(&reader);
	message->value = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_wakeup(struct wire_writer *writer, const struct wire_wakeup *message)
{
	wire_write_u64(writer, message->interval_ns);
	wire_write_u64(writer, message->duration_ns);
	wire_write_u8(writer, message->priority);
	wire_write_u8(writer, message->hold_idle);
	wire_write_u8(writer, message->spool);
	wire_write_list_u16(writer, message->cpus);
}

bool wire_unpack_wakeup(const uint8_t *payload, size_t length, struct wire_wakeup *message)
{
	struct wire_reader reader = {payload, length, false};

	message->interval_ns = wire_read_u64(&reader);
	message->duration_ns = wire_read_u64(&reader);
	message->priority = wire_read_u8(&reader);
	message->hold_idle = wire_read_u8(&reader);
	message->spool = wire_read_u8(&reader);
	message->cpus = wire_read_list_u16(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_stop(struct wire_writer *writer, const struct wire_stop *message)
{
	(void)writer;
	(void)message;
}

bool wire_unpack_stop(const uint8_t *payload, size_t length, struct wire_stop *message)
{
	struct wire_reader reader = {payload, length, false};

	message->nothing = 0;
	return wire_reader_done(&reader);
}

void wire_pack_frequency(struct wire_writer *writer, const struct wire_frequency *message)
{
	wire_write_list_u16(writer, message->cpus);
}

bool wire_unpack_frequency(const uint8_t *payload, size_t length, struct wire_frequency *message)
{
	struct wire_reader reader = {payload, length, false};

	message->cpus = wire_read_list_u16(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_finish(struct wire_writer *writer, const struct wire_finish *message)
{
	(void)writer;
	(void)message;
}

bool wire_unpack_finish(const uint8_t *payload, size_t length, struct wire_finish *message)
{
	struct wire_reader reader = {payload, length, false};

	message->nothing = 0;
	return wire_reader_done(&reader);
}

void wire_pack_keepalive(struct wire_writer *writer, const struct wire_keepalive *message)
{
	wire_write_u32(writer, message->timeout_ms);
}

bool wire_unpack_keepalive(const uint8_t *payload, size_t length, struct wire_keepalive *message)
{
	struct wire_reader reader = {payload, length, false};

	message->timeout_ms = wire_read_u32(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_pause(struct wire_writer *writer, const struct wire_pause *message)
{
	wire_write_u32(writer, message->duration_ms);
}

bool wire_unpack_pause(const uint8_t *payload, size_t length, struct wire_pause *message)
{
	struct wire_reader reader = {payload, length, false};

	message->duration_ms = wire_read_u32(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_phase(struct wire_writer *writer, const struct wire_phase *message)
{
	wire_write_u64(writer, message->phase_ns);
}

bool wire_unpack_phase(const uint8_t *payload, size_t length, struct wire_phase *message)
{
	struct wire_reader reader = {payload, length, false};

	message->phase_ns = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_recorder(struct wire_writer *writer, const struct wire_recorder *message)
{
	wire_write_u8(writer, message->engine);
	wire_write_u64(writer, message->threshold_ns);
	wire_write_u32(writer, message->tail_ppm);
	wire_write_u32(writer, message->body_every);
	wire_write_u64(writer, message->ring_bytes);
	wire_write_u64(writer, message->stop_above_ns);
}

bool wire_unpack_recorder(const uint8_t *payload, size_t length, struct wire_recorder *message)
{
	struct wire_reader reader = {payload, length, false};

	message->engine = wire_read_u8(&reader);
	message->threshold_ns = wire_read_u64(&reader);
	message->tail_ppm = wire_read_u32(&reader);
	message->body_every = wire_read_u32(&reader);
	message->ring_bytes = wire_read_u64(&reader);
	message->stop_above_ns = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_app(struct wire_writer *writer, const struct wire_app *message)
{
	wire_write_u64(writer, message->duration_ns);
	wire_write_u8(writer, message->spool);
	wire_write_u32(writer, message->pid);
	wire_write_bytes(writer, message->comm);
	wire_write_list_str(writer, message->argv);
}

bool wire_unpack_app(const uint8_t *payload, size_t length, struct wire_app *message)
{
	struct wire_reader reader = {payload, length, false};

	message->duration_ns = wire_read_u64(&reader);
	message->spool = wire_read_u8(&reader);
	message->pid = wire_read_u32(&reader);
	message->comm = wire_read_bytes(&reader);
	message->argv = wire_read_list_str(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_counters(struct wire_writer *writer, const struct wire_counters *message)
{
	wire_write_list_u64(writer, message->types);
	wire_write_list_u64(writer, message->configs);
	wire_write_list_u16(writer, message->modes);
}

bool wire_unpack_counters(const uint8_t *payload, size_t length, struct wire_counters *message)
{
	struct wire_reader reader = {payload, length, false};

	message->types = wire_read_list_u64(&reader);
	message->configs = wire_read_list_u64(&reader);
	message->modes = wire_read_list_u16(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_switch_trial(struct wire_writer *writer, const struct wire_switch_trial *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_u16(writer, message->tasks);
	wire_write_u8(writer, message->over);
	wire_write_u8(writer, message->threads);
	wire_write_u64(writer, message->set_bytes);
	wire_write_u64(writer, message->block_ns);
	wire_write_u16(writer, message->repetitions);
	wire_write_u8(writer, message->priority);
	wire_write_list_u16(writer, message->cpus);
}

bool wire_unpack_switch_trial(const uint8_t *payload, size_t length,
			      struct wire_switch_trial *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->tasks = wire_read_u16(&reader);
	message->over = wire_read_u8(&reader);
	message->threads = wire_read_u8(&reader);
	message->set_bytes = wire_read_u64(&reader);
	message->block_ns = wire_read_u64(&reader);
	message->repetitions = wire_read_u16(&reader);
	message->priority = wire_read_u8(&reader);
	message->cpus = wire_read_list_u16(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_memory_trial(struct wire_writer *writer, const struct wire_memory_trial *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_u8(writer, message->what);
	wire_write_u8(writer, message->source);
	wire_write_u8(writer, message->pages);
	wire_write_u8(writer, message->routine);
	wire_write_u64(writer, message->size);
	wire_write_u64(writer, message->block_ns);
	wire_write_u16(writer, message->repetitions);
	wire_write_u16(writer, message->cpu);
}

bool wire_unpack_memory_trial(const uint8_t *payload, size_t length,
			      struct wire_memory_trial *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->what = wire_read_u8(&reader);
	message->source = wire_read_u8(&reader);
	message->pages = wire_read_u8(&reader);
	message->routine = wire_read_u8(&reader);
	message->size = wire_read_u64(&reader);
	message->block_ns = wire_read_u64(&reader);
	message->repetitions = wire_read_u16(&reader);
	message->cpu = wire_read_u16(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_clock_trial(struct wire_writer *writer, const struct wire_clock_trial *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_i32(writer, message->clock);
	wire_write_u8(writer, message->how);
	wire_write_u16(writer, message->threads);
	wire_write_u64(writer, message->service_ns);
	wire_write_u64(writer, message->think_ns);
	wire_write_u64(writer, message->block_ns);
	wire_write_u16(writer, message->repetitions);
	wire_write_list_u16(writer, message->cpus);
}

bool wire_unpack_clock_trial(const uint8_t *payload, size_t length,
			     struct wire_clock_trial *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->clock = wire_read_i32(&reader);
	message->how = wire_read_u8(&reader);
	message->threads = wire_read_u16(&reader);
	message->service_ns = wire_read_u64(&reader);
	message->think_ns = wire_read_u64(&reader);
	message->block_ns = wire_read_u64(&reader);
	message->repetitions = wire_read_u16(&reader);
	message->cpus = wire_read_list_u16(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_command_trial(struct wire_writer *writer, const struct wire_command_trial *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_list_str(writer, message->argv);
}

bool wire_unpack_command_trial(const uint8_t *payload, size_t length,
			       struct wire_command_trial *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->argv = wire_read_list_str(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_account(struct wire_writer *writer, const struct wire_account *message)
{
	(void)writer;
	(void)message;
}

bool wire_unpack_account(const uint8_t *payload, size_t length, struct wire_account *message)
{
	struct wire_reader reader = {payload, length, false};

	message->nothing = 0;
	return wire_reader_done(&reader);
}

void wire_pack_welcome(struct wire_writer *writer, const struct wire_welcome *message)
{
	wire_write_bytes(writer, message->version);
	wire_write_bytes(writer, message->arch);
	wire_write_bytes(writer, message->sysname);
	wire_write_bytes(writer, message->nodename);
	wire_write_bytes(writer, message->release);
	wire_write_bytes(writer, message->kernel_version);
	wire_write_bytes(writer, message->machine);
	wire_write_u32(writer, message->uid);
	wire_write_u64(writer, message->capabilities);
	wire_write_u64(writer, message->rtprio_limit);
	wire_write_u64(writer, message->memlock_limit);
	wire_write_u64(writer, message->clock_resolution_ns);
	wire_write_u64(writer, message->clock_read_ns);
	wire_write_list_u16(writer, message->cpus);
}

bool wire_unpack_welcome(const uint8_t *payload, size_t length, struct wire_welcome *message)
{
	struct wire_reader reader = {payload, length, false};

	message->version = wire_read_bytes(&reader);
	message->arch = wire_read_bytes(&reader);
	message->sysname = wire_read_bytes(&reader);
	message->nodename = wire_read_bytes(&reader);
	message->release = wire_read_bytes(&reader);
	message->kernel_version = wire_read_bytes(&reader);
	message->machine = wire_read_bytes(&reader);
	message->uid = wire_read_u32(&reader);
	message->capabilities = wire_read_u64(&reader);
	message->rtprio_limit = wire_read_u64(&reader);
	message->memlock_limit = wire_read_u64(&reader);
	message->clock_resolution_ns = wire_read_u64(&reader);
	message->clock_read_ns = wire_read_u64(&reader);
	message->cpus = wire_read_list_u16(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_done(struct wire_writer *writer, const struct wire_done *message)
{
	wire_write_u32(writer, message->command);
}

bool wire_unpack_done(const uint8_t *payload, size_t length, struct wire_done *message)
{
	struct wire_reader reader = {payload, length, false};

	message->command = wire_read_u32(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_failed(struct wire_writer *writer, const struct wire_failed *message)
{
	wire_write_u32(writer, message->command);
	wire_write_i32(writer, message->error);
	wire_write_bytes(writer, message->text);
}

bool wire_unpack_failed(const uint8_t *payload, size_t length, struct wire_failed *message)
{
	struct wire_reader reader = {payload, length, false};

	message->command = wire_read_u32(&reader);
	message->error = wire_read_i32(&reader);
	message->text = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_file(struct wire_writer *writer, const struct wire_file *message)
{
	wire_write_u32(writer, message->command);
	wire_write_i32(writer, message->error);
	wire_write_u8(writer, message->truncated);
	wire_write_u8(writer, message->more);
	wire_write_bytes(writer, message->path);
	wire_write_bytes(writer, message->data);
}

bool wire_unpack_file(const uint8_t *payload, size_t length, struct wire_file *message)
{
	struct wire_reader reader = {payload, length, false};

	message->command = wire_read_u32(&reader);
	message->error = wire_read_i32(&reader);
	message->truncated = wire_read_u8(&reader);
	message->more = wire_read_u8(&reader);
	message->path = wire_read_bytes(&reader);
	message->data = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_cpu_started(struct wire_writer *writer, const struct wire_cpu_started *message)
{
	wire_write_u16(writer, message->cpu);
	wire_write_u8(writer, message->policy);
	wire_write_u8(writer, message->priority);
	wire_write_u8(writer, message->locked);
	wire_write_u64(writer, message->start_ns);
	wire_write_u64(writer, message->end_ns);
	wire_write_u64(writer, message->interval_ns);
}

bool wire_unpack_cpu_started(const uint8_t *payload, size_t length,
			     struct wire_cpu_started *message)
{
	struct wire_reader reader = {payload, length, false};

	message->cpu = wire_read_u16(&reader);
	message->policy = wire_read_u8(&reader);
	message->priority = wire_read_u8(&reader);
	message->locked = wire_read_u8(&reader);
	message->start_ns = wire_read_u64(&reader);
	message->end_ns = wire_read_u64(&reader);
	message->interval_ns = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_samples(struct wire_writer *writer, const struct wire_samples *message)
{
	wire_write_u16(writer, message->cpu);
	wire_write_u16(writer, message->count);
	wire_write_u64(writer, message->first);
	wire_write_bytes(writer, message->data);
}

bool wire_unpack_samples(const uint8_t *payload, size_t length, struct wire_samples *message)
{
	struct wire_reader reader = {payload, length, false};

	message->cpu = wire_read_u16(&reader);
	message->count = wire_read_u16(&reader);
	message->first = wire_read_u64(&reader);
	message->data = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_progress(struct wire_writer *writer, const struct wire_progress *message)
{
	wire_write_u64(writer, message->now_ns);
	wire_write_list_u64(writer, message->next);
}

bool wire_unpack_progress(const uint8_t *payload, size_t length, struct wire_progress *message)
{
	struct wire_reader reader = {payload, length, false};

	message->now_ns = wire_read_u64(&reader);
	message->next = wire_read_list_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_load_work(struct wire_writer *writer, const struct wire_load_work *message)
{
	wire_write_u16(writer, message->load);
	wire_write_u8(writer, message->state);
	wire_write_u64(writer, message->now_ns);
	wire_write_u64(writer, message->work);
	wire_write_bytes(writer, message->message);
}

bool wire_unpack_load_work(const uint8_t *payload, size_t length, struct wire_load_work *message)
{
	struct wire_reader reader = {payload, length, false};

	message->load = wire_read_u16(&reader);
	message->state = wire_read_u8(&reader);
	message->now_ns = wire_read_u64(&reader);
	message->work = wire_read_u64(&reader);
	message->message = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_cpu_result(struct wire_writer *writer, const struct wire_cpu_result *message)
{
	wire_write_u16(writer, message->cpu);
	wire_write_u8(writer, message->policy);
	wire_write_u8(writer, message->priority);
	wire_write_u8(writer, message->locked);
	wire_write_u64(writer, message->start_ns);
	wire_write_u64(writer, message->end_ns);
	wire_write_u64(writer, message->seen);
	wire_write_u64(writer, message->overrun);
	wire_write_u64(writer, message->dropped);
}

bool wire_unpack_cpu_result(const uint8_t *payload, size_t length, struct wire_cpu_result *message)
{
	struct wire_reader reader = {payload, length, false};

	message->cpu = wire_read_u16(&reader);
	message->policy = wire_read_u8(&reader);
	message->priority = wire_read_u8(&reader);
	message->locked = wire_read_u8(&reader);
	message->start_ns = wire_read_u64(&reader);
	message->end_ns = wire_read_u64(&reader);
	message->seen = wire_read_u64(&reader);
	message->overrun = wire_read_u64(&reader);
	message->dropped = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_result(struct wire_writer *writer, const struct wire_result *message)
{
	wire_write_u64(writer, message->cpu_time_ns);
	wire_write_u64(writer, message->peak_memory);
}

bool wire_unpack_result(const uint8_t *payload, size_t length, struct wire_result *message)
{
	struct wire_reader reader = {payload, length, false};

	message->cpu_time_ns = wire_read_u64(&reader);
	message->peak_memory = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_cpu_frequency(struct wire_writer *writer, const struct wire_cpu_frequency *message)
{
	wire_write_u16(writer, message->cpu);
	wire_write_u64(writer, message->hz);
}

bool wire_unpack_cpu_frequency(const uint8_t *payload, size_t length,
			       struct wire_cpu_frequency *message)
{
	struct wire_reader reader = {payload, length, false};

	message->cpu = wire_read_u16(&reader);
	message->hz = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_note(struct wire_writer *writer, const struct wire_note *message)
{
	wire_write_bytes(writer, message->code);
	wire_write_bytes(writer, message->text);
}

bool wire_unpack_note(const uint8_t *payload, size_t length, struct wire_note *message)
{
	struct wire_reader reader = {payload, length, false};

	message->code = wire_read_bytes(&reader);
	message->text = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_load_started(struct wire_writer *writer, const struct wire_load_started *message)
{
	wire_write_u16(writer, message->load);
	wire_write_u16(writer, message->count);
	wire_write_bytes(writer, message->unit);
}

bool wire_unpack_load_started(const uint8_t *payload, size_t length,
			      struct wire_load_started *message)
{
	struct wire_reader reader = {payload, length, false};

	message->load = wire_read_u16(&reader);
	message->count = wire_read_u16(&reader);
	message->unit = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_cpu_counts(struct wire_writer *writer, const struct wire_cpu_counts *message)
{
	wire_write_u16(writer, message->cpu);
	wire_write_u32(writer, message->chain);
	wire_write_i32(writer, message->cycles_error);
	wire_write_u64(writer, message->cycles);
	wire_write_i32(writer, message->instructions_error);
	wire_write_u64(writer, message->instructions);
}

bool wire_unpack_cpu_counts(const uint8_t *payload, size_t length, struct wire_cpu_counts *message)
{
	struct wire_reader reader = {payload, length, false};

	message->cpu = wire_read_u16(&reader);
	message->chain = wire_read_u32(&reader);
	message->cycles_error = wire_read_i32(&reader);
	message->cycles = wire_read_u64(&reader);
	message->instructions_error = wire_read_i32(&reader);
	message->instructions = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_recorder_started(struct wire_writer *writer,
				const struct wire_recorder_started *message)
{
	wire_write_bytes(writer, message->engine);
	wire_write_u64(writer, message->ring_events);
}

bool wire_unpack_recorder_started(const uint8_t *payload, size_t length,
				  struct wire_recorder_started *message)
{
	struct wire_reader reader = {payload, length, false};

	message->engine = wire_read_bytes(&reader);
	message->ring_events = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_recorder_source(struct wire_writer *writer,
			       const struct wire_recorder_source *message)
{
	wire_write_bytes(writer, message->name);
	wire_write_i32(writer, message->error);
}

bool wire_unpack_recorder_source(const uint8_t *payload, size_t length,
				 struct wire_recorder_source *message)
{
	struct wire_reader reader = {payload, length, false};

	message->name = wire_read_bytes(&reader);
	message->error = wire_read_i32(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_sample_stages(struct wire_writer *writer, const struct wire_sample_stages *message)
{
	wire_write_u16(writer, message->cpu);
	wire_write_u16(writer, message->count);
	wire_write_u64(writer, message->first);
	wire_write_bytes(writer, message->data);
}

bool wire_unpack_sample_stages(const uint8_t *payload, size_t length,
			       struct wire_sample_stages *message)
{
	struct wire_reader reader = {payload, length, false};

	message->cpu = wire_read_u16(&reader);
	message->count = wire_read_u16(&reader);
	message->first = wire_read_u64(&reader);
	message->data = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_window(struct wire_writer *writer, const struct wire_window *message)
{
	wire_write_u16(writer, message->cpu);
	wire_write_u32(writer, message->tid);
	wire_write_u8(writer, message->prio);
	wire_write_u8(writer, message->why);
	wire_write_u64(writer, message->activation);
	wire_write_u64(writer, message->due_ns);
	wire_write_u64(writer, message->run_ns);
	wire_write_u64(writer, message->timer_ns);
	wire_write_u64(writer, message->waking_ns);
	wire_write_u64(writer, message->switched_ns);
	wire_write_u16(writer, message->waking_cpu);
	wire_write_u64(writer, message->observed_ns);
	wire_write_u32(writer, message->events);
	wire_write_list_u64(writer, message->sums);
}

bool wire_unpack_window(const uint8_t *payload, size_t length, struct wire_window *message)
{
	struct wire_reader reader = {payload, length, false};

	message->cpu = wire_read_u16(&reader);
	message->tid = wire_read_u32(&reader);
	message->prio = wire_read_u8(&reader);
	message->why = wire_read_u8(&reader);
	message->activation = wire_read_u64(&reader);
	message->due_ns = wire_read_u64(&reader);
	message->run_ns = wire_read_u64(&reader);
	message->timer_ns = wire_read_u64(&reader);
	message->waking_ns = wire_read_u64(&reader);
	message->switched_ns = wire_read_u64(&reader);
	message->waking_cpu = wire_read_u16(&reader);
	message->observed_ns = wire_read_u64(&reader);
	message->events = wire_read_u32(&reader);
	message->sums = wire_read_list_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_events(struct wire_writer *writer, const struct wire_events *message)
{
	wire_write_u16(writer, message->cpu);
	wire_write_u16(writer, message->count);
	wire_write_bytes(writer, message->data);
}

bool wire_unpack_events(const uint8_t *payload, size_t length, struct wire_events *message)
{
	struct wire_reader reader = {payload, length, false};

	message->cpu = wire_read_u16(&reader);
	message->count = wire_read_u16(&reader);
	message->data = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_name(struct wire_writer *writer, const struct wire_name *message)
{
	wire_write_u8(writer, message->table);
	wire_write_u64(writer, message->id);
	wire_write_bytes(writer, message->text);
}

bool wire_unpack_name(const uint8_t *payload, size_t length, struct wire_name *message)
{
	struct wire_reader reader = {payload, length, false};

	message->table = wire_read_u8(&reader);
	message->id = wire_read_u64(&reader);
	message->text = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_sample_threads(struct wire_writer *writer, const struct wire_sample_threads *message)
{
	wire_write_u16(writer, message->cpu);
	wire_write_u16(writer, message->count);
	wire_write_u64(writer, message->first);
	wire_write_bytes(writer, message->data);
}

bool wire_unpack_sample_threads(const uint8_t *payload, size_t length,
				struct wire_sample_threads *message)
{
	struct wire_reader reader = {payload, length, false};

	message->cpu = wire_read_u16(&reader);
	message->count = wire_read_u16(&reader);
	message->first = wire_read_u64(&reader);
	message->data = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_app_ended(struct wire_writer *writer, const struct wire_app_ended *message)
{
	wire_write_u8(writer, message->status);
	wire_write_u8(writer, message->signal);
}

bool wire_unpack_app_ended(const uint8_t *payload, size_t length, struct wire_app_ended *message)
{
	struct wire_reader reader = {payload, length, false};

	message->status = wire_read_u8(&reader);
	message->signal = wire_read_u8(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_recorder_result(struct wire_writer *writer,
			       const struct wire_recorder_result *message)
{
	wire_write_u64(writer, message->windows);
	wire_write_u64(writer, message->passed_over);
	wire_write_u64(writer, message->events);
	wire_write_u64(writer, message->missed);
	wire_write_u64(writer, message->runs);
	wire_write_u64(writer, message->run_ns);
}

bool wire_unpack_recorder_result(const uint8_t *payload, size_t length,
				 struct wire_recorder_result *message)
{
	struct wire_reader reader = {payload, length, false};

	message->windows = wire_read_u64(&reader);
	message->passed_over = wire_read_u64(&reader);
	message->events = wire_read_u64(&reader);
	message->missed = wire_read_u64(&reader);
	message->runs = wire_read_u64(&reader);
	message->run_ns = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_symbols(struct wire_writer *writer, const struct wire_symbols *message)
{
	wire_write_u8(writer, message->shown);
	wire_write_i32(writer, message->kptr_restrict);
	wire_write_u8(writer, message->lowered);
	wire_write_u32(writer, message->addresses);
	wire_write_u32(writer, message->named);
}

bool wire_unpack_symbols(const uint8_t *payload, size_t length, struct wire_symbols *message)
{
	struct wire_reader reader = {payload, length, false};

	message->shown = wire_read_u8(&reader);
	message->kptr_restrict = wire_read_i32(&reader);
	message->lowered = wire_read_u8(&reader);
	message->addresses = wire_read_u32(&reader);
	message->named = wire_read_u32(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_build_id(struct wire_writer *writer, const struct wire_build_id *message)
{
	wire_write_bytes(writer, message->module);
	wire_write_bytes(writer, message->id);
}

bool wire_unpack_build_id(const uint8_t *payload, size_t length, struct wire_build_id *message)
{
	struct wire_reader reader = {payload, length, false};

	message->module = wire_read_bytes(&reader);
	message->id = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_recorder_cost(struct wire_writer *writer, const struct wire_recorder_cost *message)
{
	wire_write_u64(writer, message->sampled_runs);
	wire_write_u64(writer, message->sampled_ns);
	wire_write_u64(writer, message->gather_ns);
}

bool wire_unpack_recorder_cost(const uint8_t *payload, size_t length,
			       struct wire_recorder_cost *message)
{
	struct wire_reader reader = {payload, length, false};

	message->sampled_runs = wire_read_u64(&reader);
	message->sampled_ns = wire_read_u64(&reader);
	message->gather_ns = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_ack(struct wire_writer *writer, const struct wire_ack *message)
{
	wire_write_u32(writer, message->next);
}

bool wire_unpack_ack(const uint8_t *payload, size_t length, struct wire_ack *message)
{
	struct wire_reader reader = {payload, length, false};

	message->next = wire_read_u32(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_resend(struct wire_writer *writer, const struct wire_resend *message)
{
	wire_write_u32(writer, message->first);
	wire_write_u16(writer, message->count);
	wire_write_bytes(writer, message->have);
}

bool wire_unpack_resend(const uint8_t *payload, size_t length, struct wire_resend *message)
{
	struct wire_reader reader = {payload, length, false};

	message->first = wire_read_u32(&reader);
	message->count = wire_read_u16(&reader);
	message->have = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_fragment(struct wire_writer *writer, const struct wire_fragment *message)
{
	wire_write_u32(writer, message->number);
	wire_write_u8(writer, message->kind);
	wire_write_u16(writer, message->index);
	wire_write_u16(writer, message->total);
	wire_write_bytes(writer, message->data);
}

bool wire_unpack_fragment(const uint8_t *payload, size_t length, struct wire_fragment *message)
{
	struct wire_reader reader = {payload, length, false};

	message->number = wire_read_u32(&reader);
	message->kind = wire_read_u8(&reader);
	message->index = wire_read_u16(&reader);
	message->total = wire_read_u16(&reader);
	message->data = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_tail(struct wire_writer *writer, const struct wire_tail *message)
{
	wire_write_u32(writer, message->last);
}

bool wire_unpack_tail(const uint8_t *payload, size_t length, struct wire_tail *message)
{
	struct wire_reader reader = {payload, length, false};

	message->last = wire_read_u32(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_mark(struct wire_writer *writer, const struct wire_mark *message)
{
	wire_write_u32(writer, message->token);
}

bool wire_unpack_mark(const uint8_t *payload, size_t length, struct wire_mark *message)
{
	struct wire_reader reader = {payload, length, false};

	message->token = wire_read_u32(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_marked(struct wire_writer *writer, const struct wire_marked *message)
{
	wire_write_u32(writer, message->token);
}

bool wire_unpack_marked(const uint8_t *payload, size_t length, struct wire_marked *message)
{
	struct wire_reader reader = {payload, length, false};

	message->token = wire_read_u32(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_switch_row(struct wire_writer *writer, const struct wire_switch_row *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_u16(writer, message->repetition);
	wire_write_u64(writer, message->ring_ns);
	wire_write_u64(writer, message->own_ns);
	wire_write_u64(writer, message->hops);
	wire_write_u64(writer, message->switches);
}

bool wire_unpack_switch_row(const uint8_t *payload, size_t length, struct wire_switch_row *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->repetition = wire_read_u16(&reader);
	message->ring_ns = wire_read_u64(&reader);
	message->own_ns = wire_read_u64(&reader);
	message->hops = wire_read_u64(&reader);
	message->switches = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_switch_flushes(struct wire_writer *writer, const struct wire_switch_flushes *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_u64(writer, message->hops);
	wire_write_u64(writer, message->switches);
	wire_write_u64(writer, message->flushes);
	wire_write_i32(writer, message->error);
}

bool wire_unpack_switch_flushes(const uint8_t *payload, size_t length,
				struct wire_switch_flushes *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->hops = wire_read_u64(&reader);
	message->switches = wire_read_u64(&reader);
	message->flushes = wire_read_u64(&reader);
	message->error = wire_read_i32(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_memory_row(struct wire_writer *writer, const struct wire_memory_row *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_u16(writer, message->repetition);
	wire_write_u64(writer, message->ns);
	wire_write_u64(writer, message->passes);
}

bool wire_unpack_memory_row(const uint8_t *payload, size_t length, struct wire_memory_row *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->repetition = wire_read_u16(&reader);
	message->ns = wire_read_u64(&reader);
	message->passes = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_memory_backing(struct wire_writer *writer, const struct wire_memory_backing *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_u8(writer, message->after);
	wire_write_u8(writer, message->target);
	wire_write_u64(writer, message->pages);
	wire_write_u64(writer, message->present);
	wire_write_u64(writer, message->frames);
	wire_write_u64(writer, message->huge_bytes);
	wire_write_u64(writer, message->hugetlb_bytes);
	wire_write_i32(writer, message->error);
}

bool wire_unpack_memory_backing(const uint8_t *payload, size_t length,
				struct wire_memory_backing *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->after = wire_read_u8(&reader);
	message->target = wire_read_u8(&reader);
	message->pages = wire_read_u64(&reader);
	message->present = wire_read_u64(&reader);
	message->frames = wire_read_u64(&reader);
	message->huge_bytes = wire_read_u64(&reader);
	message->hugetlb_bytes = wire_read_u64(&reader);
	message->error = wire_read_i32(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_clock_nature(struct wire_writer *writer, const struct wire_clock_nature *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_u8(writer, message->system_call);
	wire_write_u64(writer, message->resolution_ns);
}

bool wire_unpack_clock_nature(const uint8_t *payload, size_t length,
			      struct wire_clock_nature *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->system_call = wire_read_u8(&reader);
	message->resolution_ns = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_clock_row(struct wire_writer *writer, const struct wire_clock_row *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_u16(writer, message->repetition);
	wire_write_u16(writer, message->thread);
	wire_write_u16(writer, message->cpu);
	wire_write_u64(writer, message->ns);
	wire_write_u64(writer, message->calls);
	wire_write_u64(writer, message->checks);
	wire_write_u64(writer, message->backward);
	wire_write_u64(writer, message->most_backward_ns);
}

bool wire_unpack_clock_row(const uint8_t *payload, size_t length, struct wire_clock_row *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->repetition = wire_read_u16(&reader);
	message->thread = wire_read_u16(&reader);
	message->cpu = wire_read_u16(&reader);
	message->ns = wire_read_u64(&reader);
	message->calls = wire_read_u64(&reader);
	message->checks = wire_read_u64(&reader);
	message->backward = wire_read_u64(&reader);
	message->most_backward_ns = wire_read_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_command_row(struct wire_writer *writer, const struct wire_command_row *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_u64(writer, message->wall_ns);
	wire_write_u64(writer, message->user_ns);
	wire_write_u64(writer, message->system_ns);
	wire_write_u64(writer, message->peak_memory);
	wire_write_u8(writer, message->status);
	wire_write_u8(writer, message->signal);
}

bool wire_unpack_command_row(const uint8_t *payload, size_t length,
			     struct wire_command_row *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->wall_ns = wire_read_u64(&reader);
	message->user_ns = wire_read_u64(&reader);
	message->system_ns = wire_read_u64(&reader);
	message->peak_memory = wire_read_u64(&reader);
	message->status = wire_read_u8(&reader);
	message->signal = wire_read_u8(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_command_output(struct wire_writer *writer, const struct wire_command_output *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_u8(writer, message->cut);
	wire_write_bytes(writer, message->data);
}

bool wire_unpack_command_output(const uint8_t *payload, size_t length,
				struct wire_command_output *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->cut = wire_read_u8(&reader);
	message->data = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_trial_counts(struct wire_writer *writer, const struct wire_trial_counts *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_u16(writer, message->repetition);
	wire_write_list_u64(writer, message->values);
}

bool wire_unpack_trial_counts(const uint8_t *payload, size_t length,
			      struct wire_trial_counts *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->repetition = wire_read_u16(&reader);
	message->values = wire_read_list_u64(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_trial_failed(struct wire_writer *writer, const struct wire_trial_failed *message)
{
	wire_write_u32(writer, message->trial);
	wire_write_i32(writer, message->error);
	wire_write_bytes(writer, message->text);
}

bool wire_unpack_trial_failed(const uint8_t *payload, size_t length,
			      struct wire_trial_failed *message)
{
	struct wire_reader reader = {payload, length, false};

	message->trial = wire_read_u32(&reader);
	message->error = wire_read_i32(&reader);
	message->text = wire_read_bytes(&reader);
	return wire_reader_done(&reader);
}

void wire_pack_cpu_events(struct wire_writer *writer, const struct wire_cpu_events *message)
{
	wire_write_u16(writer, message->cpu);
	wire_write_list_u64(writer, message->values);
}

bool wire_unpack_cpu_events(const uint8_t *payload, size_t length, struct wire_cpu_events *message)
{
	struct wire_reader reader = {payload, length, false};

	message->cpu = wire_read_u16(&reader);
	message->values = wire_read_list_u64(&reader);
	return wire_reader_done(&reader);
}
