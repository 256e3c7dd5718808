/* python_api.c: see python_api.h. All names are those of the stable interface of 3.8 to 3.14, or exported there. */
#include "python_api.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct python_api python_api;

bool python_symbols_find(void *structure, const struct python_symbol *symbols, size_t count) {
  for (size_t i = 0; i < count; i++) {
    void *address = dlsym(RTLD_DEFAULT, symbols[i].name);
    if (!address) return false;
    memcpy((char *)structure + symbols[i].place, &address, sizeof address);
  }
  return true;
}

bool python_api_find(void) {
  static const struct python_symbol wanted[] = {
#define WANTED(member, symbol) {offsetof(struct python_api, member), symbol}
      WANTED(increment, "Py_IncRef"),
      WANTED(decrement, "Py_DecRef"),
      WANTED(clear_error, "PyErr_Clear"),
      WANTED(call, "PyObject_CallObject"),
      WANTED(attribute, "PyObject_GetAttrString"),
      WANTED(dictionary_of, "PyObject_GenericGetDict"),
      WANTED(is_subtype, "PyType_IsSubtype"),
      WANTED(hash, "PyObject_Hash"),
      WANTED(item, "PyDict_GetItemString"),
      WANTED(items, "PyDict_Items"),
      WANTED(new_list, "PyList_New"),
      WANTED(list_size, "PyList_Size"),
      WANTED(list_item, "PyList_GetItem"),
      WANTED(append, "PyList_Append"),
      WANTED(new_tuple, "PyTuple_Pack"),
      WANTED(tuple_item, "PyTuple_GetItem"),
      WANTED(new_integer, "PyLong_FromLongLong"),
      WANTED(new_address, "PyLong_FromVoidPtr"),
      WANTED(address, "PyLong_AsVoidPtr"),
      WANTED(new_reference, "PyWeakref_NewRef"),
      WANTED(new_function, "PyCFunction_NewEx"),
      WANTED(dictionary_type, "PyDict_Type"),
      WANTED(none, "_Py_NoneStruct"),
      WANTED(no, "_Py_FalseStruct"),
      WANTED(add_pending_call, "Py_AddPendingCall"),
      WANTED(has_gil, "PyGILState_Check"),
      WANTED(release_gil, "PyEval_SaveThread"),
      WANTED(take_gil, "PyEval_RestoreThread"),
      WANTED(enter, "PyGILState_Ensure"),
      WANTED(leave, "PyGILState_Release"),
      WANTED(interpreter, "PyInterpreterState_Main"),
      WANTED(first_thread, "PyInterpreterState_ThreadHead"),
      WANTED(next_thread, "PyThreadState_Next"),
#undef WANTED
  };
  return python_symbols_find(&python_api, wanted, sizeof wanted / sizeof *wanted);
}
