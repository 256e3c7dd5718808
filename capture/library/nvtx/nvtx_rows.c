/* nvtx_rows.c: see nvtx_rows.h. */
#include "nvtx_rows.h"

#include "channel/op_table.h"
#include "channel/thread_rows.h"
#include "governor/limits.h"
#include "nvtx_abi.h"
#include "nvtx_callbacks.h"
#include "nvtx_domains.h"
#include "nvtx_payload.h"
#include "nvtx_ranges.h"
#include "nvtx_schemas.h"
#include "nvtx_texts.h"
#include "recorder/key_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { INSTANT_NAME, INSTANT_DOMAIN, INSTANT_THREAD, INSTANT_TIME, INSTANT_PAYLOAD, INSTANT_COLUMNS };
static const struct row_column instant_columns[INSTANT_COLUMNS] = {
    {DUMP_instants_name, DUMP_UNORDERED, false, true},
    {DUMP_instants_domain, DUMP_UNORDERED, false, false},
    {DUMP_instants_thread_id, DUMP_UNORDERED, false, false},
    {DUMP_instants_time_ns, DUMP_ASCENDING, false, true},
    {DUMP_instants_payload, DUMP_UNORDERED, false, false},
};
static const struct table_form instants_form = TABLE_FORM(instants, TABLE_ROWS, "instants", instant_columns, 64);

enum {
  PAYLOADS_KEPT = 1024, /* of a thread: of ranges that are open */
  LONG_NS = 1000000,    /* a range of such a length has its row in any case */
};

struct kept_payload {
  uint32_t number, string;
};

static struct {
  struct row_buffer instants;
  uint32_t *strings; /* by number of text; 0: it has none yet */
  uint32_t other, user; /* strings */
  struct key_map categories; /* domain and category to string */
  uint32_t categories_seen;  /* nvtx_categories_named when that was */
  struct kept_payload *payloads[THREAD_MAXIMUM]; /* by number of thread, from 1 on: PAYLOADS_KEPT */
  struct last_row { /* of the thread that had the structure of that number last */
    uint32_t life;
    int64_t row;
  } last[THREAD_MAXIMUM];
  uint64_t lost_payloads, thinned, unresolved, still_open;
} rows;

bool nvtx_rows_open(struct recorder *recorder) {
  memset(&rows, 0, sizeof rows);
  static const char other[] = "(one of too many names)";
  rows.other = dump_writer_string(recorder->writer, other, sizeof other - 1);
  rows.user = dump_writer_string(recorder->writer, "user", 4);
  void *memory = mmap(NULL, NVTX_TEXT_NUMBERS * sizeof *rows.strings, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  rows.strings = memory;
  return row_tables_add(&recorder->tables, &rows.instants, &instants_form);
}

void nvtx_rows_close(bool in_child) {
  (void)in_child;
  if (rows.strings) munmap(rows.strings, NVTX_TEXT_NUMBERS * sizeof *rows.strings);
  rows.strings = NULL;
  key_map_end(&rows.categories);
  for (unsigned i = 0; i < THREAD_MAXIMUM; i++) {
    free(rows.payloads[i]);
    rows.payloads[i] = NULL;
  }
}

/* ---- What ranges refer to. */

static uint32_t text_string(struct recorder *recorder, uint32_t number) {
  uint32_t *string = &rows.strings[number];
  if (__builtin_expect(*string != 0, 1)) return *string;
  const struct nvtx_text *text = nvtx_text(number);
  *string = texts_keep(&recorder->texts, recorder->writer, text->bytes, text->length);
  if (!*string) *string = rows.other;
  return *string;
}

/* Its name, or the number where it has none. */
static uint32_t category_string(struct recorder *recorder, unsigned domain, uint32_t category) {
  uint32_t named = atomic_load(&nvtx_categories_named);
  if (named != rows.categories_seen) {
    key_map_end(&rows.categories);
    rows.categories_seen = named;
  }
  struct key_map_entry *entry = key_map_entry(&rows.categories, domain, category);
  if (entry && entry->row_plus_one) return entry->row_plus_one;
  uint32_t text = nvtx_category_text(domain, category), string;
  char number[16];
  snprintf(number, sizeof number, "%" PRIu32, category);
  string = text ? text_string(recorder, text)
                : texts_keep(&recorder->texts, recorder->writer, number, strlen(number));
  if (entry && string) {
    entry->row_plus_one = string;
    key_map_added(&rows.categories);
  }
  return string;
}

static void take_payload(struct recorder *recorder, const struct channel_item *of, const struct bytes_item *item) {
  struct kept_payload **kept = &rows.payloads[of->thread->number - 1];
  if (!*kept) *kept = calloc(PAYLOADS_KEPT, sizeof **kept);
  uint32_t string = texts_keep(&recorder->texts, recorder->writer, (const char *)item->bytes, item->length);
  if (*kept) (*kept)[item->head.id % PAYLOADS_KEPT] = (struct kept_payload){item->head.id, string};
}

static uint32_t kept_string(unsigned thread, uint32_t number) {
  const struct kept_payload *kept = thread ? rows.payloads[thread - 1] : NULL;
  if (kept && kept[number % PAYLOADS_KEPT].number == number) return kept[number % PAYLOADS_KEPT].string;
  rows.lost_payloads++;
  return 0;
}

static uint32_t value_string(struct recorder *recorder, unsigned sort, uint64_t value) {
  char text[40];
  double real = 0;
  float single;
  uint32_t low = (uint32_t)value;
  if (sort == NVTX_VALUE_DOUBLE) memcpy(&real, &value, sizeof real);
  if (sort == NVTX_VALUE_FLOAT) {
    memcpy(&single, &low, sizeof single);
    real = (double)single;
  }
  switch (sort) {
    case NVTX_VALUE_UINT64: snprintf(text, sizeof text, "%" PRIu64, value); break;
    case NVTX_VALUE_INT64: snprintf(text, sizeof text, "%" PRId64, (int64_t)value); break;
    case NVTX_VALUE_UINT32: snprintf(text, sizeof text, "%" PRIu32, low); break;
    case NVTX_VALUE_INT32: snprintf(text, sizeof text, "%" PRId32, (int32_t)low); break;
    default: snprintf(text, sizeof text, "%.*g", sort == NVTX_VALUE_FLOAT ? 9 : 17, real); break;
  }
  for (char *point = text; *point; point++)
    if (*point == ',') *point = '.'; /* the program's own language */
  return texts_keep(&recorder->texts, recorder->writer, text, strlen(text));
}

static uint32_t payload_string(struct recorder *recorder, uint8_t scope, uint32_t payload, unsigned thread,
                               uint64_t value) {
  unsigned sort = scope >> NVTX_SCOPE_VALUE & 7;
  if (payload) return kept_string(thread, payload);
  return sort ? value_string(recorder, sort, value) : 0;
}

/* ---- Rows. */

/* The thread that began it; -1: it is not known. */
static int64_t owner_row(struct recorder *recorder, const struct range_item *item, uint32_t life) {
  const struct capture_thread *owner = item->owner ? thread_of_number(item->owner) : NULL;
  if (!owner) return -1;
  const struct last_row *last = &rows.last[item->owner - 1];
  if (life && last->life == life) return last->row;
  if (life && atomic_load_explicit(&owner->life, memory_order_relaxed) != life) return -1; /* another one's by now */
  return thread_row(recorder, owner);
}

/* What it has started may end later. */
void nvtx_rows_thread_over(struct recorder *recorder, const struct capture_thread *thread) {
  (void)recorder;
  rows.last[thread->number - 1] = (struct last_row){atomic_load(&thread->life), thread_row_known(thread)};
}

static void add_range(struct recorder *recorder, const struct range_item *item, int64_t thread, int64_t end) {
  unsigned kind = item->head.scope & NVTX_SCOPE_KIND;
  struct row_buffer *ops = &op_table;
  int64_t start = clock_map_ns(&recorder->clock, item->start_ticks);
  if (!(item->head.scope & NVTX_SCOPE_FULL) && limits_thinned() && end - start < LONG_NS &&
      !nvtx_text(item->head.id)->step) {
    rows.thinned++;
    return;
  }
  uint32_t row = row_add(ops);
  if (row == UINT32_MAX) {
    rows.unresolved++;
    return;
  }
  row_put(ops, row, OP_NAME, text_string(recorder, item->head.id));
  row_put(ops, row, OP_CATEGORY, rows.user);
  row_put(ops, row, OP_END, end);
  row_put(ops, row, OP_DURATION, clock_span_ns(start, end));
  row_set(ops, row, OP_RANGE_KIND, kind);
  if (kind == NVTX_PUSHED) row_put(ops, row, OP_THREAD, thread);
  else row_set_null(ops, row, OP_THREAD);
  if (kind != NVTX_PUSHED && thread >= 0) row_set(ops, row, OP_RANGE_THREAD, thread);
  if (item->domain) row_set(ops, row, OP_RANGE_DOMAIN, text_string(recorder, nvtx_domain_text(item->domain)));
  uint32_t category = item->category ? category_string(recorder, item->domain, item->category) : 0;
  uint32_t payload = payload_string(recorder, item->head.scope, item->payload, item->owner, item->value);
  if (category) row_set(ops, row, OP_RANGE_CATEGORY, category);
  if (item->head.scope & NVTX_SCOPE_COLOR) row_set(ops, row, OP_RANGE_COLOR, item->color);
  if (payload) row_set(ops, row, OP_RANGE_PAYLOAD, payload);
}

static void add_instant(struct recorder *recorder, const struct range_item *item, int64_t thread) {
  if (!(item->head.scope & NVTX_SCOPE_FULL) && limits_thinned()) {
    rows.thinned++;
    return;
  }
  struct row_buffer *instants = &rows.instants;
  uint32_t row = row_add(instants);
  if (row == UINT32_MAX) {
    rows.unresolved++;
    return;
  }
  row_put(instants, row, INSTANT_NAME, text_string(recorder, item->head.id));
  row_put(instants, row, INSTANT_TIME, clock_map_ns(&recorder->clock, item->start_ticks));
  if (thread >= 0) row_set(instants, row, INSTANT_THREAD, thread);
  if (item->domain) row_set(instants, row, INSTANT_DOMAIN, text_string(recorder, nvtx_domain_text(item->domain)));
  uint32_t payload = payload_string(recorder, item->head.scope, item->payload, item->owner, item->value);
  if (payload) row_set(instants, row, INSTANT_PAYLOAD, payload);
}

static void take_range(struct recorder *recorder, const struct channel_item *of, const struct range_item *item) {
  unsigned kind = item->head.scope & NVTX_SCOPE_KIND;
  int64_t thread = kind == NVTX_STARTED ? owner_row(recorder, item, ((const struct started_item *)item)->life)
                                        : thread_row(recorder, of->thread);
  if (thread < 0 && kind != NVTX_STARTED) rows.unresolved++;
  else if (kind == NVTX_MARKED) add_instant(recorder, item, thread);
  else add_range(recorder, item, thread, clock_map_ns(&recorder->clock, item->end_ticks));
}

void nvtx_rows_item(struct recorder *recorder, const struct channel_item *item) {
  if (item->item->kind == ITEM_RANGE) take_range(recorder, item, (const struct range_item *)item->item);
  else take_payload(recorder, item, (const struct bytes_item *)item->item);
}

/* ---- The end. */

struct end {
  struct recorder *recorder;
  int64_t ns;
};

static void add_open(void *context, const struct nvtx_open *open) {
  const struct end *end = context;
  const struct clock_map *clock = &end->recorder->clock;
  const struct range_item item = {
      .head = {ITEM_RANGE, (uint8_t)(open->scope | NVTX_SCOPE_FULL), sizeof item / 16, open->text},
      .start_ticks = clock_map_search_start(clock, open->start_ticks, clock->checked_ticks),
      .value = open->value,
      .payload = open->payload,
      .color = open->color,
      .category = open->category,
      .domain = open->domain,
      .owner = open->thread,
  };
  int64_t thread = owner_row(end->recorder, &item, 0);
  bool has_thread = thread >= 0 || (open->scope & NVTX_SCOPE_KIND) == NVTX_STARTED;
  rows.still_open++;
  if (has_thread && clock_map_ns(clock, item.start_ticks) <= end->ns)
    add_range(end->recorder, &item, thread, end->ns);
}

void nvtx_rows_end(struct recorder *recorder, const struct clock_reading *now) {
  struct end end = {recorder, now->monotonic_ns};
  nvtx_ranges_open(add_open, &end);
}

void nvtx_rows_losses(struct recorder *recorder) {
  struct nvtx_faults *faults = &nvtx_faults;
  const struct loss losses[] = {
      {atomic_load(&faults->lost) + rows.unresolved, "warning",
       "NVTX ranges and marks were lost because the writer thread could not keep up", "ranges", &op_table},
      {atomic_load(&faults->too_deep) + atomic_load(&faults->too_many_started) + atomic_load(&faults->threads),
       "warning", "NVTX ranges were lost because too many others were open, or too many threads marked some", "ranges",
       &op_table},
      {rows.thinned, "info",
       "NVTX ranges shorter than a millisecond, and marks, have no row because the file may not grow faster, or larger",
       "ranges", NULL},
      {rows.still_open, "info", "NVTX ranges were still open when the recording ended: their end is that of it",
       "ranges", NULL},
      {atomic_load(&faults->pops_without_push), "info", "NVTX ranges were popped that had not been pushed", "ranges",
       NULL},
      {atomic_load(&faults->ends_without_start), "info",
       "NVTX ranges were ended that had not been started, or were ended before", "ranges", NULL},
      {atomic_load(&nvtx_domains_unknown) + atomic_load(&nvtx_domains_destroyed), "info",
       "NVTX was called with a domain or a registered name that is none, or with a domain that was destroyed", "ranges",
       NULL},
      {atomic_load(&nvtx_domains_refused) + atomic_load(&nvtx_schemas_refused), "warning",
       "NVTX domains, categories or schemas of payloads were left out because there are too many", "ranges", NULL},
      {atomic_load(&nvtx_texts_refused) + atomic_load(&nvtx_texts_cut), "info",
       "names given to NVTX were cut, or left out because there are too many different ones", "ranges", NULL},
      {atomic_load(&nvtx_payloads_cut) + rows.lost_payloads, "info",
       "payloads of NVTX ranges were left out because they are too long, or their range was open for too long",
       "ranges", NULL},
      {atomic_load(&nvtx_attributes_wrong), "info", "NVTX was called with attributes of no size", "ranges", NULL},
      {atomic_load(&nvtx_payloads_unknown), "info",
       "parts of payloads of NVTX ranges are null because their type is not known, or their schema does not fit",
       "ranges", NULL},
  };
  for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) recorder_lost(recorder, losses[i]);
}
