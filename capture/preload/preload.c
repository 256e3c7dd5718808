/* preload.c: libtfprof_preload.so, which brings the recorder into a Python that is started with -I, -E or -S.
**
** Such a Python reads neither PYTHONPATH nor a sitecustomize.  tfprof-capture then names this library in LD_PRELOAD
** (for the program and all that it starts).  Its constructor does nothing but ask for two functions: a program that is
** not Python, or older than 3.8, does not have PySys_AddAuditHook and is left alone.  Python is given an audit hook,
** before it initialises itself; the first event named cpython.run_... comes when the interpreter is ready and has not
** begun the program, and then the hooks of capture/python are run from their file.  They see for themselves whether
** they are there already (sitecustomize).
**
** An audit hook cannot be taken back: from then on each audited call (open, id, import) costs Python some 70 ns more.
** So this is not the usual way in.  Sources: the C API reference of PySys_AddAuditHook, PEP 578.
*/
#include <dlfcn.h>
#include <string.h>

/* Nothing is left in the namespace of __main__, where PyRun_SimpleString runs: exec has one of its own. */
static const char bootstrap[] =
    "exec('''\n"
    "import os, sys\n"
    "try:\n"
    "    if '_tfprof_hooks' not in sys.modules:\n"
    "        path = os.path.join(os.path.dirname(os.environ['TFPROF_LIBRARY']), 'python', '_tfprof_hooks.py')\n"
    "        module = type(sys)('_tfprof_hooks')\n"
    "        module.__file__ = path\n"
    "        with open(path, encoding='utf-8') as file:\n"
    "            code = compile(file.read(), '<_tfprof_hooks>', 'exec')\n"
    "        sys.modules['_tfprof_hooks'] = module\n"
    "        exec(code, module.__dict__)\n"
    "        module.start()\n"
    "except Exception as problem:\n"
    "    if sys.stderr and os.environ.get('TFPROF_QUIET') != '1':\n"
    "        sys.stderr.write('tfprof: this Python process is not recorded: %s: %s\\\\n'\n"
    "                         % (type(problem).__name__, problem))\n"
    "''', {})\n";

static int (*run_text)(const char *);
static int is_done;

/* Py_AuditHookFunction; the GIL is held whenever cpython.run_... is told. 0: nothing is forbidden. */
static int watch(const char *event, void *arguments, void *context) {
  (void)arguments;
  (void)context;
  if (is_done || strncmp(event, "cpython.run_", strlen("cpython.run_")) != 0) return 0;
  is_done = 1;
  run_text(bootstrap);
  return 0;
}

__attribute__((constructor)) static void loaded(void) {
  int (*add_audit_hook)(int (*)(const char *, void *, void *), void *);
  void *add = dlsym(RTLD_DEFAULT, "PySys_AddAuditHook"), *run = add ? dlsym(RTLD_DEFAULT, "PyRun_SimpleString") : NULL;
  if (!run) return;
  memcpy(&add_audit_hook, &add, sizeof add);
  memcpy(&run_text, &run, sizeof run);
  add_audit_hook(watch, NULL);
}
