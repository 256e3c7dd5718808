/* code_lines.h: which line a call stack stands for. */
#ifndef TFPROF_CODE_LINES_H
#define TFPROF_CODE_LINES_H

#include "derive/rows.h"

enum line_level {
  LINE_OF_PROGRAM, /* the innermost line of the program itself */
  LINE_OF_LIBRARY, /* the innermost one outside of the framework, of a library or of the program */
  LINE_LEVELS
};

/* By row of code_traces. */
struct code_lines {
  uint32_t count;
  uint32_t *traces[LINE_LEVELS]; /* the trace that ends in the line, the same one or one around it; NO_ROW: no frame */
  uint32_t *program_depths;      /* how many frames lead to the line of the program; 0: there is none */
  uint32_t *depths;              /* how many frames there are */
};

/* Reads CODE_LINES_READ. Free with code_lines_free, also after a failure. */
enum tfprof_status code_lines_find(struct code_lines *lines, const struct profile *profile, struct tfprof_error *error);
void code_lines_free(struct code_lines *lines);

#define CODE_LINES_READ                                                                                      \
  {TABLE_code_traces, COLUMN_code_traces_leaf_frame_id}, {TABLE_code_traces, COLUMN_code_traces_parent_id},  \
      {TABLE_code_frames, COLUMN_code_frames_file}, {TABLE_code_frames, COLUMN_code_frames_function},        \
      {TABLE_code_frames, COLUMN_code_frames_line}, {TABLE_code_frames, COLUMN_code_frames_first_line},      \
      {TABLE_code_frames, COLUMN_code_frames_source_kind}

#endif
