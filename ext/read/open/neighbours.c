/* neighbours.c: see neighbours.h.
**
** People name what lies in the directory of their model or log: values of a checkpoint, event files of TensorBoard, a
** Keras model, StableHLO.  What such a file is shows in its first bytes or its name; what can be opened instead is
** looked for beside it and, as in a log directory, below.
*/
#include "read/open/neighbours.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read/open/log_directory.h"
#include "read/file/message_head.h"

enum { MAXIMUM_BESIDE = 500 /* files that are looked into */ };

static bool head_has(const struct file_head *head, const char *text) {
  return head->length && memmem(head->bytes, head->length, text, strlen(text));
}

static bool head_begins(const struct file_head *head, const char *bytes, size_t length) {
  return head->length >= length && memcmp(head->bytes, bytes, length) == 0;
}

static bool name_ends(const char *name, const char *ending) {
  size_t length = strlen(name), size = strlen(ending);
  return length >= size && strcasecmp(name + length - size, ending) == 0;
}

/* ---- what it is ---- */

/* "model.ckpt-3.data-00000-of-00001" */
static bool is_checkpoint_data(const char *name) {
  const char *data = strstr(name, ".data-");
  return data && isdigit((unsigned char)data[6]) && strstr(data, "-of-");
}

static const char *describe(const char *name, const struct file_head *head) {
  bool is_zip = head_begins(head, "PK\x03\x04", 4), is_hdf = head_begins(head, "\x89HDF", 4);
  if (is_checkpoint_data(name)) return "the values of a TensorFlow checkpoint, which its .index names";
  if (strstr(name, "tfevents") || head_has(head, "brain.Event:"))
    return "an event file of TensorBoard, with scalars, histograms and texts, which holds no profile";
  if (name_ends(name, ".keras") || (is_zip && head_has(head, "config.json") && head_has(head, "keras")))
    return "a Keras model, its layers and weights, which holds no graph of ops; a SavedModel of it (model.export()) "
           "does";
  if (is_hdf) return "an HDF5 file, as Keras keeps weights in, which holds no graph of ops";
  if (name_ends(name, ".hlo") || name_ends(name, ".hlo_proto.pb"))
    return "called as a program that XLA compiled (HLO), and neither the text of one, which begins with HloModule, nor "
           "its message";
  if (head_begins(head, "ML\xefR", 4) || name_ends(name, ".mlir") ||
      ((head_begins(head, "module ", 7) || head_begins(head, "#loc", 4)) &&
       (head_has(head, "stablehlo.") || head_has(head, "mhlo."))))
    return "a program that JAX or TensorFlow gave to XLA (StableHLO); what XLA makes of it (HLO) opens, which "
           "lowered.compile().as_text() of JAX and XLA_FLAGS=--xla_dump_to=DIR write, and the XSpace of a profile "
           "(.xplane.pb) has, with times";
  if (strcmp(name, "fingerprint.pb") == 0 || strcmp(name, "keras_metadata.pb") == 0)
    return "a part of a SavedModel, whose graph is in saved_model.pb";
  if (is_trace_message(head->bytes, head->length))
    return "trace events of TensorFlow (tensorflow.profiler.Trace), not an XSpace; the profiler session that made them "
           "exports that, too (.xplane.pb)";
  if (head_begins(head, "saved_model_schema_version", 26)) return "a SavedModel as text; save it as saved_model.pb";
  return NULL;
}

/* ---- what is beside it ---- */

/* The number of bytes that the names begin with alike. */
static size_t common_length(const char *left, const char *right) {
  size_t length = 0;
  while (left[length] && left[length] == right[length]) length++;
  return length;
}

/* The file of the directory that can be opened and is called most like this one, but none of a format; to be freed.
** NULL: there is none. */
static char *find_beside(const char *directory, const char *name, const struct read_format *but) {
  DIR *stream = opendir(directory);
  struct file_head *head = malloc(sizeof *head);
  struct dirent *entry;
  char *found = NULL;
  for (unsigned i = 0; stream && head && i < MAXIMUM_BESIDE && (entry = readdir(stream)); i++) {
    char *path = NULL;
    size_t common = common_length(entry->d_name, name), most = found ? common_length(strrchr(found, '/') + 1, name) : 0;
    bool is_nearer = !found || common > most || (common == most && name_ends(entry->d_name, ".index"));
    if (entry->d_name[0] == '.' || strcmp(entry->d_name, name) == 0 || !is_nearer) continue;
    if (asprintf(&path, "%s/%s", directory, entry->d_name) < 0) break;
    const struct read_format *format = recognise_read(path, head, NULL) ? NULL : recognise_format(path, head);
    if (format && format != but) {
      free(found);
      found = path;
    } else {
      free(path);
    }
  }
  if (stream) closedir(stream);
  free(head);
  return found;
}

/* The newest run below the directory; to be freed. */
static char *find_below(const char *directory) {
  struct log_run run;
  char *found = NULL;
  if (log_directory_newest(NULL, directory, &run, NULL) == TFPROF_OK && run.directories.count)
    found = strdup(run.directories.paths[0]);
  log_run_clear(&run);
  return found;
}

/* The newest run of the directory above it, where TensorFlow puts that beside train/ and validation/ with their events:
** logs/plugins/profile; to be freed. */
static char *find_above(const char *directory) {
  const char *slash = strrchr(directory, '/');
  char *plugins = NULL, *found = NULL;
  int length = strcmp(directory, ".") == 0 ? asprintf(&plugins, "../plugins")
               : slash ? asprintf(&plugins, "%.*s/plugins", (int)(slash - directory), directory)
                       : asprintf(&plugins, "plugins");
  if (length < 0) return NULL;
  if (access(plugins, F_OK) == 0) found = find_below(plugins);
  free(plugins);
  return found;
}

/* The directory that the file lies in; to be freed. NULL: no memory. */
static char *directory_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");
}

void neighbours_add(const char *path, const struct read_format *but, struct tfprof_error *error) {
  const char *slash = strrchr(path, '/');
  char *directory = error ? directory_of(path) : NULL;
  char *found = directory ? find_beside(directory, slash ? slash + 1 : path, but) : NULL;
  size_t length = found ? strlen(error->message) : 0;
  if (found) snprintf(error->message + length, sizeof error->message - length, "; %s can be opened", found);
  free(found);
  free(directory);
}

enum tfprof_status neighbours_refuse(const char *path, const struct file_head *head, struct tfprof_error *error) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *what = describe(name, head);
  if (!what) return recognise_refuse(path, head, error);
  char *directory = directory_of(path);
  char *below = directory ? find_below(directory) : NULL;
  char *beside = directory && !below ? find_beside(directory, name, NULL) : NULL;
  char *above = directory && !below && !beside ? find_above(directory) : NULL;
  const char *other = below ? below : beside ? beside : above;
  error_at(error, TFPROF_WRONG_KIND, path, 0, "this is %s%s%s%s", what, other ? "; " : "", other ? other : "",
           other ? " can be opened" : "");
  if (error) error->has_offset = false;
  free(directory);
  free(below);
  free(beside);
  free(above);
  return TFPROF_WRONG_KIND;
}
