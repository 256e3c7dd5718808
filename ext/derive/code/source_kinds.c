/* source_kinds.c: see source_kinds.h.
**
** A path in site-packages or dist-packages belongs to the package that the next part of it names, one in Python's own
** directory to Python.  Traces of PyTorch have paths without the folder of sys.path that the file lies in
** (torch/csrc/autograd/profiler_python.cpp): of these the first part is all there is to tell packages from programs.
** Frameworks are also used from where they were built, or lie where some tool has put them (/src/pytorch/torch/nn/…,
** third_party/tensorflow/python/…): folders that only they have tell them in any path.  Paths of Windows count as with
** slashes.
**
** Code that is compiled from a text has a name in angle brackets instead of a path, which whoever compiles it chooses;
** what a person has typed has names of its own.
*/
#include "derive/code/source_kinds.h"

#include <string.h>

enum { PATH_ROOM = 1024 };

const char *const source_kind_names[SOURCE_KINDS] = {"program", "generated", "library", "framework", "python"};

/* Packages whose lines say nothing of the model: they run the op that they were asked for. */
static const char *const frameworks[] = {"torch",      "functorch",  "torchgen",        "torch_xla", "triton", "einops",
                                         "opt_einsum", "tensorflow", "tensorflow_core", "jax",       "jaxlib", NULL};
/* Parts of other packages that do the same: what Keras, which runs on several frameworks, puts between its layers and
** them; the module and the optimizer that Fabric wraps around those of the program. */
static const char *const handing_on[] = {"keras/src/backend/", "keras/src/ops/", "keras/src/utils/",
                                         "lightning/fabric/wrappers.py", "lightning_fabric/wrappers.py", NULL};

/* Folders and files that only frameworks have, wherever they are installed. */
static const char *const framework_folders[] = {
    "/tensorflow/python/",  "/torch/nn/modules/",   "/torch/nn/functional.py", "/torch/nn/parallel/",
    "/torch/autograd/",     "/torch/optim/",        "/torch/utils/data/",      "/torch/utils/checkpoint.py",
    "/torch/distributed/",  "/torch/_tensor.py",    "/torch/_ops.py",          "/torch/_dynamo/",
    "/torch/_inductor/",    "/torch/_functorch/",   "/torch/_jit_internal.py", "/torch/serialization.py",
    "/torch/cuda/",         "/torch/amp/",          "/torch/profiler/",        "/jax/_src/",
    "/jax/experimental/",   "/keras/src/backend/",  "/keras/src/ops/",         "/keras/src/utils/",
    NULL};

/* First parts of paths that have lost their folder. */
static const char *const packages[] = {"torchvision", "torchaudio", "numpy",        "PIL",               "accelerate",
                                       "apex",        "deepspeed",  "lightning",    "megatron",          "transformers",
                                       "pytorch_lightning", NULL};
static const char *const python_packages[] = {"asyncio", "collections", "concurrent", "ctypes", "importlib", "json",
                                              "logging", "multiprocessing", "re", "unittest", "xml", NULL};
static const char *const python_modules[] = {
    "_weakrefset.py", "abc.py",       "ast.py",       "bdb.py",       "codecs.py",    "contextlib.py", "copy.py",
    "copyreg.py",     "dataclasses.py", "enum.py",    "functools.py", "inspect.py",   "pickle.py",     "queue.py",
    "runpy.py",       "selectors.py", "socket.py",    "subprocess.py", "tempfile.py", "threading.py",  "traceback.py",
    "typing.py",      "warnings.py",  "weakref.py",   NULL};

/* What is typed in, and what is loaded from an archive of torch.package; the rest of names in brackets is made. */
static const char *const typed[] = {"<stdin>",  "<console>", "<ipython-input-", "<command-", "<doctest ",
                                    "<timed ",  "<magic-timeit>", "<torch_package_", NULL};

static bool is_in(const char *const *names, const char *text, size_t length) {
  for (; *names; names++) {
    if (strlen(*names) == length && memcmp(*names, text, length) == 0) return true;
  }
  return false;
}

static bool begins_with_one(const char *text, const char *const *beginnings) {
  for (; *beginnings; beginnings++) {
    if (strncmp(text, *beginnings, strlen(*beginnings)) == 0) return true;
  }
  return false;
}

/* Inductor keeps what it has compiled in files named by their hash, CACHE/ab/cab....py with 51 characters of base32
** behind the c, by default in a directory torchinductor_USER; AutoGraph in __autograph_generated_file....py. */
static bool is_generated_file(const char *path) {
  enum { HASH = 52 };
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  if (strstr(path, "/torchinductor_") || strncmp(name, "__autograph_generated_file", 26) == 0) return true;
  if (name[0] != 'c' || strspn(name, "abcdefghijklmnopqrstuvwxyz234567") != HASH || strcmp(name + HASH, ".py") != 0)
    return false;
  return name - path >= 4 && name[-4] == '/' && name[-3] == name[1] && name[-2] == name[2];
}

/* `path` begins with the package. */
static enum source_kind kind_of_package(const char *path) {
  const char *slash = strchr(path, '/');
  if (is_in(frameworks, path, slash ? (size_t)(slash - path) : strcspn(path, "."))) return SOURCE_FRAMEWORK;
  return begins_with_one(path, handing_on) ? SOURCE_FRAMEWORK : SOURCE_LIBRARY;
}

/* What follows the last folder of packages in the path, or NULL. */
static const char *inside_packages(const char *path) {
  const char *inside = NULL;
  for (const char *at = path; (at = strstr(at, "-packages/")) != NULL;) {
    bool is_folder = (at - path >= 5 && memcmp(at - 5, "/site", 5) == 0) ||
                     (at - path >= 5 && memcmp(at - 5, "/dist", 5) == 0);
    at += strlen("-packages/");
    if (is_folder) inside = at;
  }
  return inside;
}

static bool has_one(const char *path, const char *const *parts) {
  for (; *parts; parts++) {
    if (strstr(path, *parts)) return true;
  }
  return false;
}

/* …/lib/python3.11/…, and on Windows …/Python311/Lib/…. */
static bool is_pythons(const char *path) {
  for (const char *at = path; (at = strstr(at, "/lib/python")) != NULL; at += 11) {
    if (at[11] >= '0' && at[11] <= '9' && strchr(at + 11, '/')) return true;
  }
  for (const char *at = path; (at = strstr(at, "/Python3")) != NULL; at += 8) {
    const char *end = at + 8 + strspn(at + 8, "0123456789");
    if (strncmp(end, "/Lib/", 5) == 0 || strncmp(end, "/lib/", 5) == 0) return true;
  }
  return false;
}

static enum source_kind kind_of_path(const char *path) {
  if (path[0] == '<') {
    if (strncmp(path, "<frozen ", 8) == 0) return SOURCE_PYTHON;
    return begins_with_one(path, typed) ? SOURCE_PROGRAM : SOURCE_GENERATED;
  }
  if (is_generated_file(path)) return SOURCE_GENERATED;
  const char *inside = inside_packages(path);
  if (inside) return kind_of_package(inside);
  if (is_pythons(path)) return SOURCE_PYTHON;
  const char *slash = strchr(path, '/');
  size_t first = slash ? (size_t)(slash - path) : strlen(path);
  if (!slash) return is_in(python_modules, path, first) ? SOURCE_PYTHON : SOURCE_PROGRAM;
  if (is_in(python_packages, path, first)) return SOURCE_PYTHON;
  if (is_in(packages, path, first)) return SOURCE_LIBRARY;
  /* "keras" alone may be a folder of the program. */
  if (is_in(frameworks, path, first) || begins_with_one(path, handing_on)) return SOURCE_FRAMEWORK;
  if (has_one(path, framework_folders)) return SOURCE_FRAMEWORK;
  return strncmp(path, "keras/src/", 10) == 0 || strstr(path, "/keras/src/") ? SOURCE_LIBRARY : SOURCE_PROGRAM;
}

/* The path with slashes: itself, or a copy in `slashed`. One that is too long for that is left as it is. */
static const char *with_slashes(const char *path, char *slashed, size_t room) {
  size_t length = strlen(path);
  if (path[0] == '/' || length >= room || !strchr(path, '\\')) return path;
  for (size_t i = 0; i <= length; i++) slashed[i] = (char)(path[i] == '\\' ? '/' : path[i]);
  return slashed;
}

enum source_kind source_kind_below(const char *path, size_t folder) {
  char slashed[PATH_ROOM];
  return kind_of_path(with_slashes(path, slashed, sizeof slashed) + (folder ? folder - 1 : 0));
}

enum source_kind source_kind_of(const char *path) { return source_kind_below(path, 0); }

bool source_is_installed(const char *path) {
  char slashed[PATH_ROOM];
  return inside_packages(with_slashes(path, slashed, sizeof slashed)) != NULL;
}
