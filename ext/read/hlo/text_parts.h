/* text_parts.h: parts of HLO's text: names, quoted texts, shapes, operands, attributes. */
#ifndef TFPROF_HLO_TEXT_PARTS_H
#define TFPROF_HLO_TEXT_PARTS_H

#include "read/hlo/message.h"
#include "read/xplane/texts.h"

/* A stretch of text that is read from its front. */
struct hlo_cursor {
  const char *at, *end;
};

void hlo_skip_space(struct hlo_cursor *cursor); /* and comments */
/* Takes the character where it is the next. */
bool hlo_take(struct hlo_cursor *cursor, char wanted);
/* A name without its %; empty: there is none. */
struct text_part hlo_take_name(struct hlo_cursor *cursor);
/* False: none is there, and *number stays. */
bool hlo_take_number(struct hlo_cursor *cursor, int64_t *number);
/* The next part up to a comma that stands in no parentheses, braces, brackets or quotes, or to the end, without space
** around it; the comma is taken. False: nothing is left. */
bool hlo_take_part(struct hlo_cursor *cursor, struct text_part *part);
/* What stands within the parentheses that begin here, which are taken. False: none begin, or they do not end. */
bool hlo_take_within(struct hlo_cursor *cursor, struct hlo_cursor *within);
/* "key=value" at the front of a part; the value is what is left. */
bool hlo_split_attribute(struct text_part part, struct text_part *key, struct text_part *value);
/* Adds what stands between quotes, without them and their escapes; of other text all of it. */
void hlo_unquote(struct text_part text, struct text_buffer *out);
/* The id of what has the name. */
uint64_t hlo_id_of_name(struct text_part name);
bool hlo_is_text(struct text_part text, const char *other);

/* A shape as field `field` of a message; false: it is none. */
bool hlo_take_shape(struct hlo_cursor *cursor, struct text_buffer *out, unsigned field);
/* The attributes of an instruction: the rest of its line, "key=value, key={...}". */
void hlo_read_attributes(struct hlo_cursor cursor, struct text_part opcode, struct text_buffer *out);

#endif
