/* python_layout.c: offsets by version (see python_layout.h). */
#include "python_layout.h"

#include <dlfcn.h>
#include <stdio.h>

struct python_layout python_layout;
void *(*python_thread_state)(void);
uintptr_t python_module_code;
bool python_tells_calls;
static const struct python_layout *candidate;

/* From the headers of each version: PyThreadState (cpython/pystate.h), PyFrameObject or _PyInterpreterFrame
** (cpython/frameobject.h, internal/pycore_frame.h), PyCodeObject (cpython/code.h), PyASCIIObject and
** PyCompactUnicodeObject (cpython/unicodeobject.h), PyInterpreterState (internal/pycore_interp.h). */
static const struct python_layout layouts[] = {
    /* version, table; thread: cframe, current frame; frame: code, previous, instruction, owner;
       frame: first local;
       code: first line, file, function, table, instructions, flags; text: ascii, compact;
       interpreter: threads; thread: next, the system's number */
    /* clang-format off */
    {308, PYTHON_LNOTAB,    -1, 24,  32, 24, 104, -1,  -1,  40, 104, 112, 120,  -1, 36,  48, 72,  -1, 8, -1},
    {309, PYTHON_LNOTAB,    -1, 24,  32, 24, 104, -1,  -1,  40, 104, 112, 120,  -1, 36,  48, 72,  -1, 8, -1},
    {310, PYTHON_LINETABLE, -1, 24,  32, 24,  96, -1,  -1,  40, 104, 112, 120,  -1, 36,  48, 72,  -1, 8, -1},
    {311, PYTHON_LOCATIONS, 56,  8,  32, 48,  56, 69,  72,  72, 112, 128, 136, 184, 48,  48, 72,  16, 8, 160},
    {312, PYTHON_LOCATIONS, 56,  0,   0,  8,  56, 70,  72,  68, 112, 128, 136, 192, 48,  40, 56,  72, 8, 144},
    {313, PYTHON_LOCATIONS, -1, 72,   0,  8,  56, 70,  72,  68, 112, 128, 136, 200, 48,  40, 56,  7344, 8, 160},
    {314, PYTHON_LOCATIONS, -1, 72,   0,  8,  56, 74,  80,  68, 112, 128, 136, 208, 48,  40, 56,  7344, 8, 160},
    /* clang-format on */
};

bool python_find(unsigned version, char *reason, size_t size) {
  candidate = NULL;
  void *address = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
  if (!address) {
    snprintf(reason, size, "this Python does not export PyGILState_GetThisThreadState");
    return false;
  }
  memcpy(&python_thread_state, &address, sizeof address);
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
    if (layouts[i].version == version) candidate = &layouts[i];
  if (!candidate) snprintf(reason, size, "the frames of Python %u.%u are not known", version / 100, version % 100);
  return candidate != NULL;
}

void python_believe(bool is_proved) {
  if (is_proved && candidate)
    python_layout = *candidate;
  else
    memset(&python_layout, 0, sizeof python_layout);
}

const struct python_layout *python_layout_to_prove(void) { return candidate; }
