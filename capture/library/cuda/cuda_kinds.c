/* cuda_kinds.c: see cuda_kinds.h. */
#include "cuda_kinds.h"

#include "cupti_refusals.h"
#include "device_facts.h"
#include "function_names.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct cupti_api *api;
static unsigned traces;
static bool has_topology; /* was asked for */
static bool is_topology_on;
static char without[160]; /* what was refused */
static const char *remedy; /* of the first of it that has one */

pthread_mutex_t cuda_refusals_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cuda_refusals refusals;

/* ---- What is asked for. */

unsigned cuda_trace_of(const char *list, char *unknown, size_t size) {
  static const char *const words[] = {"kernels", "memory",   "api",         "sync",   "graphs",
                                      "unified", "overhead", "environment", "latency"};
  enum { WORDS = sizeof words / sizeof *words };
  unsigned asked_for = 0;
  if (unknown) unknown[0] = 0;
  for (const char *word = list; *word;) {
    size_t length = strcspn(word, ","), i = 0;
    while (i < WORDS && (strlen(words[i]) != length || strncmp(words[i], word, length))) i++;
    if (i < WORDS) asked_for |= 1u << i;
    else if (unknown && !unknown[0] && length) snprintf(unknown, size, "%.*s", (int)length, word);
    word += length + (word[length] == ',');
  }
  return asked_for;
}

struct wanted_kind {
  uint8_t kind;
  const char *name;
  unsigned traces;
  bool is_lasting; /* stays on when work is not recorded: it says what later work belongs to */
};
static const struct wanted_kind wanted_kinds[] = {
    {CUPTI_CONTEXT, "contexts", ~0u, true},
    {CUPTI_STREAM, "streams", ~0u, true},
    {CUPTI_CONCURRENT_KERNEL, "kernels", TRACE_KERNELS, false},
    {CUPTI_MEMCPY, "copies", TRACE_MEMORY, false},
    {CUPTI_MEMCPY_PEERS, "copies between devices", TRACE_MEMORY, false},
    {CUPTI_MEMSET, "fills", TRACE_MEMORY, false},
    {CUPTI_MEMORY, "memory of the driver", TRACE_MEMORY, true},
    {CUPTI_MEMORY_POOL, "pools of the driver", TRACE_MEMORY, true},
    {CUPTI_SYNCHRONIZATION, "waits", TRACE_SYNC, false},
    {CUPTI_EVENT, "events", TRACE_SYNC, false},
    {CUPTI_UNIFIED_MEMORY, "unified memory", TRACE_UNIFIED, false},
    {CUPTI_OVERHEAD, "overheads", TRACE_OVERHEAD, true},
    {CUPTI_JIT, "compilations", TRACE_OVERHEAD, true},
    {CUPTI_ENVIRONMENT, "clocks and power", TRACE_ENVIRONMENT, true},
};
enum { WANTED_KINDS = sizeof wanted_kinds / sizeof *wanted_kinds };

static bool wants_graphs_whole(void) { return traces & TRACE_GRAPHS && !(traces & TRACE_KERNELS); }

/* ---- What is refused. */

void cuda_kinds_add_refused(const char *name, const char *why) {
  size_t used = strlen(without);
  snprintf(without + used, sizeof without - used, "%s%s%s%s%s", used ? ", " : "", name, why ? " (" : "", why ? why : "",
           why ? ")" : "");
}

static void note_refusal(const char *name, int result) {
  const char *known = cupti_refusal_text(result);
  cuda_kinds_add_refused(name, known ? NULL : cupti_result_text(api, result));
  if (!remedy) remedy = known;
}

const char *cuda_kinds_without(void) { return without; }
const char *cuda_kinds_remedy(void) { return remedy; }

void cuda_note_result(const struct cupti_api *its_api, const char *function, int result) {
  if (!result) return;
  pthread_mutex_lock(&cuda_refusals_lock);
  if (!refusals.count++)
    snprintf(refusals.first, sizeof refusals.first, "%s: %.60s (%d)", function, cupti_result_text(its_api, result),
             result);
  pthread_mutex_unlock(&cuda_refusals_lock);
}

struct cuda_refusals cuda_kinds_refusals(void) {
  pthread_mutex_lock(&cuda_refusals_lock);
  struct cuda_refusals now = refusals;
  pthread_mutex_unlock(&cuda_refusals_lock);
  return now;
}

/* ---- Switching. */

/* Calls worth a row, of both domains: looked up once, for they are switched at the ends of steps. */
static struct {
  uint16_t numbers[FUNCTIONS_MAXIMUM];
  bool is_on[FUNCTIONS_MAXIMUM];             /* by number, as we switched it last */
  _Atomic bool is_called[FUNCTIONS_MAXIMUM]; /* by number: the program has called it, as far as records have come */
  unsigned count;
} worthy[2];

static void find_worthy_calls(void) {
  const char *name = NULL;
  for (int domain = CUPTI_DRIVER_FUNCTIONS; domain <= CUPTI_RUNTIME_FUNCTIONS; domain++) {
    worthy[domain - 1].count = 0;
    for (uint32_t number = 1; number < FUNCTIONS_MAXIMUM; number++)
      if (!api->GetCallbackName(domain, number, &name) && name && function_is_recorded(name))
        worthy[domain - 1].numbers[worthy[domain - 1].count++] = (uint16_t)number;
  }
}

void cuda_kinds_begin(const struct cupti_api *its_api, unsigned its_traces) {
  api = its_api;
  traces = its_traces;
  find_worthy_calls();
}

void cuda_kinds_renew(void) {
  without[0] = 0;
  remedy = NULL;
}

void cuda_kinds_reset(void) {
  cuda_kinds_renew();
  has_topology = is_topology_on = false;
}

static int switch_kind(int kind, bool to_on) {
  return to_on ? api->ActivityEnable(kind) : api->ActivityDisable(kind);
}

void cuda_calls_note(enum cupti_domain domain, uint32_t number) {
  if (number < FUNCTIONS_MAXIMUM && !worthy[domain - 1].is_called[number]) worthy[domain - 1].is_called[number] = true;
}

static void switch_call(int domain, uint16_t number, int (*switch_one)(uint32_t, uint8_t), bool to_on, bool is_all) {
  bool *is_on = &worthy[domain - 1].is_on[number];
  bool is_idle = to_on ? *is_on : !worthy[domain - 1].is_called[number];
  if (is_idle && !is_all) return;
  cuda_note_result(api, "calls", switch_one(number, to_on));
  *is_on = to_on;
}

/* Those only, where CUPTI can be told so; else all, and the others are left out when they are read. */
void cuda_calls_switch(bool to_on, bool is_all) {
  static const int kinds[] = {[CUPTI_DRIVER_FUNCTIONS] = CUPTI_DRIVER, [CUPTI_RUNTIME_FUNCTIONS] = CUPTI_RUNTIME};
  if (!(traces & TRACE_API)) return;
  for (int domain = CUPTI_DRIVER_FUNCTIONS; domain <= CUPTI_RUNTIME_FUNCTIONS; domain++) {
    int (*switch_one)(uint32_t, uint8_t) =
        domain == CUPTI_RUNTIME_FUNCTIONS ? api->ActivityEnableRuntimeApi : api->ActivityEnableDriverApi;
    for (unsigned i = 0; switch_one && i < worthy[domain - 1].count; i++)
      switch_call(domain, worthy[domain - 1].numbers[i], switch_one, to_on, is_all);
    if (!switch_one) cuda_note_result(api, "calls", switch_kind(kinds[domain], to_on));
  }
}

void cuda_kinds_switch(bool to_on, bool with_lasting) {
  for (unsigned i = 0; i < WANTED_KINDS; i++) {
    const struct wanted_kind *kind = &wanted_kinds[i];
    if (!(kind->traces & traces) || (kind->is_lasting && !with_lasting) || !api->layout->sizes[kind->kind]) continue;
    if (kind->kind == CUPTI_UNIFIED_MEMORY && to_on && !device_facts_count()) continue; /* later: _ask_of_devices */
    int result = switch_kind(kind->kind, to_on);
    if (result == CUPTI_INVALID_KIND && kind->kind == CUPTI_EVENT) continue; /* 11.8 to 12.1: waits are told without */
    if (result && to_on && with_lasting) note_refusal(kind->name, result);
    else cuda_note_result(api, kind->name, result);
  }
  if (wants_graphs_whole() && api->layout->sizes[CUPTI_GRAPH_TRACE])
    cuda_note_result(api, "graphs", switch_kind(CUPTI_GRAPH_TRACE, to_on));
}

bool cuda_driver_call_switch(const char *name, bool to_on) {
  const char *its = NULL;
  if (!api->ActivityEnableDriverApi) return false;
  for (uint32_t number = 1; number < FUNCTIONS_MAXIMUM; number++)
    if (!api->GetCallbackName(CUPTI_DRIVER_FUNCTIONS, number, &its) && its && !strcmp(its, name))
      return !api->ActivityEnableDriverApi(number, to_on);
  return false;
}

void cuda_latency_switch(bool to_on) {
  if (!(traces & TRACE_LATENCY)) return;
  bool is_done = api->ActivityEnableLatencyTimestamps && !api->ActivityEnableLatencyTimestamps(to_on);
  if (to_on && !is_done) cuda_kinds_add_refused("times at which kernels were queued and submitted", NULL);
}

/* Kinds that this CUPTI does not know are refused together with the others. */
static bool count_unified(uint32_t device) {
  enum { KINDS = 8, OF_ONE_DEVICE = 1 /* CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE */ };
  struct {
    uint32_t scope, kind, device, is_on;
  } counters[KINDS];
  uint32_t count = KINDS;
  for (uint32_t i = 0; i < KINDS; i++) {
    counters[i].scope = OF_ONE_DEVICE;
    counters[i].kind = i + 1;
    counters[i].device = device;
    counters[i].is_on = 1;
  }
  while (count && api->ActivityConfigureUnifiedMemoryCounter(counters, count)) count--;
  return count;
}

void cuda_kinds_ask_of_devices(bool is_recorded) {
  char name[64];
  if (!device_facts_count()) return;
  if (!has_topology) {
    int pcie = api->ActivityEnable(CUPTI_PCIE), nvlink = api->ActivityEnable(CUPTI_NVLINK);
    if (pcie) note_refusal("how devices are attached", pcie);
    if (nvlink && device_facts_count() > 1) note_refusal("NVLink between devices", nvlink);
    has_topology = is_topology_on = true;
  }
  if (!(traces & TRACE_UNIFIED)) return;
  for (int device = 0; device < device_facts_count(); device++) {
    if (api->ActivityConfigureUnifiedMemoryCounter && count_unified((uint32_t)device)) continue;
    snprintf(name, sizeof name, "unified memory of device %d", device);
    cuda_kinds_add_refused(name, NULL);
  }
  int result = is_recorded ? api->ActivityEnable(CUPTI_UNIFIED_MEMORY) : 0;
  if (result) note_refusal("unified memory", result);
}

void cuda_kinds_end_topology(void) {
  static const int kinds[] = {CUPTI_PCIE, CUPTI_NVLINK};
  for (unsigned i = 0; i < 2 && is_topology_on; i++) api->ActivityDisable(kinds[i]); /* one may have been refused */
  is_topology_on = false;
}
