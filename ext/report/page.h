/* page.h: the page of a report, as data: embed_page makes it from the files of page/. */
#ifndef TFPROF_PAGE_H
#define TFPROF_PAGE_H

/* The text of page.html between its places, which are written @NAME@; ends at the first without text. */
struct page_part {
  const char *text;
  const char *place; /* what comes after the text: policy, title, style, script, facts or data; NULL: nothing */
};
extern const struct page_part page_parts[];
extern const char page_style[], page_script[];
extern const unsigned long page_style_length, page_script_length;
/* 'sha256-…', as a Content-Security-Policy names them. */
extern const char page_style_hash[], page_script_hash[];

#endif
