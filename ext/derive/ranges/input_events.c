/* input_events.c: the table input_events from the ranges that PyTorch's data loaders mark.
**
** `enumerate(DataLoader)#<iterator>.__next__` is the time that the training loop waited for its next batch: with the
** single-process iterator the loader reads and prepares the batch in it (read_on_demand), with the multi-process one
** it waits for a worker that did so in advance (read_in_advance).  `enumerate(DataPipe)#<pipe>` is one stage of a
** data pipe (preprocess).  Captures note what the loader or one of its processes does for a batch, too,
** torch.utils.data.DataLoader.fetch (preprocess), and the part of it that puts samples together,
** torch.utils.data.DataLoader.collate (batch).  Stages lie within each other; self_ns leaves out those inside.  The
** step is the one that was going on, which is the one that waited.  Those that lie in no other are calls of the
** pipeline, and they wait for all that lies in them.
**
** Input events that a source records itself are linked instead (input_iterators.c).
*/
#include "derive/links/ancestors.h"
#include "derive/passes.h"
#include "derive/ranges/input_iterators.h"
#include "derive/ranges/user_rows.h"

#include <string.h>

static const char loader_prefix[] = "enumerate(DataLoader)#";
static const char pipe_prefix[] = "enumerate(DataPipe)#";
static const char fetch_name[] = "torch.utils.data.DataLoader.fetch";
static const char collate_name[] = "torch.utils.data.DataLoader.collate";

static bool has_prefix(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

static bool is_input(const char *name) {
  return has_prefix(name, loader_prefix) || has_prefix(name, pipe_prefix) || !strcmp(name, fetch_name) ||
         !strcmp(name, collate_name);
}

static const char *stage_of(const char *name) {
  if (has_prefix(name, pipe_prefix) || !strcmp(name, fetch_name)) return "preprocess";
  if (!strcmp(name, collate_name)) return "batch";
  return strstr(name, "MultiProcess") ? "read_in_advance" : "read_on_demand";
}

/* The class of the iterator or pipe. */
static enum tfprof_status pipeline_of(struct profile *profile, const char *name, string_id *id,
                                      struct tfprof_error *error) {
  char text[256];
  *id = 0;
  if (!has_prefix(name, pipe_prefix) && !has_prefix(name, loader_prefix))
    return derive_text(profile, "DataLoader", id, error);
  const char *begin = name + strlen(has_prefix(name, pipe_prefix) ? pipe_prefix : loader_prefix);
  const char *end = has_prefix(name, pipe_prefix) ? NULL : strrchr(begin, '.');
  size_t length = end ? (size_t)(end - begin) : strlen(begin);
  if (length == 0) return TFPROF_OK;
  if (length >= sizeof text) length = sizeof text - 1;
  memcpy(text, begin, length);
  text[length] = '\0';
  return derive_text(profile, text, id, error);
}

static enum tfprof_status set_names(struct profile *profile, const struct user_rows *rows, struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  int64_t *names = NULL;
  string_id last = 0, stage = 0, pipeline = 0;
  string_id *stages = scratch_allocate(rows->count * sizeof *stages),
            *pipelines = scratch_allocate(rows->count * sizeof *pipelines);
  enum tfprof_status status = stages && pipelines ? TFPROF_OK : error_no_memory(error);
  if (!status) status = user_rows_values(rows, profile, COLUMN_ops_name, &names, error);
  for (uint32_t i = 0; i < rows->count && !status; i++) {
    string_id name = (string_id)names[i];
    if (name != last) {
      const char *text = pool_text(pool, name);
      status = derive_text(profile, stage_of(text), &stage, error);
      if (!status) status = pipeline_of(profile, text, &pipeline, error);
      last = name;
    }
    stages[i] = stage;
    pipelines[i] = pipeline;
  }
  if (!status) status = derive_set_texts(profile, TABLE_input_events, COLUMN_input_events_stage, stages, error);
  if (!status) status = derive_set_texts(profile, TABLE_input_events, COLUMN_input_events_pipeline, pipelines, error);
  scratch_free(names);
  scratch_free(stages);
  scratch_free(pipelines);
  return status;
}

static enum tfprof_status set_selves(struct profile *profile, const struct user_rows *rows,
                                     struct tfprof_error *error) {
  int64_t *durations = NULL;
  enum tfprof_status status = user_rows_values(rows, profile, COLUMN_ops_dur_ns, &durations, error);
  int64_t *selves = scratch_allocate(rows->count * sizeof *selves);
  if (!selves && !status) status = error_no_memory(error);
  if (!status) {
    memcpy(selves, durations, rows->count * sizeof *selves);
    for (uint32_t i = 0; i < rows->count; i++) {
      uint32_t parent = rows->parents[i];
      if (parent == NO_ROW || durations[i] < 0 || selves[parent] < 0) continue; /* NULL is below 0 as well */
      selves[parent] = selves[parent] > durations[i] ? selves[parent] - durations[i] : 0;
    }
    status = derive_set_integers(profile, TABLE_input_events, COLUMN_input_events_self_ns, selves, error);
  }
  scratch_free(durations);
  scratch_free(selves);
  return status;
}

static enum tfprof_status set_calls(struct profile *profile, const struct user_rows *rows, struct tfprof_error *error) {
  uint32_t *calls = scratch_allocate(rows->count * sizeof *calls);
  int64_t *blocking = scratch_allocate(rows->count * sizeof *blocking);
  enum tfprof_status status = calls && blocking ? TFPROF_OK : error_no_memory(error);
  for (uint32_t i = 0; i < rows->count && !status; i++) {
    calls[i] = rows->parents[i] == NO_ROW ? i : NO_ROW;
    blocking[i] = 1;
  }
  if (!status) derive_inherit(rows->parents, calls, rows->count);
  if (!status) status = derive_set_references(profile, TABLE_input_events, COLUMN_input_events_call_id, calls, error);
  if (!status)
    status = derive_set_integers(profile, TABLE_input_events, COLUMN_input_events_is_blocking, blocking, error);
  scratch_free(calls);
  scratch_free(blocking);
  return status;
}

static enum tfprof_status run_input_events(struct profile *profile, struct tfprof_error *error) {
  static const struct user_column copied[] = {
      {COLUMN_ops_name, COLUMN_input_events_name},         {COLUMN_ops_thread_id, COLUMN_input_events_thread_id},
      {COLUMN_ops_start_ns, COLUMN_input_events_start_ns}, {COLUMN_ops_end_ns, COLUMN_input_events_end_ns},
      {COLUMN_ops_dur_ns, COLUMN_input_events_dur_ns},     {COLUMN_ops_step_id, COLUMN_input_events_step_id}};
  struct user_rows rows;
  if (!profile->tables[TABLE_input_events].is_made) return input_iterators_run(profile, error);
  enum tfprof_status status = user_rows_make_table(&rows, profile, TABLE_input_events, is_input, copied,
                                                   sizeof copied / sizeof copied[0], error);
  if (!status && rows.count) {
    status = derive_set_references(profile, TABLE_input_events, COLUMN_input_events_parent_id, rows.parents, error);
    if (!status) status = set_names(profile, &rows, error);
    if (!status) status = set_selves(profile, &rows, error);
    if (!status) status = set_calls(profile, &rows, error);
  }
  user_rows_free(&rows);
  return status;
}

const struct derive_pass derive_input_events = {
    .name = "input events",
    .summary = "One input event for each batch that a PyTorch data loader was asked for; of tf.data's iterators, which "
               "call asked for which.",
    .makes_table = TABLE_input_events,
    .is_idle = user_rows_is_idle,
    .reads = {USER_ROWS_READ, INPUT_ITERATORS_READ},
    .writes = {{TABLE_input_events, COLUMN_input_events_name},
               {TABLE_input_events, COLUMN_input_events_stage},
               {TABLE_input_events, COLUMN_input_events_thread_id},
               {TABLE_input_events, COLUMN_input_events_start_ns},
               {TABLE_input_events, COLUMN_input_events_end_ns},
               {TABLE_input_events, COLUMN_input_events_dur_ns},
               {TABLE_input_events, COLUMN_input_events_self_ns},
               {TABLE_input_events, COLUMN_input_events_parent_id},
               {TABLE_input_events, COLUMN_input_events_step_id},
               {TABLE_input_events, COLUMN_input_events_pipeline},
               {TABLE_input_events, COLUMN_input_events_call_id},
               {TABLE_input_events, COLUMN_input_events_is_blocking}},
    .run = run_input_events,
    .is_alone = true,
};
