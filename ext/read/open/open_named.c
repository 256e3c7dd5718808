/* open_named.c: files that a user names by keys, each with what it is: tfprof_open('graph_path', g, 'op_log_path', l).
**
** Unlike a file by itself, which is whatever its bytes say, each file here must be of the format that its key wants.
*/
#include "read/open/opening.h"
#include "read/open/recognise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys ---- */

static const struct read_key *find_in(const struct reader *reader, const char *name) {
  for (const struct read_key *key = reader->keys; key && key->name; key++) {
    if (strcmp(key->name, name) == 0) return key;
  }
  return NULL;
}

const struct read_key *read_find_key(const char *name) {
  const struct read_key *found = NULL;
  for (const struct reader *const *reader = readers; *reader && !found; reader++) found = find_in(*reader, name);
  return found;
}

void read_list_keys(char *text, size_t size) {
  size_t length = 0, last = 0;
  *text = 0;
  for (const struct reader *const *reader = readers; *reader; reader++) {
    for (const struct read_key *key = (*reader)->keys; key && key->name && length < size; key++) {
      last = length;
      length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "", key->name);
    }
  }
  if (last == 0 || length + 4 >= size) return;
  memmove(text + last + 5, text + last + 2, length - last - 1);
  memcpy(text + last, " and ", 5);
}

static const struct reader *reader_of(const struct read_key *key) {
  const struct reader *const *reader = readers;
  while (find_in(*reader, key->name) != key) reader++;
  return *reader;
}

/* ---- what the files must be ---- */

/* What a format is called by the key that wants it; NULL: none does. */
static const char *content_of(const struct read_format *format) {
  for (const struct reader *const *reader = readers; *reader; reader++) {
    for (const struct read_key *key = (*reader)->keys; key && key->name; key++) {
      if (key->format == format) return key->content;
    }
  }
  return NULL;
}

static enum tfprof_status refuse(const struct read_key *key, const char *path, const struct file_head *head,
                                 const struct read_format *format, struct tfprof_error *error) {
  const char *content = format ? content_of(format) : NULL;
  if (head->is_gzip) {
    error_at(error, TFPROF_WRONG_KIND, path, 0, "%s must be %s, and this is compressed with gzip; unpack it first",
             key->name, key->content);
  } else if (head->file_bytes == 0) {
    error_at(error, TFPROF_WRONG_KIND, path, 0, "%s must be %s, and the file is empty", key->name, key->content);
  } else {
    error_at(error, TFPROF_WRONG_KIND, path, 0, "%s must be %s, and this is %s%s", key->name, key->content,
             format && !content ? "a " : "", content ? content : format ? format->description : "none");
  }
  if (error) error->has_offset = false;
  return TFPROF_WRONG_KIND;
}

static bool is_wanted(const struct read_key *key, const struct read_format *format) {
  bool is_right = format == key->format;
  for (const struct read_format *const *other = key->others; other && *other; other++) is_right |= format == *other;
  return is_right;
}

static enum tfprof_status check_file(const struct read_key *key, const char *path, struct file_head *head,
                                     struct tfprof_error *error) {
  enum tfprof_status status = recognise_read(path, head, error);
  if (status) {
    if (error) error->has_offset = false;
    return status;
  }
  const struct read_format *format = recognise_format(path, head);
  bool is_right = format ? is_wanted(key, format) : key->may_be && key->may_be(head->bytes, head->length);
  return is_right && !head->is_gzip ? TFPROF_OK : refuse(key, path, head, format, error);
}

static enum tfprof_status check_path(const struct read_key *key, const char *path, struct file_head *head,
                                     struct path_list *files, struct tfprof_error *error) {
  char *file = NULL;
  enum tfprof_status status = key->find ? key->find(path, &file, error) : TFPROF_OK;
  if (!status) status = check_file(key, file ? file : path, head, error);
  if (!status) status = paths_add(files, file ? file : path, "", error);
  free(file);
  return status;
}

static enum tfprof_status check_paths(const struct read_key *key, const char *paths, struct file_head *head,
                                      struct path_list *files, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (const char *at = paths; *at && !status;) {
    size_t length = strcspn(at, ",");
    char *path = length ? strndup(at, length) : NULL;
    struct path_list found = {0};
    if (length && !path) return error_no_memory(error);
    if (path) status = key->list ? key->list(path, &found, error) : paths_add(&found, path, "", error);
    for (size_t i = 0; i < found.count && !status; i++) status = check_path(key, found.paths[i], head, files, error);
    paths_clear(&found);
    free(path);
    at += length + (at[length] == ',');
  }
  return status;
}

/* `files`: those that are named, in the order of the options. */
static enum tfprof_status check(const struct read_option *options, size_t count, struct path_list *files,
                                struct tfprof_error *error) {
  struct file_head *head = malloc(sizeof *head);
  enum tfprof_status status = head ? TFPROF_OK : error_no_memory(error);
  for (size_t i = 0; i < count && !status; i++) {
    const struct read_key *key = options[i].key;
    if (key->kind == READ_PATH) status = check_path(key, options[i].text, head, files, error);
    else if (key->kind == READ_PATHS) status = check_paths(key, options[i].text, head, files, error);
  }
  free(head);
  return status;
}

/* ---- opening ---- */

/* The file that stands for all: that of the first of the reader's keys that was given. NULL: none was. */
static const char *first_path(const struct reader *reader, const struct read_option *options, size_t count) {
  for (const struct read_key *key = reader->keys; key->name; key++) {
    for (size_t i = 0; i < count; i++) {
      if (options[i].key == key && key->kind != READ_NUMBER) return options[i].text;
    }
  }
  return NULL;
}

/* So that a refresh, or opening the directory, finds them open. The profile is where the file is that stands for all:
** `first`. */
static void identify(struct store *store, const char *first, const struct path_list *list) {
  struct read_file *files = calloc(list->count, sizeof *files);
  for (size_t i = 0; i < list->count && files; i++) {
    files[i].path = list->paths[i];
    if (strcmp(files[i].path, first) != 0) continue;
    files[i].path = files[0].path;
    files[0].path = list->paths[i];
  }
  if (files) opening_identify(store, &(struct read_bundle){files, list->count});
  free(files);
}

/* Whether the only option names a profile of another reader. */
static bool is_of_another(const struct read_option *options, size_t count) {
  if (count != 1 || !options->key->is_any_alone) return false;
  struct file_head *head = malloc(sizeof *head);
  const struct read_format *format = NULL;
  if (head && recognise_read(options->text, head, NULL) == TFPROF_OK) format = recognise_format(options->text, head);
  free(head);
  return format && !content_of(format);
}

enum tfprof_status read_open_named(struct store *store, const struct read_option *options, size_t count,
                                   uint32_t *run_number, struct tfprof_error *error) {
  if (is_of_another(options, count)) return read_open(store, options->text, run_number, error);
  const struct reader *reader = count ? reader_of(options->key) : NULL;
  const char *path = reader ? first_path(reader, options, count) : NULL;
  if (!path) {
    char keys[400];
    read_list_keys(keys, sizeof keys);
    return error_set(error, TFPROF_USAGE, "no file is named; the keys are %s", keys);
  }
  for (size_t i = 0; i < count; i++) {
    if (reader_of(options[i].key) == reader) continue;
    return error_set(error, TFPROF_USAGE, "%s and %s name files of different tools", options->key->name,
                     options[i].key->name);
  }
  struct path_list files = {0};
  enum tfprof_status status = check(options, count, &files, error);
  if (!status) status = store_add_run(store, path, NULL, run_number, error);
  if (!status) {
    status = reader->open_named(store, *run_number, options, count, error);
    if (!status) identify(store, path, &files);
    if (status) store_cancel_run(store, *run_number);
    else store_publish_run(store, *run_number);
  }
  paths_clear(&files);
  return status;
}
