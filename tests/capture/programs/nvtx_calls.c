/* nvtx_calls.c: every call of NVTX that its header has, from several threads, with right and wrong arguments. What it
** prints is what must be found: see test_nvtx.py.
**
**   nvtx_calls return|exit|_exit|kill|exec|fork
*/
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

enum { THREADS = 4, ROUNDS = 1000 };

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t registered;
static nvtxRangeId_t handed_over[THREADS];
static pthread_barrier_t all_began;

static nvtxEventAttributes_t attributes(const char *message) {
  nvtxEventAttributes_t event = {0};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = message;
  return event;
}

static void *run_thread(void *argument) {
  int number = (int)(intptr_t)argument;
  char name[32];
  snprintf(name, sizeof name, "worker %d", number);
  nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), name);
  for (int i = 0; i < ROUNDS; i++) {
    nvtxEventAttributes_t event = attributes("");
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = registered;
    nvtxRangePushA("outer");
    nvtxDomainRangePushEx(domain, &event);
    nvtxRangePushA("inner");
    nvtxRangePop();
    nvtxDomainRangePop(domain);
    nvtxRangePop();
  }
  handed_over[number] = nvtxRangeStartA("handed over");
  /* Of a thread whose place another one took over, it is not known any more which one began a range. */
  pthread_barrier_wait(&all_began);
  return NULL;
}

static void run_threads(void) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&all_began, NULL, THREADS);
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, run_thread, (void *)(intptr_t)i)) exit(4);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) nvtxRangeEnd(handed_over[i]);
}

/* Each sort of what can be said of an event. */
static void say_everything(void) {
  nvtxNameCategoryA(7, "seven");
  nvtxNameCategoryW(8, L"acht \u00fc");
  nvtxDomainNameCategoryA(domain, 7, "its seven");
  nvtxEventAttributes_t event = attributes("everything");
  event.category = 7;
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xff8040c0;
  event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  event.payload.llValue = -5;
  nvtxRangePushEx(&event);
  nvtxRangePop();
  event.category = 8;
  event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  event.payload.dValue = 0.5;
  nvtxMarkEx(&event);
  event.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
  event.payload.fValue = 1.5f;
  nvtxRangeEnd(nvtxRangeStartEx(&event));
  event.category = 9;
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = UINT64_MAX;
  nvtxDomainMarkEx(domain, &event);
  event.category = 7;
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
  event.payload.uiValue = 4000000000u;
  nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &event));
  event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
  event.payload.iValue = -7;
  event.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  event.message.unicode = L"wide \u20ac \U0001f600";
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
  nvtxMarkA("mark");
  nvtxMarkW(L"wide mark");
  nvtxRangePushW(L"wide push");
  nvtxRangePop();
  nvtxRangeEnd(nvtxRangeStartW(L"wide start"));
}

static void say_wrong_things(void) {
  static char huge[1 << 16];
  memset(huge, 'x', sizeof huge - 1);
  nvtxRangePop(); /* nothing is open */
  nvtxDomainRangePop(domain);
  nvtxRangeId_t id = nvtxRangeStartA("ended twice");
  nvtxRangeEnd(id);
  nvtxRangeEnd(id);
  nvtxRangeEnd(12345);
  nvtxRangePushA(NULL);
  nvtxRangePop();
  nvtxMarkA(huge);
  nvtxDomainHandle_t gone = nvtxDomainCreateA("gone");
  nvtxDomainDestroy(gone);
  nvtxEventAttributes_t event = attributes("of a domain that is gone");
  nvtxDomainRangePushEx(gone, &event);
  nvtxDomainRangePop(gone);
  nvtxDomainMarkEx((nvtxDomainHandle_t)&event, &event); /* it is none */
  event.size = 20; /* an older structure: neither value nor message */
  nvtxRangePushEx(&event);
  nvtxRangePop();
  event = attributes("of the future");
  event.version = 99;
  event.size = 4096;
  nvtxRangePushEx(&event);
  nvtxRangePop();
  event.size = 0;
  nvtxMarkEx(&event);
  event = attributes("");
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = (nvtxStringHandle_t)(void *)&event; /* it is none */
  nvtxMarkEx(&event);
  for (int i = 0; i < 300; i++) nvtxRangePushA("deep"); /* more than are kept */
  for (int i = 0; i < 300; i++) nvtxRangePop();
}

struct sample {
  int32_t batch;
  double loss;
  char phase[8];
  uint8_t state;
  float rates[3];
};

static void say_payloads(void) {
  const nvtxPayloadEnum_t states[] = {{"idle", 0, 0}, {"busy", 1, 0}};
  const nvtxPayloadEnumAttr_t states_attributes = {
      .fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                   NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
      .entries = states,
      .numEntries = 2,
      .sizeOfEnum = 1};
  uint64_t state = nvtxPayloadEnumRegister(domain, &states_attributes);
  const nvtxPayloadSchemaEntry_t entries[] = {
      {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "batch"},
      {.type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, .name = "loss"},
      {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, .name = "phase", .arrayOrUnionDetail = 8},
      {.type = state, .name = "state"},
      {.flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, .type = NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, .name = "rates",
       .arrayOrUnionDetail = 3}};
  const nvtxPayloadSchemaAttr_t schema_attributes = {
      .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
      .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
      .entries = entries,
      .numEntries = 5,
      .payloadStaticSize = sizeof(struct sample)};
  uint64_t schema = nvtxPayloadSchemaRegister(domain, &schema_attributes);
  const struct sample sample = {3, 0.25, "train\"", 1, {1, 2.5f, -3}};
  nvtxPayloadData_t data = {schema, sizeof sample, &sample};
  nvtxEventAttributes_t event = attributes("with a schema");
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;
  event.payload.ullValue = (uint64_t)(uintptr_t)&data;
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
  const nvtxPayloadSchemaEntry_t named[] = {
      {.flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, .type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, .name = "what"},
      {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "n"}};
  nvtxPayloadSchemaAttr_t named_attributes = schema_attributes;
  named_attributes.entries = named;
  named_attributes.numEntries = 2;
  named_attributes.payloadStaticSize = 16;
  const struct {
    const char *what;
    uint64_t n;
  } own = {"named by its payload", 42};
  nvtxPayloadData_t own_data = {nvtxPayloadSchemaRegister(domain, &named_attributes), sizeof own, &own};
  nvtxRangePushPayload(domain, &own_data, 1);
  nvtxRangePopPayload(domain, NULL, 0);
  nvtxMarkPayload(domain, &own_data, 1);
  nvtxRangeEndPayload(domain, nvtxRangeStartPayload(domain, &own_data, 1), &data, 1);
  const int64_t two[] = {-1, 2};
  nvtxPayloadData_t plain = {NVTX_PAYLOAD_ENTRY_TYPE_INT64, sizeof two, two};
  nvtxMarkPayload(domain, &plain, 1);
  plain.size = 4; /* too short */
  nvtxMarkPayload(domain, &plain, 1);
  if (!nvtxDomainIsEnabled(domain)) exit(5);
}

static void wait_for_locks(void) {
  nvtxSyncUserAttributes_t lock = {0};
  lock.version = NVTX_VERSION;
  lock.size = sizeof lock;
  lock.messageType = NVTX_MESSAGE_TYPE_ASCII;
  lock.message.ascii = "queue lock";
  nvtxSyncUser_t handle = nvtxDomainSyncUserCreate(domain, &lock);
  nvtxDomainSyncUserAcquireStart(handle);
  nvtxDomainSyncUserAcquireSuccess(handle);
  nvtxDomainSyncUserReleasing(handle);
  nvtxDomainSyncUserDestroy(handle);
}

int main(int argc, char **argv) {
  const char *end = argc > 1 ? argv[1] : "return";
  nvtxInitialize(NULL);
  domain = nvtxDomainCreateA("a library");
  registered = nvtxDomainRegisterStringA(domain, "registered");
  if (nvtxDomainCreateW(L"a library") != domain) return 3;
  nvtxDomainDestroy(domain);
  run_threads();
  say_everything();
  say_wrong_things();
  say_payloads();
  wait_for_locks();
  nvtxRangeStartA("started and left open");
  nvtxRangePushA("left open");
  fflush(stdout);
  if (!strcmp(end, "_exit") || !strcmp(end, "kill")) {
    usleep(1500000); /* more than the second of which nothing is promised */
    if (!strcmp(end, "_exit")) _exit(0);
    kill(getpid(), SIGKILL);
  }
  if (!strcmp(end, "exit")) exit(0);
  if (!strcmp(end, "exec")) {
    nvtxMarkA("before exec");
    execl(argv[0], argv[0], "return", (char *)NULL);
  }
  if (!strcmp(end, "fork")) {
    pid_t quiet = fork();
    if (!quiet) exit(0);
    waitpid(quiet, NULL, 0);
    pid_t child = fork();
    if (!child) {
      nvtxRangePushA("in the child");
      nvtxRangePop();
      nvtxRangePop(); /* what the parent left open */
      exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status) return 6;
  }
  return 0;
}
