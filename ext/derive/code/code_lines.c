/* code_lines.c: code_traces.line_frame_id and library_line_frame_id: the line that a call stack stands for.
**
** At the level of the program that is the innermost line of the program itself, where installed packages, Python's own
** library and generated code are passed over.  Under a trainer, which calls the program's model from deep inside, this
** is often the line that started it for all ops; at the level of libraries it is the innermost line outside of the
** framework (PyTorch and what only hands on to it, source_kinds.h), so that the lines of a model that comes from a
** library are told apart.  Where a stack has no such line it stands for its innermost one, generated code left aside
** once more.
**
** Generated code counts for the line that calls it.  That is a matter of the file's name (frame_kinds.c), with two
** exceptions:
**   - what `python -c` and other embedders run has such a name, too: code with the name of the outermost frame is the
**     program;
**   - TorchDynamo compiles a function to code that keeps the function's file, but whose calls of what was compiled all
**     lie on the line where the function begins, or, of the rest behind a graph break, call a function that is named
**     torch_dynamo_resume_in_....  What was compiled is called through DisableContext of torch/_dynamo/eval_frame.py.
** So a frame that is generated is known by the one that it calls, and each trace has two answers: one where it is the
** whole stack, one where it calls a frame that makes its own innermost frame a generated one.
**
** Each trace is passed once, those around it before it.
*/
#include "derive/code/code_lines.h"

#include "derive/passes.h"
#include "derive/code/source_kinds.h"

#include <string.h>

/* How well a frame stands for the stack. The innermost of the best is taken. */
enum fitness { UNFIT, POSSIBLE, FIT };

struct frames {
  uint32_t count;
  string_id *files;
  uint8_t *kinds;    /* enum source_kind, SOURCE_KINDS: no file */
  bool *is_at_first; /* the line is that where the function begins */
  bool *is_entry;    /* it runs what TorchDynamo compiled */
  bool *is_resumed;  /* it is compiled itself: the rest of a function behind a graph break */
};

struct answer {
  uint32_t trace;
  uint8_t fitness;
};

struct walk {
  const struct frames *frames;
  struct code_lines *lines;
  uint32_t *leaves, *parents, *way;
  string_id *programs; /* by trace: the file of the outermost frame where that is generated; else 0 */
  struct answer *whole[LINE_LEVELS], *calling[LINE_LEVELS];
  uint8_t *is_done; /* by trace: 1: on the way, 2: done */
};

/* ---- frames ---- */

static bool is_dynamo_entry(const char *file, const char *function) {
  static const char name[] = "torch/_dynamo/eval_frame.py";
  size_t length = strlen(file);
  if (length < sizeof name - 1 || strcmp(file + length - (sizeof name - 1), name) != 0) return false;
  /* Before Python 3.11 a function is not told with its class. */
  return strncmp(function, "DisableContext.", 15) == 0 || strcmp(function, "_fn") == 0;
}

static void frames_free(struct frames *frames) {
  scratch_free(frames->files);
  scratch_free(frames->kinds);
  scratch_free(frames->is_at_first);
  scratch_free(frames->is_entry);
  scratch_free(frames->is_resumed);
}

static uint8_t kind_named(const string_id *names, string_id name) {
  uint8_t kind = 0;
  while (kind < SOURCE_KINDS && names[kind] != name) kind++;
  return kind;
}

static void read_frame_block(struct frames *frames, const struct profile *profile, const string_id *kind_names,
                             const struct row_block *block) {
  const struct pool *pool = store_pool(profile->store);
  string_id files[ROWS_BLOCK], functions[ROWS_BLOCK], kinds[ROWS_BLOCK];
  int64_t numbers[ROWS_BLOCK], firsts[ROWS_BLOCK];
  block_texts(block, COLUMN_code_frames_file, files);
  block_texts(block, COLUMN_code_frames_function, functions);
  block_texts(block, COLUMN_code_frames_source_kind, kinds);
  block_integers(block, COLUMN_code_frames_line, numbers);
  block_integers(block, COLUMN_code_frames_first_line, firsts);
  for (uint32_t i = 0; i < block->count; i++) {
    uint64_t frame = block->row + i;
    const char *file = files[i] ? pool_text(pool, files[i]) : NULL;
    const char *function = functions[i] ? pool_text(pool, functions[i]) : "";
    if (frame >= frames->count) continue;
    frames->files[frame] = files[i];
    frames->kinds[frame] = kind_named(kind_names, kinds[i]);
    frames->is_at_first[frame] = numbers[i] != NO_VALUE && numbers[i] == firsts[i];
    frames->is_entry[frame] = file && is_dynamo_entry(file, function);
    frames->is_resumed[frame] = strstr(function, "torch_dynamo_resume_in_") != NULL;
  }
}

static enum tfprof_status read_frames(struct frames *frames, const struct profile *profile,
                                      struct tfprof_error *error) {
  enum tfprof_status status = derive_row_count(profile, TABLE_code_frames, &frames->count, error);
  if (status) return status;
  size_t room = (size_t)frames->count + 1;
  frames->files = scratch_allocate_zeroed(room, sizeof *frames->files);
  frames->kinds = scratch_allocate_zeroed(room, sizeof *frames->kinds);
  frames->is_at_first = scratch_allocate_zeroed(room, sizeof *frames->is_at_first);
  frames->is_entry = scratch_allocate_zeroed(room, sizeof *frames->is_entry);
  frames->is_resumed = scratch_allocate_zeroed(room, sizeof *frames->is_resumed);
  if (!frames->files || !frames->kinds || !frames->is_at_first || !frames->is_entry || !frames->is_resumed)
    return error_no_memory(error);
  string_id kind_names[SOURCE_KINDS];
  for (unsigned kind = 0; kind < SOURCE_KINDS; kind++)
    kind_names[kind] = derive_known_text(profile, source_kind_names[kind]);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_code_frames, &block, &status, error);) {
    read_frame_block(frames, profile, kind_names, &block);
  }
  return status;
}

/* ---- traces ---- */

static uint8_t fitness_of(const struct walk *walk, uint32_t trace, enum line_level level) {
  uint32_t frame = walk->leaves[trace];
  if (frame == NO_ROW) return UNFIT;
  uint8_t kind = walk->frames->kinds[frame];
  if (kind == SOURCE_GENERATED && walk->programs[trace] == walk->frames->files[frame]) kind = SOURCE_PROGRAM;
  if (kind == SOURCE_GENERATED) return UNFIT;
  return kind == SOURCE_PROGRAM || (kind == SOURCE_LIBRARY && level == LINE_OF_LIBRARY) ? FIT : POSSIBLE;
}

/* Whether the frame around this one is code that TorchDynamo made. */
static bool is_called_by_generated(const struct walk *walk, uint32_t trace) {
  uint32_t parent = walk->parents[trace], frame = walk->leaves[trace];
  if (parent == NO_ROW || frame == NO_ROW || walk->leaves[parent] == NO_ROW) return false;
  if (walk->frames->is_resumed[frame]) return true;
  return walk->frames->is_entry[frame] && walk->frames->is_at_first[walk->leaves[parent]];
}

/* Those around it are done. */
static void answer(struct walk *walk, uint32_t trace) {
  uint32_t parent = walk->parents[trace], frame = walk->leaves[trace];
  bool is_outermost = parent == NO_ROW;
  if (!is_outermost) walk->programs[trace] = walk->programs[parent];
  else if (frame != NO_ROW && walk->frames->kinds[frame] == SOURCE_GENERATED)
    walk->programs[trace] = walk->frames->files[frame];
  bool is_after_generated = is_called_by_generated(walk, trace);
  walk->lines->depths[trace] = is_outermost ? 1 : walk->lines->depths[parent] + 1;
  for (enum line_level level = 0; level < LINE_LEVELS; level++) {
    struct answer around = {NO_ROW, UNFIT};
    if (!is_outermost) around = is_after_generated ? walk->calling[level][parent] : walk->whole[level][parent];
    uint8_t fitness = fitness_of(walk, trace, level);
    bool is_itself = frame != NO_ROW && (around.trace == NO_ROW || fitness >= around.fitness);
    walk->calling[level][trace] = around;
    walk->whole[level][trace] = is_itself ? (struct answer){trace, fitness} : around;
    walk->lines->traces[level][trace] = walk->whole[level][trace].trace;
  }
  struct answer program = walk->whole[LINE_OF_PROGRAM][trace];
  walk->lines->program_depths[trace] = program.fitness == FIT ? walk->lines->depths[program.trace] : 0;
}

/* Traces whose parents lead in a circle have their outermost frame where the circle would close. */
static enum tfprof_status answer_all(struct walk *walk, const struct profile *profile, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (uint32_t row = 0; row < walk->lines->count && !status; row++) {
    uint32_t length = 0;
    for (uint32_t trace = row; trace != NO_ROW && walk->is_done[trace] != 2; trace = walk->parents[trace]) {
      if (walk->is_done[trace] == 1) {
        walk->parents[walk->way[length - 1]] = NO_ROW;
        break;
      }
      walk->is_done[trace] = 1;
      walk->way[length++] = trace;
    }
    while (length) {
      uint32_t trace = walk->way[--length];
      answer(walk, trace);
      walk->is_done[trace] = 2;
    }
    if (row % ROWS_BLOCK == 0) status = derive_poll(profile, error);
  }
  return status;
}

static bool make_room(struct walk *walk) {
  size_t room = (size_t)walk->lines->count + 1;
  struct code_lines *lines = walk->lines;
  bool is_made = (walk->way = scratch_allocate(room * sizeof *walk->way)) &&
                 (walk->programs = scratch_allocate_zeroed(room, sizeof *walk->programs)) &&
                 (walk->is_done = scratch_allocate_zeroed(room, sizeof *walk->is_done)) &&
                 (lines->depths = scratch_allocate(room * sizeof *lines->depths)) &&
                 (lines->program_depths = scratch_allocate(room * sizeof *lines->program_depths));
  for (enum line_level level = 0; level < LINE_LEVELS && is_made; level++)
    is_made = (walk->whole[level] = scratch_allocate(room * sizeof *walk->whole[level])) &&
              (walk->calling[level] = scratch_allocate(room * sizeof *walk->calling[level])) &&
              (lines->traces[level] = scratch_allocate(room * sizeof *lines->traces[level]));
  return is_made;
}

enum tfprof_status code_lines_find(struct code_lines *lines, const struct profile *profile,
                                   struct tfprof_error *error) {
  struct frames frames = {0};
  struct walk walk = {.frames = &frames, .lines = lines};
  *lines = (struct code_lines){0};
  enum tfprof_status status = derive_row_count(profile, TABLE_code_traces, &lines->count, error);
  if (!status) status = read_frames(&frames, profile, error);
  if (!status)
    status = derive_all_references(profile, TABLE_code_traces, COLUMN_code_traces_leaf_frame_id, &walk.leaves, error);
  if (!status)
    status = derive_all_references(profile, TABLE_code_traces, COLUMN_code_traces_parent_id, &walk.parents, error);
  if (!status && !make_room(&walk)) status = error_no_memory(error);
  if (!status) status = answer_all(&walk, profile, error);
  frames_free(&frames);
  scratch_free(walk.leaves);
  scratch_free(walk.parents);
  scratch_free(walk.way);
  scratch_free(walk.programs);
  scratch_free(walk.is_done);
  for (enum line_level level = 0; level < LINE_LEVELS; level++) {
    scratch_free(walk.whole[level]);
    scratch_free(walk.calling[level]);
  }
  return status;
}

void code_lines_free(struct code_lines *lines) {
  for (enum line_level level = 0; level < LINE_LEVELS; level++) scratch_free(lines->traces[level]);
  scratch_free(lines->program_depths);
  scratch_free(lines->depths);
  *lines = (struct code_lines){0};
}

/* ---- the pass ---- */

static enum tfprof_status run_code_lines(struct profile *profile, struct tfprof_error *error) {
  static const unsigned columns[LINE_LEVELS] = {COLUMN_code_traces_line_frame_id,
                                                COLUMN_code_traces_library_line_frame_id};
  struct code_lines lines;
  uint32_t *leaves = NULL, *frames = NULL;
  enum tfprof_status status = code_lines_find(&lines, profile, error);
  if (!status)
    status = derive_all_references(profile, TABLE_code_traces, COLUMN_code_traces_leaf_frame_id, &leaves, error);
  if (!status && !(frames = scratch_allocate(((size_t)lines.count + 1) * sizeof *frames)))
    status = error_no_memory(error);
  for (enum line_level level = 0; level < LINE_LEVELS && !status; level++) {
    for (uint32_t trace = 0; trace < lines.count; trace++) {
      uint32_t line = lines.traces[level][trace];
      frames[trace] = line == NO_ROW ? NO_ROW : leaves[line];
    }
    status = derive_set_references(profile, TABLE_code_traces, columns[level], frames, error);
  }
  scratch_free(leaves);
  scratch_free(frames);
  code_lines_free(&lines);
  return status;
}

const struct derive_pass derive_code_lines = {
    .name = "code lines",
    .summary = "The innermost frame of the program, and of the program and its libraries, on each stack; generated "
               "code counts for its caller. Each trace is passed once.",
    .makes_table = -1,
    .reads = {CODE_LINES_READ},
    .writes = {{TABLE_code_traces, COLUMN_code_traces_line_frame_id},
               {TABLE_code_traces, COLUMN_code_traces_library_line_frame_id}},
    .run = run_code_lines,
};
