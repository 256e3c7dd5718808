/* page_reply.c: see page_reply.h.  Whoever can reach the server gets it, so that it says nothing of what is served:
** what a run holds is fetched by the page, with the token. */
#include "serve/page_reply.h"

#include <stdio.h>
#include <string.h>

#include "report/page.h"
#include "report/page_data.h"

enum { MOST_PAGE_BYTES = 16 << 20 };

static const char policy_format[] =
    "default-src 'none'; script-src %s; style-src %s; img-src data: blob:; worker-src blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'";

char *page_reply_policy(void) {
  char text[1024], *policy = NULL;
  snprintf(text, sizeof text, policy_format, page_script_hash, page_style_hash);
  /* Which may stand in a header alone. */
  return asprintf(&policy, "%s; frame-ancestors 'none'", text) < 0 ? NULL : policy;
}

/* The panels, as a page needs them before it has asked for any. */
static void write_panels(struct output_file *file) {
  const struct page_texts texts = {.file = file};
  output_format(file, "<script type=\"application/json\" id=\"served\">{\"release\":\"%s\",\"panels\":[",
                TFPROF_RELEASE);
  for (const struct stored_select *panel = stored_panels; panel->name; panel++) {
    output_text(file, panel == stored_panels ? "{\"name\":" : ",\n{\"name\":");
    page_text(&texts, panel->name);
    output_text(file, ",\"sql\":");
    page_text(&texts, panel->sql);
    output_text(file, "}");
  }
  output_text(file, "]}</script>\n");
}

enum tfprof_status page_reply_make(unsigned char **bytes, size_t *length, struct tfprof_error *error) {
  struct output_file *file;
  enum tfprof_status status = output_open_memory(&file, MOST_PAGE_BYTES, error);
  if (status) return status;
  for (const struct page_part *part = page_parts; part->text; part++) {
    output_text(file, part->text);
    if (!part->place) continue;
    if (strcmp(part->place, "policy") == 0) output_format(file, policy_format, page_script_hash, page_style_hash);
    if (strcmp(part->place, "title") == 0) output_text(file, "tfprof");
    if (strcmp(part->place, "style") == 0) output_bytes(file, page_style, page_style_length);
    if (strcmp(part->place, "script") == 0) output_bytes(file, page_script, page_script_length);
    if (strcmp(part->place, "facts") == 0) write_panels(file); /* before the script, which looks for them */
  }
  return output_take(file, bytes, length, error);
}
