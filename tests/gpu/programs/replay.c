/* replay.c: plays what CUPTI wrote on a GPU, as launch_cost.c has kept it (tests/gpu/run.sh: cupti-records.jsonl), to
** the recorder, on the doubles of CUDA (doubles/):
**
**   replay FILE
**
** The records are put as they are, but for what was of the other process: their times are moved, all by as much, so
** that the last one is of now, and a pointer to text points to that of the file or to none.  What is of a longer record
** than the double's version has is cut off.  Prints how many records of each kind were there as JSON.
*/
#include "../doubles/on_doubles.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 1 << 14, BYTES = 1024, RECORDS = 1 << 14 };

/* Where a record has its times and its text; 0: it has none. */
static const struct place {
  uint32_t kind;
  size_t times[2], text;
} places[] = {
#define SPAN(kind, type) kind, {offsetof(struct type, start), offsetof(struct type, end)}
    {SPAN(CUPTI_MEMCPY, cupti_memcpy), 0},
    {SPAN(CUPTI_MEMSET, cupti_memset), 0},
    {SPAN(CUPTI_DRIVER, cupti_call), 0},
    {SPAN(CUPTI_RUNTIME, cupti_call), 0},
    {SPAN(CUPTI_CONCURRENT_KERNEL, cupti_kernel), offsetof(struct cupti_kernel, name)},
    {SPAN(CUPTI_OVERHEAD, cupti_overhead), 0},
    {SPAN(CUPTI_MEMCPY_PEERS, cupti_memcpy_peers), 0},
    {SPAN(CUPTI_UNIFIED_MEMORY, cupti_unified_memory), 0},
    {SPAN(CUPTI_SYNCHRONIZATION, cupti_synchronization), 0},
    {SPAN(CUPTI_GRAPH_TRACE, cupti_graph_trace), 0},
    {SPAN(CUPTI_JIT, cupti_jit), offsetof(struct cupti_jit, cache_path)},
    {CUPTI_MEMORY, {offsetof(struct cupti_memory, time), 0}, offsetof(struct cupti_memory, name)},
    {CUPTI_MEMORY_POOL, {offsetof(struct cupti_memory_pool, time), 0}, 0},
    {CUPTI_ENVIRONMENT, {offsetof(struct cupti_environment, time), 0}, 0},
};

static struct kept {
  union {
    struct cupti_record head;
    uint8_t bytes[BYTES];
  } record;
  size_t size;
  char *name;
} *records;
static size_t count;

static const struct place *place_of(uint32_t kind) {
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (places[i].kind == kind) return &places[i];
  return NULL;
}

/* {"kind":10,"bytes":208,"name":"empty","record":"0a00..."}; false: it is none, as the first line, the version. */
static bool read_record(const char *line, struct kept *kept) {
  static const char field[] = "\"record\":\"";
  const char *name = strstr(line, "\"name\":\""), *at = strstr(line, field);
  unsigned kind, byte;
  if (sscanf(line, "{\"kind\":%u,\"bytes\":%zu", &kind, &kept->size) != 2 || !name || !at) return false;
  at += sizeof field - 1;
  if (kept->size < sizeof kept->record.head || kept->size > BYTES || strlen(at) < 2 * kept->size) return false;
  for (size_t i = 0; i < kept->size; i++, at += 2) {
    if (sscanf(at, "%2x", &byte) != 1) return false;
    kept->record.bytes[i] = (uint8_t)byte;
  }
  name += strlen("\"name\":\"");
  kept->name = strndup(name, strcspn(name, "\""));
  return kept->record.head.kind == kind && kept->name;
}

static uint64_t *time_of(struct kept *kept, unsigned which) {
  const struct place *place = place_of(kept->record.head.kind);
  size_t at = place ? place->times[which] : 0;
  return at && at + sizeof(uint64_t) <= kept->size ? (uint64_t *)(void *)(kept->record.bytes + at) : NULL;
}

static void make_ours(struct kept *kept, uint64_t by) {
  const struct place *place = place_of(kept->record.head.kind);
  for (unsigned i = 0; i < 2; i++) {
    uint64_t *time = time_of(kept, i);
    if (time && *time) *time += by;
  }
  const char *text = *kept->name ? kept->name : NULL;
  if (place && place->text && place->text + sizeof text <= kept->size)
    memcpy(kept->record.bytes + place->text, &text, sizeof text);
}

int main(int argc, char **argv) {
  static char line[LINE];
  static unsigned counts[CUPTI_KINDS];
  bool is_marked;
  uint64_t last = 0;
  FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
  if (!file) return fputs("replay FILE\n", stderr), 2;
  records = calloc(RECORDS, sizeof *records);
  while (records && count < RECORDS && fgets(line, sizeof line, file)) count += read_record(line, &records[count]);
  fclose(file);
  const struct double_cupti *cupti = begin_on_doubles(&is_marked);
  if (!cupti) return fputs("replay: the doubles are not there\n", stderr), 3;
  for (size_t i = 0; i < count; i++)
    for (unsigned which = 0; which < 2; which++) {
      const uint64_t *time = time_of(&records[i], which);
      if (time && *time > last) last = *time;
    }
  uint64_t by = cupti->now() - last;
  for (size_t i = 0; i < count; i++) {
    uint32_t kind = records[i].record.head.kind;
    make_ours(&records[i], by);
    if (cupti->put(records[i].record.bytes, records[i].size) && kind < CUPTI_KINDS) counts[kind]++;
  }
  printf("{");
  for (unsigned kind = 0, others = 0; kind < CUPTI_KINDS; kind++)
    if (counts[kind]) printf("%s\"%u\":%u", others++ ? "," : "", kind, counts[kind]);
  puts("}");
  return 0;
}
