/* simdjson_dom.cpp: see simdjson_dom.h. */
#include "bench/simdjson_dom.h"

#include <simdjson.h>

#include <chrono>

double simdjson_dom_seconds(const char *text, size_t length) {
  static simdjson::dom::parser parser; /* its memory is used again, as simdjson advises */
  auto begin = std::chrono::steady_clock::now();
  auto failure = parser.parse(reinterpret_cast<const uint8_t *>(text), length, false).error();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return failure ? -1 : seconds.count();
}

const char *simdjson_dom_name(void) {
  static const std::string name = simdjson::get_active_implementation()->name();
  return name.c_str();
}
