/* nvtx_source.c: see nvtx_source.h. */
#include "nvtx_source.h"

#include "channel/resource_names.h"
#include "channel/thread_names.h"
#include "given_names.h"
#include "nvtx_domains.h"
#include "nvtx_ranges.h"
#include "nvtx_rows.h"
#include "nvtx_schemas.h"
#include "recorder/parts.h"
#include "recorder/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A push and its pop, as tests/bench/bench_capture_callbacks.c measures them. */
#define RANGE_NS 80

static struct capture_part nvtx_part = {.name = "nvtx"};

/* Once, while nobody changes the environment: a dormant program is armed on another thread. */
static void find_part(const struct source_wishes *wishes) {
  const char *path = getenv("NVTX_INJECTION64_PATH"), *ours = setting("TFPROF_LIBRARY");
  (void)wishes;
  bool is_ours = path && ours && !strcmp(path, ours);
  char reason[200] = "";
  if (!is_ours)
    snprintf(reason, sizeof reason, "NVTX_INJECTION64_PATH is %.120s: what programs mark goes there",
             path && *path ? path : "not set");
  part_set(&nvtx_part, is_ours ? PART_OK : PART_OFF, reason);
}

static bool nvtx_arm(const struct source_wishes *wishes) {
  if (!wishes->is_dormant) find_part(wishes);
  nvtx_ranges_arm();
  return true;
}

static bool nvtx_set_detail(enum detail detail) {
  nvtx_ranges_set_full(detail == DETAIL_FULL);
  return true;
}

static void nvtx_cost(uint32_t thread, struct source_cost *cost) {
  (void)thread;
  cost->always_ns += (double)threads_written(WRITTEN_RANGES) * RANGE_NS;
}

static const char *nvtx_reset(bool is_whole) {
  (void)is_whole;
  nvtx_ranges_reset();
  return NULL;
}

static void nvtx_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  given_names_tick(recorder);
  if (is_end) nvtx_rows_end(recorder, now);
}

static bool nvtx_open(struct recorder *recorder) { return nvtx_rows_open(recorder) && given_names_open(recorder); }

const struct capture_source nvtx_source = {
    .name = "nvtx",
    .parts = (struct capture_part *const[]){&nvtx_part, NULL},
    .locks = (const struct fork_lock[]){{.lock = &nvtx_schemas_lock},
                                        {.lock = &nvtx_domains_lock},
                                        {.lock = &resource_names_lock},
                                        {.lock = &thread_names_lock},
                                        {0}},
    .sleep = find_part,
    .arm = nvtx_arm,
    .disarm = nvtx_ranges_disarm,
    .set_detail = nvtx_set_detail,
    .cost = nvtx_cost,
    .reset = nvtx_reset,
    .open = nvtx_open,
    .items = NVTX_ITEMS,
    .item = nvtx_rows_item,
    .thread_over = nvtx_rows_thread_over,
    .tick = nvtx_tick,
    .losses = nvtx_rows_losses,
    .close = nvtx_rows_close,
};
