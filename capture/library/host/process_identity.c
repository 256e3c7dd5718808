/* process_identity.c: see process_identity.h. */
#include "process_identity.h"

#include "common/command_line.h"
#include "common/control_place.h"
#include "recorder/recorder.h"
#include "recorder/settings.h"
#include "recorder/small_file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t sampling_seed;
/* Of all frameworks so far; the writer thread reads while one is added. */
enum { FRAMEWORKS_MAXIMUM = 4, FRAMEWORK_TEXT = 64, FRAMEWORK_LISTS = 8 };
struct framework_texts {
  char names[FRAMEWORKS_MAXIMUM * FRAMEWORK_TEXT], versions[FRAMEWORKS_MAXIMUM * FRAMEWORK_TEXT];
};
static struct framework_texts framework_lists[FRAMEWORK_LISTS];
static _Atomic unsigned framework_list_count; /* the last of them holds */
static pthread_mutex_t frameworks_lock = PTHREAD_MUTEX_INITIALIZER; /* of those who add */
static struct framework {
  char name[FRAMEWORK_TEXT], version[FRAMEWORK_TEXT];
} frameworks[FRAMEWORKS_MAXIMUM];
static unsigned framework_count;
static char host[128], framework_version[FRAMEWORK_TEXT], job[512], *command, *run_command;
static _Atomic uint64_t told_rank; /* the rank above, the size of the world below, which is never 0; 0: not told */
static _Atomic uint64_t found_rank; /* the same of the environment */
static _Atomic uint64_t environment_rank = UINT64_C(0xffffffff) << 32; /* the same, where one of both may be missing */
static _Atomic bool is_changed;

/* Of the text no more than has room beside FRAMEWORKS_MAXIMUM - 1 others. */
static void append_text(char *list, const char *text) {
  size_t length = strlen(list), added = strnlen(text, FRAMEWORK_TEXT - 3);
  if (length) list = stpcpy(list + length, ", ");
  memcpy(list, text, added);
  list[added] = 0;
}

/* They are listed in a new order. */
static void list_frameworks(void) {
  unsigned count = atomic_load(&framework_list_count);
  if (count == FRAMEWORK_LISTS) return;
  for (unsigned i = 0; i < framework_count; i++) {
    append_text(framework_lists[count].names, frameworks[i].name);
    append_text(framework_lists[count].versions, frameworks[i].version);
  }
  atomic_store(&framework_list_count, count + 1);
  atomic_store(&is_changed, true);
}

/* The place of one that is there; framework_count: it is not. */
static unsigned place_of_framework(const char *name) {
  unsigned place = 0;
  while (place < framework_count && strcmp(frameworks[place].name, name) != 0) place++;
  return place;
}

static void insert_framework(unsigned place, unsigned end, const struct framework *one) {
  memmove(&frameworks[place + 1], &frameworks[place], (end - place) * sizeof *frameworks);
  frameworks[place] = *one;
}

static bool is_led; /* the first one stays first */

static void add_framework(const char *name, const char *version) {
  static const char *const in_order[] = {"pytorch", "tensorflow", "jax", NULL};
  if (framework_count == FRAMEWORKS_MAXIMUM || place_of_framework(name) < framework_count) return;
  struct framework one;
  snprintf(one.name, sizeof one.name, "%s", name);
  snprintf(one.version, sizeof one.version, "%s", version);
  unsigned place = is_led;
  for (const char *const *before = in_order; *before && strcmp(*before, name) != 0; before++) {
    unsigned its_place = place_of_framework(*before);
    if (its_place < framework_count && its_place >= place) place = its_place + 1;
  }
  insert_framework(place, framework_count++, &one);
  list_frameworks();
}

void process_identity_add_framework(const char *name, const char *version) {
  pthread_mutex_lock(&frameworks_lock);
  snprintf(framework_version, sizeof framework_version, "%s", version);
  add_framework(name, version);
  pthread_mutex_unlock(&frameworks_lock);
}

void process_identity_lead_framework(const char *name) {
  pthread_mutex_lock(&frameworks_lock);
  unsigned place = place_of_framework(name);
  if (place < framework_count) {
    is_led = true;
    struct framework one = frameworks[place];
    insert_framework(0, place, &one);
    if (place) list_frameworks();
  }
  pthread_mutex_unlock(&frameworks_lock);
}

static void set_frameworks(struct dump_profile *profile) {
  unsigned count = atomic_load(&framework_list_count);
  profile->framework = count ? framework_lists[count - 1].names : NULL;
  profile->framework_version = count ? framework_lists[count - 1].versions : NULL;
}

const char *process_identity_framework_version(void) { return framework_version; }

bool process_identity_has_framework(void) { return atomic_load(&framework_list_count) > 0; }

void process_identity_set_rank(int rank, int world_size) {
  if (rank < 0 || world_size < 1) return;
  atomic_store(&told_rank, (uint64_t)(unsigned)rank << 32 | (unsigned)world_size);
  atomic_store(&is_changed, true);
}

static void set_told_rank(struct dump_profile *profile) {
  uint64_t told = atomic_load(&told_rank);
  if (!told) return;
  profile->rank = (int32_t)(told >> 32);
  profile->world_size = (uint32_t)told;
}

static void identity_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  (void)now;
  (void)is_end;
  if (!atomic_exchange(&is_changed, false)) return;
  struct dump_profile news = {.rank = -1};
  struct tfprof_error error;
  set_told_rank(&news);
  set_frameworks(&news);
  if (dump_writer_profile(recorder->writer, &news, &error) != TFPROF_OK) recorder_complain(recorder, &error);
}

const struct capture_source identity_source = {
    .name = "identity", .locks = (const struct fork_lock[]){{.lock = &frameworks_lock}, {0}}, .tick = identity_tick};

bool process_identity_is_rank(int *rank) {
  uint64_t known = atomic_load_explicit(&told_rank, memory_order_relaxed);
  if (!known) known = atomic_load_explicit(&found_rank, memory_order_relaxed);
  *rank = (int)(known >> 32);
  return (uint32_t)known > 1;
}

static int32_t environment_number(const char *const *names, int32_t otherwise) {
  for (; *names; names++) {
    const char *text = getenv(*names);
    char *end;
    long number = text && *text ? strtol(text, &end, 10) : -1;
    if (number >= 0 && number <= INT32_MAX && *end == 0) return (int32_t)number;
  }
  return otherwise;
}

void process_identity_set_environment_rank(int rank, int world_size) {
  uint64_t before = atomic_load(&environment_rank);
  if (rank < 0) rank = (int)(before >> 32);
  if (world_size <= 0) world_size = (int)(uint32_t)before;
  atomic_store(&environment_rank, (uint64_t)(uint32_t)rank << 32 | (uint32_t)world_size);
  if (rank >= 0 && world_size > 0) atomic_store(&found_rank, atomic_load(&environment_rank));
}

static void find_rank(void) {
  static const char *const rank_names[] = {"RANK",         "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                           "SLURM_PROCID", "HOROVOD_RANK",         NULL};
  static const char *const size_names[] = {"WORLD_SIZE",   "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                           "SLURM_NTASKS", "HOROVOD_SIZE",         NULL};
  process_identity_set_environment_rank(environment_number(rank_names, -1), environment_number(size_names, 0));
}

void process_identity_get(struct process_identity *identity) {
  memset(identity, 0, sizeof *identity);
  memcpy(identity->host, host, sizeof host);
  struct dump_profile *profile = &identity->profile;
  profile->host = identity->host;
  profile->job = job;
  profile->sampling_seed = sampling_seed;
  profile->command = command;
  profile->run_command = run_command;
  set_frameworks(profile);
  profile->recorder = "tfprof-capture " TFPROF_RELEASE;
  profile->clock_domain = "monotonic";
  profile->pid = (uint32_t)getpid();
  profile->parent_pid = (uint32_t)getppid();
  uint64_t known = atomic_load(&environment_rank);
  profile->rank = (int32_t)(known >> 32);
  profile->world_size = (uint32_t)known;
  set_told_rank(profile);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  profile->created_realtime_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  char stat[1024];
  if (small_file_read("/proc/self/stat", stat, sizeof stat))
    profile->process_start_ticks = control_read_start_time(stat);
  /* 36 characters: 16 bytes in hexadecimal with dashes. */
  char text[40];
  small_file_read("/proc/sys/kernel/random/boot_id", text, sizeof text);
  for (int i = 0, digits = 0; text[i] && digits < 32; i++) {
    const char *hexadecimal = "0123456789abcdef", *digit = strchr(hexadecimal, text[i]);
    if (!digit) continue;
    profile->boot_id[digits / 2] = (uint8_t)(profile->boot_id[digits / 2] << 4 | (digit - hexadecimal));
    digits++;
  }
}

static const char *variable(const char *name) {
  const char *text = getenv(name);
  return text ? text : "";
}

/* torchrun calls a run that nobody named "none". */
static void find_job(void) {
  const char *run = variable("TORCHELASTIC_RUN_ID"), *slurm = variable("SLURM_JOB_ID"),
             *space = variable("PMIX_NAMESPACE"), *master = variable("MASTER_ADDR");
  const char *attempt = variable("TORCHELASTIC_RESTART_COUNT"), *directory = setting("TFPROF_RUN_DIRECTORY");
  if (!*attempt) attempt = variable("SLURM_RESTART_COUNT");
  char name[400];
  if (*run && strcmp(run, "none") != 0)
    snprintf(name, sizeof name, "torchelastic %s", run);
  else if (*slurm)
    snprintf(name, sizeof name, "slurm %s.%s", slurm, variable("SLURM_STEP_ID"));
  else if (*space)
    snprintf(name, sizeof name, "pmix %s", space);
  else if (*master)
    snprintf(name, sizeof name, "%s:%s", master, variable("MASTER_PORT"));
  else
    snprintf(name, sizeof name, "%s", directory ? directory : "");
  snprintf(job, sizeof job, "%s%s%.20s", name, *attempt ? ", attempt " : "", attempt);
}

const char *process_identity_job(void) { return job; }

void process_identity_set_seed(uint64_t seed) { sampling_seed = seed; }

void process_identity_begin(bool with_command, bool with_source) {
  find_job();
  find_rank();
  if (gethostname(host, sizeof host - 1)) host[0] = 0;
  if (!with_command) return;
  static char words[16384 + 1]; /* longer ones are cut */
  size_t length = small_file_read_bytes("/proc/self/cmdline", words, sizeof words - 1);
  words[length] = 0;
  command = command_line_of_words(words, length, with_source); /* once for a process: it is never given back */
  const char *given = setting("TFPROF_RUN_COMMAND");
  run_command = given && *given ? strdup(given) : NULL;
}
