/* test_capture_ring.c: the last part of a recording as frames in memory (recorder/frame_ring.h) and dumps that are made
** of it (common/kept_dump.h): compared with the whole recording of the same rows.
*/
#include "common/control_place.h"
#include "dump/reader.h"
#include "dump/writer.h"
#include "recorder/dump_ids.h"
#include "recorder/frame_ring.h"
#include "scratch.h"
#include "stopping_check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

enum { ROWS = 200, SECOND = 1000000000, MILLION = 1 << 20, SLOTS = 60, PATH = 512 };

static struct frame_ring ring;
static const struct dump_sink sink = {&ring, frame_ring_take};
static const struct dump_profile profile = {
    .host = "node", .clock_domain = "monotonic", .pid = 4711, .rank = -1, .created_realtime_ns = 5};

static void begin_ring(uint64_t keep_ns, uint64_t most_bytes) {
  static struct kept_head head;
  kept_head_begin(&head);
  head.process = (uint64_t)getpid();
  head.keep_ns = keep_ns;
  snprintf(head.run_directory, sizeof head.run_directory, "%s", test_directory);
  snprintf(head.name, sizeof head.name, "node-4711");
  check(frame_ring_open(&ring, &head, 0, most_bytes) == 0, "the ring cannot be made: %s", strerror(errno));
}

/* One of each slot: a text and a row that stay, and rows that go. */
static void write_slot(struct dump_writer *writer, int64_t slot) {
  char text[32];
  int64_t times[ROWS], names[ROWS], values[ROWS];
  snprintf(text, sizeof text, "text %lld", (long long)slot);
  int64_t name = dump_writer_string(writer, text, strlen(text));
  for (int i = 0; i < ROWS; i++) {
    times[i] = slot * SECOND + i;
    names[i] = name;
    values[i] = (slot * 7919 + i * 104729) % 1000003;
  }
  const struct dump_column_data lasting[] = {{.dump_id = DUMP_threads_name, .integers = names}};
  const struct dump_column_data going[] = {{.dump_id = DUMP_ops_name, .integers = names},
                                           {.dump_id = DUMP_ops_end_ns, .integers = times},
                                           {.dump_id = DUMP_ops_dur_ns, .integers = values}};
  dump_writer_set_lasting(writer, true);
  check(!dump_writer_rows(writer, DUMP_TABLE_threads, 1, lasting, 1, NULL), "a definition");
  dump_writer_set_lasting(writer, false);
  const struct dump_clock clock = {slot * SECOND, slot * SECOND + 1000, 0, 5};
  check(!dump_writer_clock(writer, &clock, NULL), "a clock");
  check(!dump_writer_rows(writer, DUMP_TABLE_ops, ROWS, going, 3, NULL), "rows");
}

struct found {
  uint64_t first, rows; /* of ops */
  uint64_t lasting;     /* rows of threads */
  uint64_t sum;
  unsigned texts, triggers;
};

static enum tfprof_status count_text(void *context, uint32_t id, const char *text, uint32_t length) {
  char wanted[32];
  struct found *found = context;
  found->texts++;
  snprintf(wanted, sizeof wanted, "text %u", id - 1);
  if (text && length >= 5 && !memcmp(text, "text ", 5))
    check(length == strlen(wanted) && !memcmp(text, wanted, length), "text %u", id);
  return TFPROF_OK;
}

/* `from`: rows of ops before it do not count. */
static struct found read_dump(const char *path, uint64_t from, bool is_kept) {
  static int64_t values[DUMP_MAXIMUM_FRAME_ROWS];
  struct found found = {.first = UINT64_MAX};
  struct dump_file *file;
  struct dump_cursor *cursor;
  struct tfprof_error error;
  check(!dump_file_open(path, &file, &error), "%s", error.message);
  check(!dump_cursor_open(file, &cursor, NULL), "cursor");
  check(file->is_closed && file->is_last_part == is_kept, "closed, and the last part");
  for (size_t i = 0; i < file->problem_count; i++) check(false, "%s", file->problems[i].message);
  check(!dump_file_strings(file, count_text, &found, NULL), "texts");
  for (size_t i = 0; i < file->frame_count; i++) {
    const struct dump_frame *frame = &file->frames[i];
    if (frame->table_dump_id == DUMP_TABLE_threads) found.lasting += frame->rows;
    if (frame->table_dump_id == DUMP_TABLE_triggers) found.triggers += frame->rows;
    if (frame->table_dump_id != DUMP_TABLE_ops || frame->first_row < from) continue;
    if (found.first == UINT64_MAX) found.first = frame->first_row;
    check(frame->first_row == found.first + found.rows, "rows are left out");
    found.rows += frame->rows;
    for (unsigned b = 0; b < frame->block_count; b++) {
      check(!dump_block_decode(cursor, frame, &frame->blocks[b], values, NULL, &error), "%s", error.message);
      for (uint32_t r = 0; r < frame->rows; r++)
        found.sum = found.sum * 31 + (uint64_t)values[r] + frame->blocks[b].dump_id;
    }
  }
  dump_cursor_close(cursor);
  dump_file_close(file);
  return found;
}

static void copy_ring(char *path, size_t size) {
  struct kept_trigger trigger = {.kind = "asked", .message = "by a test", .time_ns = 77};
  int reader = frame_ring_open_reader(&ring);
  check(reader >= 0, "reader");
  int reason = frame_ring_copy(&ring, reader, &trigger, 1, path, size);
  check(!reason, "the copy: %s", strerror(reason));
  close(reader);
}

/* Sixty seconds, of which twenty are kept: the dumps have what the whole has of that time. */
static void test_whole(void) {
  struct dump_writer *writer, *whole;
  char path[PATH];
  begin_ring((uint64_t)20 * SECOND, 64 * MILLION);
  frame_ring_begin_slot(&ring, 0);
  check(!dump_writer_create_for(&sink, &profile, &writer, NULL), "kept");
  check(!dump_writer_create(test_path("whole.tfprof"), true, &profile, &whole, NULL), "whole");
  for (int64_t slot = 0; slot < SLOTS; slot++) {
    if (frame_ring_wants_slot(&ring, slot * SECOND)) check(frame_ring_begin_slot(&ring, slot * SECOND), "a slot");
    write_slot(writer, slot);
    write_slot(whole, slot);
  }
  check(!dump_writer_close(whole, NULL), "close");
  copy_ring(path, sizeof path);
  struct found kept = read_dump(path, 0, true);
  struct found all = read_dump(test_path("whole.tfprof"), kept.first, false);
  check(kept.rows == all.rows && kept.sum == all.sum, "rows differ: %llu and %llu", (unsigned long long)kept.rows,
        (unsigned long long)all.rows);
  check(kept.lasting == SLOTS && kept.triggers == 1 && kept.texts == SLOTS + 2, "definitions");
  check(kept.first > 0 && kept.rows >= 20 * ROWS && kept.rows <= 26 * ROWS, "%llu rows",
        (unsigned long long)kept.rows);
  check(!ring.is_cut && frame_ring_oldest_ns(&ring) == (int64_t)(kept.first / ROWS) * SECOND, "when it begins");
  copy_ring(path, sizeof path);
  check(strstr(path, "node-4711-2.tfprof") != NULL, "%s", path);
  dump_writer_close(writer, NULL);
  check(access(ring.path, F_OK) == 0, "the file");
  frame_ring_close(&ring, true);
  check(access(ring.path, F_OK) != 0, "the file has gone");
}

/* More comes than may be kept: memory stays bounded, the newest is there. */
static void test_bound(void) {
  struct dump_writer *writer;
  struct stat facts;
  char path[PATH];
  begin_ring((uint64_t)3600 * SECOND, 256 << 10);
  frame_ring_begin_slot(&ring, 0);
  check(!dump_writer_create_for(&sink, &profile, &writer, NULL), "kept");
  for (int64_t slot = 0; slot < 3000; slot++) {
    if (frame_ring_wants_slot(&ring, slot * SECOND)) check(frame_ring_begin_slot(&ring, slot * SECOND), "a slot");
    write_slot(writer, slot);
    check(frame_ring_bytes(&ring) <= (320u << 10), "%llu bytes", (unsigned long long)frame_ring_bytes(&ring));
  }
  check(ring.is_cut, "less is kept");
  check(!stat(ring.path, &facts) && (uint64_t)facts.st_blocks * 512 <
        frame_ring_bytes(&ring) + ring.lasting_length + KEPT_HEAD_BYTES + (KEPT_SLOTS + 2) * 8192,
        "%lld blocks", (long long)facts.st_blocks);
  copy_ring(path, sizeof path);
  struct found kept = read_dump(path, 0, true);
  check(kept.first + kept.rows == 3000 * ROWS && kept.lasting == 3000, "the newest");
  dump_writer_close(writer, NULL);
  frame_ring_close(&ring, true);
}

static _Atomic bool is_over;

static void *copy_often(void *unused) {
  (void)unused;
  for (int i = 0; i < 40; i++) {
    char path[PATH];
    copy_ring(path, sizeof path);
    struct found kept = read_dump(path, 0, true);
    check(kept.rows % ROWS == 0, "whole frames");
    unlink(path);
  }
  is_over = true;
  return NULL;
}

/* Another thread copies while the ring goes round. */
static void test_threads(void) {
  struct dump_writer *writer;
  pthread_t thread;
  begin_ring((uint64_t)4 * SECOND, 64 * MILLION);
  frame_ring_begin_slot(&ring, 0);
  check(!dump_writer_create_for(&sink, &profile, &writer, NULL), "kept");
  for (int64_t slot = 0; slot < 20; slot++) write_slot(writer, slot);
  check(!pthread_create(&thread, NULL, copy_often, NULL), "thread");
  for (int64_t slot = 20; !is_over; slot++) {
    if (frame_ring_wants_slot(&ring, slot * SECOND)) frame_ring_begin_slot(&ring, slot * SECOND);
    write_slot(writer, slot);
    usleep(500);
  }
  pthread_join(thread, NULL);
  dump_writer_close(writer, NULL);
  frame_ring_close(&ring, true);
}

/* What is kept may be damaged in any way: what comes of it can be opened, or is refused. */
static void test_damage(void) {
  struct dump_writer *writer;
  static uint8_t bytes[1 << 16];
  begin_ring((uint64_t)20 * SECOND, 64 * MILLION);
  frame_ring_begin_slot(&ring, 0);
  check(!dump_writer_create_for(&sink, &profile, &writer, NULL), "kept");
  for (int64_t slot = 0; slot < 8; slot++) write_slot(writer, slot);
  int file = frame_ring_open_reader(&ring);
  size_t length = (size_t)ring.lasting_length;
  check(length < sizeof bytes && pread(file, bytes, length, KEPT_HEAD_BYTES) == (ssize_t)length, "lasting");
  uint64_t state = 12345;
  for (int i = 0; i < 300; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    size_t at = 64 + (size_t)(state >> 33) % (length - 64);
    uint8_t wrong = (uint8_t)(bytes[at] ^ (1 + (state >> 20 & 0x7f)));
    check(pwrite(file, &wrong, 1, KEPT_HEAD_BYTES + (off_t)at) == 1, "damage");
    struct kept_trigger trigger = {.kind = "killed", .time_ns = 77};
    struct kept_extent extent;
    uint64_t rows;
    kept_extent_whole(&extent);
    int to = open(test_path("damaged.tfprof"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int reason = kept_dump_write(file, &ring.head, &extent, &trigger, 1, to, &rows);
    close(to);
    struct dump_file *opened;
    if (!reason && !dump_file_open(test_path("damaged.tfprof"), &opened, NULL)) dump_file_close(opened);
    check(pwrite(file, &bytes[at], 1, KEPT_HEAD_BYTES + (off_t)at) == 1, "repair");
  }
  close(file);
  dump_writer_close(writer, NULL);
  frame_ring_close(&ring, true);
}

int main(void) {
  make_test_directory();
  test_whole();
  test_bound();
  test_threads();
  test_damage();
  puts("kept: as the whole, bounded, from two threads, and damaged");
  return 0;
}
