/* script.c: collects lines until sqlite3_complete() sees a whole statement. A command is a line by itself and is only
** looked for where a statement would begin. */
#include "script.h"

#include "base/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool append_script_text(struct script *script, const char *text) {
  size_t length = strlen(text);
  if (!array_reserve(script->text, script->room, script->length + length + 2)) return false;
  memcpy(script->text + script->length, text, length);
  script->length += length;
  script->text[script->length++] = '\n';
  script->text[script->length] = '\0';
  return true;
}

bool script_is_pending(const struct script *script) {
  for (size_t i = 0; i < script->length; i++) {
    if (!strchr(" \t\r\n;", script->text[i])) return true;
  }
  return false;
}

void script_forget(struct script *script) {
  script->length = 0;
}

void script_free(struct script *script) {
  free(script->text);
  script->text = NULL;
  script->length = script->room = 0;
}

static enum script_result run_script_text(struct script *script) {
  char origin[512];
  if (!script->name && !script->session->is_watching) {
    free(script->session->last);
    script->session->last = strdup(script->text);
  }
  if (script->name) snprintf(origin, sizeof origin, "%s:%d", script->name, script->first_line);
  enum session_result result = session_run(script->session, script->text, script->name ? origin : NULL);
  script->length = 0;
  return result == SESSION_OK ? SCRIPT_OK : result == SESSION_ERROR ? SCRIPT_ERROR : SCRIPT_INTERRUPTED;
}

enum script_result script_line(struct script *script, const char *line) {
  script->line++;
  if (!script_is_pending(script)) {
    script->length = 0;
    script->first_line = script->line;
    enum script_result result;
    if (script->run_command(script->session, line, &result)) return result;
  }
  if (!append_script_text(script, line)) {
    fputs("error: not enough memory for this statement\n", stderr);
    script->length = 0;
    return SCRIPT_ERROR;
  }
  return script_is_pending(script) && sqlite3_complete(script->text) ? run_script_text(script) : SCRIPT_OK;
}

enum script_result script_end(struct script *script) {
  return script_is_pending(script) ? run_script_text(script) : SCRIPT_OK;
}

/* Not once what is asked for finds no room any more. */
static bool goes_on(enum script_result result) {
  return (result == SCRIPT_OK || result == SCRIPT_ERROR) && !ferror(stdout);
}

enum script_result script_run(struct session *session, command_runner *run_command, FILE *file, const char *name) {
  struct script script = {.session = session, .run_command = run_command, .name = name};
  enum script_result result = SCRIPT_OK;
  bool has_failed = false, is_text = true;
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  while (goes_on(result) && is_text && (length = getline(&line, &room, file)) >= 0) {
    is_text = !memchr(line, '\0', (size_t)length);
    if (length > 0 && line[length - 1] == '\n') line[--length] = '\0';
    if (is_text) result = script_line(&script, line);
    has_failed |= result == SCRIPT_ERROR;
  }
  if (!is_text) fprintf(stderr, "error: %s:%d: not a text file\n", name, script.line + 1);
  bool is_whole = is_text && !ferror(file);
  if (is_text && !is_whole) fprintf(stderr, "error: cannot read %s: %s\n", name, strerror(errno));
  if (goes_on(result) && is_whole) result = script_end(&script);
  has_failed |= result == SCRIPT_ERROR || !is_whole;
  session->has_failed |= has_failed;
  free(line);
  script_free(&script);
  return result == SCRIPT_OK && has_failed ? SCRIPT_ERROR : result;
}
