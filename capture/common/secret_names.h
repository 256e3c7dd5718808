/* secret_names.h: what the name of an option, a variable or a field says of its value. */
#ifndef TFPROF_CAPTURE_SECRET_NAMES_H
#define TFPROF_CAPTURE_SECRET_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum name_kind {
  NAME_OF_ANYTHING,
  NAME_OF_HASH,     /* --revision: forty hexadecimal digits are no key */
  NAME_OF_TOKEN,    /* a key, unless the value is a number, a path or a word of a vocabulary such as <pad> */
  NAME_OF_KEY,      /* a key, unless the value is a path */
  NAME_OF_PASSWORD, /* a secret, whatever it looks like */
};

/* Of a name such as `--hf-token`, `WANDB_API_KEY`, `model.authToken`; in the query of a URL more are secret. */
enum name_kind secret_name_kind(const char *text, size_t length, bool is_in_query);
/* Whether a name of that kind may show this value: what says that there is none, a variable's name, a path. */
bool secret_value_is_harmless(enum name_kind kind, const char *value, size_t length);

#endif
