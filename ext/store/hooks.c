/* hooks.c: what long work asks of its store: whether to stop, to tell how far it is, and helping threads. */
#include "store/private.h"

enum { PROGRESS_AFTER_MS = 1000, PROGRESS_EVERY_MS = 100 };

void store_set_hooks(struct store *store, const struct store_hooks *hooks) { store->hooks = *hooks; }

bool store_interrupted(struct store *store) {
  return store->hooks.is_interrupted && store->hooks.is_interrupted(store->hooks.context);
}

static int64_t milliseconds_since(const struct timespec *then, const struct timespec *now) {
  return (int64_t)(now->tv_sec - then->tv_sec) * 1000 + (now->tv_nsec - then->tv_nsec) / 1000000;
}

void store_progress(struct store *store, const char *what, double fraction) {
  struct timespec now;
  if (!store->hooks.progress) return;
  clock_gettime(CLOCK_MONOTONIC, &now);
  bool is_new = !store->progress_what || (store->progress_what != what && strcmp(store->progress_what, what) != 0);
  if (is_new || fraction <= 0) {
    store->progress_what = what;
    store->progress_began = store->progress_told = now;
    return;
  }
  /* Nobody wants to read of what is over in a moment. */
  if (milliseconds_since(&store->progress_began, &now) < PROGRESS_AFTER_MS) return;
  if (fraction < 1 && milliseconds_since(&store->progress_told, &now) < PROGRESS_EVERY_MS) return;
  store->progress_told = now;
  store->hooks.progress(store->hooks.context, what, fraction);
}

struct pool *store_pool(struct store *store) {
  return store->pool;
}
