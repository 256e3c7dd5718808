/* nvtx_domains.h: the domains of NVTX and the names of their categories.
**
** A domain's number is what ranges carry; two of one name are one. Making and naming is rare and under a lock; what
** ranges need is read without.
*/
#ifndef TFPROF_CAPTURE_NVTX_DOMAINS_H
#define TFPROF_CAPTURE_NVTX_DOMAINS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { NVTX_DOMAINS = 1024, NVTX_CATEGORIES = 8192 };

/* Taken around forks. */
extern pthread_mutex_t nvtx_domains_lock;
/* Calls with a handle that is none of ours, or of a domain that was destroyed; domains and names of categories beyond
** the room for them. */
extern _Atomic uint64_t nvtx_domains_unknown, nvtx_domains_destroyed, nvtx_domains_refused;

/* The handle of a new domain, or of the one of that name. */
void *nvtx_domain_make(uint32_t text);
void nvtx_domain_destroy(void *handle);
/* Its number; 0: the default domain, which NULL is. */
unsigned nvtx_domain_number(const void *handle);
/* The number of its text; of domains from 1 on. */
uint32_t nvtx_domain_text(unsigned number);

void nvtx_category_name(unsigned domain, uint32_t category, uint32_t text);
extern _Atomic uint32_t nvtx_categories_named; /* so often */
/* The name that was given last; 0: none. For the writer thread. */
uint32_t nvtx_category_text(unsigned domain, uint32_t category);

#endif
