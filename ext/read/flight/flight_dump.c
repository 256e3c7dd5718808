/* flight_dump.c: see flight_dump.h. */
#include "read/flight/flight_dump.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "read/file/rank_of_name.h"
#include "read/flight/flight_rows.h"
#include "read/flight/json_tree.h"
#include "read/pickle/pickle_file.h"

/* ---- whose it is ---- */

static const char *base_name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* The number that the name ends with, before what tells the kind of file; -1: none. */
static int64_t trailing_number(const char *name) {
  static const char *const kinds[] = {".json", ".pickle", ".pkl"};
  size_t length = strlen(name), begin;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    size_t ending = strlen(kinds[i]);
    if (length > ending && strcasecmp(name + length - ending, kinds[i]) == 0) length -= ending;
  }
  for (begin = length; begin && isdigit((unsigned char)name[begin - 1]);) begin--;
  return length > begin && length - begin < 9 ? strtol(name + begin, NULL, 10) : -1;
}

/* <prefix><rank>, with or without the word in the prefix. */
static int64_t rank_of_dump(const char *path) {
  const char *name = base_name_of(path);
  int64_t rank = strcasestr(name, "rank") ? rank_of_name(name) : -1;
  if (rank < 0) rank = trailing_number(name);
  return rank < 0 ? rank_of_name(path) : rank;
}

/* ---- opening ---- */

static void diagnose_dump(struct profile *profile, const struct flight_rows *rows, const struct pickle *tree) {
  if (tree->wrong) {
    profile_diagnose(profile, "error", "damaged", 1, (int64_t)tree->offset, -1, "%s; what is before that is served",
                     tree->wrong);
  }
  if (rows->pickle.is_too_much) {
    profile_diagnose(profile, "error", "limit", 1, -1, -1,
                     "the dump uses the same lists or texts over and over, more often than a file of its size can: "
                     "what comes after that was left out");
  }
  if (rows->odd_count) {
    profile_diagnose(profile, "warning", "damaged", (int64_t)rows->odd_count, -1, TABLE_flight_records,
                     "entries, shapes or types of another form than the Flight Recorder's were left out");
  }
  if (rows->long_count) {
    profile_diagnose(profile, "warning", "limit", (int64_t)rows->long_count, -1, TABLE_flight_records,
                     "lists of shapes or types of more than 64 kB were left out");
  }
  if (rows->pickle.mended_count) {
    profile_diagnose(profile, "warning", "not_utf8", (int64_t)rows->pickle.mended_count, -1, -1, NOT_UTF8_MESSAGE);
  }
  if (profile->rank < 0) {
    profile_diagnose(profile, "warning", "no_rank", 1, -1, -1,
                     "the name of the file does not tell its rank, and a dump does not either: call it <name><rank>, "
                     "as PyTorch does");
  }
}

static const struct profile_source source = {.format = "flight_recorder", .load = eager_rows_load};

/* entries: flight_rows.c makes rows of them. */
static const char *const read_members[] = {"entries", NULL};

static enum tfprof_status describe(struct profile *profile, const char *path, const struct pickle *tree,
                                   const struct flight_rows *rows, uint64_t file_bytes) {
  struct pool *pool = rows->pickle.pool;
  enum tfprof_status status = pool_intern_mended(pool, path, strlen(path), &profile->path, NULL);
  if (!status) status = pool_intern(pool, "pytorch", 7, &profile->framework);
  if (!status) status = pool_intern(pool, "realtime", 8, &profile->clock_domain);
  if (!status) status = pickle_set_attributes(profile, &tree->root, read_members, "the dump");
  profile->rank = rank_of_dump(path);
  if (rows->world_size) profile->world_size = rows->world_size;
  profile->file_bytes = (int64_t)file_bytes;
  profile->complete = !tree->wrong;
  profile->has_span = true;
  profile->start_ns = rows->first_ns;
  profile->end_ns = rows->last_ns;
  return status;
}

static enum tfprof_status add_dump(struct store *store, uint32_t run_number, const char *path,
                                      const struct pickle *tree, uint64_t file_bytes, struct tfprof_error *error) {
  struct flight_rows rows;
  struct profile *profile = NULL;
  struct stat info;
  int64_t written_ns = 0;
  if (stat(path, &info) == 0) written_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
  enum tfprof_status status = flight_collect(&rows, store, &tree->root, file_bytes, written_ns, error);
  if (!status) status = store_add_profile(store, run_number, &source, NULL, &profile, error);
  if (!status) status = flight_publish(&rows, profile, error);
  if (!status && (status = describe(profile, path, tree, &rows, file_bytes)) != TFPROF_OK) error_no_memory(error);
  if (!status) diagnose_dump(profile, &rows, tree);
  else if (profile) store_drop_profile(store, profile);
  flight_rows_free(&rows);
  return status;
}

/* Of what was read of the file. */
static enum tfprof_status open_tree(struct store *store, uint32_t run_number, const char *path,
                                    const struct pickle *tree, uint64_t file_bytes, struct tfprof_error *error) {
  bool is_dump = pickle_find(&tree->root, "entries") || pickle_find(&tree->root, "pg_config") ||
                 pickle_find(&tree->root, "pg_status");
  if (is_dump) return add_dump(store, run_number, path, tree, file_bytes, error);
  if (tree->wrong)
    return error_at(error, TFPROF_CORRUPT, path, tree->offset, "%s, before any entry", tree->wrong);
  return error_set(error, TFPROF_WRONG_KIND, "%s is no dump of PyTorch's Flight Recorder: it has no entries", path);
}

static enum tfprof_status open_dump(struct store *store, uint32_t run_number, const struct read_bundle *bundle,
                                    bool is_json, struct tfprof_error *error) {
  const char *path = bundle->files[0].path;
  struct pickle tree;
  uint8_t *bytes;
  uint64_t length;
  enum tfprof_status status = pickle_file_read(path, &bytes, &length, error);
  if (!status) {
    status = is_json ? json_tree_read(&tree, store, (char *)bytes, length, error)
                     : pickle_read(&tree, store, bytes, length, error);
    if (!status) {
      status = open_tree(store, run_number, path, &tree, length, error);
      pickle_free(&tree);
    }
  }
  free(bytes);
  return status;
}

static enum tfprof_status open_pickle(struct store *store, uint32_t run_number, const struct read_bundle *bundle,
                                      struct tfprof_error *error) {
  return open_dump(store, run_number, bundle, false, error);
}

static enum tfprof_status open_json(struct store *store, uint32_t run_number, const struct read_bundle *bundle,
                                    struct tfprof_error *error) {
  return open_dump(store, run_number, bundle, true, error);
}

const struct read_format read_format_flight = {.name = "flight_recorder",
                                               .description = "dump of PyTorch's Flight Recorder",
                                               .open = open_pickle,
                                               .joins_dumps = true};
const struct read_format read_format_flight_json = {.name = "flight_recorder",
                                                    .description = "dump of PyTorch's Flight Recorder as JSON",
                                                    .open = open_json,
                                                    .joins_dumps = true};

/* ---- recognising ---- */

static bool has(const uint8_t *head, size_t length, const char *text) {
  return memmem(head, length, text, strlen(text)) != NULL;
}

/* The keys of the dict stand right at the beginning, `version` as the first. */
static bool is_pickle(const uint8_t *head, size_t length) {
  if (length < 2 || head[0] != 0x80 || head[1] < 2 || head[1] > 5) return false;
  bool is_dict = has(head, length < 64 ? length : 64, "version");
  return is_dict && (has(head, length, "pg_config") || has(head, length, "pg_status") ||
                     has(head, length, "nccl_version") || has(head, length, "comm_lib_version") ||
                     (has(head, length, "entries") && has(head, length, "profiling_name")));
}

/* Its keys stand in the order of the alphabet. */
static bool is_json(const uint8_t *head, size_t length) {
  size_t at = 0;
  while (at < length && isspace(head[at])) at++;
  if (at == length || head[at] != '{' || has(head, length, "\"traceEvents\"")) return false;
  bool is_entry = has(head, length, "\"collective_seq_id\"") && has(head, length, "\"profiling_name\"");
  return has(head, length, "\"entries\"") ? is_entry || has(head, length, "\"pg_config\"")
                                          : has(head, length, "\"pg_config\"") && has(head, length, "\"pg_status\"");
}

static struct recognised probe_flight(const char *path, const uint8_t *head, size_t length) {
  (void)path;
  if (is_pickle(head, length)) return (struct recognised){&read_format_flight, 95};
  return (struct recognised){is_json(head, length) ? &read_format_flight_json : NULL, 95};
}

/* ---- several of one rank ---- */

/* Whether the left one is to be read where both are of one rank. */
static bool is_better(const struct read_file *left, const struct read_file *right) {
  struct stat of_left, of_right;
  if (left->is_open != right->is_open) return left->is_open;
  if (left->format != right->format) return left->format == &read_format_flight;
  if (stat(left->path, &of_left) || stat(right->path, &of_right)) return false;
  const struct timespec *a = &of_left.st_mtim, *b = &of_right.st_mtim;
  return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static void claim_flight(const struct read_file *files, size_t count, size_t *owners) {
  struct row_map best = {0}; /* of each rank: the file + 1 */
  for (size_t i = 0; i < count; i++) {
    int64_t rank = rank_of_dump(files[i].path);
    owners[i] = i;
    uint32_t number = rank < 0 ? ROW_MAP_NONE : row_map_number(&best, (struct row_key){{(uint64_t)rank, 0, 0}});
    if (number == ROW_MAP_NONE) continue;
    uint32_t other = best.values[number];
    bool is_left_out = other && !is_better(&files[i], &files[other - 1]);
    if (is_left_out) owners[i] = READ_LEFT_OUT;
    else if (other) owners[other - 1] = READ_LEFT_OUT;
    if (!is_left_out) best.values[number] = (uint32_t)i + 1;
  }
  row_map_free(&best);
}

static const struct read_format *const formats[] = {&read_format_flight, &read_format_flight_json, NULL};
const struct reader flight_reader = {.formats = formats, .probe = probe_flight, .claim = claim_flight};
