/* vocabulary.h: the words of SQL and of the tables that are there, for completion and for "did you mean". */
#ifndef TFPROF_SHELL_VOCABULARY_H
#define TFPROF_SHELL_VOCABULARY_H

#include <sqlite3.h>
#include <stddef.h>

enum word_kind { WORD_KEYWORD = 1, WORD_TABLE = 2, WORD_FUNCTION = 4, WORD_COLUMN = 8 }; /* views count as tables */

struct vocabulary { /* sorted, each word once */
  char **words;
  size_t count, room;
};

/* Adds the words of the kinds. Columns are those of the tables that `sql` mentions, of all when it mentions none.
** `table`, when given, asks for the columns of this table (or of what `sql` gives this alias) and nothing else. */
void vocabulary_add(struct vocabulary *vocabulary, sqlite3 *db, unsigned kinds, const char *sql, const char *table);
/* A word of one's own, and those of the first column of a SELECT. */
void vocabulary_add_word(struct vocabulary *vocabulary, const char *word);
void vocabulary_add_query(struct vocabulary *vocabulary, sqlite3 *db, const char *sql);
void vocabulary_sort(struct vocabulary *vocabulary);
void vocabulary_free(struct vocabulary *vocabulary);

/* The word most like `word`, if any is like it; NULL otherwise. */
const char *vocabulary_nearest(const struct vocabulary *vocabulary, const char *word);

#endif
