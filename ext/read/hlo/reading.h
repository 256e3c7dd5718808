/* reading.h: programs of XLA while they are read, whatever form they have.
**
** Of a module come first its name, then the tables that its stack frames rest on, then computations, one instruction
** after the other, into the graph; hlo_end_module() counts costs once all of it is there.  Texts go into the profile's
** pool.
*/
#ifndef TFPROF_HLO_READING_H
#define TFPROF_HLO_READING_H

#include "read/hlo/graph.h"
#include "read/hlo/programs.h"
#include "read/rows/eager_rows.h"
#include "read/rows/text_buffer.h"
#include "read/xplane/window.h"

struct hlo_rows;

struct hlo_program_frame {
  uint32_t location, parent; /* from 1 on */
  uint32_t stack;            /* row + 1 in stacks, where it is resolved */
  bool is_resolved, is_open;
};
struct hlo_location {
  uint32_t file, function; /* from 1 on */
  int64_t line;
};

/* What the framework said of an instruction. */
struct hlo_metadata {
  struct text_part op_type, op_name, file;
  uint32_t frame; /* from 1 on; 0: none */
  int64_t line;   /* ROW_NULL */
};

struct hlo_reading {
  struct hlo_programs *programs;
  struct profile *profile;
  struct pool *pool;
  struct window window; /* of what is read from a file by parts */
  struct tfprof_error *error;
  enum tfprof_status status;
  bool has_number;
  uint64_t number, module; /* of the program that is being read; a hash of its name */
  int64_t module_name;     /* text; ROW_NULL */
  int64_t entry;           /* the id of the computation in which it begins */
  LIST(int64_t) files, functions;
  LIST(struct hlo_location) locations;
  LIST(struct hlo_program_frame) frames;
  LIST(uint32_t) open; /* frames that wait for their parents */
  struct hlo_graph graph;
  struct hlo_rows *rows;             /* of instructions, where somebody asks for them; NULL */
  LIST(int64_t) computation_names;   /* texts, of the graph's, where there are rows */
  struct text_buffer text;           /* to put one together in */
};

/* reading_texts.c: all but programs and profile is freed. */
void hlo_reading_free(struct hlo_reading *r);

void hlo_no_memory(struct hlo_reading *r);
/* A part is damaged. */
void hlo_note_wrong(struct hlo_reading *r, uint64_t offset);
/* The text in the pool; ROW_NULL: it is empty, or reading failed. */
int64_t hlo_enter(struct hlo_reading *r, const char *text, size_t length);

/* What is there of the module before is forgotten. */
void hlo_begin_module(struct hlo_reading *r);
void hlo_set_module_name(struct hlo_reading *r, struct text_part name);
/* Behind its instructions. `name`: a text; ROW_NULL. */
void hlo_end_computation(struct hlo_reading *r, int64_t name, int64_t id, int64_t root_id);
/* The next instruction of the computation that was begun last in the graph; then come its fields and its name. False:
** no memory. */
bool hlo_add_instruction(struct hlo_reading *r);
void hlo_take_field(struct hlo_reading *r, const struct wire_reader *reader, const struct wire_field *field);
/* The instruction that was added to the graph last. `opcode`: what it is to XLA, where the framework did not say its
** type or made it not. */
void hlo_name_instruction(struct hlo_reading *r, struct text_part name, struct text_part opcode,
                          const struct hlo_metadata *metadata);
void hlo_end_module(struct hlo_reading *r);

#endif
