/* publish.c: see publish.h. */
#include "classic/read/publish.h"

#include <stdio.h>

#include "classic/read/checkpoint.h"
#include "classic/read/functions.h"
#include "classic/read/shapes.h"

static const struct {
  const char *severity, *reason, *message;
} troubles[TF_TROUBLE_count] = {
    [TF_TROUBLE_TIME] = {"warning", "number_out_of_range",
                         "times or sizes that are negative or absurdly large were left out"},
    [TF_TROUBLE_NO_START] = {"warning", "no_time", "executions without a start time were left out"},
    [TF_TROUBLE_DROPPED] = {"info", "runtime_nodes",
                            "executions of _SOURCE belong to no node of the graph and were left out"},
    [TF_TROUBLE_DEVICE] =
        {"info", "other_device",
         "executions of nodes on another device than their own were left out, as the TensorFlow profiler does"},
    [TF_TROUBLE_STREAM] = {"info", "single_streams",
                           "executions on single streams and other lanes count as no time: stream:all repeats them"},
    [TF_TROUBLE_INPUT] = {"warning", "unknown_input", "nodes take inputs from nodes that the graph does not have"},
    [TF_TROUBLE_STRING] = {"warning", "unknown_string", "call stacks name texts that id_to_string does not have"},
    [TF_TROUBLE_SCOPE] = {"warning", "scopes_too_deep",
                          "names with more than 256 scopes or 4096 characters have no scopes"},
    [TF_TROUBLE_DUPLICATE] = {"warning", "duplicate_node",
                              "nodes with a name that another node has already were left out"},
    [TF_TROUBLE_OP_LOG] = {"info", "unknown_node", "entries of the OpLog are about nodes that the graph does not have"},
    [TF_TROUBLE_FUNCTION] =
        {"info", "function_nodes",
         "nodes of functions are not in the graph: no node of it is known to call them. In the steps, what their calls "
         "run has names of its own"},
    [TF_TROUBLE_ONCE] = {"info", "counted_once",
                         "nodes of loops and conditions are counted once, as no step tells how often they run"},
    [TF_TROUBLE_SIGNATURE] = {"info", "repeated_signatures",
                              "signatures call the same function as another one: its nodes stand there once"},
    [TF_TROUBLE_CALL] = {"warning", "calls_too_many",
                         "calls of functions are nested too deep, or would be too many nodes: what they compute is not "
                         "counted"},
    [TF_TROUBLE_TEXT] = {"warning", "not_utf8", NOT_UTF8_MESSAGE},
    [TF_TROUBLE_WIRE] = {"error", "damaged_message",
                         "parts of the file are damaged or cut off. What stands before them is shown"},
};

static void diagnose_troubles(struct tf_model *model, struct profile *profile) {
  for (unsigned i = 0; i < TF_TROUBLE_count; i++) {
    if (!model->troubles[i].count) continue;
    const char *file = pool_text(model->pool, model->troubles[i].file);
    char missing[80] = "";
    if (i == TF_TROUBLE_WIRE && model->missing_bytes)
      snprintf(missing, sizeof missing, "; at least %llu bytes are missing at the end of a file",
               (unsigned long long)model->missing_bytes);
    profile_diagnose(profile, troubles[i].severity, troubles[i].reason, (int64_t)model->troubles[i].count,
                     file ? (int64_t)model->troubles[i].offset : -1, -1, "%s: %s%s", file ? file : "?",
                     troubles[i].message, missing);
  }
  for (size_t i = 0; i < model->steps.count; i++) {
    if (!model->steps.items[i].misses_streams) continue;
    profile_diagnose(
        profile, "warning", "missing_streams", 1, -1, TABLE_kernels,
        "step %lld ran on an accelerator, but its statistics have no streams: no accelerator time is known",
        (long long)model->steps.items[i].number);
  }
  if (model->misses_streams)
    profile_diagnose(profile, "warning", "missing_streams", 1, -1, TABLE_kernels,
                     "steps ran on an accelerator, but their statistics have no streams: no accelerator time is known");
}

/* Over runs and steps; without any the store looks at what else has times. */
static void find_span(const struct tf_model *model, struct profile *profile) {
  int64_t start = model->start_micros, end = model->end_micros;
  for (size_t i = 0; i < model->steps.count; i++) {
    const struct tf_step *step = &model->steps.items[i];
    if (!step->start_micros) continue;
    start = step->start_micros < start ? step->start_micros : start;
    end = step->end_micros > end ? step->end_micros : end;
  }
  if (start > end) return;
  profile->start_ns = start * 1000;
  profile->end_ns = end * 1000;
}

enum tfprof_status tf_publish(struct tf_model *model, uint32_t run_number, const struct profile_source *source,
                              struct tf_checkpoint *checkpoint, const char *path, bool is_complete,
                              struct profile **profile) {
  string_id id = 0;
  struct tf_node_order order = {0};
  struct tf_source *data = calloc(1, sizeof *data);
  if (!data) {
    tf_checkpoint_free(checkpoint);
    return error_no_memory(model->error);
  }
  data->checkpoint = checkpoint;
  enum tfprof_status status = store_add_profile(model->store, run_number, source, data, profile, model->error);
  if (status) return status;
  bool ok = tf_end_costs(model) && tf_expand_calls(model) && tf_infer_shapes(model) &&
            tf_order_nodes(model, &order) &&
            tf_publish_devices(model, *profile) && tf_publish_nodes(model, *profile, &order) &&
            tf_publish_inputs(model, *profile, &order) && tf_publish_types(model, *profile, &order) &&
            tf_publish_traces(model, *profile) && tf_publish_steps(model, *profile, &order) &&
            tf_publish_tensors(model, *profile, &order, checkpoint);
  tf_node_order_free(&order);
  if (!ok) return model->status ? model->status : error_no_memory(model->error);
  if (tf_intern(model, path, strlen(path), &id)) (*profile)->path = id;
  if (tf_intern(model, "tensorflow", 10, &id)) (*profile)->framework = id;
  if (tf_intern(model, "realtime", 8, &id)) (*profile)->clock_domain = id;
  (*profile)->file_bytes = model->file_bytes;
  (*profile)->complete = is_complete;
  find_span(model, *profile);
  diagnose_troubles(model, *profile);
  return model->status;
}
