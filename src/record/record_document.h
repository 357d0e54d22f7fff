#pragma once
// The JSON files of a run's record: each begins with its format's name and version
// (doc/FORMATS.md).

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/json_archive.h"
#include "base/result.h"

namespace berth {

void write_head(Archive& archive, std::string_view format, int version);

template <class T>
std::string document(std::string_view format, int version, T value, void (*rest)(Archive&, T&)) {
  return write_json(JsonLayout::narrow,
                    [&](Archive& archive) {
                      write_head(archive, format, version);
                      rest(archive, value);
                    }) +
         "\n";
}

/// `rest` is walked where the format is one of these, in a version up to `newest`. unsupported:
/// written by a newer berth. invalid: says where.
[[nodiscard]] Result<void> read_document(
    std::string_view text, std::initializer_list<std::string_view> formats, int newest,
    const std::function<void(Archive&, std::string_view format)>& rest);

/// Reads a document of one format into a value.
template <class T>
Result<T> read_document(std::string_view text, std::string_view format, int newest,
                        void (*rest)(Archive&, T&)) {
  T value;
  const auto read = read_document(
      text, {format}, newest, [&](Archive& archive, std::string_view) { rest(archive, value); });
  if (!read) return std::unexpected(read.error());
  return value;
}

}  // namespace berth
