/* lane_names.c: threads.name of captures: the name that a thread or stream had when its row was written, or the one
** that the program gave it last (given_names).
**
** A thread is known by its tid there; where a later thread has the number again, the name is that one's.
*/
#include "derive/passes.h"
#include "derive/rows.h"

struct lanes {
  string_id *names;
  int64_t *tids, *contexts, *streams;
  uint32_t count;
};

static enum tfprof_status take_recorded(struct profile *profile, struct lanes *lanes, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_threads, &block, &status, error);)
    block_texts(&block, COLUMN_threads_recorded_name, lanes->names + block.row);
  return status;
}

static void name_lanes(struct lanes *lanes, bool is_thread, int64_t handle, int64_t context, int64_t stream,
                       string_id name) {
  for (uint32_t row = lanes->count; row--;) {
    bool is_it = is_thread ? lanes->tids[row] == handle && lanes->streams[row] == NO_VALUE
                           : lanes->streams[row] == stream && lanes->contexts[row] == context;
    if (!is_it) continue;
    lanes->names[row] = name;
    return;
  }
}

static enum tfprof_status take_given(struct profile *profile, struct lanes *lanes, struct tfprof_error *error) {
  string_id thread = derive_known_text(profile, "thread"), stream = derive_known_text(profile, "stream");
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_given_names, &block, &status, error);) {
    string_id kinds[ROWS_BLOCK], names[ROWS_BLOCK];
    int64_t handles[ROWS_BLOCK], contexts[ROWS_BLOCK], streams[ROWS_BLOCK];
    block_texts(&block, COLUMN_given_names_kind, kinds);
    block_texts(&block, COLUMN_given_names_name, names);
    block_integers(&block, COLUMN_given_names_handle, handles);
    block_integers(&block, COLUMN_given_names_context, contexts);
    block_integers(&block, COLUMN_given_names_stream, streams);
    for (uint32_t i = 0; i < block.count; i++) {
      bool has_lane = kinds[i] == thread || (kinds[i] == stream && streams[i] != NO_VALUE);
      if (has_lane && names[i]) name_lanes(lanes, kinds[i] == thread, handles[i], contexts[i], streams[i], names[i]);
    }
  }
  return status;
}

static enum tfprof_status run_lane_names(struct profile *profile, struct tfprof_error *error) {
  struct lanes lanes = {0};
  enum tfprof_status status = derive_row_count(profile, TABLE_threads, &lanes.count, error);
  if (status || !lanes.count) return status;
  lanes.names = scratch_allocate((size_t)lanes.count * sizeof *lanes.names);
  if (!lanes.names) status = error_no_memory(error);
  if (!status) status = take_recorded(profile, &lanes, error);
  if (!status) status = derive_all_integers(profile, TABLE_threads, COLUMN_threads_tid, &lanes.tids, error);
  if (!status) status = derive_all_integers(profile, TABLE_threads, COLUMN_threads_context, &lanes.contexts, error);
  if (!status) status = derive_all_integers(profile, TABLE_threads, COLUMN_threads_stream, &lanes.streams, error);
  if (!status) status = take_given(profile, &lanes, error);
  if (!status) status = derive_set_texts(profile, TABLE_threads, COLUMN_threads_name, lanes.names, error);
  scratch_free(lanes.names);
  scratch_free(lanes.tids);
  scratch_free(lanes.contexts);
  scratch_free(lanes.streams);
  return status;
}

const struct derive_pass derive_lane_names = {
    .name = "names of lanes",
    .summary =
        "The last name that the program gave a thread or stream, or the one that it had when its row was written.",
    .makes_table = -1,
    .reads = {{TABLE_threads, COLUMN_threads_recorded_name},
              {TABLE_threads, COLUMN_threads_tid},
              {TABLE_threads, COLUMN_threads_context},
              {TABLE_threads, COLUMN_threads_stream},
              {TABLE_given_names, COLUMN_given_names_kind},
              {TABLE_given_names, COLUMN_given_names_name},
              {TABLE_given_names, COLUMN_given_names_handle},
              {TABLE_given_names, COLUMN_given_names_context},
              {TABLE_given_names, COLUMN_given_names_stream}},
    .writes = {{TABLE_threads, COLUMN_threads_name}},
    .run = run_lane_names,
};
