/* nvtx_domains.c: see nvtx_domains.h. */
#include "nvtx_domains.h"

#include "recorder/gate.h"

#include <stdbool.h>

pthread_mutex_t nvtx_domains_lock = PTHREAD_MUTEX_INITIALIZER;
_Atomic uint32_t nvtx_categories_named;
_Atomic uint64_t nvtx_domains_unknown, nvtx_domains_destroyed, nvtx_domains_refused;

/* By number; the first is never handed out. */
static struct domain {
  uint32_t text;
  _Atomic uint32_t users; /* so many have made it and not destroyed it */
} domains[NVTX_DOMAINS];
static _Atomic unsigned domain_count = 1;

static struct category {
  uint32_t domain, category, text;
} categories[NVTX_CATEGORIES];
static unsigned category_count;

static void count(_Atomic uint64_t *counter) { atomic_fetch_add_explicit(counter, 1, memory_order_relaxed); }

void *nvtx_domain_make(uint32_t text) {
  if (!gate_is_ours()) return NULL;
  pthread_mutex_lock(&nvtx_domains_lock);
  unsigned made = atomic_load(&domain_count), number = 1;
  while (number < made && domains[number].text != text) number++;
  if (number == NVTX_DOMAINS) {
    count(&nvtx_domains_refused);
    number = 0; /* its ranges are of the default domain */
  } else if (number == made) {
    domains[number].text = text;
    atomic_store_explicit(&domain_count, made + 1, memory_order_release);
  }
  atomic_fetch_add(&domains[number].users, 1);
  pthread_mutex_unlock(&nvtx_domains_lock);
  return &domains[number];
}

/* NULL: it is no domain. */
static struct domain *find_domain(const void *handle) {
  uintptr_t place = (uintptr_t)handle - (uintptr_t)domains;
  unsigned count = atomic_load_explicit(&domain_count, memory_order_acquire);
  bool is_one = place % sizeof *domains == 0 && place / sizeof *domains < count;
  return is_one ? &domains[place / sizeof *domains] : NULL;
}

void nvtx_domain_destroy(void *handle) {
  struct domain *domain = find_domain(handle);
  uint32_t users = domain ? atomic_load(&domain->users) : 0;
  while (users && !atomic_compare_exchange_weak(&domain->users, &users, users - 1)) continue;
  if (!domain) count(&nvtx_domains_unknown);
  else if (!users) count(&nvtx_domains_destroyed);
}

unsigned nvtx_domain_number(const void *handle) {
  if (!handle) return 0;
  const struct domain *domain = find_domain(handle);
  if (!domain) {
    count(&nvtx_domains_unknown);
    return 0;
  }
  if (!atomic_load_explicit(&domain->users, memory_order_relaxed)) count(&nvtx_domains_destroyed);
  return (unsigned)(domain - domains);
}

uint32_t nvtx_domain_text(unsigned number) { return domains[number].text; }

/* ---- Categories. */

static struct category *find_category(unsigned domain, uint32_t category) {
  for (unsigned i = 0; i < category_count; i++)
    if (categories[i].category == category && categories[i].domain == domain) return &categories[i];
  return NULL;
}

void nvtx_category_name(unsigned domain, uint32_t category, uint32_t text) {
  if (!gate_is_ours()) return;
  pthread_mutex_lock(&nvtx_domains_lock);
  struct category *known = find_category(domain, category);
  if (known) known->text = text;
  else if (category_count == NVTX_CATEGORIES) count(&nvtx_domains_refused);
  else categories[category_count++] = (struct category){domain, category, text};
  atomic_fetch_add(&nvtx_categories_named, 1);
  pthread_mutex_unlock(&nvtx_domains_lock);
}

uint32_t nvtx_category_text(unsigned domain, uint32_t category) {
  pthread_mutex_lock(&nvtx_domains_lock);
  const struct category *known = find_category(domain, category);
  uint32_t text = known ? known->text : 0;
  pthread_mutex_unlock(&nvtx_domains_lock);
  return text;
}
