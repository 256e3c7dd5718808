/* make_random_dump: writes a dump with rows in every table and values of every kind in every column, for tests of the
** tables.
**
**   make_random_dump PATH ROWS [SEED]
**
** Nothing in it means anything.  Columns are absent, constant, narrow or of the whole 64-bit range, with and without
** NULLs; reals include infinities and integers that no other double is near to; texts are few or many, empty, beyond
** ASCII and with a NUL in them; references point to any row.  Tables have up to ROWS rows in frames of different
** lengths, with gaps between their row numbers. The same SEED gives the same file, another one another recording.  What
** only repeats other tables and columns is left out, to be derived from them.
*/
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump/writer.h"
#include "schema/schema.h"

enum { MAXIMUM_ROWS = 4096 };

static struct tfprof_error error;
static struct dump_writer *writer;
static uint64_t random_state;
static uint32_t rows_of[TABLE_count];

static void stop(void) {
  char text[2200];
  error_text(&error, text, sizeof text);
  fprintf(stderr, "make_random_dump: %s\n", text);
  exit(1);
}

static uint64_t random_bits(void) { /* xorshift64* */
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return random_state * 2685821657736338717u;
}
static uint32_t random_below(uint32_t bound) { return (uint32_t)((random_bits() >> 32) * bound >> 32); }

static int64_t random_text(uint32_t kinds) {
  static const char *const beginnings[] = {
      "aten::", "void ", "ncclK", "Aten::", "", "\xc3\xa9", "a%b_", "\xf0\x9f\x8e\x89"};
  char text[64];
  uint32_t kind = random_below(kinds);
  int length = snprintf(text, sizeof text, "%s%s%" PRIu32, beginnings[kind % 8], kind % 5 ? "mm%" : "conv_", kind);
  switch (kind) {
    case 7: return dump_writer_string(writer, "", 0);
    case 11: return dump_writer_string(writer, "5", 1);
    case 12: return dump_writer_string(writer, "5.0", 3);
    case 13: return dump_writer_string(writer, "a\0b", 3);
    case 14: return dump_writer_string(writer, "a", 1);
    default: return dump_writer_string(writer, text, (size_t)length);
  }
}

static int64_t random_integer(enum column_type type, unsigned style, int64_t row) {
  switch (type) {
    case TYPE_BOOLEAN: return random_below(2);
    case TYPE_TIME: return 5000000000000 + row * 1000 + random_below(style & 1 ? 5000 : 500000);
    case TYPE_DURATION: return random_below(style & 1 ? 200 : 1000000);
    default: break;
  }
  if (style == 5) return (int64_t)random_bits();
  return style == 6 ? (int64_t)random_below(16) : (int64_t)random_below(300) - 50;
}

static double random_real(void) {
  switch (random_below(40)) {
    case 0: return (double)INFINITY;
    case 1: return -(double)INFINITY;
    case 2: return 9007199254740994.0;
    case 3: return -0.0;
    case 4: return 9223372036854775808.0;
    default: return random_below(1000) / 8.0 - 20;
  }
}

/* One frame of `count` rows from `first` on. `seed` is that of the table, so that its columns keep their style from
** frame to frame. */
static void write_frame(unsigned table, uint32_t first, uint32_t count, uint64_t seed) {
  static int64_t integers[SCHEMA_MAXIMUM_COLUMNS][MAXIMUM_ROWS];
  static double reals[SCHEMA_MAXIMUM_COLUMNS][MAXIMUM_ROWS];
  static uint64_t nulls[SCHEMA_MAXIMUM_COLUMNS][MAXIMUM_ROWS / 64];
  struct dump_column_data data[SCHEMA_MAXIMUM_COLUMNS];
  const struct table_spec *spec = &schema_tables[table];
  unsigned used = 0, place = 1;
  memset(nulls, 0, sizeof nulls);
  memset(data, 0, sizeof data);
  for (int column = 2; column < spec->column_count; column++) {
    const struct column_spec *column_spec = &spec->columns[column];
    enum column_type type = (enum column_type)column_spec->type;
    if (table == TABLE_ops && column == COLUMN_ops_outermost_id) continue;
    if (table == TABLE_ops && column == COLUMN_ops_recorded_module) continue;
    if (table == TABLE_nodes && column == COLUMN_nodes_recorded_module) continue;
    if (table == TABLE_nodes && column == COLUMN_nodes_output_shapes)
      continue; /* the numbers that follow stay as they were */
    place++;
    uint64_t later = random_state;
    random_state = seed + (uint64_t)place * 0x9E3779B97F4A7C15u;
    for (int i = 0; i < 4; i++) random_bits();
    unsigned style = random_below(8);
    int64_t constant = type == TYPE_TEXT || type == TYPE_JSON ? random_text(40) : random_integer(type, style, 0);
    random_state = later;
    if (style == 0 || column == spec->start_column || (type == TYPE_REFERENCE && rows_of[column_spec->target] == 0))
      continue;
    for (uint32_t row = 0; row < count; row++) {
      if (style < 4 && random_below(10) == 0) nulls[used][row >> 6] |= (uint64_t)1 << (row & 63);
      if (type == TYPE_REFERENCE) {
        integers[used][row] = random_below(rows_of[column_spec->target]);
      } else if (type == TYPE_REAL) {
        reals[used][row] = random_real();
      } else if (style == 7 && column != spec->dur_column) {
        integers[used][row] = constant;
      } else if (type == TYPE_TEXT || type == TYPE_JSON) {
        integers[used][row] = random_text(type == TYPE_JSON ? 1000 : 40);
      } else {
        integers[used][row] = random_integer(type, style, first + row);
      }
    }
    data[used] = (struct dump_column_data){.dump_id = column_spec->dump_id, .is_real = type == TYPE_REAL,
                                           .integers = integers[used], .reals = reals[used], .nulls = nulls[used]};
    used++;
  }
  if (used && dump_writer_rows(writer, spec->dump_id, count, data, used, &error)) stop();
}

static void write_table(unsigned table, uint64_t seed) {
  uint32_t written = 0;
  while (written < rows_of[table]) {
    uint32_t count = 1 + random_below(rows_of[table] / 3 + 1);
    if (count > rows_of[table] - written) count = rows_of[table] - written;
    write_frame(table, written, count, seed);
    written += count;
    uint32_t gap = random_below(4) ? 0 : random_below(3);
    if (gap > rows_of[table] - written) gap = rows_of[table] - written;
    if (gap && dump_writer_skip(writer, schema_tables[table].dump_id, gap, &error)) stop();
    written += gap;
  }
}

int main(int argument_count, char **arguments) {
  if (argument_count < 3) {
    fprintf(stderr, "usage: make_random_dump PATH ROWS [SEED]\n");
    return 2;
  }
  uint32_t most = (uint32_t)strtoul(arguments[2], NULL, 10);
  uint64_t seed = argument_count > 3 ? strtoull(arguments[3], NULL, 10) : 1;
  if (most > MAXIMUM_ROWS) most = MAXIMUM_ROWS;
  random_state = 0x9E3779B97F4A7C15u ^ seed;
  struct dump_profile profile = {.host = "nowhere",
                                 .recorder = "make_random_dump",
                                 .clock_domain = "monotonic",
                                 .pid = 1,
                                 .rank = 0,
                                 .created_realtime_ns = 1795000000000000000 + (int64_t)(seed % 1000000000)};
  if (dump_writer_create(arguments[1], true, &profile, &writer, &error)) stop();
  struct dump_clock clock = {5000000000000, profile.created_realtime_ns, 0, 40};
  if (dump_writer_clock(writer, &clock, &error)) stop();
  for (unsigned table = 0; table < TABLE_count; table++) {
    bool is_made = table == TABLE_runs || table == TABLE_profiles || table == TABLE_links ||
                   table == TABLE_device_activities || table == TABLE_queue_events || table == TABLE_step_segments ||
                   table == TABLE_step_phases || table == TABLE_critical_path;
    rows_of[table] = is_made                  ? 0
                     : table == TABLE_ops     ? most
                     : table == TABLE_devices ? 4
                                              : 1 + random_below(most / 3 + 1);
  }
  for (unsigned table = 0; table < TABLE_count; table++) {
    if (rows_of[table]) write_table(table, random_bits());
  }
  if (dump_writer_close(writer, &error)) stop();
  return 0;
}
