/* modules_source.c: see modules_source.h. */
#include "modules_source.h"

#include "known_modules.h"
#include "module_calls.h"
#include "module_discovery.h"
#include "module_rows.h"

static const char * modules_reset(bool is_whole) {
  (void)is_whole;
  module_queue_reset();
  module_discovery_reset();
  known_modules_reset();
  return NULL;
}

static void modules_sleep(const struct source_wishes *wishes) {
  (void)wishes;
  module_queue_keep();
}

static bool modules_open(struct recorder *recorder) {
  return module_rows_open(recorder) && module_calls_open(recorder);
}

static uint64_t modules_drain(struct recorder *recorder, uint64_t limit) {
  (void)limit;
  module_rows_drain(recorder);
  module_discovery_tick();
  return 0;
}

static void modules_losses(struct recorder *recorder) {
  module_calls_losses(recorder);
  module_rows_losses(recorder);
  static const char why[] =
      "models have no names because the program makes ever other ones, faster than they can be looked at";
  static const char why_none[] = "looks at models came to nothing because memory was short";
  recorder_lost(recorder,
                (struct loss){known_models_refused() + module_discovery_lost(), "warning", why, "nodes", NULL});
  recorder_lost(recorder, (struct loss){module_discovery_failed(), "warning", why_none, "nodes", NULL});
}

static void modules_close(bool in_child) {
  (void)in_child;
  module_calls_close();
}

struct capture_part modules_part = {.name = "modules"};

const struct capture_source modules_source = {
    .name = "modules",
    .needs_framework = true,
    .parts = (struct capture_part *const[]){&modules_part, NULL},
    .locks = (const struct fork_lock[]){{.lock = &module_discovery_lock},
                                        {.lock = &known_modules_lock},
                                        {.lock = &module_queue_lock},
                                        {0}},
    .sleep = modules_sleep,
    .stop = module_discovery_stop,
    .reset = modules_reset,
    .open = modules_open,
    .drain = modules_drain,
    .items = 1 << ITEM_CALL,
    .item = module_calls_item,
    .thread_over = module_calls_thread_over,
    .losses = modules_losses,
    .close = modules_close,
};
